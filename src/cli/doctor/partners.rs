//! Check that HTTP partners can be reached from this machine.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::{CheckState, DoctorCheck, Finding};
use crate::cli::prelude::*;
use offerd_base::partner_health::{Health, Judgement};
use offerd_engine::matching::limiter::SeatStanding;
use offerd_engine::matching::partner_clients::{PartnerClient, PartnerClients};
use offerd_wire::{CallError, Phase};

const CHECK: DoctorCheck = DoctorCheck("partner");

/// Connects to every host of every partner: DNS, TCP and TLS, each within its `wire.connect_timeout`, all
/// concurrently. Skips partners that their files pause. Of partners that the running daemon finds unwell, a
/// connection proves nothing: they have its finding instead.
pub async fn reachable(settings: &Settings, book: &Book, standings: &[SeatStanding]) -> Vec<Finding> {
    let clients = match PartnerClients::new(settings.wire).opened(book) {
        Ok(clients) => clients,
        Err(faults) => {
            let wrong = |fault: Fault| {
                CHECK.wrong(fault.to_string(), "fix its file; check again with `offerd check`")
            };
            return faults.into_iter().map(wrong).collect();
        }
    };
    let over_http = || book.seats().iter().filter(|seat| seat.http.is_some());
    let paused = over_http().filter(|seat| seat.paused).count();
    let mut seen = BTreeSet::new();
    let mut asked: Vec<(String, String, PartnerClient)> = Vec::new();
    for seat in over_http().filter(|seat| !seat.paused) {
        let (Some(source), Some(client)) = (&seat.http, clients.of(seat)) else { continue };
        for (_, host) in &source.hosts {
            if seen.insert((seat.identity.key.clone(), host.clone())) {
                asked.push((seat.identity.key.clone(), host.clone(), client.clone()));
            }
        }
    }
    let mut findings: Vec<Finding> = standings.iter().filter_map(judged).collect();
    let unwell = |key: &str| standings.iter().any(|of| of.partner == key && of.health.health.badness() > 0);
    let reached = join_all(asked.into_iter().map(async |asked| (asked.0.clone(), reach(asked).await))).await;
    let reached = reached.into_iter().filter(|(key, one)| one.state != CheckState::Good || !unwell(key));
    findings.extend(reached.map(|(_, finding)| finding));
    if paused > 0 {
        let paused = page::counted(paused, "partner product");
        findings.push(CHECK.good(format!("{paused} over HTTP paused in their files, not tried")));
    }
    findings
}

/// What the daemon finds wrong with a seat.
fn judged(of: &SeatStanding) -> Option<Finding> {
    let Judgement { health, cause } = &of.health;
    let cause = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
    let found = format!("`{}` {} is {}{cause}", of.partner, of.product_type, health.words());
    let next =
        "see `offerd partners list` and the log, and pause it until it works: `offerd partners pause KEY`";
    match health {
        Health::Failing | Health::Silent => Some(CHECK.wrong(found, next)),
        Health::Slow | Health::DecliningMore => Some(CHECK.look(found, next)),
        Health::Healthy | Health::Unknown | Health::NotAsked => None,
    }
}

async fn reach((partner, host, client): (String, String, PartnerClient)) -> Finding {
    let began = Instant::now();
    match client.reach(&host).await {
        Ok(()) => {
            let took = began.elapsed().as_millis();
            CHECK.good(format!("`{partner}` at {host} connected in {took} ms; its answers were not tried"))
        }
        Err(CallError::Tls(fault)) => CHECK.wrong(format!("`{partner}` at {host}: {fault}"), fault.remedy()),
        Err(error) => CHECK.wrong(format!("`{partner}` at {host}: {error}"), next(error)),
    }
}

fn next(error: CallError) -> &'static str {
    match error {
        CallError::Unresolved | CallError::LookupTimedOut { .. } | CallError::NoLookupThread => {
            "check the name in its file, and this machine's resolver (/etc/resolv.conf)"
        }
        CallError::ForbiddenAddress => {
            "if this address is intended, allow it by `wire.allow_addresses` in the partner's file"
        }
        CallError::Connect | CallError::TimedOut { during: Phase::Connect } => {
            "ask the partner whether it is up and admits this machine; check the outgoing firewall"
        }
        _ => "check its URL, and pause it until it works: `offerd partners pause KEY`",
    }
}
