//! The three feeds: where each of them lies, and how it tells what it holds.

use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::event_types::EventTypes;
use super::form::Form;
use super::hash::hash;
use crate::model::{LeadClientTag, LeadEvent, LeadPayout, Timestamp};
use crate::store::entities::{Happening, LeadRecord, Payout, Tag};
use crate::store::{Store, Tree, codec};

/// A log of records of one kind, by company, in the order of arrival.
pub trait Feed {
    /// What is stored.
    type Stored: DeserializeOwned;
    /// What a page holds.
    type Record: Send + 'static;

    /// Where it is stored.
    const TREE: Tree;

    /// Where it is served, below the base URL.
    const PATH: &'static str;

    /// Whether its records have event types that a client may choose from.
    const HAS_EVENT_TYPES: bool = false;

    /// Whether a record is among the wanted ones.
    fn is_wanted(_stored: &Self::Stored, _event_types: EventTypes) -> bool {
        true
    }

    /// Whether a record is of a test.
    fn is_test(stored: &Self::Stored, store: &Store) -> bool;

    /// What is stored, as a form tells it.
    fn record(stored: Self::Stored, form: Form) -> Self::Record;
}

/// What happened to leads.
#[derive(Debug)]
pub struct Events;

/// What leads earned.
#[derive(Debug)]
pub struct Payouts;

/// How leads were tagged.
#[derive(Debug)]
pub struct ClientTags;

impl Feed for Events {
    type Stored = Happening;
    type Record = LeadEvent;

    const TREE: Tree = Tree::LeadEvents;
    const PATH: &'static str = "/supplyAnalytics/leadEvents";
    const HAS_EVENT_TYPES: bool = true;

    fn is_wanted(happening: &Happening, event_types: EventTypes) -> bool {
        event_types.contains(happening.event_type)
    }

    fn is_test(happening: &Happening, _store: &Store) -> bool {
        happening.test
    }

    fn record(happening: Happening, form: Form) -> LeadEvent {
        let id = event_id(&happening);
        let (institution_uuid, institution_name) = happening.institution.unzip();
        LeadEvent {
            id,
            lead_uuid: happening.lead,
            lead_created_at: time(happening.lead_created_at),
            event_type: happening.event_type,
            event_created_at: time(happening.at),
            amount_in_cents: happening.amount_in_cents,
            financial_institution_uuid: institution_uuid,
            financial_institution_name: institution_name,
            product_type: happening.product_type,
            is_test: (form == Form::Prompt).then_some(happening.test),
        }
    }
}

impl Feed for Payouts {
    type Stored = Payout;
    type Record = LeadPayout;

    const TREE: Tree = Tree::LeadPayouts;
    const PATH: &'static str = "/supplyAnalytics/leadPayouts";

    /// Tests earn nothing.
    fn is_test(_payout: &Payout, _store: &Store) -> bool {
        false
    }

    fn record(payout: Payout, _form: Form) -> LeadPayout {
        let Payout { lead, booked_at_ms, cents } = payout;
        LeadPayout { lead_uuid: lead, booked_at: time(booked_at_ms), payout_in_cents: cents }
    }
}

impl Feed for ClientTags {
    type Stored = Tag;
    type Record = LeadClientTag;

    const TREE: Tree = Tree::LeadClientTags;
    const PATH: &'static str = "/supplyAnalytics/leadClientTags";

    /// A tag does not tell; the lead that it is on does.
    fn is_test(tag: &Tag, store: &Store) -> bool {
        let lead = store.get(Tree::Leads, tag.lead.as_bytes()).ok().flatten();
        let record = lead.and_then(|lead| codec::decode_json::<LeadRecord>(&lead).ok());
        record.is_some_and(|record| record.test)
    }

    fn record(tag: Tag, _form: Form) -> LeadClientTag {
        let Tag { lead, key, value, created_at_ms } = tag;
        let created_at = created_at_ms.to_be_bytes();
        let hash = hash(&[lead.as_bytes(), key.as_bytes(), value.as_bytes(), &created_at]);
        LeadClientTag { hash, lead_uuid: lead, key, value, created_at: time(created_at_ms) }
    }
}

/// Lead, type and time, and for events of one instant also with whom and about which product.
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

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventType, ProductType};

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
        // A name may change; the event stays the same.
        let renamed =
            Happening { institution: Some((Uuid::from_u128(1), "B".to_owned())), ..events[0].clone() };
        assert_eq!(event_id(&renamed), event_id(&events[0]));
    }

    #[test]
    fn only_events_that_are_tied_to_an_institution_name_one() {
        let tied = Events::record(rejected(9, ProductType::Loan), Form::Hourly);
        assert_eq!(tied.financial_institution_uuid, Some(Uuid::from_u128(9)));
        assert_eq!(tied.financial_institution_name.as_deref(), Some("Bank"));
        let untied = Happening { institution: None, product_type: None, ..rejected(9, ProductType::Loan) };
        let json = serde_json::to_value(Events::record(untied, Form::Hourly)).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 5, "{json}");
    }

    #[test]
    fn an_amount_is_told_where_there_is_one() {
        let funded = Happening { amount_in_cents: Some(1_250_000), ..rejected(9, ProductType::Loan) };
        let json = serde_json::to_value(Events::record(funded, Form::Hourly)).unwrap();
        assert_eq!(json["amountInCents"], 1_250_000);
    }

    #[test]
    fn only_the_newer_form_tells_tests_from_others() {
        for test in [true, false] {
            let event = Happening { test, ..rejected(9, ProductType::Loan) };
            assert_eq!(Events::record(event.clone(), Form::Hourly).is_test, None);
            assert_eq!(Events::record(event, Form::Prompt).is_test, Some(test));
        }
    }
}
