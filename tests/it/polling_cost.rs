//! What a browser pays, in bytes of its connection, for a rate table that it polls.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::{Daemon, sample};

/// What the sample catalogue has for a loan of a whole person.
const TABLE_BYTES: usize = 45_000;
/// The most that a change of it may cost, head and all.
const CHANGE_BYTES_MAX: usize = 5 * 1024;
/// The most that it may cost to hear that nothing has changed.
const UNCHANGED_BYTES_MAX: usize = 512;

/// An answer as it came over a connection of its own.
struct Polled {
    status: u16,
    etag: String,
    /// The body, decompressed.
    body: Vec<u8>,
    /// All that came.
    bytes: usize,
}

/// Polls as a browser does from a page of another origin, and waits for a change.
async fn poll(daemon: &Daemon, table: &str, etag: &str) -> Polled {
    let address = daemon.api.strip_prefix("http://").unwrap();
    let request = format!(
        "GET /originator/rateTables/{table} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Authorization: Bearer {}\r\nOrigin: https://shop.example\r\nAccept: application/json\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\nPrefer: wait=30\r\nIf-None-Match: {etag}\r\n\r\n",
        daemon.publishable
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    let end = received.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(received[..end].to_vec()).unwrap().to_lowercase();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    let mut body = Vec::new();
    match header("content-encoding") {
        Some("br") => brotli::BrotliDecompress(&mut &received[end..], &mut body).unwrap(),
        Some("gzip") => drop(GzDecoder::new(&received[end..]).read_to_end(&mut body).unwrap()),
        _ => body.extend_from_slice(&received[end..]),
    }
    let status = head["http/1.1 ".len()..][..3].parse().unwrap();
    Polled { status, etag: header("etag").expect("a tag").to_owned(), body, bytes: received.len() }
}

#[tokio::test]
async fn a_table_of_45_kilobytes_costs_at_most_5_a_change() {
    let daemon = Daemon::with_sample_partners().start().await;
    let submitted = daemon.submit(sample("personal_loan")).await;
    let mut etag = submitted.header("etag").unwrap().to_owned();
    let mut table = submitted.json();
    let uuid = table["uuid"].as_str().unwrap().to_owned();
    let mut longest = 0;
    while table["pendingResponses"].as_array().is_some_and(|pending| !pending.is_empty()) {
        let changed = poll(&daemon, &uuid, &etag).await;
        assert_eq!(changed.status, 200);
        println!("a change of {} bytes costs {}", changed.body.len(), changed.bytes);
        longest = longest.max(changed.body.len());
        assert!(changed.bytes <= CHANGE_BYTES_MAX, "{} bytes for a change", changed.bytes);
        table = serde_json::from_slice::<Value>(&changed.body).unwrap();
        etag = changed.etag;
    }
    assert!(longest >= TABLE_BYTES, "{longest} bytes are no long table");
    let unchanged = poll(&daemon, &uuid, &etag).await;
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    assert!(unchanged.bytes <= UNCHANGED_BYTES_MAX, "{} bytes for nothing new", unchanged.bytes);
}
