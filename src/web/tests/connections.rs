//! The start and the end of connections.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Body;
use hyper::{Request, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::kit::{Client, Server, bind, limits, serve, start, start_with};
use crate::{ConnectionRules, Connections, Drained, Gate, Limits, Listener};

#[tokio::test]
async fn a_head_that_stops_half_way_is_closed() {
    let impatient = Limits { header_timeout: Duration::from_millis(50), ..limits() };
    let server = start_with(impatient, limits().drain, &["*"]);
    for sent in ["GET /hello HTT", "GET /hello HTTP/1.1\r\nHost: te"] {
        let mut client = server.connect().await;
        client.send(sent).await;
        client.until_closed().await;
    }
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200);
}

#[tokio::test]
async fn a_connection_may_be_silent_longer_than_a_head_may_take() {
    let short = Duration::from_millis(50);
    let server = start_with(Limits { header_timeout: short, ..limits() }, limits().drain, &["*"]);
    let mut client = server.connect().await;
    for _ in 0..3 {
        // Before the first request, and between two.
        tokio::time::sleep(3 * short).await;
        assert_eq!(client.ask("GET /hello", &[], "").await.status, 200);
    }
    client.send("GET /hello HTT").await;
    client.until_closed().await;
}

#[tokio::test]
async fn a_silent_connection_is_closed_in_its_own_time() {
    let impatient = Limits { idle_timeout: Duration::from_millis(50), ..limits() };
    let server = start_with(impatient, limits().drain, &["*"]);
    server.connect().await.until_closed().await;
    let mut served = server.connect().await;
    assert_eq!(served.ask("GET /hello", &[], "").await.status, 200);
    served.until_closed().await;
    // A client that has begun a head gets the time to finish it.
    let mut slow = server.connect().await;
    slow.send("GET /hello HTTP/1.1\r\nHost: ").await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    slow.send("test\r\n\r\n").await;
    assert!(slow.until_closed().await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_head_beyond_its_limit_is_431() {
    let server = start();
    for times in [1, 100] {
        let long = "x".repeat(times * limits().head_bytes);
        let answer = server.ask("GET /hello", &[("X-Long", &long)]).await;
        assert_eq!((answer.status, answer.header("connection")), (431, Some("close")));
        let message = "Request head must be at most 4096 bytes, with at most 100 headers and fewer than 20 digits in Content-Length";
        assert_eq!(answer.fault(), ("tooLarge".to_owned(), message.to_owned()));
        assert!(answer.header("request-id").is_some());
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "a page reads why");
    }
}

/// As a client with prior knowledge does it, and as one does that does not know HTTP/2.
#[tokio::test]
async fn http_2_is_spoken_in_the_clear_with_who_begins_with_it() {
    let server = start();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (requests, connection) = handshake.await.unwrap();
    let connection = tokio::spawn(connection);
    let ask = |path: &str| {
        let request = Request::get(format!("http://localhost{path}")).body(Empty::<bytes::Bytes>::new());
        requests.clone().send_request(request.unwrap())
    };
    let gated = tokio::spawn(ask("/gated"));
    server.app.entered.acquire().await.unwrap().forget();
    let answer = ask("/query").await.unwrap();
    assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2));
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200, "beside it HTTP/1.1 is spoken");

    // A drain completes requests under way.
    let app = Arc::clone(&server.app);
    let serving = server.stop();
    app.gate.add_permits(1);
    assert_eq!(gated.await.unwrap().unwrap().status(), StatusCode::OK);
    drop(requests);
    connection.await.unwrap().unwrap();
    assert_eq!(serving.await.unwrap().unwrap().cut, 0);
}

#[tokio::test]
async fn head_over_http_2_is_get_without_the_body() {
    let server = start();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut requests, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    for (method, path, length, shown) in [
        ("HEAD", "/hello", Some("9"), ""),
        ("GET", "/hello", Some("9"), "[\"hello\"]"),
        ("HEAD", "/stream", None, ""),
        ("GET", "/stream", None, "one two"),
    ] {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let answer =
            requests.send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{method} {path}");
        let told = answer.headers().get("content-length").map(|length| length.to_str().unwrap().to_owned());
        assert_eq!(told.as_deref(), length, "{method} {path}");
        let ends_with_its_head = answer.body().is_end_stream();
        assert_eq!(ends_with_its_head, method == "HEAD", "{method} {path}");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, shown, "{method} {path}");
    }
}

/// Nothing reads the body of a `GET`, so the client is asked to stop sending it.
#[tokio::test]
async fn an_answer_to_get_whose_body_is_half_sent_says_that_the_connection_ends() {
    let server = start();
    let mut client = server.connect().await;
    client.send("GET /hello HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf").await;
    let answer = client.answer(false).await;
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    let mut client = server.connect().await;
    let answer = client.ask("GET /hello", &[], "").await;
    assert_eq!((answer.status, answer.header("connection")), (200, None));
}

#[tokio::test]
async fn more_headers_than_there_may_be_are_431() {
    let server = start();
    // `Host` is the first of the headers.
    assert_eq!(server.ask("GET /hello", &[("X-A", "1"); 99]).await.status, 200);
    assert_eq!(server.ask("GET /hello", &[("X-A", "1"); 100]).await.status, 431);
}

