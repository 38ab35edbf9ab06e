//! `offerd doctor`: whether this machine can run the daemon, and what to do where it cannot.
//!
//! Nothing is changed, no partner is asked anything: of each that is asked over HTTP a connection is made and dropped.

mod clock;
mod key;
mod listeners;
mod machine;
mod partners;
mod store;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::admin_client::AdminClient;
use super::page::{self, Color};
use super::progress;
use super::trouble::Trouble;
use crate::config::Settings;
use crate::daemon;
use crate::declaration::Fault;
use crate::partners::Book;
use crate::sheet::{Sheet, Value, sheet};

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd doctor                 what is good (✓), what to look at (!), what is wrong (✗), what cannot be told here (?)
  offerd doctor --json | jq '.[] | select(.state == \"wrong\")'
  offerd --config /etc/offerd/offerd.toml doctor && systemctl start offerd

Run it as the user that the daemon runs as, with the same settings: limits, permissions and keys are that user's.
Exit code 0: nothing is wrong. 1: something is, and the table says what to do.")]
pub struct Arguments {
    /// As JSON: an array of `check`, `state` (good, look, wrong, unknown), `found` and `next`
    #[arg(long)]
    json: bool,
}

/// What a look at one thing has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// How good it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    /// It works, and somebody should look at it.
    Look,
    Wrong,
    /// It cannot be found out here.
    Unknown,
}

impl Finding {
    fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Good, found: found.into(), next: None }
    }

    fn look(check: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Look, found: found.into(), next: Some(next.into()) }
    }

    fn wrong(check: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Wrong, found: found.into(), next: Some(next.into()) }
    }

    fn unknown(check: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Unknown, found: found.into(), next: Some(next.into()) }
    }
}

/// Runs `offerd doctor`.
pub async fn run(config: Option<&Path>, arguments: &Arguments) -> Result<(), Trouble> {
    let waiting = progress::waiting("looking at the machine");
    let findings = examine(config).await;
    drop(waiting);
    page::show(&findings, arguments.json, || {
        page::print_sheet(&sheet(&findings));
        page::print(summary(&findings));
    })?;
    let wrong = findings.iter().any(|finding| finding.state == State::Wrong);
    if wrong { Err(Trouble::Told(ExitCode::FAILURE)) } else { Ok(()) }
}

/// Looks at everything, in the order in which a start would need it.
async fn examine(config: Option<&Path>) -> Vec<Finding> {
    let (settings, faults) = Settings::inspect(config);
    let mut findings = of_files("settings", &faults, "every key is known and within its bounds");
    let Some(settings) = settings else { return findings };
    if let Err(faults) = daemon::vehicles(&settings) {
        findings.extend(of_files("vehicles", &faults, ""));
    }
    let book = Book::load(&settings.partners.path);
    findings.extend(of_partner_files(&settings, &book));
    let book = book.unwrap_or_else(|_| Book::of(Vec::new()));

    let daemon = AdminClient::of_daemon(&settings).await;
    let sealed_with = store::sealed_with(&daemon).await;
    findings.push(machine::files(&settings, &book));
    findings.push(machine::disk(&settings.store));
    findings.push(clock::clock(&settings.store.path));
    findings.push(key::key(&settings.store, sealed_with.as_deref()));
    findings.push(store::store(&settings.store, &daemon).await);
    findings.extend(listeners::certificates(&settings));
    findings.extend(listeners::ports(&settings, !matches!(daemon, Ok(None))));
    findings.extend(partners::reachable(&settings, &book).await);
    findings
}

fn of_files(check: &'static str, faults: &[Fault], good: &str) -> Vec<Finding> {
    let next = "mend it; `offerd check` tells again";
    match faults {
        [] => vec![Finding::good(check, good)],
        faults => faults.iter().map(|fault| Finding::wrong(check, fault.to_string(), next)).collect(),
    }
}

fn of_partner_files(settings: &Settings, book: &Result<Book, Vec<Fault>>) -> Vec<Finding> {
    const CHECK: &str = "partner files";
    let directory = settings.partners.path.display();
    match book {
        Err(faults) => of_files(CHECK, faults, ""),
        Ok(book) if book.seats().is_empty() => {
            let next = "put partner files there, or say by `partners.path` where they are";
            vec![Finding::look(CHECK, format!("none in {directory}: no lead will have an offer"), next)]
        }
        Ok(book) => {
            let counted =
                [(book.partners().len(), "partner"), (book.seats().len(), "seat"), (book.offers(), "offer")];
            let counted: Vec<String> = counted.map(|(count, what)| page::counted(count, what)).into();
            vec![Finding::good(CHECK, format!("{} in {directory}", counted.join(", ")))]
        }
    }
}

fn sheet(findings: &[Finding]) -> Sheet {
    sheet!(findings, finding => {
        let (mark, color) = match finding.state {
            State::Good => ("✓", Color::Green),
            State::Look => ("!", Color::Yellow),
            State::Wrong => ("✗", Color::Red),
            State::Unknown => ("?", Color::Yellow),
        };
        "" => Value::from(mark).in_color(color),
        "check" => finding.check,
        "found" => &finding.found,
        "what to do next" => finding.next.as_ref(),
    })
}

fn summary(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    match (count(State::Wrong), count(State::Look) + count(State::Unknown)) {
        (0, 0) => "everything is good".to_owned(),
        (0, look) => format!("nothing is wrong; {} to look at", page::counted(look, "thing")),
        (1, _) => "1 thing is wrong; the daemon would not start, or not do all that it should".to_owned(),
        (wrong, _) => {
            format!("{wrong} things are wrong; the daemon would not start, or not do all that it should")
        }
    }
}
