//! Requests per second and latencies, of the daemon and the bare server in turn.

use std::time::Duration;

use futures_util::FutureExt;
use hdrhistogram::Histogram;
use hyper::Method;
use offerd::model::EventType;
use offerd::store::entities::{Happening, HappeningDetails};
use offerd::store::tokens::Tokens;
use offerd::store::{Commit, Store, StoreOptions, Tree, codec};
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::bare::Bare;
use crate::generator::{Call, Until, closed_loop};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};
use crate::open_loop::open_loop;
use crate::{cpu, lead};

/// The numbers of connections that are tried for the peak.
const RAMP: [usize; 3] = [8, 32, 128];
const RAMP_STEP: Duration = Duration::from_millis(500);
/// Turns of each server at its peak.
const TURNS: usize = 3;
const TURN: Duration = Duration::from_millis(1500);
const MEASURED: Duration = Duration::from_secs(4);
const OPEN_CONNECTIONS: usize = 128;

const EVENTS: u128 = 1000;

/// A kind of request to measure.
pub struct Row {
    pub name: &'static str,
    /// The bar for the rate, as a share of the bare server's.
    least_ratio: Option<f64>,
    /// The bar for the 99th percentile, at half of the peak.
    most_p99: Option<Duration>,
    ready: fn(&Runtime) -> Ready,
}

/// A daemon, the call, and its answer.
struct Ready {
    daemon: Daemon,
    call: Call,
    answer: Answer,
}

pub const ROWS: [Row; 8] = [
    Row {
        name: "submit, 1 partner, durable",
        least_ratio: Some(1.0 / 3.0),
        most_p99: Some(Duration::from_millis(10)),
        ready: |runtime| submit(runtime, 1),
    },
    Row {
        name: "submit, 20 partners, durable",
        least_ratio: Some(1.0 / 3.0),
        most_p99: Some(Duration::from_millis(10)),
        ready: |runtime| submit(runtime, 20),
    },
    Row {
        name: "submit, 100 partners, durable",
        least_ratio: Some(1.0 / 3.0),
        most_p99: Some(Duration::from_millis(10)),
        ready: |runtime| submit(runtime, 100),
    },
    Row { name: "blocking, 20 partners, durable", least_ratio: None, most_p99: None, ready: blocking },
    Row { name: "poll of a complete table", least_ratio: Some(0.8), most_p99: None, ready: poll },
    Row {
        name: "poll with If-None-Match (304)",
        least_ratio: Some(0.9),
        most_p99: None,
        ready: poll_unchanged,
    },
    Row { name: "poll, compressed", least_ratio: Some(0.8), most_p99: None, ready: poll_compressed },
    Row { name: "feed page of 1000 events", least_ratio: None, most_p99: None, ready: feed_page },
];

struct Side {
    name: &'static str,
    pid: u32,
    call: Call,
    connections: usize,
    requests: u64,
    took: Duration,
    cpu: Duration,
}

impl Row {
    /// Measures both servers and prints two lines.
    pub fn measure(&self, runtime: &Runtime) {
        let Ready { daemon, call, answer } = (self.ready)(runtime);
        let bare = Bare::answering(&answer);
        let bare_call = call.to(bare.address);
        let mut sides =
            [Side::new("offerd", daemon.pid(), call), Side::new("bare warp", bare.pid(), bare_call)];
        let pids = sides.each_ref().map(|side| side.pid);
        for side in &mut sides {
            side.ramp();
        }
        for _ in 0..TURNS {
            for side in &mut sides {
                runtime.block_on(cpu::quiet(&pids));
                side.turn();
            }
        }
        let latencies = sides.each_ref().map(|side| {
            runtime.block_on(cpu::quiet(&pids));
            side.open_loop()
        });
        self.print(&sides, &latencies);
        crate::discard(daemon);
    }

    fn print(&self, sides: &[Side; 2], latencies: &[Histogram<u64>; 2]) {
        let [ours, theirs] = sides.each_ref().map(Side::rate);
        let ratio = ours / theirs;
        let [our_cpu, their_cpu] = sides.each_ref().map(Side::cpu_us);
        let p99 = Duration::from_micros(latencies[0].value_at_quantile(0.99));
        let bar = self.least_ratio.map(|least| (ratio >= least, format!("at least {least:.2}")));
        let p99_bar = self.most_p99.map(|most| (p99 <= most, format!("p99 at most {} ms", most.as_millis())));
        for ((side, latencies), first) in sides.iter().zip(latencies).zip([true, false]) {
            let ms = |share| latencies.value_at_quantile(share) as f64 / 1e3;
            println!(
                "{:<31}{:<10}{:>9.0}{:>8}  {:>8.2}{:>8.2}{:>8.2}{:>9.1}{:>7}  {}",
                if first { self.name } else { "" },
                side.name,
                side.rate(),
                if first { format!("{ratio:.2}") } else { String::new() },
                ms(0.5),
                ms(0.99),
                ms(0.999),
                side.cpu_us(),
                if first { format!("{:.1}", our_cpu / their_cpu) } else { String::new() },
                crate::judged(if first { bar.as_ref() } else { p99_bar.as_ref() }),
            );
        }
    }
}

/// Prints the heading for [`Row::measure`].
pub fn heading() {
    println!(
        "\n{:<31}{:<10}{:>9}{:>8}  {:>8}{:>8}{:>8}{:>9}{:>7}  bar",
        "", "", "peak/s", "ratio", "p50 ms", "p99", "p99.9", "CPU µs", "ratio"
    );
}

