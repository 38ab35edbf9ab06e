//! What hyper refuses without asking us, with a body that says why: it answers a head that is too long, or that it cannot read, with a
//! status alone.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONNECTION, CONTENT_LENGTH, HeaderValue};
use memchr::memmem;
use metrics::counter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;
use super::exchange::{REQUEST_ID, request_id};
use super::failure::Failure;
use super::stock_answer::StockAnswer;
use crate::ids;
use crate::telemetry::metrics::HTTP_REQUESTS_REFUSED;

/// How hyper's answer to a head that is too long begins. None of ours has this status.
const TOO_LARGE: &[u8] = b"HTTP/1.1 431 ";

/// How its answer to a head that it cannot read begins. Those of ours that have this status have an id.
const UNREADABLE: &[u8] = b"HTTP/1.1 400 ";

/// Digits of the least number of bytes that no length has, so that hyper does not read it: 2^64 - 2.
const HUGE_DIGITS: usize = 20;

/// A stream of HTTP/1 on which an answer of hyper's own is replaced by one that says what is wrong. The connection ends with it.
pub(super) struct Explained<S> {
    stream: S,
    head_bytes: usize,
    activity: Arc<Activity>,
    /// Whether a body was announced whose length is no number that there is room for.
    huge_body: bool,
    /// What is written in place of hyper's answer, and how much of it has been.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S> Explained<S> {
    /// A stream on which heads may have so many bytes.
    pub(super) fn new(stream: S, head_bytes: usize, activity: Arc<Activity>) -> Self {
        Self { stream, head_bytes, activity, huge_body: false, instead: None }
    }

    /// What is said in place of an answer of hyper's that begins so; `None` when it is one of ours, or well said.
    fn instead_of(&self, answer: &[u8]) -> Option<Failure> {
        let too_large = answer.starts_with(TOO_LARGE);
        let is_hypers = || {
            answer.starts_with(UNREADABLE) && memmem::find(answer, REQUEST_ID.as_str().as_bytes()).is_none()
        };
        if !too_large && !is_hypers() {
            return None;
        }
        let reason = if too_large && !self.huge_body { "head_too_large" } else { "head_unreadable" };
        counter!(HTTP_REQUESTS_REFUSED, "reason" => reason).increment(1);
        Some(match (self.huge_body, too_large) {
            (true, _) => Failure::huge_body(),
            (false, true) => Failure::head_too_large(self.head_bytes),
            (false, false) => Failure::unreadable_head(),
        })
    }
}

/// Whether bytes of a head announce a body by a number of too many digits. It is looked for from afar, since this is asked of every byte.
fn announce_huge_body(bytes: &[u8]) -> bool {
    let digits = |nth: usize| {
        let from =
            bytes[..nth].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |before| before + 1);
        let length = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (length >= HUGE_DIGITS).then_some(from)
    };
    let some = (0..bytes.len()).step_by(HUGE_DIGITS).filter(|nth| bytes[*nth].is_ascii_digit());
    some.filter_map(digits).any(|from| {
        let name = bytes[..from].trim_ascii_end().strip_suffix(b":").unwrap_or_default();
        let start = name.len().saturating_sub(CONTENT_LENGTH.as_str().len());
        name[start..].eq_ignore_ascii_case(CONTENT_LENGTH.as_str().as_bytes())
    })
}

impl<S: AsyncWrite + Unpin> Explained<S> {
    /// Writes the answer in place of hyper's, if `buffer` is where that begins; all of `buffer` counts as written then.
    fn poll_instead(&mut self, context: &mut Context<'_>, buffer: &[u8]) -> Poll<Option<io::Result<()>>> {
        if self.instead.is_none()
            && let Some(failure) = self.instead_of(buffer)
        {
            self.instead = Some((last_answer(failure), 0));
            // The rest of the head is heard out, or the client would never read why.
            self.activity.receives(true);
        }
        let Some((answer, written)) = &mut self.instead else { return Poll::Ready(None) };
        while *written < answer.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, &answer[*written..])) {
                Ok(0) => return Poll::Ready(Some(Err(io::ErrorKind::WriteZero.into()))),
                Ok(more) => *written += more,
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        Poll::Ready(Some(Ok(())))
    }
}

/// An answer as bytes, the last one of a connection.
fn last_answer(failure: Failure) -> Vec<u8> {
    let (status, body) = (failure.status, serde_json::to_vec(&failure.errors).unwrap_or_default());
    let mut headers = StockAnswer::from(failure).give().headers().clone();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(REQUEST_ID, request_id(ids::random()));
    // Whose page has asked is not known of a head that was not read, and this tells nothing of anybody.
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let reason = status.canonical_reason().unwrap_or_default();
    let mut answer = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in &headers {
        answer.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    answer.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
    answer.extend(body);
    answer
}

impl<S: AsyncRead + Unpin> AsyncRead for Explained<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.huge_body |= announce_huge_body(&buffer.filled()[before..]);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Explained<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        match ready!(self.poll_instead(context, buffer)) {
            Some(written) => Poll::Ready(written.map(|()| buffer.len())),
            None => Pin::new(&mut self.stream).poll_write(context, buffer),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = buffers.iter().find(|buffer| !buffer.is_empty()).map_or(&[][..], |buffer| buffer);
        match ready!(self.poll_instead(context, first)) {
            Some(written) => Poll::Ready(written.map(|()| buffers.iter().map(|buffer| buffer.len()).sum())),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, buffers),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_length_of_too_many_digits_is_huge() {
        let head = |line: &str| format!("POST /leads HTTP/1.1\r\nHost: x\r\n{line}\r\n\r\n");
        for huge in
            ["18446744073709551615", "18446744073709551614", "99999999999999999999999999999999999999999"]
        {
            for name in ["Content-Length: ", "content-length:", "CONTENT-LENGTH: \t"] {
                assert!(announce_huge_body(head(&format!("{name}{huge}")).as_bytes()), "{name}{huge}");
            }
            assert!(!announce_huge_body(head(&format!("Cookie: id={huge}")).as_bytes()));
            assert!(!announce_huge_body(huge.as_bytes()));
        }
        assert!(!announce_huge_body(head("Content-Length: 1844674407370955161").as_bytes()));
        assert!(!announce_huge_body(b""));
    }
}
