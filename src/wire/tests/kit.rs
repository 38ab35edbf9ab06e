//! Small servers, and endpoints that reach them.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::{Call, CallError, CallReply, Endpoint, EndpointRules, GroupRules, Pool, PoolRules, Wire};

pub(super) struct Server {
    pub(super) port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Runs `script` on each connection, with its number.
    pub(super) async fn run<F, Fut>(script: F) -> Self
    where
        F: Fn(TcpStream, usize) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(script(stream, counted.fetch_add(1, Ordering::SeqCst)));
            }
        });
        Self { port, connections }
    }

    /// Answers every request of every connection with the same bytes.
    pub(super) async fn always(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        Self::run(move |mut stream, _| {
            let answer = Arc::clone(&answer);
            async move {
                while request(&mut stream).await.is_some() && stream.write_all(&answer).await.is_ok() {}
            }
        })
        .await
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A URL with a literal address.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/offers?ssn=123456789", self.port)
    }
}

/// A port without a listener.
pub(super) async fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

/// Reads one request, head and body; `None` at the end of the connection.
pub(super) async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(read[..end].to_vec()).unwrap().to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if read.len() >= end + 4 + length {
                return Some(String::from_utf8(read).unwrap());
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

pub(super) fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Rules that allow this machine.
pub(super) fn near() -> PoolRules {
    PoolRules {
        allow_addresses: vec!["127.0.0.1".to_owned(), "localhost".to_owned()],
        ..PoolRules::default()
    }
}

pub(super) fn wire(max_open_percent: u8, breakers_only_log: bool) -> Wire {
    Wire::new(GroupRules {
        max_open_percent,
        breakers_only_log,
        open_ceiling: Duration::from_secs(300),
        answer_bytes: usize::MAX,
    })
}

pub(super) fn once() -> EndpointRules {
    let mut rules = EndpointRules::default();
    rules.retry.attempts = 1;
    rules
}

pub(super) fn pool(rules: PoolRules) -> Pool {
    wire(50, false).pool("lender", rules).unwrap()
}

pub(super) fn endpoint(rules: PoolRules) -> Endpoint {
    pool(rules).endpoint("loan", once())
}

pub(super) fn post(url: impl Into<String>) -> Call {
    Call {
        method: Method::POST,
        url: url.into(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{\"amount\":5000}"),
        idempotent: false,
    }
}

/// A deadline that is never reached, unless the test advances the clock.
pub(super) fn far() -> Instant {
    Instant::now() + Duration::from_secs(3_600)
}

/// Sends a call that should be answered in time.
pub(super) async fn send(endpoint: &Endpoint, url: impl Into<String>) -> Result<CallReply, CallError> {
    endpoint.call(post(url), far()).await
}
