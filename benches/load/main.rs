//! The daemon under load, compared with a bare warp server: `cargo bench --bench load`.
//!
//! Both servers and the load generator are processes of the same machine. A row drives the servers in turn:
//! first in a closed loop over the best number of connections (the peak, and the server's CPU time per
//! request), then in an open loop at half of each server's own peak, where requests come at random times and
//! a latency counts from the time at which the request was due. The bare server parses the same body and
//! answers the same bytes, without looking at either.
//!
//! Further rows measure the memory of pending rate tables, the disk space of a lead, the start-up time with a
//! million leads, the latency of console pages, and the throughput of nodes on a database. `cargo bench
//! --bench load -- submit` runs the rows whose names contain that.

mod bare;
mod cpu;
mod disk;
mod draw;
mod generator;
#[path = "../../tests/it/kit/mod.rs"]
mod kit;
mod nodes;
mod open_loop;
mod pages;
mod process;
mod rates;
mod reports;
mod stored;
mod weights;

use kit::{Daemon, sample, signal};
use serde_json::Value;

/// The daemon's allocator, for the bare server too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == bare::BARE) {
        return bare::serve();
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str()));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");

    println!("load average before: {}", process::load_average());
    let rates: Vec<_> = rates::ROWS.iter().filter(|row| is_wanted(row.name)).collect();
    if !rates.is_empty() {
        rates::heading();
    }
    for row in rates {
        row.measure(&runtime);
    }
    println!();
    for (name, measure) in
        weights::ROWS.into_iter().chain(pages::ROWS).chain(reports::ROWS).chain(nodes::ROWS)
    {
        if is_wanted(name) {
            measure(name, &runtime);
        }
    }
    println!("\nload average after, this load included: {}", process::load_average());
}

/// A lead with a different email address in each request.
fn lead() -> String {
    let mut lead: Value = serde_json::from_str(&sample("savings")).expect("the sample lead is JSON");
    lead["personalInformation"]["email"] = format!("person.{}@example.com", generator::MARK).into();
    lead.to_string()
}

/// A bar, and whether it is met.
fn judged(bar: Option<&(bool, String)>) -> String {
    match bar {
        Some((true, bar)) => format!("{bar}: met"),
        Some((false, bar)) => format!("{bar}: missed"),
        None => String::new(),
    }
}

/// Kills a daemon and removes its store.
fn discard(daemon: Daemon) {
    signal(daemon.pid(), "KILL");
    std::fs::remove_dir_all(daemon.store()).expect("the store can be removed");
}