#[tokio::test]
async fn a_connection_beyond_the_cap_is_told_503_and_closed_while_all_are_at_work() {
    let server = start_with(Limits { connections: 1, ..limits() }, limits().drain, &["*"]);
    let mut first = busy(&server).await;

    let mut second = server.connect().await;
    let answer = second.ask("GET /hello", &[], "").await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert_eq!(answer.fault().0, "unavailable");
    assert!(answer.header("request-id").is_some());
    assert_eq!(second.until_closed().await, "");

    server.app.gate.add_permits(1);
    assert_eq!(first.answer(false).await.status, 200, "the first is not disturbed");
    // The connection makes room once it is idle.
    while server.ask("GET /hello", &[]).await.status != 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(first.until_closed().await, "");
}

/// A connection with a request under way.
async fn busy(server: &Server) -> Client {
    let mut client = server.connect().await;
    client.send("GET /gated HTTP/1.1\r\nHost: test\r\n\r\n").await;
    server.app.entered.acquire().await.unwrap().forget();
    client
}

/// A connection that is idle once it has been served.
async fn served(server: &Server) -> Client {
    let mut client = server.connect().await;
    assert_eq!(client.ask("GET /hello", &[], "").await.status, 200);
    client
}

#[tokio::test]
async fn the_longest_idle_connection_makes_room_whatever_it_is_idle_with() {
    let server = start_with(Limits { connections: 4, ..limits() }, limits().drain, &["*"]);
    let mut at_work = busy(&server).await;
    let kept = served(&server).await;
    let mut half_a_head = server.connect().await;
    half_a_head.send("GET /hello HTTP/1.1\r\nHost: te").await;
    let mut last = served(&server).await;
    // New connections push out the longest idle one, even if it never sent a request.
    let mut next = served(&server).await;
    assert_eq!(kept.until_closed().await, "");
    let _another = served(&server).await;
    assert_eq!(half_a_head.until_closed().await, "");
    assert_eq!(last.ask("GET /hello", &[], "").await.status, 200, "it was not next");
    let _one_more = served(&server).await;
    assert_eq!(last.ask("GET /hello", &[], "").await.status, 200, "having been used it is not next again");
    next.send("").await;
    assert_eq!(next.until_closed().await, "");
    server.app.gate.add_permits(1);
    assert_eq!(at_work.answer(false).await.status, 200);
}

#[tokio::test]
async fn who_does_not_read_its_answer_makes_room() {
    let server = start_with(Limits { connections: 1, ..limits() }, limits().drain, &["*"]);
    let mut deaf = server.connect().await;
    deaf.send("GET /endless HTTP/1.1\r\nHost: test\r\n\r\n").await;
    server.app.entered.acquire().await.unwrap().forget();
    // The answer has to fill the socket buffers first.
    while server.ask("GET /hello", &[]).await.status != 200 {
        tokio::task::yield_now().await;
    }
    deaf.until_closed_by_any_means().await;
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_a_proxy_any_number() {
    let rules = |trusted: &[&str]| ConnectionRules {
        per_address: 2,
        trusted_proxies: trusted.iter().map(|network| network.parse().unwrap()).collect(),
        ..ConnectionRules::default()
    };
    let among = |rules| {
        let listener = bind(limits()).among(Connections::new(rules));
        serve(listener, Gate::open(), limits().drain, &["*"])
    };
    let server = among(rules(&[]));
    let (_one, two) = (busy(&server).await, served(&server).await);
    let _three = busy(&server).await;
    assert_eq!(two.until_closed().await, "", "its idle one is closed first");
    let mut refused = server.connect().await;
    let answer = refused.ask("GET /hello", &[], "").await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    assert!(answer.fault().1.contains("Too many connections from this address"), "{}", answer.body);
    assert_eq!(refused.until_closed().await, "");

    let behind_a_proxy = among(rules(&["127.0.0.0/8"]));
    let (_one, _two) = (busy(&behind_a_proxy).await, busy(&behind_a_proxy).await);
    assert_eq!(behind_a_proxy.ask("GET /hello", &[]).await.status, 200);
}

#[tokio::test]
async fn listeners_that_share_descriptors_make_room_for_each_other() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let shared = Connections::new(ConnectionRules { total: 2, ..ConnectionRules::default() });
    let start = || serve(bind(limits()).among(shared.clone()), Gate::open(), limits().drain, &["*"]);
    let (one, other) = (start(), start());
    let first = served(&one).await;
    let _second = busy(&one).await;
    let _third = busy(&other).await;
    assert_eq!(first.until_closed().await, "");
    assert_eq!(other.ask("GET /hello", &[]).await.status, 503);
    let rendered = recorder.handle().render();
    for line in [
        r#"offerd_http_connections_closed_total{listener="test",reason="descriptors"} 1"#,
        r#"offerd_http_connections_refused_total{listener="test",reason="descriptors"} 1"#,
        r#"offerd_http_connections{listener="test"} 2"#,
    ] {
        assert!(rendered.contains(line), "{line} is missing in:\n{rendered}");
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
    let address = listener.local_addr;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let filter = warp::Filter::map(warp::any(), || "from afar");
    let service =
        crate::HttpService::new(hyper_util::service::TowerToHyperService::new(warp::service(filter)));
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

#[tokio::test]
async fn a_head_that_cannot_be_read_is_refused_and_ends_the_connection() {
    let server = start();
    for (head, status) in [
        ("GET /hello HTTP/1.1\r\nHost: x\r\nbad name: x\r\n\r\n", 400),
        ("\u{1}\u{2}\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n", 431),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n", 400),
    ] {
        let mut client = server.connect().await;
        client.send(head).await;
        let answer = client.answer(false).await;
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{head}");
        if status == 431 {
            assert!(answer.fault().1.ends_with("fewer than 20 digits in Content-Length"), "{}", answer.body);
        }
        assert_eq!(client.until_closed().await, "");
    }
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200);
}
