//! What is written when: the commits of a rate table's life.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::attribution::Attribution;
use super::outcome::Decision;
use super::partner_events::ReportRecord;
use super::record::{Answer, AnswerRecord, TableHead};
use super::table::Table;
use crate::model::{EventType, LeadAction, ProductType, Timestamp};
use crate::partners::SeatText;
use crate::planted::{Planted, planted};
use crate::store::entities::{Happening, LeadRecord, Payout, PayoutRecord, Tag};
use crate::store::{Commit, Tree, codec};

/// The first guard of [`lead`].
pub const LEAD_EXISTS: usize = 0;

/// The first guard of [`counted_click`].
pub const CLICKS_COUNTED: usize = 0;

/// How an identity is looked up for duplicates.
#[derive(Debug, Clone, Copy)]
pub struct IdentityLookBack {
    /// Hash of the identity.
    pub identity: [u8; 32],
    /// A lead of this identity that was made at most so long ago is duplicated, milliseconds.
    pub look_back_ms: i64,
}

/// A new lead and that it was created, guarded against duplicates.
pub fn lead(lead: &LeadRecord, identity: Option<&IdentityLookBack>) -> Commit {
    let mut commit = Commit::new().about(lead.uuid).absent(Tree::Leads, lead.uuid.as_bytes());
    if let Some(IdentityLookBack { identity, look_back_ms }) = identity {
        commit = commit
            .unknown(lead.company, *identity, lead.created_at.saturating_sub(*look_back_ms))
            .identify(lead.company, *identity, lead.created_at, *look_back_ms);
    }
    let commit = commit.put(Tree::Leads, lead.uuid.as_bytes(), codec::encode_json(lead));
    let commit = with_event(commit, lead.company, of_lead(lead, EventType::LeadCreated, lead.created_at));
    with_tags(commit, lead.company, &new_tags(lead, None))
}

/// A lead that has grown, unless it has changed meanwhile.
pub fn grown_lead(earlier: &LeadRecord, grown: &LeadRecord) -> Commit {
    let commit = Commit::new()
        .about(grown.uuid)
        .unchanged(Tree::Leads, earlier.uuid.as_bytes(), codec::encode_json(earlier))
        .put(Tree::Leads, grown.uuid.as_bytes(), codec::encode_json(grown));
    with_tags(commit, grown.company, &new_tags(grown, Some(earlier)))
}

/// Adds a pending table of a lead to the lead's own commit.
pub fn with_table(commit: Commit, lead: &LeadRecord, head: &TableHead) -> Commit {
    let commit = commit
        .about(lead.uuid)
        .put(Tree::RateTables, head.uuid.as_bytes(), codec::encode(head))
        .put(Tree::LeadTables, [&lead.uuid.as_bytes()[..], head.uuid.as_bytes()].concat(), Vec::new());
    let submitted = of_lead(lead, EventType::AppSubmitted, head.created_at);
    let commit = with_event(commit, lead.company, Happening { cause: Some(head.uuid), ..submitted });
    // A table without seats is complete as it is.
    if head.seats.is_empty() {
        commit
    } else {
        commit.put(Tree::OpenTables, head.uuid.as_bytes(), head.deadline.to_be_bytes().to_vec())
    }
}

/// Adds what happened to a lead of the company.
fn with_event(commit: Commit, company: Uuid, happening: Happening) -> Commit {
    if planted(Planted::MissingEvents) {
        return commit;
    }
    commit.append(Tree::LeadEvents, company, codec::encode(&[happening][..]))
}

/// Adds how a lead of the company was tagged, if it was.
fn with_tags(commit: Commit, company: Uuid, tags: &[Tag]) -> Commit {
    if tags.is_empty() { commit } else { commit.append(Tree::LeadClientTags, company, codec::encode(tags)) }
}

