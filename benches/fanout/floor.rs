//! The fan-out to ten HTTP partners beside its floor: a bare server that reads a lead, makes the same ten
//! calls and answers, without parsing, storing or ranking anything.
//!
//! Partners, the bare server and the daemons are processes; the load generator is this one. Each daemon runs
//! with its store on the disk and in memory (`/dev/shm`).

use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::far::{self, Far};
use super::generator::{Call, MARK, Until, closed_loop};
use super::kit::partners::{PartnerFile, far_offer, lender_asked};
use super::kit::{Daemon, sample, signal};
use super::{PARTNERS, cpu, process};

/// Where a store is in memory.
const IN_MEMORY: &str = "/dev/shm";
const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];
/// Connections at which CPU time is compared, and turns of each server.
const COMPARED: usize = 16;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(2);
/// The latency of slow partners, and the connections at which the time added to it is measured.
const SLOW: Duration = Duration::from_millis(100);
const ADDED_AT: [usize; 2] = [1, 16];
/// Leads whose added time is measured, at each.
const ADDED_TO: u64 = 100;
const MIB: f64 = 1024.0 * 1024.0;

/// What partners do in a measurement.
#[derive(Clone, Copy)]
struct Kind {
    latency: Duration,
    offers: usize,
}

const PROMPT: Kind = Kind { latency: Duration::ZERO, offers: 1 };
const FIVE_OFFERS: Kind = Kind { latency: Duration::ZERO, offers: 5 };
const SLOW_ONES: Kind = Kind { latency: SLOW, offers: 1 };

/// A server under load. A daemon is stopped with it.
struct Server {
    name: &'static str,
    pid: u32,
    call: Call,
    daemon: Option<Daemon>,
}

/// Measures all, and prints a table with ratios.
pub fn measure(runtime: &Runtime) {
    println!("load average before: {}", process::load_average());
    let partners = Far::partners(PARTNERS);
    let at_rest = at_rest(runtime);
    println!("Memory at rest with the sample catalog: {at_rest:.0} MiB (bar 60)");
    println!("\nA lead of {PARTNERS} HTTP partners; in brackets the ratio to the bare fan-out");

    let (servers, _bare) = servers(runtime, &partners, PROMPT);
    let one_offer = cpu_times(runtime, &servers);
    cpu_row("CPU µs a lead, one offer each", &one_offer);
    rates_and_memory(runtime, &servers);
    end(servers);

    let (servers, _bare) = self::servers(runtime, &partners, FIVE_OFFERS);
    let five_offers = cpu_times(runtime, &servers);
    cpu_row("CPU µs a lead, five offers each", &five_offers);
    let grows = five_offers[1] / one_offer[1];
    println!("{:<34}{grows:>9.2} times that of one offer (bar 2)", "");
    end(servers);

    let (servers, _bare) = self::servers(runtime, &partners, SLOW_ONES);
    for connections in ADDED_AT {
        let added = servers.iter().map(|server| {
            let (latencies, _) = closed_loop(&server.call, connections, Until::Done(ADDED_TO));
            Duration::from_micros(latencies.value_at_quantile(0.5)).saturating_sub(SLOW).as_secs_f64() * 1e3
        });
        row(&format!("added to {SLOW:?}, p50 ms, at {connections}"), added.map(|ms| format!("{ms:.2}")));
    }
    end(servers);
}

fn at_rest(runtime: &Runtime) -> f64 {
    let daemon = runtime.block_on(Daemon::with_sample_partners().start());
    runtime.block_on(cpu::quiet(&[daemon.pid()]));
    let resident = process::resident(daemon.pid()) as f64 / MIB;
    signal(daemon.pid(), "KILL");
    resident
}

/// A daemon on the disk, one in memory, and the bare server, all of which ask partners of this kind; and the
/// process of the bare server, which ends on drop.
fn servers(runtime: &Runtime, partners: &Far, kind: Kind) -> ([Server; 3], Far) {
    let daemon = |name, in_memory| {
        let plan = Daemon::with_partners(kind.files(partners)).setting("limits.queueing_target", "0ms");
        if in_memory {
            let store = tempfile::tempdir_in(IN_MEMORY).expect("a directory in memory").keep();
            symlink(store, plan.store()).expect("a place for the store");
        }
        let daemon = runtime.block_on(plan.start());
        let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
        let call = Call::new("POST", &url, &daemon.publishable, &[], &lead(), 200);
        let offers = runtime.block_on(daemon.submit_blocking(lead())).json()["loanOffers"].clone();
        let count = offers.as_array().map(Vec::len);
        assert_eq!(count, Some(PARTNERS * kind.offers), "{offers} {}", daemon.log());
        Server { name, pid: daemon.pid(), call, daemon: Some(daemon) }
    };
    let [on_disk, in_memory] = [daemon("offerd, disk", false), daemon("offerd, tmpfs", true)];
    let bare = Far::bare(&partners.addresses, &kind.path());
    let call = in_memory.call.to(bare.addresses[0]);
    let floor = Server { name: "bare", pid: bare.pid(), call, daemon: None };
    let servers = [on_disk, in_memory, floor];
    row("", servers.iter().map(|server| server.name.to_owned()));
    (servers, bare)
}

