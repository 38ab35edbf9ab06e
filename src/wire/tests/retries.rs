//! Retries, and their limits.

use std::time::Duration;

use proptest::prelude::*;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use super::kit::{Server, answer, far, near, pool, post, request, send, wire};
use crate::retry::RetryBudget;
use crate::{Call, CallError, Endpoint, EndpointRules, RetryRules, TlsFault};

const TWICE: RetryRules = RetryRules { attempts: 2, percent: 0, per_minute: 0, reserve: 1 };

fn retrying(retry: RetryRules) -> Endpoint {
    pool(near()).endpoint("loan", EndpointRules { retry, ..EndpointRules::default() })
}

/// Reads the request and hangs up on every even-numbered connection; answers on the others.
async fn hangs_up_first() -> Server {
    Server::run(|mut stream, number| async move {
        request(&mut stream).await.unwrap();
        if number % 2 == 1 {
            stream.write_all(answer("200 OK", "at last").as_bytes()).await.unwrap();
        }
    })
    .await
}

fn idempotent(server: &Server) -> Call {
    Call { idempotent: true, ..post(server.url()) }
}

#[tokio::test]
async fn what_may_have_been_read_is_sent_again_only_if_that_does_no_harm() {
    let server = hangs_up_first().await;
    let reply = retrying(TWICE).call(idempotent(&server), far()).await.unwrap();
    assert_eq!((&*reply.body, reply.sent), (&b"at last"[..], 2));
    assert_eq!(server.connections(), 2);
    assert_eq!(send(&retrying(TWICE), server.url()).await.unwrap_err(), CallError::Broken);
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn what_was_never_sent_is_sent_again() {
    // Hangs up in the handshake.
    let server = Server::run(|stream, _| async move { drop(stream) }).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    assert_eq!(send(&retrying(TWICE), url).await.unwrap_err(), CallError::Tls(TlsFault::Ended));
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn the_budget_and_the_attempts_are_the_limit() {
    let server = Server::run(|mut stream, _| async move {
        request(&mut stream).await.unwrap();
    })
    .await;
    let endpoint = retrying(RetryRules { attempts: 3, reserve: 3, ..TWICE });
    for connections in [3, 5, 6] {
        assert_eq!(endpoint.call(idempotent(&server), far()).await.unwrap_err(), CallError::Broken);
        assert_eq!(server.connections(), connections);
    }
    // A call that was sent three times has failed once.
    assert_eq!(endpoint.state().failed, 3);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_costs_no_call() {
    let server = Server::run(|mut stream, _| async move {
        request(&mut stream).await.unwrap();
        stream.write_all(answer("200 OK", "").as_bytes()).await.unwrap();
    })
    .await;
    let elsewhere = Server::always(answer("200 OK", "")).await;
    let endpoint = retrying(TWICE);
    for _ in 0..5 {
        assert!(send(&endpoint, server.url()).await.is_ok());
        // Goes through the reactor, which by then has noticed the end of the other connection.
        for _ in 0..3 {
            assert!(send(&endpoint, elsewhere.url()).await.is_ok());
        }
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test]
async fn what_happens_is_counted() {
    let metrics = offerd_base::telemetry::recorder::install();
    let endpoint = wire(50, false)
        .pool("counted", near())
        .unwrap()
        .endpoint("loan", EndpointRules { retry: TWICE, ..EndpointRules::default() });
    let server = Server::run(|mut stream, number| async move {
        while request(&mut stream).await.is_some() && number > 0 {
            stream.write_all(answer("200 OK", "").as_bytes()).await.unwrap();
        }
    })
    .await;
    endpoint.call(idempotent(&server), far()).await.unwrap();
    send(&endpoint, server.url()).await.unwrap();
    assert_eq!(endpoint.call(post("nowhere"), far()).await.unwrap_err(), CallError::BadUrl);
    let rendered = metrics.snapshot().text();
    for line in [
        "offerd_wire_connections_total{pool=\"counted\"} 2",
        "offerd_wire_requests_total{pool=\"counted\"} 3",
        "offerd_wire_retries_total{pool=\"counted\",endpoint=\"loan\"} 1",
        "offerd_wire_in_flight{pool=\"counted\",endpoint=\"loan\"} 0",
        "offerd_wire_breaker_state{pool=\"counted\",endpoint=\"loan\"} 0",
        "offerd_wire_errors_total{pool=\"counted\",endpoint=\"loan\",cause=\"bad_url\"} 1",
    ] {
        assert!(rendered.lines().any(|other| other == line), "{line} is not in\n{rendered}");
    }
}

#[test]
fn a_share_of_the_calls_and_a_few_a_minute_may_be_sent_again() {
    let start = Instant::now();
    let rules = RetryRules { attempts: 2, percent: 10, per_minute: 6, reserve: 2 };
    let mut budget = RetryBudget::new(rules);
    assert_eq!([(); 3].map(|()| budget.withdraw(start)), [true, true, false]);
    (0..9).for_each(|_| budget.call());
    assert!(!budget.withdraw(start));
    budget.call();
    assert_eq!([(); 2].map(|()| budget.withdraw(start)), [true, false]);
    assert!(!budget.withdraw(start + Duration::from_millis(9_999)));
    assert!(budget.withdraw(start + Duration::from_secs(10)));
    let later = start + Duration::from_secs(3_600);
    assert_eq!([(); 3].map(|()| budget.withdraw(later)), [true, true, false], "no more than the reserve");
}

proptest! {
    #[test]
    fn no_more_than_the_budget_is_sent_again(
        (percent, per_minute, reserve) in (0_u8..=100, 0_u32..100, 0_u32..20),
        steps in prop::collection::vec((0_u64..5_000, any::<bool>()), 1..500),
    ) {
        let mut budget = RetryBudget::new(RetryRules { attempts: 2, percent, per_minute, reserve });
        let start = Instant::now();
        let mut now = start;
        let (mut calls, mut retries) = (0_u64, 0_u64);
        for (millis, call) in steps {
            now += Duration::from_millis(millis);
            if call {
                budget.call();
                calls += 1;
            } else {
                retries += u64::from(budget.withdraw(now));
            }
            let minutes_worth = (now - start).as_millis() as u64 * u64::from(per_minute) / 60_000;
            // Both shares are rounded down.
            prop_assert!(retries <= u64::from(reserve) + calls * u64::from(percent) / 100 + minutes_worth + 1);
        }
    }
}
