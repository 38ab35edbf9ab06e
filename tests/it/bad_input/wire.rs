//! Bytes that no polite client sends: framing that is broken, cut, or contradicts itself.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{BODY_MAX, assert_unharmed, daemon};
use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::Daemon;
use crate::kit::partners::{partner, prompt_partners};

/// Longest wait for the end of a connection; only a hanging daemon reaches it.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What came back over a connection until it was closed.
pub(super) struct Received(pub(super) String);

impl Received {
    /// The status of the first answer; none when the connection was closed without.
    pub(super) fn status(&self) -> Option<u16> {
        let rest = self.0.strip_prefix("HTTP/1.1 ")?;
        rest.split(' ').next()?.parse().ok()
    }

    /// The body of the only answer.
    pub(super) fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default()
    }

    /// How many answers there are.
    pub(super) fn answers(&self) -> usize {
        self.0.matches("HTTP/1.1 ").count()
    }
}

/// Sends bytes, and reads until the daemon closes.
async fn exchange(daemon: &Daemon, bytes: impl AsRef<[u8]>) -> Received {
    talk(daemon, bytes, false).await
}

/// Sends bytes, says that there are no more, and reads until the daemon closes.
async fn exchange_cut(daemon: &Daemon, bytes: impl AsRef<[u8]>) -> Received {
    talk(daemon, bytes, true).await
}

async fn talk(daemon: &Daemon, bytes: impl AsRef<[u8]>, cut: bool) -> Received {
    let talking = async {
        let mut stream = TcpStream::connect(daemon.api.strip_prefix("http://").unwrap()).await.unwrap();
        // A daemon that refuses early may close while we still write.
        let _ = stream.write_all(bytes.as_ref()).await;
        if cut {
            let _ = stream.shutdown().await;
        }
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await;
        Received(String::from_utf8_lossy(&received).into_owned())
    };
    tokio::time::timeout(PATIENCE, talking).await.expect("the daemon answers or closes")
}

/// A submit with these lines at the end of its head, and what follows it.
fn submit(daemon: &Daemon, lines: &str, rest: &str) -> String {
    format!(
        "POST /leads/rateTables HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\n{lines}\r\n{rest}",
        daemon.publishable
    )
}

/// A body in chunks of so many bytes.
fn chunked(body: &str, size: usize) -> String {
    let chunks = body
        .as_bytes()
        .chunks(size)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()));
    chunks.collect::<String>() + "0\r\n\r\n"
}

