//! Adds the request to log lines, through a span of its future. Hardly any request logs a line, and a span
//! costs a tenth of a poll, so the first line creates it.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::{Event, Metadata, Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer;
use uuid::Uuid;

thread_local! {
    static POLLED: RefCell<Option<RequestSpan>> = const { RefCell::new(None) };
}

/// The future of one request, whose log lines belong to the request.
#[derive(Debug)]
pub struct RequestFuture<F> {
    work: F,
    /// `None` while it is being polled.
    span: Option<RequestSpan>,
}

#[derive(Debug)]
struct RequestSpan {
    id: Uuid,
    listener: &'static str,
    span: Option<Span>,
}

/// Attributes lines to a request while alive. Returns its span when dropped.
struct SpanGuard<'r> {
    span: &'r mut Option<RequestSpan>,
    outer: Option<RequestSpan>,
}

impl<F> RequestFuture<F> {
    /// Wraps the future of a request.
    pub fn new(id: Uuid, listener: &'static str, work: F) -> Self {
        Self { work, span: Some(RequestSpan { id, listener, span: None }) }
    }
}

impl<F: Future + Unpin> Future for RequestFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { work, span } = self.get_mut();
        let _polling = SpanGuard::begin(span);
        Pin::new(work).poll(context)
    }
}

impl<'r> SpanGuard<'r> {
    fn begin(span: &'r mut Option<RequestSpan>) -> Self {
        if let Some(made) = span.as_ref().and_then(|request| request.span.as_ref()) {
            enter(made);
        }
        let outer = POLLED.replace(span.take());
        Self { span, outer }
    }
}

impl Drop for SpanGuard<'_> {
    fn drop(&mut self) {
        *self.span = POLLED.replace(self.outer.take());
        if let Some(made) = self.span.as_ref().and_then(|request| request.span.as_ref()) {
            made.with_subscriber(|(id, subscriber)| subscriber.exit(id));
        }
    }
}

impl RequestSpan {
    fn make(&mut self) {
        if self.span.is_none() {
            let span = tracing::error_span!("request", request_id = %self.id, listener = self.listener);
            enter(&span);
            self.span = Some(span);
        }
    }
}

fn enter(span: &Span) {
    span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
}

/// Creates the span of a request when a layer asks for the spans of a line. Must wrap all of these.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpans;

impl<S: Subscriber> Layer<S> for RequestSpans {
    /// Called for each line only if a filter depends on spans.
    fn enabled(&self, metadata: &Metadata<'_>, _: layer::Context<'_, S>) -> bool {
        if metadata.is_event() {
            make_span();
        }
        true
    }

    fn event_enabled(&self, _: &Event<'_>, _: layer::Context<'_, S>) -> bool {
        make_span();
        true
    }
}

/// Lines of an ending thread, or of a panic in this module, belong to no request.
fn make_span() {
    let _ = POLLED.try_with(|polled| {
        if let Ok(mut polled) = polled.try_borrow_mut() {
            polled.iter_mut().for_each(RequestSpan::make);
        }
    });
}
