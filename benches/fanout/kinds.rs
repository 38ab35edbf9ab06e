//! The CPU time of each kind of partner: for a lead of ten partners of that kind, compared with ten plain
//! ones, which answer one plain call. All daemons run at once and alternate, so that noise of the machine
//! affects all of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::kit::Daemon;
use super::kit::partners::{PartnerFile, lender_asked};
use super::{PARTNERS, Partners, cpu, lead};

/// Turns of each kind, and leads in one turn.
const ROUNDS: usize = 8;
const LEADS: usize = 200;
const IN_FLIGHT: usize = 8;

/// A kind of partner: its name, its calls for a lead, and its text under `[products.loan.http]`.
struct Kind {
    name: &'static str,
    calls: usize,
    http: fn(SocketAddr) -> String,
}

const KINDS: [Kind; 6] = [
    Kind { name: "plain", calls: 1, http: super::plain },
    Kind { name: "signed", calls: 1, http: signed },
    Kind { name: "with offers of their own", calls: 1, http: own_offers },
    Kind { name: "in two steps", calls: 2, http: two_steps },
    Kind { name: "polled", calls: 2, http: polled },
    Kind { name: "ping, then post", calls: 2, http: ping_and_post },
];

/// Measures and prints all kinds.
pub async fn costs(partners: &Partners) {
    let ten = |kind: &Kind| -> Vec<PartnerFile> {
        (0..PARTNERS)
            .map(|nth| lender_asked(&format!("lender_{nth}"), &(kind.http)(partners.address), ""))
            .collect()
    };
    // All other kinds besides the plain ones, for leads of another state.
    let others = KINDS[1..].iter().enumerate().map(|(nth, kind)| {
        let elsewhere = "[products.loan.eligibility]\n\"personalInformation.state\" = { in = [\"AK\"] }";
        lender_asked(&format!("other_{nth}"), &(kind.http)(partners.address), elsewhere)
    });
    let mut sets =
        vec![("plain, all others declared", 1, ten(&KINDS[0]).into_iter().chain(others).collect())];
    sets.extend(KINDS.iter().map(|kind| (kind.name, kind.calls, ten(kind))));
    let mut measured = Vec::new();
    for (name, calls, files) in sets {
        let daemon = Arc::new(Daemon::with_partners(files).start().await);
        turn(&daemon).await;
        measured.push((name, calls, daemon, Vec::new()));
    }
    let pids: Vec<u32> = measured.iter().map(|(_, _, daemon, _)| daemon.pid()).collect();
    for _ in 0..ROUNDS {
        for (_, _, daemon, times) in &mut measured {
            cpu::quiet(&pids).await;
            times.push(turn(daemon).await);
        }
    }
    println!(
        "\nCPU time of a lead of {PARTNERS} partners, by their kind: median of {ROUNDS} turns of {LEADS} leads"
    );
    println!("{:<34}{:>10}{:>10}{:>12}", "", "µs", "ratio", "calls each");
    let medians: Vec<f64> = measured.iter_mut().map(|(.., times)| median(times)).collect();
    for ((name, calls, ..), median) in measured.iter().zip(&medians) {
        println!("{name:<34}{median:>10.0}{:>10.3}{calls:>12}", median / medians[1]);
    }
}

/// Submits leads until all are answered; returns the CPU time of one, in µs.
async fn turn(daemon: &Arc<Daemon>) -> f64 {
    let before = cpu::used(daemon.pid());
    join_all((0..IN_FLIGHT).map(async |_| {
        for _ in 0..LEADS / IN_FLIGHT {
            let table = daemon.submit_blocking(lead()).await.json();
            let offers = table["loanOffers"].as_array().map(Vec::len);
            assert_eq!(offers, Some(PARTNERS), "{table} {}", daemon.log());
        }
    }))
    .await;
    let used: Duration = cpu::used(daemon.pid()) - before;
    used.as_secs_f64() * 1e6 / LEADS as f64
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// An HMAC over body and time in a header, with an arbitrary key.
fn signed(address: SocketAddr) -> String {
    format!(
        "secrets = {{ key = {{ env = \"PATH\" }} }}\n\
         headers = {{ X-Time = \"now|date('%s')\", X-Signature = \"(now|date('%s') ~ '.' ~ request.body)|hmac('sha256', secret.key)|hex\" }}\n{}",
        super::plain(address)
    )
}

/// Text and disclaimer from the partner.
fn own_offers(address: SocketAddr) -> String {
    super::plain(address).replace(
        "pre_qualified = \"true\"",
        "pre_qualified = \"true\", terms_text = \"'From ' ~ offer.apr ~ ' percent'\", term_description = \"offer.term ~ ' months'\"",
    )
}

fn two_steps(address: SocketAddr) -> String {
    steps(address, "session", "keep = { id = \"response.id\" }", "id = \"ask_uuid\", session = \"kept.id\"")
}

fn polled(address: SocketAddr) -> String {
    let steps = steps(address, "session", "keep = { id = \"response.id\" }", "");
    steps.replace("json = {  }\n", "method = \"GET\"\npending = \"status == 202\"\nevery = \"50ms\"\n")
}

fn ping_and_post(address: SocketAddr) -> String {
    let bid = "bid = \"response.bid\"";
    let steps = steps(address, "ping", bid, "id = \"ask_uuid\", ssn = \"lead.personalInformation.ssn\"");
    format!("{steps}\n[products.loan.http.post]\nbest = {PARTNERS}\nwait = \"1s\"\n")
}

/// A first call to `path` with the settings `then`, and a second with `json`.
fn steps(address: SocketAddr, path: &str, then: &str, json: &str) -> String {
    format!(
        r#"wire = {{ allow_addresses = ["127.0.0.1"], connect_timeout = "1s", concurrency = 512 }}
answer = {{ offer = {{ key = "'far'", term = "offer.term", apr = "offer.apr", pre_qualified = "true" }} }}

[[products.loan.http.steps]]
url = "http://{address}/{path}"
sandbox_url = "http://{address}/{path}"
json = {{ amount = "lead.loanInformation.loanAmount", id = "ask_uuid" }}
{then}

[[products.loan.http.steps]]
url = "http://{address}/quote"
sandbox_url = "http://{address}/quote"
json = {{ {json} }}
"#
    )
}
