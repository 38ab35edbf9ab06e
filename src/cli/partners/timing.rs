//! `offerd partners timing`: response times of partners, and the effect of other timeouts.

use crate::cli::prelude::*;
use offerd_insight::hindsight::timing::SeatTiming;

/// `partners timing`.
#[derive(Debug, Args)]
pub struct Timing {
    /// Only this partner
    #[arg(value_name = "KEY")]
    pub partner: Option<String>,
    /// How far to look back
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = values::time)]
    pub since: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Timing {
    /// Message when no partner was asked.
    pub fn nobody(&self) -> String {
        let whom = self.partner.as_deref().unwrap_or("no partner");
        let verb = if self.partner.is_some() { "was not asked" } else { "was asked" };
        let back = humantime::format_duration(self.since);
        format!("{whom} {verb} in the last {back}; `--since` looks further back")
    }
}

/// The timings.
pub fn sheet(timings: &[SeatTiming]) -> Sheet {
    sheet!(timings, timing => {
        let share = |part: u64| match timing.asked {
            0 => "–".to_owned(),
            asked => format!("{:.1} %", part as f64 * 100.0 / asked as f64),
        };
        let within = |time: Option<u64>| match (time, timing.seen_to_ms) {
            (None, Some(seen_to)) => format!("> {}", millis(Some(seen_to))),
            (time, _) => millis(time),
        };
        "partner" => partner(timing),
        "product" => timing.product_type.as_str(),
        "timeout": Figure => match timing.adapted_timeout_ms {
            Some(adapted) => format!("{} of {}", millis(Some(adapted)), millis(timing.timeout_ms)),
            None => millis(timing.timeout_ms),
        },
        "asked": Count => timing.asked,
        "answered": Figure => share(timing.answered),
        "offers": Figure => share(timing.offered),
        "failed": Figure => share(timing.failed),
        "out of time": Figure => share(timing.timed_out),
        "watched on": Count => timing.watched,
        "p50": Figure => within(timing.p50_ms),
        "p95": Figure => within(timing.p95_ms),
        "p99": Figure => within(timing.p99_ms),
    })
}

/// The effect of other timeouts; empty if no seat has a timeout.
pub fn other_timeouts(timings: &[SeatTiming]) -> Sheet {
    let others = timings.iter().flat_map(|timing| timing.timeouts.iter().map(move |other| (timing, other)));
    sheet!(others, (timing, other) => {
        "partner" => partner(timing),
        "product" => timing.product_type.as_str(),
        "timeout": Figure => format!("{} ({} %)", millis(Some(other.timeout_ms)), other.percent),
        "asks with offers": Figure => other.offers_summary(),
        "of today's offers": Figure => other.change_summary(),
        "tables p50": Figure => millis(other.tables_p50_ms),
        "tables p95": Figure => millis(other.tables_p95_ms),
    })
}

fn partner(timing: &SeatTiming) -> String {
    if timing.tests { format!("{} (tests)", timing.partner) } else { timing.partner.clone() }
}

fn millis(time: Option<u64>) -> String {
    match time {
        None => "–".to_owned(),
        Some(time) if time < 1000 => format!("{time} ms"),
        Some(time) => format!("{:.1} s", time as f64 / 1000.0),
    }
}
