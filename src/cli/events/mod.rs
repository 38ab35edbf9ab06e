//! `offerd events import FILE`

mod records;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use self::records::{Format, Record};
use super::admin_client::AdminClient;
use super::page;
use super::trouble::Trouble;
use crate::admin::partner_events::{self, AT_ONCE, Imported, Outcome};
use crate::config::Settings;
use crate::model::ApiError;
use crate::partners::Book;
use crate::regular_file;

/// What to do with events.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Import what partners report, from a file: the records of `POST /partnerEvents`, each with its `partner`
    Import(Import),
}

/// `events import`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd events import reports.csv --dry-run
  offerd events import - --partner tidelark_savings --format ndjson < reports.ndjson
  offerd events import reports.csv --json

A file of CSV has a line of attribute names first:

  partner,transactionId,eventType,clickId,occurredAt,amountInCents
  tidelark_savings,T-1,funded,01a1fcce-e71a-773e-b126-244629fac002,2026-11-20T10:00:00Z,1200000

A file of NDJSON has an object a line:

  {\"partner\":\"tidelark_savings\",\"transactionId\":\"T-1\",\"revoked\":true}

A record that was imported or reported before is left as it is, so a file can be imported again.")]
pub struct Import {
    /// CSV or NDJSON; `-` reads standard input
    file: PathBuf,
    /// What the file is; found out from its first character when not given
    #[arg(long)]
    format: Option<FormatName>,
    /// Partner that records belong to which name none
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Check the form of every line, and that its partner has a file, and import nothing. Whether its lead and offer exist, and were there
    /// by then, is only seen by an import
    #[arg(long)]
    dry_run: bool,
    /// As JSON: how many lines were `imported`, `known` before and `bad`; what is wrong with a line is on standard error
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    /// Lines of fields, the first of which has the names
    Csv,
    /// An object a line
    Ndjson,
}

/// Runs `offerd events`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = super::settings(config)?;
    let Command::Import(arguments) = command;
    let tally = execute(&settings, &arguments).await?;
    if tally.bad == 0 { Ok(()) } else { Err(Trouble::Told(ExitCode::FAILURE)) }
}

async fn execute(settings: &Settings, arguments: &Import) -> Result<LineTally, Trouble> {
    let progress = Progress::start(&arguments.file);
    let input = progress.watch(open(&arguments.file)?);
    let format = arguments.format.map(|name| match name {
        FormatName::Csv => Format::Csv,
        FormatName::Ndjson => Format::Ndjson,
    });
    let records = records::read(input, format, arguments.partner.as_deref())
        .map_err(|fault| format!("{}: {fault}", arguments.file.display()))?;
    let importer = match arguments.dry_run {
        // Faults in the files of partners are told where they are loaded.
        true => Importer::None(Book::load(&settings.partners.path).unwrap_or_else(|_| Book::of(Vec::new()))),
        false => Importer::Daemon(AdminClient::find(settings).await?),
    };

    let mut tally = LineTally::default();
    let mut batch = Vec::with_capacity(AT_ONCE);
    for record in records {
        batch.push(record);
        if batch.len() == AT_ONCE {
            tally.add(&progress, importer.send(std::mem::take(&mut batch)).await?);
        }
    }
    tally.add(&progress, importer.send(batch).await?);
    progress.end();
    if arguments.json {
        let LineTally { new, known, bad } = tally;
        page::print(json!({ "imported": new, "known": known, "bad": bad, "dryRun": arguments.dry_run }));
    } else {
        page::print(tally.told(arguments.dry_run));
    }
    if let Importer::Daemon(admin) = importer {
        admin.close()?;
    }
    Ok(tally)
}

fn open(file: &Path) -> Result<Box<dyn Read>, String> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let opened =
        regular_file::open(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    Ok(Box::new(opened))
}

/// Who takes the records in.
enum Importer {
    /// Whoever keeps the store.
    Daemon(AdminClient),
    /// Nobody: they are only checked, against the partners that have files.
    None(Book),
}

impl Importer {
    /// Sends what is good of some records, and returns what became of each line.
    async fn send(&self, batch: Vec<Record>) -> Result<Vec<(u64, Outcome)>, String> {
        let good: Vec<Imported> =
            batch.iter().filter_map(|record| record.imported.as_ref().ok().cloned()).collect();
        let mut outcomes = self.import(good).await?.into_iter();
        let told = batch.into_iter().map(|record| match record.imported {
            Err(faults) => Ok((record.line, Outcome::Refused(faults))),
            Ok(_) => outcomes
                .next()
                .map(|outcome| (record.line, outcome))
                .ok_or_else(|| format!("the daemon does not tell what became of line {}", record.line)),
        });
        told.collect()
    }

    async fn import(&self, imported: Vec<Imported>) -> Result<Vec<Outcome>, String> {
        let checked = |book: &Book, one: &Imported| match partner_events::known(book, &one.partner) {
            Ok(()) => Outcome::New,
            Err(fault) => Outcome::Refused(vec![fault]),
        };
        match self {
            Self::Daemon(admin) if !imported.is_empty() => admin.post("/partnerEvents", &imported).await,
            Self::Daemon(_) => Ok(Vec::new()),
            Self::None(book) => Ok(imported.iter().map(|one| checked(book, one)).collect()),
        }
    }
}

/// How many lines ended how.
#[derive(Debug, Default)]
struct LineTally {
    new: u64,
    known: u64,
    bad: u64,
}

impl LineTally {
    fn add(&mut self, progress: &Progress, outcomes: Vec<(u64, Outcome)>) {
        for (line, outcome) in outcomes {
            match outcome {
                Outcome::New => self.new += 1,
                Outcome::Known => self.known += 1,
                Outcome::Refused(errors) => self.refuse(progress, line, &errors),
            }
        }
        progress.tell(self);
    }

    /// Counts a bad line, and prints what is wrong with it.
    fn refuse(&mut self, progress: &Progress, line: u64, errors: &[ApiError]) {
        self.bad += 1;
        for error in errors {
            let attribute = error.attribute.as_ref().map(|path| format!("`{path}` ")).unwrap_or_default();
            let message = error.message.as_deref().unwrap_or("is refused");
            progress.line(format!("{}:{line}: {attribute}{message}", progress.file));
        }
    }

    fn told(&self, dry_run: bool) -> String {
        let Self { new, known, bad } = self;
        if dry_run {
            return format!("{new} good, {bad} bad; nothing was imported");
        }
        format!("{new} imported, {known} known before, {bad} bad")
    }
}

/// How far the file was read; on a terminal only.
struct Progress {
    file: String,
    bar: ProgressBar,
}

impl Progress {
    fn start(file: &Path) -> Self {
        let length = file.metadata().ok().filter(|about| about.is_file()).map(|about| about.len());
        let bar = match length {
            _ if !std::io::stderr().is_terminal() => ProgressBar::hidden(),
            Some(length) => ProgressBar::new(length)
                .with_style(style("{bar:30} {percent:>3} %  {binary_bytes_per_sec}, {eta} left  {msg}")),
            None => ProgressBar::no_length().with_style(style("{spinner} {binary_bytes}  {msg}")),
        };
        Self { file: file.display().to_string(), bar }
    }

    /// The input, counted as it is read.
    fn watch(&self, input: Box<dyn Read>) -> impl Read + 'static {
        self.bar.wrap_read(input)
    }

    fn tell(&self, tally: &LineTally) {
        self.bar.set_message(tally.told(false));
    }

    /// A line of its own, above the bar.
    fn line(&self, text: String) {
        self.bar.suspend(|| tell!("{text}"));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well-formed")
}
