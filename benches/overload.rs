//! Goodput and poll latency at twice the peak load: `cargo bench --bench overload`.
//!
//! First, 256 closed-loop clients send leads to a daemon with the sample catalog, on all cores: none of
//! them should get a 503.
//!
//! Then the real binary runs twice, with 20 catalog partners that answer at once: one daemon sheds load with
//! the default settings, the other admits everything. The daemons have one half of the cores and the load the
//! other, so that the load takes none of theirs. A closed-loop ramp finds the best number of leads in flight
//! for the daemon without shedding; the other is warmed up for as long. Then turns alternate: a closed loop
//! on the former, which measures the peak of that moment, and an open loop on the other at twice that rate.
//! Each turn has a warm-up that does not count. Before each turn both daemons are idle: after many leads a
//! daemon counts them for a while, on the other's core. While new work queues, a daemon counts little, at the
//! peak as beyond it. During overload, a few polls of a complete table come at even times; as many came
//! before, to the idle daemon.
//!
//! The load generator does not sleep during its turn: to wake a sleeping core is work for the core that sends
//! to it (in a virtual machine, an exit to its host), which clients on other machines would not cost the
//! daemon. `OFFERD_LOAD_SLEEPS=1` makes it sleep, as it must on a single core, where it would starve the
//! daemon.
//!
//! Each round reports the goodput at twice the peak (leads answered with 200 while it is measured), as a
//! share of the peak, the mean of the turns before and after; the latency of leads refused with 503 and of
//! admitted ones; the 99th percentile of polls; and the daemon's CPU time, as a share of one core.
//! `OFFERD_OVERLOAD_TARGET=0ms` turns shedding off, and other values change its target; `OFFERD_ROUNDS` sets
//! the number of rounds, a multiple of four.

#[path = "load/cpu.rs"]
mod cpu;
#[path = "../tests/it/kit/mod.rs"]
mod kit;

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use kit::Daemon;
use kit::partners::prompt_partners;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PARTNERS: usize = 20;
/// Leads in flight on the ramp, and how often the ramp is run.
const RAMP: [usize; 5] = [16, 32, 64, 128, 256];
const RAMPS: usize = 6;
const RAMP_STEP: Duration = Duration::from_secs(1);
/// Turns of each kind, a multiple of four. Many short ones, since the machine's speed drifts within seconds.
const ROUNDS: usize = 40;
/// Until connections are open and the daemon has adapted.
const WARM_UP: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_millis(1500);
/// The overload, as a multiple of the peak.
const OFFERED: f64 = 2.0;
/// The interval of polls during overload, and how long the idle daemon is polled.
const POLL_EVERY: Duration = Duration::from_millis(5);
const REST: Duration = Duration::from_secs(5);
/// Closed-loop clients, and how long they send leads.
const CLIENTS: usize = 256;
const CLIENTS_SEND: Duration = Duration::from_secs(10);
/// The bars: the least goodput in overload as a share of the peak, the median latency of a refusal in ms, and
/// the 99th percentile of polls as a multiple of that of an idle daemon.
const BARS: (f64, f64, f64) = (0.9, 5.0, 2.0);

const LEAD: &str = r#"{"productTypes":["savings"],"personalInformation":{"zipcode":"98101"},"savingsInformation":{"minDepositAmount":5000}}"#;

