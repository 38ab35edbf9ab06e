//! Results of a rate table: clicks on its offers, and the payouts of its lead.

use crate::console::prelude::*;
use offerd_engine::rate_table::table::Table;
use offerd_engine::records::public_ids;
use offerd_store::entities::{LeadRecord, PayoutRecord};
use offerd_store::{FeedKey, Tree};

/// Time span around an action in which its payout or reversal is recorded.
const AROUND: Duration = Duration::from_secs(2);

/// Maximum actions of a lead, and feed records around each, that are read.
const STEPS_MOST: usize = 50;
const RECORDS_MOST: usize = 2000;

/// The clicks on a table's offers; the payouts of the lead from all its tables less reversals, in dollars;
/// and the actions on the lead since, oldest first.
pub(super) fn money(store: &Store, table: &Table, lead: &LeadRecord) -> Result<Value, RecordUnavailable> {
    let mut clicks = 0;
    for number in table.numbers() {
        clicks +=
            reading::count(store, Tree::Clicks, public_ids::place(table.head().uuid, number))?.unwrap_or(0);
    }
    let actions = reading::actions(store, lead.uuid);
    let moments = actions.iter().flat_map(|action| [Some(action.created_at), action.deleted_at]).flatten();
    let moments: Vec<i64> = moments.map(|at| at.millis()).take(STEPS_MOST).collect();
    let steps = actions.iter().take(STEPS_MOST).map(|action| {
        fields! {
            at => action.created_at.millis(),
            what => action.action_type.as_str().replace('_', " "),
            with => action.originator_key, amount => action.amount,
            taken_back => action.deleted_at.is_some(),
        }
    });
    let steps: Vec<Value> = steps.collect();
    Ok(fields! { clicks, payouts => payouts(store, lead, &moments), steps })
}

/// The payouts of a lead at these times, in dollars. Unreadable ones were reported, and are left out.
fn payouts(store: &Store, lead: &LeadRecord, moments: &[i64]) -> f64 {
    let mut cents: BTreeMap<FeedKey, f64> = BTreeMap::new();
    for at in moments {
        let around = AROUND.as_millis() as i64;
        let us = |ms: i64| u64::try_from(ms).unwrap_or(0) * 1000;
        let records = store.feed_from::<PayoutRecord>(Tree::LeadPayouts, lead.company, us(at - around));
        let near = records.filter_map(Result::ok).take_while(|(key, _)| key.arrival_us <= us(at + around));
        for (key, payouts) in near.take(RECORDS_MOST) {
            let of_lead = payouts.iter().filter(|payout| payout.lead == lead.uuid);
            cents.insert(key, of_lead.map(|payout| payout.cents).sum());
        }
    }
    cents.values().sum::<f64>() / 100.0
}
