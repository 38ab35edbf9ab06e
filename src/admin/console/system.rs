//! `GET /console/system`: the daemon itself; `POST …/reload` and `…/check`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tracing::{Level, error};

use super::super::App;
use super::super::audit::Note;
use super::super::chronicle::{Found, Lately};
use super::super::command::unread;
use super::super::store::StoreReport;
use super::history::{self, Reading};
use super::section::Section;
use super::view::{Page, View, see};
use super::visit::{Visit, audit};
use crate::alerts::last_backup;
use crate::config::is_reloadable;
use crate::reload::Outcome;
use crate::telemetry::logging::AUDIT;
use crate::telemetry::tail::LINES;
use crate::web::{Failure, Reply};

/// Where the page is.
const PATH: &str = "/console/system";

/// Damaged places of the store that are listed, those that were found first.
const DAMAGES_SHOWN: usize = 20;

/// Tokens that are listed, those that were made last.
const TOKENS_SHOWN: usize = 200;

#[derive(Debug, Serialize)]
struct System {
    version: &'static str,
    pid: u32,
    /// How long it has run, seconds.
    uptime: f64,
    api: String,
    integrations: String,
    admin: String,
    base_url: String,
    signs_in: bool,
    book: BookView,
    /// Those that a file or a variable sets.
    settings_set: Vec<SettingView>,
    /// The others.
    settings_default: Vec<SettingView>,
    tokens: Vec<TokenView>,
    tokens_in_all: usize,
    store: StoreView,
    backup: Option<(i64, String, u64)>,
    log: Vec<LogView>,
    log_lines: usize,
    /// What came of a reload that was just asked for from this page.
    reload: Option<ReloadView>,
}

#[derive(Debug, Serialize)]
struct BookView {
    partners: usize,
    offers: usize,
    fingerprint: String,
    /// Unix milliseconds.
    taken_in_at: Option<f64>,
    refused: f64,
}

#[derive(Debug, Serialize)]
struct SettingView {
    key: String,
    value: String,
    source: String,
    #[serde(skip)]
    default: bool,
    reloadable: bool,
}

#[derive(Debug, Serialize)]
struct TokenView {
    id: String,
    holder: String,
    kind: &'static str,
    test: bool,
    created_at: i64,
}

#[derive(Debug, Serialize)]
struct StoreView {
    path: String,
    /// Whether it is in a database.
    shared: bool,
    /// Bytes of its files; nothing where they cannot be looked at.
    bytes: Option<f64>,
    free_bytes: Option<f64>,
    master_key: String,
    /// What is damaged, as far as it is known.
    damaged: Vec<String>,
    /// How many damaged places are not listed.
    damaged_more: usize,
    /// Records that could not be read since the start.
    broken: usize,
    check: Option<CheckView>,
}

#[derive(Debug, Serialize)]
struct CheckView {
    at: i64,
    /// The class of the style sheet.
    class: &'static str,
    words: String,
    records: Vec<(String, u64)>,
}

