//! Reads rate tables and leads from the store.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use tracing::{debug, error, warn};
use uuid::Uuid;

use super::writing::key_under;
use super::{Found, RecordUnavailable, Records};
use crate::rate_table::outcome::Outcome;
use crate::rate_table::record::{AnswerRecord, CallRecord, LaterDecisions, SeatOutcome, TableHead};
use crate::rate_table::summary::{CountedTable, TableSummary};
use crate::rate_table::table::Table;
use offerd_model::LeadAction;
use offerd_partners::ranking::estimate::RatingBand;
use offerd_partners::{Facts, RecordedSeat};
use offerd_store::entities::{LeadRecord, LeadSummary, Tag};
use offerd_store::{FeedKey, ReadError, Scan, Store, Tree};

/// How far the clock may have stepped back since a lead arrived, milliseconds.
const CLOCK_STEPS: i64 = 60 * 60 * 1000;

/// Folds a table from its records; `None` when it does not exist or its lead is erased.
pub fn table(records: &Records, table: Uuid) -> Found<Option<Table>> {
    table_with(records, table, |_| {})
}

/// Like [`table`]; also passes each answer to the callback.
pub fn table_with(records: &Records, table: Uuid, mut tell: impl FnMut(SeatOutcome)) -> Found<Option<Table>> {
    let Records { store, templates } = records;
    let Some(head) = head(store, table)? else { return Ok(None) };
    let seats = head.seats.iter().map(|seat| templates.seat(*seat)).collect::<Result<_, _>>();
    let seats = seats.map_err(|template| {
        error!(rate_table = %table, ?template, "the store has lost the template of an asked partner");
        RecordUnavailable
    })?;

    let lead = head.lead;
    let mut folded = Table::new(Arc::new(head), seats);
    for answers in answers(store, table) {
        for answer in answers? {
            match folded.apply(&answer) {
                Ok(()) => tell(answer),
                Err(illegal) => {
                    error!(rate_table = %table, ?illegal, "a stored answer does not fit its table");
                }
            }
        }
    }
    // A lead with a readable answer is not erased.
    let is_erased = folded.answers() == 0 && store.is_erased(lead).map_err(broken)?;
    Ok((!is_erased).then_some(folded))
}

/// The table and offer number behind an offer's UUID. Does not check that the table shows the offer.
pub fn offer(Records { store, templates }: &Records, offer: Uuid) -> Found<Option<(Uuid, u16)>> {
    let Some((begins, number)) = templates.ids.read_offer(offer) else { return Ok(None) };
    for record in store.scan(Tree::RateTables, &begins.as_bytes()[..14]) {
        let (key, _) = record.map_err(broken)?;
        let table = Uuid::from_slice(&key).map_err(broken)?;
        // Only the UUID that we give out counts: another spelling would make two of one offer.
        if templates.ids.offer(table, number) == offer {
            return Ok(Some((table, number)));
        }
    }
    Ok(None)
}

/// The table with this UUID, or that of the offer with it and its number. Does not check that it is shown.
pub fn named(records: &Records, uuid: Uuid) -> Found<Option<(Table, Option<u16>)>> {
    let (uuid, number) = offer(records, uuid)?.map_or((uuid, None), |(table, number)| (table, Some(number)));
    Ok(table(records, uuid)?.map(|table| (table, number)))
}

/// The table of the seat that a partner calls back under this UUID; `None` when it is not one of ours.
pub fn table_of_callback(Records { store, templates }: &Records, callback: Uuid) -> Found<Option<Uuid>> {
    let Some(begins) = templates.ids.read_callback(callback) else { return Ok(None) };
    let found = store.scan(Tree::RateTables, begins).next().transpose().map_err(broken)?;
    found.map(|(key, _)| Uuid::from_slice(&key).map_err(broken)).transpose()
}

/// A counter, such as the clicks on an offer by its [place](super::public_ids::place), if it has begun.
pub fn count(store: &Store, tree: Tree, key: impl AsRef<[u8]>) -> Found<Option<u64>> {
    let count = |bytes: Vec<u8>| bytes.try_into().map(u64::from_be_bytes);
    let bytes = store.get(tree, key).map_err(broken)?;
    bytes.map(|bytes| count(bytes).map_err(|_| broken("a count has eight bytes"))).transpose()
}

/// A table's head, without answers; `None` when the table does not exist.
pub fn head(store: &Store, table: Uuid) -> Found<Option<TableHead>> {
    store.read(Tree::RateTables, table).map_err(broken)
}

