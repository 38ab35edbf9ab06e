//! The daemon under load, beside a bare warp server: `cargo bench --bench load`.
//!
//! Both are processes of their own on the same machine, as is the load. A row drives them in turn, first in a closed loop
//! over as many connections as bring most (the peak, and CPU time of the server per request), then in an open loop at half
//! of each one's own peak, where requests come at random times and a latency counts from when the request was to be sent.
//! The bare server parses the same body and answers the same bytes, without looking at either.
//!
//! Further rows tell what open rate tables take of memory, what a lead takes of the disk, and how soon a daemon is ready
//! that has a million leads, how soon the pages of its console are answered, and what nodes on a database take in. `cargo bench --bench load -- submit` runs the rows whose names contain that.

mod bare;
mod cpu;
mod generator;
#[path = "../../tests/it/kit/mod.rs"]
mod kit;
mod nodes;
mod pages;
mod process;
mod rates;
mod reports;
mod stored;
mod weights;

use kit::{Daemon, sample, signal};
use serde_json::Value;

/// The daemon's allocator, so that the bare server has it too.
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

/// A lead whose e-mail address is another one in each request.
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

/// Ends a daemon and removes its store, in which nobody need look for what it was told.
fn discard(daemon: Daemon) {
    signal(daemon.pid(), "KILL");
    std::fs::remove_dir_all(daemon.store()).expect("the store can be removed");
}