fn main() {
    let target = std::env::var("OFFERD_OVERLOAD_TARGET").unwrap_or_else(|_| "3ms".to_owned());
    clients_that_wait(&target);
    let [for_daemon, for_load] = halves();
    // Child processes inherit the cores.
    keep_to(&for_daemon);
    let rounds = std::env::var("OFFERD_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let [calm, shedding] = ["0ms", &target].map(|target| {
        let plan = Daemon::with_partners(prompt_partners(PARTNERS)).setting("limits.queueing_target", target);
        // The load stands for many clients, so it needs more connections than one address may have.
        runtime.block_on(plan.setting("limits.connections_per_address", "0").start())
    });
    keep_to(&for_load);
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let pids = [calm.pid(), shedding.pid()];
        let polls = Arc::new(Load::polls(&shedding).await);
        let [calm, shedding] = [&calm, &shedding].map(|daemon| Arc::new(Load::submits(daemon, LEAD)));
        let in_flight = ramp(&calm).await;
        closed_loop(&shedding, in_flight, (WARM_UP + RAMP_STEP) * (RAMP.len() * RAMPS) as u32).await;
        let peak_now = async || {
            cpu::quiet(&pids).await;
            let turn = closed_loop(&calm, in_flight, MEASURED).await;
            assert_eq!(turn.others(&[200]), 0, "who sheds nothing takes every lead in");
            turn.goodput()
        };
        cpu::quiet(&pids).await;
        let polled = poll(&polls, REST).await;
        let at_rest = percentile(&polled.times(200), 0.99);
        println!("polls at rest: p50 {:.2} ms, p99 {at_rest:.2} ms", percentile(&polled.times(200), 0.5));
        tell_columns();
        let mut told = Vec::new();
        let mut before = peak_now().await;
        for _ in 0..rounds {
            cpu::quiet(&pids).await;
            let leads = open_loop(&shedding, OFFERED * before, MEASURED);
            let (overload, polls) = join(leads, poll(&polls, MEASURED)).await;
            let after = peak_now().await;
            let round = Round { peak: f64::midpoint(before, after), overload, polls };
            round.tell();
            told.push(round);
            before = after;
        }
        sum_up(&told, at_rest);
    });
}

/// The number of closed-loop clients that are refused, with the sample catalog.
fn clients_that_wait(target: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let plan = Daemon::with_sample_partners().setting("limits.queueing_target", target);
        let daemon = plan.start().await;
        let load = Arc::new(Load::submits(&daemon, &kit::sample("personal_loan")));
        let turn = closed_loop(&load, CLIENTS, CLIENTS_SEND).await;
        let times = turn.times(200);
        println!(
            "{CLIENTS} clients that wait for their answers, sample catalog: {:.0} leads a second, p50 {:.1} ms, p99 {:.1} ms, \
             503 {} times (bar 0), others {}",
            turn.goodput(),
            percentile(&times, 0.5),
            percentile(&times, 0.99),
            turn.others(&[0, 200]),
            turn.others(&[200, 503]),
        );
        assert_eq!(turn.others(&[200, 503]), 0, "every lead has an answer");
    });
}

/// The cores of the daemon and of the load; the same on a single core.
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

/// Pins this thread, and those that it starts, to `cores`.
fn keep_to(cores: &CpuSet) {
    sched_setaffinity(None, cores).expect("a thread may have fewer cores than it has");
}

/// The best number of leads in flight.
async fn ramp(load: &Arc<Load>) -> usize {
    let mut rates = RAMP.map(|_| 0.0);
    for _ in 0..RAMPS {
        for (rate, in_flight) in rates.iter_mut().zip(RAMP) {
            *rate += closed_loop(load, in_flight, RAMP_STEP).await.goodput() / RAMPS as f64;
        }
    }
    for (rate, in_flight) in rates.iter().zip(RAMP) {
        println!("{in_flight:>4} in flight: {rate:.0} leads a second");
    }
    let best = rates.iter().zip(RAMP).max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.expect("the ramp has steps").1
}

/// Closed loop: each lead follows the answer to one before.
async fn closed_loop(load: &Arc<Load>, in_flight: usize, lasting: Duration) -> Turn {
    let window = Window::of(lasting);
    let clients = (0..in_flight).map(|_| {
        let load = Arc::clone(load);
        tokio::spawn(async move {
            let mut ended = Vec::new();
            while Instant::now() < window.end {
                ended.push(load.submit(Instant::now()).await);
            }
            ended
        })
    });
    tokio::spawn(window.stay_awake());
    let (busy, ended) = join(window.busy(load.pid), join_all(clients)).await;
    let ended = ended.into_iter().flat_map(|ended| ended.expect("the calls end"));
    Turn { window, ended: ended.collect(), busy }
}

