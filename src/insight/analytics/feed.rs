//! The three feeds: where each is stored, and how its records are rendered.

use chrono_tz::Tz;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::arrival_time::ArrivalTime;
use super::page_request::{Form, PageRequest};
use crate::sheet::figures;
use offerd_model::{EventData, EventType, LeadClientTag, LeadEvent, LeadPayout, Timestamp};
use offerd_store::entities::{CompanyRecord, Happening, LeadRecord, PayoutRecord, Tag};
use offerd_store::{Store, Tree};

/// An append-only log of records of one kind, by company, in the order of arrival.
pub trait Feed {
    /// A stored record; the store keeps lists of these.
    type Stored: DeserializeOwned;
    /// A record as served.
    type Record: Send + 'static;

    /// The tree that stores it.
    const TREE: Tree;

    /// Its path below the base URL.
    const PATH: &'static str;

    /// Whether clients can filter it by event type.
    const HAS_EVENT_TYPES: bool = false;

    /// The lead that a record is about.
    fn lead(stored: &Self::Stored) -> Uuid;

    /// Whether a request includes a record.
    fn is_wanted(_stored: &Self::Stored, _asked: &PageRequest) -> bool {
        true
    }

    /// Whether live tokens see records of test leads.
    const LIVE_SEES_TESTS: bool = true;

    /// Whether a record is about a test lead.
    fn is_test(stored: &Self::Stored, store: &Store) -> bool;

    /// Renders a stored record; `newer` holds the additions of the newer form.
    fn record(stored: Self::Stored, newer: Option<&Newer>) -> Self::Record;
}

/// The fields that only the newer form adds to every record.
#[derive(Debug, Clone, PartialEq)]
pub struct Newer {
    account_uuid: Uuid,
    account_name: String,
    arrival: String,
    zone: Tz,
}

impl Newer {
    /// For a company's record with this arrival time.
    pub fn new(company: Option<&CompanyRecord>, arrival: ArrivalTime) -> Self {
        let of_company = |company: &CompanyRecord| (company.uuid, company.name.clone());
        let (account_uuid, account_name) = company.map(of_company).unwrap_or_default();
        Self { account_uuid, account_name, arrival: arrival.to_string(), zone: Tz::UTC }
    }

    /// With the time zone of the days on which payouts count.
    pub fn with_days_of(self, zone: Tz) -> Self {
        Self { zone, ..self }
    }
}

/// The feed of lead events.
#[derive(Debug)]
pub struct Events;

/// The feed of payouts.
#[derive(Debug)]
pub struct Payouts;

/// The feed of client tags.
#[derive(Debug)]
pub struct ClientTagFeed;

impl Feed for Events {
    type Stored = Happening;
    type Record = LeadEvent;

    const TREE: Tree = Tree::LeadEvents;
    const PATH: &'static str = "/supplyAnalytics/leadEvents";
    const HAS_EVENT_TYPES: bool = true;

    fn lead(happening: &Happening) -> Uuid {
        happening.lead
    }

    /// The specification's form can express neither reversals nor types outside the specification.
    fn is_wanted(happening: &Happening, asked: &PageRequest) -> bool {
        let is_specified = EventType::SPECIFIED.contains(&happening.event_type);
        let can_be_told = asked.form == Form::Prompt || (happening.taken_back_at.is_none() && is_specified);
        can_be_told && asked.event_types.contains(happening.event_type)
    }

    fn is_test(happening: &Happening, _store: &Store) -> bool {
        happening.test
    }

    fn record(happening: Happening, newer: Option<&Newer>) -> LeadEvent {
        let id = event_id(&happening);
        let event_data = newer.and_then(|_| event_data(&happening));
        let details = happening.details;
        let (institution_uuid, institution_name) = happening.institution.unzip();
        LeadEvent {
            id,
            lead_uuid: happening.lead,
            lead_created_at: Timestamp::at(happening.lead_created_at),
            event_type: happening.event_type,
            event_created_at: Timestamp::at(happening.at),
            amount_in_cents: happening.amount_in_cents,
            financial_institution_uuid: institution_uuid,
            financial_institution_name: institution_name,
            product_type: happening.product_type.filter(|one| newer.is_some() || one.is_specified()),
            event_data,
            offer_uuid: newer.and(details.offer),
            product_sub_type: newer.and(details.product_sub_type),
            is_test: newer.map(|_| happening.test),
            event_deleted_at: happening.taken_back_at.map(Timestamp::at),
            supply_sub_account_uuid: newer.map(|newer| newer.account_uuid),
            supply_sub_account_name: newer.map(|newer| newer.account_name.clone()),
            pagination_timestamp: newer.map(|newer| newer.arrival.clone()),
        }
    }
}

