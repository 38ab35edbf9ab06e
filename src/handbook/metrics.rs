//! The list of metrics, as a part of their chapter.

use std::fmt::Write;

use offerd_base::telemetry::metrics::{Kind, METRICS, Metric};

/// Every metric with its kind, its labels and what it says, as a list of definitions.
pub fn markdown() -> String {
    let mut text = String::from("## Every metric\n\n");
    for Metric { name, kind, labels, help, .. } in METRICS {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Seconds => "histogram of seconds",
            Kind::Sizes => "histogram",
        };
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let by = if labels.is_empty() { String::new() } else { format!(" by {}", labels.join(", ")) };
        // Writing to a text never fails.
        let _ = write!(text, "`{name}`\n: {help} A {kind}{by}.\n\n");
    }
    text
}