/// Something that happened to a lead, tied to no institution.
fn of_lead(lead: &LeadRecord, event_type: EventType, at: i64) -> Happening {
    Happening {
        event_type,
        lead: lead.uuid,
        lead_created_at: lead.created_at,
        at,
        institution: None,
        product_type: None,
        amount_in_cents: None,
        test: lead.test,
        cause: None,
    }
}

/// Answers of one table, what they mean for the feeds, and, with the last of them, that the table is complete.
pub fn answers(
    table: &Table,
    lead_created_at: i64,
    sequence: u16,
    record: &AnswerRecord,
    settles: bool,
) -> Commit {
    let head = table.head();
    let key = answer_key(head.uuid, sequence);
    let mut commit = Commit::new().about(head.lead).put(Tree::Answers, key, codec::encode(record));
    let decisions: Vec<Happening> =
        record.answers.iter().filter_map(|answer| of_answer(table, lead_created_at, answer)).collect();
    if !decisions.is_empty() {
        commit = commit.append(Tree::LeadEvents, head.company, codec::encode(&decisions));
    }
    if settles {
        commit = commit.remove(Tree::OpenTables, head.uuid.as_bytes());
    }
    commit
}

/// Key of an answer record: the table, then the position.
pub fn answer_key(table: Uuid, sequence: u16) -> Vec<u8> {
    [&table.as_bytes()[..], &sequence.to_be_bytes()].concat()
}

/// Each value of a lead's tags that it did not have earlier, once.
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

/// An institution's decision, as the feeds tell it.
fn of_answer(table: &Table, lead_created_at: i64, answer: &Answer) -> Option<Happening> {
    let event_type = match answer.outcome.decision()? {
        Decision::Approved => EventType::ApiApproved,
        Decision::Rejected => EventType::ApiRejected,
        Decision::Listed => return None,
    };
    let seat = &table.seats()[usize::from(answer.seat)];
    Some(Happening {
        event_type,
        lead: table.head().lead,
        lead_created_at,
        at: answer.at,
        institution: Some((seat.institution, seat.partner.name.clone())),
        product_type: Some(seat.product_type),
        amount_in_cents: None,
        test: table.head().test,
        cause: None,
    })
}

/// One click more on an offer, unless another was counted meanwhile.
pub fn counted_click(lead: &LeadRecord, place: Uuid, before: Option<u64>) -> Commit {
    let commit = Commit::new().about(lead.uuid);
    let commit = match before {
        None => commit.absent(Tree::Clicks, place.as_bytes()),
        Some(count) => commit.unchanged(Tree::Clicks, place.as_bytes(), count.to_be_bytes()),
    };
    let count = before.unwrap_or(0).saturating_add(1);
    commit.put(Tree::Clicks, place.as_bytes(), count.to_be_bytes().to_vec())
}

/// Adds that a click on an offer of a seat is kept: the lead event and the lead action.
pub fn with_click(commit: Commit, lead: &LeadRecord, seat: &SeatText, action: &LeadAction) -> Commit {
    let event =
        with_institution(lead, EventType::OfferClicked, action.action_date, seat, Some(seat.product_type));
    let key = action_key(lead.uuid, action);
    let commit = commit.put(Tree::LeadActions, key, codec::encode_json(action));
    with_event(commit, lead.company, Happening { cause: Some(action.uuid), ..event })
}

/// Adds to the commit of a click that it has earned its payout, unless one has before.
pub fn with_click_payout(
    commit: Commit,
    lead: &LeadRecord,
    seat: &SeatText,
    place: Uuid,
    at: Timestamp,
    cents: f64,
) -> Commit {
    let commit =
        commit.absent(Tree::PaidClicks, place.as_bytes()).put(Tree::PaidClicks, place.as_bytes(), Vec::new());
    with_payout(commit, lead.company, payout(lead.uuid, at, cents), Some(seat.product_type))
}