fn end(servers: [Server; 3]) {
    for daemon in servers.into_iter().filter_map(|server| server.daemon) {
        signal(daemon.pid(), "KILL");
        // The kit reads what a store left behind for personal data, and a store of thousands of leads holds any eight digits by chance.
        let store = daemon.store();
        if let Ok(target) = std::fs::read_link(&store) {
            std::fs::remove_dir_all(target).expect("the store can be removed");
            std::fs::remove_file(store).expect("the link can be removed");
        } else {
            std::fs::remove_dir_all(store).expect("the store can be removed");
        }
    }
}

/// Medians of several turns, in µs.
fn cpu_times(runtime: &Runtime, servers: &[Server; 3]) -> [f64; 3] {
    let pids = servers.each_ref().map(|server| server.pid);
    let mut times: [Vec<f64>; 3] = Default::default();
    for server in servers {
        closed_loop(&server.call, COMPARED, Until::Elapsed(TURN));
    }
    for _ in 0..TURNS {
        for (server, times) in servers.iter().zip(&mut times) {
            runtime.block_on(cpu::quiet(&pids));
            let before = cpu::used(server.pid);
            let (latencies, _) = closed_loop(&server.call, COMPARED, Until::Elapsed(TURN));
            let used = cpu::used(server.pid) - before;
            times.push(used.as_secs_f64() * 1e6 / latencies.len() as f64);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

fn cpu_row(name: &str, times: &[f64; 3]) {
    row(name, times.iter().map(|time| format!("{time:.0} ({:.1})", time / times[2])));
}

fn rates_and_memory(runtime: &Runtime, servers: &[Server; 3]) {
    let resident = |server: &Server| format!("{:.0}", process::resident(server.pid) as f64 / MIB);
    let pids = servers.each_ref().map(|server| server.pid);
    for connections in CONNECTIONS {
        let rates = servers.iter().map(|server| {
            runtime.block_on(cpu::quiet(&pids));
            let (latencies, took) = closed_loop(&server.call, connections, Until::Elapsed(2 * TURN));
            format!("{:.0}", latencies.len() as f64 / took.as_secs_f64())
        });
        row(&format!("leads a second, {connections} connections"), rates);
        row(&format!("MiB resident, {connections} connections"), servers.iter().map(resident));
    }
}

fn row(name: &str, cells: impl Iterator<Item = String>) {
    println!("{name:<34}{}", cells.map(|cell| format!("{cell:>16}")).collect::<String>());
}

impl Kind {
    /// The path at which partners behave like this.
    fn path(self) -> String {
        far::path(self.latency, self.offers)
    }

    /// Ten partners of this kind.
    fn files(self, partners: &Far) -> Vec<PartnerFile> {
        let named = partners.addresses.iter().enumerate();
        named
            .map(|(nth, address)| self.file(&format!("lender_{nth}"), &format!("http://{address}")))
            .collect()
    }

    fn file(self, key: &str, origin: &str) -> PartnerFile {
        let path = self.path();
        let http = format!(
            r#"url = "{origin}{path}"
sandbox_url = "{origin}{path}"
json = {{ amount = "lead.loanInformation.loanAmount", id = "lead_uuid", email = "lead.personalInformation.email", income = "lead.financialInformation.annualIncome" }}
wire = {{ allow_addresses = ["127.0.0.1"], connect_timeout = "1s", concurrency = 512 }}
answer = {{ offer = {{ key = "offer.key", term = "offer.term", apr = "offer.apr", pre_qualified = "true" }} }}"#
        );
        let others = (1..self.offers).map(|nth| far_offer(key, &format!("far{nth}")));
        lender_asked(key, &http, &others.collect::<String>())
    }
}

/// A lead of 2.4 KB, with a different email address in each request.
fn lead() -> String {
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).expect("the sample lead is JSON");
    let person = lead["personalInformation"].as_object_mut().expect("the sample lead has a person");
    person.remove("ssn");
    person.insert("email".to_owned(), format!("person.{MARK}@example.com").into());
    let length = lead.to_string().len();
    lead["clientTags"] = json!({ "note": ["x".repeat(2400_usize.saturating_sub(length))] });
    lead.to_string()
}
