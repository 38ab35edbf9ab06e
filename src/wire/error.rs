//! Why a call has no reply.

use std::error::Error;
use std::io;
use std::time::Duration;

use super::tls_fault::TlsFault;
use offerd_base::declaration::HumanDuration;

pub(super) const HEAD_BYTES: u32 = 64 * 1024;
pub(super) const HEAD_LINES: usize = 256;

/// Why a call has no reply. Shown, each is one sentence without anything of the payload or the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CallError {
    /// The endpoint's concurrency limit is reached.
    #[error("the limit of concurrent calls was reached")]
    Busy,
    /// The endpoint's breaker is open.
    #[error("the breaker is open after too many failures")]
    BreakerOpen,
    /// The deadline had passed before the call started.
    #[error("the deadline had passed before the call")]
    NoTime,
    /// The URL is not an absolute http or https URL, or contains a user.
    #[error("the URL must be an absolute http or https URL without a user")]
    BadUrl,
    /// The address rules forbid the host's address.
    #[error(
        "the host is at a private, local or reserved address; to allow it, add its name to \
            `wire.allow_addresses`"
    )]
    ForbiddenAddress,
    /// The host has no address.
    #[error("the host name has no address, or name servers failed: check its spelling, and /etc/resolv.conf")]
    Unresolved,
    /// Name servers did not answer in time.
    #[error(
        "the host name could not be looked up in {}: name servers do not answer; check /etc/resolv.conf, or \
            ask the owner of the host",
        shown(*.after)
    )]
    LookupTimedOut {
        /// How long the call waited.
        after: Duration,
    },
    /// The threads for look-ups are busy with other hosts.
    #[error(
        "no thread was free to look up the host name: name servers of other hosts do not answer; check \
            /etc/resolv.conf"
    )]
    NoLookupThread,
    /// The address refused the connection.
    #[error("the connection was refused: nothing listens at this address and port")]
    Refused,
    /// No connection could be made.
    #[error("no connection could be made: the host is down, or a firewall is in between")]
    Connect,
    /// The TLS handshake failed.
    #[error("{_0}; {}", _0.remedy())]
    Tls(TlsFault),
    /// The deadline or a timeout passed.
    #[error("time ran out {}", match .during {
        Phase::Connect => "while connecting",
        Phase::Head => "before the head of the answer was complete",
        Phase::Body => "before the answer was complete",
    })]
    TimedOut {
        /// The phase in which it passed.
        during: Phase,
    },
    /// What answers to plain HTTP is TLS.
    #[error("the port expects TLS; use `https://` in the URL")]
    SpeaksTls,
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer was complete")]
    Broken,
    /// The answer exceeds the size limit of the pool, compressed or decompressed.
    #[error("the answer is longer than {most} bytes, which a partner's `wire.max_response_bytes` may raise")]
    TooLarge {
        /// The limit.
        most: usize,
    },
    /// The answers under way take the memory that there is for them.
    #[error(
        "answers under way take all the memory that `wire.answer_bytes` gives this partner: raise it, or find who stalls"
    )]
    NoRoom,
    /// The head of the answer is longer than is read.
    #[error("the head of the answer has more than {HEAD_LINES} lines, or more than {} KiB: the partner must send fewer or shorter headers", HEAD_BYTES / 1024)]
    HeadTooLarge,
    /// The answer is not HTTP.
    #[error("the answer is not HTTP: it does not begin with `HTTP/1.0` or `HTTP/1.1`")]
    Malformed,
    /// The answer begins as HTTP does, and has no status.
    #[error(
        "the status line of the answer is not HTTP: the partner must send `HTTP/1.1`, a blank, and a status of three digits from 100 on"
    )]
    BadStatusLine,
    /// The answer does not say how long it is.
    #[error(
        "the answer gives conflicting lengths: the partner must send one `Content-Length`, a number, or in \
            HTTP/1.1 `Transfer-Encoding: chunked`"
    )]
    BadLength,
    /// The chunks of the answer are not framed as HTTP has them.
    #[error(
        "the answer has a chunk that is not as long as it says, or does not say how long: the partner must \
            send `Transfer-Encoding: chunked` with its chunks, or a `Content-Length`"
    )]
    BadChunk,
    /// The answer is compressed on its way, and not as itself.
    #[error(
        "the answer is compressed by its `Transfer-Encoding`, which offerd does not read: the partner must \
            use `Content-Encoding`"
    )]
    TransferCoding,
    /// The answer is in a content coding that is not read.
    #[error(
        "the answer has an unknown compression: the partner's `Content-Encoding` must be gzip, deflate, br \
            or identity"
    )]
    UnknownCoding,
    /// The answer uses Brotli's large window.
    #[error(
        "the answer is compressed with Brotli's large window, which needs up to 1 GiB to decompress: the \
            partner must leave that option out, or use gzip"
    )]
    LargeWindow,
    /// The answer cannot be decompressed.
    #[error("the answer cannot be decompressed: it is not what the partner's `Content-Encoding` says")]
    BrokenCoding,
    /// The compressed answer ends before its compression does.
    #[error(
        "the answer is cut off: it ends before its `Content-Encoding` does; the partner or a proxy must send \
            it whole"
    )]
    CutOff,
}

/// A phase of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Connecting: name resolution, TCP and TLS.
    Connect,
    /// Waiting for the head of the answer.
    Head,
    /// Reading the body of the answer.
    Body,
}

