//! `offerd report`, `offerd report rebuild`: what became of leads, by day, partner, client tag and more.
//! `offerd report reconcile`: a partner's statement, held against what is booked.

use std::iter;

use chrono::NaiveDate;

use super::files::{InputFile, SAVE_AS_UTF_8};
use super::page::AnswerFormat;
use super::prelude::*;
use offerd_admin::reports::RebuildLine;
use offerd_insight::reports::figures::{Figure, Figures};
use offerd_insight::reports::report::Report;
use offerd_insight::reports::statement::{self, Reconciliation, Statement};
use offerd_insight::reports::{RebuildProgress, Rebuilt};
use offerd_insight::sheet::lines::{Encoding, TextLines, decoded};

/// Rows of a table without `--limit`.
const ROWS: usize = 100;

const WANTS_A_FILE: &str = "`--format parquet` is written to a file: name it by `--output FILE`";

/// Progress of a rebuild.
const BAR: &str = "{bar:30} {percent} %, {eta} left";

/// `offerd report`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReportArguments {
    #[command(subcommand)]
    command: Option<ReportCommand>,
    /// First day, such as 2026-01-01; default: 30 days ago
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// Last day; default: today
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Dimensions to group by
    #[arg(long, value_name = "DIMENSION", value_delimiter = ',')]
    by: Vec<String>,
    /// Only this value of a dimension; repeat for more dimensions
    #[arg(long = "where", value_name = "DIMENSION=VALUE")]
    filters: Vec<String>,
    /// Time zone of the days, one of the setting `reports.zones`; default: the first of them
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Report test leads instead of live ones
    #[arg(long)]
    test: bool,
    /// Add to each figure that of the preceding range of the same length, and the change in percent
    #[arg(long)]
    compare: bool,
    /// Sort column: a dimension, a figure or, with --compare, a change (`payoutsChange`); prefix `-` for
    /// descending order
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Maximum number of rows; default for a table: 100
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ReportFormat,
    /// File to create, readable by its owner only; default: standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Output format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// For people
    Table,
    /// For spreadsheets
    Csv,
    /// For programs
    Json,
    /// For columnar tools; to a file only
    Parquet,
}

/// What else is done with reports.
#[derive(Debug, Subcommand)]
enum ReportCommand {
    /// Recount from the stored records while the current counts stay in use, then replace them. Counts of
    /// leads past `store.retention`, whose records are deleted, are lost
    Rebuild {
        /// Print JSON: the `zones` and the number of `cells` counted
        #[arg(long)]
        json: bool,
    },
    /// Hold a partner's statement against the payouts that are booked; exit code 1 where they differ
    Reconcile(ReconcileArguments),
}

/// `report reconcile`.
#[derive(Debug, Args)]
struct ReconcileArguments {
    /// Key of the partner
    partner: String,
    /// CSV with the columns `transaction_id` and `amount`, in dollars such as 12.50 or $1,234.50; `-` reads
    /// standard input
    file: PathBuf,
    /// Only payouts that count on this day or later
    #[arg(long, value_name = "DAY")]
    from: Option<NaiveDate>,
    /// Only payouts that count on this day or earlier
    #[arg(long, value_name = "DAY")]
    until: Option<NaiveDate>,
    /// Encoding of the file, such as `windows-1252`; default: that of its byte order mark, else UTF-8
    #[arg(long, value_name = "NAME", value_parser = values::encoding)]
    encoding: Option<Encoding>,
    /// Print JSON: the sums, and each transaction that differs
    #[arg(long)]
    json: bool,
    /// Print CSV: each transaction that differs
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Runs `offerd report`.
pub async fn run(settings: &Settings, arguments: &ReportArguments) -> Result<(), CommandError> {
    if arguments.format == ReportFormat::Parquet && arguments.file().is_none() {
        return Err(WANTS_A_FILE.into());
    }
    if let Some(ReportCommand::Reconcile(reconcile)) = &arguments.command {
        return reconcile.run(settings).await;
    }
    let admin = AdminClient::find(settings).await?;
    if let Some(ReportCommand::Rebuild { json }) = arguments.command {
        let rebuilt = rebuilt(&admin).await?;
        return Ok(page::show(&rebuilt, json, || {
            page::print(format!("{} cells counted, by days of {}", rebuilt.cells, rebuilt.zones.join(", ")));
        })?);
    }
    let query = arguments.query();
    let report: Report = progress::during("summing up", admin.ask(Method::GET, &query)).await?;
    Ok(arguments.write(&report)?)
}

impl ReportArguments {
    /// The query of the admin listener.
    fn query(&self) -> String {
        let limit = self.limit.or((self.format == ReportFormat::Table).then_some(ROWS));
        let once = [
            ("from", self.from.clone()),
            ("to", self.to.clone()),
            ("zone", self.zone.clone()),
            ("leads", values::tests(self.test)),
            ("compare", self.compare.then(|| "true".to_owned())),
            ("sort", self.sort.clone()),
            ("limit", limit.map(|limit| limit.to_string())),
        ];
        let by = self.by.iter().map(|by| ("by", Some(by.clone())));
        let filters = self.filters.iter().map(|filter| ("where", Some(filter.clone())));
        values::query("/report", once.into_iter().chain(by).chain(filters))
    }

    /// The output file; `None` for standard output.
    fn file(&self) -> Option<&Path> {
        files::named(self.output.as_deref())
    }

