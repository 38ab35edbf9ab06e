//! Recent asks and earnings, counted from the records.

use std::collections::HashMap;
use std::ops::Range;

use tracing::warn;
use uuid::Uuid;

use super::LimiterCounts;
use super::meter::{DAY_KEPT, QUARTER};
use crate::rate_table::progress::SeatPhase;
use crate::rate_table::record::{LaterDecisions, TableHead};
use crate::records::Records;
use crate::records::postings::Posting;
use crate::records::reading::made_since;
use offerd_store::{ReadError, Tree};

/// Most that a table is older than its first ask: the longest deadline, and clocks that stepped back.
const SLACK: i64 = 60 * 60 * 1000;

/// The start of the first quarter whose asks are all within the retention `kept`.
pub fn first_kept(now: i64, kept: i64) -> i64 {
    ((now - kept).div_euclid(QUARTER) + 1) * QUARTER
}

/// Counts asks up to `kept` milliseconds back, and a day's earnings. Unreadable records count nothing.
pub fn recount(records: &Records, now: i64, kept: i64) -> LimiterCounts {
    // Timestamps further in the future come from a wrong clock and belong to no day so far.
    let (mut counts, _) = recount_asks(records, now - kept..now + SLACK, kept);
    let _ = recount_postings(records, now, &mut counts);
    counts
}

/// Counts the earnings as far back as a local day can reach.
pub fn recount_postings(records: &Records, now: i64, counts: &mut LimiterCounts) -> RecountResult {
    let (since, mut whole) = (now - DAY_KEPT, Ok(()));
    for posting in made_since::<Posting>(&records.store, Tree::Postings, since - SLACK) {
        let Some((_, posting)) = note(&mut whole, posting) else { continue };
        if (since..=now + SLACK).contains(&posting.at) {
            counts.meter(&posting.partner, posting.product_type).add_payout(posting.at, posting.cents);
        }
    }
    whole
}

/// Counts the asks since a time, for sharing with other nodes.
pub fn recount_since(records: &Records, since: i64, now: i64) -> (LimiterCounts, RecountResult) {
    recount_asks(records, since..now + SLACK, now - since + 2 * SLACK)
}

type RecountResult = Result<(), ReadError>;

fn note<T>(whole: &mut RecountResult, found: Result<T, ReadError>) -> Option<T> {
    found.map_err(|failure| *whole = Err(failure)).ok()
}

/// Counts the asks of a time span, with a retention of `kept` milliseconds.
pub fn recount_asks(records: &Records, lately: Range<i64>, kept: i64) -> (LimiterCounts, RecountResult) {
    let (since, mut whole) = (lately.start, Ok(()));
    let differing = made_since(&records.store, Tree::LaterDecisions, since - SLACK);
    let differing: HashMap<Uuid, LaterDecisions> =
        differing.filter_map(|found| note(&mut whole, found)).collect();
    let mut counts = LimiterCounts::keeping(kept);
    let mut unknown = 0_usize;
    for found in made_since::<TableHead>(&records.store, Tree::RateTables, since - SLACK) {
        let Some((table, head)) = note(&mut whole, found) else { continue };
        if head.test {
            continue;
        }
        let decisions = differing.get(&table);
        for (nth, fingerprint) in head.seats.iter().enumerate() {
            let Ok(seat) = records.templates.seat(*fingerprint) else {
                unknown += 1;
                continue;
            };
            let at_once = SeatPhase::at_start(seat.second_look, head.wants_loans) == SeatPhase::Asked;
            let released_at = decisions.and_then(|decisions| decisions.released_at(nth));
            let asked_at = if at_once { Some(head.created_at) } else { released_at };
            let skipped = decisions.is_some_and(|decisions| decisions.is_skipped(nth));
            if let Some(at) = asked_at.filter(|at| lately.contains(at) && !skipped) {
                counts.count(&seat.key, seat.product_type, at, 1);
            }
        }
    }
    if unknown > 0 {
        warn!(seats = unknown, "could not count asks of some partners: the store has lost their texts");
    }
    (counts, whole)
}
