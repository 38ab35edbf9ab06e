//! What goes out about one event.

use serde::Serialize;
use uuid::Uuid;

use super::record::Place;
use crate::analytics::{ArrivalTime, Events, Feed, Form, Telling};
use crate::ids;
use crate::model::{EventType, LeadEvent, Timestamp};
use crate::store::entities::CompanyRecord;

/// An event, as the newer form of the feed tells it, and the id that it goes out under.
#[derive(Debug, Clone)]
pub struct Message {
    /// The same whenever this event is sent for this subscription.
    pub id: String,
    /// The event.
    pub event: LeadEvent,
}

/// What a webhook's body holds, as Standard Webhooks proposes it.
#[derive(Serialize)]
struct Body<'m> {
    r#type: EventType,
    timestamp: Timestamp,
    data: &'m LeadEvent,
}

impl Message {
    /// The message of an event of a subscription.
    pub(super) fn of(subscription: &str, company: Uuid, place: Place, event: LeadEvent) -> Self {
        let place = format!("{}.{}.{}", place.arrival_us, place.sequence, place.nth);
        let id = ids::derived("postback", &[subscription, &company.to_string(), &place]);
        Self { id: id.to_string(), event }
    }

    /// The body of a webhook.
    ///
    /// # Panics
    /// Never: an event is JSON.
    pub(super) fn body(&self) -> Vec<u8> {
        let LeadEvent { event_type, event_created_at, .. } = self.event;
        let body = Body { r#type: event_type, timestamp: event_created_at, data: &self.event };
        serde_json::to_vec(&body).expect("an event is JSON")
    }
}

/// The events of a record of the feed, as they are told, in their order.
///
/// # Errors
/// It cannot be read.
pub(super) fn told(
    company: &CompanyRecord,
    arrival_us: u64,
    payload: &[u8],
) -> Result<Vec<LeadEvent>, String> {
    let stored = Events::read(payload).map_err(|error| error.to_string())?;
    let telling = Telling { form: Form::Prompt, company: Some(company), arrival: ArrivalTime(arrival_us) };
    Ok(stored.into_iter().map(|stored| Events::record(stored, &telling)).collect())
}
