//! The overhead of the blocking endpoint on its partners' own latency: `cargo bench --bench fanout`.
//!
//! Runs the real binary with ten HTTP partners, all served by this process, which answers each request after
//! a random latency and records it. Leads arrive open-loop at half of the peak that a short closed-loop ramp
//! finds. The overhead of a lead is its latency less that of its slowest partner. For comparison, a bare
//! hyper-util client makes the same ten calls at the same rate. Partners, load and daemon share the machine,
//! so the figures include their share. A lead waits for two disk syncs, on acceptance and when its table is
//! complete, so the cost of a sync is reported as well; `TMPDIR=/dev/shm` puts the store in memory, where a
//! sync is free.
//!
//! Then three more partners are dead, drip a byte a second and answer garbage: the time until the healthy
//! partners' offers can be polled is measured with and without the sick ones, alternating by lead. Breakers
//! are active as usual.
//!
//! Last, the cost of other kinds of partners. `cargo bench --bench fanout -- kinds` measures only that.

#[path = "../load/cpu.rs"]
mod cpu;
mod kinds;
#[path = "../../tests/it/kit/mod.rs"]
mod kit;

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kit::far_side::{Deed, FarSide};
use kit::partners::{PartnerFile, lender_asked};
use kit::{Daemon, sample};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const PARTNERS: usize = 10;
/// The partners that stay healthy when three are sick.
const HEALTHY: usize = 7;
/// A partner's latency in ms, uniformly distributed.
const LATENCY_MS: (f64, f64) = (20.0, 60.0);
/// Leads in flight on the ramp.
const RAMP: [usize; 6] = [4, 8, 16, 32, 64, 128];
const RAMP_STEP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(1);
/// Disk syncs that are measured.
const SYNCS: usize = 200;
/// Leads that come one at a time.
const LEADS_ALONE: usize = 100;
/// Leads with, and as many without, sick partners.
const LEADS_OF_SICK: usize = 200;
/// The bars: the median and the 99th percentile of the overhead, in ms.
const BARS_MS: (f64, f64) = (1.0, 5.0);

fn main() {
    let partners = Partners::serve();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let only_kinds = std::env::args().any(|argument| argument == "kinds");
    runtime.block_on(async {
        if !only_kinds {
            overhead(&partners).await;
            sick_ones(&partners).await;
        }
        kinds::costs(&partners).await;
    });
}

async fn overhead(partners: &Partners) {
    let syncs = syncs();
    println!(
        "A sync of the disk: p50 {:.2} ms, p99 {:.2} ms",
        percentile(&syncs, 0.5),
        percentile(&syncs, 0.99)
    );
    let files = (0..PARTNERS).map(|nth| lender(&format!("lender_{nth}"), partners.address)).collect();
    let daemon = Arc::new(Daemon::with_partners(files).start().await);
    let pid = daemon.pid();
    let blocking = {
        let (client, partners) = (Arc::new(bare_client()), partners.clone());
        move || blocking(Arc::clone(&daemon), Arc::clone(&client), partners.clone())
    };
    let peak = peak(&blocking).await;
    let rate = peak / 2.0;
    cpu::quiet(&[pid]).await;
    open_loop(rate, WARM_UP, &blocking).await;
    let ours = open_loop(rate, MEASURED, &blocking).await;
    cpu::quiet(&[pid]).await;
    let ours_alone = one_at_a_time(&blocking).await;

    cpu::quiet(&[pid]).await;
    let clients: Arc<Vec<Bare>> = Arc::new((0..PARTNERS).map(|_| bare_client()).collect());
    let bare = {
        let partners = partners.clone();
        move || bare(Arc::clone(&clients), partners.clone())
    };
    open_loop(rate, WARM_UP, &bare).await;
    let theirs = open_loop(rate, MEASURED, &bare).await;
    let theirs_alone = one_at_a_time(&bare).await;

    println!(
        "Overhead of a lead of {PARTNERS} partners over its slowest, at half of {peak:.0} leads a second"
    );
    compare(&format!("{rate:.0} leads a second"), &ours, &theirs);
    compare("one at a time", &ours_alone, &theirs_alone);
    println!("{:<34}{:>10.2}{:>10.2}", "bar", BARS_MS.0, BARS_MS.1);
}

/// The time to make 4 KiB durable in the directory of the store.
fn syncs() -> Vec<Duration> {
    let mut file = tempfile::tempfile().expect("a file");
    let mut sync = || {
        file.write_all(&[0; 4096]).expect("room for a page");
        let begun = Instant::now();
        file.sync_data().expect("a sync");
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..SYNCS).map(|_| sync()).collect();
    times.sort();
    times
}

