//! Power cuts on real file systems, with a drive that keeps whatever reached it.
//!
//! The store lies on an image that is mounted. Under load the daemon is stopped where it stands, and the image is copied:
//! that is the drive as a power cut would have left it. The copy is mounted elsewhere, where the file system mends itself;
//! then its store is checked and started on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fastrand::Rng;

use super::acknowledged::Acknowledged;
use super::load::{Load, RATES};
use super::mount::{FileSystem, copy_of_one_moment};
use super::shim::Shim;
use super::subject::{Subject, scratch, write_partners};
use super::tally::Tally;
use super::verdict::Verdict;
use super::{cuts, seed};

/// Cuts of one daemon's life: a store that has grown breaks sooner than a small one.
const CUTS_OF_A_LIFE: usize = 13;

/// Longest time under load before a cut.
const LONGEST_LOAD: Duration = Duration::from_secs(3);

/// How long a daemon is under load before its first cut: until its store has pages that are written anew.
const WARM_UP: Duration = Duration::from_secs(8);

/// Volumes of every other life: small enough for many to be begun.
const SMALL_VOLUMES: &str = "8388608";
const LARGE_VOLUMES: &str = "268435456";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_power_cuts_on_ext4_loses_nothing_acknowledged() {
    campaign(FileSystem::Ext4, 4, Duration::ZERO, seed(4)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_power_cuts_on_xfs_loses_nothing_acknowledged() {
    campaign(FileSystem::Xfs, 4, Duration::ZERO, seed(4)).await;
}

/// `cargo test --release --test it power::images -- --ignored --nocapture --test-threads 1`, as root
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes and root; its figures are in the handbook"]
async fn power_cuts_on_ext4_lose_nothing_acknowledged() {
    campaign(FileSystem::Ext4, cuts(200), WARM_UP, seed(fastrand::u64(..))).await;
}

/// The same on XFS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes and root"]
async fn power_cuts_on_xfs_lose_nothing_acknowledged() {
    campaign(FileSystem::Xfs, cuts(50), WARM_UP, seed(fastrand::u64(..))).await;
}

/// An image as it was at a cut.
struct Cut {
    image: PathBuf,
    acknowledged: Acknowledged,
}

async fn campaign(on: FileSystem, cuts: usize, warm_up: Duration, seed: u64) {
    let directory = scratch();
    if on.is_at_hand(directory.path()).is_none() {
        return;
    }
    // For its clock alone.
    let Some(shim) = Shim::compiled("power cuts on file systems") else { return };
    let mut rng = Rng::with_seed(seed);
    let mut tally = Tally::default();
    let each = cuts.div_ceil(RATES.len());
    let lives = each.div_ceil(CUTS_OF_A_LIFE).max(each.min(2));
    for (nth, rate) in RATES.into_iter().flat_map(|rate| std::iter::repeat_n(rate, lives)).enumerate() {
        let volumes = if nth.is_multiple_of(2) { LARGE_VOLUMES } else { SMALL_VOLUMES };
        let subject = subject(directory.path(), volumes);
        let cuts = (each.div_ceil(lives), warm_up);
        let life = life(on, directory.path(), &subject, rate, cuts, &mut rng);
        for (nth, cut) in life.await.into_iter().enumerate() {
            let verdict = look(on, directory.path(), &subject, &cut, &shim).await;
            let kind = format!("{on:?}, load {rate}, volumes {volumes}");
            tally.add(&kind, &format!("cut {nth} of a life"), &verdict);
            std::fs::remove_file(cut.image).unwrap();
        }
    }
    tally.hold(&format!("{cuts} power cuts on {on:?}, seed {seed}"));
}

/// With its store on an image that is mounted.
fn subject(directory: &Path, volumes: &str) -> Subject {
    let partners = directory.join("partners");
    write_partners(&partners);
    Subject::new(&directory.join("home"), &directory.join("mounted/store"), &partners)
        .setting("store.volume_bytes", volumes)
}

/// One daemon under load on a new file system, and its cuts.
async fn life(
    on: FileSystem,
    directory: &Path,
    subject: &Subject,
    rate: u64,
    (cuts, warm_up): (usize, Duration),
    rng: &mut Rng,
) -> Vec<Cut> {
    let image = directory.join("image");
    on.make(&image).unwrap();
    let mounted = on.mount(&image, &directory.join("mounted")).unwrap();
    let daemon = subject.start(|_: &mut Command| {}).unwrap_or_else(|not_ready| panic!("{}", not_ready.said));
    let load = Load::new(rate, (subject.token("publishable"), subject.token("confidential")), || 0);
    let mut moments = rng.fork();
    let cutting = async {
        let mut made = Vec::new();
        tokio::time::sleep(warm_up).await;
        for nth in 0..cuts {
            tokio::time::sleep(LONGEST_LOAD.mul_f64(moments.f64())).await;
            daemon.signal("STOP");
            let (of, copy) = (image.clone(), directory.join(format!("cut-{nth}")));
            let to = copy.clone();
            tokio::task::spawn_blocking(move || copy_of_one_moment(&of, &to)).await.unwrap();
            // All that was answered before has come in by now, and nothing is answered.
            made.push(Cut { image: copy, acknowledged: load.acknowledged() });
            daemon.signal("CONT");
        }
        load.stop();
        made
    };
    let (cuts, ()) = tokio::join!(cutting, load.run(&daemon.caller, rng));
    drop(daemon);
    drop(mounted);
    cuts
}

async fn look(on: FileSystem, directory: &Path, subject: &Subject, cut: &Cut, shim: &Shim) -> Verdict {
    let mounted = on.mount(&cut.image, &directory.join("cut")).unwrap();
    let (checked, started) = (directory.join("checked"), mounted.path().join("store"));
    let copied = Command::new("cp").arg("-a").arg(&started).arg(&checked).status().unwrap();
    assert!(copied.success());
    let verdict = Verdict::of(subject, &checked, &started, &cut.acknowledged, Some(shim)).await;
    std::fs::remove_dir_all(checked).unwrap();
    verdict
}
