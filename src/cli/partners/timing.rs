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

The last columns tell how many answers with offers a shorter timeout would have lost; `out of time` is what a longer one
could have won at most. The figures are read from the stored rate tables, so they hold over restarts.")]
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
        "p50",
        "p95",
        "p99",
    ];
    let shorter = ["lost at 75 %", "at 50 %", "at 25 %"];
    let mut table = page::table(header.into_iter().chain(shorter).collect::<Vec<_>>());
    for timing in timings {
        let share = |part: u64| match timing.asked {
            0 => "–".to_owned(),
            asked => format!("{:.1} %", part as f64 * 100.0 / asked as f64),
        };
        let mut row = vec![
            timing.partner.clone(),
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
            millis(timing.p50_ms),
            millis(timing.p95_ms),
            millis(timing.p99_ms),
        ];
        row.extend(timing.shorter.iter().map(|shorter| shorter.lost.to_string()));
        row.resize(header.len() + 3, "–".to_owned());
        table.add_row(row);
    }
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
