//! What hyper does not do of itself on a stream of HTTP/1. It answers a request head that is malformed or too long with status 400 or 431
//! and no body: here the answer gets a body that names the fault or the limit. And it has one time limit for silence and for a head: here are two.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_LENGTH, HeaderValue};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::Activity;
use super::exchange;
use super::failure::Failure;
use super::listener::Limits;

/// How hyper's answer to a head that is malformed begins.
const MALFORMED: &[u8] = b"HTTP/1.1 400 ";

/// How hyper's answer to a head that is too long begins. None of ours has this status.
const TOO_LARGE: &[u8] = b"HTTP/1.1 431 ";

/// What each of our own answers has in its head.
const OURS: &[u8] = b"\r\nrequest-id: ";

/// A stream of HTTP/1 that replaces hyper's own 400 and 431, with which the connection ends; and whose reads fail once the client has been silent,
/// or has taken for a head, longer than it may.
pub(super) struct Explained<S> {
    stream: S,
    limits: Limits,
    activity: Arc<Activity>,
    /// What is still to be written in place of hyper's answer.
    instead: Option<Bytes>,
    /// The time without a request in which a head has begun to come.
    head_since: Option<u64>,
    /// What the clock runs for: a time without a request, and whether a head has begun in it.
    timed: Option<(u64, bool)>,
    clock: Pin<Box<Sleep>>,
}

impl<S> Explained<S> {
    /// A stream within these limits.
    pub(super) fn new(stream: S, limits: Limits, activity: Arc<Activity>) -> Self {
        let clock = Box::pin(sleep_until(Instant::now()));
        Self { stream, limits, activity, instead: None, head_since: None, timed: None, clock }
    }

    /// Ready once the client has been silent, or has taken for a head, longer than it may.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(idle) = self.activity.idle_mark() else { return Poll::Pending };
        let timed = (idle, self.head_since == Some(idle));
        if self.timed != Some(timed) {
            self.timed = Some(timed);
            let longest = if timed.1 { self.limits.header_timeout } else { self.limits.idle_timeout };
            self.clock.as_mut().reset(Instant::now() + longest);
        }
        self.clock.as_mut().poll(context)
    }
}

impl<S: AsyncWrite + Unpin> Explained<S> {
    /// Writes our answer if `buffer` starts hyper's; true when `buffer` counts as written.
    fn poll_instead(&mut self, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<bool>> {
        if self.instead.is_none()
            && let Some(failure) = self.refusal(buffer)
        {
            self.instead = Some(last_answer(failure).into());
            // The rest of the head is heard out, or the client would never read why.
            self.activity.receives(true);
        }
        let Some(answer) = &mut self.instead else { return Poll::Ready(Ok(false)) };
        while !answer.is_empty() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, answer))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => answer.advance(written),
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl<S> Explained<S> {
    /// What hyper refuses by an answer that begins so; `None` for an answer of ours.
    fn refusal(&self, answer: &[u8]) -> Option<Failure> {
        if answer.starts_with(TOO_LARGE) {
            Some(Failure::head_too_large(self.limits.head_bytes).counted("head_too_large"))
        } else {
            let is_theirs = answer.starts_with(MALFORMED) && memmem::find(answer, OURS).is_none();
            is_theirs.then(Failure::head_malformed)
        }
    }
}

/// An answer as bytes, the last one of a connection.
fn last_answer(failure: Failure) -> Vec<u8> {
    let (mut head, body) = exchange::last_answer(failure).into_parts();
    // Whose page has asked is not known of a head that was not read, and this tells nothing of anybody.
    head.headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let mut answer = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        answer.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    [&answer[..], b"\r\n", &body].concat()
}

impl<S: AsyncRead + Unpin> AsyncRead for Explained<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.head_since = self.activity.idle_mark();
        } else if read.is_pending() && self.poll_late(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Explained<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if ready!(self.poll_instead(context, buffer))? {
            return Poll::Ready(Ok(buffer.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = buffers.iter().find(|buffer| !buffer.is_empty()).map_or(&[][..], |buffer| buffer);
        if ready!(self.poll_instead(context, first))? {
            return Poll::Ready(Ok(buffers.iter().map(|buffer| buffer.len()).sum()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
