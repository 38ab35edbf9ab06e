//! A sign of life from commands that take their time.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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

/// How far something is; on a terminal only, and only when it takes longer than [`PATIENCE`].
pub struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Bar {
    /// Nothing was done yet, and nothing is shown. The template is that of `indicatif`.
    pub fn begin(template: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        Self { bar: ProgressBar::hidden().with_style(style), begun: Instant::now() }
    }

    /// Whether it is shown by now.
    fn appears(&self) -> bool {
        if self.bar.is_hidden() && self.begun.elapsed() > PATIENCE && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        !self.bar.is_hidden()
    }

    /// Shows how much was done, of how much.
    pub fn show(&self, done: u64, of: u64) {
        self.appears();
        self.bar.set_length(of);
        self.bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How far something is that has several steps; on a terminal only, and only when it takes longer than [`PATIENCE`].
pub struct Steps {
    of_step: Bar,
    what: &'static str,
}

impl Steps {
    /// Nothing was done yet, and nothing is shown.
    pub fn begin() -> Self {
        Self { of_step: Bar { bar: ProgressBar::hidden(), begun: Instant::now() }, what: "" }
    }

    /// Shows what is being done, and how many of its bytes were read.
    pub fn show(&mut self, what: &'static str, read: u64, of: Option<u64>) {
        if !self.of_step.appears() {
            return;
        }
        let bar = &self.of_step.bar;
        if std::mem::replace(&mut self.what, what) != what {
            let template = if of.is_some() {
                "{msg}: {bar:30} {binary_bytes} of {binary_total_bytes}"
            } else {
                "{msg} {spinner}"
            };
            bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
            bar.set_message(what);
            bar.enable_steady_tick(FRAME);
        }
        if let Some(of) = of {
            bar.set_length(of.max(read));
            bar.set_position(read);
        }
    }
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
