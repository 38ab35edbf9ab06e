//! Requests from within this process, answered as on a listener. A streamed body is produced as it is read.

use std::error::Error;

use futures_util::stream;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::header::CONTENT_LENGTH;
use hyper::{Request, Response};

use super::caller::Authenticate;
use super::envelope;
use super::prelude::*;
use super::request_head::RequestHead;
use super::surface::Surface;

/// The body of an answer; its error is the reason why the body ends early.
pub type AnswerBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Serves requests of this process.
pub struct InProcess<A>(Arc<Surface<A>>);

impl<A: Authenticate + Send + Sync + 'static> InProcess<A> {
    /// Serves this surface.
    pub fn new(surface: Surface<A>) -> Self {
        Self(Arc::new(surface))
    }

    /// Answers one request. A failure is an answer too.
    pub async fn call(&self, mut request: Request<Bytes>) -> Response<AnswerBody> {
        let length = HeaderValue::from(request.body().len());
        request.headers_mut().insert(CONTENT_LENGTH, length);
        let head = Arc::new(RequestHead::take(&mut request));
        let body = Box::pin(stream::iter([Ok(request.into_body())]));
        let answer = envelope::answer(Arc::clone(&self.0), head, body).await;
        answer.map(|body| body.map_err(Into::into).boxed_unsync())
    }
}
