//! A partner's own system: a small HTTP server that answers, or misbehaves, as it is told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// Request line and headers, in lower case but for the first line's target.
    pub head: String,
    pub body: String,
}

impl Received {
    /// The value of a header.
    pub fn header(&self, name: &str) -> String {
        let line = self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        line.unwrap_or_else(|| panic!("{name} is missing: {}", self.head))
    }

    /// Checks that it is signed with a secret as Standard Webhooks says, by other code than ours.
    pub fn assert_signed(&self, secret: &str) {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        let (id, timestamp) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        mac.update(format!("{id}.{timestamp}.{}", self.body).as_bytes());
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        assert_eq!(self.header("webhook-signature"), signature);
    }
}

/// What the far side does with a request.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Answers with JSON.
    Json(u16, String),
    /// Answers so twice.
    Twice(u16, String),
    /// Answers with JSON once it is told to.
    JsonWhenTold(Arc<Notify>, String),
    /// Answers with these bytes, head and all.
    Bytes(Vec<u8>),
    /// Answers with something that is no HTTP.
    Garbage,
    /// Begins an answer and never ends it.
    Drip,
    /// Hangs up.
    Reset,
    /// Never answers, until the other side hangs up.
    Silence,
}

/// A running far side.
pub struct FarSide {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl FarSide {
    /// A far side that decides by the request.
    pub async fn start(decide: impl Fn(&Received) -> Deed + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let (decide, log) = (Arc::new(decide), Arc::clone(&received));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (decide, log) = (Arc::clone(&decide), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, &*decide, &log).await });
            }
        });
        Self { address, received }
    }

    /// Where it is reached.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Forgets what it has received.
    pub fn forget(&self) {
        self.received.lock().expect("nobody panics while holding it").clear();
    }

    /// Waits until what it has received is as wanted.
    pub async fn until(&self, wanted: impl Fn(&[Received]) -> bool) {
        let waiting = async {
            while !wanted(&self.received()) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(super::PATIENCE, waiting).await.expect("it is asked");
    }

    /// What it has received so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("nobody panics while holding it").clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    decide: &(dyn Fn(&Received) -> Deed + Sync),
    log: &Mutex<Vec<Received>>,
) {
    while let Some(request) = read(&mut stream).await {
        let deed = decide(&request);
        log.lock().expect("nobody panics while holding it").push(request);
        let sent = match deed {
            Deed::Json(status, body) => stream.write_all(json(status, &body).as_bytes()).await,
            Deed::Twice(status, body) => stream.write_all(json(status, &body).repeat(2).as_bytes()).await,
            Deed::JsonWhenTold(told, body) => {
                told.notified().await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                let length = format!("content-length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{length}{body}").as_bytes()).await
            }
            Deed::Bytes(bytes) => stream.write_all(&bytes).await,
            Deed::Garbage => stream.write_all(b"\x00\x01 this is no HTTP\r\n\r\n").await,
            Deed::Drip => {
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
                let _ = stream.write_all(head.as_bytes()).await;
                loop {
                    if stream.write_all(b" ").await.is_err() {
                        return;
                    }
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
            Deed::Reset => return,
            Deed::Silence => {
                while fill(&mut stream, &mut Vec::new()).await.is_some() {}
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// An answer with JSON.
fn json(status: u16, body: &str) -> String {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    format!("{head}{body}")
}

/// Reads one request; `None` when the other side has hung up.
async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().expect("a number"));
            while bytes.len() < end + 4 + length {
                fill(stream, &mut bytes).await?;
            }
            let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
            return Some(Received { head, body });
        }
        fill(stream, &mut bytes).await?;
    }
}

async fn fill(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 4096];
    let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
    bytes.extend_from_slice(&chunk[..read]);
    Some(())
}
