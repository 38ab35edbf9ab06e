//! Reading a body: its cap, its timeout and its type.

use std::time::Duration;

use super::kit::{BODY_CAP_BYTES, limits, start, start_with};

const JSON: (&str, &str) = ("Content-Type", "application/json; charset=utf-8");

#[tokio::test]
async fn a_body_of_a_json_type_or_of_none_is_read() {
    let server = start();
    let mut client = server.connect().await;
    let types = [&[JSON][..], &[("Content-Type", "application/vnd.offerd.v1+json")], &[]];
    for headers in types {
        let answer = client.ask("POST /echo", headers, "{\"a\":1}").await;
        assert_eq!((answer.status, &*answer.body), (201, "{\"a\":1}"));
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_taken_off() {
    let server = start();
    let answer = server.connect().await.ask("POST /echo", &[JSON], "\u{feff}{}").await;
    assert_eq!((answer.status, &*answer.body), (201, "{}"));
}

#[tokio::test]
async fn another_type_is_415_unless_there_is_no_body() {
    let server = start();
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let answer = server.connect().await.ask("POST /echo", &[form], "a=1").await;
    assert_eq!((answer.status, &*answer.fault().0), (415, "unsupported"));
    let answer = server.ask("POST /echo", &[form]).await;
    assert_eq!((answer.status, &*answer.body), (201, ""));
}

#[tokio::test]
async fn a_body_of_exactly_the_cap_fits_and_one_byte_more_is_413() {
    let server = start();
    let mut client = server.connect().await;
    let fitting = " ".repeat(BODY_CAP_BYTES);
    assert_eq!(client.ask("POST /echo", &[JSON], &fitting).await.status, 201);
    let answer = client.ask("POST /echo", &[JSON], &format!("{fitting} ")).await;
    assert_eq!((answer.status, &*answer.fault().0), (413, "tooLarge"));
    assert!(answer.body.contains(r#""details":{"limit":"64"}"#), "{}", answer.body);
    assert_eq!(answer.header("connection"), Some("close"), "what is left of it is not read");
    assert_eq!(client.until_closed().await, "");
}

#[tokio::test]
async fn a_chunked_body_has_the_same_cap() {
    let server = start();
    let mut client = server.connect().await;
    let head = "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(&format!("{head}4\r\n[1, \r\n3\r\n 2]\r\n0\r\n\r\n")).await;
    assert_eq!(client.answer(false).await.body, "[1,  2]");
    let chunk = format!("20\r\n{}\r\n", " ".repeat(0x20));
    client.send(&format!("{head}{}", chunk.repeat(9))).await;
    let answer = client.answer(false).await;
    assert_eq!((answer.status, &*answer.fault().0), (413, "tooLarge"));
}

#[tokio::test]
async fn who_announces_too_much_is_refused_before_it_comes() {
    let server = start();
    for asking_leave in ["", "Expect: 100-continue\r\n"] {
        let mut client = server.connect().await;
        let head = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 65\r\n";
        client.send(&format!("{head}{asking_leave}\r\n")).await;
        assert_eq!(client.answer(false).await.status, 413);
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408() {
    let server = start_with(limits(), Duration::from_millis(20), &["*"]);
    let mut client = server.connect().await;
    client.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n{").await;
    let answer = client.answer(false).await;
    assert_eq!((answer.status, &*answer.fault().0), (408, "unavailable"));
}

/// The client should stop sending the body: it would be cut off while it writes.
#[tokio::test]
async fn who_is_refused_while_the_body_is_coming_is_told_that_the_connection_ends() {
    let server = start();
    for (request_line, status) in [("POST /told", 401), ("POST /nowhere", 404), ("DELETE /hello", 405)] {
        let mut client = server.connect().await;
        client.send(&format!("{request_line} HTTP/1.1\r\nHost: test\r\nContent-Length: 64\r\n\r\n{{")).await;
        let answer = client.answer(false).await;
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{request_line}");
        assert_eq!(client.until_closed().await, "");
        // Without a body the connection stays open.
        let mut client = server.connect().await;
        let answer = client.ask(request_line, &[], "").await;
        assert_eq!((answer.status, answer.header("connection")), (status, None), "{request_line}");
        assert_eq!(client.ask("GET /hello", &[], "").await.status, 200);
    }
}
