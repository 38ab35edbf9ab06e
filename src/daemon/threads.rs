//! The threads of leads (`engine.threads`), each an arbiter with its own runtime, for connections, actors, calls and timers.

use std::thread::available_parallelism;

use actix_rt::{Arbiter, ArbiterHandle};

use offerd_store::answer_commits_here;
use offerd_web::Threads;

pub(super) struct LeadThreads(Vec<Arbiter>);

impl LeadThreads {
    /// Starts this many threads; 0 means one per core.
    pub(super) fn start(threads: usize) -> Self {
        let threads = if threads == 0 { available_parallelism().map_or(1, usize::from) } else { threads };
        let arbiters: Vec<Arbiter> = (0..threads).map(|_| Arbiter::new()).collect();
        for arbiter in &arbiters {
            arbiter.spawn(answer_commits_here());
        }
        Self(arbiters)
    }

    pub(super) fn arbiters(&self) -> Vec<ArbiterHandle> {
        self.0.iter().map(Arbiter::handle).collect()
    }

    /// The threads on which connections are served.
    pub(super) fn for_connections(&self) -> Threads {
        Threads::new(self.arbiters().into_iter().map(|arbiter| {
            move |work| {
                arbiter.spawn(work);
            }
        }))
    }

    /// Ends the threads; their actors' handles on the store are dropped with them.
    pub(super) fn end(self) {
        for arbiter in self.0 {
            arbiter.stop();
            let _ = arbiter.join();
        }
    }
}
