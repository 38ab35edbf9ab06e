//! Expired deadlines. The clock runs until the remote system reaches the point in question, and then jumps.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::kit::{Server, answer, endpoint, far, near, once, pool, post, request, send};
use crate::{CallError, EndpointRules, OnLateReply, Phase, PoolRules};

/// More than the socket buffers of both sides hold.
const MORE_THAN_BUFFERED: usize = 24 * 1024 * 1024;

#[tokio::test]
async fn a_remote_system_that_never_answers_is_left_at_the_deadline() {
    let (asked, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_asked, tell_left) = (Arc::clone(&asked), Arc::clone(&left));
    let server = Server::run(move |mut stream, _| {
        let (asked, left) = (Arc::clone(&tell_asked), Arc::clone(&tell_left));
        async move {
            request(&mut stream).await.unwrap();
            asked.notify_one();
            // The end of the connection, or its reset.
            assert!(stream.read_u8().await.is_err());
            left.notify_one();
        }
    })
    .await;
    let endpoint = endpoint(near());
    let deadline = far();
    let calling = tokio::spawn({
        let (endpoint, call) = (endpoint.clone(), post(server.url()));
        async move { endpoint.call(call, deadline).await }
    });
    asked.notified().await;
    assert_eq!(endpoint.state().in_flight, 1);
    tokio::time::pause();
    let timed_out = calling.await.unwrap().unwrap_err();
    assert_eq!(timed_out, CallError::TimedOut { during: Phase::Head });
    assert_eq!(timed_out.to_string(), "time ran out before the head of the answer was complete");
    left.notified().await;
    let state = endpoint.state();
    assert_eq!((state.in_flight, state.calls, state.failed), (0, 1, 1));
}

#[tokio::test]
async fn a_body_without_end_is_left_at_the_deadline() {
    let under_way = Arc::new(Notify::new());
    let tell = Arc::clone(&under_way);
    let server = Server::run(move |mut stream, _| {
        let under_way = Arc::clone(&tell);
        async move {
            request(&mut stream).await.unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 2 * MORE_THAN_BUFFERED);
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&vec![b'x'; MORE_THAN_BUFFERED]).await.unwrap();
            under_way.notify_one();
            assert!(stream.read_u8().await.is_err());
        }
    })
    .await;
    let endpoint = endpoint(PoolRules { max_response_bytes: usize::MAX, ..near() });
    let url = server.url();
    let calling = tokio::spawn(async move { send(&endpoint, url).await });
    under_way.notified().await;
    tokio::time::pause();
    assert_eq!(calling.await.unwrap().unwrap_err(), CallError::TimedOut { during: Phase::Body });
}

#[tokio::test]
async fn a_handshake_without_end_is_left_at_the_connect_timeout() {
    let connect_timeout = Duration::from_secs(600);
    let waited = handshake_without_end(connect_timeout).await;
    assert!(waited < 2 * connect_timeout, "the deadline was an hour away, and it took {waited:?}");
}

#[tokio::test]
async fn a_handshake_without_end_is_left_at_the_deadline() {
    let connect_timeout = Duration::from_secs(36_000);
    let waited = handshake_without_end(connect_timeout).await;
    assert!(waited < connect_timeout / 2, "the deadline was an hour away, and it took {waited:?}");
}

/// How long, by the jumping clock, a call waits for a remote system that never answers the TLS handshake.
async fn handshake_without_end(connect_timeout: Duration) -> Duration {
    let greeted = Arc::new(Notify::new());
    let tell = Arc::clone(&greeted);
    let server = Server::run(move |mut stream, _| {
        let greeted = Arc::clone(&tell);
        async move {
            stream.read_u8().await.unwrap();
            greeted.notify_one();
            while stream.read_u8().await.is_ok() {}
        }
    })
    .await;
    let endpoint = endpoint(PoolRules { connect_timeout, ..near() });
    let url = format!("https://127.0.0.1:{}/", server.port);
    let begun = Instant::now();
    let calling = tokio::spawn(async move { (send(&endpoint, url).await, Instant::now()) });
    greeted.notified().await;
    tokio::time::pause();
    let (result, ended) = calling.await.unwrap();
    assert_eq!(result.unwrap_err(), CallError::TimedOut { during: Phase::Connect });
    ended - begun
}

#[tokio::test]
async fn a_deadline_that_has_passed_sends_nothing() {
    let server = Server::always(answer("200 OK", "")).await;
    let endpoint = endpoint(near());
    assert_eq!(endpoint.call(post(server.url()), Instant::now()).await.unwrap_err(), CallError::NoTime);
    assert_eq!(server.connections(), 0);
    assert_eq!(endpoint.state().calls, 0);
}

#[tokio::test]
async fn a_late_answer_is_watched_for_and_no_more() {
    let (asked, answer_now) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_asked, may_answer) = (Arc::clone(&asked), Arc::clone(&answer_now));
    let server = Server::run(move |mut stream, _| {
        let (asked, answer_now) = (Arc::clone(&tell_asked), Arc::clone(&may_answer));
        async move {
            request(&mut stream).await.unwrap();
            asked.notify_one();
            answer_now.notified().await;
            let _ = stream.write_all(answer("200 OK", "late").as_bytes()).await;
        }
    })
    .await;
    let rules = EndpointRules { concurrency: 2, late_patience: Duration::from_secs(3600), ..once() };
    let endpoint = pool(near()).endpoint("loan", rules);
    let deadline = Instant::now() + Duration::from_millis(50);
    let (tell, mut told) = tokio::sync::oneshot::channel();
    let listener =
        || -> Option<OnLateReply> { Some(Box::new(move |came| drop(tell.send((came, Instant::now()))))) };
    let begun = Instant::now();
    let timed_out = endpoint.call_heard(post(server.url()), deadline, listener).await.unwrap_err();
    assert_eq!(timed_out, CallError::TimedOut { during: Phase::Head });
    asked.notified().await;
    let state = endpoint.state();
    assert_eq!(
        (state.in_flight, state.calls, state.failed),
        (1, 1, 1),
        "watching takes a place, and judges nothing"
    );
    assert!(told.try_recv().is_err());
    let others = || -> Option<OnLateReply> { panic!("no more are watched at a time than may be") };
    let soon = Instant::now() + Duration::from_millis(5);
    endpoint.call_heard(post(server.url()), soon, others).await.unwrap_err();
    answer_now.notify_one();
    answer_now.notify_one();
    let (came, at) = told.await.unwrap();
    assert_eq!(&came.unwrap().unwrap().body[..], b"late");
    assert!(at - begun >= Duration::from_millis(50));
    while endpoint.state().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!((endpoint.state().in_flight, endpoint.state().calls), (0, 2));
}
