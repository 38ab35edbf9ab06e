//! The three feeds: what each of them picks from the log, and how it tells it.

use uuid::Uuid;

use super::hash::hash;
use crate::model::{LeadClientTag, LeadEvent, LeadPayout, Timestamp};
use crate::store::entities::{Entry, Happening};

/// A filter over the log.
pub trait Feed {
    /// What a page holds.
    type Record: Send + 'static;

    /// Where it is served, below the base URL.
    const PATH: &'static str;

    /// The record of an entry; `None` when the entry is of another feed.
    fn record(entry: Entry) -> Option<Self::Record>;
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
    type Record = LeadEvent;

    const PATH: &'static str = "/supplyAnalytics/leadEvents";

    fn record(entry: Entry) -> Option<LeadEvent> {
        let Entry::Event(happening) = entry else { return None };
        let id = event_id(&happening);
        let Happening { event_type, lead, lead_created_at, at, institution, product_type, test: _ } =
            happening;
        let (institution_uuid, institution_name) = institution.unzip();
        Some(LeadEvent {
            id,
            lead_uuid: lead,
            lead_created_at: time(lead_created_at),
            event_type,
            event_created_at: time(at),
            amount_in_cents: None,
            financial_institution_uuid: institution_uuid,
            financial_institution_name: institution_name,
            product_type,
        })
    }
}

impl Feed for Payouts {
    type Record = LeadPayout;

    const PATH: &'static str = "/supplyAnalytics/leadPayouts";

    fn record(entry: Entry) -> Option<LeadPayout> {
        let Entry::Payout { lead, booked_at_ms, cents } = entry else { return None };
        Some(LeadPayout { lead_uuid: lead, booked_at: time(booked_at_ms), payout_in_cents: cents })
    }
}

impl Feed for ClientTags {
    type Record = LeadClientTag;

    const PATH: &'static str = "/supplyAnalytics/leadClientTags";

    fn record(entry: Entry) -> Option<LeadClientTag> {
        let Entry::Tag { lead, key, value, created_at_ms } = entry else { return None };
        let created_at = created_at_ms.to_be_bytes();
        let hash = hash(&[lead.as_bytes(), key.as_bytes(), value.as_bytes(), &created_at]);
        Some(LeadClientTag { hash, lead_uuid: lead, key, value, created_at: time(created_at_ms) })
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
            test: false,
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
        let tied = Events::record(Entry::Event(rejected(9, ProductType::Loan))).unwrap();
        assert_eq!(tied.financial_institution_uuid, Some(Uuid::from_u128(9)));
        assert_eq!(tied.financial_institution_name.as_deref(), Some("Bank"));
        let untied = Happening { institution: None, product_type: None, ..rejected(9, ProductType::Loan) };
        let json = serde_json::to_value(Events::record(Entry::Event(untied))).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 5, "{json}");
    }

    #[test]
    fn each_feed_passes_the_others_records_by() {
        let payout = Entry::Payout { lead: Uuid::nil(), booked_at_ms: 1, cents: 12.5 };
        assert!(Events::record(payout.clone()).is_none() && ClientTags::record(payout.clone()).is_none());
        assert_eq!(Payouts::record(payout).unwrap().payout_in_cents, 12.5);
    }
}
