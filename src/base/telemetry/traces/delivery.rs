//! Exports spans: a bounded queue, and a task that drains it over OTLP, as JSON over HTTP.

use std::time::Duration;

use hyper_rustls::HttpsConnectorBuilder;
use metrics::counter;
use opentelemetry::Context;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter as _, SpanProcessor};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::telemetry::metrics::{TRACE_SPANS, TRACE_SPANS_DROPPED};

const QUEUE: usize = 16_384;

const BATCH: usize = 512;

const GATHER: Duration = Duration::from_millis(200);

/// Timeout of a request; its spans are then dropped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for the last spans when the daemon stops.
const FAREWELL: Duration = Duration::from_secs(2);

const PATH: &str = "/v1/traces";

/// The task that exports spans.
#[derive(Debug)]
pub struct SpanExportTask {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl SpanExportTask {
    /// Sends the queued spans within two seconds, and ends.
    pub async fn finish(self) {
        let Self { stop, mut task } = self;
        // A task that has ended has nothing to send.
        let _ = stop.send(());
        if tokio::time::timeout(FAREWELL, &mut task).await.is_err() {
            task.abort();
        }
    }
}

pub(super) fn start(endpoint: &str, resource: &Resource) -> Result<(SpanQueue, SpanExportTask), String> {
    let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(format!("{}{PATH}", endpoint.trim_end_matches('/')))
        .with_timeout(PATIENCE)
        .with_http_client(HyperClient::new(connector, PATIENCE, None))
        .build()
        .map_err(|error| error.to_string())?;
    let (sender, spans) = mpsc::channel(QUEUE);
    let (stop, stopping) = oneshot::channel();
    exporter.set_resource(resource);
    let task = tokio::spawn(deliver(spans, exporter, stopping));
    Ok((SpanQueue(sender), SpanExportTask { stop, task }))
}

/// Queues ended spans. Drops and counts those that do not fit; never waits.
#[derive(Debug)]
pub(super) struct SpanQueue(mpsc::Sender<SpanData>);

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.0.try_send(span).is_err() {
            counter!(TRACE_SPANS_DROPPED, "reason" => "queue_full").increment(1);
        }
    }

    /// [`SpanExportTask::finish`] flushes.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

async fn deliver(
    mut spans: mpsc::Receiver<SpanData>,
    exporter: SpanExporter,
    mut stopping: oneshot::Receiver<()>,
) {
    let (mut going_on, mut reached) = (true, true);
    while going_on {
        tokio::select! {
            _ = &mut stopping => going_on = false,
            () = tokio::time::sleep(GATHER) => {}
        }
        loop {
            let batch = next_batch(&mut spans);
            if batch.is_empty() {
                break;
            }
            reached = send(&exporter, batch, reached).await;
        }
    }
}

fn next_batch(spans: &mut mpsc::Receiver<SpanData>) -> Vec<SpanData> {
    std::iter::from_fn(|| spans.try_recv().ok()).take(BATCH).collect()
}

/// Sends a batch, counts the result, and returns whether it was accepted. Logs each outage and its end once.
async fn send(exporter: &SpanExporter, batch: Vec<SpanData>, reached_before: bool) -> bool {
    let count = batch.len() as u64;
    match exporter.export(batch).await {
        Ok(()) => {
            counter!(TRACE_SPANS).increment(count);
            if !reached_before {
                tracing::info!("the collector takes traces again");
            }
            true
        }
        Err(error) => {
            counter!(TRACE_SPANS_DROPPED, "reason" => "not_delivered").increment(count);
            if reached_before {
                tracing::warn!(%error, "dropping traces that cannot be delivered");
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{Span as _, Tracer, TracerProvider};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;

    #[test]
    fn a_full_queue_drops_what_comes_and_nobody_waits() {
        let (sender, mut spans) = mpsc::channel(2);
        let queue = SpanQueue(sender);
        let tracer = SdkTracerProvider::builder().with_span_processor(queue).build().tracer("test");
        for name in ["one", "two", "three"] {
            tracer.start(name).end();
        }
        let batch = next_batch(&mut spans);
        assert_eq!(batch.iter().map(|span| &*span.name).collect::<Vec<_>>(), ["one", "two"]);
        assert!(next_batch(&mut spans).is_empty());
    }

    #[test]
    fn a_request_has_so_many_spans_and_no_more() {
        let (sender, mut spans) = mpsc::channel(QUEUE);
        let queue = SpanQueue(sender);
        let tracer = SdkTracerProvider::builder().with_span_processor(queue).build().tracer("test");
        (0..BATCH + 1).for_each(|_| tracer.start("span").end());
        assert_eq!((next_batch(&mut spans).len(), next_batch(&mut spans).len()), (BATCH, 1));
    }
}
