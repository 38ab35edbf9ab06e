//! Trace propagation: the header `traceparent` of W3C Trace Context, without other parties' `tracestate`.

use hyper::header::HeaderValue;
use hyper::{HeaderMap, http::HeaderName};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// The header.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A span in another process, or one to propagate.
#[derive(Debug, Clone)]
pub struct TraceContext(pub(super) SpanContext);

impl TraceContext {
    /// The parent span that a request names. An invalid or repeated header is ignored.
    pub fn of_request(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        // Leaves `tracestate` out.
        let one = [(TRACEPARENT, value.clone())].into_iter().collect();
        let context = TraceContextPropagator::new().extract(&HeaderExtractor(&one));
        let found = context.span().span_context().clone();
        found.is_valid().then_some(Self(found))
    }

    /// The value of the header.
    pub fn header(&self) -> HeaderValue {
        let (trace, span) = (self.0.trace_id(), self.0.span_id());
        let sampled = u8::from(self.0.is_sampled());
        let value = HeaderValue::try_from(format!("00-{trace}-{span}-{sampled:02x}"));
        value.expect("digits and dashes are a header's value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Option<String> {
        let values = values.iter().map(|value| (TRACEPARENT, HeaderValue::from_str(value).unwrap()));
        let context = TraceContext::of_request(&values.collect())?;
        Some(context.header().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_header_comes_back_as_it_was_read() {
        for flags in ["00", "01"] {
            let header = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
            assert_eq!(read(&[&header]), Some(header));
        }
    }

    #[test]
    fn what_is_no_trace_counts_as_none() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-xbf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read(&[bad]), None, "{bad}");
        }
        assert_eq!(read(&[good, good]), None, "two");
        assert_eq!(read(&[]), None);
    }
}
