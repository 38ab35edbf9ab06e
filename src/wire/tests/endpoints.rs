//! Admission of calls by an endpoint.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::kit::{Server, answer, far, near, once, post, request, send, wire};
use crate::{BreakerRules, BreakerState, CallError, Endpoint, EndpointRules, GroupRules, Phase, Wire};

const BREAKER: BreakerRules = BreakerRules {
    window: Duration::from_secs(60),
    minimum_calls: 3,
    failure_percent: 100,
    failures_in_a_row: u32::MAX,
    open_for: Duration::from_secs(60),
    open_ceiling: Duration::from_secs(60),
    probes: 1,
    successes: 1,
};

fn endpoint(wire: &Wire) -> Endpoint {
    wire.pool("lender", near()).unwrap().endpoint("loan", EndpointRules { breaker: Some(BREAKER), ..once() })
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn fault() -> Result<(), String> {
    Err("the answer has status 500".to_owned())
}

fn eject(endpoint: &Endpoint) -> BreakerState {
    (0..BREAKER.minimum_calls).for_each(|_| endpoint.report(fault()));
    endpoint.state().breaker
}

/// Advances the clock by `time` with no call in flight.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// A server that signals each request and never answers.
async fn silent() -> (Server, Arc<Notify>) {
    let asked = Arc::new(Notify::new());
    let tell = Arc::clone(&asked);
    let server = Server::run(move |mut stream, _| {
        let asked = Arc::clone(&tell);
        async move {
            request(&mut stream).await.unwrap();
            asked.notify_one();
            // Until the client disconnects.
            let _ = request(&mut stream).await;
        }
    })
    .await;
    (server, asked)
}

#[tokio::test]
async fn a_full_lane_refuses_at_once() {
    let (server, asked) = silent().await;
    let endpoint = wire(50, false)
        .pool("lender", near())
        .unwrap()
        .endpoint("loan", EndpointRules { concurrency: 1, ..once() });
    let first = tokio::spawn({
        let (endpoint, url) = (endpoint.clone(), server.url());
        async move { send(&endpoint, url).await }
    });
    asked.notified().await;
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::Busy);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let state = endpoint.state();
    assert_eq!(
        (state.in_flight, state.calls),
        (0, 0),
        "a client that goes says nothing of the remote system"
    );
}

#[tokio::test]
async fn a_call_given_up_at_its_deadline_has_failed() {
    let (server, asked) = silent().await;
    let endpoint = endpoint(&wire(50, false));
    let deadline = far();
    let mut calling = Box::pin(endpoint.call(post(server.url()), deadline));
    tokio::select! {
        _ = &mut calling => panic!("nobody answers"),
        () = asked.notified() => {}
    }
    pass(deadline - Instant::now()).await;
    drop(calling);
    let state = endpoint.state();
    assert_eq!((state.in_flight, state.calls, state.failed), (0, 1, 1));
}

#[tokio::test]
async fn an_open_breaker_keeps_calls_back_until_a_probe_is_judged_well() {
    let server = Server::always(answer("500 Internal Server Error", "")).await;
    let endpoint = endpoint(&wire(50, false));
    for _ in 0..BREAKER.minimum_calls {
        assert!(send(&endpoint, server.url()).await.is_ok());
        endpoint.report(fault());
    }
    let state = endpoint.state();
    assert_eq!((state.failed, state.calls > 0), (state.calls, true));
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::BreakerOpen);
    pass(BREAKER.open_for).await;
    assert!(send(&endpoint, server.url()).await.is_ok());
    assert_eq!(endpoint.state().breaker, BreakerState::HalfOpen);
    assert_eq!(
        send(&endpoint, server.url()).await.unwrap_err(),
        CallError::BreakerOpen,
        "one probe at a time"
    );
    endpoint.report(Ok(()));
    let state = endpoint.state();
    assert_eq!((state.breaker, state.ejected_since), (BreakerState::Closed, None));
    assert!(send(&endpoint, server.url()).await.is_ok());
}

#[tokio::test]
async fn errors_open_it_without_anybodys_judgement() {
    let server = Server::run(|mut stream, _| async move {
        request(&mut stream).await.unwrap();
    })
    .await;
    let endpoint = endpoint(&wire(50, false));
    for _ in 0..BREAKER.minimum_calls {
        assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::Broken);
    }
    assert_eq!(endpoint.state().breaker, BreakerState::Open);
    assert_eq!(server.connections(), BREAKER.minimum_calls as usize);
}

#[tokio::test]
async fn no_more_of_the_group_than_allowed_is_ejected() {
    let wire = wire(50, false);
    let endpoints: Vec<Endpoint> = (0..5).map(|_| endpoint(&wire)).collect();
    assert_eq!(eject(&endpoints[0]), BreakerState::Open);
    assert_eq!(eject(&endpoints[1]), BreakerState::Open);
    assert_eq!(eject(&endpoints[2]), BreakerState::Closed);
    // A dropped endpoint makes room among the remaining four.
    let mut endpoints = endpoints;
    drop(endpoints.remove(0));
    assert_eq!(eject(&endpoints[1]), BreakerState::Open);
    assert_eq!(eject(&endpoints[2]), BreakerState::Closed);
}

