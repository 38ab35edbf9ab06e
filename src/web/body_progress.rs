//! Answer bodies that record how much of them the client has taken.

use std::task::{Context, Poll};

use bytes::Buf;
use hyper::body::{Body, Frame, SizeHint};

use super::activity::ActiveRequest;
use super::prelude::*;

pub(super) struct BodyProgress<B> {
    body: Option<B>,
    request: Arc<ActiveRequest>,
}

/// A chunk of the body, from its creation until it is written.
pub(super) struct BodyPiece {
    bytes: Bytes,
    /// The request to report to; `None` once the last byte is taken.
    owed_by: Option<Arc<ActiveRequest>>,
}

impl<B> BodyProgress<B> {
    pub(super) fn new(body: Option<B>, request: Arc<ActiveRequest>) -> Self {
        Self { body, request }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for BodyProgress<B> {
    type Data = BodyPiece;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<BodyPiece>, B::Error>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        frame.map_ok(|frame| frame.map_data(|bytes| BodyPiece::new(bytes, &this.request)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(B::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), B::size_hint)
    }
}

impl BodyPiece {
    fn new(bytes: Bytes, request: &Arc<ActiveRequest>) -> Self {
        let owed_by = bytes.has_remaining().then(|| Arc::clone(request));
        owed_by.iter().for_each(|request| request.owes());
        Self { bytes, owed_by }
    }

    fn moved(&mut self) {
        self.owed_by.iter().for_each(|request| request.moved());
        if !self.bytes.has_remaining() {
            self.over();
        }
    }

    fn over(&mut self) {
        self.owed_by.take().iter().for_each(|request| request.gave());
    }
}

impl Buf for BodyPiece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.moved();
    }

    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        let copied = self.bytes.copy_to_bytes(length);
        self.moved();
        copied
    }
}

impl Drop for BodyPiece {
    fn drop(&mut self) {
        self.over();
    }
}
