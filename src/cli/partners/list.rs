//! `offerd partners list`: one row a partner and product type.

use comfy_table::{Cell, Table};

use crate::cli::page::{self, Color};
use crate::matching::limiter::{SeatStanding, State};
use crate::model::RejectReason;
use crate::partner_health::{Health, Judgement};

/// The table of standings.
pub fn table(standings: &[SeatStanding]) -> Table {
    let header =
        ["partner", "product", "state", "health", "this minute", "today", "week, month", "payouts today"];
    let mut table = page::table(header);
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
            health(&standing.health),
            Cell::new(of(standing.asked_this_minute, standing.per_minute)),
            Cell::new(of(standing.asked_today, standing.per_day)),
            Cell::new(longer(standing)),
            Cell::new(payouts),
        ]);
    }
    table
}

/// What partners say and their files do not know, with what to add to them; one line each.
pub fn undeclared(standings: &[SeatStanding]) -> Vec<String> {
    let mut lines = Vec::new();
    for SeatStanding { partner, product_type, undeclared_words, .. } in standings {
        if !undeclared_words.is_empty() {
            lines.push(format!(
                "{partner} declines in words that {partner}.toml does not know; [products.{product_type}.http.answer.reasons] gives each a meaning:"
            ));
        }
        for word in undeclared_words {
            let counted =
                format!("{}, last {}", page::counted(word.count as usize, "time"), page::moment(word.last));
            lines.push(match word.key() {
                Some(key) => format!("  {key} = \"...\"   # {counted}"),
                None => format!("  {}   # {counted}", word.word),
            });
        }
    }
    if !lines.is_empty() {
        lines.push(format!("The meanings there are: {}", RejectReason::WIRE.join(", ")));
    }
    lines
}

/// How well it is, with what is not as usual.
fn health(Judgement { health, cause }: &Judgement) -> Cell {
    let color = match health {
        Health::Healthy | Health::Unknown | Health::NotAsked => Color::Green,
        Health::DecliningMore | Health::Slow => Color::Yellow,
        Health::Failing | Health::Silent => Color::Red,
    };
    let cause = cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    page::toned(format!("{}{cause}", health.words()), color)
}

/// Asks of the week and of the month, where they are capped.
fn longer(standing: &SeatStanding) -> String {
    let SeatStanding { asked_this_week, per_week, asked_this_month, per_month, .. } = *standing;
    let counted = [(asked_this_week, per_week), (asked_this_month, per_month)];
    let counted = counted.into_iter().filter_map(|(count, cap)| Some(of(count?, cap)));
    counted.collect::<Vec<_>>().join(", ")
}

fn of(count: u32, cap: Option<u32>) -> String {
    cap.map_or_else(|| count.to_string(), |cap| format!("{count} of {cap}"))
}
