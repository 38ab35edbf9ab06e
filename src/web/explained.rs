//! hyper answers a request head that is too long with status 431 and no body. Here it gets a body that names the limit.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;
use super::exchange;
use super::failure::Failure;

/// How hyper's answer to a head that is too long begins. None of ours has this status.
const TOO_LARGE: &[u8] = b"HTTP/1.1 431 ";

/// A stream of HTTP/1 that replaces hyper's own 431. The connection ends with it.
pub(super) struct Explained<S> {
    stream: S,
    head_bytes: usize,
    activity: Arc<Activity>,
    /// What is written in place of hyper's answer, and how much of it has been.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S> Explained<S> {
    /// A stream on which heads may have so many bytes.
    pub(super) fn new(stream: S, head_bytes: usize, activity: Arc<Activity>) -> Self {
        Self { stream, head_bytes, activity, instead: None }
    }
}

impl<S: AsyncWrite + Unpin> Explained<S> {
    /// Writes the answer in place of hyper's, if `buffer` is where that begins; all of `buffer` counts as written then.
    fn poll_instead(&mut self, context: &mut Context<'_>, buffer: &[u8]) -> Poll<Option<io::Result<()>>> {
        if self.instead.is_none() && buffer.starts_with(TOO_LARGE) {
            let failure = Failure::head_too_large(self.head_bytes).counted("head_too_large");
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
    let mut headers = exchange::last_answer(failure).into_parts().0.headers;
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
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
