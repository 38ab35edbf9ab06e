//! `offerd store check`

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use comfy_table::CellAlignment;
use hyper::Method;
use indicatif::{ProgressBar, ProgressDrawTarget};

use super::client::Client;
use super::page;
use crate::admin::store::StoreReport;
use crate::config::Settings;
use crate::store::{Store, StoreOptions};

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read every record, of a running daemon's store or of a stopped one's, and name those that are not as they were
    /// written; exit code 1 if there are any. Nothing is changed
    Check {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);

/// Runs `offerd store`.
pub fn run(config: Option<&Path>, command: &Command) -> ExitCode {
    let Command::Check { json } = *command;
    let settings = match super::settings(config) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    match super::block_on(check(&settings)).and_then(|report| print(&report, json).map(|()| report.sound)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => super::fail("the store is not sound; what is named cannot be read, everything else can"),
        Err(message) => super::fail(message),
    }
}

async fn check(settings: &Settings) -> Result<StoreReport, String> {
    let spinner = ProgressBar::hidden().with_message("reading every record");
    if std::io::stderr().is_terminal() {
        spinner.set_draw_target(ProgressDrawTarget::stderr());
        spinner.enable_steady_tick(FRAME);
    }
    let report = match Client::of_daemon(settings).await {
        Some((client, admin)) => {
            let answer = client.call(Method::POST, &format!("{admin}/store/check"), None).await;
            answer.map_err(|error| error.to_string())?.read()
        }
        None => of_stopped(settings),
    };
    spinner.finish_and_clear();
    report
}

fn of_stopped(settings: &Settings) -> Result<StoreReport, String> {
    let path = &settings.store.path;
    if !path.is_dir() {
        return Err(format!("there is no store at `store.path` ({})", path.display()));
    }
    let store = Store::open(StoreOptions::from(&settings.store))
        .map_err(|error| format!("`store.path` cannot be opened: {error}"))?;
    let report = store.check().map_err(|error| error.to_string());
    store.close().map_err(|error| error.to_string())?;
    report.map(StoreReport::from)
}

fn print(report: &StoreReport, json: bool) -> Result<(), String> {
    if json {
        page::print(serde_json::to_string_pretty(report).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let mut table = page::table(["tree", "sound", "broken"]);
    for count in &report.trees {
        let broken = report.broken.iter().filter(|record| record.tree == count.tree).count();
        table.add_row([count.tree.clone(), count.records.to_string(), broken.to_string()]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    page::print(table);
    for record in &report.broken {
        page::print(format_args!("{} {}: {}", record.tree, record.key, record.reason));
    }
    if report.stray_parts > 0 {
        page::print(format_args!("{} pieces of large values that no value owns", report.stray_parts));
    }
    if report.unknown_keys > 0 {
        page::print(format_args!("{} keys of no tree", report.unknown_keys));
    }
    for file in &report.set_aside {
        page::print(format_args!(
            "a damaged file of the journal was set aside: damaged/{file}; remove it when you have seen it"
        ));
    }
    Ok(())
}
