//! The commits in the life of a rate table.

use std::collections::BTreeSet;

use serde::Serialize;
use uuid::Uuid;

use super::open_tables::OpenTable;
use super::postings::Posting;
use crate::rate_table::bids::Sale;
use crate::rate_table::machine::TableWrite;
use crate::rate_table::record::{CallRecord, SeatOutcome, TableHead};
use crate::rate_table::table::Table;
use offerd_base::ids;
use offerd_model::{EventType, Timestamp};
use offerd_partners::RecordedSeat;
use offerd_store::entities::{Happening, HappeningDetails, LeadRecord, PayoutRecord, Tag};
use offerd_store::{Commit, ReadError, Store, Tree, codec};

/// A duplicate look-up by identity.
#[derive(Debug, Clone, Copy)]
pub struct IdentityLookBack {
    /// Hash of the identity.
    pub identity: [u8; 32],
    /// How far back a lead of this identity counts as a duplicate, milliseconds.
    pub look_back_ms: i64,
}

/// Creates a lead with its `created` event, guarded against duplicates.
pub fn lead(lead: &LeadRecord, identity: Option<&IdentityLookBack>) -> Commit {
    with_event(new_lead(lead, identity), lead.company, created(&LeadReference::of(lead)))
}

/// Creates a lead, guarded against duplicates. Its `created` event is recorded with its [first table](table).
pub fn new_lead(lead: &LeadRecord, identity: Option<&IdentityLookBack>) -> Commit {
    let mut commit = match lead.lead.uuid {
        // A client may reuse a UUID that it chose.
        Some(_) => Commit::new().about(lead.uuid).absent(Tree::Leads, lead.uuid.as_bytes()),
        None => Commit::new().about_new(lead.uuid),
    };
    if let Some(IdentityLookBack { identity, look_back_ms }) = identity {
        commit = commit
            .unknown(lead.company, *identity, lead.created_at.saturating_sub(*look_back_ms))
            .identify(lead.company, *identity, lead.created_at, *look_back_ms);
    }
    let commit = commit.put(Tree::Leads, lead.uuid.as_bytes(), codec::encode_json(lead));
    with_all(commit, Tree::LeadClientTags, lead.company, &new_tags(lead, None))
}

/// Writes a merged lead, guarded against concurrent changes.
pub fn merged_lead(earlier: &LeadRecord, merged: &LeadRecord) -> Commit {
    let commit = Commit::new()
        .about(merged.uuid)
        .unchanged(Tree::Leads, earlier.uuid.as_bytes(), codec::encode_json(earlier))
        .put(Tree::Leads, merged.uuid.as_bytes(), codec::encode_json(merged));
    with_all(commit, Tree::LeadClientTags, merged.company, &new_tags(merged, Some(earlier)))
}

/// Increments a counter, guarded against increments since `before` was read.
pub fn one_more(commit: Commit, tree: Tree, key: impl AsRef<[u8]>, before: Option<u64>) -> Commit {
    let count = before.unwrap_or(0).saturating_add(1).to_be_bytes();
    commit.as_found(tree, &key, before.map(u64::to_be_bytes)).put(tree, key, count.to_vec())
}

fn with_all<T: Serialize>(commit: Commit, feed: Tree, company: Uuid, new: &[T]) -> Commit {
    if new.is_empty() { commit } else { commit.append(feed, company, codec::encode(new)) }
}

/// Appends an event to the company's lead events.
pub fn with_event(commit: Commit, company: Uuid, happening: Happening) -> Commit {
    with_all(commit, Tree::LeadEvents, company, &[happening])
}

/// The lead of an event, as the feeds record it.
#[derive(Debug, Clone, Copy)]
pub struct LeadReference {
    /// The lead.
    pub lead: Uuid,
    /// When it was created, Unix milliseconds.
    pub created_at: i64,
    /// Whether it is a test.
    pub test: bool,
}

impl LeadReference {
    /// From the record of a lead.
    pub fn of(lead: &LeadRecord) -> Self {
        Self { lead: lead.uuid, created_at: lead.created_at, test: lead.test }
    }

    /// An event of the lead that is tied to no institution.
    pub fn happening(&self, event_type: EventType, at: i64) -> Happening {
        Happening {
            event_type,
            lead: self.lead,
            lead_created_at: self.created_at,
            at,
            institution: None,
            product_type: None,
            amount_in_cents: None,
            test: self.test,
            cause: None,
            taken_back_at: None,
            details: HappeningDetails::default(),
        }
    }
}

fn created(about: &LeadReference) -> Happening {
    about.happening(EventType::LeadCreated, about.created_at)
}

