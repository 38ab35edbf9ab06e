//! Of which request a log line is: of the one whose future logs it, as a span around it says.
//!
//! Nearly no request has a line, and a span costs a tenth of what a poll does. So it is made when the first line asks for it.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::{Event, Metadata, Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer;
use uuid::Uuid;

thread_local! {
    /// The request whose future this thread polls.
    static POLLED: RefCell<Option<RequestSpan>> = const { RefCell::new(None) };
}

/// The work of one request, whose log lines are told as the request's.
#[derive(Debug)]
pub struct OfRequest<F> {
    work: F,
    /// `None` while it is polled.
    span: Option<RequestSpan>,
}

/// The span of a request, once it was asked for.
#[derive(Debug)]
struct RequestSpan {
    id: Uuid,
    listener: &'static str,
    span: Option<Span>,
}

/// While this lives, lines are told as those of a request. Gives its span back when it ends.
struct Polling<'r> {
    span: &'r mut Option<RequestSpan>,
    outer: Option<RequestSpan>,
}

impl<F> OfRequest<F> {
    /// The work of a request of a listener.
    pub fn new(id: Uuid, listener: &'static str, work: F) -> Self {
        Self { work, span: Some(RequestSpan { id, listener, span: None }) }
    }
}

impl<F: Future + Unpin> Future for OfRequest<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { work, span } = self.get_mut();
        let _polling = Polling::begin(span);
        Pin::new(work).poll(context)
    }
}

impl<'r> Polling<'r> {
    fn begin(span: &'r mut Option<RequestSpan>) -> Self {
        if let Some(made) = span.as_ref().and_then(|request| request.span.as_ref()) {
            enter(made);
        }
        let outer = POLLED.replace(span.take());
        Self { span, outer }
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        *self.span = POLLED.replace(self.outer.take());
        if let Some(made) = self.span.as_ref().and_then(|request| request.span.as_ref()) {
            made.with_subscriber(|(id, subscriber)| subscriber.exit(id));
        }
    }
}

impl RequestSpan {
    /// Makes the span, unless it is there.
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

/// Makes the span of a request for whoever asks which one a line is of: what writes it and, where it goes by spans, the filter
/// that lets it through. To be put around both.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpans;

impl<S: Subscriber> Layer<S> for RequestSpans {
    /// Only a filter that goes by spans has each line asked for.
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

/// A line may be logged by a thread that ends, or by a panic in here: it is of no request then.
fn make_span() {
    let _ = POLLED.try_with(|polled| {
        if let Ok(mut polled) = polled.try_borrow_mut() {
            polled.iter_mut().for_each(RequestSpan::make);
        }
    });
}
