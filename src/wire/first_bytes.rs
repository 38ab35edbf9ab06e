//! Connections whose first bytes are looked at, so that TLS where HTTP was awaited is named.

use std::io::{Error, IoSlice, Result};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

use super::error::CallError;

const FIRST: usize = 2048;

/// A connection. Once its first bytes have come, it costs nothing.
pub(super) struct FirstBytes<C> {
    pub(super) connection: C,
    pub(super) seen: bool,
}

/// Whether bytes begin as an alert or a handshake of TLS does (RFC 8446, 5.1). No answer in HTTP begins so.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [21 | 22, 3, 0..=4, ..])
}

impl<C: Read + Unpin> Read for FirstBytes<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        if self.seen {
            return Pin::new(&mut self.connection).poll_read(context, buffer);
        }
        let mut bytes = [MaybeUninit::uninit(); FIRST];
        let mut first = ReadBuf::uninit(&mut bytes[..FIRST.min(buffer.remaining())]);
        ready!(Pin::new(&mut self.connection).poll_read(context, first.unfilled()))?;
        self.seen = true;
        if is_tls(first.filled()) {
            return Poll::Ready(Err(Error::other(CallError::SpeaksTls)));
        }
        buffer.put_slice(first.filled());
        Poll::Ready(Ok(()))
    }
}

impl<C: Write + Unpin> Write for FirstBytes<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(context, parts)
    }
}

impl<C: Connection> Connection for FirstBytes<C> {
    fn connected(&self) -> Connected {
        self.connection.connected()
    }
}
