//! `offerd reload`

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use hyper::Method;

use super::admin_client::AdminClient;
use super::page;
use super::trouble::{BAD_CONFIGURATION, Trouble};
use crate::config::{SettingChange, Settings};
use crate::declaration::DeclarationsDiff;
use crate::partners::diff::{Aspect, OffersDiff, PartnerDiff, PartnerFigures, ProductDiff};
use crate::reload::{Outcome, Report};
use crate::run_file::RunFile;

/// `reload`
#[derive(Debug, Args)]
#[command(after_help = "\
Settings and partner files are read by the daemon, from where it was told to read them at its start, and checked as
`offerd check` does. Rate tables that are being built are finished as they were begun.

Exit code 0: the files are in force, and what that has changed is told. 64: something in them is wrong, all of it is told,
and nothing has changed. 1: no daemon is running, or it could not take them in.

Examples:
  offerd reload
  $EDITOR partners/tidelark_savings.toml && offerd check && offerd reload
  offerd reload --json")]
pub struct Arguments {
    /// What has changed, or what is wrong, as JSON
    #[arg(long)]
    json: bool,
}

/// Asks the running daemon to reload, and prints what came of it.
pub async fn run(config: Option<&Path>, arguments: &Arguments) -> Result<(), Trouble> {
    let settings = super::settings_to_find_the_daemon(config)?;
    let outcome = reload(&settings).await?;
    if let Some(told) = other_file(config, &settings) {
        tell!("offerd: {told}");
    }
    if arguments.json {
        page::print_json(&outcome)?;
    }
    match outcome {
        Outcome::Reloaded(_) if arguments.json => Ok(()),
        Outcome::Reloaded(report) => {
            page::print(text(&report).trim_end());
            Ok(())
        }
        Outcome::Refused { .. } if arguments.json => Err(Trouble::Told(ExitCode::from(BAD_CONFIGURATION))),
        Outcome::Refused { faults } => Err(Trouble::Faults(faults)),
        Outcome::Failed { cause } => Err(Trouble::Other(format!("nothing was changed: {cause}"))),
    }
}

/// The warning when the command was given another settings file than the daemon reads.
fn other_file(config: Option<&Path>, settings: &Settings) -> Option<String> {
    let given = config?;
    let read = RunFile::read(&settings.store.path).ok().flatten()?.settings_files?;
    let real = |file: &Path| fs::canonicalize(file).unwrap_or_else(|_| super::whole(file));
    if read.iter().any(|file| real(file) == real(given)) {
        return None;
    }
    let read: Vec<String> = read.iter().map(|file| file.display().to_string()).collect();
    let read = if read.is_empty() { "no settings file".to_owned() } else { read.join(", ") };
    let given = given.display();
    Some(format!("the daemon reads {read}, as it was told at its start; {given} has only said where it is"))
}

async fn reload(settings: &Settings) -> Result<Outcome, String> {
    let Some(daemon) = AdminClient::of_daemon(settings).await? else {
        let store = settings.store.path.display();
        return Err(format!(
            "no daemon is running on the store `{store}`, so there is nothing to reload; `offerd serve` starts one, \
             which reads the files anew"
        ));
    };
    daemon.call(Method::POST, "/reload").await?.read_any()
}

/// The report for people.
fn text(report: &Report) -> String {
    let Report { book, partners, subscriptions, experiments, settings, remarks } = report;
    let mut text = String::new();
    if report.changes_nothing() {
        text.push_str("reloaded; nothing has changed\n");
    } else {
        text.push_str("reloaded\n");
    }
    for partner in &partners.added {
        text.push_str(&format!("  + {}\n", figures(partner)));
    }
    for partner in &partners.removed {
        text.push_str(&format!("  - {}\n", figures(partner)));
    }
    for partner in &partners.changed {
        text.push_str(&format!("  ~ {}\n", partner.partner));
        lines_of(partner).iter().for_each(|line| text.push_str(&format!("      {line}\n")));
    }
    let DeclarationsDiff { added, removed, changed } = subscriptions;
    text.push_str(&named("postbacks", [added, removed, changed]));
    let DeclarationsDiff { added, removed, changed } = experiments;
    text.push_str(&named("experiment", [added, removed, changed]));
    for change in &settings.changed {
        text.push_str(&format!("  ~ {}\n", setting(change)));
    }
    if !settings.waiting_for_restart.is_empty() {
        text.push_str("waiting for a restart:\n");
    }
    for change in &settings.waiting_for_restart {
        text.push_str(&format!("  ! {}\n", setting(change)));
    }
    remarks.iter().for_each(|remark| text.push_str(&format!("  ? {remark}\n")));
    let figures = format!("{} partners, {} offers, book {}\n", book.partners, book.offers, book.fingerprint);
    text + &figures
}

/// A line for each that came, went or is not as it was.
fn named(what: &str, diff: [&Vec<String>; 3]) -> String {
    let lines = ['+', '-', '~'].into_iter().zip(diff);
    lines
        .flat_map(|(sign, names)| names.iter().map(move |name| format!("  {sign} {what} {name}\n")))
        .collect()
}

fn figures(PartnerFigures { partner, products }: &PartnerFigures) -> String {
    let products = products
        .iter()
        .map(|(product_type, offers)| format!("{product_type} ({})", page::counted(*offers, "offer")));
    format!("{partner}: {}", products.collect::<Vec<_>>().join(", "))
}

/// What is different in a partner, one aspect a line.
fn lines_of(partner: &PartnerDiff) -> Vec<String> {
    let mut lines: Vec<String> = partner.identity.iter().map(|found| aspect("partner", found)).collect();
    for (product_type, diff) in &partner.products {
        match diff {
            ProductDiff::Added { offers } => {
                lines.push(format!("{product_type}: added ({})", page::counted(*offers, "offer")))
            }
            ProductDiff::Removed { offers } => {
                lines.push(format!("{product_type}: removed ({})", page::counted(*offers, "offer")))
            }
            ProductDiff::Changed { aspects, offers, credentials } => {
                lines.extend(aspects.iter().map(|found| aspect(product_type, found)));
                lines.extend(credentials.then(|| format!("{product_type}: other secrets or certificates")));
                lines.extend(offers.as_ref().map(|offers| format!("{product_type}: {}", of_offers(offers))));
            }
        }
    }
    lines
}

fn of_offers(OffersDiff { before, after, added, removed, changed }: &OffersDiff) -> String {
    format!("offers {before} → {after} ({added} added, {removed} removed, {changed} changed)")
}

fn aspect(place: &str, Aspect { key, before, after }: &Aspect) -> String {
    match (before, after) {
        (None, None) => format!("{place}: {key}"),
        (Some(before), Some(after)) => format!("{place}: {key} {before} → {after}"),
        (None, Some(after)) => format!("{place}: {key} → {after}"),
        (Some(before), None) => format!("{place}: {key} {before} →"),
    }
}

fn setting(SettingChange { key, before, after, source }: &SettingChange) -> String {
    format!("{key} {before} → {after} ({source})")
}
