//! `GET /console/system`: the daemon itself; `POST …/reload` and `…/check`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use minijinja::value::Value;
use tracing::{Level, error};

use super::super::App;
use super::super::audit::Note;
use super::super::chronicle::{Found, Lately};
use super::super::command::unread;
use super::super::store::StoreReport;
use super::history::{self, Reading};
use super::section::Section;
use super::view::{Page, View, fields, see};
use super::visit::{Visit, audit};
use crate::alerts::last_backup;
use crate::config::is_reloadable;
use crate::reload::Outcome;
use crate::telemetry::logging::AUDIT;
use crate::telemetry::tail::{LINES, LogLine};
use crate::web::{Failure, Reply};

/// Where the page is.
const PATH: &str = "/console/system";

/// Damaged places of the store that are listed, those that were found first.
const DAMAGES_SHOWN: usize = 20;

/// Tokens that are listed, those that were made last.
const TOKENS_SHOWN: usize = 200;

const PAGE: Page = Page::new(Section::System, "system.html").fresh(history::EVERY);

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let fields = visit.reading(|app| page(app, None)).await??;
    visit.view(PAGE, fields)
}

/// Leads to the page from where its forms are sent.
pub(super) async fn back(_: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(PATH.to_owned()))
}

/// Takes in settings and partner files anew, and shows what came of it.
pub(super) async fn reload(visit: Arc<Visit>) -> Result<View, Failure> {
    visit.app.note(&visit.actor(), Note::of("reload")).await?;
    audit!(visit, "reload", "reload asked for");
    // A daemon that is stopping takes nothing in any more.
    let outcome = visit.app.reloader.reload().await.ok_or_else(|| Failure::overloaded(1))?;
    history::read(Arc::clone(&visit.app)).await;
    let fields = visit.reading(move |app| page(app, Some(told(outcome)))).await??;
    visit.view(PAGE, fields)
}

/// Begins to read every record, unless that goes on already; the page shows how it ends.
pub(super) async fn check(visit: Arc<Visit>) -> Result<Reply, Failure> {
    if visit.app.chronicle.check_begins() {
        visit.app.note_if_can(&visit.actor(), Note::of("store.check")).await;
        audit!(visit, "store.check", "check of the store asked for");
        let app = Arc::clone(&visit.app);
        // Not awaited: it takes as long as reading the whole store.
        drop(tokio::task::spawn_blocking(move || {
            let report = StoreReport::of(&app.engine.records.store).map_err(|error| {
                error!(%error, "the store could not be checked");
                error.to_string()
            });
            app.chronicle.check_ended(report.as_ref().map_err(Clone::clone));
        }));
    }
    see(PATH)
}

/// What stands on the page, and what came of a reload that was just asked for from it.
fn page(app: &App, reload: Option<Value>) -> Result<Value, Failure> {
    let (tokens, tokens_in_all) = tokens(app)?;
    // As of now: what was just done from here must be shown.
    let reading = Reading::of(app);
    let settings = app.settings();
    let described = settings.describe();
    // The others are set by a file or a variable.
    let (default, set): (Vec<_>, Vec<_>) = described.iter().partition(|(_, _, source)| source == "default");
    Ok(fields! {
        version => env!("CARGO_PKG_VERSION"),
        pid => std::process::id(),
        uptime => app.console.begun.elapsed().as_secs_f64(),
        api => app.run_file.api,
        integrations => app.run_file.integrations,
        admin => app.run_file.admin,
        base_url => app.engine.base_url.to_string(),
        signs_in => app.console.sessions.required(),
        book => book(app, &reading),
        settings_set => set.into_iter().map(setting).collect::<Vec<_>>(),
        settings_default => default.into_iter().map(setting).collect::<Vec<_>>(),
        tokens,
        tokens_in_all,
        store => store(app, &reading),
        backup => last_backup(&app.store).and_then(|taken| Some((taken.at_ms, taken.by?, taken.missed))),
        log => log(app),
        log_lines => LINES,
        reload,
    })
}

fn book(app: &App, reading: &Reading) -> Value {
    let book = app.engine.book();
    fields! {
        partners => book.partners().len(),
        offers => book.offers(),
        fingerprint => format!("{:012x}", book.fingerprint().figure()),
        taken_in_at => reading.reloaded_at.map(|seconds| seconds * 1000.0),
        refused => reading.reloads_refused,
    }
}

fn setting((key, value, source): &(String, String, String)) -> Value {
    fields! { key, value, source, reloadable => is_reloadable(key) }
}

