//! What twice the peak load leaves of the peak: `cargo bench --bench overload`.
//!
//! Runs the real binary with 20 catalog partners that answer at once, twice: one daemon sheds load as by default, the other
//! not at all. They have one half of the cores and the load the other, so that what the load costs is not taken from them. A
//! closed-loop ramp finds how many leads in flight make the peak of the one that sheds nothing; the other is warmed as long.
//! Then, by turns, leads come to that one closed-loop, which tells the peak of that moment, and to the other open-loop at twice
//! its rate. Before each turn both have become quiet: after many leads a daemon counts them for a while, on the core of the
//! other.
//!
//! Told of each round are the goodput (leads answered with 200 while it lasts) as a share of the peak, which is the mean of the
//! turn before and the turn after, how long those that were turned away with 503 waited for it, and how long those that were
//! let in took.
//! `OFFERD_SHED_DELAY=0ms` before the command shows what becomes of it without shedding.

#[path = "load/cpu.rs"]
mod cpu;
#[path = "../tests/it/kit/mod.rs"]
mod kit;

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use kit::Daemon;
use kit::partners::prompt_partners;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Partners of a lead.
const PARTNERS: usize = 20;
/// Leads in flight on the way to the peak.
const RAMP: [usize; 7] = [4, 8, 16, 32, 64, 128, 256];
const RAMP_STEP: Duration = Duration::from_secs(1);
/// Turns of a peak and twice of it, a multiple of four.
const ROUNDS: usize = 12;
const MEASURED: Duration = Duration::from_secs(3);
/// How much more than the peak is offered.
const OVERLOAD: f64 = 2.0;
/// The bars: least goodput as a share of the peak, and the median of a refusal in ms.
const BARS: (f64, f64) = (0.9, 5.0);

const LEAD: &str = r#"{"productTypes":["savings"],"personalInformation":{"zipcode":"98101"},"savingsInformation":{"minDepositAmount":5000}}"#;

fn main() {
    let [for_daemon, for_load] = halves();
    // What is started has the cores of who starts it.
    keep_to(&for_daemon);
    let shed_delay = std::env::var("OFFERD_SHED_DELAY").unwrap_or_else(|_| "1ms".to_owned());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let [calm, shedding] = ["0ms", &shed_delay].map(|shed_delay| {
        let plan = Daemon::with_partners(prompt_partners(PARTNERS)).setting("limits.shed_delay", shed_delay);
        runtime.block_on(plan.start())
    });
    keep_to(&for_load);
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let pids = [calm.pid(), shedding.pid()];
        let (calm, load) = (Load::on(&calm), Arc::new(Load::on(&shedding)));
        let in_flight = ramp(&calm).await;
        closed_loop(&load, in_flight, RAMP_STEP * RAMP.len() as u32).await;
        let peak_now = async || {
            cpu::quiet(&pids).await;
            closed_loop(&calm, in_flight, MEASURED).await
        };
        let mut rounds = Vec::new();
        let mut before = peak_now().await;
        for _ in 0..ROUNDS {
            cpu::quiet(&pids).await;
            let written_before = load.written.load(Ordering::Relaxed);
            let (answers, end, written) = overload(&load, OVERLOAD * before).await;
            let offered = (written - written_before) as f64 / MEASURED.as_secs_f64();
            let after = peak_now().await;
            rounds.push(Round { peak: f64::midpoint(before, after), offered, answers, end });
            before = after;
        }
        tell(&rounds);
    });
}

/// The cores for the daemon and those for the load; the same ones where there is one only.
fn halves() -> [CpuSet; 2] {
    let ours = sched_getaffinity(None).expect("the system tells the cores of a thread");
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| ours.is_set(*core)).collect();
    let (daemon, load) =
        if cores.len() < 2 { (&cores[..], &cores[..]) } else { cores.split_at(cores.len() / 2) };
    [daemon, load].map(|cores| {
        let mut set = CpuSet::new();
        cores.iter().for_each(|core| set.set(*core));
        set
    })
}

/// Keeps this thread, and those that it starts, to some cores.
fn keep_to(cores: &CpuSet) {
    sched_setaffinity(None, cores).expect("a thread may have fewer cores than it has");
}

/// How many leads in flight make the most leads a second.
async fn ramp(load: &Load) -> usize {
    let mut best = (0.0, RAMP[0]);
    for in_flight in RAMP {
        let rate = closed_loop(load, in_flight, RAMP_STEP).await;
        println!("{in_flight:>4} in flight: {rate:.0} leads a second");
        if rate > best.0 {
            best = (rate, in_flight);
        }
    }
    best.1
}