/// The commit of a lead, to be extended with a table.
#[derive(Debug)]
pub struct LeadCommit {
    /// The writes for the lead itself.
    pub commit: Commit,
    /// Whether it creates the lead: its record then names the table, and the feeds record the creation.
    pub is_new: bool,
    /// The node that owns the table.
    pub node: Uuid,
}

/// The next write of a table: its head with the lead; then answers, feed records and decisions; its completion.
pub fn table(table: &Table, lead_created_at: i64, lead: Option<LeadCommit>, write: &TableWrite) -> Commit {
    let head = table.head();
    let about = LeadReference { lead: head.lead, created_at: lead_created_at, test: head.test };
    let mut happened = Vec::with_capacity(write.record.answers.len() + 2);
    let mut commit = match lead {
        None => Commit::new().about(head.lead),
        Some(LeadCommit { commit, is_new, node }) => {
            happened.extend(is_new.then(|| created(&about)));
            let submitted = about.happening(EventType::AppSubmitted, head.created_at);
            happened.push(Happening { cause: Some(head.uuid), ..submitted });
            let head_key = head.uuid.as_bytes();
            let mut commit = commit.about(head.lead).put(Tree::RateTables, head_key, codec::encode(&**head));
            if !write.completes {
                let open = OpenTable::new(head.uuid, head.deadline, node);
                commit = commit.put(Tree::OpenTables, head_key, open.to_bytes());
            }
            // The lead's record names only its first table.
            let key = key_under(head.lead, head.uuid);
            if is_new { commit } else { commit.put(Tree::LeadTables, key, Vec::new()) }
        }
    };
    if !write.record.answers.is_empty() {
        commit = commit.put(Tree::Answers, key_in(head.uuid, write.sequence), codec::encode(&write.record));
    }
    let of_answer = |answer: &SeatOutcome| of_answer(table, &about, answer, &write.sales);
    happened.extend(write.record.answers.iter().filter_map(of_answer));
    commit = with_all(commit, Tree::LeadEvents, head.company, &happened);
    commit = with_sales(commit, table, &write.sales);
    if let Some(decisions) = &write.decisions {
        commit = commit.put(Tree::LaterDecisions, head.uuid.as_bytes(), codec::encode(decisions));
    }
    if write.completes && !write.first {
        commit = commit.remove(Tree::OpenTables, head.uuid.as_bytes());
    }
    commit
}

/// Whether a write with an unknown result is on the disk. One without answers may simply be repeated.
pub fn is_written(store: &Store, table: Uuid, write: &TableWrite) -> Result<bool, ReadError> {
    Ok(!write.record.answers.is_empty() && store.get(Tree::Answers, key_in(table, write.sequence))?.is_some())
}

/// Adds the payouts for sales at the partners' bids, and their counts towards the budgets.
fn with_sales(commit: Commit, table: &Table, sales: &[Sale]) -> Commit {
    let head = table.head();
    sales.iter().filter(|_| !head.test).fold(commit, |commit, sale| {
        let seat = &table.seats()[usize::from(sale.seat)];
        let posting = Posting::of_sale(seat, sale);
        let payout = payout(ids::timed(), (head.lead, seat), Timestamp::at(sale.at), posting.cents);
        with_payout(posting.write(commit, payout.uuid), head.company, payout)
    })
}

/// Appends a payout to the company's feed.
pub fn with_payout(commit: Commit, company: Uuid, payout: PayoutRecord) -> Commit {
    with_all(commit, Tree::LeadPayouts, company, &[payout])
}

/// The UUID and name of a seat's institution.
pub fn institution(seat: &RecordedSeat) -> (Uuid, String) {
    (seat.institution, seat.partner.name.clone())
}

/// A payout of a lead at a seat, earned and booked `at` this time, of a live lead.
pub fn payout(uuid: Uuid, (lead, seat): (Uuid, &RecordedSeat), at: Timestamp, cents: f64) -> PayoutRecord {
    PayoutRecord {
        uuid,
        lead,
        booked_at_ms: at.millis(),
        cents,
        product_type: Some(seat.product_type),
        institution: Some(institution(seat)),
        partner: seat.key.clone(),
        ..PayoutRecord::default()
    }
}

/// Writes the progress of an ask's calls.
pub fn call(head: &TableHead, seat: u16, record: &CallRecord) -> Commit {
    Commit::new().about(head.lead).put(Tree::Calls, key_in(head.uuid, seat), codec::encode(record))
}

