//! `GET /console/system`: the state of the daemon; `POST …/reload` and `…/check`.

use std::fs;
use std::path::Path;

use tracing::error;

use super::super::reload::reload_files;
use super::super::store::StoreReport;
use super::super::tokens::ListedToken;
use super::history::{self, MetricsReading};
use super::prelude::*;
use crate::reload_report::ReloadOutcome;
use offerd_base::config::is_reloadable;
use offerd_base::telemetry::tail::LINES;
use offerd_outbound::alerts::last_backup;

/// Maximum listed damages, first found first.
const DAMAGES_SHOWN: usize = 20;

/// Maximum listed tokens, latest first.
const TOKENS_SHOWN: usize = 200;

const PAGE: ConsolePage = ConsolePage::new(Section::System, "system.html").fresh(history::EVERY);

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    request.view(PAGE, request.reading(|app| page(app, None)).await??)
}

pub(super) async fn reload(request: &ConsoleRequest) -> Result<View> {
    let outcome = reload_files(&request.app, &request.actor()).await?;
    request.view(PAGE, request.reading(move |app| page(app, Some(outcome_fields(&outcome)))).await??)
}

pub(super) async fn check(request: &ConsoleRequest) -> Result<View> {
    if request.app.last_store_check.check_begins() {
        request.app.note_if_can(&request.actor(), note!("store.check", "check of the store asked for")).await;
        let app = Arc::clone(&request.app);
        // Not awaited: it reads the whole store.
        drop(tokio::task::spawn_blocking(move || {
            let report = StoreReport::of(&app.engine.records.store).map_err(|error| {
                error!(%error, "the store could not be checked");
                error.to_string()
            });
            app.last_store_check.check_ended(report.as_ref().map_err(Clone::clone));
        }));
    }
    View::at("/console/system")
}

fn page(app: &AdminState, reload: Option<Value>) -> Result<Value> {
    let (tokens, tokens_in_all) = tokens(app)?;
    // A fresh reading, so that an action just taken shows.
    let reading = MetricsReading::of(app);
    let settings = app.settings();
    let described = settings.describe();
    // Other settings come from a file or a variable.
    let (default, set): (Vec<_>, Vec<_>) = described.iter().partition(|(_, _, source)| source == "default");
    Ok(fields! {
        version => env!("CARGO_PKG_VERSION"), pid => std::process::id(),
        uptime => app.console.begun.elapsed().as_secs_f64(),
        api => app.run_file.api,
        integrations => app.run_file.integrations,
        admin => app.run_file.admin,
        base_url => app.engine.base_url.to_string(),
        signs_in => app.console.sessions.rules.required,
        book => book(app, &reading),
        settings_set => set.into_iter().map(setting).collect::<Vec<_>>(),
        settings_default => default.into_iter().map(setting).collect::<Vec<_>>(),
        tokens, tokens_in_all, store => store(app, &reading),
        backup => last_backup(&app.store).and_then(|taken| Some((taken.at_ms, taken.by?, taken.missed))),
        log => app.tail.lines().into_iter().rev().collect::<Vec<_>>(),
        log_lines => LINES, reload,
    })
}

fn book(app: &AdminState, reading: &MetricsReading) -> Value {
    let book = app.engine.book();
    fields! {
        partners => book.partners().len(), offers => book.offers(),
        fingerprint => format!("{:012x}", book.fingerprint.figure()),
        taken_in_at => reading.reloaded_at.map(|seconds| seconds * 1000.0),
        refused => reading.reloads_refused,
    }
}

fn setting((key, value, source): &(String, String, String)) -> Value {
    fields! { key, value, source, reloadable => is_reloadable(key) }
}

fn tokens(app: &AdminState) -> Result<(Vec<ListedToken>, usize)> {
    let mut listed = app.tokens.list().map_err(unread)?;
    let all = listed.len();
    listed.sort_by_key(|token| std::cmp::Reverse(token.created_at));
    listed.truncate(TOKENS_SHOWN);
    Ok((listed, all))
}

fn store(app: &AdminState, reading: &MetricsReading) -> Value {
    let settings = app.settings();
    let path = &settings.store.path;
    let damages = app.engine.records.store.damages();
    fields! {
        damaged => damages.iter().take(DAMAGES_SHOWN).map(ToString::to_string).collect::<Vec<_>>(),
        damaged_more => damages.len().saturating_sub(DAMAGES_SHOWN),
        broken => app.engine.records.store.broken_records(),
        path => path.display().to_string(), shared => app.store.is_shared(), bytes => bytes_of(path),
        free_bytes => reading.free_bytes,
        master_key => app.engine.records.store.master_key_id(),
        check => app.last_store_check.check(),
    }
}

/// Total size of the files in a directory, recursively. A store has few files, whatever its size.
fn bytes_of(directory: &Path) -> Option<f64> {
    let mut bytes = 0.0;
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        bytes += if found.is_dir() { bytes_of(&entry.path()).unwrap_or(0.0) } else { found.len() as f64 };
    }
    Some(bytes)
}

fn outcome_fields(outcome: &ReloadOutcome) -> Value {
    let faults: Vec<String> = match outcome {
        ReloadOutcome::Refused { faults } => faults.iter().map(ToString::to_string).collect(),
        ReloadOutcome::Reloaded(_) | ReloadOutcome::Failed { .. } => Vec::new(),
    };
    let unchanged = matches!(outcome, ReloadOutcome::Reloaded(report) if report.changes_nothing());
    fields! { faults, unchanged, ..outcome }
}
