//! A disk that fails at one change to a file, for once or for good: with an error, full, half of a write done, or silent.
//!
//! A daemon runs on such a disk under load. A second after the fault it has told of it, or it serves on with nothing lost;
//! SIGTERM ends it, whatever hangs; its memory is bounded; and on a disk that is well all that it acknowledged is there.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::acknowledged::Acknowledged;
use super::broken::Broken;
use super::load::{Load, Tokens};
use super::shim::{Control, Fault, FaultKind, Shim};
use super::state::State;
use super::subject::{NotReady, Running, Started, Subject, scratch, write_partners};
use super::verdict::Verdict;
use super::{at_once, cuts, seed};

/// What a busy machine adds to how long something takes: little where a release build is given and runs alone, this many seconds
/// where this build's sample runs among all other tests.
fn busy(seconds: u64) -> Duration {
    let alone = std::env::var_os("OFFERD_BINARY").is_some();
    if alone { Duration::from_millis(500) } else { Duration::from_secs(seconds) }
}

/// How long a daemon has to tell of a fault.
fn told_within() -> Duration {
    Duration::from_secs(1) + busy(5)
}

/// How long a daemon drains, as it is set.
const DRAIN: &str = "2s";

/// How long SIGTERM may take: the drain, what it takes to close the store, and a last word.
fn ends_within() -> Duration {
    Duration::from_secs(2 + 3 + 1) + busy(20)
}

/// Longest wait for a fault: only one that lies behind all that a load does is not reached.
const REACHED_WITHIN: Duration = Duration::from_secs(20);

/// Longest wait for a daemon that is not ready yet, and for one whose disk has failed meanwhile.
const READY_WITHIN: Duration = Duration::from_secs(30);
const GOES_ON_WITHIN: Duration = Duration::from_secs(4);

/// How long an answer about readiness may take: who asks is a load balancer.
const READINESS_BOUND: Duration = Duration::from_millis(500);

/// Most memory that a daemon takes, whatever hangs.
const MEMORY_BYTES: u64 = 1024 * 1024 * 1024;

/// What the names of sled's files have: it takes a fault in its own way.
const SLEDS: &str = "/db";

/// Tables that are asked for after a fault.
const ASKED_FOR: usize = 16;

/// How long each may take.
const ASKING_BOUND: Duration = Duration::from_millis(500);

/// One of so many changes hangs.
const HANGS_EVERY: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_faults_of_the_disk_is_told_and_loses_nothing_acknowledged() {
    let mut rng = Rng::with_seed(seed(9));
    let kinds = [FaultKind::Error, FaultKind::Full, FaultKind::Short, FaultKind::Hang];
    let fault = |nth: usize| match nth / 4 {
        0 => Fault { at: rng.u64(1..20), kind: kinds[nth % 4], only: Some(SLEDS), for_good: rng.bool() },
        _ => Fault { at: rng.u64(1..500), kind: kinds[nth % 4], only: None, for_good: rng.bool() },
    };
    campaign((0..8).map(fault).collect()).await;
}

/// `cargo test --release --test it power::faults -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes half an hour"]
async fn a_fault_at_each_disk_operation_is_told_and_loses_nothing_acknowledged() {
    let cuts = cuts(1_000) as u64;
    let anywhere = (1..=cuts).flat_map(|at| {
        let odd = !at.is_multiple_of(2);
        let fault = |kind, for_good| Fault { at, kind, only: None, for_good };
        let hang = at.is_multiple_of(HANGS_EVERY);
        [
            Some(fault(FaultKind::Error, odd)),
            Some(fault(FaultKind::Full, !odd)),
            Some(fault(FaultKind::Short, false)),
            hang.then(|| fault(FaultKind::Hang, at.is_multiple_of(2 * HANGS_EVERY))),
        ]
    });
    let of_sleds = (1..=cuts / 10).map(|at| {
        let for_good = at.is_multiple_of(2);
        Some(Fault { at, kind: FaultKind::Error, only: Some(SLEDS), for_good })
    });
    campaign(anywhere.chain(of_sleds).flatten().collect()).await;
}

/// A store that is well, which all daemons of a campaign begin with.
struct Base {
    state: State,
    tokens: Tokens,
}

/// How a daemon took a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Taken {
    /// `/readyz` told of it.
    Told,
    /// The process ended, and said why.
    Ended,
    /// It served on.
    ServedOn,
    /// It did not come.
    NotReached,
}

