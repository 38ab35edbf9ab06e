//! `offerd replay`: stored leads once more with changed partner files.
//!
//! A running daemon does it, which has the store; without one the command opens the store itself.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chrono::Utc;
use clap::Args;
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::client::Client;
use super::{page, values};
use crate::admin::replay::{ReplayLine, ReplayOrder};
use crate::config::Settings;
use crate::matching::Rules;
use crate::matching::replay::{Named, OfferCount, Progress, Replay, ReplayReport, Wish};
use crate::matching::texts::Texts;
use crate::partners::Book;

/// `offerd replay`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd replay --since 7d
  offerd replay --partners ../changed --since 7d --company Acme
  offerd replay --limit 1000 --json

Nobody is called, and nothing is written. Offers of a catalog are priced anew, as of the day of their rate table. A partner
that is asked over HTTP counts with the offers that it answered then if it still would be asked; of one that would be asked
newly nothing is known, so only the ask is counted. Asks that failed or timed out then do so again. Caps, budgets and pauses
from the command line kept out whom they kept out then; schedules and exclusive partners are judged by the files.")]
pub struct Arguments {
    /// Directory of the partner files; the configured one when not given
    #[arg(long, value_name = "DIR")]
    partners: Option<PathBuf>,
    /// How far to look back
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = values::time)]
    since: Duration,
    /// Only leads of this company
    #[arg(long, value_name = "NAME")]
    company: Option<String>,
    /// Only so many rate tables, the newest
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Time after which progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs `offerd replay`.
pub fn run(config: Option<&Path>, arguments: &Arguments) -> ExitCode {
    let settings = match super::settings(config) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    let directory = arguments.partners.as_ref().unwrap_or(&settings.partners.path);
    let book = match Book::load(directory) {
        Ok(book) => book,
        Err(faults) => return super::tell(&faults),
    };
    match super::block_on(execute(&settings, directory, book, arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => super::fail(message),
    }
}

async fn execute(
    settings: &Settings,
    directory: &Path,
    book: Book,
    arguments: &Arguments,
) -> Result<(), String> {
    let back = i64::try_from(arguments.since.as_millis()).unwrap_or(i64::MAX);
    let wish = Wish {
        since: Utc::now().timestamp_millis().saturating_sub(back).max(0),
        company: arguments.company.clone(),
        limit: arguments.limit,
    };
    let mut bar = Bar::start();
    let report = match Client::of_daemon(settings).await? {
        Some((client, admin)) => by_daemon(&client, &admin, directory, wish, &mut bar).await?,
        None => by_store(settings, book, &wish, &mut bar)?,
    };
    bar.end();
    if arguments.json {
        page::print(serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
    } else {
        print(&report);
    }
    Ok(())
}

async fn by_daemon(
    client: &Client,
    admin: &str,
    directory: &Path,
    wish: Wish,
    bar: &mut Bar,
) -> Result<ReplayReport, String> {
    let texts = Book::texts_in(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let name = |file: PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let partner_files = texts.into_iter().map(|(file, text)| (name(file), text)).collect();
    let order = ReplayOrder { partner_files, wish };
    let body = serde_json::to_vec(&order).map_err(|error| error.to_string())?;
    let mut lines = client.lines(&format!("{admin}/replay"), body).await?;
    while let Some(line) = lines.next().await? {
        match line {
            ReplayLine::Progress(progress) => bar.show(progress),
            ReplayLine::Report(report) => return Ok(report),
            ReplayLine::Failed(why) => return Err(why),
        }
    }
    Err("the daemon ended before the replay did".to_owned())
}

fn by_store(settings: &Settings, book: Book, wish: &Wish, bar: &mut Bar) -> Result<ReplayReport, String> {
    let store = super::open_store(settings)?;
    let (texts, rules) = (Texts::new(store.clone()), Rules::from(settings));
    let mut replay = Replay::new(&store, &texts, book, &rules, wish)?;
    while replay.step() {
        bar.show(replay.progress());
    }
    let report = replay.report();
    store.close().map_err(|error| error.to_string())?;
    Ok(report)
}

fn print(report: &ReplayReport) {
    let header = ["partner", "product", "offer", "asked", "asked now", "kept", "changed", "won", "lost"];
    let mut table = page::table(header);
    for seat in &report.seats {
        let asked = [seat.asked_then, seat.asked_now].map(|count| count.to_string());
        let product = format!("{}{}", seat.product_type, if seat.over_http { " (HTTP)" } else { "" });
        add(&mut table, [&seat.partner, &product, "", &asked[0], &asked[1]], seat.offers);
        let differing = seat.by_offer.iter().filter(|(_, count)| count.changed + count.won + count.lost > 0);
        for (name, count) in differing {
            add(&mut table, [&seat.partner, &product, name, "", ""], *count);
        }
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    page::print_table(table);
    page::print(summary(report));
}

fn add(table: &mut Table, place: [&str; 5], count: OfferCount) {
    let counts = [count.kept, count.changed, count.won, count.lost].map(|count| count.to_string());
    table.add_row(place.into_iter().chain(counts.iter().map(String::as_str)).collect::<Vec<_>>());
}

fn summary(report: &ReplayReport) -> String {
    let ReplayReport { rate_tables, skipped, offers, gain_all, lose_all, .. } = report;
    let OfferCount { kept, changed, won, lost } = offers;
    let mut lines = vec![
        format!(
            "{rate_tables} rate tables: {won} offers won, {lost} lost, {kept} kept, of which {changed} changed"
        ),
        format!("leads that had no offer and would have one: {}", told(gain_all)),
        format!("leads that had an offer and would have none: {}", told(lose_all)),
    ];
    if skipped.pending + skipped.grown + skipped.gone > 0 {
        lines.push(format!(
            "not compared: {} pending, {} of leads that have grown since, {} of leads that were erased or cannot be read",
            skipped.pending, skipped.grown, skipped.gone
        ));
    }
    if report.seats.iter().any(|seat| seat.over_http) {
        lines.push(
            "nobody was called: partners asked over HTTP keep the offers they answered then, as long as they would be asked"
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn told(named: &Named) -> String {
    let leads = named.leads.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match named.count {
        0 => "0".to_owned(),
        count if count > 3 => format!("{count} ({leads}, …)"),
        count => format!("{count} ({leads})"),
    }
}

/// How far the replay is; on a terminal only, and only when it takes its time.
struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Bar {
    fn start() -> Self {
        let style = ProgressStyle::with_template("{bar:30} {pos} of {len} rate tables, {eta} left");
        let bar = ProgressBar::hidden().with_style(style.expect("the template is well-formed"));
        Self { bar, begun: Instant::now() }
    }

    fn show(&mut self, progress: Progress) {
        if self.bar.is_hidden() && self.begun.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