    fn write(&self, report: &Report) -> Result<(), String> {
        let text = match self.format {
            ReportFormat::Csv => report.sheet().csv()?.trim_end().to_owned(),
            ReportFormat::Json => page::pretty_json(report)?,
            ReportFormat::Parquet => {
                let bytes = report.sheet().parquet("report").map_err(|error| error.to_string())?;
                return files::make(self.file().ok_or(WANTS_A_FILE)?, &bytes);
            }
            ReportFormat::Table if self.file().is_some() => {
                format!("{}\n{}", page::table(&sheet(report)), summary(report))
            }
            ReportFormat::Table => {
                page::print_sheet(&sheet(report));
                summary(report)
            }
        };
        match self.file() {
            Some(file) => files::make(file, (text + "\n").as_bytes()),
            None => {
                page::print(text);
                Ok(())
            }
        }
    }
}

impl ReconcileArguments {
    async fn run(&self, settings: &Settings) -> Result<(), CommandError> {
        let input = InputFile::open(&self.file)?;
        let bar = input.bar();
        let text = TextLines::new(decoded(bar.wrap_read(input.read), self.encoding), SAVE_AS_UTF_8);
        let lines = statement::read(text);
        bar.finish_and_clear();
        let lines = match lines {
            Ok(lines) => lines,
            Err(faults) => {
                faults.iter().for_each(|fault| tell!("{}: {fault}", files::shown(&self.file)));
                return CommandError::unless(false);
            }
        };
        let &Self { from, until, .. } = self;
        let statement = Statement { partner: self.partner.clone(), from, until, lines };
        let admin = AdminClient::find(settings).await?;
        let posted = admin.post("/report/reconciliation", &statement);
        let found: Reconciliation = progress::during("comparing", posted).await?;
        let format = match (self.json, self.csv) {
            (true, _) => AnswerFormat::Json,
            (_, true) => AnswerFormat::Csv,
            _ => AnswerFormat::Table,
        };
        format.show(&found, || found.sheet(), || print_found(&found))?;
        CommandError::unless(found.is_whole())
    }
}

fn print_found(found: &Reconciliation) {
    if !found.is_whole() {
        page::print_sheet(&found.sheet());
    }
    let dollars = |cents: f64| page::dollars(cents / 100.0);
    page::print_sheet(&sheet!(found.sums(), (words, sum) => {
        "" => words,
        "transactions": Count => sum.count,
        "booked here": Figure => dollars(sum.here_in_cents),
        "on the statement": Figure => dollars(sum.there_in_cents),
    }));
}

fn sheet(report: &Report) -> Sheet {
    let shown: Vec<Figure> = report.figures().filter(|figure| is_shown(*figure, report)).collect();
    let headings = shown.iter().map(|figure| (figure.heading().to_lowercase(), ColumnKind::Figure));
    let columns = report.by.iter().map(|by| (by.clone(), ColumnKind::Text)).chain(headings);
    let total: Vec<String> =
        ["total"].into_iter().chain(iter::repeat("")).map(str::to_owned).take(report.by.len()).collect();
    let rows = report.rows.iter().map(|row| (&row.by, &row.figures, row.before.as_ref()));
    let rows = rows.chain([(&total, &report.total, report.total_before.as_ref())]);
    let rows = rows.map(|(by, figures, before)| {
        let cells = shown.iter().map(|figure| cell(*figure, figures, before));
        by.iter().map(|value| page::foreign(value)).chain(cells).map(SheetValue::from).collect()
    });
    Sheet::new(columns, rows)
}

/// Whether a figure has a column: reversals have none when nothing was reversed.
fn is_shown(figure: Figure, report: &Report) -> bool {
    let some = |figures: &Figures| figures.get(figure).is_some_and(|value| value != 0.0);
    let is_of_few = matches!(figure, Figure::TakenBack | Figure::PayoutsTakenBack);
    !is_of_few || some(&report.total) || report.total_before.as_ref().is_some_and(some)
}

/// A figure, followed by the one of the preceding range and the change in percent.
fn cell(figure: Figure, figures: &Figures, before: Option<&Figures>) -> String {
    let written = |value: f64| if figure.is_count() { format!("{value}") } else { figure.writing()(value) };
    let now = figures.get(figure).map_or("–".to_owned(), written);
    match before.map(|before| before.get(figure)) {
        None => now,
        Some(then) => {
            let change = before.and_then(|before| figures.change(before, figure)?.1);
            let change = change.map_or_else(String::new, |part| format!(", {:+.1} %", part * 100.0));
            format!("{now} ({}{change})", then.map_or("–".to_owned(), written))
        }
    }
}

fn summary(report: &Report) -> String {
    let Report { from, to, zone, .. } = report;
    let mut lines = vec![format!("{from} to {to}, days of {zone}")];
    if let Some((first, last)) = report.before {
        lines.push(format!("in brackets: {first} to {last}"));
    }
    if report.rows_left_out > 0 {
        let more = page::counted(report.rows_left_out, "more row");
        lines.push(format!("{more}; choose with `--limit` and `--sort`"));
    }
    if let Some(at) = report.uncounted_from {
        let at = page::minute(at);
        lines.push(format!("not counted yet: arrivals since {at}; a running daemon counts them"));
    }
    if !report.test && report.total.leads == 0 && report.total.shown == 0 {
        lines.push("no live lead is counted here; `--test` counts those of test tokens".to_owned());
    }
    lines.join("\n")
}

async fn rebuilt(admin: &AdminClient) -> Result<Rebuilt, String> {
    let bar = StepProgressBar::begin(BAR);
    let cut_short = "the daemon ended during the count";
    let ended = |line| match line {
        RebuildLine::Progress(RebuildProgress { at, since, .. }) => {
            let now = chrono::Utc::now().timestamp_millis();
            bar.show((at - since).max(0).cast_unsigned(), (now - since).max(1).cast_unsigned());
            None
        }
        RebuildLine::Rebuilt(rebuilt) => Some(Ok(rebuilt)),
        RebuildLine::Failed(why) => Some(Err(why)),
    };
    admin.follow("/report/rebuild", &(), cut_short, ended).await
}
