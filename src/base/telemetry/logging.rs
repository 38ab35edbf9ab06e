//! Structured logs on standard error: constant texts, with values as fields, none with personal data.

use std::cell::Cell;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt, registry, reload};

use super::requests::RequestSpans;
use super::standard_error::StandardError;
use super::tail::LogTail;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// JSON for machines.
    Json,
}

/// Target of audit lines: actions on a person's data, or on the keys to it. They pass every filter.
pub const AUDIT: &str = "audit";

/// Target of the access log, which the setting `log.access` turns on, whatever the filter.
pub const ACCESS: &str = "access";

/// Libraries that repeat our messages about database connections: held back unless the filter names them.
const TOLD_BY_US: [(&str, &str); 2] = [("tokio_postgres", "warn"), ("deadpool", "error")];

/// Checks that a filter can be parsed.
pub fn check(filter: &str) -> Result<(), String> {
    EnvFilter::builder().parse(filter).map(drop).map_err(|error| error.to_string())
}

/// The log filter, which can change at run time, and the last lines.
#[derive(Debug, Clone)]
pub struct Filter {
    handle: reload::Handle<EnvFilter, Registry>,
    tail: LogTail,
}

impl Filter {
    /// Replaces the filter, and turns the access log on or off.
    pub fn set(&self, filter: &str, access: bool) -> Result<(), String> {
        let filter = filter_of(filter, access)?;
        self.handle.reload(filter).map_err(|error| error.to_string())
    }

    /// The last lines logged.
    pub fn tail(&self) -> LogTail {
        self.tail.clone()
    }
}

/// Starts logging; a second call has no effect. A filter that cannot be parsed counts as `info`.
pub fn init(filter: &str, access: bool, format: LogFormat) -> Filter {
    let filter =
        filter_of(filter, access).or_else(|_| filter_of("info", access)).expect("`info` can be read");
    let (filter, handle) = reload::Layer::new(filter);
    let tail = LogTail::default();
    let stderr = move || StandardError(format);
    // A line that cannot be written is lost: reporting that on standard error would panic.
    let lines = fmt::layer().with_writer(stderr).with_ansi(coloured()).log_internal_errors(false);
    // Fails only if a test in the same process has started logging already.
    let filtered = registry().with(filter).with(tail.clone());
    let _ = match format {
        LogFormat::Text => filtered.with(lines).with(RequestSpans).try_init(),
        LogFormat::Json => filtered.with(lines.json().flatten_event(true)).with(RequestSpans).try_init(),
    };
    std::panic::set_hook(Box::new(tell_panic));
    Filter { handle, tail }
}

fn coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn filter_of(text: &str, access: bool) -> Result<EnvFilter, String> {
    let held = TOLD_BY_US.iter().filter(|(library, _)| !text.contains(library));
    let ours = held.map(|(library, level)| format!("{library}={level}"));
    let with = |filter: EnvFilter, directive: String| {
        filter.add_directive(directive.parse().expect("a target and a level are a directive"))
    };
    let filter = EnvFilter::builder().parse(text).map_err(|error| error.to_string())?;
    let access = format!("{ACCESS}={}", if access { "info" } else { "off" });
    Ok(ours.chain([format!("{AUDIT}=info"), access]).fold(filter, with))
}

thread_local! {
    static FORESEEN: Cell<bool> = const { Cell::new(false) };
}

/// Runs work whose panics are expected: catches a panic without logging it.
pub fn foreseen<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    let outer = FORESEEN.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    FORESEEN.set(outer);
    done
}

/// Logs where a panic happened. Leaves out its message, which may quote the data being processed.
fn tell_panic(panic: &std::panic::PanicHookInfo) {
    if FORESEEN.get() {
        return;
    }
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, thread = std::thread::current().name(), "panic");
}
