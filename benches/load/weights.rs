//! The footprint of leads and rate tables: memory, disk space and start-up time.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::generator::{Call, Until, closed_loop};
use crate::kit::Daemon;
use crate::kit::partners::{PartnerFile, partner, prompt_partners};
use crate::{discard, disk, judged, lead, process, stored};

const CONNECTIONS: usize = 64;
/// The bar for a pending table, in bytes.
const BAR_OPEN: u64 = 8 * 1024;
/// Leads whose disk space is measured.
const LEADS_WEIGHED: u64 = 20_000;
/// The retention, where one is set.
const RETENTION: Duration = Duration::from_secs(8);
/// The number and the size of the batches of leads.
const BATCHES: usize = 5;
const BATCH: u64 = 5_000;
const BAR_READY: Duration = Duration::from_secs(2);

type Measure = fn(&str, &Runtime);

pub const ROWS: [(&str, Measure); 7] = [
    ("memory of 10,000 pending tables, 1 partner", |name, runtime| open_tables(name, runtime, 10_000, 1)),
    ("memory of 10,000 pending tables, 3 partners", |name, runtime| open_tables(name, runtime, 10_000, 3)),
    ("memory of 100,000 pending tables, 3 partners", |name, runtime| open_tables(name, runtime, 100_000, 3)),
    ("growth of the store per lead", growth),
    ("size of the store under a retention", retained),
    ("start-up with 100,000 stored leads", |name, runtime| start_up(name, runtime, 100_000)),
    ("start-up with 1,000,000 stored leads", |name, runtime| start_up(name, runtime, 1_000_000)),
];

/// Memory of tables whose partners are all pending, and of as many complete tables of the same leads, which
/// shows the share of the store's caches.
fn open_tables(name: &str, runtime: &Runtime, tables: u64, partners: usize) {
    let silent = |nth| partner(&format!("silent_{nth}")).savings(r#"simulate = { delay = "10m" }"#);
    let silent = |nth| PartnerFile::replaced(silent(nth), r#"timeout = "10s""#, r#"timeout = "20m""#);
    let open = grown(runtime, (0..partners).map(silent).collect(), tables);
    let complete = grown(runtime, prompt_partners(partners), tables);
    let each = open.saturating_sub(complete) / tables;
    let bar = (each <= BAR_OPEN, format!("at most {BAR_OPEN} B"));
    println!(
        "{name:<43}{each:>6} B each, {} B with what the store caches of its lead  {}",
        open / tables,
        judged(Some(&bar))
    );
}

/// The growth of a daemon's memory with `leads` leads.
fn grown(runtime: &Runtime, partners: Vec<PartnerFile>, leads: u64) -> u64 {
    let plan = Daemon::with_partners(partners).setting("matching.deadline", "5m");
    let plan = plan.setting("matching.pending_tables", "200000").setting("store.queue", "200001");
    let plan =
        plan.setting("limits.queueing_target", "0ms").setting("matching.pending_tables_per_company", "0");
    let daemon = runtime.block_on(plan.start());
    submit(&daemon, 100);
    let before = process::resident(daemon.pid());
    submit(&daemon, leads);
    let after = process::resident(daemon.pid());
    discard(daemon);
    after.saturating_sub(before)
}

fn submit(daemon: &Daemon, leads: u64) {
    let url = format!("{}/leads/rateTables", daemon.api);
    let call = Call::new("POST", &url, &daemon.publishable, &[], &lead(), 200);
    closed_loop(&call, CONNECTIONS, Until::Done(leads));
}

fn growth(name: &str, runtime: &Runtime) {
    let plan = Daemon::with_partners(prompt_partners(20)).setting("limits.queueing_target", "0ms");
    let daemon = runtime.block_on(plan.start());
    submit(&daemon, 100);
    let before = disk::used(&daemon.store());
    submit(&daemon, LEADS_WEIGHED);
    let each = (disk::used(&daemon.store()) - before) / LEADS_WEIGHED;
    println!("{name:<43}{each:>6} B (a lead of {} B, its table of 20 offers)", lead().len());
    discard(daemon);
}

/// Batches of leads, a retention apart, to a daemon with that retention and to one without. Files that are
/// reused from the start, like the journal's, do not count.
fn retained(name: &str, runtime: &Runtime) {
    let plan = |retention: &str| {
        let plan = Daemon::with_partners(prompt_partners(20)).setting("limits.queueing_target", "0ms");
        let plan = plan.setting("store.volume_age", "2s").setting("store.retention", retention);
        runtime.block_on(plan.start())
    };
    let daemons = [plan(&format!("{}s", RETENTION.as_secs())), plan("0s")];
    let records = |daemon: &Daemon| disk::used(&daemon.store()) - disk::used(&daemon.store().join("journal"));
    let before = daemons.each_ref().map(records);
    let mut sizes: [Vec<u64>; 2] = Default::default();
    for _ in 0..BATCHES {
        daemons.iter().for_each(|daemon| submit(daemon, BATCH));
        // Until the previous batch's volumes have expired and the next check has dropped them.
        runtime.block_on(async { tokio::time::sleep(RETENTION + Duration::from_secs(4)).await });
        for ((daemon, before), sizes) in daemons.iter().zip(before).zip(&mut sizes) {
            sizes.push(records(daemon).saturating_sub(before) >> 20);
        }
    }
    let [kept, all] = sizes.map(|sizes| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    println!(
        "{name:<43}{kept} MiB after each of {BATCHES} batches of {BATCH} leads; kept for ever {all} MiB"
    );
    daemons.into_iter().for_each(discard);
}

/// The start-up time of a daemon with this many leads, each with a complete table of one offer.
fn start_up(name: &str, runtime: &Runtime, leads: u64) {
    let plan = Daemon::with_partners(prompt_partners(1));
    stored::fill(&plan, leads, runtime);
    let size = disk::used(&plan.store());
    let begun = Instant::now();
    let daemon = runtime.block_on(plan.start());
    let took = begun.elapsed();
    let bar = (took <= BAR_READY, format!("within {} s", BAR_READY.as_secs()));
    println!(
        "{name:<43}{:>6.2} s, {} MiB resident, {} MiB on the disk  {}",
        took.as_secs_f64(),
        process::resident(daemon.pid()) >> 20,
        size >> 20,
        judged(Some(&bar))
    );
    discard(daemon);
}