impl Feed for Payouts {
    type Stored = PayoutRecord;
    type Record = LeadPayout;

    const TREE: Tree = Tree::LeadPayouts;
    const PATH: &'static str = "/supplyAnalytics/leadPayouts";
    /// The sum of the feed is what the company earned.
    const LIVE_SEES_TESTS: bool = false;

    fn lead(payout: &PayoutRecord) -> Uuid {
        payout.lead
    }

    fn is_test(payout: &PayoutRecord, _store: &Store) -> bool {
        payout.test
    }

    fn record(payout: PayoutRecord, newer: Option<&Newer>) -> LeadPayout {
        let PayoutRecord { lead, booked_at_ms, cents, product_type, takes_back, .. } = payout;
        let Some(newer) = newer else { return plain_payout(lead, booked_at_ms, cents) };
        let counts_on = figures::day(payout.counts_at(), newer.zone).to_string();
        let (booked, cents) = takes_back.map_or((booked_at_ms, cents), |booked| (booked, -cents));
        let (institution_uuid, institution_name) = payout.institution.unzip();
        LeadPayout {
            uuid: Some(payout.uuid),
            deleted_at: takes_back.map(|_| Timestamp::at(booked_at_ms)),
            financial_institution_uuid: institution_uuid,
            financial_institution_name: institution_name,
            product_type,
            event_type: payout.event_type,
            offer_uuid: payout.offer,
            partner: Some(payout.partner).filter(|key| !key.is_empty()),
            transaction_id: payout.transaction_id,
            counts_on: Some(counts_on),
            supply_sub_account_uuid: Some(newer.account_uuid),
            supply_sub_account_name: Some(newer.account_name.clone()),
            pagination_timestamp: Some(newer.arrival.clone()),
            ..plain_payout(lead, booked, cents)
        }
    }
}

impl Feed for ClientTagFeed {
    type Stored = Tag;
    type Record = LeadClientTag;

    const TREE: Tree = Tree::LeadClientTags;
    const PATH: &'static str = "/supplyAnalytics/leadClientTags";

    fn lead(tag: &Tag) -> Uuid {
        tag.lead
    }

    /// A tag does not state it, so its lead is read.
    fn is_test(tag: &Tag, store: &Store) -> bool {
        let lead = store.read_json::<LeadRecord>(Tree::Leads, tag.lead).ok().flatten();
        lead.is_some_and(|lead| lead.test)
    }

    fn record(tag: Tag, newer: Option<&Newer>) -> LeadClientTag {
        let Tag { lead, key, value, created_at_ms } = tag;
        let created_at = created_at_ms.to_be_bytes();
        let hash = hash(&[lead.as_bytes(), key.as_bytes(), value.as_bytes(), &created_at]);
        let (created_at, pagination_timestamp) =
            (Timestamp::at(created_at_ms), newer.map(|newer| newer.arrival.clone()));
        LeadClientTag { hash, lead_uuid: lead, key, value, created_at, pagination_timestamp }
    }
}

fn event_data(happening: &Happening) -> Option<EventData> {
    let details = happening.details;
    let mut data = EventData { product_type: happening.product_type, ..EventData::default() };
    match happening.event_type {
        EventType::ApiApproved | EventType::OfferClicked | EventType::Opened => {}
        EventType::ApiRejected => data.reject_reason = details.reject_reason,
        EventType::Applied | EventType::Approved | EventType::Listed | EventType::Funded => {
            data.amount = happening.amount_in_cents.map(|cents| (f64::from(cents) / 100.0).round() as i32);
        }
        EventType::Conversion => data.payout_in_cents = details.payout_cents.map(|it| it.round() as i32),
        _ => return None,
    }
    (data != EventData::default()).then_some(data)
}

fn plain_payout(lead: Uuid, booked_at_ms: i64, cents: f64) -> LeadPayout {
    let booked_at = Timestamp::at(booked_at_ms);
    LeadPayout { lead_uuid: lead, booked_at, payout_in_cents: cents, ..LeadPayout::default() }
}

