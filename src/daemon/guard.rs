//! The guard: a plain thread that ends the process when nothing else does.
//!
//! It needs no runtime, no lock of the store and no disk. It hears of a signal by a socket that the signal's handler writes to,
//! and of a store that has failed for good by a flag. From then on the daemon has its time to end; then the guard ends it,
//! whatever spins or hangs, with a last line that says what was not finished.

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

/// What the end takes beyond `shutdown.drain`: the store is closed.
pub(super) const CLOSING: Duration = Duration::from_secs(3);

/// How often the flag is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How long the last line may take: the log may hang too.
const LAST_WORD: Duration = Duration::from_millis(500);

/// How long the daemon may take to end at once, after a second signal.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Where the daemon is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It opens the store and recovers what is pending.
    Starting = 0,
    /// It serves.
    Serving = 1,
    /// It answers what is in flight.
    Answering = 2,
    /// It lets rate tables go.
    Leaving = 3,
    /// It stops what runs aside: traces, the admin listener.
    Stopping = 4,
    /// It closes the store.
    Closing = 5,
}

/// What was not finished when it ended in a stage, in their order.
const UNFINISHED: [&str; 6] = [
    "the start",
    "the work at hand: the process does not answer its signals",
    "requests in flight",
    "rate tables that were being built",
    "the traces or the admin listener",
    "the closing of the store",
];

/// The daemon's side of the guard: it notes its stage, and hands over the store's flag.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    stage: Arc<AtomicUsize>,
    lost: Arc<OnceLock<Arc<AtomicBool>>>,
}

impl Guard {
    /// Begins to watch: from a signal or the store's end on, the process has so long, and what it takes to close the store.
    pub(super) fn post(ending: Duration) -> io::Result<Self> {
        let (heard, told) = UnixStream::pair()?;
        heard.set_read_timeout(Some(LOOK))?;
        for signal in [SIGTERM, SIGINT] {
            pipe::register(signal, told.try_clone()?)?;
        }
        let stage = Arc::new(AtomicUsize::new(Stage::Starting as usize));
        let guard = Self { stage, lost: Arc::default() };
        let watch = Watch { heard, _told: told, guard: guard.clone(), bound: ending + CLOSING };
        thread::Builder::new().name("guard".to_owned()).spawn(move || watch.run())?;
        Ok(guard)
    }

    /// The store is open; this flag says when it has failed for good.
    pub(super) fn heed(&self, lost: Arc<AtomicBool>) {
        // It is opened once.
        let _ = self.lost.set(lost);
    }

    /// The daemon goes on to this stage.
    pub(super) fn at(&self, stage: Stage) {
        self.stage.store(stage as usize, Ordering::Release);
    }
}

/// The thread's own.
struct Watch {
    heard: UnixStream,
    /// So that it stays open when no signal can be heard.
    _told: UnixStream,
    /// The other side.
    guard: Guard,
    bound: Duration,
}

impl Watch {
    fn run(mut self) {
        let mut told = false;
        while !told && !self.is_lost() {
            told = self.signalled();
        }
        let mut ends = Instant::now() + self.bound;
        while Instant::now() < ends {
            if self.signalled() {
                // A second signal: at once means at once.
                ends = if told { ends.min(Instant::now() + AT_ONCE) } else { ends };
                told = true;
            }
        }
        self.end();
    }

    /// Waits a moment for a signal.
    fn signalled(&mut self) -> bool {
        self.heard.read(&mut [0]).is_ok_and(|read| read > 0)
    }

    fn is_lost(&self) -> bool {
        self.guard.lost.get().is_some_and(|lost| lost.load(Ordering::Acquire))
    }

    fn end(self) -> ! {
        let unfinished = UNFINISHED[self.guard.stage.load(Ordering::Acquire)];
        let within_s = self.bound.as_secs();
        let (said, saying) = mpsc::channel();
        let last_word = move || {
            error!(
                unfinished,
                within_s,
                "did not end in time and ends now; what was acknowledged is on the disk, and the next start goes on with it"
            );
            let _ = said.send(());
        };
        if thread::Builder::new().spawn(last_word).is_ok() {
            let _ = saying.recv_timeout(LAST_WORD);
        }
        std::process::exit(1);
    }
}
