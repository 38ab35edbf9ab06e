//! Traces: one per lead, with a span per partner asked, exported to an OpenTelemetry collector.
//!
//! An ended span goes into a bounded queue, which `delivery` drains, or is dropped and counted. Spans hold
//! nothing of a person. They use the OpenTelemetry API: a lead moves through actors and threads, where there
//! is no current span, and `tracing` spans would appear in every log line.

mod context;
mod delivery;

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, Span};

pub use self::context::{TRACEPARENT, TraceContext};
pub use self::delivery::SpanExportTask;

const SCOPE: &str = "offerd";

/// Starts traces; does nothing without a collector. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Traces(Option<SdkTracer>);

impl Traces {
    /// Exports traces to the collector at `endpoint`, an http or https URL as in
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`. Samples `sampled_percent` of the traces that no caller has started.
    /// Call it within a tokio runtime.
    pub fn to(endpoint: &str, sampled_percent: u8) -> Result<(Self, SpanExportTask), String> {
        let resource = Resource::builder_empty()
            .with_service_name("offerd")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let (queue, delivery) = delivery::start(endpoint, &resource)?;
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(
                f64::from(sampled_percent) / 100.0,
            ))))
            .with_resource(resource)
            .with_span_processor(queue)
            .build();
        Ok((Self(Some(provider.tracer(SCOPE))), delivery))
    }

    /// Starts the trace of a lead, or continues that of the caller.
    pub fn lead(&self, caller: Option<&TraceContext>) -> LeadTrace {
        let Some(tracer) = &self.0 else { return LeadTrace(None) };
        let parent = caller.map_or_else(Context::new, |caller| under(&caller.0));
        let builder = SpanBuilder::from_name("rate table").with_kind(SpanKind::Server);
        let span = tracer.build_with_context(builder, &parent);
        LeadTrace(Some(Box::new((tracer.clone(), span))))
    }
}

/// The span of a lead, until its complete rate table. Ends on drop. Boxed, since most tables have none.
#[derive(Debug, Default)]
pub struct LeadTrace(Option<Box<(SdkTracer, Span)>>);

impl LeadTrace {
    /// Adds an attribute.
    pub fn note(&mut self, key: &'static str, value: impl Into<opentelemetry::Value>) {
        if let Some((_, span)) = self.0.as_deref_mut() {
            span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// Marks the span as failed and ends it.
    pub fn fail(self, why: &'static str) {
        if let Some(mut traced) = self.0 {
            traced.1.set_status(Status::error(why));
        }
    }

    /// Starts the span of one ask.
    pub fn ask(&self, partner: &str, product_type: &str) -> AskTrace {
        let Some((tracer, lead)) = self.0.as_deref() else { return AskTrace(None) };
        let attributes = [
            KeyValue::new("offerd.partner", partner.to_owned()),
            KeyValue::new("offerd.product_type", product_type.to_owned()),
        ];
        let builder =
            SpanBuilder::from_name("ask partner").with_kind(SpanKind::Client).with_attributes(attributes);
        AskTrace(Some(Box::new(tracer.build_with_context(builder, &under(lead.span_context())))))
    }
}

/// The span of one ask. Ends on drop.
#[derive(Debug)]
pub struct AskTrace(Option<Box<Span>>);

impl AskTrace {
    /// The context to send to the partner, so that it can continue the trace.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().map(|span| TraceContext(span.span_context().clone()))
    }

    /// Adds an attribute, which must not hold personal data.
    pub fn note(&mut self, key: &'static str, value: impl Into<opentelemetry::Value>) {
        if let Some(span) = &mut self.0 {
            span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// Ends the span with the outcome of the ask; `well` if the partner answered.
    pub fn end(mut self, outcome: &'static str, well: bool) {
        self.note("offerd.outcome", outcome);
        if !well {
            self.note("error.type", outcome);
            self.0.iter_mut().for_each(|span| span.set_status(Status::error(outcome)));
        }
    }
}

fn under(parent: &SpanContext) -> Context {
    Context::new().with_remote_span_context(parent.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_collector_nothing_is_traced() {
        let mut lead = Traces::default().lead(None);
        lead.note("offerd.test", true);
        assert!(lead.ask("amber", "loan").context().is_none());
        lead.fail("refused");
    }
}
