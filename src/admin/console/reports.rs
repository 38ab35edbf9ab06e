//! `GET /console/reports`: what became of leads by any two dimensions, as [`crate::reports`] counts it; and
//! `GET /console/reports/download`, the same as a file for spreadsheets.

use std::sync::Arc;

use minijinja::value::Value;
use serde::Serialize;

use super::super::reports::{as_csv, asked, failed, made, reports};
use super::chart::{Chart, WIDE};
use super::days::{Plot, days};
use super::format;
use super::section::Section;
use super::view::{Page, View, sealed};
use super::visit::Visit;
use crate::reports::figures::{Figure, Figures};
use crate::reports::query::{Order, OrderBy, Query};
use crate::reports::report::Report;
use crate::reports::{Dimension, ReportFault, Reports};
use crate::web::{Failure, Reply};

/// Rows that the page shows; the file has all.
const ROWS: &str = "200";

/// Bars that are drawn.
const BARS: usize = 12;

/// Lines that are drawn: there are no more colours.
const LINES: usize = 4;

/// What stands on the page.
#[derive(Debug, Serialize)]
struct ReportsPage {
    form: Form,
    /// What is wrong with what was asked.
    faults: Vec<String>,
    shown: Option<Shown>,
}

/// What was asked for, and what can be.
#[derive(Debug, Serialize)]
struct Form {
    from: String,
    to: String,
    /// The first and the second dimension.
    by: [Vec<Choice>; 2],
    filters: [String; 2],
    zones: Vec<Choice>,
    test: bool,
    compare: bool,
    sort: String,
    dimensions: String,
}

/// Something to choose.
#[derive(Debug, Serialize)]
struct Choice {
    value: String,
    chosen: bool,
}

/// A report as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    from: String,
    to: String,
    before: Option<String>,
    zone: String,
    columns: Vec<Column>,
    rows: Vec<ShownRow>,
    total: Vec<Cell>,
    left_out: usize,
    behind: Option<i64>,
    /// A drawing over days or months, with its heading.
    chart: Option<(String, Value)>,
    /// Or bars, with their heading.
    bars: Option<(String, Vec<Bar>)>,
    download: String,
}

/// A column of the table, with the page that is in its order.
#[derive(Debug, Serialize)]
struct Column {
    title: String,
    link: String,
    is_figure: bool,
    sorted: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct ShownRow {
    by: Vec<String>,
    cells: Vec<Cell>,
}

/// A figure, and that of the range before.
#[derive(Debug, Serialize)]
struct Cell {
    title: &'static str,
    text: String,
    before: Option<String>,
}

/// A row as a bar.
#[derive(Debug, Serialize)]
struct Bar {
    name: String,
    text: String,
    /// Length out of 1000.
    length: f64,
}

impl Page for ReportsPage {
    const SECTION: Section = Section::Reports;
    const TEMPLATE: &'static str = "reports.html";
}

/// Shows the page. What is wrong with what was asked stands above the form, which keeps it.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let counted = reports(&visit.app)?;
    let form = Form::of(&visit, &counted);
    let mut pairs = visit.query.clone();
    pairs.push(("limit".to_owned(), ROWS.to_owned()));
    let made = match counted.query(&pairs) {
        Ok(query) => asked(counted, query.clone()).await?.map(|report| (query, report)),
        Err(faults) => Err(ReportFault::Query(faults)),
    };
    let (faults, shown) = match made {
        Ok((query, report)) => (Vec::new(), Some(Shown::of(&visit, &query, &report)?)),
        Err(ReportFault::Query(faults)) => {
            (faults.into_iter().map(|(name, wanted)| format!("{name} {wanted}")).collect(), None)
        }
        Err(fault) => return Err(failed(fault)),
    };
    visit.view(&ReportsPage { form, faults, shown })
}

/// Gives the whole report as a file.
pub(super) async fn download(visit: Arc<Visit>) -> Result<Reply, Failure> {
    as_csv(&made(&visit.app, &visit.query).await?).map(sealed)
}

impl Form {
    fn of(visit: &Visit, reports: &Reports) -> Self {
        let all = |name: &'static str| {
            visit
                .query
                .iter()
                .filter(move |(known, value)| known == name && !value.is_empty())
                .map(|(_, value)| value)
        };
        let by: Vec<&str> = all("by").flat_map(|value| value.split(',')).collect();
        let names = Dimension::names(&reports.tags());
        let choices = |place: usize| {
            let choice =
                |name: &String| Choice { value: name.clone(), chosen: by.get(place) == Some(&name.as_str()) };
            names.iter().map(choice).collect()
        };
        let value = |name| visit.query_value(name).unwrap_or_default().to_owned();
        let filter = |place| all("where").nth(place).cloned().unwrap_or_default();
        let zone = value("zone");
        let zones = reports.rules().zones.iter().map(|known| known.name().to_owned());
        Self {
            from: value("from"),
            to: value("to"),
            by: [choices(0), choices(1)],
            filters: [filter(0), filter(1)],
            zones: zones.map(|value| Choice { chosen: value == zone, value }).collect(),
            test: value("leads") == "test",
            compare: value("compare") == "true",
            sort: value("sort"),
            dimensions: names.join(", "),
        }
    }
}

