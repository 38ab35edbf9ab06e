//! Check that HTTP partners can be reached from this machine.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::{CheckState, DoctorCheck, Finding};
use crate::cli::prelude::*;
use offerd_base::partner_health::{Health, Judgement};
use offerd_engine::matching::limiter::{SeatStatus, State};
use offerd_engine::matching::partner_clients::{PartnerClient, PartnerClients};
use offerd_wire::{CallError, Phase};

const CHECK: DoctorCheck = DoctorCheck("partner");

const MEND: &str = "mend the cause with the partner; `offerd partners probe KEY` then asks it again at once";

const ADD_LIST: &str =
    "the log of the last start or reload names the list: `offerd suppressions add LIST FILE --kind KIND`";

/// Connects to every host of every partner: DNS, TCP and TLS, each within its `wire.connect_timeout`, all
/// concurrently. Skips partners that their files pause. Of partners that the running daemon finds unwell, a
/// connection proves nothing: they have its [finding](judged) instead.
pub async fn reachable(settings: &Settings, book: &Book, statuses: &[SeatStatus]) -> Vec<Finding> {
    // Their faults are those of partner files.
    let Ok(clients) = PartnerClients::new(settings.wire).opened(book) else { return Vec::new() };
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
    let unwell = |key: &str| statuses.iter().any(|of| of.partner == key && judged(of).is_some());
    let reached = join_all(asked.into_iter().map(async |asked| (asked.0.clone(), reach(asked).await))).await;
    let reached = reached.into_iter().filter(|(key, one)| one.state != CheckState::Good || !unwell(key));
    let mut findings: Vec<Finding> = reached.map(|(_, finding)| finding).collect();
    if paused > 0 {
        let paused = page::counted(paused, "partner product");
        findings.push(CHECK.good(format!("{paused} over HTTP paused in their files, not tried")));
    }
    findings
}

/// What the daemon finds wrong with a seat. What keeps the seat out precedes its health.
pub fn judged(of: &SeatStatus) -> Option<Finding> {
    let is = |words: &str| format!("`{}` {} is {words}", of.partner, of.product_type);
    match of.state {
        State::BreakerOpen => return Some(CHECK.wrong(is(&of.description()), MEND)),
        State::ListMissing => return Some(CHECK.wrong(is(&of.description()), ADD_LIST)),
        _ => {}
    }
    let Judgement { health, cause } = &of.health;
    let cause = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
    let found = is(&format!("{}{cause}", health.words()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_that_is_kept_out_has_one_row_with_the_cause() {
        let told = |state: &str, health: &str| {
            let status = json!({ "partner": "far", "productType": "loan", "state": state,
                "since": "2026-11-20T10:00:00Z", "breaker": "open, asks again in 3 s; last: status 500",
                "askedThisMinute": 0, "askedToday": 0, "owedToday": 0.0, "health": { "health": health } });
            judged(&serde_json::from_value(status).unwrap()).map(|one| (one.state, one.found))
        };
        let open = "`far` loan is behind an open breaker since 2026-11-20 10:00 UTC: open, asks again in \
            3 s; last: status 500";
        let (wrong, look) = (CheckState::Wrong, CheckState::Look);
        for (state, health, wanted) in [
            ("breakerOpen", "unknown", Some((wrong, open))),
            ("breakerOpen", "failing", Some((wrong, open))),
            ("listMissing", "unknown", Some((wrong, "`far` loan is without its suppression list"))),
            ("active", "failing", Some((wrong, "`far` loan is failing"))),
            ("active", "slow", Some((look, "`far` loan is slow"))),
            ("active", "unknown", None),
            ("pausedByOperator", "not_asked", None),
        ] {
            let wanted = wanted.map(|(state, found)| (state, found.to_owned()));
            assert_eq!(told(state, health), wanted, "{state} {health}");
        }
    }
}
