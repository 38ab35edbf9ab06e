//! Writes the log to standard error. A line without a reader is dropped and counted; the daemon never blocks.

use std::io::{self, StderrLock, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use metrics::counter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::logging::LogFormat;
use super::metrics::LOG_LINES_LOST;

/// How long the first line waits for a reader. Later lines do not wait until there is one again.
const PATIENCE: Duration = Duration::from_millis(100);

/// Size that a pipe with any room accepts at once: PIPE_BUF of pipe(7).
const AT_ONCE: usize = 4096;

static LOST: AtomicU64 = AtomicU64::new(0);

static IS_CUT: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, Copy)]
pub(super) struct StandardError(pub(super) LogFormat);

impl Write for StandardError {
    /// Consumes the whole line, written or not.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let stderr = io::stderr().lock();
        let target = target(&stderr);
        let lost = LOST.load(Ordering::Relaxed);
        if lost == 0 || put(target, self.says(lost).as_bytes(), Duration::ZERO) {
            LOST.fetch_sub(lost, Ordering::Relaxed);
        }
        let is_written = LOST.load(Ordering::Relaxed) == 0 && put(target, line, PATIENCE);
        if !is_written {
            LOST.fetch_add(1, Ordering::Relaxed);
            counter!(LOG_LINES_LOST).increment(1);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StandardError {
    /// The line that reports lost lines. Bypasses `tracing`, which drops events logged while writing one.
    fn says(self, lost: u64) -> String {
        let at = Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true);
        let (target, message) =
            (module_path!(), "log lines were lost: standard error could not be written in time");
        let end = if IS_CUT.load(Ordering::Relaxed) { "\n" } else { "" };
        match self.0 {
            LogFormat::Text => format!("{end}{at}  WARN {target}: {message} lines={lost}\n"),
            LogFormat::Json => {
                let line = serde_json::json!({
                    "timestamp": at, "level": "WARN", "message": message, "lines": lost, "target": target
                });
                format!("{end}{line}\n")
            }
        }
    }
}

fn put(target: BorrowedFd<'_>, text: &[u8], within: Duration) -> bool {
    let within = Timespec::try_from(within).expect("a tenth of a second fits");
    let mut left = text;
    while !left.is_empty() {
        // If polling fails, the write reports the error.
        let has_room = poll(&mut [PollFd::from_borrowed_fd(target, PollFlags::OUT)], Some(&within)) != Ok(0);
        let part = &left[..left.len().min(AT_ONCE)];
        match if has_room { rustix::io::write(target, part) } else { Err(Errno::AGAIN) } {
            Ok(written) if written > 0 => left = &left[written..],
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => {
                IS_CUT.fetch_or(left.len() < text.len(), Ordering::Relaxed);
                return false;
            }
        }
    }
    IS_CUT.store(false, Ordering::Relaxed);
    true
}

/// A pipe or terminal is reopened not to block, since other processes share the inherited one.
fn target<'t>(stderr: &'t StderrLock) -> BorrowedFd<'t> {
    static OWN: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let open = || {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(stderr).ok()?.st_mode);
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        (kind.is_fifo() || kind.is_char_device())
            .then(|| rustix::fs::open("/dev/fd/2", flags, Mode::empty()).ok())
            .flatten()
    };
    OWN.get_or_init(open).as_ref().map_or_else(|| stderr.as_fd(), AsFd::as_fd)
}
