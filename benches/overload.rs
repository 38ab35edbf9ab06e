//! What twice the peak load leaves of the peak: `cargo bench --bench overload`.
//!
//! Runs the real binary with 20 catalog partners that answer at once, with load shedding as by default. The peak of submits
//! is what a closed-loop ramp finds. Then leads arrive open-loop at twice that. Told are the goodput (leads answered with
//! 200 while it lasts) as a share of the peak, how long those that were turned away with 503 waited for it, and how long
//! those that were let in took. The load shares the machine with the daemon, so the figures hold its share too; it writes
//! bytes that are made once, and reads no more of an answer than it must, so that twice the load costs little more.
//! `OFFERD_SHED_DELAY=0ms` before the command shows what becomes of it without shedding.

#[path = "../tests/it/kit/mod.rs"]
mod kit;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use kit::Daemon;
use kit::partners::prompt_partners;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Partners of a lead.
const PARTNERS: usize = 20;
/// Leads in flight on the way to the peak.
const RAMP: [usize; 6] = [2, 4, 8, 16, 32, 64];
const RAMP_STEP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(10);
/// How much more than the peak is offered.
const OVERLOAD: f64 = 2.0;
/// The bars: least goodput as a share of the peak, and the median of a refusal in ms.
const BARS: (f64, f64) = (0.9, 5.0);

const LEAD: &str = r#"{"productTypes":["savings"],"personalInformation":{"zipcode":"98101"},"savingsInformation":{"minDepositAmount":5000}}"#;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let shed_delay = std::env::var("OFFERD_SHED_DELAY").unwrap_or_else(|_| "1ms".to_owned());
        let plan = Daemon::with_partners(prompt_partners(PARTNERS)).setting("limits.shed_delay", &shed_delay);
        let daemon = plan.start().await;
        let load = Arc::new(Load::on(&daemon));
        let peak = peak(&load).await;
        let offered = OVERLOAD * peak;
        let answers = overload(&load, offered).await;
        tell(peak, offered, answers);
    });
}

/// The most leads a second that are taken in, over all steps of the ramp.
async fn peak(load: &Load) -> f64 {
    let mut peak = 0.0_f64;
    for in_flight in RAMP {
        let begun = Instant::now();
        let taken = AtomicU64::new(0);
        join_all((0..in_flight).map(async |_| {
            while begun.elapsed() < RAMP_STEP {
                if load.submit().await.0 == 200 {
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            }
        }))
        .await;
        let rate = taken.into_inner() as f64 / begun.elapsed().as_secs_f64();
        println!("{in_flight:>4} in flight: {rate:.0} leads a second");
        peak = peak.max(rate);
    }
    peak
}

/// What became of a lead, how long it took, and when that was.
type Ended = (u16, Duration, Instant);

/// Leads at even times, whatever has become of those before; gives those that were answered while they came.
async fn overload(load: &Arc<Load>, rate: f64) -> Vec<Ended> {
    let begun = tokio::time::Instant::now();
    let end = begun + MEASURED;
    let mut sent = 0_u32;
    let mut calls = Vec::new();
    while tokio::time::Instant::now() < end {
        // A timer wakes every millisecond at best, so each time as many are sent as are due.
        let due = (begun.elapsed().as_secs_f64() * rate) as u32;
        calls.extend((sent..due).map(|_| {
            let load = Arc::clone(load);
            tokio::spawn(async move { load.submit().await })
        }));
        sent = due.max(sent);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let ended = join_all(calls).await.into_iter().map(|ended| ended.expect("the call ends"));
    ended.filter(|(_, _, at)| *at < end.into_std()).collect()
}

/// Connections that are kept, and the one request that is sent on them.
struct Load {
    address: String,
    request: String,
    idle: Mutex<Vec<TcpStream>>,
}

impl Load {
    fn on(daemon: &Daemon) -> Self {
        let address = daemon.api.strip_prefix("http://").expect("the daemon speaks in the clear").to_owned();
        let (token, length) = (&daemon.publishable, LEAD.len());
        let request = format!(
            "POST /leads/rateTables HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{LEAD}"
        );
        Self { address, request, idle: Mutex::default() }
    }

    /// Status 0 when there was no answer.
    async fn submit(&self) -> Ended {
        let sent = Instant::now();
        let status = self.exchange().await.unwrap_or(0);
        (status, sent.elapsed(), Instant::now())
    }

    async fn exchange(&self) -> Option<u16> {
        let kept = self.idle.lock().expect("nobody panics while holding it").pop();
        let mut stream = match kept {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).await.ok()?;
                stream.set_nodelay(true).ok()?;
                stream
            }
        };
        stream.write_all(self.request.as_bytes()).await.ok()?;
        let mut answer = Vec::with_capacity(32 * 1024);
        let head = loop {
            if stream.read_buf(&mut answer).await.ok()? == 0 {
                return None;
            }
            if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&answer[..head]).ok()?;
        let status = text.get(9..12)?.parse().ok()?;
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        let whole = head + length.trim().parse::<usize>().ok()?;
        while answer.len() < whole {
            if stream.read_buf(&mut answer).await.ok()? == 0 {
                return None;
            }
        }
        self.idle.lock().expect("nobody panics while holding it").push(stream);
        Some(status)
    }
}

fn tell(peak: f64, offered: f64, answers: Vec<Ended>) {
    let times = |wanted: u16| {
        let mut times: Vec<Duration> =
            answers.iter().filter(|(status, ..)| *status == wanted).map(|(_, took, _)| *took).collect();
        times.sort();
        times
    };
    let (taken, refused) = (times(200), times(503));
    let others = answers.len() - taken.len() - refused.len();
    let share = taken.len() as f64 / MEASURED.as_secs_f64() / peak;
    println!("\nPeak {peak:.0} leads a second, offered {offered:.0} for {} s", MEASURED.as_secs());
    println!("{:<22}{:>10}{:>10}{:>10}", "", "leads", "p50 ms", "p99 ms");
    for (name, times) in [("taken in", &taken), ("turned away with 503", &refused)] {
        let figures = [0.5, 0.99].map(|share| percentile(times, share));
        println!("{name:<22}{:>10}{:>10.2}{:>10.2}", times.len(), figures[0], figures[1]);
    }
    println!("{:<22}{others:>10}", "no answer");
    println!(
        "goodput {:.0} % of the peak (bar {:.0} %), a refusal at most {} ms at the median",
        share * 100.0,
        BARS.0 * 100.0,
        BARS.1
    );
}

/// In ms; `times` are sorted.
fn percentile(times: &[Duration], share: f64) -> f64 {
    let position = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    times.get(position).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
