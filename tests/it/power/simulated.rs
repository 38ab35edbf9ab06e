//! Power cuts on a disk that loses what was not synced, in any part and order.
//!
//! A daemon under load is recorded. Of each moment of the recording any number of states can be made that a disk may be
//! left in; of each, `offerd store check` has to say that it is whole, and a daemon that starts on it has to have all that
//! was acknowledged until then. Indexes are disposable: some states have none, some have garbage in their place, and some
//! those of another moment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
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
const RECORDED: Duration = Duration::from_millis(2_500);

/// Of so many cuts one is before the first lead, while the store is being made.
const EARLY: usize = 16;

/// Small volumes, so that a recording has several.
const VOLUME_BYTES: &str = "2097152";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_power_cuts_that_lose_unsynced_writes_loses_nothing_acknowledged() {
    campaign(24, Duration::from_millis(800), seed(16)).await;
}

/// `cargo test --release --test it power::simulated -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a quarter of an hour; its figures are in the README"]
async fn power_cuts_that_lose_unsynced_writes_lose_nothing_acknowledged() {
    campaign(cuts(2_000), RECORDED, seed(fastrand::u64(..))).await;
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
    root: PathBuf,
    operations: Vec<Operation>,
    acknowledged: Acknowledged,
}

async fn campaign(cuts: usize, recorded: Duration, seed: u64) {
    let Some(shim) = Shim::compiled("simulated power cuts") else { return };
    let mut rng = Rng::with_seed(seed);
    let mut tally = Tally::default();
    let each = cuts.div_ceil(RATES.len());
    for rate in RATES {
        let directory = scratch();
        let recorded = record(directory.path(), &shim, rate, recorded, &mut rng).await;
        cut_again_and_again(directory.path(), &shim, &recorded, rate, each, &mut rng, &mut tally).await;
    }
    tally.hold(&format!("{cuts} simulated power cuts that lose unsynced writes, seed {seed}"));
}

fn subject(directory: &Path) -> Subject {
    let partners = directory.join("partners");
    write_partners(&partners);
    Subject::new(&directory.join("home"), &directory.join("store"), &partners)
        .setting("store.volume_bytes", VOLUME_BYTES)
}

/// Records a daemon from its first start on, under a load, to a SIGKILL.
async fn record(directory: &Path, shim: &Shim, rate: u64, long: Duration, rng: &mut Rng) -> Recorded {
    let subject = subject(directory);
    let (store, log) = (subject.store().to_owned(), directory.join("recording"));
    std::fs::create_dir(&store).unwrap();
    let control = Control::new(directory.join("control"));
    let daemon = subject
        .start(|command| {
            shim.before(command, &store, &control);
            shim.recording(command, &log);
        })
        .unwrap_or_else(|not_ready| panic!("{}", not_ready.said));
    let load =
        Load::new(rate, (subject.token("publishable"), subject.token("confidential")), || control.entries());
    tokio::join!(load.run(&daemon.caller, rng), async {
        tokio::time::sleep(long).await;
        load.stop();
    });
    assert_eq!(load.refused(), 0, "a daemon whose disk is well takes leads");
    drop(daemon);

    let acknowledged = load.acknowledged();
    let operations = recording::read(&log);
    std::fs::remove_file(&log).unwrap();
    let root = store.canonicalize().unwrap();
    let mut disk = Disk::new(&root);
    operations.iter().for_each(|operation| disk.apply(operation));
    // Nothing was written past the shim.
    assert_eq!(disk.whole().difference(&State::of(&store)), None, "the recording is not what was done");
    println!("load {rate}: {} leads, {} operations recorded", acknowledged.leads().len(), operations.len());
    Recorded { root, operations, acknowledged }
}

/// Makes states and looks at them, a few at once.
async fn cut_again_and_again(
    directory: &Path,
    shim: &Shim,
    recorded: &Recorded,
    rate: u64,
    cuts: usize,
    rng: &mut Rng,
    tally: &mut Tally,
) {
    let subject = subject(directory);
    let mut disk = Disk::new(&recorded.root);
    let mut other_index = BTreeMap::new();
    let looked_at = Arc::new(Semaphore::new(at_once()));
    let mut looking = JoinSet::new();
    for (nth, at) in moments(recorded, cuts, rng).into_iter().enumerate() {
        while disk.at() < at {
            disk.apply(&recorded.operations[disk.at()]);
        }
        let (loss, by_file) = Loss::drawn(rng);
        let state = disk.cut(loss, by_file, rng);
        let index = state.index();
        let (kind, state) = with_index(state, &mut other_index, index, rng);
        let acknowledged = recorded.acknowledged.until(at as u64);
        let cut = format!("load {rate}, operation {at}, {loss:?}, by file: {by_file}, index {kind:?}");
        let (subject, shim) = (subject.clone(), shim.clone());
        let place = directory.join(format!("state-{nth}"));
        let permit = Arc::clone(&looked_at).acquire_owned().await.expect("it is never closed");
        looking.spawn(async move {
            let verdict = look(&subject, &shim, &place, state, &acknowledged).await;
            drop(permit);
            (format!("load {rate}, index {kind:?}"), cut, verdict)
        });
    }
    while let Some(looked) = looking.join_next().await {
        let (kind, cut, verdict) = looked.unwrap();
        tally.add(&kind, &cut, &verdict);
    }
}

/// Moments of a recording in their order, a few before the first lead.
fn moments(recorded: &Recorded, cuts: usize, rng: &mut Rng) -> Vec<usize> {
    let all = recorded.operations.len();
    let first =
        recorded.acknowledged.answers.first().map_or(all, |answer| usize::try_from(answer.at).unwrap());
    let moment =
        |nth: usize| if nth.is_multiple_of(EARLY) { rng.usize(..first) } else { rng.usize(first..=all) };
    let mut moments: Vec<usize> = (0..cuts).map(moment).collect();
    moments.sort_unstable();
    moments
}

/// What becomes of the index; `other` is that of the moment before.
fn with_index(
    state: State,
    other: &mut BTreeMap<PathBuf, Vec<u8>>,
    index: BTreeMap<PathBuf, Vec<u8>>,
    rng: &mut Rng,
) -> (Index, State) {
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
