//! Checks of the listeners: their certificates, and whether their ports are free.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use super::{DoctorCheck, Finding};
use crate::cli::prelude::*;
use crate::daemon::certificate_days;

const RENEW_DAYS: u64 = 21;

const CHECK: DoctorCheck = DoctorCheck("certificates");

const PORT: DoctorCheck = DoctorCheck("port");

/// Checks each certificate and its remaining days.
pub fn certificates(settings: &Settings) -> Vec<Finding> {
    let renew = "put a new pair in place, then `offerd reload`";
    match certificate_days(settings) {
        Err(faults) => faults.iter().map(|fault| CHECK.wrong(fault.to_string(), renew)).collect(),
        Ok(days) if days.is_empty() => of_clear_text(settings),
        Ok(days) => {
            let found = |listener, days| format!("certificate of `{listener}` valid for {days} days");
            let each = days.into_iter().map(|(listener, days)| match days {
                days if days < RENEW_DAYS => CHECK.look(found(listener, days), renew),
                days => CHECK.good(found(listener, days)),
            });
            each.collect()
        }
    }
}

/// Plain HTTP is meant for this machine, or for a proxy in front of it.
fn of_clear_text(settings: &Settings) -> Vec<Finding> {
    let outward: Vec<&str> = addresses(settings)
        .into_iter()
        .filter(|(_, address)| !address.ip().is_loopback())
        .map(|(listener, _)| listener)
        .collect();
    vec![if outward.is_empty() {
        CHECK.good("none: the listeners use plain HTTP, on this machine only")
    } else {
        let told = format!("none: {} can be reached from other machines over plain HTTP", outward.join(", "));
        CHECK.look(told, "`tls` in their sections, unless a proxy in front of them speaks TLS")
    }]
}

/// Checks that each port is free, or held by our own daemon.
pub fn ports(settings: &Settings, running: bool) -> Vec<Finding> {
    let run_file = if running { RunFile::read(&settings.store.path).ok().flatten() } else { None };
    // Bound ports are kept to the end of the loop, so that two listeners on one port are detected.
    let mut held = Vec::new();
    let mut findings = Vec::new();
    for (listener, address) in addresses(settings) {
        let ours = run_file.as_ref().map(|running| match listener {
            "api" => &running.api,
            "integrations" => &running.integrations,
            _ => &running.admin,
        });
        let is_ours = |url: &str, bound: &io::Result<TcpListener>| match bound {
            Ok(_) => address.port() == 0,
            Err(_) => url.ends_with(&format!(":{}", address.port())),
        };
        findings.push(match (ours, TcpListener::bind(address)) {
            (Some(url), bound) if is_ours(url, &bound) => {
                PORT.good(format!("`{listener}` is served at {url} by the running daemon"))
            }
            (_, Ok(bound)) => {
                held.push(bound);
                let free = if address.port() == 0 { "takes any free port" } else { "is free" };
                PORT.good(format!("`{listener}` at {address} {free}"))
            }
            (_, Err(error)) if error.kind() == ErrorKind::AddrInUse && is_held(listener, address.port()) => {
                PORT.good(format!("`{listener}` at {address} is held by offerd-{listener}.socket"))
            }
            (_, Err(error)) => {
                let next = format!(
                    "find its user with `ss -ltnp`: if that is this daemon, its `store.path` was moved or its disk has failed; or set                      another `{listener}.listen`"
                );
                PORT.wrong(format!("`{listener}` cannot have {address}: {error}"), next)
            }
        });
    }
    findings
}

/// Whether the package's socket unit of a listener holds this port for the next start.
fn is_held(listener: &str, port: u16) -> bool {
    let unit = format!("offerd-{listener}.socket");
    let shown = Command::new("systemctl").args(["show", "--property=ActiveState,Listen", &unit]).output();
    shown.is_ok_and(|shown| shows_held(&String::from_utf8_lossy(&shown.stdout), port))
}

fn shows_held(shown: &str, port: u16) -> bool {
    let listens = format!(":{port} (Stream)");
    shown.lines().any(|line| line == "ActiveState=active")
        && shown.lines().any(|line| line.starts_with("Listen=") && line.ends_with(&listens))
}

fn addresses(settings: &Settings) -> [(&'static str, SocketAddr); 3] {
    [
        ("api", settings.api.listen),
        ("integrations", settings.integrations.listen),
        ("admin", settings.admin.listen),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_an_active_socket_unit_is_held_for_the_daemon() {
        let shown = "ActiveState=active\nListen=127.0.0.1:8080 (Stream)\n";
        assert!(shows_held(shown, 8080));
        assert!(!shows_held(shown, 808));
        assert!(!shows_held(&shown.replace("=active", "=inactive"), 8080));
        assert!(!shows_held("", 8080));
    }
}
