//! What a lead of ten HTTP partners costs: `cargo bench --bench fanout`.
//!
//! First beside the floor, a bare fan-out ([`floor`]): CPU time, rates, memory and the time that is added to
//! slow partners. `cargo bench --bench fanout -- floor` measures only that.
//!
//! Then three more partners are dead, drip a byte a second and answer garbage: the time until the healthy
//! partners' offers can be polled is measured with and without the sick ones, alternating by lead. Breakers
//! are active as usual.
//!
//! Last, the cost of other kinds of partners. `cargo bench --bench fanout -- kinds` measures only that.
//!
//! Partners, load and daemon share the machine, so the figures include their share.

#[path = "../load/cpu.rs"]
mod cpu;
#[path = "../load/draw.rs"]
mod draw;
mod far;
mod floor;
#[path = "../load/generator.rs"]
mod generator;
mod kinds;
#[path = "../../tests/it/kit/mod.rs"]
mod kit;
#[path = "../load/process.rs"]
mod process;

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use draw::draw;
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kit::far_side::{Deed, FarSide};
use kit::partners::{PartnerFile, lender_asked};
use kit::{Daemon, sample};
use serde_json::Value;
use tokio::net::TcpListener;

/// The daemon's allocator, for the bare fan-out too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTNERS: usize = 10;
/// The partners that stay healthy when three are sick.
const HEALTHY: usize = 7;
/// A partner's latency in ms, uniformly distributed.
const LATENCY_MS: (f64, f64) = (20.0, 60.0);
/// Leads with, and as many without, sick partners.
const LEADS_OF_SICK: usize = 200;

fn main() {
    if far::run() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    if is_wanted("floor") {
        floor::measure(&runtime);
    }
    let partners = Partners::serve();
    if is_wanted("sick") {
        runtime.block_on(sick_ones(&partners));
    }
    if is_wanted("kinds") {
        runtime.block_on(kinds::costs(&partners));
    }
}

async fn sick_ones(partners: &Partners) {
    let healthy = || (0..HEALTHY).map(|nth| lender(&format!("lender_{nth}"), partners.address));
    let drip = FarSide::start(|_| Deed::Drip).await;
    let garbage = FarSide::start(|_| Deed::Garbage).await;
    let dead = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let sick = [("dead", dead), ("drip", drip.address), ("garbage", garbage.address)];
    let sick = sick.into_iter().map(|(key, address)| lender(key, address));

    let without = Daemon::with_partners(healthy().collect()).start().await.with_live_company();
    let with = Daemon::with_partners(healthy().chain(sick).collect()).start().await.with_live_company();
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

/// In ms; `times` are sorted.
fn percentile(times: &[Duration], share: f64) -> f64 {
    let position = ((times.len() - 1) as f64 * share).round() as usize;
    times[position].as_secs_f64() * 1e3
}
