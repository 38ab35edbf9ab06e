//! SIGKILL of one of three nodes at random moments, and restarts of the database, under load: a model outside of them holds whatever
//! any node acknowledged against what any node shows later.

use std::process::{Command, Stdio};
use std::time::Duration;

use fastrand::Rng;

use super::front::{Front, alone};
use crate::crash::campaign::{plan, seed};
use crate::kit::signal;

/// Kills of a node in a test, and restarts of the database between them.
const SAMPLE: (usize, usize) = (8, 1);

/// Longest time under load before a kill.
const LONGEST_LOAD: Duration = Duration::from_millis(400);

/// Longest time that a killed node stays away: some come back before their lease has ended, some after it.
const LONGEST_ABSENCE: Duration = Duration::from_secs(4);

/// A command that restarts the database at once, without a checkpoint, and returns when it answers again.
const RESTART: &str = "OFFERD_TEST_POSTGRES_RESTART";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_any_node_acknowledged_survives_kills_of_nodes_and_restarts_of_the_database() {
    campaign(SAMPLE, seed()).await;
}

/// `OFFERD_NODE_KILLS=200 OFFERD_DATABASE_RESTARTS=20 .ci/postgres nodes::campaign --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn what_any_node_acknowledged_survives_as_many_as_one_likes() {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    campaign((number("OFFERD_NODE_KILLS", 200), number("OFFERD_DATABASE_RESTARTS", 20)), seed()).await;
}

async fn campaign((kills, restarts): (usize, usize), seed: u64) {
    println!("OFFERD_CRASH_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let Some(front) = Front::of(3, plan()).await else { return };
    let restarts_every = if restarts == 0 { usize::MAX } else { kills.div_ceil(restarts) };
    for round in 1..=kills {
        let (moment, absence) = (LONGEST_LOAD.mul_f64(rng.f64()), LONGEST_ABSENCE.mul_f64(rng.f64()));
        let (victim, hangs) = (rng.usize(0..3), rng.u8(0..3) == 0);
        let killed = front.under_load(&mut rng, async {
            tokio::time::sleep(moment).await;
            if round % restarts_every == 0 {
                restart_database().await;
            }
            let killed = front.take(victim).await;
            // Some hang first, and are cut off in whatever they do.
            signal(killed.pid(), if hangs { "STOP" } else { "KILL" });
            tokio::time::sleep(absence).await;
            signal(killed.pid(), "KILL");
            killed
        });
        front.put(victim, alone(killed.await).kill().start().await).await;
    }
    println!("{kills} kills, {restarts} restarts of the database, {}", front.hold(&mut rng).await);
}

/// Restarts the database, where the tests know how.
async fn restart_database() {
    let Ok(command) = std::env::var(RESTART) else {
        eprintln!("SKIPPED: {RESTART} names no command: the database was not restarted");
        return;
    };
    let restarted = tokio::task::spawn_blocking(move || {
        Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).stdout(Stdio::null()).status()
    });
    assert!(restarted.await.unwrap().expect("a shell").success(), "the database is restarted");
}
