//! `offerd doctor`: checks whether this machine can run the daemon, and how to fix what prevents it.
//!
//! Changes no setting, file of a partner or record, and sends partners no request: it only opens and drops a
//! connection to each HTTP partner. It asks a running daemon what it knows to be wrong. It opens a stopped
//! daemon's store as a start would, which replays its journal.

mod clock;
mod key;
mod listeners;
mod machine;
mod partners;
mod running;
mod store;

pub use store::sealed_with;

use super::check::{checked, extent};
use super::prelude::*;
use offerd_base::declaration::Fault;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    state: CheckState,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckState {
    Good,
    /// It works, but needs attention.
    Look,
    Wrong,
    /// It cannot be determined here.
    Unknown,
}

/// A check, by its name.
#[derive(Debug, Clone, Copy)]
struct DoctorCheck(&'static str);

impl DoctorCheck {
    fn good(self, found: impl Into<String>) -> Finding {
        Finding { check: self.0, state: CheckState::Good, found: found.into(), next: None }
    }

    fn look(self, found: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { state: CheckState::Look, next: Some(next.into()), ..self.good(found) }
    }

    fn wrong(self, found: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { state: CheckState::Wrong, ..self.look(found, next) }
    }

    fn unknown(self, found: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { state: CheckState::Unknown, ..self.look(found, next) }
    }
}

/// Runs `offerd doctor`.
pub async fn run(config: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let findings = progress::during("looking at the machine", examine(config)).await;
    page::show(&findings, json, || {
        page::print_sheet(&sheet(&findings));
        page::print(summary(&findings));
    })?;
    CommandError::unless(findings.iter().all(|finding| finding.state != CheckState::Wrong))
}

/// Runs all checks, in the order in which a start would need them.
async fn examine(config: Option<&Path>) -> Vec<Finding> {
    let (settings, faults) = Settings::inspect(config, None);
    let Some(settings) = settings else { return of_settings(&faults) };
    let (faults, book) = match checked(config) {
        Ok((_, loaded)) => (Vec::new(), Ok(loaded.book)),
        Err(faults) => {
            let directory = &settings.partners.path;
            let is_in = |fault: &&Fault| fault.file.as_ref().is_some_and(|file| file.starts_with(directory));
            let of_partners: Vec<Fault> = faults.iter().filter(is_in).cloned().collect();
            let book = if of_partners.is_empty() { Book::load(directory) } else { Err(of_partners) };
            (faults, book)
        }
    };
    let mut findings = of_partner_files(&settings, &book);

    let daemon = AdminClient::of_daemon(&settings).await;
    let sealed_with = store::sealed_with(&daemon).await;
    let client = daemon.as_ref().ok().and_then(Option::as_ref);
    let report = running::DaemonReport::of(client, config, &settings.store.path).await;
    findings.extend(report.findings(&settings, book.as_ref().ok()));
    findings.push(machine::files(&settings, book.as_ref().ok(), report.descriptors));
    findings.push(machine::disk(&settings.store));
    findings.push(clock::clock(&settings.store.path, report.clock()));
    findings.push(key::key(&settings.store, sealed_with.as_deref()));
    findings.push(store::store(&settings.store, &daemon).await);
    findings.extend(listeners::certificates(&settings));
    findings.extend(listeners::ports(&settings, !matches!(daemon, Ok(None))));
    findings.extend(report.statuses.iter().filter_map(partners::judged));
    if let Ok(book) = &book {
        findings.extend(partners::reachable(&settings, book, &report.statuses).await);
    }
    [of_settings(&unshown(faults, &findings)), findings].concat()
}

/// The faults of `offerd check` that no finding names.
fn unshown(faults: Vec<Fault>, findings: &[Finding]) -> Vec<Fault> {
    let is_shown = |fault: &Fault| findings.iter().any(|finding| finding.found.contains(&fault.message));
    faults.into_iter().filter(|fault| !is_shown(fault)).collect()
}

fn of_settings(faults: &[Fault]) -> Vec<Finding> {
    of_files(DoctorCheck("settings"), faults, "every key is known and within its bounds")
}

fn of_files(check: DoctorCheck, faults: &[Fault], good: &str) -> Vec<Finding> {
    let next = "fix it; check again with `offerd check`";
    match faults {
        [] => vec![check.good(good)],
        faults => faults.iter().map(|fault| check.wrong(fault.to_string(), next)).collect(),
    }
}

fn of_partner_files(settings: &Settings, book: &Result<Book, Vec<Fault>>) -> Vec<Finding> {
    const CHECK: DoctorCheck = DoctorCheck("partner files");
    let directory = settings.partners.path.display();
    match book {
        Err(faults) => of_files(CHECK, faults, ""),
        Ok(book) if book.seats().is_empty() => {
            let next = "put partner files there, or set `partners.path` to their directory";
            vec![CHECK.look(format!("none in {directory}: no lead will get an offer"), next)]
        }
        Ok(book) => vec![CHECK.good(format!("{} in {directory}", extent(book)))],
    }
}

fn sheet(findings: &[Finding]) -> Sheet {
    sheet!(findings, finding => {
        let (mark, color) = match finding.state {
            CheckState::Good => ("✓", Color::Green),
            CheckState::Look => ("!", Color::Yellow),
            CheckState::Wrong => ("✗", Color::Red),
            CheckState::Unknown => ("?", Color::Yellow),
        };
        "" => SheetValue::from(mark).in_color(color),
        "check" => finding.check,
        "found" => &finding.found,
        "what to do next" => finding.next.as_ref(),
    })
}

fn summary(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    match (count(CheckState::Wrong), count(CheckState::Look) + count(CheckState::Unknown)) {
        (0, 0) => "everything is good".to_owned(),
        (0, look) => format!("nothing is wrong; {} to check", page::counted(look, "thing")),
        (wrong, _) => {
            let are = if wrong == 1 { "is" } else { "are" };
            let things = page::counted(wrong, "thing");
            format!("{things} {are} wrong; the daemon does not work fully, or its next start fails")
        }
    }
}
