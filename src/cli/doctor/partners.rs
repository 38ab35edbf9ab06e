//! Check that HTTP partners can be reached from this machine.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::{DoctorCheck, Finding};
use crate::cli::prelude::*;
use offerd_base::declaration::Fault;
use offerd_engine::matching::partner_clients::{PartnerClient, PartnerClients};
use offerd_wire::{CallError, Phase};

const CHECK: DoctorCheck = DoctorCheck("partner");

/// Connects to every host of every partner: DNS, TCP and TLS, each within its `wire.connect_timeout`, all
/// concurrently. Skips partners that their files pause.
pub async fn reachable(settings: &Settings, book: &Book) -> Vec<Finding> {
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
    let mut findings = join_all(asked.into_iter().map(reach)).await;
    if paused > 0 {
        let paused = page::counted(paused, "seat");
        findings.push(CHECK.good(format!("{paused} over HTTP paused in their files, not tried")));
    }
    findings
}

async fn reach((partner, host, client): (String, String, PartnerClient)) -> Finding {
    let began = Instant::now();
    match client.reach(&host).await {
        Ok(()) => {
            let took = began.elapsed().as_millis();
            CHECK.good(format!("`{partner}` at {host} connected in {took} ms"))
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
        CallError::ForbiddenAddress => "if this address is intended, allow it by `wire.allow_addresses`",
        CallError::Connect | CallError::TimedOut { during: Phase::Connect } => {
            "ask the partner whether it is up and admits this machine; check the outgoing firewall"
        }
        _ => "check its URL, and pause it until it works: `offerd partners pause KEY`",
    }
}