impl Side {
    fn new(name: &'static str, pid: u32, call: Call) -> Self {
        let (requests, took, cpu) = Default::default();
        Self { name, pid, call, connections: 0, requests, took, cpu }
    }

    /// Finds the best number of connections.
    fn ramp(&mut self) {
        let rate = |connections: &usize| {
            let (latencies, took) = closed_loop(&self.call, *connections, Until::Elapsed(RAMP_STEP));
            latencies.len() as f64 / took.as_secs_f64()
        };
        let best = RAMP.iter().map(|connections| (rate(connections), *connections));
        let best = best.max_by(|one, other| one.0.total_cmp(&other.0));
        self.connections = best.expect("the ramp has steps").1;
    }

    fn turn(&mut self) {
        let before = cpu::used(self.pid);
        let (latencies, took) = closed_loop(&self.call, self.connections, Until::Elapsed(TURN));
        self.cpu += cpu::used(self.pid) - before;
        self.requests += latencies.len();
        self.took += took;
    }

    fn rate(&self) -> f64 {
        self.requests as f64 / self.took.as_secs_f64()
    }

    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.requests as f64
    }

    fn open_loop(&self) -> Histogram<u64> {
        open_loop(&self.call, OPEN_CONNECTIONS, self.rate() / 2.0, MEASURED)
    }
}

fn submit(runtime: &Runtime, partners: usize) -> Ready {
    let daemon = runtime.block_on(Daemon::with_partners(prompt_partners(partners)).start());
    let answer = runtime.block_on(daemon.submit(lead()));
    let url = format!("{}/leads/rateTables", daemon.api);
    let call = Call::new("POST", &url, &daemon.publishable, &[], &lead(), 200);
    Ready { daemon, call, answer }
}

fn blocking(runtime: &Runtime) -> Ready {
    let daemon = runtime.block_on(Daemon::with_partners(prompt_partners(20)).start());
    let answer = runtime.block_on(daemon.submit_blocking(lead()));
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let call = Call::new("POST", &url, &daemon.publishable, &[], &lead(), 200);
    Ready { daemon, call, answer }
}

fn poll(runtime: &Runtime) -> Ready {
    polled(runtime, |_| Vec::new(), 200)
}

fn poll_unchanged(runtime: &Runtime) -> Ready {
    polled(runtime, |tag| vec![("if-none-match", tag)], 304)
}

fn poll_compressed(runtime: &Runtime) -> Ready {
    polled(runtime, |_| vec![("accept-encoding", "gzip")], 200)
}

/// Polls of a complete table, with headers that may name its tag.
fn polled(runtime: &Runtime, headers: fn(&str) -> Vec<(&str, &str)>, status: u16) -> Ready {
    let Ready { daemon, answer, .. } = submit(runtime, 20);
    let uuid = answer.json()["uuid"].as_str().expect("a table has a uuid").to_owned();
    let url = format!("{}/originator/rateTables/{uuid}", daemon.api);
    let headers = headers(answer.header("etag").expect("a table has a tag"));
    let call = Call::new("GET", &url, &daemon.confidential, &headers, "", status);
    let polling = daemon.request_with(Method::GET, &url, &daemon.confidential, &headers, "");
    let polled = runtime.block_on(polling);
    assert_eq!(polled.status, status);
    // For a 304, the bare server knows the tag, and the body that it does not send.
    let answer = if polled.body.is_empty() { answer } else { polled };
    Ready { daemon, call, answer }
}

/// A page of the feed's newer form, which includes the latest events.
fn feed_page(runtime: &Runtime) -> Ready {
    let daemon = runtime.block_on(Daemon::with_partners(prompt_partners(1)).start());
    let (_, stopped) = daemon.terminate();
    let store = Store::open_inline_with(&StoreOptions::new(stopped.plan.store()));
    let store = store.expect("a daemon that ended leaves a sound store");
    let company = Tokens::of(store.clone()).companies()[0].uuid;
    let append =
        |commit: Commit, nth| commit.append(Tree::LeadEvents, company, codec::encode(&[event(nth)][..]));
    let commit = (0..EVENTS).fold(Commit::new(), append);
    store
        .commit(commit)
        .now_or_never()
        .expect("an inline store answers at once")
        .expect("a commit is written");
    drop(store);

    let daemon = runtime.block_on(stopped.start());
    let url = format!(
        "{}/supplyAnalytics/leadEvents?sinceTimestamp=2020-01-01T00:00:00Z&limit={EVENTS}",
        daemon.api
    );
    let newer = [("api-version", "2025-04-01")];
    let answer = runtime.block_on(daemon.request_with(Method::GET, &url, &daemon.confidential, &newer, ""));
    assert_eq!(answer.json()["data"].as_array().map(Vec::len), Some(EVENTS as usize), "{:?}", answer.status);
    let call = Call::new("GET", &url, &daemon.confidential, &newer, "", 200);
    Ready { daemon, call, answer }
}

fn event(nth: u128) -> Happening {
    Happening {
        event_type: EventType::LeadCreated,
        lead: Uuid::from_u128(nth),
        lead_created_at: 1_600_000_000_000,
        at: 1_600_000_000_000,
        institution: None,
        product_type: None,
        amount_in_cents: None,
        test: false,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    }
}
