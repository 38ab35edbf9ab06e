//! Dry run: the outcome of a lead that is not submitted. No partner is asked, and nothing is written.

use chrono::{DateTime, Utc};

use super::judgement::{EligibilityObjection, NOT_PAUSED, SeatJudgement, judge};
use offerd_engine::matching::limiter::{SeatStatus, State};
use offerd_engine::matching::suppressions::ListMembership;
use offerd_model::{CreditBands, Lead};
use offerd_partners::{Book, Facts, Seat};

/// Judges a lead by a book at a given time, by present statuses and any suppression lists that name it.
pub fn dry_run(
    book: &Book,
    statuses: &[SeatStatus],
    on_lists: Option<&ListMembership>,
    most: usize,
    lead: &Lead,
    now: DateTime<Utc>,
) -> Vec<SeatJudgement> {
    let facts = Facts::new(lead, now, CreditBands::Current);
    judge(book, &facts, Some(now), most, &|seat| {
        let suppressed = on_lists.and_then(|lists| lists.against(seat)).map(|by| by.wanted_and_found());
        let suppressed = suppressed.map(|(wanted, found)| EligibilityObjection::new(wanted, found));
        suppressed.or_else(|| counted_against(statuses, seat))
    })
}

/// The status that rules a seat out. [`judge`] itself checks what the file states.
fn counted_against(statuses: &[SeatStatus], seat: &Seat) -> Option<EligibilityObjection> {
    let status = statuses.iter().find(|one| seat.is_of(&one.partner, one.product_type))?;
    let wanted = match status.state {
        State::Active | State::PausedByFile => return None,
        State::OutsideSchedule | State::OutsideDays | State::ListMissing => return None,
        State::PausedByOperator => NOT_PAUSED,
        State::Capped => "fewer asks than its cap",
        State::OverBudget => "payouts below its budget",
        State::BreakerOpen => "a partner without too many recent failures",
    };
    Some(EligibilityObjection::new(wanted, status.description()))
}
