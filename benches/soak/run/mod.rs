//! The soak: a daemon under half of its peak load, for a long time.
//!
//! Clients submit leads, wait for tables, poll them, follow them as event streams, read leads, click offers
//! and follow a feed; some requests are to be refused. Partners answer at once or late, or fail. A remote one
//! is dead, drips, answers garbage, stays silent or hangs up in turn. The partner files are changed and
//! reloaded all the time, sometimes to faulty ones. At the end everything that was acknowledged is read
//! again.
//!
//! | bar | applies |
//! |---|---|
//! | every answer is an expected one, and the daemon counted the same refusals | always |
//! | every error in the log was provoked | always |
//! | every acknowledged lead can be read, and its table is complete | always |
//! | the feed has every lead and click once; the followed feed is a prefix of it | always |
//! | resident memory and descriptors stay constant | from a minute on |
//! | a lead takes as much disk space late as early | from a minute on |

mod clients;
#[path = "../../load/disk.rs"]
mod disk;
mod ledger;
mod lenders;
#[path = "../../load/process.rs"]
mod process;
mod report;
mod samples;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use offerd::analytics::Events;
use tokio::sync::{Semaphore, watch};

use clients::Clients;
use ledger::Ledger;
use lenders::Lenders;
pub use report::Report;
use samples::Samples;

/// The length of the probe, as a share of the soak, with its bounds.
const PROBED: (f64, Duration, Duration) = (0.02, Duration::from_millis(500), Duration::from_secs(5));

/// The closed-loop clients of the probe.
const PROBING: usize = 32;

/// The most concurrent requests; beyond it the load waits, since a shared machine may fall behind for a
/// while.
const UNDER_WAY: usize = 512;

/// Tables that are read at a time during the final check.
const LOOKED_AT: usize = 32;

/// Runs a soak of this length.
pub async fn soak(lasting: Duration) -> Report {
    let began = process::load_average();
    let lenders = Lenders::start().await;
    let daemon = lenders.plan().start().await.with_live_company();
    let ledger = Arc::new(Ledger::default());
    let clients = Arc::new(Clients::of(&daemon, Arc::clone(&ledger)));

    let peak = probe(&clients, lasting).await;
    let rate = peak / 2.0;
    let (end, ended) = watch::channel(false);
    let loading = async {
        let waited = load(&clients, rate, lasting).await;
        end.send_replace(true);
        waited
    };
    let (waited, samples, reloads, followed) = tokio::join!(
        loading,
        Samples::take(&daemon, &ledger, &lenders, lasting, ended.clone()),
        lenders.misbehave(&daemon, lasting, ended.clone()),
        clients.follow_the_feed(ended.clone()),
    );

    let mut report = Report::new(lasting, [began, process::load_average()]);
    report.load(peak, rate, waited, &ledger);
    report.answers(&ledger, &daemon.metrics().await);
    let acknowledged = ledger.acknowledged();
    let lost =
        stream::iter(&acknowledged).map(|lead| clients.lost(&daemon, lead)).buffer_unordered(LOOKED_AT);
    report.leads(acknowledged.len(), lost.filter_map(std::future::ready).collect().await);
    report.samples(&samples);

    let company = clients.company(&acknowledged).await;
    let log = daemon.file("log");
    let (_, stopped) = daemon.terminate();
    report.log(&std::fs::read_to_string(log).expect("the daemon logs"), &reloads);
    report.feed(
        &stopped.feed_in_two_hours::<Events>(&company).data,
        &acknowledged,
        ledger.clicks(),
        &followed,
    );
    report
}

/// The peak rate of deeds per second, in a closed loop.
async fn probe(clients: &Arc<Clients>, lasting: Duration) -> f64 {
    let (share, least, most) = PROBED;
    let (probed, begun) = (lasting.mul_f64(share).clamp(least, most), Instant::now());
    let each = (0..PROBING).map(|_| {
        let clients = Arc::clone(clients);
        tokio::spawn(async move {
            let mut deeds = 0_u64;
            while begun.elapsed() < probed {
                clients.act().await;
                deeds += 1;
            }
            deeds
        })
    });
    let deeds: Vec<_> = futures_util::future::join_all(each).await;
    let deeds: u64 = deeds.into_iter().map(|deeds| deeds.expect("a client does not panic")).sum();
    deeds as f64 / begun.elapsed().as_secs_f64()
}

/// Runs an open loop at `rate` deeds per second; returns how many had to wait.
async fn load(clients: &Arc<Clients>, rate: f64, lasting: Duration) -> u64 {
    let room = Arc::new(Semaphore::new(UNDER_WAY));
    let begun = Instant::now();
    let (mut sent, mut waited) = (0_u64, 0);
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    while begun.elapsed() < lasting {
        ticks.tick().await;
        let due = (begun.elapsed().as_secs_f64() * rate) as u64;
        while sent < due {
            waited += u64::from(room.available_permits() == 0);
            let place = Arc::clone(&room).acquire_owned().await.expect("nobody closes it");
            let clients = Arc::clone(clients);
            tokio::spawn(async move {
                clients.act().await;
                drop(place);
            });
            sent += 1;
        }
    }
    let all = u32::try_from(UNDER_WAY).expect("a few");
    drop(room.acquire_many(all).await.expect("nobody closes it"));
    waited
}