fn compare(load: &str, ours: &[Duration], theirs: &[Duration]) {
    println!("{load:<34}{:>10}{:>10}{:>8}", "p50 ms", "p99 ms", "leads");
    for (name, times) in [("blocking endpoint", ours), ("bare hyper-util", theirs)] {
        let (p50, p99) = (percentile(times, 0.5), percentile(times, 0.99));
        println!("  {name:<32}{p50:>10.2}{p99:>10.2}{:>8}", times.len());
    }
    let ratio = |share| percentile(ours, share) / percentile(theirs, share);
    println!("  {:<32}{:>10.2}{:>10.2}", "ratio", ratio(0.5), ratio(0.99));
}

/// Posts a lead to the blocking endpoint; returns the overhead.
async fn blocking(daemon: Arc<Daemon>, client: Arc<Bare>, partners: Partners) -> Duration {
    let request = Request::post(format!("{}/blocking/leads/rateTables", daemon.integrations))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", daemon.publishable))
        .body(Full::new(Bytes::from(lead())))
        .expect("a request");
    let sent = Instant::now();
    let answer = client.request(request).await.expect("the daemon answers");
    let answer = answer.into_body().collect().await.expect("a body").to_bytes();
    let took = sent.elapsed();
    let table: Value = serde_json::from_slice(&answer).expect("a rate table is JSON");
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(PARTNERS), "{table} {}", daemon.log());
    took.saturating_sub(partners.slowest(table["leadUuid"].as_str().expect("a table names its lead")))
}

type Bare = Client<HttpConnector, Full<Bytes>>;

fn bare_client() -> Bare {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// The same calls by a bare client; returns the overhead.
async fn bare(clients: Arc<Vec<Bare>>, partners: Partners) -> Duration {
    let id = next().to_string();
    let body = Bytes::from(json!({"amount": 10_000, "id": id}).to_string());
    let sent = Instant::now();
    let calls = clients.iter().map(async |client| {
        let request = Request::post(format!("http://{}/", partners.address))
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))
            .expect("a request");
        let response = client.request(request).await.expect("a response");
        response.into_body().collect().await.expect("a body")
    });
    join_all(calls).await;
    sent.elapsed().saturating_sub(partners.slowest(&id))
}

/// The peak in leads per second, over all steps of the ramp.
async fn peak<F: Future<Output = Duration> + Send + 'static>(call: &impl Fn() -> F) -> f64 {
    let mut peak = 0.0_f64;
    for in_flight in RAMP {
        let begun = Instant::now();
        let done = AtomicU64::new(0);
        join_all((0..in_flight).map(async |_| {
            while begun.elapsed() < RAMP_STEP {
                tokio::spawn(call()).await.expect("the call ends");
                done.fetch_add(1, Ordering::Relaxed);
            }
        }))
        .await;
        let rate = done.into_inner() as f64 / begun.elapsed().as_secs_f64();
        println!("{in_flight:>4} in flight: {rate:.0} leads a second");
        peak = peak.max(rate);
    }
    peak
}

/// Open loop: calls at random times, `rate` per second.
async fn open_loop<F: Future<Output = Duration> + Send + 'static>(
    rate: f64,
    lasting: Duration,
    call: &impl Fn() -> F,
) -> Vec<Duration> {
    let mut calls = Vec::new();
    let mut due = tokio::time::Instant::now();
    let end = due + lasting;
    while due < end {
        tokio::time::sleep_until(due).await;
        calls.push(tokio::spawn(call()));
        due += Duration::from_secs_f64(-(1.0 - draw()).ln() / rate);
    }
    let mut times: Vec<Duration> =
        join_all(calls).await.into_iter().map(|time| time.expect("the call ends")).collect();
    times.sort();
    times
}

/// One call at a time: the overhead without contention.
async fn one_at_a_time<F: Future<Output = Duration>>(call: &impl Fn() -> F) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..LEADS_ALONE {
        times.push(call().await);
    }
    times.sort();
    times
}

async fn sick_ones(partners: &Partners) {
    let healthy = || (0..HEALTHY).map(|nth| lender(&format!("lender_{nth}"), partners.address));
    let drip = FarSide::start(|_| Deed::Drip).await;
    let garbage = FarSide::start(|_| Deed::Garbage).await;
    let dead = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let sick = [("dead", dead), ("drip", drip.address), ("garbage", garbage.address)];
    let sick = sick.into_iter().map(|(key, address)| lender(key, address));

    let without = Daemon::with_partners(healthy().collect()).start().await;
    let with = Daemon::with_partners(healthy().chain(sick).collect()).start().await;
    let mut times: [Vec<(Duration, Duration)>; 2] = Default::default();
    for _ in 0..LEADS_OF_SICK {
        for (times, daemon) in times.iter_mut().zip([&without, &with]) {
            times.push(until_healthy(daemon, partners).await);
        }
    }

    println!("\nFrom submit until {HEALTHY} healthy partners' offers are polled, {LEADS_OF_SICK} leads each");
    println!("{:<34}{:>10}{:>10}{:>22}", "", "p50 ms", "p99 ms", "over the slowest, p50");
    let [without, with] = times.map(|times| {
        let (mut whole, mut over): (Vec<_>, Vec<_>) = times.into_iter().unzip();
        whole.sort();
        over.sort();
        [percentile(&whole, 0.5), percentile(&whole, 0.99), percentile(&over, 0.5)]
    });
    for (name, [p50, p99, over]) in [("without sick partners", without), ("with three sick ones", with)] {
        println!("{name:<34}{p50:>10.2}{p99:>10.2}{over:>22.2}");
    }
    let [p50, p99, over] = std::array::from_fn(|nth| with[nth] / without[nth]);
    println!("{:<34}{p50:>10.2}{p99:>10.2}{over:>22.2}", "ratio");
}