/// Open loop: leads at even times.
async fn open_loop(load: &Arc<Load>, rate: f64, lasting: Duration) -> Turn {
    let window = Window::of(lasting);
    let begun = Instant::now();
    let clients = async {
        let mut clients = Vec::new();
        while Instant::now() < window.end {
            // A timer wakes every millisecond at best, so all that are due are sent at once.
            let due = (begun.elapsed().as_secs_f64() * rate) as usize;
            clients.extend((clients.len()..due).map(|nth| {
                let (load, due) = (Arc::clone(load), begun + Duration::from_secs_f64(nth as f64 / rate));
                tokio::spawn(async move { load.submit(due).await })
            }));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        join_all(clients).await
    };
    tokio::spawn(window.stay_awake());
    let (busy, ended) = join(window.busy(load.pid), clients).await;
    let ended = ended.into_iter().map(|ended| ended.expect("the call ends"));
    Turn { window, ended: ended.collect(), busy }
}

/// Polls at even times. Latency counts from the send: a late wake-up of the load is not the daemon's.
async fn poll(load: &Arc<Load>, lasting: Duration) -> Turn {
    let window = Window::of(lasting);
    let mut clients = Vec::new();
    tokio::spawn(window.stay_awake());
    while Instant::now() < window.end {
        let load = Arc::clone(load);
        clients.push(tokio::spawn(async move { load.submit(Instant::now()).await }));
        tokio::time::sleep(POLL_EVERY).await;
    }
    let ended = join_all(clients).await.into_iter().map(|ended| ended.expect("the call ends"));
    Turn { window, ended: ended.collect(), busy: 0.0 }
}

/// The peak, and the results at twice that rate.
struct Round {
    /// Leads per second, the mean of the turns before and after.
    peak: f64,
    overload: Turn,
    polls: Turn,
}

/// The time that is measured, after a warm-up.
#[derive(Clone, Copy)]
struct Window {
    begin: Instant,
    end: Instant,
}

/// The leads of one turn, with their results.
struct Turn {
    window: Window,
    ended: Vec<Ended>,
    busy: f64,
}

struct Ended {
    /// 0 without an answer.
    status: u16,
    due: Instant,
    /// When its last byte had been written.
    sent: Option<Instant>,
    at: Instant,
}

impl Window {
    fn of(lasting: Duration) -> Self {
        let begin = Instant::now() + WARM_UP;
        Self { begin, end: begin + lasting }
    }

    /// Keeps the load from sleeping until the end.
    async fn stay_awake(self) {
        let sleeps = std::env::var_os("OFFERD_LOAD_SLEEPS").is_some();
        while !sleeps && Instant::now() < self.end {
            tokio::task::yield_now().await;
        }
    }

    /// The number of cores that a process uses in the window.
    async fn busy(self, pid: u32) -> f64 {
        tokio::time::sleep_until(self.begin.into()).await;
        let (before, begin) = (cpu::used(pid), Instant::now());
        tokio::time::sleep_until(self.end.into()).await;
        (cpu::used(pid) - before).as_secs_f64() / begin.elapsed().as_secs_f64()
    }
}

impl Turn {
    /// The rate of an event per second.
    fn rate(&self, happened: impl Fn(&Ended) -> Option<Instant>) -> f64 {
        let Window { begin, end } = self.window;
        let measured = self.ended.iter().filter_map(happened).filter(|at| (begin..end).contains(at));
        measured.count() as f64 / (end - begin).as_secs_f64()
    }

    fn goodput(&self) -> f64 {
        self.rate(|lead| (lead.status == 200).then_some(lead.at))
    }

    fn offered(&self) -> f64 {
        self.rate(|lead| lead.sent)
    }

    /// The latencies of answers with a status, for leads due in the window, in ascending order.
    fn times(&self, status: u16) -> Vec<Duration> {
        let due = self.ended.iter().filter(|lead| lead.status == status && lead.due >= self.window.begin);
        let mut times: Vec<Duration> = due.map(|lead| lead.at - lead.due).collect();
        times.sort();
        times
    }

    /// The number of leads with other answers.
    fn others(&self, expected: &[u16]) -> usize {
        self.ended.iter().filter(|lead| !expected.contains(&lead.status)).count()
    }
}

/// Kept-alive connections, and the request that is sent on them.
struct Load {
    pid: u32,
    address: String,
    request: String,
    idle: Mutex<Vec<TcpStream>>,
}

impl Load {
    fn new(daemon: &Daemon, line: &str, body: &str) -> Self {
        let address = daemon.api.strip_prefix("http://").expect("the daemon speaks in the clear").to_owned();
        let (token, length) = (&daemon.publishable, body.len());
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Self { pid: daemon.pid(), address, request, idle: Mutex::default() }
    }

    fn submits(daemon: &Daemon, lead: &str) -> Self {
        Self::new(daemon, "POST /leads/rateTables", lead)
    }

    /// Polls of a complete table.
    async fn polls(daemon: &Daemon) -> Self {
        let table = daemon.submit_blocking(LEAD).await.json();
        let table = table["uuid"].as_str().expect("a table has a uuid");
        Self::new(daemon, &format!("GET /originator/rateTables/{table}"), "")
    }

    /// Sends a lead, or a poll, that is due now.
    async fn submit(&self, due: Instant) -> Ended {
        let mut sent = None;
        let status = self.exchange(&mut sent).await.unwrap_or(0);
        Ended { status, due, sent, at: Instant::now() }
    }

    /// A connection that the daemon has not closed since, as it closes idle ones.
    fn kept(&self) -> Option<TcpStream> {
        let mut idle = self.idle.lock().expect("nobody panics while holding it");
        let open = |stream: &TcpStream| {
            stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        std::iter::from_fn(|| idle.pop()).find(open)
    }

    async fn exchange(&self, sent: &mut Option<Instant>) -> Option<u16> {
        let mut stream = match self.kept() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).await.ok()?;
                stream.set_nodelay(true).ok()?;
                stream
            }
        };
        stream.write_all(self.request.as_bytes()).await.ok()?;
        *sent = Some(Instant::now());
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
    /// The goodput in overload, as a share of the peak.
    fn share(&self) -> f64 {
        self.overload.goodput() / self.peak
    }

    /// The median latency of a refusal, in ms.
    fn refusal(&self) -> f64 {
        percentile(&self.overload.times(503), 0.5)
    }

    /// The 99th percentile of polls, in ms.
    fn poll(&self) -> f64 {
        percentile(&self.polls.times(200), 0.99)
    }

    fn tell(&self) {
        let overload = &self.overload;
        let [taken, refused] = [200, 503].map(|status| {
            let times = overload.times(status);
            [0.5, 0.99].map(|share| percentile(&times, share))
        });
        println!(
            "{:<10.0}{:>16.0}{:>7.0} %{:>7.0} %{:>12.2}{:>9.2}{:>12.2}{:>9.2}{:>12.2}{:>8}",
            self.peak,
            overload.offered(),
            self.share() * 100.0,
            overload.busy * 100.0,
            taken[0],
            taken[1],
            refused[0],
            refused[1],
            self.poll(),
            overload.others(&[200, 503]),
        );
    }
}

