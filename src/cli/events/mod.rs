//! `offerd events`: imports partner reports, lists those that look wrong, and confirms or reverses them.

mod records;

use indicatif::ProgressBar;

use self::records::{EventFileFormat, EventRecord};
use super::files::InputFile;
use super::prelude::*;
use offerd_admin::partner_events::{self, AT_ONCE, FlaggedReport, ImportOutcome, Imported, Judgement};
use offerd_insight::sheet::lines::Encoding;
use offerd_model::ApiError;

/// Actions on events.
#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Import partner reports from a file: records of `POST /partnerEvents`, each with its `partner`
    Import(EventsImportArguments),
    /// List reports that book nothing where a payout was to be expected, or look wrong: a payout or an amount
    /// far from the usual one (`limits.report_factor`), a second funding of an offer
    Flagged {
        /// Print JSON: the `partner` and its report, with the `warning`
        #[arg(long)]
        json: bool,
    },
    /// Confirm a flagged report, so that it is listed no longer
    Confirm(JudgeArguments),
    /// Reverse a report and its payout, as its partner can
    Reverse(JudgeArguments),
}

/// `events confirm`, `events reverse`.
#[derive(Debug, Args)]
pub struct JudgeArguments {
    /// The partner's transaction id of the report
    transaction: String,
    /// Key of the partner
    #[arg(long, value_name = "KEY")]
    partner: String,
    /// Why, for the audit; without names and other personal data
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Print JSON: the `partner` and its report
    #[arg(long)]
    json: bool,
}

/// `events import`.
#[derive(Debug, Args)]
pub struct EventsImportArguments {
    /// CSV or NDJSON; `-` reads standard input
    file: PathBuf,
    /// Format of the file; default: detected from its first character
    #[arg(long)]
    format: Option<EventFileFormat>,
    /// Encoding of the file, such as `windows-1252`; default: that of its byte order mark, else UTF-8
    #[arg(long, value_name = "NAME", value_parser = values::encoding)]
    encoding: Option<Encoding>,
    /// Partner of the records that name none
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Check the form of every line, and that its partner has a file; import nothing. Whether its lead and
    /// offer exist, and existed at that time, is only checked by an import
    #[arg(long)]
    dry_run: bool,
    /// Print JSON: how many records were `read`, and how many of them `imported`, already `known` and `bad`;
    /// faults of lines go to standard error
    #[arg(long)]
    json: bool,
}

/// Runs `offerd events`.
pub async fn run(settings: &Settings, command: &EventsCommand) -> Result<(), CommandError> {
    match command {
        EventsCommand::Import(arguments) => import(settings, arguments).await,
        EventsCommand::Flagged { json } => {
            let admin = AdminClient::find(settings).await?;
            let reports: Vec<FlaggedReport> = admin.ask(Method::GET, "/partnerEvents/flagged").await?;
            Ok(page::show(&reports, *json, || page::print_sheet(&flagged(&reports)))?)
        }
        EventsCommand::Confirm(arguments) => arguments.judge(settings, false).await,
        EventsCommand::Reverse(arguments) => arguments.judge(settings, true).await,
    }
}

impl JudgeArguments {
    async fn judge(&self, settings: &Settings, reverse: bool) -> Result<(), CommandError> {
        let Self { transaction, partner, reason, json } = self;
        let (partner, reason) = (partner.clone(), reason.clone());
        let judgement = Judgement { partner, transaction_id: transaction.clone(), reverse, reason };
        let admin = AdminClient::find(settings).await?;
        let judged: FlaggedReport = admin.post("/partnerEvents/judgement", &judgement).await?;
        let done = if reverse { "reversed" } else { "confirmed" };
        Ok(page::show(&judged, *json, || {
            page::print(format!("{transaction} of {} is {done}", judged.partner))
        })?)
    }
}

fn flagged(reports: &[FlaggedReport]) -> Sheet {
    sheet!(reports, report => {
        "reported": Time => report.receipt.created_at.millis(),
        "partner" => &report.partner,
        "event" => report.receipt.event_type.as_str(),
        "transaction" => &report.receipt.transaction_id,
        "lead" => report.receipt.lead_uuid.to_string(),
        "payout": Figure => report.receipt.payout_in_cents.map(|cents| page::dollars(cents.0 / 100.0)),
        "why" => report.receipt.warning.as_deref(),
    })
}

