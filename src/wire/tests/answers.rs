//! Replies, good and bad.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, StatusCode};
use tokio::io::AsyncWriteExt;

use super::kit::{Server, answer, closed_port, endpoint, far, near, once, post, request, send, wire};
use crate::{CallError, CallReply, GroupRules, LookupRules, Phases, PoolRules, decoded};

fn gzip(body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body.as_ref()).unwrap();
    encoder.finish().unwrap()
}

fn gzipped(body: &[u8], more_headers: &str) -> Vec<u8> {
    gzip_answer(&gzip(body), more_headers)
}

fn gzip_answer(body: &[u8], more_headers: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n{more_headers}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn a_reply_comes_whole_and_the_connection_is_used_again() {
    let server = Server::always(answer("201 Created", "{\"offers\":[]}")).await;
    let endpoint = endpoint(near());
    for _ in 0..3 {
        let reply = send(&endpoint, server.url()).await.unwrap();
        assert_eq!(
            (reply.status, &*reply.body, reply.sent),
            (StatusCode::CREATED, &b"{\"offers\":[]}"[..], 1)
        );
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn what_is_sent_is_framed_by_the_wire() {
    let server = Server::run(|mut stream, _| async move {
        let seen = request(&mut stream).await.unwrap();
        stream.write_all(answer("200 OK", &seen).as_bytes()).await.unwrap();
    })
    .await;
    let mut call = post(server.url());
    call.headers.insert(CONTENT_LENGTH, HeaderValue::from_static("3"));
    call.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    call.headers.insert("x-key", HeaderValue::from_static("7"));
    let reply = endpoint(near()).call(call, far()).await.unwrap();
    let seen = String::from_utf8(reply.body.to_vec()).unwrap().to_ascii_lowercase();
    assert!(seen.starts_with("post /offers?ssn=123456789 http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("host: 127.0.0.1:{}\r\n", server.port)), "{seen}");
    assert!(seen.contains("content-length: 15\r\n") && !seen.contains("transfer-encoding"), "{seen}");
    assert!(seen.contains(concat!("user-agent: offerd/", env!("CARGO_PKG_VERSION"), "\r\n")), "{seen}");
    assert!(seen.contains("x-key: 7\r\n") && !seen.contains("accept-encoding"), "{seen}");
    assert!(seen.ends_with("\r\n\r\n{\"amount\":5000}"), "{seen}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any_other() {
    let server = Server::always("HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n").await;
    let reply = send(&endpoint(near()), server.url()).await.unwrap();
    assert_eq!(reply.status, StatusCode::FOUND);
    assert_eq!(reply.headers["location"], "/other");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_answer_that_drips_is_read_to_its_end() {
    let server = Server::run(|mut stream, _| async move {
        request(&mut stream).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for byte in answer("200 OK", "slowly but surely").bytes() {
            stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(send(&endpoint(near()), server.url()).await.unwrap().body, "slowly but surely");
}

#[tokio::test]
async fn garbage_is_malformed() {
    let server = Server::always("SSH-2.0-OpenSSH_9.9\r\n\r\n").await;
    assert_eq!(send(&endpoint(near()), server.url()).await.unwrap_err(), CallError::Malformed);
}

#[tokio::test]
async fn an_answer_that_ends_early_is_broken() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"] {
        let server = Server::run(move |mut stream, _| async move {
            request(&mut stream).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        })
        .await;
        assert_eq!(send(&endpoint(near()), server.url()).await.unwrap_err(), CallError::Broken, "{answer:?}");
    }
}

#[tokio::test]
async fn a_reset_is_broken() {
    let server = Server::run(|mut stream, _| async move {
        request(&mut stream).await.unwrap();
        // Closing without lingering resets the connection.
        stream.set_zero_linger().unwrap();
    })
    .await;
    assert_eq!(send(&endpoint(near()), server.url()).await.unwrap_err(), CallError::Broken);
}

#[tokio::test]
async fn nobody_there_is_a_failed_connection() {
    let url = format!("http://127.0.0.1:{}/", closed_port().await);
    assert_eq!(send(&endpoint(near()), url).await.unwrap_err(), CallError::Refused);
}

#[tokio::test]
async fn a_body_beyond_the_cap_is_too_large_whether_announced_or_not() {
    let announced = answer("200 OK", &"x".repeat(101));
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n65\r\n{}\r\n0\r\n\r\n",
        "x".repeat(101)
    );
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100_000));
    for answer in [announced, chunked, endless] {
        let server = Server::always(answer).await;
        let endpoint = endpoint(PoolRules { max_response_bytes: 100, ..near() });
        assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::TooLarge { most: 100 });
    }
    let server = Server::always(answer("200 OK", &"x".repeat(100))).await;
    let endpoint = endpoint(PoolRules { max_response_bytes: 100, ..near() });
    assert_eq!(send(&endpoint, server.url()).await.unwrap().body.len(), 100);
}

/// An answer takes its room until it has been read.
#[tokio::test]
async fn answers_under_way_leave_no_room_for_more() {
    let server = Server::always(answer("200 OK", &"x".repeat(100))).await;
    let wire = wire(50, false);
    let open_ceiling = Duration::from_secs(300);
    let rules =
        GroupRules { max_open_percent: 50, breakers_only_log: false, open_ceiling, answer_bytes: 250 };
    wire.set_rules(rules);
    let endpoint = wire.pool("lender", near()).unwrap().endpoint("loan", once());
    let kept = send(&endpoint, server.url()).await.unwrap().body;
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::NoRoom);
    drop(kept);
    assert_eq!(send(&endpoint, server.url()).await.unwrap().body.len(), 100);
}

/// Heads that HTTP does not allow, each with its cause.
#[tokio::test]
async fn each_fault_of_a_head_has_its_own_cause() {
    let lines: String = (0..300).map(|nth| format!("x-{nth}: {nth}\r\n")).collect();
    for (fault, head) in [
        (CallError::HeadTooLarge, format!("HTTP/1.1 200 OK\r\n{lines}\r\n")),
        (CallError::BadStatusLine, "HTTP/1.1 OK\r\n\r\n".to_owned()),
        (CallError::BadStatusLine, "HTTP/1.1 099 Odd\r\n\r\n".to_owned()),
        (CallError::BadStatusLine, "HTTP/1.1  200 OK\r\n\r\n".to_owned()),
        (
            CallError::BadLength,
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}".to_owned(),
        ),
        (CallError::BadLength, "HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\n{}".to_owned()),
        (CallError::BadLength, "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}".to_owned()),
        (CallError::BadLength, "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned()),
        (CallError::TransferCoding, "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n".to_owned()),
        (
            CallError::TransferCoding,
            "HTTP/1.1 200 OK\r\ntransfer-encoding: GZIP, chunked\r\n\r\n0\r\n\r\n".to_owned(),
        ),
        (CallError::Malformed, "HTTP/2 200 OK\r\n\r\n".to_owned()),
        (CallError::Malformed, "ICY 200 OK\r\n\r\n".to_owned()),
        // Alerts of TLS: record overflow, unexpected message; and the beginning of a handshake.
        (CallError::SpeaksTls, "\x15\x03\x01\x00\x02\x02\x16".to_owned()),
        (CallError::SpeaksTls, "\x15\x03\x03\x00\x02\x02\x0a".to_owned()),
        (CallError::SpeaksTls, "\x16\x03\x03\x00\x02".to_owned()),
    ] {
        let server = Server::always(head.clone()).await;
        assert_eq!(send(&endpoint(near()), server.url()).await.unwrap_err(), fault, "{head:?}");
    }
}

/// Bodies that are not as long as they say, each with its cause.
#[tokio::test]
async fn each_fault_of_a_frame_has_its_own_cause() {
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (fault, body) in [
        (CallError::Broken, "2\r\n{}\r\n"),
        (CallError::Broken, "f\r\n{}\r\n"),
        (CallError::BadChunk, "{\"offers\":[]}"),
        (CallError::BadChunk, "1\r\n{}\r\n0\r\n\r\n"),
        (CallError::BadChunk, "two\r\n{}\r\n0\r\n\r\n"),
    ] {
        let server = Server::run(move |mut stream, _| async move {
            request(&mut stream).await.unwrap();
            stream.write_all([chunks, body].concat().as_bytes()).await.unwrap();
        })
        .await;
        assert_eq!(send(&endpoint(near()), server.url()).await.unwrap_err(), fault, "{body:?}");
    }
}

/// What gateways and proxies do to compressed bodies.
#[test]
fn each_compression_is_undone_whole_or_its_end_is_missed() {
    let json =
        format!("{{\"offers\":[{}]}}", (0..200).map(|nth| nth.to_string()).collect::<Vec<_>>().join(","));
    let by = |coding: &'static str, body: &[u8]| {
        let mut headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(coding))]);
        decoded(body.to_vec().into(), &mut headers, 1024)
    };
    let (head, tail) = json.split_at(300);
    let members = [gzip(head), gzip(tail)].concat();
    let mut brotli = Vec::new();
    brotli::BrotliCompress(&mut json.as_bytes(), &mut brotli, &Default::default()).unwrap();
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), Compression::best());
    raw.write_all(json.as_bytes()).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(json.as_bytes()).unwrap();
    for (coding, coded) in [
        ("gzip", gzip(&json)),
        ("gzip", members),
        ("br", brotli),
        ("deflate", raw.finish().unwrap()),
        ("deflate", zlib.finish().unwrap()),
    ] {
        assert_eq!(by(coding, &coded).unwrap(), json, "{coding}");
        for missing in [1, 5, coded.len() / 2, coded.len() - 4] {
            let cut = by(coding, &coded[..coded.len() - missing]);
            assert_eq!(cut, Err(CallError::CutOff), "{coding} without its last {missing} bytes");
        }
        assert_eq!(by(coding, json.as_bytes()), Err(CallError::BrokenCoding), "{coding}");
    }
}