fn tell_columns() {
    println!(
        "\n{:<10}{:>16}{:>9}{:>9}{:>12}{:>9}{:>12}{:>9}{:>12}{:>8}",
        "peak",
        "at twice: sent",
        "goodput",
        "core",
        "taken: p50",
        "p99 ms",
        "503: p50",
        "p99 ms",
        "poll: p99",
        "others"
    );
}

fn sum_up(rounds: &[Round], polls_at_rest: f64) {
    let quartiles = |figure: fn(&Round) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        // Each lies between two rounds.
        [1, 2, 3].map(|nth| rounds.len() * nth / 4).map(|nth| f64::midpoint(values[nth - 1], values[nth]))
    };
    let [low, median, high] = quartiles(|round| round.share() * 100.0);
    let bar = BARS.0 * 100.0;
    println!("\ngoodput at twice the peak: quartiles {low:.0}, {median:.0}, {high:.0} % (bar {bar:.0} %)");
    let [low, median, high] = quartiles(Round::refusal);
    println!("median of a refusal: quartiles {low:.1}, {median:.1}, {high:.1} ms (bar {} ms)", BARS.1);
    let [low, median, high] = quartiles(Round::poll);
    println!(
        "99th percentile of polls: quartiles {low:.1}, {median:.1}, {high:.1} ms, {:.1} times that at rest (bar {})",
        median / polls_at_rest,
        BARS.2
    );
}

/// In ms; `times` are sorted.
fn percentile(times: &[Duration], share: f64) -> f64 {
    let position = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    times.get(position).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