async fn import(settings: &Settings, arguments: &EventsImportArguments) -> Result<(), CommandError> {
    let input = InputFile::open(&arguments.file)?;
    let bar = input.bar();
    let written = (arguments.format, arguments.encoding);
    let records = records::read(bar.wrap_read(input.read), written, arguments.partner.as_deref())
        .map_err(|fault| format!("{}: {fault}", arguments.file.display()))?;
    let importer = match arguments.dry_run {
        // Faults in partner files are reported where they are loaded.
        true => Importer::None(Book::load(&settings.partners.path).unwrap_or_else(|_| Book::of(Vec::new()))),
        false => Importer::Daemon(AdminClient::find(settings).await?, input.digest.clone()),
    };

    let mut tally = LineTally { file: arguments.file.display().to_string(), ..LineTally::default() };
    let mut batch = Vec::with_capacity(AT_ONCE);
    for record in records {
        tally.without_zone += u64::from(record.lacks_zone());
        batch.push(record);
        if batch.len() == AT_ONCE {
            tally.add(&bar, importer.send(std::mem::take(&mut batch)).await?);
        }
    }
    tally.add(&bar, importer.send(batch).await?);
    bar.finish_and_clear();
    let LineTally { new, known, bad, without_zone, .. } = tally;
    let read = new + known + bad;
    if read == 0 {
        return Err(format!("{} has no record, so nothing is imported", tally.file).into());
    }
    if without_zone > 0 {
        tell!("records whose `occurredAt` has no time zone, so that it is taken as UTC: {without_zone}");
    }
    if arguments.json {
        page::print(
            json!({ "read": read, "imported": new, "known": known, "bad": bad, "dryRun": arguments.dry_run }),
        );
    } else {
        page::print(tally.summary(arguments.dry_run));
    }
    CommandError::unless(bad == 0)
}

/// The destination of the records.
enum Importer {
    /// The running daemon, or the store of a stopped one, and the digest of the file.
    Daemon(AdminClient, Option<String>),
    /// None: the records are only checked, against the known partners.
    None(Book),
}

impl Importer {
    /// Imports the valid records, and returns the outcome of each line.
    async fn send(&self, batch: Vec<EventRecord>) -> Result<Vec<(u64, ImportOutcome)>, String> {
        let good: Vec<Imported> = batch.iter().filter_map(|it| it.imported.as_ref().ok().cloned()).collect();
        let mut outcomes = self.import(good).await?.into_iter();
        let told = batch.into_iter().map(|record| match record.imported {
            Err(faults) => Ok((record.line, ImportOutcome::Refused(faults))),
            Ok(_) => outcomes
                .next()
                .map(|outcome| (record.line, outcome))
                .ok_or_else(|| format!("the daemon gave no result for line {}", record.line)),
        });
        told.collect()
    }

    async fn import(&self, imported: Vec<Imported>) -> Result<Vec<ImportOutcome>, String> {
        let checked = |book: &Book, one: &Imported| match partner_events::known(book, &one.partner) {
            Ok(()) => ImportOutcome::New,
            Err(fault) => ImportOutcome::Refused(vec![fault]),
        };
        match self {
            Self::Daemon(admin, file) if !imported.is_empty() => {
                admin.post(&values::query("/partnerEvents", [("file", file.clone())]), &imported).await
            }
            Self::Daemon(..) => Ok(Vec::new()),
            Self::None(book) => Ok(imported.iter().map(|one| checked(book, one)).collect()),
        }
    }
}

/// Counts of lines by outcome.
#[derive(Debug, Default)]
struct LineTally {
    file: String,
    new: u64,
    known: u64,
    bad: u64,
    /// Good records whose time has no zone.
    without_zone: u64,
}

impl LineTally {
    fn add(&mut self, bar: &ProgressBar, outcomes: Vec<(u64, ImportOutcome)>) {
        for (line, outcome) in outcomes {
            match outcome {
                ImportOutcome::New => self.new += 1,
                ImportOutcome::Flagged(why) => {
                    self.new += 1;
                    bar.suspend(|| tell!("{}:{line}: {why}", self.file));
                }
                ImportOutcome::Known => self.known += 1,
                ImportOutcome::Refused(errors) => self.refuse(bar, line, &errors),
            }
        }
        bar.set_message(self.summary(false));
    }

    /// Counts a bad line and prints its faults.
    fn refuse(&mut self, bar: &ProgressBar, line: u64, errors: &[ApiError]) {
        self.bad += 1;
        for error in errors {
            let attribute = error.attribute.as_ref().map(|path| format!("`{path}` ")).unwrap_or_default();
            let message = error.message.as_deref().unwrap_or("is refused");
            bar.suspend(|| tell!("{}:{line}: {attribute}{message}", self.file));
        }
    }

    fn summary(&self, dry_run: bool) -> String {
        let Self { new, known, bad, .. } = self;
        if dry_run {
            return format!("{new} good, {bad} bad; nothing was imported");
        }
        format!("{new} imported, {known} known before, {bad} bad")
    }
}