/// The tokens that were made last, newest first, and how many there are in all.
fn tokens(app: &App) -> Result<(Vec<Value>, usize), Failure> {
    let mut listed = app.key_ring.list().map_err(unread)?;
    let all = listed.len();
    listed.sort_by_key(|token| std::cmp::Reverse(token.created_at));
    listed.truncate(TOKENS_SHOWN);
    let views = listed.iter().map(|token| {
        fields! {
            id => token.id,
            holder => token.holder.name(),
            kind => token.kind.word(),
            test => token.test,
            created_at => token.created_at,
        }
    });
    Ok((views.collect(), all))
}

fn store(app: &App, reading: &Reading) -> Value {
    let settings = app.settings();
    let path = &settings.store.path;
    let Lately { check, .. } = app.chronicle.lately();
    let check = check.map(|check| {
        let (class, words, records) = match check.found {
            None => ("idle", "is going on".to_owned(), Vec::new()),
            Some(Err(cause)) => ("bad", format!("could not be made: {cause}"), Vec::new()),
            Some(Ok(Found { sound: true, records, .. })) => {
                ("good", "everything is as it was written".to_owned(), records)
            }
            Some(Ok(found)) => ("bad", not_sound(&found), found.records),
        };
        fields! { at => check.at, class, words, records }
    });
    let damages = app.engine.records.store.damages();
    fields! {
        damaged => damages.iter().take(DAMAGES_SHOWN).map(ToString::to_string).collect::<Vec<_>>(),
        damaged_more => damages.len().saturating_sub(DAMAGES_SHOWN),
        broken => app.engine.records.store.broken_records(),
        path => path.display().to_string(),
        shared => app.store.is_shared(),
        bytes => bytes_of(path),
        free_bytes => reading.free_bytes,
        master_key => app.engine.records.store.master_key_id(),
        check,
    }
}

/// What a check has found that is not as it was written.
fn not_sound(found: &Found) -> String {
    let counts = [
        (found.damaged, "damaged places of files"),
        (usize::try_from(found.leads_broken).unwrap_or(usize::MAX), "leads lost"),
        (found.broken, "records that cannot be read"),
    ];
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match told.is_empty() {
        true => "more lies there than should".to_owned(),
        false => told.join(", "),
    }
}

/// Bytes of all files of a directory and of those in it. A store has few files, however much they hold.
fn bytes_of(directory: &Path) -> Option<f64> {
    let mut bytes = 0.0;
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        bytes += if found.is_dir() { bytes_of(&entry.path()).unwrap_or(0.0) } else { found.len() as f64 };
    }
    Some(bytes)
}

/// The last lines of the log, newest first.
fn log(app: &App) -> Vec<Value> {
    let lines = app.tail.lines().into_iter().rev();
    let view = |line: LogLine| {
        let class = match line.level {
            Level::ERROR => "bad",
            Level::WARN => "warn",
            _ if line.target == AUDIT => "audit",
            _ => "idle",
        };
        fields! { at => line.at, class, level => line.level.as_str(), target => line.target, text => line.text }
    };
    lines.map(view).collect()
}

fn told(outcome: Outcome) -> Value {
    let (class, words, faults) = match outcome {
        Outcome::Reloaded(report) if report.changes_nothing() => {
            ("good", "Taken in; nothing has changed.".to_owned(), Vec::new())
        }
        Outcome::Reloaded(report) => {
            let crate::reload::Report { partners, subscriptions, experiments, settings, .. } = *report;
            let words = format!(
                "Taken in: {} partners added, {} removed, {} changed; {} postbacks added, {} removed, {} changed; {} experiments added, {} removed, {} changed; {} settings changed, {} wait for a restart.",
                partners.added.len(),
                partners.removed.len(),
                partners.changed.len(),
                subscriptions.added.len(),
                subscriptions.removed.len(),
                subscriptions.changed.len(),
                experiments.added.len(),
                experiments.removed.len(),
                experiments.changed.len(),
                settings.changed.len(),
                settings.waiting_for_restart.len()
            );
            ("good", words, Vec::new())
        }
        Outcome::Refused { faults } => {
            let words = "Not taken in; everything stays as it was. What is wrong:".to_owned();
            ("bad", words, faults.iter().map(ToString::to_string).collect())
        }
        Outcome::Failed { cause } => {
            ("bad", format!("Not taken in; everything stays as it was: {cause}"), Vec::new())
        }
    };
    fields! { class, words, faults }
}
