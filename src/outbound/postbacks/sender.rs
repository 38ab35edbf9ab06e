//! Sends calls to a subscription's receiver, and interprets the answers.

use std::time::Duration;

use chrono::Utc;
use hyper::StatusCode;
use tokio::time::Instant;

use super::record::AttemptResult;
use super::subscription::Subscription;
use crate::outbox::{pool_rules, wire};
use offerd_base::config::PostbackSettings;
use offerd_partners::http::ask_progress::retry_after;
use offerd_wire::{BreakerRules, Call, CallError, CallReply, Endpoint, EndpointRules, Pool, Wire};

/// The longest time that the breaker stays open before it probes the receiver.
const BREAKER_CEILING: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(super) struct Sent {
    /// The result for the record.
    pub ended: AttemptResult,
    /// The pause that the receiver asks for.
    pub retry_after: Option<Duration>,
    /// Whether nothing was sent because the breaker is open.
    pub is_unsent: bool,
}

pub(super) fn open(wire: &Wire, of: &Subscription, settings: &PostbackSettings) -> Result<Endpoint, String> {
    let breaker = BreakerRules {
        open_for: settings.first_backoff,
        open_ceiling: settings.longest_backoff.min(BREAKER_CEILING),
        // An event that fails is sent again by a backoff of its own.
        failures_in_a_row: u32::MAX,
        ..BreakerRules::default()
    };
    let rules = EndpointRules {
        concurrency: settings.concurrency,
        breaker: Some(breaker),
        ..EndpointRules::default()
    };
    Ok(pool(wire, of)?.endpoint("postback", rules))
}

/// Sends a call; `now` supplies the time at its end, in Unix milliseconds.
pub(super) async fn send(endpoint: &Endpoint, call: Call, timeout: Duration, now: impl Fn() -> i64) -> Sent {
    let reply = endpoint.call(call, Instant::now() + timeout).await;
    let (answer, error) = (reply.as_ref().ok(), reply.as_ref().err());
    if let Some(answer) = answer {
        let status = answer.status;
        // Other statuses concern this event, rather than the receiver as a whole.
        let is_of_receiver = status.is_server_error()
            || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let fault = || Err(format!("the answer has status {}", status.as_u16()));
        endpoint.report(if is_of_receiver { fault() } else { Ok(()) });
    }
    let status = answer.map(|answer| answer.status.as_u16());
    let cause = error.map(|error| error.label().to_owned());
    Sent {
        ended: AttemptResult { at_ms: now(), status, cause },
        retry_after: answer.and_then(|answer| retry_after(&answer.headers, Utc::now())),
        is_unsent: error == Some(&CallError::BreakerOpen),
    }
}

/// Sends a call once, without breaker and limits. Returns why there is no answer.
pub(super) async fn send_once(subscription: &Subscription, call: Call) -> Result<CallReply, String> {
    let rules = EndpointRules { breaker: None, ..EndpointRules::default() };
    let endpoint = pool(&wire(false), subscription)?.endpoint("postback_test", rules);
    let reply = endpoint.call(call, Instant::now() + subscription.timeout).await;
    reply.map_err(|error| match error {
        CallError::ForbiddenAddress => {
            "the host is at a private, local or reserved address; to allow it, add its name to \
                `allow_addresses` of the file"
                .to_owned()
        }
        error => error.to_string(),
    })
}

pub(super) fn pool(wire: &Wire, subscription: &Subscription) -> Result<Pool, String> {
    let rules = pool_rules(subscription.timeout, &subscription.allow_addresses);
    wire.pool(&format!("postbacks/{}", subscription.name), rules)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use hyper::header::RETRY_AFTER;

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
