//! A sign of life from commands that take their time.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

/// Time after which progress is shown.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);

/// Does some work; when it takes longer than [`PATIENCE`], a spinner on the terminal says what is being waited for.
pub fn waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, wait) = channel::<()>();
    let spinner = thread::spawn(move || {
        if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(what);
        spinner.enable_steady_tick(FRAME);
        // The other end is dropped when the work is done.
        let _ = wait.recv();
        spinner.finish_and_clear();
    });
    let worked = work();
    drop(done);
    // It only draws; that it ended badly is no concern of the work.
    let _ = spinner.join();
    worked
}
