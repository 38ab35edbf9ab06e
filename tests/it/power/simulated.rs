//! Power cuts on a disk that loses what was not synced, in any part and order.
//!
//! A daemon under load is recorded. Of each moment of the recording any number of states can be made that a disk may be
//! left in; of each, `offerd store check` has to say that it is whole, and a daemon that starts on it has to have all that
//! was acknowledged until then. Indexes are disposable: some states have none, some have garbage in their place, and some
//! those of another moment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::acknowledged::Acknowledged;
use super::disk::Disk;
use super::load::{Load, RATES};
use super::loss::Loss;
use super::recording::{self, Operation};
use super::shim::{Control, Shim};
use super::state::State;
use super::subject::{Subject, scratch, write_partners};
use super::tally::Tally;
use super::verdict::Verdict;
use super::{at_once, cuts, seed};

/// How long a load is recorded.
const RECORDED: Duration = Duration::from_secs(4);

/// Lives of one store under a load: each later one begins on what a cut has left of the one before, so that what a
/// start mends is cut too.
const LIVES: usize = 3;

/// Of so many cuts one is before the first lead of a life, while the store is being made or mended.
const EARLY: usize = 8;

/// So many operations after a rename are soon after it. Another of so many as above is there.
const SOON: usize = 6;

/// Volumes of every other store: small enough for several to be begun.
const SMALL_VOLUMES: &str = "2097152";
const LARGE_VOLUMES: &str = "268435456";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_power_cuts_that_lose_unsynced_writes_loses_nothing_acknowledged() {
    campaign(12, Duration::from_millis(700), Loss::drawn, seed(16)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_kills_between_any_two_disk_operations_loses_nothing_acknowledged() {
    campaign(12, Duration::from_millis(700), |_| (Loss::Nothing, false), seed(16)).await;
}

/// `cargo test --release --test it power::simulated -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a quarter of an hour; its figures are in the handbook"]
async fn power_cuts_that_lose_unsynced_writes_lose_nothing_acknowledged() {
    campaign(cuts(2_000), RECORDED, Loss::drawn, seed(fastrand::u64(..))).await;
}

/// What became of the index of a state.
#[derive(Debug, Clone, Copy)]
enum Index {
    AsItIs,
    Gone,
    Garbage,
    OfAnotherMoment,
}

/// A load with what was done to the disk.
struct Recorded {
    /// What the disk held before.
    before: State,
    root: PathBuf,
    operations: Vec<Operation>,
    acknowledged: Acknowledged,
}

/// What a cut takes, and whether each file loses for itself.
type Draw = fn(&mut Rng) -> (Loss, bool);

/// A store under one load.
struct Trial {
    directory: TempDir,
    subject: Subject,
    shim: Shim,
    rate: u64,
    recorded: Duration,
    draw: Draw,
}

async fn campaign(cuts: usize, recorded: Duration, draw: Draw, seed: u64) {
    let Some(shim) = Shim::compiled("simulated power cuts") else { return };
    let mut rng = Rng::with_seed(seed);
    let mut tally = Tally::default();
    for (nth, rate) in RATES.into_iter().enumerate() {
        let directory = scratch();
        let volumes = if nth.is_multiple_of(2) { SMALL_VOLUMES } else { LARGE_VOLUMES };
        let subject = subject(directory.path(), volumes);
        let trial = Trial { directory, subject, shim: shim.clone(), rate, recorded, draw };
        trial.live(cuts / RATES.len() / LIVES, &mut rng, &mut tally).await;
    }
    tally.hold(&format!("{cuts} simulated power cuts, seed {seed}"));
}

fn subject(directory: &Path, volumes: &str) -> Subject {
    let partners = directory.join("partners");
    write_partners(&partners);
    Subject::new(&directory.join("home"), &directory.join("store"), &partners)
        .setting("store.volume_bytes", volumes)
}

impl Trial {
    /// The lives of a store, each cut again and again.
    async fn live(&self, cuts: usize, rng: &mut Rng, tally: &mut Tally) {
        let (mut state, mut acknowledged) = (State::default(), None);
        for life in 0..LIVES {
            let kind = format!("load {}, life {life}", self.rate);
            let life = match self.record(state, acknowledged.take(), rng).await {
                Ok(life) => life,
                Err(said) => {
                    tally.broken.push(format!("{kind}: no daemon starts on what a cut has left: {said}"));
                    return;
                }
            };
            println!(
                "{kind}: {} leads, {} operations",
                life.acknowledged.leads().len(),
                life.operations.len()
            );
            self.cut_again_and_again(&life, &kind, cuts, rng, tally).await;
            (state, acknowledged) = self.last_cut(&life, rng);
        }
    }

    /// What the next life of a store begins with, and what it has to have.
    fn last_cut(&self, life: &Recorded, rng: &mut Rng) -> (State, Option<Acknowledged>) {
        let mut disk = Disk::holding(&life.before, &life.root);
        let at = moments(life, EARLY, rng)[EARLY - 1];
        life.operations[..at].iter().for_each(|operation| disk.apply(operation));
        let (loss, by_file) = (self.draw)(rng);
        (disk.cut(loss, by_file, rng), Some(life.acknowledged.until(at as u64).of_old()))
    }

    /// Records a daemon from its start on this state, under load, to a SIGKILL. Fails with what it said when it does not
    /// start.
    async fn record(
        &self,
        before: State,
        old: Option<Acknowledged>,
        rng: &mut Rng,
    ) -> Result<Recorded, String> {
        let store = self.subject.store();
        let _ = std::fs::remove_dir_all(store);
        before.write(store);
        let log = self.directory.path().join("recording");
        let control = Control::new(self.directory.path().join("control"));
        let dress = |command: &mut Command| {
            self.shim.before(command, store, &control);
            self.shim.recording(command, &log);
        };
        let daemon = self.subject.start(dress).map_err(|not_ready| not_ready.said)?;
        let tokens = old.as_ref().map(|old| (old.publishable.clone(), old.confidential.clone()));
        let tokens =
            tokens.unwrap_or_else(|| (self.subject.token("publishable"), self.subject.token("confidential")));
        let load = Load::new(self.rate, tokens, || control.entries());
        tokio::join!(load.run(&daemon.caller, rng), async {
            tokio::time::sleep(self.recorded).await;
            load.stop();
        });
        assert_eq!(load.refused(), 0, "a daemon whose disk is well takes leads");
        // A kill between a change and its entry would make a recording of something else.
        control.freeze();
        drop(daemon);

        let mut acknowledged = load.acknowledged();
        acknowledged.answers.splice(..0, old.into_iter().flat_map(|old| old.answers));
        let operations = recording::read(&log);
        std::fs::remove_file(&log).unwrap();
        let root = store.canonicalize().unwrap();
        let mut disk = Disk::holding(&before, &root);
        operations.iter().for_each(|operation| disk.apply(operation));
        // Nothing was written past the shim.
        assert_eq!(disk.whole().difference(&State::of(store)), None, "the recording is not what was done");
        Ok(Recorded { before, root, operations, acknowledged })
    }

    /// Makes states and looks at them, a few at once.
    async fn cut_again_and_again(
        &self,
        recorded: &Recorded,
        life: &str,
        cuts: usize,
        rng: &mut Rng,
        tally: &mut Tally,
    ) {
        let mut disk = Disk::holding(&recorded.before, &recorded.root);
        let mut other_index = BTreeMap::new();
        let looked_at = Arc::new(Semaphore::new(at_once()));
        let mut looking = JoinSet::new();
        for (nth, at) in moments(recorded, cuts, rng).into_iter().enumerate() {
            while disk.at() < at {
                disk.apply(&recorded.operations[disk.at()]);
            }
            let (loss, by_file) = (self.draw)(rng);
            let (index, state) = with_index(disk.cut(loss, by_file, rng), &mut other_index, rng);
            let acknowledged = recorded.acknowledged.until(at as u64);
            let cut = format!("operation {at}, {loss:?}, by file: {by_file}");
            let kind = format!("{life}, index {index:?}");
            let (subject, shim) = (self.subject.clone(), self.shim.clone());
            let place = self.directory.path().join(format!("state-{nth}"));
            let permit = Arc::clone(&looked_at).acquire_owned().await.expect("it is never closed");
            looking.spawn(async move {
                let verdict = look(&subject, &shim, &place, state, &acknowledged).await;
                drop(permit);
                (kind, cut, verdict)
            });
        }
        while let Some(looked) = looking.join_next().await {
            let (kind, cut, verdict) = looked.unwrap();
            tally.add(&kind, &cut, &verdict);
        }
    }
}

/// Moments of a recording in their order, some before its first lead, some soon after a rename.
fn moments(recorded: &Recorded, cuts: usize, rng: &mut Rng) -> Vec<usize> {
    let all = recorded.operations.len();
    let answers = recorded.acknowledged.answers.iter().map(|answer| usize::try_from(answer.at).unwrap());
    let first = answers.filter(|at| *at > 0).min().unwrap_or(all);
    let is_rename = |(_, operation): &(usize, &Operation)| matches!(operation, Operation::Rename { .. });
    let named: Vec<usize> =
        recorded.operations.iter().enumerate().filter(is_rename).map(|(at, _)| at).collect();
    let mut moment = |nth: usize| match nth % EARLY {
        0 => rng.usize(..first),
        1 if !named.is_empty() => all.min(named[rng.usize(..named.len())] + rng.usize(1..=SOON)),
        _ => rng.usize(first..=all),
    };
    let mut moments: Vec<usize> = (0..cuts).map(&mut moment).collect();
    moments.sort_unstable();
    moments
}

/// What becomes of the index; `other` is that of the moment before.
fn with_index(state: State, other: &mut BTreeMap<PathBuf, Vec<u8>>, rng: &mut Rng) -> (Index, State) {
    let index = state.index();
    if index.is_empty() {
        return (Index::AsItIs, state);
    }
    let before = std::mem::replace(other, index);
    match rng.u8(0..8) {
        0 => (Index::Gone, state.with_index(BTreeMap::new())),
        1 => (Index::Garbage, state.with_garbage(rng)),
        2 => (Index::OfAnotherMoment, state.with_index(before)),
        _ => (Index::AsItIs, state),
    }
}

/// Looks at one state. It is kept where somebody wants to see those that broke a promise.
async fn look(
    subject: &Subject,
    shim: &Shim,
    place: &Path,
    state: State,
    acknowledged: &Acknowledged,
) -> Verdict {
    let (checked, started) = (place.join("checked"), place.join("started"));
    state.write(&checked);
    state.write(&started);
    let verdict = Verdict::of(subject, &checked, &started, acknowledged, Some(shim)).await;
    if let Some(keep) = std::env::var_os("OFFERD_POWER_KEEP").filter(|_| !verdict.is_kept()) {
        state.write(&PathBuf::from(keep).join(place.file_name().expect("a state has a name")));
    }
    std::fs::remove_dir_all(place).unwrap();
    verdict
}
