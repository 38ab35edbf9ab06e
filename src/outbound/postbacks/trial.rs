//! A test: an event that never happened is sent at once, past order, retries and breaker.

use std::time::Duration;

use chrono::Utc;
use hyper::HeaderMap;
use uuid::Uuid;

use super::message::Message;
use super::sender::send_once;
use super::subscription::{Subscription, Way};
use offerd_base::ids;
use offerd_model::{ClientTags, EventData, EventType, LeadEvent, ProductType, Timestamp, record};

/// How much of an answer is shown, in bytes.
const SHOWN_BYTES: usize = 2048;

record! { plain
    /// What was sent, and what came back.
    Trial {
        /// `POST https://…`
        request: String,
        /// What went with it, by name.
        headers: Vec<(String, String)>,
        /// What was sent; empty with a URL.
        body: String,
        /// What came back; nothing where nothing did.
        answer: Option<TrialAnswer>,
        /// Why nothing came back.
        failure: Option<String>,
    }

    /// The answer to a test.
    TrialAnswer {
        /// Its status.
        status: u16,
        /// Its headers, by name.
        headers: Vec<(String, String)>,
        /// How it begins.
        body: String,
        /// How long it took, in milliseconds: to connect, to the head, to the end.
        took_ms: [u64; 3],
    }
}

impl Trial {
    /// Whether the receiver would have taken an event.
    pub fn is_good(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| (200..300).contains(&answer.status))
    }
}

/// Sends a test event of a subscription, and shows the answer. It is of a lead that there is not, and says that it is a test; the store
/// keeps nothing of it.
///
/// # Errors
/// That it cannot be made: a key is missing, which only a paused one may lack.
pub async fn try_out(subscription: &Subscription) -> Result<Trial, String> {
    if matches!(&subscription.way, Way::Webhook { keys, .. } if keys.is_empty()) {
        let file = subscription.file.display();
        return Err(format!("{file}: its `secrets` cannot be read, so nothing can be signed"));
    }
    let message = Message { id: ids::random().to_string(), event: event() };
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
    let data = EventData {
        product_type: Some(ProductType::Loan),
        amount: None,
        payout_in_cents: Some(100),
        reject_reason: None,
    };
    LeadEvent {
        id: "test".to_owned(),
        lead_uuid: Uuid::nil(),
        lead_created_at: now,
        event_type: EventType::Conversion,
        event_created_at: now,
        amount_in_cents: None,
        financial_institution_uuid: None,
        financial_institution_name: None,
        product_type: Some(ProductType::Loan),
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

/// For each client tag that the URL names the value `test`.
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