/// Submits a lead and polls until the healthy partners have answered; returns the latency, and its excess
/// over the slowest of them.
async fn until_healthy(daemon: &Daemon, partners: &Partners) -> (Duration, Duration) {
    let lead = lead();
    let sent = Instant::now();
    let mut table = daemon.submit(lead).await.json();
    let uuid = table["uuid"].as_str().expect("a table has a uuid").to_owned();
    while table["loanOffers"].as_array().expect("a table has offers").len() < HEALTHY {
        tokio::time::sleep(Duration::from_millis(1)).await;
        table = daemon.rate_table(&uuid).await.json();
    }
    let took = sent.elapsed();
    (took, took.saturating_sub(partners.slowest(table["leadUuid"].as_str().expect("a table names its lead"))))
}

#[derive(Clone)]
struct Partners {
    address: SocketAddr,
    /// The highest latency of a partner for a lead, by the id that partners were sent.
    slowest: Arc<Mutex<HashMap<String, Duration>>>,
}

impl Partners {
    /// Serves on a thread of its own until the process ends.
    fn serve() -> Self {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let address = listener.local_addr().expect("an address");
                let partners = Self { address, slowest: Arc::default() };
                tell.send(partners.clone()).expect("the bench waits for it");
                loop {
                    let (stream, _) = listener.accept().await.expect("a connection");
                    stream.set_nodelay(true).expect("a TCP socket");
                    let partners = partners.clone();
                    let service = service_fn(move |request| partners.clone().answer(request));
                    tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
                }
            });
        });
        told.recv().expect("the server starts")
    }

    async fn answer(
        self,
        request: Request<hyper::body::Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let received = Instant::now();
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.expect("a whole request").to_bytes();
        let milliseconds = LATENCY_MS.0 + draw() * (LATENCY_MS.1 - LATENCY_MS.0);
        tokio::time::sleep(Duration::from_secs_f64(milliseconds / 1e3)).await;
        let took = received.elapsed();
        let said = match &*path {
            "/ping" => r#"{"bid":5.5}"#,
            "/session" => r#"{"id":"S-7"}"#,
            _ => r#"{"offers":[{"term":36,"apr":9.5}]}"#,
        };
        if path == "/" {
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            let id = body["id"].as_str().expect("the id of the lead").to_owned();
            let mut slowest = self.slowest.lock().expect("nobody panics while holding it");
            slowest.entry(id).and_modify(|slowest| *slowest = took.max(*slowest)).or_insert(took);
        }
        let response = Response::builder().header("content-type", "application/json");
        Ok(response.body(Full::new(Bytes::from_static(said.as_bytes()))).expect("a response"))
    }

    /// Removes and returns the latency of the slowest partner for a lead.
    fn slowest(&self, id: &str) -> Duration {
        let slowest = self.slowest.lock().expect("nobody panics while holding it").remove(id);
        slowest.expect("the partners were asked about the lead")
    }
}

fn lender(key: &str, address: SocketAddr) -> PartnerFile {
    lender_asked(key, &plain(address), "")
}

/// One plain call.
fn plain(address: SocketAddr) -> String {
    format!(
        r#"url = "http://{address}/"
sandbox_url = "http://{address}/"
json = {{ amount = "lead.loanInformation.loanAmount", id = "lead_uuid" }}
wire = {{ allow_addresses = ["127.0.0.1"], connect_timeout = "1s", concurrency = 512 }}
answer = {{ offer = {{ key = "'far'", term = "offer.term", apr = "offer.apr", pre_qualified = "true" }} }}"#
    )
}

/// The sample lead, with a new person each time.
fn lead() -> String {
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).expect("the sample lead is JSON");
    let nth = next();
    let person = &mut lead["personalInformation"];
    person["ssn"] = format!("536-{:02}-{:04}", 10 + nth / 9_999 % 80, 1 + nth % 9_999).into();
    person["email"] = format!("person.{nth}@example.com").into();
    lead.to_string()
}

fn next() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// A number from 0 to 1; the sequence is the same in every run.
fn draw() -> f64 {
    static SEED: AtomicU64 = AtomicU64::new(0);
    // SplitMix64.
    let step = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bits = SEED.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// In ms; `times` are sorted.
fn percentile(times: &[Duration], share: f64) -> f64 {
    let position = ((times.len() - 1) as f64 * share).round() as usize;
    times[position].as_secs_f64() * 1e3
}
