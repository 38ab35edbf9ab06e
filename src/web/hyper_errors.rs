//! What hyper lacks on an HTTP/1 stream: a body for its 400 and 431, and an idle timeout.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use bytes::Buf;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_LENGTH};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::Activity;
use super::exchange;
use super::listener::Limits;
use super::prelude::*;

const MALFORMED: &[u8] = b"HTTP/1.1 400 ";

const TOO_LARGE: &[u8] = b"HTTP/1.1 431 ";

const OURS: &[u8] = b"\r\nrequest-id: ";

/// An HTTP/1 stream that replaces hyper's own 400 and 431, with idle and header timeouts.
pub(super) struct HyperErrorRewriter<S> {
    stream: S,
    limits: Limits,
    activity: Arc<Activity>,
    /// The rest of our answer that is written in place of hyper's.
    instead: Option<Bytes>,
    /// The idle period in which a head has begun to arrive.
    head_since: Option<u64>,
    timed: Option<(u64, bool)>,
    clock: Pin<Box<Sleep>>,
}

impl<S> HyperErrorRewriter<S> {
    pub(super) fn new(stream: S, limits: Limits, activity: Arc<Activity>) -> Self {
        let clock = Box::pin(sleep_until(Instant::now()));
        Self { stream, limits, activity, instead: None, head_since: None, timed: None, clock }
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(idle) = self.activity.idle_mark() else { return Poll::Pending };
        let timed = (idle, self.head_since == Some(idle));
        if self.timed != Some(timed) {
            self.timed = Some(timed);
            let longest = if timed.1 { self.limits.header_timeout } else { self.limits.idle_timeout };
            self.clock.as_mut().reset(Instant::now() + longest);
        }
        self.clock.as_mut().poll(cx)
    }

    /// The failure behind hyper's own answer that begins so; `None` for an answer of ours.
    fn refusal(&self, answer: &[u8]) -> Option<Failure> {
        if answer.starts_with(TOO_LARGE) {
            Some(Failure::head_too_large(self.limits.head_bytes).counted("head_too_large"))
        } else {
            let is_theirs = answer.starts_with(MALFORMED) && memmem::find(answer, OURS).is_none();
            is_theirs.then(Failure::head_malformed)
        }
    }
}

impl<S: AsyncWrite + Unpin> HyperErrorRewriter<S> {
    /// Writes our answer if `buffer` starts hyper's; true when `buffer` counts as written.
    fn poll_instead(&mut self, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<bool>> {
        if self.instead.is_none()
            && let Some(failure) = self.refusal(buffer)
        {
            self.instead = Some(last_answer(failure).into());
            // The rest of the head is read and discarded, or the client would never read the answer.
            self.activity.receives(true);
        }
        let Some(answer) = &mut self.instead else { return Poll::Ready(Ok(false)) };
        while !answer.is_empty() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, answer))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => answer.advance(written),
            }
        }
        Poll::Ready(Ok(true))
    }
}

fn last_answer(failure: Failure) -> Vec<u8> {
    let (mut head, body) = exchange::last_answer(failure).into_parts();
    // The origin is unknown, and the answer discloses nothing.
    head.headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let mut answer = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        answer.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    [&answer[..], b"\r\n", &body].concat()
}

impl<S: AsyncRead + Unpin> AsyncRead for HyperErrorRewriter<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, buffer: &mut ReadBuf) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.head_since = self.activity.idle_mark();
        } else if read.is_pending() && self.poll_late(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HyperErrorRewriter<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        if ready!(self.poll_instead(cx, buffer))? {
            return Poll::Ready(Ok(buffer.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = buffers.iter().find(|buffer| !buffer.is_empty()).map_or(&[][..], |buffer| buffer);
        if ready!(self.poll_instead(cx, first))? {
            return Poll::Ready(Ok(buffers.iter().map(|buffer| buffer.len()).sum()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
