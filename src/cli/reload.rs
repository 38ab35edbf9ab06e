//! `offerd reload`

use std::fs;

use super::command_error::BAD_CONFIGURATION;
use super::prelude::*;
use offerd_admin::reload_report::{ReloadOutcome, Report};
use offerd_base::config::SettingChange;
use offerd_base::declaration::DeclarationsDiff;
use offerd_partners::diff::{ChangedKey, OffersDiff, PartnerDiff, PartnerFigures, ProductDiff};

/// Asks the running daemon to reload, and prints the outcome.
pub async fn run(config: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let settings = super::settings_to_find_the_daemon(config)?;
    let outcome = reload(&settings).await?;
    if let Some(told) = other_file(config, &settings) {
        tell!("offerd: {told}");
    }
    if json {
        page::print_json(&outcome)?;
    }
    match outcome {
        ReloadOutcome::Reloaded(_) if json => Ok(()),
        ReloadOutcome::Reloaded(report) => {
            page::print(lines(&report).join("\n"));
            Ok(())
        }
        ReloadOutcome::Refused { .. } if json => Err(CommandError::Told(ExitCode::from(BAD_CONFIGURATION))),
        ReloadOutcome::Refused { faults } => Err(CommandError::Faults(faults)),
        ReloadOutcome::Failed { cause } => Err(format!("nothing changed: {cause}").into()),
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
    Some(format!("the daemon reads {read}, set at its start; {given} was only used to find it"))
}

async fn reload(settings: &Settings) -> Result<ReloadOutcome, String> {
    let Some(daemon) = AdminClient::of_daemon(settings).await? else {
        let store = settings.store.path.display();
        return Err(format!(
            "no daemon is running on the store `{store}`, so there is nothing to reload; `offerd serve` starts one with the current files"
        ));
    };
    daemon.call(Method::POST, "/reload").await?.read_any()
}

fn lines(report: &Report) -> Vec<String> {
    let Report { book, partners, subscriptions, experiments, settings, remarks } = report;
    let nothing = if report.changes_nothing() { "; nothing has changed" } else { "" };
    let mut lines = vec![format!("reloaded{nothing}")];
    lines.extend(partners.added.iter().map(|partner| format!("  + {}", figures(partner))));
    lines.extend(partners.removed.iter().map(|partner| format!("  - {}", figures(partner))));
    for partner in &partners.changed {
        lines.push(format!("  ~ {}", partner.partner));
        lines.extend(lines_of(partner).iter().map(|line| format!("      {line}")));
    }
    for (what, diff) in [("postbacks", subscriptions), ("experiment", experiments)] {
        let DeclarationsDiff { added, removed, changed } = diff;
        for (sign, names) in [('+', added), ('-', removed), ('~', changed)] {
            lines.extend(names.iter().map(|name| format!("  {sign} {what} {name}")));
        }
    }
    lines.extend(settings.changed.iter().map(|change| format!("  ~ {}", setting(change))));
    if !settings.waiting_for_restart.is_empty() {
        lines.push("waiting for a restart:".to_owned());
    }
    lines.extend(settings.waiting_for_restart.iter().map(|change| format!("  ! {}", setting(change))));
    lines.extend(remarks.iter().map(|remark| format!("  ? {remark}")));
    lines.push(format!(
        "{} partners, {} offers, partner files {}",
        book.partners, book.offers, book.fingerprint
    ));
    lines
}

fn figures(PartnerFigures { partner, products }: &PartnerFigures) -> String {
    let products = products
        .iter()
        .map(|(product_type, offers)| format!("{product_type} ({})", page::counted(*offers, "offer")));
    format!("{partner}: {}", products.collect::<Vec<_>>().join(", "))
}

/// The changes of a partner, one aspect per line.
fn lines_of(partner: &PartnerDiff) -> Vec<String> {
    let mut lines: Vec<String> = partner.identity.iter().map(|found| aspect("partner", found)).collect();
    for (product_type, diff) in &partner.products {
        let whole = |what, offers| format!("{product_type}: {what} ({})", page::counted(offers, "offer"));
        match diff {
            ProductDiff::Added { offers } => lines.push(whole("added", *offers)),
            ProductDiff::Removed { offers } => lines.push(whole("removed", *offers)),
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

fn aspect(place: &str, ChangedKey { key, before, after }: &ChangedKey) -> String {
    let arrow = (before.is_some() || after.is_some()).then_some("→");
    let words = [Some(key.as_str()), before.as_deref(), arrow, after.as_deref()];
    format!("{place}: {}", words.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn setting(SettingChange { key, before, after, source }: &SettingChange) -> String {
    format!("{key} {before} → {after} ({source})")
}
