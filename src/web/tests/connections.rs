//! How connections begin and end.

use std::time::Duration;

use tokio::net::TcpStream;

use super::kit::{limits, start, start_with};
use crate::web::{Drained, Limits, Listener};

#[tokio::test]
async fn a_head_that_stops_half_way_is_closed() {
    let impatient = Limits { header_timeout: Duration::from_millis(50), ..limits() };
    let server = start_with(impatient, limits().drain, &["*"]);
    for sent in ["GET /hello HTT", "GET /hello HTTP/1.1\r\nHost: te", ""] {
        let mut client = server.connect().await;
        client.send(sent).await;
        client.until_closed().await;
    }
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200);
}

#[tokio::test]
async fn a_head_beyond_its_limit_is_431() {
    let server = start();
    let long = "x".repeat(limits().head_bytes);
    assert_eq!(server.ask("GET /hello", &[("X-Long", &long)]).await.status, 431);
}

#[tokio::test]
async fn more_headers_than_there_may_be_are_431() {
    let server = start();
    // `Host` is the first of them.
    assert_eq!(server.ask("GET /hello", &[("X-A", "1"); 99]).await.status, 200);
    assert_eq!(server.ask("GET /hello", &[("X-A", "1"); 100]).await.status, 431);
}

#[tokio::test]
async fn a_connection_beyond_the_cap_is_told_503_and_closed() {
    let server = start_with(Limits { connections: 1, ..limits() }, limits().drain, &["*"]);
    let mut first = server.connect().await;
    assert_eq!(first.ask("GET /hello", &[], "").await.status, 200);

    let mut second = server.connect().await;
    let answer = second.ask("GET /hello", &[], "").await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert_eq!(answer.fault().0, "unavailable");
    assert!(answer.header("request-id").is_some());
    assert_eq!(second.until_closed().await, "");

    assert_eq!(first.ask("GET /hello", &[], "").await.status, 200, "the first is not disturbed");
    drop(first);
    while server.ask("GET /hello", &[]).await.status != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_drain_finishes_what_is_in_flight_and_refuses_the_rest() {
    let server = start();
    let (app, address) = (server.app.clone(), server.address);
    let mut idle = server.connect().await;
    assert_eq!(idle.ask("GET /hello", &[], "").await.status, 200);
    let untouched = server.connect().await;
    let mut busy = server.connect().await;
    busy.send("GET /gated HTTP/1.1\r\nHost: test\r\n\r\n").await;
    app.entered.acquire().await.unwrap().forget();

    let serving = server.stop();
    assert_eq!(idle.until_closed().await, "");
    assert_eq!(untouched.until_closed().await, "");
    assert!(TcpStream::connect(address).await.is_err(), "the listener is gone");

    app.gate.add_permits(1);
    let answer = busy.answer(false).await;
    assert_eq!((answer.status, &*answer.body), (200, "\"through\""));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(serving.await.unwrap().unwrap(), Drained { cut: 0 });
}

#[tokio::test]
async fn a_drain_cuts_what_outlasts_its_deadline() {
    let hasty = Limits { drain: Duration::from_millis(20), ..limits() };
    let server = start_with(hasty, limits().drain, &["*"]);
    let app = server.app.clone();
    let mut busy = server.connect().await;
    busy.send("GET /gated HTTP/1.1\r\nHost: test\r\n\r\n").await;
    app.entered.acquire().await.unwrap().forget();

    assert_eq!(server.stop().await.unwrap().unwrap(), Drained { cut: 1 });
    assert_eq!(busy.until_closed().await, "");
    app.gate.add_permits(1);
    app.finished.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn an_answer_that_nobody_reads_ends_its_connection() {
    let server =
        start_with(Limits { write_timeout: Duration::from_millis(50), ..limits() }, limits().drain, &["*"]);
    let mut deaf = server.connect().await;
    deaf.send("GET /endless HTTP/1.1\r\nHost: test\r\n\r\n").await;
    server.app.entered.acquire().await.unwrap().forget();
    assert_eq!(server.stop().await.unwrap().unwrap(), Drained { cut: 0 });
}

#[tokio::test]
async fn a_hang_up_does_not_cut_the_handler() {
    let server = start();
    let mut client = server.connect().await;
    client.send("GET /gated HTTP/1.1\r\nHost: test\r\n\r\n").await;
    server.app.entered.acquire().await.unwrap().forget();
    drop(client);
    let app = server.app.clone();
    assert_eq!(server.stop().await.unwrap().unwrap(), Drained { cut: 0 });
    app.gate.add_permits(1);
    app.finished.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn a_listener_serves_on_another_runtime_than_it_was_bound_on() {
    let listener = Listener::bind("test", "127.0.0.1:0".parse().unwrap(), limits()).unwrap();
    let address = listener.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let filter = warp::Filter::map(warp::any(), || "from afar");
    let service = hyper_util::service::TowerToHyperService::new(warp::service(filter));
    let other = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(listener.serve(service, async { stopped.await.unwrap_or(()) })).unwrap()
    });
    let mut client = super::kit::Client::to(address).await;
    assert_eq!(client.ask("GET /", &[], "").await.body, "from afar");
    stop.send(()).unwrap();
    assert_eq!(other.join().unwrap(), Drained { cut: 0 });
}

#[tokio::test]
async fn an_address_in_use_is_an_error() {
    let server = start();
    assert!(Listener::bind("test", server.address, limits()).is_err());
}