/// What a partner reported, with the lead event, the lead action and the payout that it becomes, unless it has reported
/// under the same key before.
pub fn report(key: &[u8], report: &ReportRecord, about: &Attribution) -> Commit {
    let receipt = &report.receipt;
    let mut commit = with_report(Commit::new().absent(Tree::PartnerEvents, key), key, report);
    if let Some(event_type) = receipt.event_type.event_type() {
        let (at, product_type) = (receipt.occurred_at, receipt.product_type);
        let event = with_institution(&about.lead, event_type, at, &about.seat, product_type);
        let amount_in_cents = receipt.amount_in_cents;
        let event = Happening { amount_in_cents, cause: Some(receipt.uuid), ..event };
        commit = with_event(commit, report.company, event);
    }
    match receipt.payout_in_cents {
        Some(cents) => {
            let product_type = receipt.product_type.unwrap_or(about.seat.product_type);
            let earned = payout(receipt.lead_uuid, receipt.created_at, cents.0);
            with_payout(commit, report.company, earned, Some(product_type))
        }
        None => commit,
    }
}

/// A report that was taken back, unless it has changed meanwhile: its action is deleted and its payout, which was of a
/// product type, taken back.
pub fn revoked_report(
    key: &[u8],
    earlier: &ReportRecord,
    revoked: &ReportRecord,
    product_type: Option<ProductType>,
) -> Commit {
    let guarded = Commit::new().unchanged(Tree::PartnerEvents, key, codec::encode_json(earlier));
    let commit = with_report(guarded, key, revoked);
    let receipt = &revoked.receipt;
    match (receipt.payout_in_cents, receipt.revoked_at) {
        (Some(cents), Some(at)) => {
            let taken_back = payout(receipt.lead_uuid, at, -cents.0);
            with_payout(commit, revoked.company, taken_back, product_type)
        }
        _ => commit,
    }
}

fn with_report(commit: Commit, key: &[u8], report: &ReportRecord) -> Commit {
    let commit = commit.about(report.receipt.lead_uuid);
    let commit = commit.put(Tree::PartnerEvents, key, codec::encode_json(report));
    match &report.action {
        Some(action) => {
            let key = action_key(report.receipt.lead_uuid, action);
            commit.put(Tree::LeadActions, key, codec::encode_json(action))
        }
        None => commit,
    }
}

fn action_key(lead: Uuid, action: &LeadAction) -> Vec<u8> {
    [&lead.as_bytes()[..], action.uuid.as_bytes()].concat()
}

fn with_payout(commit: Commit, company: Uuid, payout: Payout, product_type: Option<ProductType>) -> Commit {
    let record = PayoutRecord { payouts: vec![payout], product_types: vec![product_type] };
    commit.append(Tree::LeadPayouts, company, codec::encode(&record))
}

/// Only live leads earn.
fn payout(lead: Uuid, booked_at: Timestamp, cents: f64) -> Payout {
    Payout { lead, booked_at_ms: booked_at.millis(), cents }
}

/// Something that happened to a lead at the institution of a seat.
fn with_institution(
    lead: &LeadRecord,
    event_type: EventType,
    at: Timestamp,
    seat: &SeatText,
    product_type: Option<ProductType>,
) -> Happening {
    Happening {
        event_type,
        lead: lead.uuid,
        lead_created_at: lead.created_at,
        at: at.millis(),
        institution: Some((seat.institution, seat.partner.name.clone())),
        product_type,
        amount_in_cents: None,
        test: lead.test,
        cause: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CreditBands, Lead};

    fn record(lead: &str) -> LeadRecord {
        LeadRecord {
            uuid: Uuid::from_u128(1),
            company: Uuid::from_u128(2),
            test: false,
            created_at: 5,
            updated_at: 5,
            bands: CreditBands::CURRENT,
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
        let grown = record(r#"{"clientTags":{"channel":["a","c"]}}"#);
        assert_eq!(new_tags(&grown, Some(&earlier)), [tag("c")]);
        assert_eq!(new_tags(&record("{}"), None), []);
    }
}
