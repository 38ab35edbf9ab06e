//! The message of one event.

use serde::Serialize;
use uuid::Uuid;

use super::record::EventPosition;
use super::subscription::Subscription;
use offerd_base::ids;
use offerd_insight::analytics::{ArrivalTime, Events, Feed, Newer};
use offerd_model::{EventType, LeadEvent, Timestamp};
use offerd_store::entities::{CompanyRecord, Happening};
use offerd_store::{FeedKey, Store};

/// An event in the newer form of the feed, with the id of its message.
#[derive(Debug, Clone)]
pub struct PostbackMessage {
    /// Stays the same each time this event is sent for this subscription.
    pub id: String,
    /// The event.
    pub event: LeadEvent,
    /// What the event booked, in cents.
    pub payout_cents: Option<i32>,
    /// The subscription's share of that, in cents.
    pub share_cents: Option<i32>,
}

/// An event with what it booked, in cents.
pub(super) struct BookedEvent {
    pub(super) event: LeadEvent,
    pub(super) payout_cents: Option<f64>,
}

#[derive(Serialize)]
struct WebhookBody<'m> {
    r#type: EventType,
    timestamp: Timestamp,
    data: &'m LeadEvent,
}

impl PostbackMessage {
    pub(super) fn of(
        subscription: &Subscription,
        company: Uuid,
        place: EventPosition,
        of: BookedEvent,
    ) -> Self {
        let place = format!("{}.{}.{}", place.arrival_us, place.sequence, place.nth);
        let id = ids::derived("postback", &[&subscription.name, &company.to_string(), &place]);
        let whole = |cents: f64| cents.round() as i32;
        let share = of.payout_cents.zip(subscription.share_percent);
        Self {
            id: id.to_string(),
            event: of.event,
            payout_cents: of.payout_cents.map(whole),
            share_cents: share.map(|(cents, percent)| whole(cents * percent / 100.0)),
        }
    }

    /// Never panics: an event is JSON.
    pub(super) fn body(&self) -> Vec<u8> {
        let LeadEvent { event_type, event_created_at, .. } = self.event;
        let body = WebhookBody { r#type: event_type, timestamp: event_created_at, data: &self.event };
        serde_json::to_vec(&body).expect("an event is JSON")
    }
}

/// The events of a feed record, in order. A damaged record has none; the store reports it.
pub(super) fn told(store: &Store, company: &CompanyRecord, key: FeedKey, payload: &[u8]) -> Vec<BookedEvent> {
    let newer = Newer::new(Some(company), ArrivalTime(key.arrival_us));
    let stored: Vec<Happening> = store.decode(Events::TREE, &key.to_bytes(), payload).unwrap_or_default();
    let booked = |stored: Happening| BookedEvent {
        payout_cents: stored.details.payout_cents,
        event: Events::record(stored, Some(&newer)),
    };
    stored.into_iter().map(booked).collect()
}
