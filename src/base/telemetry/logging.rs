//! Log lines, on standard error.
//!
//! A line has a fixed text and its values as fields, so that it can be read and searched. No field holds personal data.

use std::cell::Cell;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt, registry, reload};

use super::requests::RequestSpans;
use super::standard_error::StandardError;
use super::tail::Tail;

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Target of the lines that tell who did what with a person's data or the keys to them. They pass every filter.
pub const AUDIT: &str = "audit";

/// What libraries tell of the connections to a database that we tell ourselves: held back, unless the filter names the library.
const TOLD_BY_US: [(&str, &str); 2] = [("tokio_postgres", "warn"), ("deadpool", "error")];

/// Whether a filter can be read.
///
/// # Errors
/// What is wrong with it.
pub fn check(filter: &str) -> Result<(), String> {
    EnvFilter::builder().parse(filter).map(drop).map_err(|error| error.to_string())
}

/// What is logged, which may change while the process runs; and the last lines of it.
#[derive(Debug, Clone)]
pub struct Filter {
    handle: reload::Handle<EnvFilter, Registry>,
    tail: Tail,
}

impl Filter {
    /// Logs by another filter from now on.
    ///
    /// # Errors
    /// What is wrong with the filter.
    pub fn set(&self, filter: &str) -> Result<(), String> {
        let filter = filter_of(filter)?;
        self.handle.reload(filter).map_err(|error| error.to_string())
    }

    /// The last lines that were logged.
    pub fn tail(&self) -> Tail {
        self.tail.clone()
    }
}

/// Starts logging; a second call changes nothing. A filter that cannot be read counts as `info`.
pub fn init(filter: &str, format: LogFormat) -> Filter {
    let filter = filter_of(filter).or_else(|_| filter_of("info")).expect("`info` can be read");
    let (filter, handle) = reload::Layer::new(filter);
    let tail = Tail::default();
    let stderr = move || StandardError(format);
    // A line that cannot be written is lost; to say so on standard error would be a panic.
    let lines = fmt::layer().with_writer(stderr).with_ansi(coloured()).log_internal_errors(false);
    // Fails only when logging has been started already, by a test in the same process.
    let filtered = registry().with(filter).with(tail.clone());
    let _ = match format {
        LogFormat::Text => filtered.with(lines).with(RequestSpans).try_init(),
        LogFormat::Json => filtered.with(lines.json().flatten_event(true)).with(RequestSpans).try_init(),
    };
    std::panic::set_hook(Box::new(tell_panic));
    Filter { handle, tail }
}

/// Whether lines are coloured: on a terminal, unless `NO_COLOR` asks for none.
fn coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A filter that the audit passes, whatever else it holds back.
fn filter_of(text: &str) -> Result<EnvFilter, String> {
    let held = TOLD_BY_US.iter().filter(|(library, _)| !text.contains(library));
    let ours = held.map(|(library, level)| format!("{library}={level}"));
    let with = |filter: EnvFilter, directive: String| {
        filter.add_directive(directive.parse().expect("a target and a level are a directive"))
    };
    let filter = EnvFilter::builder().parse(text).map_err(|error| error.to_string())?;
    Ok(ours.chain([format!("{AUDIT}=info")]).fold(filter, with))
}

thread_local! {
    static FORESEEN: Cell<bool> = const { Cell::new(false) };
}

/// Does something that may panic, and whose panic is an error like others: a panic of it is caught, and not logged.
///
/// # Errors
/// That it panicked.
pub fn foreseen<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    let outer = FORESEEN.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    FORESEEN.set(outer);
    done
}

/// Tells where a panic happened. Its message may quote what was being read, so it is not told.
fn tell_panic(panic: &std::panic::PanicHookInfo) {
    if FORESEEN.get() {
        return;
    }
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, thread = std::thread::current().name(), "panic");
}