/// Whether a table is hidden because its lead is erased.
pub fn was_erased(store: &Store, table: Uuid) -> Found<bool> {
    let Some(head) = head(store, table)? else { return Ok(false) };
    store.is_erased(head.lead).map_err(broken)
}

/// The decisions on a table's seats that its head does not record.
pub fn later_decisions(store: &Store, table: Uuid) -> Found<LaterDecisions> {
    Ok(store.read(Tree::LaterDecisions, table).map_err(broken)?.unwrap_or_default())
}

/// The call records of a table, by seat.
pub fn calls(store: &Store, table: Uuid) -> Found<HashMap<u16, CallRecord>> {
    let record = |record: Result<(Vec<u8>, Vec<u8>), _>| {
        let (key, payload) = record.map_err(broken)?;
        let seat = position(&key).ok_or_else(|| broken("a key of a call has 18 bytes"))?;
        Ok((seat, store.decode(Tree::Calls, &key, &payload).map_err(broken)?))
    };
    store.scan(Tree::Calls, table.as_bytes()).map(record).collect()
}

/// Whether a table has sold its lead to this seat, which then pays its bid instead of the price in its file.
pub fn is_sold(
    store: &Store,
    (table, seats): (Uuid, &[Arc<RecordedSeat>]),
    seat: &RecordedSeat,
) -> Found<bool> {
    let calls = calls(store, table)?;
    let paying = calls.iter().filter(|(_, call)| call.bid.is_some_and(|bid| bid > 0.0));
    let mut paying = paying.filter_map(|(position, _)| seats.get(usize::from(*position)));
    Ok(paying.any(|paying| paying.is_of(&seat.key, seat.product_type)))
}

/// A rate table as it is billed and counted, also of an erased lead; `None` when it does not exist, or nothing
/// was kept of it.
pub fn counted_table(records: &Records, uuid: Uuid) -> Found<Option<CountedTable>> {
    let mut answers = Vec::new();
    if let Some(table) = table_with(records, uuid, |answer| answers.push(answer))? {
        let summary = TableSummary::of(&table, &answers, |quote| records.templates.of(quote).ok());
        let (head, seats) = (Arc::clone(table.head()), table.seats().to_vec());
        return Ok(Some(CountedTable { head, seats, summary }));
    }
    let Some(head) = head(&records.store, uuid)? else { return Ok(None) };
    let kept = records.store.read(Tree::ErasedLeads, key_under(head.lead, uuid)).map_err(broken)?;
    let Some(summary) = kept else { return Ok(None) };
    let seats = head.seats.iter().map(|seat| records.templates.seat(*seat)).collect::<Result<_, _>>();
    let seats = seats.map_err(|_| RecordUnavailable)?;
    Ok(Some(CountedTable { head: Arc::new(head), seats, summary }))
}

/// Position of a table's next answer record: one after the last, readable or not.
pub fn next_answer(store: &Store, table: Uuid) -> u16 {
    let keys = store.scan(Tree::Answers, table.as_bytes()).filter_map(Result::ok).map(|(key, _)| key);
    keys.filter_map(|key| position(&key)).max().map_or(0, |last| last + 1)
}

fn position(key: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(key.get(16..18)?.try_into().ok()?))
}

/// A lead; `None` when it does not exist or is erased.
pub fn lead(store: &Store, lead: Uuid) -> Found<Option<LeadRecord>> {
    store.read_json(Tree::Leads, lead).map_err(broken)
}

/// What was kept of an erased lead, if anything.
pub fn erased_lead(store: &Store, lead: Uuid) -> Found<Option<LeadSummary>> {
    store.read_json(Tree::ErasedLeads, lead).map_err(broken)
}

/// The state of a lead in the store.
#[derive(Debug)]
pub enum LeadState {
    /// The lead's record.
    Whole(Box<LeadRecord>),
    /// The data key exists, but the record cannot be read.
    Damaged,
    /// No lead, or an erased one.
    Nothing,
}

/// Like [`lead`], but distinguishes a damaged record from a missing one.
pub fn lead_state(store: &Store, lead: Uuid) -> Found<LeadState> {
    match store.read_json(Tree::Leads, lead) {
        Ok(Some(record)) => Ok(LeadState::Whole(record)),
        Ok(None) | Err(ReadError::Broken(_)) => {
            Ok(if store.has_key(lead).map_err(broken)? { LeadState::Damaged } else { LeadState::Nothing })
        }
        Err(failure @ ReadError::Disk(_)) => Err(broken(failure)),
    }
}

