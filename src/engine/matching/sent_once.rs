//! Once-per-lead calls, however many rate tables the lead has.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::rate_table::call_record::CallRecord;
use crate::rate_table::record::TableHeader;
use crate::records::{Found, RecordUnavailable, Records, reading, writing};
use offerd_store::{Commit, Tree};

/// The cause when a partner is not sent the lead again.
pub const SENT_BEFORE: &str = "it already got the lead for another rate table, and gets it only once";

/// The `commit` of a call, guarded against the same call for another table; `None` where that was made.
pub async fn alone(
    records: &Records,
    (head, position): (&Arc<TableHeader>, u16),
    step: u8,
    commit: Commit,
) -> Found<Option<Commit>> {
    let (records, head) = (records.clone(), Arc::clone(head));
    let looked = spawn_blocking(move || guarded(&records, &head, position, step, commit)).await;
    // Fails only by a panic or at the end of the process.
    looked.unwrap_or(Err(RecordUnavailable))
}

fn guarded(
    records: &Records,
    head: &TableHeader,
    position: u16,
    step: u8,
    mut commit: Commit,
) -> Found<Option<Commit>> {
    let Records { store, templates } = records;
    let seat_of = |template| templates.seat(template).ok();
    let own = head.seats.get(usize::from(position)).and_then(|template| seat_of(*template));
    let (Some(own), Some(lead)) = (own, reading::lead(store, head.lead)?) else { return Ok(Some(commit)) };
    let others = reading::tables_of(store, &lead).into_iter().filter(|table| *table != head.uuid);
    for table in others.collect::<Vec<Uuid>>() {
        let Some(other) = reading::head(store, table)? else { continue };
        let calls = reading::calls(store, table)?;
        for (position, template) in (0..).zip(&other.seats) {
            if !seat_of(*template).is_some_and(|seat| seat.is_of(&own.key, own.product_type)) {
                continue;
            }
            if calls.get(&position).is_some_and(|call| is_sent(call, step)) {
                return Ok(None);
            }
            let key = writing::key_in(table, position);
            let found = store.get(Tree::Calls, &key).map_err(|_| RecordUnavailable)?;
            commit = commit.as_found(Tree::Calls, key, found);
        }
    }
    Ok(Some(commit))
}

fn is_sent(call: &CallRecord, step: u8) -> bool {
    call.step > step || (call.step == step && call.sent)
}