/// Leads a second that are taken in when each follows upon the answer of one before.
async fn closed_loop(load: &Load, in_flight: usize, lasting: Duration) -> f64 {
    let begun = Instant::now();
    let taken = AtomicU64::new(0);
    join_all((0..in_flight).map(async |_| {
        while begun.elapsed() < lasting {
            if load.submit(Instant::now()).await.0 == 200 {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        }
    }))
    .await;
    taken.into_inner() as f64 / begun.elapsed().as_secs_f64()
}

/// A turn.
struct Round {
    /// Leads a second.
    peak: f64,
    /// Leads a second that were sent, which is twice the peak where the load keeps up.
    offered: f64,
    answers: Vec<Ended>,
    /// When the last lead came.
    end: Instant,
}

/// What became of a lead, how long it took, and when that was.
type Ended = (u16, Duration, Instant);

/// Leads at even times, whatever has become of those before; gives what became of them, when the last one
/// came, and how many had been written by then since the start.
async fn overload(load: &Arc<Load>, rate: f64) -> (Vec<Ended>, Instant, u64) {
    let begun = tokio::time::Instant::now();
    let end = begun + MEASURED;
    let mut sent = 0_u32;
    let mut calls = Vec::new();
    while tokio::time::Instant::now() < end {
        // A timer wakes every millisecond at best, so each time as many are sent as are due.
        let due = (begun.elapsed().as_secs_f64() * rate) as u32;
        calls.extend((sent..due).map(|_| {
            let (load, due) = (Arc::clone(load), Instant::now());
            tokio::spawn(async move { load.submit(due).await })
        }));
        sent = due.max(sent);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let written = load.written.load(Ordering::Relaxed);
    let ended = join_all(calls).await.into_iter().map(|ended| ended.expect("the call ends"));
    (ended.collect(), end.into_std(), written)
}

/// Connections that are kept, and the one request that is sent on them.
struct Load {
    address: String,
    request: String,
    idle: Mutex<Vec<TcpStream>>,
    /// Requests that went out.
    written: AtomicU64,
}

impl Load {
    fn on(daemon: &Daemon) -> Self {
        let address = daemon.api.strip_prefix("http://").expect("the daemon speaks in the clear").to_owned();
        let (token, length) = (&daemon.publishable, LEAD.len());
        let request = format!(
            "POST /leads/rateTables HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{LEAD}"
        );
        Self { address, request, idle: Mutex::default(), written: AtomicU64::new(0) }
    }

    /// A lead that is due now; status 0 when there was no answer.
    async fn submit(&self, due: Instant) -> Ended {
        let status = self.exchange().await.unwrap_or(0);
        (status, due.elapsed(), Instant::now())
    }

    /// A connection that the daemon has not closed since, as it does with those that are silent for long.
    fn kept(&self) -> Option<TcpStream> {
        let mut idle = self.idle.lock().expect("nobody panics while holding it");
        let open = |stream: &TcpStream| {
            stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        std::iter::from_fn(|| idle.pop()).find(open)
    }

    async fn exchange(&self) -> Option<u16> {
        let mut stream = match self.kept() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).await.ok()?;
                stream.set_nodelay(true).ok()?;
                stream
            }
        };
        stream.write_all(self.request.as_bytes()).await.ok()?;
        self.written.fetch_add(1, Ordering::Relaxed);
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

impl Round {
    /// How long the answers of a status took, the shortest first.
    fn times(&self, wanted: u16) -> Vec<Duration> {
        let answers = self.answers.iter().filter(|(status, ..)| *status == wanted);
        let mut times: Vec<Duration> = answers.map(|(_, took, _)| *took).collect();
        times.sort();
        times
    }

    /// The share of the peak that is still taken in.
    fn goodput(&self) -> f64 {
        let taken = self.answers.iter().filter(|(status, _, at)| *status == 200 && *at < self.end);
        taken.count() as f64 / MEASURED.as_secs_f64() / self.peak
    }
}

fn tell(rounds: &[Round]) {
    println!(
        "\n{:<10}{:>10}{:>9}{:>12}{:>10}{:>12}{:>10}{:>9}",
        "peak", "offered", "goodput", "taken: p50", "p99 ms", "503: p50", "p99 ms", "others"
    );
    for round in rounds {
        let (taken, refused) = (round.times(200), round.times(503));
        let others = round.answers.len() - taken.len() - refused.len();
        let [taken, refused] =
            [taken, refused].map(|times| [0.5, 0.99].map(|share| percentile(&times, share)));
        println!(
            "{:<10.0}{:>10.0}{:>7.0} %{:>12.2}{:>10.2}{:>12.2}{:>10.2}{others:>9}",
            round.peak,
            round.offered,
            round.goodput() * 100.0,
            taken[0],
            taken[1],
            refused[0],
            refused[1]
        );
    }
    let quartiles = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        // Each lies between two rounds.
        [ROUNDS / 4, ROUNDS / 2, ROUNDS * 3 / 4].map(|nth| f64::midpoint(values[nth - 1], values[nth]))
    };
    let [low, median, high] = quartiles(rounds.iter().map(|round| round.goodput() * 100.0).collect());
    println!(
        "goodput: quartiles of {ROUNDS} rounds {low:.0}, {median:.0}, {high:.0} % (bar {:.0} %)",
        BARS.0 * 100.0
    );
    let refused = rounds.iter().map(|round| percentile(&round.times(503), 0.5)).collect();
    let [low, median, high] = quartiles(refused);
    println!("median of a refusal: quartiles {low:.1}, {median:.1}, {high:.1} ms (bar {} ms)", BARS.1);
}

/// In ms; `times` are sorted.
fn percentile(times: &[Duration], share: f64) -> f64 {
    let position = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    times.get(position).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