impl Shown {
    fn of(visit: &Visit, query: &Query, report: &Report) -> Result<Self, Failure> {
        let rows = report.rows.iter();
        let by_time = query.place(Dimension::is_time);
        let chart = by_time.map(|place| chart(query, report, place)).transpose()?;
        Ok(Self {
            from: report.from.to_string(),
            to: report.to.to_string(),
            before: report.before.map(|(first, last)| format!("{first} to {last}")),
            zone: report.zone.clone(),
            columns: columns(visit, query),
            rows: rows
                .map(|row| ShownRow { by: row.by.clone(), cells: cells(&row.figures, row.before.as_ref()) })
                .collect(),
            total: cells(&report.total, report.total_before.as_ref()),
            left_out: report.rows_left_out,
            behind: report.uncounted_from,
            bars: (chart.is_none() && !report.rows.is_empty()).then(|| bars(query, report)),
            chart,
            download: address("/console/reports/download", &visit.query),
        })
    }
}

fn columns(visit: &Visit, query: &Query) -> Vec<Column> {
    let dimensions = query
        .by
        .iter()
        .enumerate()
        .map(|(place, by)| (by.to_string(), by.to_string(), OrderBy::Dimension(place)));
    let figures = Figure::ALL
        .into_iter()
        .map(|figure| (figure.name().to_owned(), figure.heading().to_owned(), OrderBy::Figure(figure)));
    let column = |(name, title, by): (String, String, OrderBy)| {
        let Order { by: sorted, descending } = query.order;
        let is_figure = matches!(by, OrderBy::Figure(_));
        let is_sorted = sorted == by;
        // The greatest figures come first, and what is clicked again turns round.
        let turned = if is_sorted { !descending } else { is_figure };
        let mut pairs = visit.query.clone();
        pairs.retain(|(known, _)| known != "sort");
        pairs.push(("sort".to_owned(), if turned { format!("-{name}") } else { name }));
        let sorted = is_sorted.then_some(if descending { "descending" } else { "ascending" });
        Column { title, link: address("/console/reports", &pairs), is_figure, sorted }
    };
    dimensions.chain(figures).map(column).collect()
}

/// An address with what is not empty of a query.
fn address(path: &str, pairs: &[(String, String)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    format!("{path}?{}", query.finish())
}

fn cells(figures: &Figures, before: Option<&Figures>) -> Vec<Cell> {
    let cell = |figure: Figure| Cell {
        title: figure.heading(),
        text: text(figures, figure),
        before: before.map(|before| text(before, figure)),
    };
    Figure::ALL.into_iter().map(cell).collect()
}

fn text(figures: &Figures, figure: Figure) -> String {
    match figures.get(figure) {
        Some(value) => writing(figure)(&Value::from(value)),
        None if figures.is_unreported(figure) => "not reported".to_owned(),
        None => "–".to_owned(),
    }
}

fn writing(figure: Figure) -> fn(&Value) -> String {
    if figure.is_dollars() { format::dollars } else { format::count }
}

/// The figure that the rows are ordered by; leads where they are in the order of a dimension.
fn figure_of(query: &Query) -> Figure {
    if let OrderBy::Figure(figure) = query.order.by { figure } else { Figure::Leads }
}

fn bars(query: &Query, report: &Report) -> (String, Vec<Bar>) {
    let figure = figure_of(query);
    let value = |figures: &Figures| figures.get(figure).unwrap_or(0.0).max(0.0);
    let rows = || report.rows.iter().take(BARS);
    let most = rows().map(|row| value(&row.figures)).fold(0.0, f64::max);
    let bar = |row: &crate::reports::report::Row| Bar {
        name: row.by.join(", "),
        text: text(&row.figures, figure),
        length: if most > 0.0 { (value(&row.figures) / most * 10_000.0).round() / 10.0 } else { 0.0 },
    };
    (heading(figure, report), rows().map(bar).collect())
}

fn heading(figure: Figure, report: &Report) -> String {
    let title = match figure {
        Figure::EarningsPerClick => "Earnings a click",
        Figure::EarningsPerLead => "Earnings a lead",
        other => other.heading(),
    };
    format!("{title} by {}", report.by.join(" and "))
}

/// A line for each of the first values of the other dimension, or one where there is none.
fn chart(query: &Query, report: &Report, place: usize) -> Result<(String, Value), Failure> {
    let figure = figure_of(query);
    let mut times: Vec<&String> = report.rows.iter().map(|row| &row.by[place]).collect();
    times.sort_unstable();
    times.dedup();
    let other = |row: &crate::reports::report::Row| row.by.get(1 - place).cloned().unwrap_or_default();
    let value = |row: &crate::reports::report::Row| row.figures.get(figure).unwrap_or(0.0);
    let mut names: Vec<(String, f64)> = Vec::new();
    for row in &report.rows {
        match names.iter_mut().find(|(name, _)| *name == other(row)) {
            Some((_, sum)) => *sum += value(row),
            None => names.push((other(row), value(row))),
        }
    }
    names.sort_by(|one, two| two.1.total_cmp(&one.1));
    let plot = |(name, _): &(String, f64)| {
        let of_name = || report.rows.iter().filter(|row| other(row) == *name);
        let at = |time: &&String| of_name().find(|row| row.by[place] == **time).map_or(0.0, value);
        let name = if name.is_empty() { figure.heading().to_owned() } else { name.clone() };
        Plot { name: name.into(), values: times.iter().map(at).collect() }
    };
    let plots: Vec<Plot> = names.iter().take(LINES).map(plot).collect();
    let labels: Vec<String> = times.into_iter().cloned().collect();
    let heading = heading(figure, report);
    let chart = Chart {
        id: "report".into(),
        title: heading.clone(),
        description: format!("{heading}, of the rows below."),
        source: "lead_events, lead_payouts and rate_tables, counted into reports".to_owned(),
        ..Chart::default()
    };
    days(chart, WIDE, &labels, &plots, writing(figure)).map(|drawn| (heading, drawn))
}
