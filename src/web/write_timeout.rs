//! A socket with a write timeout and a lingering close.

use std::future::Future;
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::activity::Activity;
use super::lingering_close::LingeringClose;
use super::prelude::*;

/// A stream whose writes fail once the socket has taken nothing for `patience`. hyper has no such limit.
pub(super) struct WriteTimeoutStream {
    stream: TcpStream,
    patience: Duration,
    activity: Arc<Activity>,
    /// Runs from the first write that finds the socket full until a write succeeds.
    stall: Option<Pin<Box<Sleep>>>,
    /// Set once our side is shut down while a body may still be arriving.
    lingering: Option<LingeringClose>,
}

impl WriteTimeoutStream {
    pub(super) fn new(stream: TcpStream, patience: Duration, activity: Arc<Activity>) -> Self {
        Self { stream, patience, activity, stall: None, lingering: None }
    }

    fn within_patience<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.stall.take().is_some() {
                self.activity.unstalled();
            }
            return written;
        }
        let Self { patience, activity, stall, .. } = self;
        let stall = stall.get_or_insert_with(|| {
            activity.stalled();
            Box::pin(tokio::time::sleep(*patience))
        });
        stall.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context, buffer: &mut ReadBuf) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.within_patience(written, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.within_patience(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, activity, lingering, .. } = self.get_mut();
        if lingering.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            if !activity.is_receiving() {
                return Poll::Ready(Ok(()));
            }
        }
        lingering.get_or_insert_with(LingeringClose::begin).poll(stream, context).map(Ok)
    }
}