#[tokio::test]
async fn a_body_in_chunks_is_a_body() {
    let daemon = daemon().await;
    let lead = r#"{"productTypes":["savings"],"personalInformation":{"city":"Boise"}}"#;
    for size in [1, 2, 7, 1_000] {
        let answer =
            exchange(&daemon, submit(&daemon, "Transfer-Encoding: chunked\r\n", &chunked(lead, size))).await;
        assert_eq!(answer.status(), Some(200), "{size}: {}", answer.0);
    }
    let long = format!(r#"{{"deviceId":"{}"}}"#, "x".repeat(BODY_MAX));
    let answer =
        exchange(&daemon, submit(&daemon, "Transfer-Encoding: chunked\r\n", &chunked(&long, 8_192))).await;
    assert_eq!(answer.status(), Some(413));
    assert_conforms(Edition::Current, "ApiErrors", &serde_json::from_str(answer.body()).unwrap());
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn broken_chunks_are_a_bad_request() {
    let daemon = daemon().await;
    for chunks in [
        "zz\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}x\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n",
        "2\n{}\n0\n\n",
        "3\r\n{}",
        "2\r\n{}\r\n",
        "",
    ] {
        let answer = exchange_cut(&daemon, submit(&daemon, "Transfer-Encoding: chunked\r\n", chunks)).await;
        assert!(matches!(answer.status(), None | Some(400)), "{chunks:?}: {}", answer.0);
        assert_body_of_ours(&answer);
    }
    assert_unharmed(&daemon).await;
}

/// Hyper's own refusals have no body; ours are arrays of errors.
#[track_caller]
fn assert_body_of_ours(answer: &Received) {
    if !answer.body().is_empty() {
        assert_conforms(Edition::Current, "ApiErrors", &serde_json::from_str(answer.body()).unwrap());
    }
}

#[tokio::test]
async fn a_body_shorter_than_announced_is_never_a_lead() {
    let daemon = daemon().await;
    for (length, body) in [(100, "{}"), (3, "{}"), (1, ""), (BODY_MAX, "{"), (4_000_000_000, "{}")] {
        let answer =
            exchange_cut(&daemon, submit(&daemon, &format!("Content-Length: {length}\r\n"), body)).await;
        assert!(matches!(answer.status(), None | Some(400 | 413)), "{length}: {}", answer.0);
        assert_body_of_ours(&answer);
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_timeout() {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("api.request_timeout", "200ms");
    let daemon = plan.start().await;
    for (lines, body) in [("Content-Length: 10\r\n", "{"), ("Transfer-Encoding: chunked\r\n", "1\r\n{\r\n")] {
        let answer = exchange(&daemon, submit(&daemon, lines, body)).await;
        assert_eq!(answer.status(), Some(408), "{lines}: {}", answer.0);
        assert_body_of_ours(&answer);
    }
    assert_unharmed(&daemon).await;
}

/// Hyper takes it for a client that went away.
#[tokio::test]
async fn a_client_that_ends_its_side_is_not_answered() {
    let slow = partner("slow").savings("simulate = { delay = \"9s\" }");
    let daemon = Daemon::with_partners(vec![slow]).setting("matching.submit_wait", "1ms").start().await;
    let table = daemon.submit("{}").await;
    let (tag, table) = (table.header("etag").unwrap().to_owned(), table.json());
    let waiting = format!(
        "GET /originator/rateTables/{} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIf-None-Match: {tag}\r\n\
         Prefer: wait=20\r\nConnection: close\r\n\r\n",
        table["uuid"].as_str().unwrap(),
        daemon.publishable
    );
    let answer = exchange_cut(&daemon, waiting).await;
    assert_eq!(answer.0, "");
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn lengths_that_contradict_themselves_are_refused_and_smuggle_nothing() {
    let daemon = daemon().await;
    let hidden = "GET /leads/universities?limit=1 HTTP/1.1\r\nHost: x\r\n\r\n";
    for lines in [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2, 3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: 0x2\r\n",
        "Content-Length: two\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 999999999999999999999\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
    ] {
        let answer = exchange(&daemon, submit(&daemon, lines, &format!("{{}}{hidden}"))).await;
        assert!(matches!(answer.status(), Some(400 | 431)), "{lines:?}: {}", answer.0);
        assert_conforms(Edition::Current, "ApiErrors", &serde_json::from_str(answer.body()).unwrap());
        assert!(answer.answers() <= 1, "{lines:?}: {}", answer.0);
    }
    // Where both are given the chunks count, and the connection ends with the answer.
    let both = "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n";
    let answer = exchange(&daemon, submit(&daemon, both, &format!("2\r\n{{}}\r\n0\r\n\r\n{hidden}"))).await;
    assert!(matches!(answer.status(), Some(200 | 400)), "{}", answer.0);
    assert_eq!(answer.answers(), 1, "{}", answer.0);
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn what_is_no_http_is_closed() {
    let daemon = daemon().await;
    let long_header = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(1_000_000));
    let many_headers = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-A: b\r\n".repeat(10_000));
    let long_path = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(1_000_000));
    for bytes in [
        b"\0\0\0\0".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"{\"productTypes\":[]}".to_vec(),
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: \0\r\n\r\n".to_vec(),
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"GET / x HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        long_header.into_bytes(),
        many_headers.into_bytes(),
        long_path.into_bytes(),
    ] {
        let answer = exchange_cut(&daemon, &bytes).await;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        assert!(matches!(answer.status(), None | Some(400 | 404 | 414 | 431)), "{shown}: {}", answer.0);
        assert_body_of_ours(&answer);
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn a_request_that_names_a_server_or_none_is_answered_by_its_path() {
    let daemon = daemon().await;
    for (line, status) in [
        ("GET http://elsewhere.example/leads/universities?limit=1 HTTP/1.1\r\nHost: x", 401),
        ("GET /leads/universities HTTP/1.0", 401),
        ("OPTIONS * HTTP/1.1\r\nHost: x", 404),
        ("GET /nowhere#fragment HTTP/1.1\r\nHost: x", 404),
    ] {
        let answer = exchange(&daemon, format!("{line}\r\nConnection: close\r\n\r\n")).await;
        let found = answer.0.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).map(str::to_owned);
        assert_eq!(found, Some(status.to_string()), "{line}: {}", answer.0);
        assert_body_of_ours(&answer);
    }
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn headers_of_any_kind_do_no_harm() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    let long = "x".repeat(8_000);
    let values: [&[u8]; 10] = [
        b"",
        b"*",
        b"\xff\xfe",
        b", , ,",
        b"\"",
        b"W/\"1-00000000\", \"",
        b"wait=99999999999999999999",
        b"application/vnd.offerd.v1+json;q=\"",
        b"bytes=0-",
        long.as_bytes(),
    ];
    for name in [
        "Accept",
        "Accept-Encoding",
        "Accept-Language",
        "Access-Control-Request-Headers",
        "Cookie",
        "Forwarded",
        "Idempotency-Key",
        "If-Match",
        "If-Modified-Since",
        "If-None-Match",
        "Last-Event-ID",
        "Origin",
        "Prefer",
        "Range",
        "Referer",
        "TE",
        "User-Agent",
        "X-Forwarded-For",
        "X-HTTP-Method-Override",
    ] {
        for value in values {
            let head = format!(
                "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{name}: ",
                daemon.publishable
            );
            let answer = exchange(&daemon, [head.as_bytes(), value, b"\r\n\r\n"].concat()).await;
            let status = answer.status().unwrap_or_else(|| panic!("{name}: closed without an answer"));
            assert!([200, 304].contains(&status), "{name}: {value:?}: {}", answer.0);
        }
    }
    for name in ["Authorization", "Content-Type", "Expect", "Upgrade", "Content-Encoding"] {
        for value in values {
            let head = format!("POST /leads/rateTables HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{name}: ");
            let answer =
                exchange(&daemon, [head.as_bytes(), value, b"\r\nContent-Length: 2\r\n\r\n{}"].concat())
                    .await;
            assert!(matches!(answer.status(), Some(400..=499)), "{name}: {value:?}: {}", answer.0);
            assert_body_of_ours(&answer);
        }
    }
    assert_unharmed(&daemon).await;
}

/// Of two hosts a proxy may believe another than we do, and HTTP/1.1 wants one (RFC 9112).
#[tokio::test]
async fn a_request_names_one_host() {
    let daemon = daemon().await;
    let ask = async |version: &str, hosts: &str| {
        let request = format!("GET /openapi.json {version}\r\n{hosts}Connection: close\r\n\r\n");
        exchange(&daemon, request).await
    };
    for (hosts, wrong) in [
        ("", "is missing"),
        ("Host: x\r\nHost: x\r\n", "must come once"),
        ("Host: x\r\nX-Y: z\r\nhOST: y\r\n", "must come once"),
        ("Host: user@x\r\n", "host name or address"),
        ("Host: x/y\r\n", "host name or address"),
        ("Host: x:port\r\n", "host name or address"),
        ("Host: x, y\r\n", "host name or address"),
        ("Host: \u{e9}\r\n", "host name or address"),
    ] {
        let answer = ask("HTTP/1.1", hosts).await;
        assert_eq!(answer.status(), Some(400), "{hosts:?}: {}", answer.0);
        assert_conforms(Edition::Current, "ApiErrors", &serde_json::from_str(answer.body()).unwrap());
        assert!(
            answer.body().contains(wrong) && answer.0.contains("request-id: "),
            "{hosts:?}: {}",
            answer.0
        );
    }
    for (version, hosts) in [
        ("HTTP/1.1", "Host: x:80\r\n"),
        ("HTTP/1.1", "Host: [::1]:80\r\n"),
        ("HTTP/1.1", "Host:\r\n"),
        ("HTTP/1.0", ""),
    ] {
        assert!(ask(version, hosts).await.0.contains(" 200 OK"), "{version} {hosts:?}");
    }
    assert_eq!(ask("HTTP/1.0", "Host: x\r\nHost: y\r\n").await.0.split(' ').nth(1), Some("400"));
    assert_unharmed(&daemon).await;
}