impl CallError {
    /// Label in metrics.
    pub fn label(self) -> &'static str {
        self.kind().0
    }

    /// Whether an answer came that cannot be read.
    pub fn is_of_answer(self) -> bool {
        self.kind().1 == Blame::Answer
    }

    /// Whether it speaks against the remote system. What we did not even try does not.
    pub fn blames_remote_system(self) -> bool {
        self.kind().1 != Blame::Us
    }

    /// Its label in metrics, and what it speaks against.
    fn kind(self) -> (&'static str, Blame) {
        use Blame::{Answer, FarSide, Us};
        match self {
            Self::Busy => ("busy", Us),
            Self::BreakerOpen => ("breaker_open", Us),
            Self::NoTime => ("no_time", Us),
            Self::BadUrl => ("bad_url", Us),
            Self::ForbiddenAddress => ("forbidden_address", Us),
            Self::Unresolved => ("unresolved", FarSide),
            Self::LookupTimedOut { .. } => ("lookup_timed_out", FarSide),
            Self::NoLookupThread => ("no_lookup_thread", Us),
            Self::Refused => ("refused", FarSide),
            Self::Connect => ("connect", FarSide),
            Self::Tls(_) => ("tls", FarSide),
            Self::TimedOut { during: Phase::Connect } => ("timed_out_connect", FarSide),
            Self::TimedOut { during: Phase::Head } => ("timed_out_head", FarSide),
            Self::TimedOut { during: Phase::Body } => ("timed_out_body", FarSide),
            Self::SpeaksTls => ("speaks_tls", FarSide),
            Self::Broken => ("broken", FarSide),
            Self::TooLarge { .. } => ("too_large", Answer),
            Self::NoRoom => ("no_room", Us),
            Self::HeadTooLarge => ("head_too_large", Answer),
            Self::Malformed => ("malformed", Answer),
            Self::BadStatusLine => ("bad_status_line", Answer),
            Self::BadLength => ("bad_length", Answer),
            Self::BadChunk => ("bad_chunk", Answer),
            Self::TransferCoding => ("transfer_coding", Answer),
            Self::UnknownCoding => ("unknown_coding", Answer),
            Self::LargeWindow => ("large_window", Answer),
            Self::BrokenCoding => ("broken_coding", Answer),
            Self::CutOff => ("cut_off", Answer),
        }
    }
}

/// What an error speaks against.
#[derive(PartialEq)]
enum Blame {
    Us,
    FarSide,
    /// The remote system, by its answer.
    Answer,
}

/// A duration in whole milliseconds, as in settings.
fn shown(span: Duration) -> HumanDuration {
    HumanDuration(Duration::from_millis(span.as_millis().try_into().unwrap_or(u64::MAX)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FailedAttempt {
    pub(super) error: CallError,
    pub(super) never_sent: bool,
}

impl FailedAttempt {
    pub(super) fn sent(error: CallError) -> Self {
        Self { error, never_sent: false }
    }

    /// Converts an error of hyper's client, before any head.
    pub(super) fn of_request(error: &hyper_util::client::legacy::Error) -> Self {
        let cause = cause(error);
        if error.is_connect() {
            let cause = cause.or(chain(error).find_map(end_of_handshake));
            return Self { error: cause.unwrap_or(CallError::Connect), never_sent: true };
        }
        // hyper cancels only requests that it has not begun to write.
        let never_sent = chain(error)
            .any(|error| error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled));
        Self { error: cause.unwrap_or(CallError::Broken), never_sent }
    }

    pub(super) fn of_body(error: &(dyn Error + 'static)) -> Self {
        // hyper has no other word for faults of chunks.
        let is_misframed = |error: &(dyn Error + 'static)| {
            let kind = error.downcast_ref().map(io::Error::kind);
            matches!(kind, Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData))
        };
        let framing = chain(error).any(is_misframed).then_some(CallError::BadChunk);
        Self::sent(cause(error).or(framing).unwrap_or(CallError::Broken))
    }

    /// Whether another attempt may succeed and is harmless.
    pub(super) fn may_repeat(self, idempotent: bool) -> bool {
        use CallError::{Broken, Connect, Refused, TimedOut, Tls, Unresolved};
        let unconnected = matches!(self.error, Connect | Refused | Unresolved | Tls(TlsFault::Ended));
        let is_broken = matches!(self.error, Broken | TimedOut { during: Phase::Connect });
        (unconnected || is_broken) && (self.never_sent || idempotent)
    }
}

/// The first specific error in the chain.
pub fn cause(error: &(dyn Error + 'static)) -> Option<CallError> {
    chain(error).find_map(|error| {
        if let Some(ours) = error.downcast_ref::<CallError>() {
            return Some(*ours);
        }
        if error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::ConnectionRefused) {
            return Some(CallError::Refused);
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(CallError::Tls(tls.into()));
        }
        let hyper = error.downcast_ref::<hyper::Error>()?;
        hyper.is_parse().then(|| of_head(hyper))
    })
}

/// A connection that ended before the first request did so in the handshake of TLS.
fn end_of_handshake(error: &(dyn Error + 'static)) -> Option<CallError> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let kind = error.downcast_ref().map(io::Error::kind)?;
    let is_end = matches!(kind, UnexpectedEof | ConnectionReset | BrokenPipe);
    is_end.then_some(CallError::Tls(TlsFault::Ended))
}

/// Why the head of an answer cannot be read. hyper says the kind in its words alone; a test holds them.
fn of_head(error: &hyper::Error) -> CallError {
    if error.is_parse_too_large() {
        return CallError::HeadTooLarge;
    }
    if error.is_parse_status() {
        return CallError::BadStatusLine;
    }
    match error.to_string().as_str() {
        "invalid content-length parsed" | "unexpected transfer-encoding parsed" => CallError::BadLength,
        _ => CallError::Malformed,
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| behind(*error))
}

/// The cause of an error. An `io::Error` hides the error that it wraps from `source`.
fn behind<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    }
}
