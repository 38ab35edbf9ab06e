//! `offerd partners list`: one row per partner and product type.

use crate::cli::prelude::*;
use offerd_base::partner_health::{Health, Judgement};
use offerd_engine::matching::limiter::{LimitUse, SeatStatus, State};
use offerd_model::RejectReason;

/// Note on what the counts exclude.
pub const COUNTED: &str = "Test leads are not counted.";

/// The statuses, one row each.
pub fn sheet(statuses: &[SeatStatus]) -> Sheet {
    sheet!(statuses, status => {
        let color = if status.state == State::Active { Color::Green } else { Color::Yellow };
        "partner" => &status.partner,
        "product" => status.product_type.as_str(),
        "state" => SheetValue::from(status.description()).in_color(color),
        "health" => health(&status.health),
        "this minute" => of(status.asked_this_minute, status.per_minute),
        "today" => of(status.asked_today, status.per_day),
        "week, month" => longer(status),
        "payouts today" => match status.per_day_budget {
            Some(budget) => format!("{} of {}", page::dollars(status.owed_today), page::dollars(budget)),
            None => page::dollars(status.owed_today),
        },
    })
}

/// Decline reasons that a partner sends and its file does not declare, with what to add to the file; one per
/// line.
pub fn undeclared(statuses: &[SeatStatus]) -> Vec<String> {
    let mut lines = Vec::new();
    for SeatStatus { partner, product_type, undeclared_reasons, .. } in statuses {
        if !undeclared_reasons.is_empty() {
            lines.push(format!(
                "{partner} declines with words missing from {partner}.toml; [products.{product_type}.http.answer.reasons] gives each a meaning:"
            ));
        }
        for word in undeclared_reasons {
            let counted = format!(
                "{}, last {}",
                page::counted(word.count as usize, "time"),
                page::minute(word.last.timestamp_millis())
            );
            lines.push(match word.key() {
                Some(key) => format!("  {key} = \"...\"   # {counted}"),
                None => format!("  {}   # {counted}", word.word),
            });
        }
    }
    if !lines.is_empty() {
        lines.push(format!("Meanings: {}", RejectReason::WIRE.join(", ")));
    }
    lines
}

fn health(Judgement { health, cause }: &Judgement) -> SheetValue {
    let color = match health {
        Health::Healthy | Health::Unknown | Health::NotAsked => Color::Green,
        Health::DecliningMore | Health::Slow => Color::Yellow,
        Health::Failing | Health::Silent => Color::Red,
    };
    let cause = cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    SheetValue::from(format!("{}{cause}", health.words())).in_color(color)
}

/// Use of the caps that have no column of their own.
fn longer(status: &SeatStatus) -> String {
    let has_column = |it: &LimitUse| ["per_minute", "per_day", "budget"].contains(&it.limit);
    let longer = status.uses().into_iter().filter(|it| !has_column(it));
    longer.map(|it| format!("{} of {}", it.used, it.most)).collect::<Vec<_>>().join(", ")
}

fn of(count: u32, cap: Option<u32>) -> String {
    cap.map_or_else(|| count.to_string(), |cap| format!("{count} of {cap}"))
}
