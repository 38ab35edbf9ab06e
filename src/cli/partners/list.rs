//! `offerd partners list`: one row a partner and product type.

use comfy_table::{Cell, Color, Table};

use crate::cli::page;
use crate::matching::limiter::{SeatStanding, State};

/// The table of standings.
pub fn table(standings: &[SeatStanding]) -> Table {
    let mut table = page::table(["partner", "product", "state", "this minute", "today", "payouts today"]);
    for standing in standings {
        let color = if standing.state == State::Active { Color::Green } else { Color::Yellow };
        let payouts = match standing.per_day_budget {
            Some(budget) => format!("{} of {}", page::dollars(standing.owed_today), page::dollars(budget)),
            None => page::dollars(standing.owed_today),
        };
        table.add_row([
            Cell::new(&standing.partner),
            Cell::new(standing.product_type),
            page::toned(standing.told(), color),
            Cell::new(of(standing.asked_this_minute, standing.per_minute)),
            Cell::new(of(standing.asked_today, standing.per_day)),
            Cell::new(payouts),
        ]);
    }
    table
}

fn of(count: u32, cap: Option<u32>) -> String {
    cap.map_or_else(|| count.to_string(), |cap| format!("{count} of {cap}"))
}