#[tokio::test]
async fn a_head_without_end_is_too_large() {
    let endless = format!("HTTP/1.1 200 OK\r\nx-filler: {}\r\n\r\n", "x".repeat(200_000));
    let server = Server::always(endless).await;
    assert_eq!(send(&endpoint(near()), server.url()).await.unwrap_err(), CallError::HeadTooLarge);
}

#[tokio::test]
async fn gzip_is_asked_for_and_undone() {
    let server = Server::run(|mut stream, _| async move {
        let seen = request(&mut stream).await.unwrap();
        assert!(seen.contains("accept-encoding: gzip\r\n"));
        stream.write_all(&gzipped(b"{\"offers\":[]}", "")).await.unwrap();
    })
    .await;
    let reply = send(&endpoint(PoolRules { gzip: true, ..near() }), server.url()).await.unwrap();
    assert_eq!(reply.body, "{\"offers\":[]}");
    assert!(!reply.headers.contains_key(CONTENT_ENCODING) && !reply.headers.contains_key(CONTENT_LENGTH));
}

#[tokio::test]
async fn a_gzip_bomb_is_too_large() {
    let bomb = gzipped(&vec![0; 64 * 1024 * 1024], "");
    assert!(bomb.len() < 128 * 1024, "{}", bomb.len());
    let server = Server::always(bomb).await;
    let endpoint = endpoint(PoolRules { gzip: true, max_response_bytes: 128 * 1024, ..near() });
    assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::TooLarge { most: 128 * 1024 });
}

