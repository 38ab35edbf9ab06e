//! `offerd partners timing`: how long partners took, and what another timeout would have meant.

use std::time::Duration;

use chrono::Utc;
use clap::Args;
use comfy_table::{CellAlignment, Table};

use crate::cli::{page, values};
use crate::hindsight::timing::SeatTiming;

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

/// The table of timings.
pub fn table(timings: &[SeatTiming]) -> Table {
    let header = [
        "partner",
        "product",
        "timeout",
        "asked",
        "answered",
        "offers",
        "failed",
        "out of time",
        "watched on",
        "p50",
        "p95",
        "p99",
    ];
    let mut table = page::table(header.to_vec());
    for timing in timings {
        let share = |part: u64| match timing.asked {
            0 => "–".to_owned(),
            asked => format!("{:.1} %", part as f64 * 100.0 / asked as f64),
        };
        let within = |time: Option<u64>| match (time, timing.seen_to_ms) {
            (None, Some(seen_to)) => format!("> {}", millis(Some(seen_to))),
            (time, _) => millis(time),
        };
        table.add_row(vec![
            partner(timing),
            timing.product_type.to_string(),
            match timing.adapted_timeout_ms {
                Some(adapted) => format!("{} of {}", millis(Some(adapted)), millis(timing.timeout_ms)),
                None => millis(timing.timeout_ms),
            },
            timing.asked.to_string(),
            share(timing.answered),
            share(timing.offered),
            share(timing.failed),
            share(timing.timed_out),
            timing.watched.to_string(),
            within(timing.p50_ms),
            within(timing.p95_ms),
            within(timing.p99_ms),
        ]);
    }
    aligned(table)
}

/// The table of other timeouts; `None` where no seat is waited for.
pub fn other_timeouts(timings: &[SeatTiming]) -> Option<Table> {
    let header = [
        "partner",
        "product",
        "timeout",
        "asks with offers",
        "of today's offers",
        "tables p50",
        "tables p95",
    ];
    let mut table = page::table(header.to_vec());
    for timing in timings {
        for other in &timing.timeouts {
            table.add_row(vec![
                partner(timing),
                timing.product_type.to_string(),
                format!("{} ({} %)", millis(Some(other.timeout_ms)), other.percent),
                other.offers_told(),
                other.change_told(),
                millis(other.tables_p50_ms),
                millis(other.tables_p95_ms),
            ]);
        }
    }
    (!table.is_empty()).then(|| aligned(table))
}

fn partner(timing: &SeatTiming) -> String {
    if timing.tests { format!("{} (tests)", timing.partner) } else { timing.partner.clone() }
}

/// The same with its figures to the right.
fn aligned(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn millis(time: Option<u64>) -> String {
    match time {
        None => "–".to_owned(),
        Some(time) if time < 1000 => format!("{time} ms"),
        Some(time) => format!("{:.1} s", time as f64 / 1000.0),
    }
}
