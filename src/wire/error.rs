//! Why a call has no reply.

use std::error::Error;
use std::io;

use http_body_util::LengthLimitError;

use super::tls_fault::TlsFault;

/// Why a call has no reply. Shown, each is one sentence without anything of the payload or the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CallError {
    /// As many calls as the endpoint may have were already under way.
    #[error("as many calls as allowed were already under way")]
    Busy,
    /// The endpoint's breaker keeps calls back.
    #[error("the breaker is open after too many failures")]
    BreakerOpen,
    /// The deadline had passed before anything was begun.
    #[error("the deadline had passed before the call")]
    NoTime,
    /// The URL is not an absolute one of http or https, or names a user.
    #[error("the URL is not an absolute http or https URL without a user")]
    BadUrl,
    /// The host is at an address which is not allowed.
    #[error(
        "the host is at a private, local or reserved address; the host's name in `wire.allow_addresses` allows it"
    )]
    ForbiddenAddress,
    /// The host has no address.
    #[error("the host name has no address")]
    Unresolved,
    /// No connection could be made.
    #[error("no connection could be made")]
    Connect,
    /// There is no TLS with the server.
    #[error("{_0}; {}", _0.remedy())]
    Tls(TlsFault),
    /// Time ran out.
    #[error("time ran out {}", match .during {
        Phase::Connect => "while connecting",
        Phase::Head => "before the answer began",
        Phase::Body => "before the answer was complete",
    })]
    TimedOut {
        /// While waiting for what.
        during: Phase,
    },
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer was complete")]
    Broken,
    /// The answer is longer than the pool allows, as it came or with its codings undone.
    #[error("the answer is longer than allowed")]
    TooLarge,
    /// The answer is not HTTP.
    #[error("the answer is not HTTP")]
    Malformed,
    /// The answer is in a content coding that is not read.
    #[error(
        "the answer is compressed in a way that is not read: the partner's `Content-Encoding` must be gzip, deflate, br or identity"
    )]
    UnknownCoding,
    /// The answer is in Brotli's large window.
    #[error(
        "the answer is compressed with Brotli's large window, which takes up to 1 GiB to undo: the partner must leave that option out, or use gzip"
    )]
    LargeWindow,
    /// The answer cannot be decompressed.
    #[error("the answer cannot be decompressed: it is not what the partner's `Content-Encoding` says")]
    BrokenCoding,
}

/// What a call was waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A connection: name, TCP and TLS.
    Connect,
    /// The head of the answer.
    Head,
    /// The body of the answer.
    Body,
}

impl CallError {
    /// As a label of metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::BreakerOpen => "breaker_open",
            Self::NoTime => "no_time",
            Self::BadUrl => "bad_url",
            Self::ForbiddenAddress => "forbidden_address",
            Self::Unresolved => "unresolved",
            Self::Connect => "connect",
            Self::Tls(_) => "tls",
            Self::TimedOut { during: Phase::Connect } => "timed_out_connect",
            Self::TimedOut { during: Phase::Head } => "timed_out_head",
            Self::TimedOut { during: Phase::Body } => "timed_out_body",
            Self::Broken => "broken",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::UnknownCoding => "unknown_coding",
            Self::LargeWindow => "large_window",
            Self::BrokenCoding => "broken_coding",
        }
    }

    /// Whether it speaks against the far side. What we did not even try does not.
    pub fn blames_far_side(self) -> bool {
        !matches!(self, Self::Busy | Self::BreakerOpen | Self::NoTime | Self::BadUrl | Self::ForbiddenAddress)
    }
}

/// A failed attempt: why, and whether the far side can have seen anything of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) error: CallError,
    pub(super) never_sent: bool,
}

impl Failed {
    /// After the request may have been sent.
    pub(super) fn sent(error: CallError) -> Self {
        Self { error, never_sent: false }
    }

    /// What hyper's client says when there is no head.
    pub(super) fn of_request(error: &hyper_util::client::legacy::Error) -> Self {
        let cause = cause(error);
        if error.is_connect() {
            return Self { error: cause.unwrap_or(CallError::Connect), never_sent: true };
        }
        // hyper cancels only what it has not begun to write.
        let never_sent = chain(error)
            .any(|error| error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled));
        Self { error: cause.unwrap_or(CallError::Broken), never_sent }
    }

    /// Why a body is not whole.
    pub(super) fn of_body(error: &(dyn Error + 'static)) -> Self {
        Self::sent(cause(error).unwrap_or(CallError::Broken))
    }

    /// Whether another attempt could end otherwise and do no harm.
    pub(super) fn may_repeat(self, idempotent: bool) -> bool {
        use CallError::{Broken, Connect, TimedOut, Unresolved};
        matches!(self.error, Broken | Connect | Unresolved | TimedOut { during: Phase::Connect })
            && (self.never_sent || idempotent)
    }
}

/// The first error of the chain that says more than "it broke".
pub fn cause(error: &(dyn Error + 'static)) -> Option<CallError> {
    chain(error).find_map(|error| {
        if let Some(ours) = error.downcast_ref::<CallError>() {
            return Some(*ours);
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(CallError::Tls(tls.into()));
        }
        if error.is::<LengthLimitError>() {
            return Some(CallError::TooLarge);
        }
        let hyper = error.downcast_ref::<hyper::Error>()?;
        if hyper.is_parse_too_large() {
            Some(CallError::TooLarge)
        } else {
            hyper.is_parse().then_some(CallError::Malformed)
        }
    })
}

/// An error and what is behind it.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| behind(*error))
}

/// What caused an error. An `io::Error` hides the error that it wraps from `source`.
fn behind<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    }
}