/// A server may choose any coding if the request names none (RFC 9110, 12.5.3).
#[tokio::test]
async fn a_coding_that_was_not_asked_for_is_undone_and_one_that_is_not_known_is_named() {
    let endpoint = endpoint(near());
    let server = Server::always(gzipped(b"{}", "")).await;
    assert_eq!(send(&endpoint, server.url()).await.unwrap().body, "{}");
    let coded = |coding: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: 2\r\n\r\n{{}}")
    };
    let none = Server::always(coded("identity, ")).await;
    assert_eq!(send(&endpoint, none.url()).await.unwrap().body, "{}");
    for coding in ["zstd", "compress", "gzip, gzip, gzip", "gzip;q=1"] {
        let server = Server::always(coded(coding)).await;
        assert_eq!(send(&endpoint, server.url()).await.unwrap_err(), CallError::UnknownCoding, "{coding}");
    }
    let twice = Server::always(gzipped(b"{}", "content-encoding: gzip\r\n")).await;
    assert_eq!(send(&endpoint, twice.url()).await.unwrap_err(), CallError::BrokenCoding);
}

#[tokio::test]
async fn a_broken_coding_is_named_and_nothing_gzipped_is_nothing() {
    let endpoint = endpoint(PoolRules { gzip: true, ..near() });
    let garbage = Server::always(gzip_answer(b"no gzip at all, really", "")).await;
    assert_eq!(send(&endpoint, garbage.url()).await.unwrap_err(), CallError::BrokenCoding);
    let whole = gzipped(b"{\"offers\":[]}", "");
    let body = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let cut = Server::always(gzip_answer(&whole[body..whole.len() - 6], "")).await;
    assert_eq!(send(&endpoint, cut.url()).await.unwrap_err(), CallError::CutOff);
    let nothing = Server::always(gzip_answer(b"", "")).await;
    assert_eq!(send(&endpoint, nothing.url()).await.unwrap().body, "");
}