async fn campaign(faults: Vec<Fault>) {
    let Some(shim) = Shim::compiled("faults of the disk") else { return };
    let directory = scratch();
    let subject = subject(directory.path());
    let base = Arc::new(base(&subject));
    let under_way = Arc::new(Semaphore::new(2 * at_once()));
    let mut enduring = JoinSet::new();
    let count = faults.len();
    for (nth, fault) in faults.into_iter().enumerate() {
        let permit = Arc::clone(&under_way).acquire_owned().await.expect("it is never closed");
        let (shim, base) = (shim.clone(), Arc::clone(&base));
        let place = directory.path().join(format!("fault-{nth}"));
        let subject = subject.elsewhere(&place.join("home"), &place.join("store"));
        enduring.spawn(async move {
            let endured = Endured::of(&subject, &shim, &base, fault).await;
            std::fs::remove_dir_all(place).unwrap();
            drop(permit);
            (fault, endured)
        });
    }
    let mut taken = std::collections::BTreeMap::<(String, Taken), usize>::new();
    let mut broken = Broken::default();
    while let Some(endured) = enduring.join_next().await {
        let (fault, endured) = endured.unwrap();
        *taken.entry((format!("{:?}", fault.kind), endured.taken)).or_default() += 1;
        for (wrong, said) in &endured.wrong {
            broken.note(wrong, || format!("{fault:?} at `{}`, {:?}: {said}", endured.came_to, endured.taken));
        }
    }
    println!("{count} faults of the disk");
    for ((kind, taken), times) in &taken {
        println!("{times:>6} times {kind}: {taken:?}");
    }
    broken.hold(&format!("{count} faults of the disk"));
}

fn subject(directory: &Path) -> Subject {
    let partners = directory.join("partners");
    write_partners(&partners);
    Subject::new(&directory.join("home"), &directory.join("store"), &partners)
        .setting("store.volume_bytes", "1048576")
        // So that what is asked for is read from the disk.
        .setting("store.cache_bytes", "1048576")
        .setting("shutdown.drain", DRAIN)
}

fn base(subject: &Subject) -> Base {
    let daemon = subject.start(|_: &mut Command| {}).unwrap_or_else(|not_ready| panic!("{}", not_ready.said));
    let tokens = (subject.token("publishable"), subject.token("confidential"));
    drop(daemon);
    Base { state: State::of(subject.store()), tokens }
}

/// What a daemon made of a fault.
struct Endured {
    taken: Taken,
    /// The change that it came to.
    came_to: String,
    /// What is wrong with that, and what was seen of it.
    wrong: Vec<(&'static str, String)>,
}

impl Endured {
    async fn of(subject: &Subject, shim: &Shim, base: &Base, fault: Fault) -> Self {
        let store = subject.store();
        base.state.write(store);
        let control = Control::new(store.with_extension("control"));
        let dress = |command: &mut Command| {
            shim.before(command, store, &control);
            fault.prepare(command);
        };
        let mut endured = Self { taken: Taken::NotReached, came_to: String::new(), wrong: Vec::new() };
        let nothing = Load::new(0, base.tokens.clone(), || 0).acknowledged();
        let (begun, mut came) = (Instant::now(), None);
        let is_enough = || {
            if came.is_none() && control.fired().is_some() {
                came = Some(Instant::now());
            }
            begun.elapsed() > READY_WITHIN || came.is_some_and(|came| came.elapsed() > GOES_ON_WITHIN)
        };
        let started = tokio::task::block_in_place(|| subject.start_until(is_enough, dress));
        let acknowledged = match started {
            Started::Ended(not_ready) => {
                endured.taken = Taken::Ended;
                endured.says_why(&not_ready);
                nothing
            }
            Started::Starting(daemon) => {
                // Whoever waits for it to be ready knows.
                endured.taken = Taken::Told;
                endured.must(control.fired().is_some(), "it is not ready, though nothing has failed yet");
                endured.end(daemon).await;
                nothing
            }
            Started::Ready(daemon) => endured.under_load(daemon, base, fault, &control).await,
        };
        endured.came_to = control.fired().unwrap_or_else(|| "nothing".to_owned());
        endured.mend(subject, shim, &acknowledged).await;
        endured
    }

