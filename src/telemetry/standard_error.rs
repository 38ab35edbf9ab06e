//! Standard error as the log writes it. A line that nobody reads is dropped and counted: a reader that hangs must not stop the daemon.

use std::io::{self, StderrLock, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use metrics::counter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::logging::LogFormat;
use super::metrics::LOG_LINES_LOST;

/// How long the first line waits for a reader. Those behind it do not wait until one is back.
const PATIENCE: Duration = Duration::from_millis(100);

/// How much a pipe takes at once when it has room at all: PIPE_BUF of pipe(7).
const AT_ONCE: usize = 4096;

/// Lines lost since the last one that was written.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Writes whole lines to standard error.
#[derive(Debug, Clone, Copy)]
pub(super) struct StandardError(pub(super) LogFormat);

impl Write for StandardError {
    /// Takes the whole line, whether it can be written or not.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        let lost = LOST.load(Ordering::Relaxed);
        if !has_room(&stderr, if lost == 0 { PATIENCE } else { Duration::ZERO }) {
            lose();
            return Ok(line.len());
        }
        if lost > 0 {
            stderr.write_all(self.says(lost).as_bytes())?;
            LOST.store(0, Ordering::Relaxed);
        }
        for part in line.chunks(AT_ONCE) {
            if !has_room(&stderr, PATIENCE) {
                lose();
                break;
            }
            stderr.write_all(part)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StandardError {
    /// The line about lines that were lost. It does not go through `tracing`, which drops what is logged while a line is written.
    fn says(self, lost: u64) -> String {
        let at = Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true);
        let (target, message) = (module_path!(), "log lines were lost: nobody read standard error");
        match self.0 {
            LogFormat::Text => format!("{at}  WARN {target}: {message} lines={lost}\n"),
            LogFormat::Json => {
                let line = serde_json::json!({
                    "timestamp": at, "level": "WARN", "message": message, "lines": lost, "target": target
                });
                format!("{line}\n")
            }
        }
    }
}

fn lose() {
    LOST.fetch_add(1, Ordering::Relaxed);
    counter!(LOG_LINES_LOST).increment(1);
}

/// Whether [`AT_ONCE`] bytes can be written now, or within some time. What cannot be asked is written to, and reports its own error.
fn has_room(stderr: &StderrLock, within: Duration) -> bool {
    let within = Timespec::try_from(within).expect("a tenth of a second fits");
    let mut asked = [PollFd::new(stderr, PollFlags::OUT)];
    poll(&mut asked, Some(&within)) != Ok(0)
}