/// The facts about a lead that partner rules evaluate, at a given time.
pub fn facts(record: &LeadRecord, at: DateTime<Utc>) -> Facts<'_> {
    let facts = Facts::new(&record.lead, at, record.bands);
    let mut facts = facts.with_newer_values(record.newer_values).submitted_by(record.company);
    facts.uuid = Some(record.uuid);
    facts
}

/// The credit rating of a lead: the declared one, or the one of its score.
pub fn rating(record: &LeadRecord) -> RatingBand {
    // The rating does not depend on the time.
    Facts::new(&record.lead, DateTime::default(), record.bands).rating()
}

/// The tables of a lead, oldest first.
pub fn tables_of(store: &Store, lead: &LeadRecord) -> Vec<Uuid> {
    lead.first_table.into_iter().chain(listed_tables(store, lead.uuid)).collect()
}

/// The tables of a lead after its first, which the lead's own record names; oldest first.
pub fn listed_tables(store: &Store, lead: Uuid) -> impl Iterator<Item = Uuid> {
    let keys = store.scan(Tree::LeadTables, lead.as_bytes()).filter_map(Result::ok);
    keys.filter_map(|(key, _)| Uuid::from_slice(key.get(16..32)?).ok())
}

/// The recorded actions of a lead, oldest first.
pub fn actions(store: &Store, lead: Uuid) -> Vec<LeadAction> {
    of_scan(store, Tree::LeadActions, store.scan(Tree::LeadActions, lead)).collect()
}

/// Decodes the JSON records of a scan. Skips broken ones, which the store logs.
pub fn of_scan<T: DeserializeOwned>(store: &Store, tree: Tree, scan: Scan) -> impl Iterator<Item = T> {
    let decoded = move |(key, bytes): (Vec<u8>, Vec<u8>)| store.decode_json(tree, &key, &bytes).ok();
    scan.filter_map(Result::ok).filter_map(decoded)
}

/// The answer records of a table, in the order of writing.
pub fn answers(store: &Store, table: Uuid) -> impl Iterator<Item = Found<Vec<SeatOutcome>>> {
    answer_records(store, table).map(|record| record.map(|record| record.answers))
}

/// Like [`answers`], with the ask behind each answer.
pub fn answer_records(store: &Store, table: Uuid) -> impl Iterator<Item = Found<AnswerRecord>> {
    store.scan(Tree::Answers, table.as_bytes()).map(|record| {
        let (key, bytes) = record.map_err(broken)?;
        Ok(store.decode::<AnswerRecord>(Tree::Answers, &key, &bytes).map_err(broken)?.with_complete_offers())
    })
}

/// An answer with its table, seat and timing.
#[derive(Debug, Clone, Copy)]
pub struct AnswerContext<'t> {
    /// The head of its table.
    pub head: &'t TableHead,
    /// The seat that answered.
    pub seat: &'t RecordedSeat,
    /// Milliseconds from the creation of the table to the ask or, if unrecorded, to the start of second look.
    pub after_ms: u64,
    /// Milliseconds from the ask to the recording of the answer.
    pub elapsed_ms: u64,
    /// The budget of the ask in milliseconds, if recorded.
    pub budget_ms: Option<u64>,
    /// How the ask ended.
    pub outcome: &'t Outcome,
}

impl AnswerContext<'_> {
    /// How long we waited for the partner, milliseconds: for a timeout, its budget at most.
    pub fn waited_ms(&self) -> u64 {
        match (self.outcome, self.budget_ms) {
            (Outcome::TimedOut, Some(budget)) => self.elapsed_ms.min(budget),
            _ => self.elapsed_ms,
        }
    }
}