#[tokio::test]
async fn inward_addresses_are_refused_however_they_are_written() {
    let server = Server::always(answer("200 OK", "secret")).await;
    let endpoint = endpoint(PoolRules::default());
    for host in
        ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f.1", "[::1]", "0.0.0.0"]
    {
        let refused = send(&endpoint, format!("http://{host}:{}/", server.port)).await.unwrap_err();
        assert_eq!(refused, CallError::ForbiddenAddress, "{host}");
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(endpoint.state().calls, 0, "what we refuse does not speak against the remote system");
}

#[tokio::test]
async fn an_address_is_allowed_by_the_name_it_goes_by() {
    let server = Server::always(answer("200 OK", "sandbox")).await;
    let by_name =
        endpoint(PoolRules { allow_addresses: vec!["LocalHost".to_owned()], ..PoolRules::default() });
    assert_eq!(send(&by_name, format!("http://localhost:{}/", server.port)).await.unwrap().body, "sandbox");
    assert_eq!(send(&by_name, server.url()).await.unwrap_err(), CallError::ForbiddenAddress);
    let by_network =
        endpoint(PoolRules { allow_addresses: vec!["127.0.0.0/8".to_owned()], ..PoolRules::default() });
    assert_eq!(send(&by_network, server.url()).await.unwrap().body, "sandbox");
}

#[tokio::test]
async fn a_name_without_address_is_unresolved() {
    // Name resolution may take the system a while.
    let timeout = Duration::from_secs(3_600);
    let wire = wire(50, false);
    wire.set_lookup_rules(LookupRules { timeout, ..LookupRules::default() });
    let patient = wire.pool("lender", PoolRules { connect_timeout: timeout, ..near() }).unwrap();
    let patient = patient.endpoint("loan", once());
    let unresolved = send(&patient, "http://no-such-host.invalid/").await.unwrap_err();
    assert_eq!(unresolved, CallError::Unresolved);
}

#[tokio::test]
async fn a_url_must_be_absolute_http_without_a_user() {
    let endpoint = endpoint(near());
    for url in [
        "",
        "/offers",
        "lender.example",
        "ftp://lender.example/",
        "http://",
        "http://me:pass@127.0.0.1/",
        "a b",
    ] {
        let refused = send(&endpoint, url).await.unwrap_err();
        assert_eq!(refused, CallError::BadUrl, "{url}");
    }
}

#[test]
fn what_is_shown_of_replies_is_no_payload() {
    let (status, headers, body, took) =
        (StatusCode::OK, HeaderMap::new(), "123456789".into(), Phases::default());
    let reply = CallReply { status, headers, body, sent: 1, took };
    assert_eq!(format!("{reply:?}"), "Reply { status: 200, headers: 0, body: 9, sent: 1 }");
}
