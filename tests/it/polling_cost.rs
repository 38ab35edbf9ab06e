//! The bytes that polling a rate table costs a browser.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::partners::partner;
use crate::kit::{Daemon, sample};

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// An offer each, which makes a long table.
const LENDERS: usize = 42;
const TABLE_BYTES: usize = 45_000;
/// Leads that are tried until each partner of the sample catalog is in time, which a busy machine may prevent.
const LEADS: usize = 4;
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

/// What browsers take where nobody but the two reads along, and what they do elsewhere.
const OVER_TLS: &str = "gzip, deflate, br, zstd";
const IN_THE_CLEAR: &str = "gzip, deflate";

/// Polls as a browser does from a page of another origin, and waits for a change.
async fn poll(daemon: &Daemon, table: &str, codings: &str, etag: &str) -> Polled {
    let address = daemon.api.strip_prefix("http://").unwrap();
    let request = format!(
        "GET /originator/rateTables/{table} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Authorization: Bearer {}\r\nOrigin: https://shop.example\r\nAccept: application/json\r\n\
         Accept-Encoding: {codings}\r\nPrefer: wait=30\r\nIf-None-Match: {etag}\r\n\r\n",
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

/// Follows the table of a lead to its end, and looks at what each change costs. Gives the bytes of each, decompressed.
async fn follow(daemon: &Daemon, lead: &str, codings: &str) -> Vec<usize> {
    let submitted = daemon.submit(lead).await;
    let mut etag = submitted.header("etag").unwrap().to_owned();
    let mut table = submitted.json();
    let uuid = table["uuid"].as_str().unwrap().to_owned();
    let mut lengths = Vec::new();
    while table["pendingResponses"].as_array().is_some_and(|pending| !pending.is_empty()) {
        let changed = poll(daemon, &uuid, codings, &etag).await;
        assert_eq!(changed.status, 200);
        println!("a change of {} bytes costs {}", changed.body.len(), changed.bytes);
        assert!(changed.bytes <= CHANGE_BYTES_MAX, "{} bytes for a change", changed.bytes);
        lengths.push(changed.body.len());
        table = serde_json::from_slice::<Value>(&changed.body).unwrap();
        etag = changed.etag;
    }
    let unchanged = poll(daemon, &uuid, codings, &etag).await;
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    assert!(unchanged.bytes <= UNCHANGED_BYTES_MAX, "{} bytes for nothing new", unchanged.bytes);
    lengths
}

#[tokio::test]
async fn a_table_of_45_kilobytes_costs_at_most_5_a_change() {
    let slow = |nth: usize| {
        partner(&format!("slow_{nth}")).loan(&format!(r#"simulate = {{ delay = "{nth}00ms" }}"#))
    };
    let mut lenders: Vec<_> = (3..LENDERS).map(|nth| partner(&format!("prompt_{nth}")).loan("")).collect();
    lenders.extend([slow(3), slow(6), slow(9)]);
    let daemon = Daemon::with_partners(lenders).start().await;
    let lengths = follow(&daemon, LOAN, IN_THE_CLEAR).await;
    assert!(lengths.iter().all(|length| *length >= TABLE_BYTES), "{lengths:?} bytes are no long tables");
}

#[tokio::test]
async fn so_do_the_loans_of_the_sample_catalogue_over_tls() {
    let daemon = Daemon::with_sample_partners().start().await;
    let mut lengths = Vec::new();
    for _ in 0..LEADS {
        lengths.extend(follow(&daemon, &sample("personal_loan"), OVER_TLS).await);
        if lengths.iter().any(|length| *length >= TABLE_BYTES) {
            return;
        }
    }
    panic!("{lengths:?} bytes are no long tables");
}
