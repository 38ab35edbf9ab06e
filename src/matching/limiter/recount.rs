//! What was asked and earned lately, counted from the records.

use std::collections::HashMap;

use tracing::warn;
use uuid::Uuid;

use super::Counts;
use super::meter::DAY_KEPT;
use crate::rate_table::asks::Asks;
use crate::rate_table::progress::Standing;
use crate::rate_table::record::TableHead;
use crate::records::Records;
use crate::records::postings::Posting;
use crate::records::reading::made_since;
use crate::store::Tree;

/// How much older than its first ask a table's uuid may be: its longest deadline, and clocks that stepped back.
const SLACK: i64 = 60 * 60 * 1000;

/// Counts what lies no longer back than a local day can have begun. A record that cannot be read counts nothing.
pub fn recount(records: &Records, now: i64) -> Counts {
    let since = now - DAY_KEPT;
    // What a clock of the future told is of no day that there has been.
    let lately = since..=now + SLACK;
    let differing: HashMap<Uuid, Asks> = made_since(&records.store, Tree::Asks, since - SLACK).collect();
    let mut counts = Counts::default();
    let mut unknown = 0_usize;
    for (table, head) in made_since::<TableHead>(&records.store, Tree::RateTables, since - SLACK) {
        if head.test {
            continue;
        }
        let asks = differing.get(&table);
        for (nth, fingerprint) in head.seats.iter().enumerate() {
            let Ok(seat) = records.templates.seat(*fingerprint) else {
                unknown += 1;
                continue;
            };
            let at_once = Standing::at_start(seat.second_look, head.wants_loans) == Standing::Asked;
            let released_at = asks.and_then(|asks| asks.released_at(nth));
            let asked_at = if at_once { Some(head.created_at) } else { released_at };
            let spared = asks.is_some_and(|asks| asks.is_spared(nth));
            if let Some(at) = asked_at.filter(|at| lately.contains(at) && !spared) {
                counts.meter(&seat.key, seat.product_type).count(at, 1);
            }
        }
    }
    for (_, posting) in made_since::<Posting>(&records.store, Tree::Postings, since - SLACK) {
        if lately.contains(&posting.at) {
            counts.meter(&posting.partner, posting.product_type).book(posting.at, posting.cents);
        }
    }
    if unknown > 0 {
        warn!(seats = unknown, "seats could not be counted: the store has lost their texts");
    }
    counts
}