    /// Puts a ready daemon under load until the fault has come, and looks at what it makes of it.
    async fn under_load(
        &mut self,
        mut daemon: Running,
        base: &Base,
        fault: Fault,
        control: &Control,
    ) -> Acknowledged {
        let load = Load::new(0, base.tokens.clone(), || 0);
        let caller = daemon.caller.clone();
        let mut rng = Rng::with_seed(fault.at);
        let watching = async {
            let begun = Instant::now();
            while control.fired().is_none() && begun.elapsed() < REACHED_WITHIN {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            if control.fired().is_some() {
                self.watch(&mut daemon, &load, fault).await;
                if fault.kind == FaultKind::Hang && !fault.for_good {
                    control.release();
                    self.recovers(&mut daemon).await;
                }
            }
            load.stop();
        };
        // What hangs is not waited for.
        tokio::select! {
            () = async { tokio::join!(load.run(&caller, &mut rng), std::future::pending::<()>()); } => {}
            () = watching => {}
        }
        let acknowledged = load.acknowledged();
        acknowledged.ask_for_some(&daemon, ASKED_FOR, ASKING_BOUND).await;
        self.end(daemon).await;
        acknowledged
    }

    /// The second after the fault.
    async fn watch(&mut self, daemon: &mut Running, load: &Load<'_>, fault: Fault) {
        let begun = Instant::now();
        let (mut acknowledged, mut half_way) = (load.count(), false);
        while begun.elapsed() < told_within() {
            if let Some(status) = daemon.ended() {
                self.taken = Taken::Ended;
                self.says_why(&NotReady { status: Some(status), said: daemon.log() });
                return;
            }
            match daemon.caller.ready(READINESS_BOUND).await {
                Some(200) => {}
                Some(_) => {
                    self.taken = Taken::Told;
                    return;
                }
                // It may be ending.
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            if !half_way && begun.elapsed() > told_within() / 2 {
                (acknowledged, half_way) = (load.count(), true);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.taken = Taken::ServedOn;
        self.must(load.count() > acknowledged, "it says that it is ready and takes no leads");
        let is_error = matches!(fault.kind, FaultKind::Error | FaultKind::Full);
        let log = daemon.log();
        let said = log.contains(" ERROR ") || log.contains(" WARN ");
        self.must(said || !is_error, "it says nothing of an error");
        self.must(!(is_error && fault.for_good), "it takes leads that no disk takes");
    }

    /// A disk that answers again is used again, by this process or the next.
    async fn recovers(&mut self, daemon: &mut Running) {
        let begun = Instant::now();
        while daemon.ended().is_none() && daemon.caller.ready(READINESS_BOUND).await != Some(200) {
            if begun.elapsed() > READY_WITHIN {
                return self.must(false, "the disk answers again, and it is neither ready nor has it ended");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// SIGTERM ends it.
    async fn end(&mut self, mut daemon: Running) {
        if daemon.ended().is_none() {
            let memory = daemon.memory().unwrap_or_default();
            self.must_as_seen(memory < MEMORY_BYTES, "it takes too much memory", || {
                format!("{memory} bytes")
            });
            daemon.signal("TERM");
        }
        let ended = daemon.ends_within(ends_within()).await;
        self.must_as_seen(ended.is_some(), "SIGTERM does not end it", || last_lines(&daemon.log()));
        self.must_as_seen(!daemon.log().contains("panic"), "it panics", || last_lines(&daemon.log()));
    }

    /// Checks and starts what is left, on a disk that is well.
    async fn mend(&mut self, subject: &Subject, shim: &Shim, acknowledged: &Acknowledged) {
        let (store, checked) = (subject.store(), subject.store().with_extension("checked"));
        State::of(store).write(&checked);
        let verdict = Verdict::of(subject, &checked, store, acknowledged, Some(shim)).await;
        self.must_as_seen(verdict.is_kept(), "afterwards not all is there", || format!("{verdict:?}"));
    }

    /// A process that has ended has an exit code that tells of a failure, and a last word that does.
    fn says_why(&mut self, ended: &NotReady) {
        let code = ended.status.and_then(|status| status.code());
        let is_clear = code.is_some_and(|code| code != 0 && code != 101);
        self.must_as_seen(is_clear, "it ends with no clear exit code", || format!("{:?}", ended.status));
        self.must(ended.said.contains("ERROR"), "it ends without a word");
        self.must_as_seen(!ended.said.contains("panic"), "it panics", || last_lines(&ended.said));
    }

    fn must(&mut self, hold: bool, wrong: &'static str) {
        self.must_as_seen(hold, wrong, String::new);
    }

    fn must_as_seen(&mut self, hold: bool, wrong: &'static str, seen: impl FnOnce() -> String) {
        if !hold {
            self.wrong.push((wrong, seen()));
        }
    }
}

/// What a daemon said last.
fn last_lines(log: &str) -> String {
    const LINES: usize = 30;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
