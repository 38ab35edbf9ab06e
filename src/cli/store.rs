//! `offerd store check`

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use comfy_table::CellAlignment;
use hyper::Method;

use super::client::Client;
use super::{page, progress};
use crate::admin::store::StoreReport;
use crate::config::Settings;
use crate::store::Tree;

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read every record, of a running daemon's store or of a stopped one's, and name those that are not as they were
    /// written; exit code 1 if there are any. Nothing is changed
    #[command(after_help = "\
Examples:
  offerd store check
  offerd store check --json | jq '.broken'")]
    Check {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs `offerd store`.
pub fn run(config: Option<&Path>, command: &Command) -> ExitCode {
    let Command::Check { json } = *command;
    let settings = match super::settings(config) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    match super::block_on(check(&settings)).and_then(|report| print(&report, json).map(|()| report.sound)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => super::fail(
            "the store is not sound: what is named cannot be read, everything else can; `offerd store salvage` makes a good store of what is left, and of the last backup",
        ),
        Err(message) => super::fail(message),
    }
}

async fn check(settings: &Settings) -> Result<StoreReport, String> {
    let _waiting = progress::waiting("reading every record");
    match Client::of_daemon(settings).await? {
        Some((client, admin)) => {
            let answer = client.call(Method::POST, &format!("{admin}/store/check"), None).await;
            answer.map_err(|error| error.to_string())?.read()
        }
        None => of_stopped(settings),
    }
}

fn of_stopped(settings: &Settings) -> Result<StoreReport, String> {
    let store = super::open_store(settings)?;
    let report = store.check().map_err(|error| error.to_string());
    store.close().map_err(|error| error.to_string())?;
    report.map(StoreReport::from)
}

/// What all the figures come to.
fn verdict(report: &StoreReport) -> String {
    let records: u64 = report.trees.iter().map(|count| count.records).sum();
    match report.broken.len() {
        0 if report.sound => format!("{records} records, everything is as it was written"),
        0 => format!("{records} records as they were written, and what is named above beside them"),
        broken => format!("{records} records as they were written, {broken} broken"),
    }
}

fn print(report: &StoreReport, json: bool) -> Result<(), String> {
    if json {
        page::print(serde_json::to_string_pretty(report).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let mut table = page::table(["tree", "sound", "broken"]);
    for count in &report.trees {
        let found = report.broken.iter().filter(|record| record.tree == count.tree).count() as u64;
        // Of leads it is known also how many are not there at all.
        let broken = if count.tree == Tree::Leads.name() { report.leads_broken.max(found) } else { found };
        table.add_row([count.tree.clone(), count.records.to_string(), broken.to_string()]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    page::print_table(table);
    for damage in &report.damaged {
        page::print(damage);
    }
    for record in &report.broken {
        page::print(format_args!("{} {}: {}", record.tree, record.key, record.reason));
    }
    if report.stray_parts > 0 {
        page::print(format_args!("{} pieces of large values that no value owns", report.stray_parts));
    }
    if report.unknown_keys > 0 {
        page::print(format_args!("{} keys of no tree", report.unknown_keys));
    }
    page::print(verdict(report));
    for file in &report.set_aside {
        page::print(format_args!(
            "a damaged file of the journal was set aside: damaged/{file}; remove it when you have seen it"
        ));
    }
    Ok(())
}
