//! `offerd partners timing`: how long partners took, and what another timeout would have meant.

use std::time::Duration;

use chrono::Utc;
use clap::Args;

use crate::cli::values;
use crate::hindsight::timing::SeatTiming;
use crate::sheet::{Sheet, sheet};

/// `partners timing`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd partners timing --since 7d
  offerd partners timing northquill_lending --json

The first table tells how long answers took, those counted that were not waited for: `> 5.6 s` is later than anybody has
waited. The second tells for each timeout how many asks would end with offers, how many of today's offers it would win
or lose, each with an interval of 95 %, and within what time half, and 95 of a hundred, of the rate tables would be
complete. What longer timeouts would win is known of the asks whose late answers a running daemon has watched for. All
else is read from the stored rate tables, so it holds over restarts.")]
pub struct Timing {
    /// Only this partner
    #[arg(value_name = "KEY")]
    pub partner: Option<String>,
    /// How far to look back
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = values::time)]
    since: Duration,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

impl Timing {
    /// What is printed where nobody was asked.
    pub fn nobody(&self) -> String {
        let whom = self.partner.as_deref().unwrap_or("no partner");
        let verb = if self.partner.is_some() { "was not asked" } else { "was asked" };
        let back = humantime::format_duration(self.since);
        format!("{whom} {verb} in the last {back}; `--since` looks further back")
    }

    /// From when on tables count, Unix milliseconds.
    pub fn since_ms(&self) -> i64 {
        let back = i64::try_from(self.since.as_millis()).unwrap_or(i64::MAX);
        Utc::now().timestamp_millis().saturating_sub(back).max(0)
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

/// Other timeouts; no row where no seat is waited for.
pub fn other_timeouts(timings: &[SeatTiming]) -> Sheet {
    let others = timings.iter().flat_map(|timing| timing.timeouts.iter().map(move |other| (timing, other)));
    sheet!(others, (timing, other) => {
        "partner" => partner(timing),
        "product" => timing.product_type.as_str(),
        "timeout": Figure => format!("{} ({} %)", millis(Some(other.timeout_ms)), other.percent),
        "asks with offers": Figure => other.offers_told(),
        "of today's offers": Figure => other.change_told(),
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
