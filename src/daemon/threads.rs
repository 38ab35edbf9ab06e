//! The engine's threads: each an arbiter with a runtime of its own. A connection, the leads that come on it, their actors, the
//! calls to partners and all timers of these run on one of them.

use std::thread::available_parallelism;

use actix_rt::{Arbiter, ArbiterHandle};

use offerd_store::answer_commits_here;
use offerd_web::Threads;

/// The threads, to be joined at the end.
pub(super) struct EngineThreads(Vec<Arbiter>);

impl EngineThreads {
    /// Starts so many; 0 takes one per core.
    pub(super) fn start(threads: usize) -> Self {
        let threads = if threads == 0 { available_parallelism().map_or(1, usize::from) } else { threads };
        let arbiters: Vec<Arbiter> = (0..threads).map(|_| Arbiter::new()).collect();
        for arbiter in &arbiters {
            arbiter.spawn(answer_commits_here());
        }
        Self(arbiters)
    }

    /// Where actors are started.
    pub(super) fn arbiters(&self) -> Vec<ArbiterHandle> {
        self.0.iter().map(Arbiter::handle).collect()
    }

    /// Where connections are served.
    pub(super) fn for_connections(&self) -> Threads {
        Threads::new(self.arbiters().into_iter().map(|arbiter| {
            move |work| {
                // One that has stopped serves nobody.
                arbiter.spawn(work);
            }
        }))
    }

    /// Ends them; what their actors hold of the store goes with them.
    pub(super) fn end(self) {
        for arbiter in self.0 {
            arbiter.stop();
            let _ = arbiter.join();
        }
    }
}
