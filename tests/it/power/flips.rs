//! Files of a store that are not as they were written: a byte flipped, an end cut off, a file gone.
//!
//! Whatever it is, `offerd store check` finds it and names where it is, or the store is whole without it; no command panics,
//! and a daemon starts with what is left or says why it does not. Of a stopped store, whose indexes find what a walk of its
//! files does not, a salvage keeps what the check calls sound and the daemon serves.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::acknowledged::Acknowledged;
use super::broken::Broken;
use super::load::Load;
use super::shim::Shim;
use super::state::State;
use super::subject::{Started, Subject, scratch, write_partners};
use super::verdict::{AHEAD, leads};
use super::{at_once, seed, variable};

/// A file no longer than this is flipped byte by byte: manifests are.
const SHORT: usize = 4_096;

/// How many damages are looked at with every run of the tests.
const SAMPLE: usize = 40;

/// Bytes at the beginning of each file that are flipped one by one.
const HEADING: usize = 64;

/// Bytes before the key of an entry of a record file, in which its lengths are; they begin with its mark.
const HEAD: usize = 14;

/// Where the mark of a record file is in its heading.
const MARK: std::ops::Range<usize> = 16..20;

/// Trees of which a salvage writes or removes records of its own.
const OF_A_SALVAGE: [&str; 3] = ["audit", "followers", "suppressions"];

/// What runs until a store has so many volumes.
const VOLUMES: usize = 3;

/// How long the last write of the journal may be.
const LAST_WRITE: usize = 65_536;

/// Answers that are enough, however few volumes there are then.
const ANSWERS: usize = 1_500;

/// Longest start of a store that is damaged.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// How long a command on a store this small may take.
const COMMAND_BOUND: &str = "60";

