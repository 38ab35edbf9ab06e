//! The guard: a plain thread that ends the process when nothing else does.
//!
//! It needs no runtime, lock or disk: signals reach it through a socket, a failure of the store for good
//! through a flag. From then on the daemon has a time limit for its shutdown; after that the guard ends it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::signal::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use tracing::error;

/// Time for closing the store, in addition to `shutdown.drain`.
pub(super) const CLOSING: Duration = Duration::from_secs(3);

const LOOK: Duration = Duration::from_millis(100);

/// Time limit of the last log line: the log may hang too.
const LAST_WORD: Duration = Duration::from_millis(500);

/// Time limit for ending after a second signal.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DaemonStage {
    /// Opens the store and recovers pending work.
    Starting = 0,
    Serving = 1,
    Answering = 2,
    /// Releases rate tables.
    Leaving = 3,
    /// Stops background work: traces, the admin listener.
    Stopping = 4,
    Closing = 5,
}

impl DaemonStage {
    const ALL: [Self; 6] =
        [Self::Starting, Self::Serving, Self::Answering, Self::Leaving, Self::Stopping, Self::Closing];

    /// What is unfinished at this stage, for the log.
    fn unfinished(self) -> &'static str {
        match self {
            Self::Starting => "the start",
            Self::Serving => "current work: the process does not react to its signals",
            Self::Answering => "requests in flight",
            Self::Leaving => "rate tables that were being built",
            Self::Stopping => "the traces or the admin listener",
            Self::Closing => "the closing of the store",
        }
    }
}

/// The daemon's side of the guard: it sets the stage and passes on the store's flag.
#[derive(Debug, Clone)]
pub(super) struct GuardHandle {
    stage: Arc<AtomicUsize>,
    lost: Arc<OnceLock<Arc<AtomicBool>>>,
}

impl GuardHandle {
    /// Starts the guard thread. To end, the process has `ending` plus the time to close the store.
    pub(super) fn start(ending: Duration) -> io::Result<Self> {
        let (signals, sender) = UnixStream::pair()?;
        signals.set_read_timeout(Some(LOOK))?;
        for signal in [SIGTERM, SIGINT] {
            pipe::register(signal, sender.try_clone()?)?;
        }
        let stage = Arc::new(AtomicUsize::new(DaemonStage::Starting as usize));
        let guard = Self { stage, lost: Arc::default() };
        let watch = GuardThread { signals, _sender: sender, guard: guard.clone(), bound: ending + CLOSING };
        thread::Builder::new().name("guard".to_owned()).spawn(move || watch.run())?;
        Ok(guard)
    }

    /// Sets the flag of the open store, which shows a failure for good.
    pub(super) fn heed(&self, lost: Arc<AtomicBool>) {
        let _ = self.lost.set(lost);
    }

    pub(super) fn at(&self, stage: DaemonStage) {
        self.stage.store(stage as usize, Ordering::Release);
    }
}

struct GuardThread {
    signals: UnixStream,
    _sender: UnixStream,
    guard: GuardHandle,
    bound: Duration,
}

impl GuardThread {
    fn run(mut self) {
        let mut is_ending = false;
        while !is_ending && !self.is_lost() {
            is_ending = self.signalled();
        }
        let mut ends = Instant::now() + self.bound;
        while Instant::now() < ends {
            if self.signalled() {
                // A second signal ends the process at once.
                ends = if is_ending { ends.min(Instant::now() + AT_ONCE) } else { ends };
                is_ending = true;
            }
        }
        self.end();
    }

    fn signalled(&mut self) -> bool {
        self.signals.read(&mut [0]).is_ok_and(|read| read > 0)
    }

    fn is_lost(&self) -> bool {
        self.guard.lost.get().is_some_and(|lost| lost.load(Ordering::Acquire))
    }

    fn end(self) -> ! {
        let unfinished = DaemonStage::ALL[self.guard.stage.load(Ordering::Acquire)].unfinished();
        let within_s = self.bound.as_secs();
        let (said, saying) = mpsc::channel();
        let last_word = move || {
            error!(
                unfinished,
                within_s,
                "did not end in time and exits now; everything acknowledged is on disk, and the next start continues with it"
            );
            let _ = said.send(());
        };
        if thread::Builder::new().spawn(last_word).is_ok() {
            let _ = saying.recv_timeout(LAST_WORD);
        }
        std::process::exit(1);
    }
}
