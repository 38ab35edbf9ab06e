//! The throughput of one node and of two over a database, and that of the database alone for the same rows
//! and commits, by `pgbench`.
//!
//! `.ci/postgres --bench nodes` starts a database and runs these rows; without a database they report that
//! and do nothing.

use std::process::Command;
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::generator::{Call, Until, closed_loop};
use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Plan, database};
use crate::{discard, judged, lead};

type Measure = fn(&str, &Runtime);

pub const ROWS: [(&str, Measure); 1] = [("nodes on a database: durable submits", submits)];

/// Concurrent clients, over all nodes.
const CONNECTIONS: usize = 128;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(4);
/// The numbers of `pgbench` clients that are tried; the best counts.
const PGBENCH_CLIENTS: [usize; 4] = [1, 2, 4, 16];

/// The bars: the least share of `pgbench`'s rate, and of one node's rate with two nodes.
const BARS: (f64, f64) = (0.8, 0.9);

fn submits(name: &str, runtime: &Runtime) {
    let plan = || Daemon::with_partners(prompt_partners(1)).setting("api.base_url", "http://offers.example");
    let in_files = runtime.block_on(plan().in_files().start());
    let plan = plan();
    let Some(url) = plan.database().map(str::to_owned) else {
        return println!("{name}: SKIPPED: OFFERD_TEST_POSTGRES names no database");
    };
    let first = runtime.block_on(plan.start());
    let plan = Plan::beside(&first).expect("a database");
    let second = runtime.block_on(plan.start_beside(&first));
    let [in_files_call, calls @ ..] = [&in_files, &first, &second].map(|node| {
        let url = format!("{}/leads/rateTables", node.api);
        Call::new("POST", &url, &node.publishable, &[], &lead(), 200)
    });
    rate(&calls[..1]);

    // The rows of a lead, and the leads per commit.
    let before = (database::weigh(&url), groups(&first, runtime));
    let leads = closed_loop(&calls[0], CONNECTIONS, Until::Elapsed(TURN)).0.len();
    let after = (database::weigh(&url), groups(&first, runtime));
    let [rows, keys, values] = [0, 1, 2].map(|nth| (after.0[nth] - before.0[nth]) as f64);
    let per_group = leads as f64 / (after.1 - before.1);
    let of_ours = Script { rows: rows / leads as f64 * per_group, key: keys / rows, value: values / rows };
    let of_each_lead = Script { rows: rows / leads as f64, ..of_ours };
    database::execute(&url, TABLES);

    let mut rates = [const { Vec::new() }; 5];
    for _ in 0..TURNS {
        let pgbench = of_ours.transactions(&url) * per_group;
        let of_database = [rate(&calls[..1]), rate(&calls), pgbench, of_each_lead.transactions(&url)];
        let turn = of_database.into_iter().chain([rate(std::slice::from_ref(&in_files_call))]);
        rates.iter_mut().zip(turn).for_each(|(rates, rate)| rates.push(rate));
    }
    let [one, two, grouped, single, in_files_rate] = rates.map(median);
    println!(
        "\n{name}: a lead is {:.1} rows of {:.0} + {:.0} bytes, a commit {per_group:.1} leads",
        of_each_lead.rows, of_ours.key, of_ours.value
    );
    let of_database = (one / grouped >= BARS.0, format!("at least {} of pgbench", BARS.0));
    let of_one = (two / one >= BARS.1, format!("at least {} of one", BARS.1));
    let line = |what: &str, rate: f64, of: f64, bar: Option<&(bool, String)>| {
        println!("  {what:<46}{rate:>9.0}/s{:>8.2}  {}", rate / of, judged(bar));
    };
    line("pgbench, the same rows in as many commits", grouped, grouped, None);
    line("pgbench, a commit for each lead", single, grouped, None);
    line("one node over files", in_files_rate, grouped, None);
    line("one node", one, grouped, Some(&of_database));
    line("two nodes together", two, one, Some(&of_one));
    discard(second);
    discard(first);
    discard(in_files);
}

/// Leads per second, by as many clients at each node.
fn rate(calls: &[Call]) -> f64 {
    let (each, until) = (CONNECTIONS / calls.len(), Until::Elapsed(TURN));
    thread::scope(|scope| {
        let of_node = |call| scope.spawn(move || closed_loop(call, each, until));
        let threads: Vec<_> = calls.iter().map(of_node).collect();
        let done = threads.into_iter().map(|thread| thread.join().expect("every answer is good"));
        done.map(|(leads, took)| leads.len() as f64 / took.as_secs_f64()).sum()
    })
}

fn groups(node: &Daemon, runtime: &Runtime) -> f64 {
    let metrics = runtime.block_on(node.metrics());
    let count = metrics.lines().find_map(|line| line.strip_prefix("offerd_store_group_commits_count "));
    count.expect("it is counted").parse().expect("a number")
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Tables like ours, for the benchmark only.
const TABLES: &str = "CREATE TABLE IF NOT EXISTS bench_records (key bytea PRIMARY KEY, value bytea NOT NULL); \
     CREATE TABLE IF NOT EXISTS bench_arrival (id smallint PRIMARY KEY, value bytea NOT NULL); \
     INSERT INTO bench_arrival VALUES (1, '') ON CONFLICT DO NOTHING";

/// A transaction that writes rows like ours, and the one row that all of our commits update.
#[derive(Clone, Copy)]
struct Script {
    rows: f64,
    key: f64,
    value: f64,
}

impl Script {
    /// Keys like ours: in as many trees as a lead has rows, each in time order. Values are incompressible,
    /// like sealed ones.
    fn text(&self) -> String {
        let mut random = fastrand::Rng::with_seed(1);
        let mut hex = |bytes: f64| -> String {
            (0..bytes.max(0.0).round() as usize).map(|_| format!("{:02x}", random.u8(..))).collect()
        };
        // The script generates 18 bytes of the key.
        let (key, value, rows) = (hex(self.key - 18.0), hex(self.value), self.rows.round().max(1.0));
        format!(
            "\\set k random(1, 4611686018427387904)\n\
             BEGIN;\n\
             UPDATE bench_arrival SET value = int8send(:k::int8) WHERE id = 1;\n\
             INSERT INTO bench_records (key, value) SELECT int2send((i % 10)::int2) \
             || int8send((extract(epoch FROM clock_timestamp()) * 1000000)::int8) || int8send(:k::int8 + i) || '\\x{key}'::bytea, \
             '\\x{value}'::bytea FROM generate_series(1, {rows}) AS i;\n\
             COMMIT;\n"
        )
    }

    /// The highest rate of transactions per second of the database.
    fn transactions(&self, url: &str) -> f64 {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), self.text()).expect("it is written");
        let run = |clients: &usize| {
            let (clients, seconds) = (clients.to_string(), (TURN / 4).as_secs().max(1).to_string());
            let output = Command::new("pgbench")
                .args([
                    "--no-vacuum",
                    "--protocol=prepared",
                    "--jobs=1",
                    "--client",
                    &clients,
                    "--time",
                    &seconds,
                ])
                .arg("--file")
                .arg(file.path())
                .arg(url)
                .output()
                .expect("pgbench is installed with the database");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let rate = text.lines().find_map(|line| line.strip_prefix("tps = "));
            let rate = rate.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
            rate.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
        };
        PGBENCH_CLIENTS.iter().map(run).max_by(f64::total_cmp).expect("some are tried")
    }
}