#[tokio::test]
async fn a_simulated_breaker_refuses_nothing() {
    let server = Server::always(answer("200 OK", "")).await;
    let endpoint = endpoint(&wire(50, true));
    assert_eq!(eject(&endpoint), BreakerState::Open);
    assert!(endpoint.state().only_logged);
    assert!(send(&endpoint, server.url()).await.is_ok());
}

#[tokio::test]
async fn an_endpoint_without_a_breaker_refuses_nothing_and_takes_no_place_in_the_group() {
    let server = Server::always(answer("200 OK", "")).await;
    let wire = wire(50, false);
    let pool = wire.pool("lender", near()).unwrap();
    let with = || EndpointRules { breaker: Some(BREAKER), ..once() };
    let without = pool.endpoint("loan_test", EndpointRules { breaker: None, ..once() });
    let (first, second) = (pool.endpoint("loan", with()), pool.endpoint("savings", with()));
    assert_eq!(eject(&without), BreakerState::Closed);
    assert!(send(&without, server.url()).await.is_ok());
    assert!(!without.probe());
    assert_eq!([eject(&first), eject(&second)], [BreakerState::Open, BreakerState::Closed]);
}

#[tokio::test]
async fn the_open_breaker_of_an_endpoint_that_ends_is_no_longer_shown() {
    let metrics = offerd_base::telemetry::recorder::install();
    let shown = || {
        let text = metrics.snapshot().text();
        let mut lines = text.lines().filter(|line| line.starts_with("offerd_wire_breaker_state"));
        lines
            .find(|line| line.contains("\"removed\""))
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
    };
    let rules = EndpointRules { breaker: Some(BREAKER), ..once() };
    let endpoint = wire(50, false).pool("removed", near()).unwrap().endpoint("loan", rules);
    assert_eq!(eject(&endpoint), BreakerState::Open);
    assert_eq!(shown().as_deref(), Some("2"));
    drop(endpoint);
    assert_eq!(shown().as_deref(), Some("0"));
}

#[tokio::test]
async fn an_open_breaker_says_when_it_asks_again_and_what_failed_last() {
    let server = Server::run(|mut stream, _| async move {
        request(&mut stream).await.unwrap();
    })
    .await;
    let endpoint = endpoint(&wire(50, false));
    assert_eq!(endpoint.state().description(), "closed");
    eject(&endpoint);
    let told = "open, asks again in 60 s; last: the answer has status 500";
    assert_eq!(endpoint.state().description(), told);
    // A refused call is no failure of the remote system.
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::BreakerOpen);
    assert!(endpoint.state().description().ends_with("; last: the answer has status 500"));
    pass(BREAKER.open_for).await;
    let told = "open, asks again with the next call; last: the answer has status 500";
    assert_eq!(endpoint.state().description(), told);
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::Broken);
    let last = format!("; last: {}", CallError::Broken);
    assert!(endpoint.state().description().ends_with(&last), "{}", endpoint.state().description());
}

#[tokio::test]
async fn five_calls_without_an_answer_in_time_open_it() {
    let (server, _) = silent().await;
    let endpoint = wire(50, false).pool("lender", near()).unwrap().endpoint("loan", once());
    for calls in 1..=5 {
        assert_eq!(endpoint.state().breaker, BreakerState::Closed, "{calls}");
        let ended = endpoint.call(post(server.url()), Instant::now() + Duration::from_millis(20)).await;
        assert!(matches!(ended, Err(CallError::TimedOut { .. })), "{ended:?}");
    }
    assert_eq!(endpoint.state().breaker, BreakerState::Open);
    let late = CallError::TimedOut { during: Phase::Head };
    assert!(
        endpoint.state().description().ends_with(&format!("; last: {late}")),
        "{}",
        endpoint.state().description()
    );
}

#[tokio::test]
async fn the_group_limits_how_long_it_stays_open_also_by_a_reload() {
    let wire = wire(50, false);
    let endpoint = endpoint(&wire);
    eject(&endpoint);
    let asks_again_in = || endpoint.state().asks_again_in.unwrap().as_secs_f64().ceil();
    assert_eq!(asks_again_in(), 60.0);
    let rules = GroupRules {
        max_open_percent: 50,
        breakers_only_log: false,
        open_ceiling: seconds(30),
        answer_bytes: usize::MAX,
    };
    wire.set_rules(rules);
    assert_eq!(asks_again_in(), 30.0);
    wire.set_rules(GroupRules { open_ceiling: seconds(300), ..rules });
    assert_eq!(asks_again_in(), 30.0);
}

#[tokio::test]
async fn an_operator_lets_the_next_call_through() {
    let server = Server::always(answer("200 OK", "")).await;
    let endpoint = endpoint(&wire(50, false));
    assert!(!endpoint.probe(), "it is closed");
    eject(&endpoint);
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::BreakerOpen);
    assert!(endpoint.probe());
    assert!(send(&endpoint, server.url()).await.is_ok());
    assert_eq!(endpoint.state().breaker, BreakerState::HalfOpen);
    assert!(endpoint.probe(), "probes without a verdict make room");
    assert!(send(&endpoint, server.url()).await.is_ok());
    endpoint.report(Ok(()));
    assert_eq!(endpoint.state().breaker, BreakerState::Closed);
}