/// The hash of lead, type and time, with institution, product and cause to distinguish events of one instant.
fn event_id(happening: &Happening) -> String {
    let institution = happening.institution.as_ref().map_or(Uuid::nil(), |(uuid, _)| *uuid);
    let product_type = happening.product_type.map_or("", |product_type| product_type.as_str());
    hash(&[
        happening.lead.as_bytes(),
        happening.event_type.as_str().as_bytes(),
        &happening.at.to_be_bytes(),
        institution.as_bytes(),
        product_type.as_bytes(),
        happening.cause.unwrap_or_default().as_bytes(),
    ])
}

/// The first half of a SHA-256, in hexadecimal. Length prefixes keep different parts from colliding.
fn hash(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    const_hex::encode(&digest.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::{EventType, ProductType};
    use offerd_store::entities::HappeningDetails;

    fn rejected(institution: u128, product_type: ProductType) -> Happening {
        Happening {
            event_type: EventType::ApiRejected,
            lead: Uuid::from_u128(1),
            lead_created_at: 5,
            at: 7,
            institution: Some((Uuid::from_u128(institution), "Bank".to_owned())),
            product_type: Some(product_type),
            amount_in_cents: None,
            test: false,
            cause: None,
            taken_back_at: None,
            details: HappeningDetails::default(),
        }
    }

    #[test]
    fn events_of_one_instant_have_ids_of_their_own() {
        let events = [
            rejected(1, ProductType::Loan),
            rejected(2, ProductType::Loan),
            rejected(2, ProductType::Savings),
            Happening { institution: None, product_type: None, ..rejected(1, ProductType::Loan) },
        ];
        let ids: std::collections::BTreeSet<String> = events.iter().map(event_id).collect();
        assert_eq!(ids.len(), events.len());
        // A name may change; the event id stays the same.
        let renamed =
            Happening { institution: Some((Uuid::from_u128(1), "B".to_owned())), ..events[0].clone() };
        assert_eq!(event_id(&renamed), event_id(&events[0]));
    }

    fn told(happening: Happening, form: Form) -> LeadEvent {
        let company = CompanyRecord {
            uuid: Uuid::from_u128(3),
            name: "Shop".to_owned(),
            duplicate_look_back_minutes: None,
        };
        let newer = Newer::new(Some(&company), ArrivalTime::FIRST);
        Events::record(happening, Some(&newer).filter(|_| form == Form::Prompt))
    }

    #[test]
    fn only_events_that_are_tied_to_an_institution_name_one() {
        let tied = told(rejected(9, ProductType::Loan), Form::Hourly);
        assert_eq!(tied.financial_institution_uuid, Some(Uuid::from_u128(9)));
        assert_eq!(tied.financial_institution_name.as_deref(), Some("Bank"));
        let untied = Happening { institution: None, product_type: None, ..rejected(9, ProductType::Loan) };
        let json = serde_json::to_value(told(untied, Form::Hourly)).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 5, "{json}");
    }

    #[test]
    fn an_amount_is_told_where_there_is_one() {
        let funded = Happening { amount_in_cents: Some(1_250_000), ..rejected(9, ProductType::Loan) };
        let json = serde_json::to_value(told(funded, Form::Hourly)).unwrap();
        assert_eq!(json["amountInCents"], 1_250_000);
    }

    #[test]
    fn only_the_newer_form_tells_tests_from_others() {
        for test in [true, false] {
            let event = Happening { test, ..rejected(9, ProductType::Loan) };
            assert_eq!(told(event.clone(), Form::Hourly).is_test, None);
            let newer = told(event, Form::Prompt);
            assert_eq!(newer.is_test, Some(test));
            assert_eq!(newer.supply_sub_account_uuid, Some(Uuid::from_u128(3)));
            assert_eq!(newer.supply_sub_account_name.as_deref(), Some("Shop"));
            assert_eq!(newer.pagination_timestamp.as_deref(), Some("2020-08-01T00:00:00.000000Z"));
        }
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_eq!(hash(&[b"a", b"b"]).len(), 32);
        assert_eq!(hash(&[b"a", b"b"]), hash(&[b"a", b"b"]));
        assert_ne!(hash(&[b"ab", b""]), hash(&[b"a", b"b"]));
    }
}