/// Writes what happened after a seat's ask, with its event and sale, guarded by the call record `before`.
pub fn after_ask(
    (table, lead_created_at): (&Table, i64),
    seat: u16,
    (before, after): (Option<&CallRecord>, &CallRecord),
    (event, sale): (Option<(EventType, i64)>, Option<Sale>),
) -> Commit {
    let head = table.head();
    let key = key_in(head.uuid, seat);
    let commit = Commit::new().as_found(Tree::Calls, &key, before.map(codec::encode));
    let commit = commit.about(head.lead).put(Tree::Calls, key, codec::encode(after));
    let about = LeadReference { lead: head.lead, created_at: lead_created_at, test: head.test };
    let seat = &table.seats()[usize::from(seat)];
    let sold = sale.as_ref().filter(|_| !head.test);
    let payout_cents = sold.map(|sale| Posting::of_sale(seat, sale).cents);
    let details = HappeningDetails { payout_cents, ..HappeningDetails::default() };
    let happened =
        event.map(|(event_type, at)| Happening { details, ..at_seat(seat, about.happening(event_type, at)) });
    with_sales(with_all(commit, Tree::LeadEvents, head.company, happened.as_slice()), table, sale.as_slice())
}

/// An event at a seat's institution.
pub fn at_seat(seat: &RecordedSeat, happening: Happening) -> Happening {
    Happening { institution: Some(institution(seat)), product_type: Some(seat.product_type), ..happening }
}

/// Key of a record by table and position: the seat of a call, or the number of an answer record.
pub fn key_in(table: Uuid, position: u16) -> Vec<u8> {
    [&table.as_bytes()[..], &position.to_be_bytes()].concat()
}

/// Key of a record by owner, such as a lead, and its own UUID.
pub fn key_under(owner: Uuid, own: Uuid) -> Vec<u8> {
    [owner.as_bytes(), &own.as_bytes()[..]].concat()
}

fn new_tags(lead: &LeadRecord, earlier: Option<&LeadRecord>) -> Vec<Tag> {
    let pairs = |record: &'_ LeadRecord| -> BTreeSet<(String, String)> {
        let pairs = record.lead.client_tags.iter().flat_map(|tags| tags.pairs());
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let known = earlier.map(pairs).unwrap_or_default();
    let new = pairs(lead).into_iter().filter(|pair| !known.contains(pair));
    let created_at_ms = lead.updated_at;
    new.map(|(key, value)| Tag { lead: lead.uuid, key, value, created_at_ms }).collect()
}

fn of_answer(
    table: &Table,
    about: &LeadReference,
    answer: &SeatOutcome,
    sales: &[Sale],
) -> Option<Happening> {
    let event_type = answer.outcome.decision()?.event()?;
    let seat = &table.seats()[usize::from(answer.seat)];
    let reject_reason = answer.outcome.reject_reason();
    let sale = sales.iter().find(|sale| sale.seat == answer.seat && !about.test);
    let payout_cents = sale.map(|sale| Posting::of_sale(seat, sale).cents);
    let details = HappeningDetails { reject_reason, payout_cents, ..HappeningDetails::default() };
    Some(Happening { details, ..at_seat(seat, about.happening(event_type, answer.at)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::{CreditBands, Lead};

    fn record(lead: &str) -> LeadRecord {
        LeadRecord {
            uuid: Uuid::from_u128(1),
            company: Uuid::from_u128(2),
            test: false,
            created_at: 5,
            updated_at: 5,
            bands: CreditBands::Current,
            newer_values: false,
            first_table: None,
            consents_stated_at: None,
            earlier_consents: Vec::new(),
            earlier_digests: Vec::new(),
            experiments: Default::default(),
            defaults: None,
            lead: Lead::read(lead.as_bytes()).unwrap(),
        }
    }

    fn tag(value: &str) -> Tag {
        let (key, value) = ("channel".to_owned(), value.to_owned());
        Tag { lead: Uuid::from_u128(1), key, value, created_at_ms: 5 }
    }

    #[test]
    fn each_value_of_a_tag_is_recorded_once() {
        let earlier = record(r#"{"clientTags":{"channel":["b","a","b"],"none":[]}}"#);
        let tags = new_tags(&earlier, None);
        assert_eq!(tags, [tag("a"), tag("b")]);
        assert_eq!(codec::decode(&codec::encode(&tags)), Ok(tags));
        let merged = record(r#"{"clientTags":{"channel":["a","c"]}}"#);
        assert_eq!(new_tags(&merged, Some(&earlier)), [tag("c")]);
        assert_eq!(new_tags(&record("{}"), None), []);
    }
}
