//! Sends a call to the receiver of a subscription, and says what its answer means.

use std::time::Duration;

use chrono::{DateTime, Utc};
use hyper::header::RETRY_AFTER;
use hyper::{HeaderMap, StatusCode};
use tokio::time::Instant;

use super::record::Ended;
use super::subscription::Subscription;
use crate::config::PostbackSettings;
use crate::wire::{
    BreakerRules, Call, CallError, Endpoint, EndpointRules, PanelRules, Pool, PoolRules, Reply, Wire,
};

/// Longest answer that is read, in bytes; a longer one is a failure.
const ANSWER_BYTES: usize = 256 * 1024;

/// Longest time that the breaker keeps calls back before it lets some through to see.
const BREAKER_CEILING: Duration = Duration::from_secs(300);

/// How calls get to the receiver of one subscription.
#[derive(Debug)]
pub(super) struct Sender {
    endpoint: Endpoint,
    timeout: Duration,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct Sent {
    /// For the record.
    pub ended: Ended,
    /// How long the receiver wants to be left alone.
    pub retry_after: Option<Duration>,
    /// Whether nothing was sent, because the breaker is open.
    pub held_back: bool,
}

/// The wire of postbacks: what fails here keeps no partner out, and the other way round.
pub(super) fn wire() -> Wire {
    Wire::new(PanelRules { max_ejected_percent: 100, simulate_only: false })
}

impl Sender {
    /// A way to the receiver.
    ///
    /// # Errors
    /// What cannot be set up.
    pub(super) fn open(
        wire: &Wire,
        subscription: &Subscription,
        settings: &PostbackSettings,
    ) -> Result<Self, String> {
        let breaker = BreakerRules {
            open_for: settings.first_backoff,
            open_ceiling: settings.longest_backoff.min(BREAKER_CEILING),
            ..BreakerRules::default()
        };
        let rules = EndpointRules { concurrency: settings.concurrency, breaker, ..EndpointRules::default() };
        let endpoint = pool(wire, subscription)?.endpoint("postback", rules);
        Ok(Self { endpoint, timeout: subscription.timeout })
    }

    /// Sends a call; `now_ms` gives the time at its end.
    pub(super) async fn send(&self, call: Call, now_ms: impl Fn() -> i64) -> Sent {
        match self.endpoint.call(call, Instant::now() + self.timeout).await {
            Ok(reply) => {
                self.endpoint.judged(!is_of_receiver(reply.status));
                Sent {
                    ended: Ended::answered(now_ms(), reply.status.as_u16()),
                    retry_after: retry_after(&reply.headers, Utc::now()),
                    held_back: false,
                }
            }
            Err(error) => Sent {
                ended: Ended::failed(now_ms(), error),
                retry_after: None,
                held_back: error == CallError::BreakerOpen,
            },
        }
    }
}

/// Sends a call once, past breaker and limits.
///
/// # Errors
/// Why there is no answer.
pub(super) async fn send_once(subscription: &Subscription, call: Call) -> Result<Reply, String> {
    let endpoint = pool(&wire(), subscription)?.endpoint("postback_test", EndpointRules::default());
    let reply = endpoint.call(call, Instant::now() + subscription.timeout).await;
    reply.map_err(|error| match error {
        CallError::ForbiddenAddress => {
            "the host is at a private, local or reserved address; its name in `allow_addresses` of the file allows it"
                .to_owned()
        }
        error => error.to_string(),
    })
}

/// The connections to the receiver.
///
/// # Errors
/// What of `allow_addresses` is none.
pub(super) fn pool(wire: &Wire, subscription: &Subscription) -> Result<Pool, String> {
    let rules = PoolRules {
        connect_timeout: subscription.timeout,
        max_response_bytes: ANSWER_BYTES,
        allow_addresses: subscription.allow_addresses.clone(),
        ..PoolRules::default()
    };
    wire.pool(&format!("postbacks/{}", subscription.name), rules)
}

/// Whether the receiver as a whole cannot take events; else it is this one that it refuses.
fn is_of_receiver(status: StatusCode) -> bool {
    status.is_server_error() || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status)
}

/// How long a receiver wants to be left alone: seconds, or a date (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    (DateTime::parse_from_rfc2822(text).ok()?.to_utc() - now).to_std().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_says_in_seconds_or_by_a_date_when_it_wants_more() {
        let now = DateTime::parse_from_rfc2822("Sat, 21 Nov 2026 00:00:00 GMT").unwrap().to_utc();
        let of = |text: &'static str| {
            let headers = [(RETRY_AFTER, hyper::header::HeaderValue::from_static(text))];
            retry_after(&headers.into_iter().collect(), now).map(|wait| wait.as_secs())
        };
        assert_eq!((of("120"), of("Sat, 21 Nov 2026 00:01:00 GMT")), (Some(120), Some(60)));
        assert_eq!((of("Fri, 20 Nov 2026 00:01:00 GMT"), of("soon")), (None, None));
    }
}
