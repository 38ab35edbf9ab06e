//! A test: sends a made-up event at once, without ordering, retries and breaker.

use std::time::Duration;

use chrono::Utc;
use hyper::HeaderMap;
use uuid::Uuid;

use super::message::{BookedEvent, PostbackMessage};
use super::record::EventPosition;
use super::sender::send_once;
use super::subscription::{PostbackTarget, Subscription};
use offerd_base::ids;
use offerd_model::{ClientTags, EventData, EventType, LeadEvent, ProductType, Timestamp, record};

const SHOWN_BYTES: usize = 2048;

record! { plain
    /// The request and the answer of a test.
    Trial {
        /// `POST https://…`
        request: String,
        /// The request headers.
        headers: Vec<(String, String)>,
        /// The request body; empty for a URL call.
        body: String,
        /// The answer, if there was one.
        answer: Option<TrialAnswer>,
        /// Why there was no answer.
        failure: Option<String>,
    }

    /// The answer to a test.
    TrialAnswer {
        /// The status code.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
        /// The beginning of the body.
        body: String,
        /// The time in milliseconds to connect, to the head and to the end.
        took_ms: [u64; 3],
    }
}

impl Trial {
    /// Whether the receiver would have accepted an event.
    pub fn is_good(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| (200..300).contains(&answer.status))
    }
}

/// Sends a test event for a subscription, without a lead and without storing anything.
///
/// # Errors
/// It cannot be built: a key is missing, which is possible only while paused.
pub async fn try_out(subscription: &Subscription) -> Result<Trial, String> {
    if let PostbackTarget::Webhook { keys, unreadable, .. } = &subscription.way
        && keys.is_empty()
    {
        let file = subscription.file.display();
        return Err(format!("{file}: there is no key to sign with: {}", unreadable.join("; ")));
    }
    let booked = BookedEvent { event: event(), payout_cents: Some(100.0) };
    let message = PostbackMessage::of(subscription, Uuid::nil(), EventPosition::default(), booked);
    let message = PostbackMessage { id: ids::random().to_string(), ..message };
    let tags = tags(subscription);
    let call = subscription.call(&message, Some(&tags)).ok_or("its URL cannot be filled in")?;
    let (request, headers) = (format!("{} {}", call.method, call.url), shown(&call.headers));
    let body = cut(&call.body);
    let (answer, failure) = match send_once(subscription, call).await {
        Ok(reply) => {
            let took_ms = [reply.took.connect, reply.took.wait, reply.took.read].map(millis);
            let (status, headers) = (reply.status.as_u16(), shown(&reply.headers));
            (Some(TrialAnswer { status, headers, body: cut(&reply.body), took_ms }), None)
        }
        Err(failure) => (None, Some(failure)),
    };
    Ok(Trial { request, headers, body, answer, failure })
}

fn event() -> LeadEvent {
    let now = Timestamp::from(Utc::now());
    let product_type = Some(ProductType::Loan);
    let data = EventData { product_type, payout_in_cents: Some(100), ..EventData::default() };
    LeadEvent {
        id: "test".to_owned(),
        lead_uuid: Uuid::nil(),
        lead_created_at: now,
        event_type: EventType::Conversion,
        event_created_at: now,
        amount_in_cents: None,
        financial_institution_uuid: None,
        financial_institution_name: None,
        product_type,
        event_data: Some(data),
        offer_uuid: None,
        product_sub_type: None,
        is_test: Some(true),
        event_deleted_at: None,
        supply_sub_account_uuid: None,
        supply_sub_account_name: None,
        pagination_timestamp: None,
    }
}

fn tags(subscription: &Subscription) -> ClientTags {
    ClientTags(subscription.named_tags().map(|key| (key.to_owned(), vec!["test".to_owned()])).collect())
}

fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn cut(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]).into_owned()
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
