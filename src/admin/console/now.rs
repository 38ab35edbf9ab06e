//! `GET /console`: what happens now, on one screen.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::history::{self, Reading};
use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use crate::telemetry::metrics;
use crate::web::Failure;

/// What rates and latencies are taken over.
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize)]
struct Now {
    /// When the figures were read, Unix milliseconds.
    at: i64,
    tiles: Vec<Tile>,
}

/// A figure with its name, and the metric that it is from.
#[derive(Debug, Serialize)]
struct Tile {
    name: &'static str,
    value: Option<f64>,
    unit: &'static str,
    metric: &'static str,
}

impl Page for Now {
    const SECTION: Section = Section::Now;
    const TEMPLATE: &'static str = "now.html";
    const FRESH: Option<Duration> = Some(history::EVERY);
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let readings = visit.app.console.history.last(MINUTE);
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return Err(Failure::overloaded(1));
    };
    visit.view(&Now { at: last.at, tiles: tiles(first, last) })
}

fn tiles(first: &Reading, last: &Reading) -> Vec<Tile> {
    let submits = last.submits.since(&first.submits);
    vec![
        Tile {
            name: "Requests a second",
            value: last.per_second(first, |reading| reading.requests),
            unit: "",
            metric: metrics::HTTP_REQUESTS,
        },
        Tile { name: "Open tables", value: Some(last.open_tables), unit: "", metric: metrics::LIVE_TABLES },
        Tile {
            name: "Submits, 99th percentile",
            value: submits.quantile(0.99),
            unit: "s",
            metric: metrics::HTTP_REQUEST_SECONDS,
        },
    ]
}