#[derive(Debug, Serialize)]
struct LogView {
    at: i64,
    class: &'static str,
    level: &'static str,
    target: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct ReloadView {
    class: &'static str,
    words: String,
    faults: Vec<String>,
}

impl Page for System {
    const SECTION: Section = Section::System;
    const TEMPLATE: &'static str = "system.html";
    const FRESH: Option<Duration> = Some(history::EVERY);
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let page = visit.reading(page).await??;
    visit.view(&page)
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
    let page = visit.reading(page).await??;
    visit.view(&System { reload: Some(told(outcome)), ..page })
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

fn page(app: &App) -> Result<System, Failure> {
    let (tokens, tokens_in_all) = tokens(app)?;
    // As of now: what was just done from here must be shown.
    let reading = Reading::of(app);
    let (settings_default, settings_set) = settings(app).into_iter().partition(|setting| setting.default);
    Ok(System {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime: app.console.begun.elapsed().as_secs_f64(),
        api: app.run_file.api.clone(),
        integrations: app.run_file.integrations.clone(),
        admin: app.run_file.admin.clone(),
        base_url: app.engine.base_url.to_string(),
        signs_in: app.console.sessions.required(),
        book: book(app, &reading),
        settings_set,
        settings_default,
        tokens,
        tokens_in_all,
        store: store(app, &reading),
        backup: last_backup(&app.store).and_then(|taken| Some((taken.at_ms, taken.by?, taken.missed))),
        log: log(app),
        log_lines: LINES,
        reload: None,
    })
}

fn book(app: &App, reading: &Reading) -> BookView {
    let book = app.engine.book();
    BookView {
        partners: book.partners().len(),
        offers: book.offers(),
        fingerprint: format!("{:012x}", book.fingerprint().figure()),
        taken_in_at: reading.reloaded_at.map(|seconds| seconds * 1000.0),
        refused: reading.reloads_refused,
    }
}

fn settings(app: &App) -> Vec<SettingView> {
    let settings = app.settings();
    let view = |(key, value, source): &(String, String, String)| SettingView {
        key: key.clone(),
        value: value.clone(),
        source: source.clone(),
        default: source == "default",
        reloadable: is_reloadable(key),
    };
    settings.describe().iter().map(view).collect()
}

/// The tokens that were made last, newest first, and how many there are in all.
fn tokens(app: &App) -> Result<(Vec<TokenView>, usize), Failure> {
    let mut listed = app.key_ring.list().map_err(unread)?;
    let all = listed.len();
    listed.sort_by_key(|token| std::cmp::Reverse(token.created_at));
    listed.truncate(TOKENS_SHOWN);
    let views = listed.into_iter().map(|token| TokenView {
        id: token.id.to_string(),
        holder: token.holder.name().to_owned(),
        kind: token.kind.word(),
        test: token.test,
        created_at: token.created_at,
    });
    Ok((views.collect(), all))
}

fn store(app: &App, reading: &Reading) -> StoreView {
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
        CheckView { at: check.at, class, words, records }
    });
    let damages = app.engine.records.store.damages();
    StoreView {
        damaged: damages.iter().take(DAMAGES_SHOWN).map(ToString::to_string).collect(),
        damaged_more: damages.len().saturating_sub(DAMAGES_SHOWN),
        broken: app.engine.records.store.broken_records(),
        path: path.display().to_string(),
        shared: app.store.is_shared(),
        bytes: bytes_of(path),
        free_bytes: reading.free_bytes,
        master_key: app.engine.records.store.master_key_id(),
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
fn log(app: &App) -> Vec<LogView> {
    let lines = app.tail.lines().into_iter().rev();
    let view = |line: crate::telemetry::tail::LogLine| LogView {
        at: line.at,
        class: match line.level {
            Level::ERROR => "bad",
            Level::WARN => "warn",
            _ if line.target == AUDIT => "audit",
            _ => "idle",
        },
        level: line.level.as_str(),
        target: line.target,
        text: line.text,
    };
    lines.map(view).collect()
}

fn told(outcome: Outcome) -> ReloadView {
    match outcome {
        Outcome::Reloaded(report) if report.changes_nothing() => ReloadView {
            class: "good",
            words: "Taken in; nothing has changed.".to_owned(),
            faults: Vec::new(),
        },
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
            ReloadView { class: "good", words, faults: Vec::new() }
        }
        Outcome::Refused { faults } => ReloadView {
            class: "bad",
            words: "Not taken in; everything stays as it was. What is wrong:".to_owned(),
            faults: faults.iter().map(ToString::to_string).collect(),
        },
        Outcome::Failed { cause } => ReloadView {
            class: "bad",
            words: format!("Not taken in; everything stays as it was: {cause}"),
            faults: Vec::new(),
        },
    }
}
