//! `GET /console/partners/{partner}/timeouts`: what other timeouts of a partner would win, lose and cost, as `offerd partners timing`
//! tells it.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use serde::Serialize;

use super::super::command::unread;
use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use crate::hindsight::timing::{OtherTimeout, SeatTiming, timings};
use crate::matching::Engine;
use crate::store::ReadError;
use crate::web::Failure;

/// The times that can be looked back on: name in the address, words, and length. The second is what the command looks back on.
const TIMES: [(&str, &str, Duration); 3] = [
    ("hour", "1 hour", Duration::from_secs(60 * 60)),
    ("day", "1 day", Duration::from_secs(24 * 60 * 60)),
    ("week", "7 days", Duration::from_secs(7 * 24 * 60 * 60)),
];

/// The one that is looked back on unless another is chosen.
const USUAL: usize = 1;

#[derive(Debug, Serialize)]
struct Timeouts {
    key: String,
    name: String,
    /// Each with its name in the address and whether it is chosen.
    times: Vec<(&'static str, &'static str, bool)>,
    back: &'static str,
    seats: Vec<SeatView>,
}

#[derive(Debug, Serialize)]
struct SeatView {
    product: &'static str,
    timing: SeatTiming,
    /// Seconds; a time is longer than the last where it is not known.
    times: [(&'static str, Option<f64>); 3],
    seen_to: Option<f64>,
    others: Vec<OtherView>,
}

/// Another timeout, times in seconds.
#[derive(Debug, Serialize)]
struct OtherView {
    timeout: f64,
    percent: u32,
    offers: String,
    change: String,
    half: Option<f64>,
    most: Option<f64>,
}

impl Page for Timeouts {
    const SECTION: Section = Section::Partners;
    const TEMPLATE: &'static str = "timeouts.html";

    fn title(&self) -> String {
        format!("Timeouts of {}", self.name)
    }
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let key = visit.params.get("partner").unwrap_or_default().to_owned();
    let book = visit.app.engine.book();
    let seat = book.seats().iter().find(|seat| seat.identity.key == key);
    let seat = seat.ok_or_else(|| Failure::unknown("There is no such partner"))?;
    let name = seat.identity.partner.name.clone();
    let wanted = visit.query_value("time");
    let chosen = TIMES.iter().position(|(time, ..)| wanted == Some(*time)).unwrap_or(USUAL);

    // It reads all tables of that time.
    let permit = Arc::clone(&visit.app.console.scans).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(5))?;
    let (of, back) = (key.clone(), TIMES[chosen].2);
    let seats = visit.reading(move |app| {
        let seats = seats(&app.engine, &of, back);
        drop(permit);
        seats
    });
    let times = TIMES.iter().enumerate().map(|(nth, (time, words, _))| (*time, *words, nth == chosen));
    let (times, seats) = (times.collect(), seats.await?.map_err(unread)?);
    visit.view(&Timeouts { key, name, times, back: TIMES[chosen].1, seats })
}

fn seats(engine: &Engine, partner: &str, back: Duration) -> Result<Vec<SeatView>, ReadError> {
    let since = Utc::now().timestamp_millis() - i64::try_from(back.as_millis()).unwrap_or(i64::MAX);
    let timings = timings(&engine.records, &engine.configuration(), &engine.statistics, since)?;
    Ok(timings.into_iter().filter(|timing| timing.partner == partner).map(SeatView::of).collect())
}

impl SeatView {
    fn of(timing: SeatTiming) -> Self {
        let seconds = |millis: Option<u64>| millis.map(|millis| millis as f64 / 1000.0);
        let other = |other: &OtherTimeout| OtherView {
            timeout: other.timeout_ms as f64 / 1000.0,
            percent: other.percent,
            offers: other.offers_told(),
            change: other.change_told(),
            half: seconds(other.tables_p50_ms),
            most: seconds(other.tables_p95_ms),
        };
        Self {
            product: timing.product_type.as_str(),
            times: [
                ("half", seconds(timing.p50_ms)),
                ("95 of 100", seconds(timing.p95_ms)),
                ("99 of 100", seconds(timing.p99_ms)),
            ],
            seen_to: seconds(timing.seen_to_ms),
            others: timing.timeouts.iter().map(other).collect(),
            timing,
        }
    }
}