/// Passes every answer of the tables made since `since` (Unix milliseconds) on. Skips broken records.
pub fn each_answer(
    records: &Records,
    since: i64,
    mut tell: impl FnMut(AnswerContext<'_>),
) -> Result<(), ReadError> {
    let decisions = made_since(&records.store, Tree::LaterDecisions, since);
    let decisions: HashMap<Uuid, LaterDecisions> = decisions.collect::<Result<_, _>>()?;
    for made in made_since::<TableHead>(&records.store, Tree::RateTables, since) {
        let (table, head) = made?;
        if let Err(RecordUnavailable) = of_table(records, table, &head, decisions.get(&table), &mut tell) {
            warn!(rate_table = %table, "could not count the answers of a table");
        }
    }
    Ok(())
}

fn of_table(
    records: &Records,
    table: Uuid,
    head: &TableHead,
    decisions: Option<&LaterDecisions>,
    tell: &mut impl FnMut(AnswerContext<'_>),
) -> Found<()> {
    for record in answer_records(&records.store, table) {
        for (answer, asked) in record?.each() {
            let place = usize::from(answer.seat);
            let seat = head.seats.get(place).ok_or(RecordUnavailable)?;
            let seat = records.templates.seat(*seat).map_err(|_| RecordUnavailable)?;
            let released_at =
                decisions.and_then(|decisions| decisions.released_at(place)).unwrap_or(head.created_at);
            let after = asked.map_or(released_at - head.created_at, |ask| i64::from(ask.after_ms));
            let elapsed = answer.at - head.created_at - after;
            let millis = |time: i64| u64::try_from(time).unwrap_or(0);
            tell(AnswerContext {
                head,
                seat: &seat,
                after_ms: millis(after),
                elapsed_ms: millis(elapsed),
                budget_ms: asked.map(|ask| u64::from(ask.budget_ms)),
                outcome: &answer.outcome,
            });
        }
    }
    Ok(())
}

/// Records made since `since` (Unix milliseconds), of a tree with UUIDv7 keys. Skips broken records.
pub fn made_since<T: DeserializeOwned>(
    store: &Store,
    tree: Tree,
    since: i64,
) -> impl Iterator<Item = Result<(Uuid, T), ReadError>> {
    let first = Uuid::from_u128(u128::from(since.max(0).cast_unsigned()) << 80);
    let read = move |key: Vec<u8>, bytes: Vec<u8>| {
        Some((Uuid::from_slice(&key).ok()?, store.decode(tree, &key, &bytes).ok()?))
    };
    store.scan_from(tree, first.as_bytes(), []).read_by(read)
}

/// The readable records of a company's feed since a lead's creation (Unix milliseconds), of all leads.
pub fn feed_since<T: DeserializeOwned>(
    store: &Store,
    feed: Tree,
    company: Uuid,
    created_at: i64,
) -> impl Iterator<Item = T> {
    let records = store.feed_from(feed, company, made_since_us(created_at)).filter_map(Result::ok);
    records.flat_map(|(_, listed): (_, Vec<T>)| listed)
}

/// The client tags of a lead.
pub fn tags_of(store: &Store, lead: &LeadRecord) -> impl Iterator<Item = Tag> {
    let start = arrived_since(lead.company, lead.created_at);
    let sealed = store.scan_about(lead.uuid, Tree::LeadClientTags, start, lead.company);
    let records = store.listed(Tree::LeadClientTags, sealed);
    records.filter_map(Result::ok).flat_map(|(_, listed): (_, Vec<Tag>)| listed)
}

/// The lowest feed key that a record about a lead created at this time (Unix milliseconds) can have.
pub fn arrived_since(company: Uuid, created_at: i64) -> Vec<u8> {
    FeedKey::first_at(company, made_since_us(created_at)).to_bytes().to_vec()
}

/// The earliest microsecond of a record about a lead created at this millisecond, if the clock stepped back.
pub fn made_since_us(created_at: i64) -> u64 {
    u64::try_from(created_at - CLOCK_STEPS).unwrap_or(0) * 1000
}

/// Logs a record that cannot be read; readers of other records are not affected. A store that cannot be read
/// at all has logged that itself, once.
fn broken(cause: impl std::fmt::Display + 'static) -> RecordUnavailable {
    match (&cause as &dyn Any).downcast_ref::<ReadError>() {
        Some(ReadError::Disk(_)) => debug!(%cause, "cannot read the store"),
        _ => error!(%cause, "cannot read a stored record"),
    }
    RecordUnavailable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_table::outcome::Outcome;
    use offerd_store::codec;

    /// No trailing field may be missing, and no bytes may follow.
    #[test]
    fn a_record_that_is_shorter_or_longer_is_refused() {
        let answer = SeatOutcome { seat: 0, at: 5, outcome: Outcome::TimedOut, cause: None };
        let bytes = codec::encode(&AnswerRecord::new(vec![answer.clone()], vec![None]));
        assert!(codec::decode::<AnswerRecord>(&bytes[..bytes.len() - 1]).is_err());
        assert!(codec::decode::<AnswerRecord>(&[&bytes[..], &[0]].concat()).is_err());
        assert!(codec::decode::<Vec<SeatOutcome>>(&bytes).is_err());
        assert!(codec::decode::<AnswerRecord>(&codec::encode(&vec![answer])).is_err());
    }
}
