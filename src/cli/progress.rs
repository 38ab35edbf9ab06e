//! A sign of life from commands that take their time.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

/// Time after which progress is shown.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);

/// Something is being waited for, until this is dropped.
pub struct Waiting(Option<(Sender<()>, JoinHandle<()>)>);

/// Begins to wait for something: when it takes longer than [`PATIENCE`], a spinner on the terminal says for what.
pub fn waiting(what: &'static str) -> Waiting {
    if !io::stderr().is_terminal() {
        return Waiting(None);
    }
    let (done, wait) = channel::<()>();
    let spinner = thread::spawn(move || {
        if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(what);
        spinner.enable_steady_tick(FRAME);
        // Ends when the other end is dropped.
        let _ = wait.recv();
        spinner.finish_and_clear();
    });
    Waiting(Some((done, spinner)))
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((done, spinner)) = self.0.take() {
            drop(done);
            // It only draws; that it ended badly is no concern of the work.
            let _ = spinner.join();
        }
    }
}
