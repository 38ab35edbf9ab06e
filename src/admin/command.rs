//! Helpers of the command handlers: reading bodies, blocking work and detached tasks.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use hyper::header::{ACCEPT, CONTENT_DISPOSITION, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use tracing::{Instrument, error};

use super::AdminState;
use offerd_engine::records::RecordUnavailable;
use offerd_insight::sheet::Sheet;
use offerd_store::{DISK_FULL, ReadError};
use offerd_web::{Failure, Reply};
pub use offerd_web::{blocking, our_fault};

/// The request of a command or of the console, as its handler gets it.
pub type Context = offerd_web::Context<AdminState>;

/// The result of something that may fail a request.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Declares handlers of commands: name, optional JSON request, JSON answer.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($context:ident $(, $request:ident: $type:ty)?) => $answer:expr;)+) => {
        $($(#[$doc])*
        pub(super) async fn $name($context: Context) -> Result<Reply> {
            $(let mut $context = $context;
            let $request: $type = read_body(&mut $context, BODY_BYTES).await?;)?
            Reply::json(&$answer)
        })+
    };
}
pub(super) use operations;

/// Longest body of a command without a file.
pub const BODY_BYTES: usize = 8192;

const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Seconds after which a command may be retried.
const RETRY_AFTER_S: u32 = 5;

/// Seconds after which a failed write may be retried.
const WRITTEN_AFTER_S: u32 = 10;

/// Whether the object of the command exists.
#[derive(Debug, Serialize, Deserialize)]
pub struct TargetExists {
    /// Whether it exists.
    pub found: bool,
}

/// Reads the body of a command as its request. Fails when it does not fit.
pub async fn read_body<T: DeserializeOwned>(context: &mut Context, most_bytes: usize) -> Result<T> {
    let body = context.request.read_body(most_bytes, BODY_TIMEOUT).await?;
    serde_json::from_slice(&body).map_err(|error| Failure::bad_request(format!("body does not fit: {error}")))
}

/// Runs work to its end, as its own task, even when its caller leaves. `failed` is the log message of a
/// panic, which is an error of ours.
pub async fn seen_through<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
    app: &Arc<AdminState>,
    failed: &'static str,
    work: impl FnOnce(Arc<AdminState>) -> F,
) -> Result<T> {
    app.detached.begin(work(Arc::clone(app))).await.map_err(our_fault(failed))?
}

impl AdminState {
    /// Runs `read` on a blocking thread; `failed` is the log message of a panic. Fails when it panics.
    pub(super) async fn reading<T: Send + 'static>(
        self: &Arc<Self>,
        failed: &'static str,
        read: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T> {
        let app = Arc::clone(self);
        blocking(failed, move || read(&app)).await
    }
}

/// Streams an answer as NDJSON.
pub fn json_lines<T: Serialize + 'static>(lines: impl Stream<Item = T> + Send + Sync + 'static) -> Reply {
    let written = |line: T| {
        let mut json = serde_json::to_vec(&line).expect("a line has string keys");
        json.push(b'\n');
        Ok(Bytes::from(json))
    };
    Reply::stream("application/x-ndjson", lines.map(written))
}

/// Tracks detached tasks, which must end before the runtime does.
#[derive(Default)]
pub struct DetachedTasks(Arc<RwLock<()>>);

impl DetachedTasks {
    /// Spawns a detached task.
    pub fn begin<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let going_on = Arc::clone(&self.0);
        let work = async move {
            let _going_on = going_on.read().await;
            work.await
        };
        tokio::spawn(work.in_current_span())
    }

    /// Waits until all tasks have ended. Tasks begun after this call do not run.
    pub async fn ended(&self) {
        drop(self.0.write().await);
    }
}

/// A query parameter, if given. Fails with `wanted` when it cannot be parsed.
pub fn parameter<T: FromStr>(context: &Context, name: &str, wanted: &str) -> Result<Option<T>> {
    let wrong = |_| Failure::bad_attribute(name, wanted);
    context.request.query_value(name).map(|text| text.parse().map_err(wrong)).transpose()
}

/// Requirement of a count or a time.
pub const WHOLE: &str = "must be a whole number that is not negative";

/// Whether to answer with CSV instead of JSON: by `format`, else by the `Accept` header.
pub fn wants_csv(context: &Context, format: Option<&str>) -> Result<bool> {
    match format {
        Some("csv") => Ok(true),
        Some("json") => Ok(false),
        Some(other) => Err(Failure::bad_attribute("format", format!("must be json or csv, got `{other}`"))),
        None => Ok(context.request.headers.get(ACCEPT).is_some_and(|types| types.as_bytes() == b"text/csv")),
    }
}

/// A sheet as a CSV download.
pub fn csv_file(sheet: &Sheet, name: &str) -> Result<Reply> {
    let text = sheet.csv().map_err(our_fault("a file for spreadsheets could not be written"))?;
    let name = HeaderValue::try_from(format!("attachment; filename=\"{name}.csv\""));
    let name = name.map_err(our_fault("a file for spreadsheets has a bad name"))?;
    Ok(Reply::bytes("text/csv; charset=utf-8", text).header(CONTENT_DISPOSITION, name))
}

/// 503: the requested records cannot be read. An empty answer would claim that none exist.
pub fn unread(failure: ReadError) -> Failure {
    error!(%failure, "an operator's request could not be read");
    unavailable(failure.to_string())
}

/// 503: the store cannot be read; see the log for the cause.
pub fn store_unread(_: RecordUnavailable) -> Failure {
    unavailable("the store cannot be read; see the log")
}

/// 503: the request cannot be served now.
pub fn unavailable(message: impl Into<String>) -> Failure {
    let mut failure = Failure::overloaded(RETRY_AFTER_S);
    failure.errors[0].message = Some(message.into());
    failure
}

/// 503: a write failed. The answer and the log have the cause, which contains no personal data.
pub fn unwritten(what: &str, cause: &impl std::fmt::Display) -> Failure {
    error!(%cause, what, "an operator's change could not be written");
    let mut failure = Failure::overloaded(WRITTEN_AFTER_S);
    let cause = cause.to_string();
    failure.errors[0].message = match cause.contains(DISK_FULL) {
        true => format!(
            "{what} was not written: the disk is full; free space on the disk of `store.path`, and try again"
        )
        .into(),
        false => format!("{what} was not written: {cause}").into(),
    };
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_that_with_what_was_not_written_and_what_to_do() {
        let message = |code| {
            let error = std::io::Error::from_raw_os_error(code);
            unwritten("the token", &error).errors[0].message.clone().unwrap()
        };
        let full = "the token was not written: the disk is full; free space on the disk of `store.path`, \
            and try again";
        assert_eq!(message(28), full);
        assert_eq!(message(5), "the token was not written: Input/output error (os error 5)");
    }
}
