//! Progress of slow commands.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use offerd_store::PhaseProgress;

/// Delay before progress is shown.
pub const PATIENCE: Duration = Duration::from_secs(1);

const FRAME: Duration = Duration::from_millis(120);

/// Shows a spinner until dropped.
pub struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

/// Starts a wait: after [`PATIENCE`], a spinner on the terminal names what is awaited.
pub fn waiting(what: &'static str) -> Spinner {
    if !io::stderr().is_terminal() {
        return Spinner(None);
    }
    let (done, wait) = channel::<()>();
    let spinner = thread::spawn(move || {
        if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(what);
        spinner.enable_steady_tick(FRAME);
        // Returns when the sender is dropped.
        let _ = wait.recv();
        spinner.finish_and_clear();
    });
    Spinner(Some((done, spinner)))
}

/// Awaits some work, with the spinner of [`waiting`].
pub async fn during<T>(what: &'static str, work: impl Future<Output = T>) -> T {
    let _waiting = waiting(what);
    work.await
}

/// A progress bar, on a terminal only, and only after [`PATIENCE`].
pub struct StepProgressBar {
    bar: ProgressBar,
    begun: Instant,
    /// The current step, of work in several steps.
    what: &'static str,
}

impl StepProgressBar {
    /// A bar at zero, still hidden. The template is one of `indicatif`.
    pub fn begin(template: &str) -> Self {
        let bar = Self { bar: ProgressBar::hidden(), begun: Instant::now(), what: "" };
        bar.looks_like(template);
        bar
    }

    fn looks_like(&self, template: &str) {
        self.bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
    }

    /// Shows the progress.
    pub fn show(&self, done: u64, of: u64) {
        if self.bar.is_hidden() && self.begun.elapsed() > PATIENCE && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(FRAME);
        }
        self.bar.set_length(of);
        self.bar.set_position(done);
    }

    /// Shows a step, and how many of its bytes were read.
    pub fn step(&mut self, PhaseProgress { what, read, of }: PhaseProgress) {
        if std::mem::replace(&mut self.what, what) != what {
            let of_bytes = "{msg}: {bar:30} {binary_bytes} of {binary_total_bytes}";
            self.looks_like(if of.is_some() { of_bytes } else { "{msg} {spinner}" });
            self.bar.set_message(what);
        }
        self.show(read, of.unwrap_or(read).max(read));
    }
}

impl Drop for StepProgressBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((done, spinner)) = self.0.take() {
            drop(done);
            // The spinner thread only draws; its panic does not affect the work.
            let _ = spinner.join();
        }
    }
}
