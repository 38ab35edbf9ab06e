//! The last log lines, in bounded memory, for a page. They pass the filter of the log.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::Arc;

use chrono::Utc;
use parking_lot::Mutex;
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::logging::ACCESS;

/// Number of lines.
pub const LINES: usize = 400;

/// Longest stored line, bytes; the rest is cut off.
const LINE_BYTES: usize = 800;

/// A line of the log.
#[derive(Debug, Clone, Serialize)]
pub struct LogLine {
    /// The time, Unix milliseconds.
    pub at: i64,
    /// The level.
    pub level: &'static str,
    /// The module that logged it; `audit` for audit lines.
    pub target: String,
    /// The message, followed by the fields.
    pub text: String,
}

/// The last log lines. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LogTail(Arc<Mutex<VecDeque<LogLine>>>);

impl LogTail {
    /// The lines, oldest first.
    pub fn lines(&self) -> Vec<LogLine> {
        self.0.lock().iter().cloned().collect()
    }
}

impl<S: Subscriber> Layer<S> for LogTail {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == ACCESS {
            return;
        }
        let mut words = EventText::default();
        event.record(&mut words);
        let (about, at, text) = (event.metadata(), Utc::now().timestamp_millis(), words.text());
        let line = LogLine { at, level: about.level().as_str(), target: about.target().to_owned(), text };
        let mut lines = self.0.lock();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

#[derive(Default)]
struct EventText {
    message: String,
    fields: String,
}

impl EventText {
    fn text(self) -> String {
        let mut text = self.message + &self.fields;
        if text.len() > LINE_BYTES {
            let end = (0..=LINE_BYTES).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
        text
    }
}

impl Visit for EventText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn the_last_lines_are_kept_with_their_fields() {
        let tail = LogTail::default();
        let subscriber = tracing_subscriber::registry().with(tail.clone());
        tracing::subscriber::with_default(subscriber, || {
            for nth in 0..LINES + 5 {
                tracing::info!(target: "audit", nth, who = "alice", key = %"a b", "a line");
            }
            tracing::warn!("{}", "é".repeat(LINE_BYTES));
        });
        let lines = tail.lines();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0].text, "a line nth=6 who=\"alice\" key=a b");
        assert_eq!((lines[0].target.as_str(), lines[0].level), ("audit", "INFO"));
        assert!(lines[LINES - 1].text.ends_with("é…") && lines[LINES - 1].text.len() <= LINE_BYTES + 3);
    }
}
