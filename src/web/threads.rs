//! The threads that serve connections and all work for their requests, each with its own runtime.

use std::fmt;

use metrics::{Gauge, gauge};

use super::prelude::*;
use offerd_base::telemetry::metrics::ENGINE_CONNECTIONS;

/// A task for a thread.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The threads that connections are spread over. Cheap to clone.
#[derive(Clone)]
pub struct Threads(Arc<[Thread]>);

struct Thread {
    spawn: Box<dyn Fn(Work) + Send + Sync>,
    /// The gauge of its connections; its reference count is the load.
    shown: Arc<Gauge>,
}

/// Counts a running task for as long as it lives.
struct RunningTask(Arc<Gauge>);

impl Threads {
    /// One thread for each function that spawns work on it; at least one.
    pub fn new<S: Fn(Work) + Send + Sync + 'static>(spawners: impl IntoIterator<Item = S>) -> Self {
        let thread = |(nth, spawn): (usize, S)| {
            let shown = Arc::new(gauge!(ENGINE_CONNECTIONS, "thread" => nth.to_string()));
            Thread { spawn: Box::new(spawn), shown }
        };
        let threads: Arc<[Thread]> = spawners.into_iter().enumerate().map(thread).collect();
        assert!(!threads.is_empty(), "connections need a thread to be served on");
        Self(threads)
    }

    /// Runs `work` to its end on the thread with the fewest running tasks.
    pub fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let thread = self.0.iter().min_by_key(|thread| thread.running()).expect("there is at least one");
        let running = RunningTask::begin(&thread.shown);
        (thread.spawn)(Box::pin(async move {
            let _running = running;
            work.await;
        }));
    }
}

impl Thread {
    fn running(&self) -> usize {
        Arc::strong_count(&self.shown) - 1
    }
}

impl RunningTask {
    fn begin(shown: &Arc<Gauge>) -> Self {
        shown.increment(1);
        Self(Arc::clone(shown))
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(Thread::running)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Threads that only collect their work, and the collected work.
    fn kept(threads: usize) -> (Threads, Arc<Mutex<Vec<Vec<Work>>>>) {
        let works = Arc::new(Mutex::new((0..threads).map(|_| Vec::new()).collect::<Vec<Vec<Work>>>()));
        let spawner = |nth: usize| {
            let works = Arc::clone(&works);
            move |work| works.lock().unwrap()[nth].push(work)
        };
        (Threads::new((0..threads).map(spawner)), Arc::clone(&works))
    }

    fn loads(works: &Mutex<Vec<Vec<Work>>>) -> Vec<usize> {
        works.lock().unwrap().iter().map(Vec::len).collect()
    }

    #[test]
    fn a_few_connections_are_spread_evenly() {
        let (threads, works) = kept(4);
        (0..4).for_each(|_| threads.run(std::future::pending()));
        assert_eq!(loads(&works), [1, 1, 1, 1]);
    }

    #[test]
    fn the_next_goes_where_one_has_ended() {
        let (threads, works) = kept(3);
        (0..6).for_each(|_| threads.run(std::future::pending()));
        works.lock().unwrap()[1].clear();
        (0..2).for_each(|_| threads.run(std::future::pending()));
        assert_eq!(loads(&works), [2, 2, 2]);
    }
}
