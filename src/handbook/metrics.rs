//! The list of metrics, for the chapter about them.

use std::fmt::Write;

use offerd_base::telemetry::metrics::{METRICS, Metric, MetricKind};

/// All metrics with kind, labels and help, as a definition list.
pub fn markdown() -> String {
    let mut text = String::from("## Every metric\n\n");
    for Metric { name, kind, labels, help, .. } in METRICS {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Seconds => "histogram of seconds",
            MetricKind::Sizes => "histogram",
        };
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let by = if labels.is_empty() { String::new() } else { format!(" by {}", labels.join(", ")) };
        // Writing to a string never fails.
        let _ = write!(text, "`{name}`\n: {help} A {kind}{by}.\n\n");
    }
    text
}
