//! The load generator: one request, sent repeatedly over kept-alive connections, one per thread.
//!
//! Requests are prepared bytes, and of an answer only status and length are parsed, so that the generator
//! takes as little as possible of the CPU that it shares with the servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// The placeholder in a body for eight digits that differ in each request.
pub const MARK: &str = "00000000";

/// The longest latency in the histogram, in microseconds.
const LONGEST_US: u64 = 60_000_000;

/// A request, with its expected status.
#[derive(Debug, Clone)]
pub struct Call {
    server: SocketAddr,
    request: Vec<u8>,
    mark: Option<usize>,
    status: u16,
}

impl Call {
    /// A request to `url`.
    pub fn new(
        method: &str,
        url: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &str,
        status: u16,
    ) -> Self {
        let (host, path) = url.trim_start_matches("http://").split_once('/').expect("a URL has a path");
        let server = host.parse().expect("servers are named by address");
        let mut request =
            format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request
                .push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mark = body.find(MARK).map(|at| request.len() + at);
        request.push_str(body);
        Self { server, request: request.into_bytes(), mark, status }
    }

    /// The same request to another server.
    pub fn to(&self, server: SocketAddr) -> Self {
        Self { server, ..self.clone() }
    }
}

/// A connection that makes the call, one at a time.
pub(super) struct Connection {
    stream: TcpStream,
    call: Call,
    received: Box<[u8]>,
}

impl Connection {
    pub(super) fn open(call: &Call) -> Self {
        let stream = TcpStream::connect(call.server).expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        Self { stream, call: call.clone(), received: vec![0; 64 * 1024].into() }
    }

    pub(super) fn exchange(&mut self) {
        if let Some(mark) = self.call.mark {
            static COUNT: AtomicU64 = AtomicU64::new(1);
            let digits = format!("{:08}", COUNT.fetch_add(1, Ordering::Relaxed) % 100_000_000);
            self.call.request[mark..mark + MARK.len()].copy_from_slice(digits.as_bytes());
        }
        self.stream.write_all(&self.call.request).expect("the server reads");
        let mut length = 0;
        let head = loop {
            length += self.read(length);
            if let Some(end) = self.received[..length].windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&self.received[..head]).expect("a head is ASCII");
        assert!(text[9..].starts_with(&self.call.status.to_string()), "{text}");
        let mut missing = (head + content_length(text)).saturating_sub(length);
        while missing > 0 {
            missing -= self.read(0);
        }
    }

    fn read(&mut self, from: usize) -> usize {
        let read = self.stream.read(&mut self.received[from..]).expect("the server answers");
        assert!(read > 0, "the server has hung up");
        read
    }
}

fn content_length(head: &str) -> usize {
    let value = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    value.map_or(0, |value| value.parse().expect("a length is a number"))
}

/// The end of a closed loop.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    Elapsed(Duration),
    Done(u64),
}

/// Runs a closed loop on each connection; returns the latencies in microseconds, and the time of the loop.
pub fn closed_loop(call: &Call, connections: usize, until: Until) -> (Histogram<u64>, Duration) {
    let mut open: Vec<Connection> = (0..connections).map(|_| Connection::open(call)).collect();
    let start = Start::of(connections);
    let taken = AtomicU64::new(0);
    let goes_on = |begun: Instant| match until {
        Until::Elapsed(longest) => begun.elapsed() < longest,
        Until::Done(most) => taken.load(Ordering::Relaxed) < most,
    };
    let latencies = std::thread::scope(|scope| {
        let threads = open.iter_mut().map(|connection| {
            scope.spawn(|| {
                let (mut latencies, begun) = (histogram(), start.wait());
                while goes_on(begun) {
                    taken.fetch_add(1, Ordering::Relaxed);
                    let sent = Instant::now();
                    connection.exchange();
                    latencies.saturating_record(micros(sent.elapsed()));
                }
                latencies
            })
        });
        joined(threads.collect())
    });
    (latencies, start.begun().elapsed())
}

/// The latencies of all threads of a loop.
pub(super) fn joined(threads: Vec<ScopedJoinHandle<'_, Histogram<u64>>>) -> Histogram<u64> {
    let parts = threads.into_iter().map(|thread| thread.join().expect("every answer is good"));
    parts.fold(histogram(), |sum, part| sum + part)
}

pub(super) fn micros(latency: Duration) -> u64 {
    u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US)
}

/// The common start of a loop's threads, once all are running. The kernel may take a millisecond to create
/// each stack, which must not count against the server.
pub(super) struct Start {
    all: Barrier,
    at: OnceLock<Instant>,
}

impl Start {
    pub(super) fn of(threads: usize) -> Self {
        Self { all: Barrier::new(threads), at: OnceLock::new() }
    }

    /// Waits for all threads; returns the start time.
    pub(super) fn wait(&self) -> Instant {
        self.all.wait();
        self.begun()
    }

    fn begun(&self) -> Instant {
        *self.at.get_or_init(Instant::now)
    }
}

pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_US, 3).expect("the bounds of the histogram are fixed")
}