/// What only a library would say, to nobody's use.
const RAW: [&str; 3] = ["backtrace (", "Read corrupted data", "called `"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_flipped_bytes_is_found_and_named() {
    campaign(3, SAMPLE, 4, seed(12)).await;
}

/// `cargo test --release --test it power::flips -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes the better part of an hour"]
async fn every_flipped_byte_is_found_and_named() {
    let places = variable("OFFERD_POWER_FLIPS")
        .map_or(2_000, |places| usize::try_from(places).expect("not that many"));
    campaign(places, usize::MAX, 10, seed(fastrand::u64(..))).await;
}

/// What is done to a file.
#[derive(Debug, Clone)]
struct Damage {
    file: PathBuf,
    kind: Kind,
    /// Of the stopped store, not of the killed one.
    is_of_stopped: bool,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Flipped { at: usize, bit: u8 },
    CutOff { length: usize },
    Gone,
}

/// A store that is whole but for its sudden end.
struct Whole {
    state: State,
    /// After a command that has opened and closed it.
    stopped: State,
    acknowledged: Acknowledged,
    /// What a check says of it.
    leads: usize,
}

/// How a check took damage, and what is wrong with that.
#[derive(Debug)]
struct Found {
    damage: Damage,
    is_found: bool,
    /// Each with what was said.
    wrong: Vec<(&'static str, String)>,
}

/// At most `most` damages, of `places` in each long file; a daemon is started on one of so many states.
async fn campaign(places: usize, most: usize, start_every: usize, seed: u64) {
    let Some(shim) = Shim::compiled("the sweep of flipped bytes") else { return };
    let mut rng = Rng::with_seed(seed);
    let directory = scratch();
    let subject = subject(directory.path());
    let whole = Arc::new(whole(&subject, &mut rng).await);
    let mut damages = damages(&whole.state, places, &mut rng);
    rng.shuffle(&mut damages);
    damages.truncate(most);
    let mut heads = heads_flipped(&whole.stopped, places, &mut rng);
    rng.shuffle(&mut heads);
    damages.extend(heads.into_iter().take(most / 4));
    println!("{} damages of {} files, {} leads", damages.len(), whole.state.files.len(), whole.leads);
    let looked_at = Arc::new(Semaphore::new(at_once()));
    let mut looking = JoinSet::new();
    for (nth, damage) in damages.into_iter().enumerate() {
        let permit = Arc::clone(&looked_at).acquire_owned().await.expect("it is never closed");
        let place = directory.path().join(format!("damage-{nth}"));
        let (subject, whole) = (subject.clone(), Arc::clone(&whole));
        let shim = nth.is_multiple_of(start_every).then(|| shim.clone());
        looking.spawn(async move {
            let found = Found::of(damage, &subject, &place, &whole, shim.as_ref()).await;
            drop(permit);
            found
        });
    }
    let mut counts = BTreeMap::<PathBuf, (usize, usize)>::new();
    let mut broken = Broken::default();
    while let Some(found) = looking.join_next().await {
        let found = found.unwrap();
        let (damaged, told) = counts.entry(found.damage.file.clone()).or_default();
        *damaged += 1;
        *told += usize::from(found.is_found);
        for (wrong, said) in &found.wrong {
            broken.note(wrong, || format!("{}: {said}", found.damage));
        }
    }
    for (file, (damaged, told)) in &counts {
        println!("{:<60} {damaged:>6} damages, {told:>6} found, the others cost nothing", file.display());
    }
    broken.hold(&format!("the sweep of flipped bytes, seed {seed}"));
}

fn subject(directory: &Path) -> Subject {
    let partners = directory.join("partners");
    write_partners(&partners);
    Subject::new(&directory.join("home"), &directory.join("store"), &partners)
        .setting("store.volume_bytes", "1048576")
}

/// A small store of several volumes, killed under load.
async fn whole(subject: &Subject, rng: &mut Rng) -> Whole {
    let daemon = subject.start(|_: &mut Command| {}).unwrap_or_else(|not_ready| panic!("{}", not_ready.said));
    let load = Load::new(0, (subject.token("publishable"), subject.token("confidential")), || 0);
    let volumes = subject.store().join("volumes");
    tokio::join!(load.run(&daemon.caller, rng), async {
        let volumes_now = || std::fs::read_dir(&volumes).map_or(0, Iterator::count);
        while volumes_now() < VOLUMES && load.count() < ANSWERS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        load.stop();
    });
    drop(daemon);
    // How commands found the daemon that was killed; no part of the store.
    let _ = std::fs::remove_file(subject.store().join("daemon.json"));
    let state = State::of(subject.store());
    let output = check(subject);
    let told = told(&output);
    assert!(output.status.success(), "a killed store is whole: {told}");
    let (stopped, leads) = (State::of(subject.store()), leads(&told).expect("a check counts leads"));
    Whole { state, stopped, acknowledged: load.acknowledged(), leads }
}

/// What is done to the files of a store, one at a time.
fn damages(state: &State, places: usize, rng: &mut Rng) -> Vec<Damage> {
    let mut damages = Vec::new();
    for (file, bytes) in &state.files {
        // Files are made longer than what is in them yet.
        let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let mut kinds = vec![Kind::Gone];
        if !bytes.is_empty() {
            kinds.extend([0, written / 2, written.saturating_sub(1)].map(|length| Kind::CutOff { length }));
            let flipped = flipped(bytes.len(), written.max(1), places, rng);
            kinds.extend(flipped.into_iter().map(|at| Kind::Flipped { at, bit: rng.u8(..8) }));
        }
        let damage = |kind| Damage { file: file.clone(), kind, is_of_stopped: false };
        damages.extend(kinds.into_iter().map(damage));
    }
    damages
}

/// Bytes of the heads of entries, flipped one at a time: `places` in each record file.
fn heads_flipped(stopped: &State, places: usize, rng: &mut Rng) -> Vec<Damage> {
    let is_of_records =
        |(file, _): &(&PathBuf, &Vec<u8>)| file.extension().is_some_and(|end| end == "records");
    let mut damages = Vec::new();
    for (file, bytes) in stopped.files.iter().filter(is_of_records) {
        let entries = memchr::memmem::find_iter(bytes, &bytes[MARK]).skip(1).collect::<Vec<_>>();
        for _ in 0..if entries.is_empty() { 0 } else { places } {
            let at = entries[rng.usize(..entries.len())] + rng.usize(..HEAD);
            let kind = Kind::Flipped { at, bit: rng.u8(..8) };
            damages.push(Damage { file: file.clone(), kind, is_of_stopped: true });
        }
    }
    damages
}

/// Where bytes are flipped: in the heading one by one, of a short file all, else here and there.
fn flipped(length: usize, written: usize, places: usize, rng: &mut Rng) -> Vec<usize> {
    if length <= SHORT && length <= places * 2 {
        return (0..length).collect();
    }
    let heading = 0..HEADING.min(places).min(length);
    let here = std::iter::repeat_with(|| rng.usize(..written)).take(places).collect::<Vec<_>>();
    let there = std::iter::repeat_with(|| rng.usize(..length)).take(places / 8);
    heading.chain(here).chain(there).collect()
}

impl Damage {
    fn done_to(&self, whole: &Whole) -> State {
        let mut state = if self.is_of_stopped { &whole.stopped } else { &whole.state }.clone();
        let bytes = state.files.get_mut(&self.file).expect("a file of the store");
        match self.kind {
            Kind::Flipped { at, bit } => bytes[at] ^= 1 << bit,
            Kind::CutOff { length } => bytes.truncate(length),
            Kind::Gone => drop(state.files.remove(&self.file)),
        }
        state
    }

    /// Whether a text says where it is: by the file's name, or by that of the volume or the part of the store it is of.
    fn is_named_in(&self, told: &str) -> bool {
        let names: Vec<_> = self.file.iter().map(|name| name.to_string_lossy()).collect();
        if let [volumes, number, ..] = &names[..]
            && volumes == "volumes"
        {
            return [format!("volume {number}"), format!("volumes/{number}")]
                .iter()
                .any(|name| told.contains(name));
        }
        let is_of_a_word = |character: char| character.is_alphanumeric() || "._-".contains(character);
        let mut words =
            told.split(|character| !is_of_a_word(character)).map(|word| word.trim_end_matches('.'));
        words.any(|word| names.iter().any(|name| name == word))
    }

    /// Whether it is where a power cut may have ended the last write of the journal: nobody can tell that from damage.
    fn may_be_an_end(&self, whole: &State) -> bool {
        let is_journal = |file: &Path| file.parent().is_some_and(|parent| parent.ends_with("journal"));
        let is_segment = |file: &Path| is_journal(file) && file.extension().is_some();
        let newest = whole.files.keys().filter(|file| is_segment(file)).max();
        let end = |file| whole.files[file].iter().rposition(|byte| *byte != 0).unwrap_or_default();
        !self.is_of_stopped
            && newest == Some(&self.file)
            && match self.kind {
                Kind::Flipped { at, .. } => at + LAST_WRITE > end(&self.file),
                Kind::CutOff { .. } => true,
                Kind::Gone => false,
            }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.is_of_stopped { "stopped" } else { "killed" };
        write!(f, "{of}, {} {:?}", self.file.display(), self.kind)
    }
}

impl Found {
    async fn of(damage: Damage, subject: &Subject, place: &Path, whole: &Whole, shim: Option<&Shim>) -> Self {
        let state = damage.done_to(whole);
        let [checked, started, salvaged] = ["checked", "started", "salvaged"].map(|name| place.join(name));
        state.write(&checked);
        let on_copy = subject.elsewhere(&place.join("home"), &checked);
        let kept = damage.is_of_stopped.then(|| counts(&salvage(&on_copy, &salvaged)));
        let output = tokio::task::spawn_blocking(move || check(&on_copy)).await.unwrap();
        let mut found = Self { is_found: !output.status.success(), damage, wrong: Vec::new() };
        let may_be_an_end = found.damage.may_be_an_end(&whole.state);
        found.checked(&output, whole, may_be_an_end);
        if let Some(kept) = &kept {
            let sound = counts(&told(&output));
            found.must(*kept == sound, "a salvage keeps something else", &format!("{kept:?}, not {sound:?}"));
        }
        if let Some(shim) = shim {
            state.write(&started);
            let subject = subject.elsewhere(&place.join("home"), &started);
            let missing = found.started(&subject, whole, may_be_an_end, shim).await;
            if kept.is_some() {
                let salvaged = subject.elsewhere(&place.join("home"), &salvaged);
                let lost = found.started(&salvaged, whole, may_be_an_end, shim).await;
                let same = missing == lost;
                found.must(
                    same,
                    "a salvaged store serves something else",
                    &format!("{lost:?}, not {missing:?}"),
                );
            }
        }
        std::fs::remove_dir_all(place).unwrap();
        found
    }

    /// What a check may say.
    fn checked(&mut self, output: &Output, whole: &Whole, may_be_an_end: bool) {
        let told = told(output);
        let last = told.lines().last().unwrap_or_default().to_owned();
        self.must(!told.contains("panicked"), "the check panics", &told);
        self.must(matches!(output.status.code(), Some(0 | 1)), "the check's exit code", &last);
        if self.is_found {
            self.must(self.damage.is_named_in(&told), "the check does not name it", &told);
            self.must(!RAW.iter().any(|raw| told.contains(raw)), "the check quotes a library", &last);
        } else {
            let is_whole = leads(&told) == Some(whole.leads);
            self.must(is_whole || may_be_an_end, "the check says whole, and leads are gone", &told);
        }
    }

    /// A daemon starts with what is left, or says why it does not.
    /// Returns what is missing then.
    async fn started(
        &mut self,
        subject: &Subject,
        whole: &Whole,
        may_be_an_end: bool,
        shim: &Shim,
    ) -> Option<String> {
        let begun = Instant::now();
        let (subject, shim) = (subject.clone(), shim.clone());
        let is_enough = move || begun.elapsed() > READY_WITHIN;
        let start = move || subject.start_until(is_enough, |command| shim.ahead(command, AHEAD));
        match tokio::task::spawn_blocking(start).await.unwrap() {
            Started::Starting(daemon) => self.must(false, "a start hangs", &daemon.log()),
            Started::Ended(ended) => {
                let code = ended.status.and_then(|status| status.code());
                let said = ended.said.lines().last().unwrap_or_default().to_owned();
                let is_clear = code.is_some_and(|code| code != 0 && code != 101) && said.contains("ERROR");
                self.must(is_clear, "a start ends without a word", &said);
                self.must(!RAW.iter().any(|raw| said.contains(raw)), "a start quotes a library", &said);
                self.must(!ended.said.contains("panic"), "a start panics", &said);
                self.must(self.is_found, "nothing is found, and no daemon starts", &said);
            }
            Started::Ready(daemon) => {
                let missing = whole.acknowledged.missing_in(&daemon).await;
                // Where damage was told, less may be there; but every question has an answer.
                let is_known = self.is_found || may_be_an_end;
                let is_kept = missing.is_nothing() || (is_known && missing.refused.is_none());
                self.must(is_kept, "a started daemon lacks what was acknowledged", &format!("{missing:?}"));
                self.must(!daemon.log().contains("panic"), "a daemon panics", &daemon.log());
                return Some(format!("{missing:?}"));
            }
        }
        None
    }

    fn must(&mut self, hold: bool, wrong: &'static str, said: &str) {
        if !hold {
            self.wrong.push((wrong, said.chars().take(300).collect()));
        }
    }
}

fn check(subject: &Subject) -> Output {
    let check = subject.command(&["store", "check"]);
    let mut command = Command::new("timeout");
    command.arg(COMMAND_BOUND).arg(check.get_program()).args(check.get_args());
    command.current_dir(check.get_current_dir().expect("a subject has a home"));
    command.envs(check.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().expect("the binary runs")
}

/// What is told of a salvage of a store into another directory.
fn salvage(subject: &Subject, into: &Path) -> String {
    told(&subject.run(&["store", "salvage", "--into", into.to_str().expect("a name in UTF-8")]))
}

/// The records that a check or a salvage has counted, by tree.
fn counts(told: &str) -> BTreeMap<String, u64> {
    let rows = told.lines().map(str::trim).skip_while(|line| !line.starts_with("tree ")).skip(1);
    let rows = rows.take_while(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    let count = |row: &str| {
        let mut cells = row.split_whitespace();
        Some((cells.next()?.to_owned(), cells.next()?.parse().ok()?))
    };
    rows.filter_map(count).filter(|(tree, count)| *count > 0 && !OF_A_SALVAGE.contains(&&**tree)).collect()
}

/// Both outputs.
fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}
