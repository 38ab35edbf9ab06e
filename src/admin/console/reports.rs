//! `GET /console/reports`: what became of leads by any two dimensions, as counted by
//! [`offerd_insight::reports`]; and `GET /console/reports/download`, the same as a spreadsheet file.

use chrono::NaiveDate;

use super::super::reports::{as_csv, failed, made, reports, run_query, with_offers};
use super::chart::{Chart, ChartLine, WIDE, days};
use super::prelude::*;
use super::rate_tables::COUNTED;
use offerd_insight::reports::dimension::DimensionSlot;
use offerd_insight::reports::figures::{Figure, Figures};
use offerd_insight::reports::query::{DayRange, OrderBy, QueryFaults, ReportQuery, SortOrder};
use offerd_insight::reports::report::{Report, Row};
use offerd_insight::reports::{Dimension, ReportFault, Reports};

/// Rows on the page; the file has all.
const ROWS: &str = "200";

const BARS: usize = 12;

/// Maximum lines, one per colour.
const LINES: usize = 4;

/// Longest range, in days, whose every day is drawn.
const DAYS_DRAWN: i64 = 400;

/// Query parameter of the drawn figure; used by this page only.
const CHART: &str = "chart";

const PAGE: ConsolePage = ConsolePage::new(Section::Reports, "reports.html");

/// Shows the page. Faults of the query appear above the form, which keeps its values.
pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let counted = reports(&request.app)?;
    let query = asked_for(request, &counted);
    let form = form(&given(request), &counted, query.as_ref().ok());
    let made = match query {
        Ok(query) => {
            run_query(counted, with_offers(&request.app, query.clone())).await?.map(|report| (query, report))
        }
        Err(faults) => Err(ReportFault::Query(faults)),
    };
    let (faults, shown) = match made {
        Ok((query, report)) => (Vec::new(), Some(shown(request, &query, &report)?)),
        Err(ReportFault::Query(faults)) => {
            (faults.into_iter().map(|(name, wanted)| format!("{name} {wanted}")).collect(), None)
        }
        Err(fault) => return Err(failed(fault)),
    };
    request.view(PAGE, fields! { form, faults, shown })
}

pub(super) async fn download(request: &ConsoleRequest) -> Result<View> {
    let mut pairs = request.query.clone();
    pairs.retain(|(name, _)| name != CHART);
    as_csv(&made(&request.app, &pairs).await?).map(View::from)
}

fn asked_for(request: &ConsoleRequest, counted: &Reports) -> Result<ReportQuery, QueryFaults> {
    let (drawn, mut pairs): (Vec<_>, Vec<_>) =
        given(request).into_iter().partition(|(name, _)| name == CHART);
    pairs.push(("limit".to_owned(), ROWS.to_owned()));
    let unknown = drawn.into_iter().find(|(_, name)| !name.is_empty() && figure_named(name).is_none());
    let query = counted.query(&pairs);
    let Some((parameter, name)) = unknown else { return query };
    let names = Figure::ALL.map(Figure::name).join(", ");
    let mut faults = query.err().unwrap_or_default();
    faults.push((parameter, format!("must be one of {names}, got `{name}`")));
    Err(faults)
}

fn figure_named(name: &str) -> Option<Figure> {
    Figure::ALL.into_iter().find(|figure| figure.name() == name)
}

/// The given parameters; by default payouts by partner. A chosen order stays where the dimensions change: one
/// by a dimension that is no longer there becomes one by the first, one by a change one by its figure.
fn given(request: &ConsoleRequest) -> Vec<(String, String)> {
    let mut pairs = request.query.clone();
    if pairs.iter().all(|(name, _)| name != "by") {
        pairs.push(("by".to_owned(), "partner".to_owned()));
        if pairs.iter().all(|(name, _)| name != "sort") {
            pairs.push(("sort".to_owned(), format!("-{}", Figure::Payouts.name())));
        }
    }
    let all = |name: &str| {
        let of_name = pairs.iter().filter(|(known, _)| known == name);
        of_name.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty()).collect::<Vec<_>>()
    };
    let (by, compares) = (all("by"), all("compare") == ["true"]);
    let sort = all("sort").pop().unwrap_or_default();
    let (name, sign) = sort.strip_prefix('-').map_or((sort, ""), |name| (name, "-"));
    let figure = name.strip_suffix("Change").filter(|figure| !compares && figure_named(figure).is_some());
    let tags = request.app.reports.as_ref().map(Reports::tags).unwrap_or_default();
    let is_gone = !by.contains(&name) && Dimension::names(&tags).iter().any(|known| known == name);
    if let Some(name) = figure.or_else(|| by.first().copied().filter(|_| is_gone)) {
        let fitting = format!("{sign}{name}");
        pairs.retain(|(known, _)| known != "sort");
        pairs.push(("sort".to_owned(), fitting));
    }
    pairs
}

fn form(given: &[(String, String)], reports: &Reports, query: Option<&ReportQuery>) -> Value {
    let all = |name: &'static str| {
        given.iter().filter(move |(known, value)| known == name && !value.is_empty()).map(|(_, value)| value)
    };
    let by: Vec<&str> = all("by").flat_map(|value| value.split(',')).collect();
    let names = Dimension::names(&reports.tags());
    let by = |place: usize| choices(names.iter().map(|name| (name, name)), by.get(place).copied());
    let value = |name| all(name).next_back().cloned().unwrap_or_default();
    let range = query.map(|query| query.range);
    let day = |name, shown: Option<NaiveDate>| shown.map_or_else(|| value(name), |day| day.to_string());
    let filter = |place| all("where").nth(place).cloned().unwrap_or_default();
    let zone = value("zone");
    let zones = reports.rules.zones.iter().map(|known| (known.name(), known.name()));
    fields! {
        from => day("from", range.map(|range| range.first)),
        to => day("to", range.map(|range| range.last)),
        // Ranges to choose with one click: label, address, and whether it is selected.
        presets => query.map(|query| presets(given, query)).unwrap_or_default(),
        by => [by(0), by(1)], filters => [filter(0), filter(1)], zones => choices(zones, Some(&zone)),
        test => value("leads") == "test", compare => value("compare") == "true",
        figures => choices(Figure::ALL.map(|figure| (figure.name(), figure.heading())), Some(&value(CHART))),
        sort => value("sort"),
        dimensions => names.join(", "),
    }
}

/// Presets that compare this week and last week with the week before. Other parameters are kept.
fn presets(given: &[(String, String)], query: &ReportQuery) -> Vec<(&'static str, String, bool)> {
    let weeks = DayRange::weeks(Utc::now().with_timezone(&query.zone).date_naive());
    let preset = |(words, range): (&'static str, DayRange)| {
        let is_other = |name: &str| !["from", "to", "compare"].contains(&name);
        let others = given.iter().filter(|(name, _)| is_other(name)).cloned();
        let week =
            [("from", range.first.to_string()), ("to", range.last.to_string()), ("compare", "true".into())];
        let week = week.into_iter().map(|(name, value)| (name.to_owned(), value));
        let pairs: Vec<_> = week.chain(others).collect();
        (words, address("/console/reports", &pairs), query.range == range)
    };
    let named = weeks.map(|weeks| ["This week", "Last week"].into_iter().zip(weeks).map(preset).collect());
    named.unwrap_or_default()
}

fn shown(request: &ConsoleRequest, query: &ReportQuery, report: &Report) -> Result<Value> {
    let values = ValueNames::of(request, query);
    let mut named = report.clone();
    for row in &mut named.rows {
        row.by = values.named(row).into_iter().map(|(name, _)| name).collect();
    }
    let by_time = query.place(Dimension::is_time);
    let drawn = drawn(request, query, report);
    let chart = by_time.map(|place| chart(drawn, query, &named, place)).transpose()?;
    let bars = (chart.is_none() && !report.rows.is_empty()).then(|| bars(drawn, &named));
    let (told, untold): (Vec<_>, Vec<_>) =
        report.figures().partition(|figure| is_told(*figure, query, report));
    let row = |row: &Row| {
        let tables = values.tables_of(query, &row.by);
        fields! {
            by => values.named(row), never => never(query, &row.figures),
            cells => cells(&told, &row.figures, row.before.as_ref(), Some(&report.total), tables.as_ref()),
        }
    };
    Ok(fields! {
        from => report.from.to_string(), to => report.to.to_string(),
        before => report.before.map(|(first, last)| format!("{first} to {last}")),
        // Today so far is held against a whole day.
        unfinished => report.to == Utc::now().with_timezone(&query.zone).date_naive(),
        zone => report.zone, columns => columns(request, query, &told),
        untold => untold.into_iter().map(Figure::heading).collect::<Vec<_>>(),
        rows => report.rows.iter().map(row).collect::<Vec<_>>(),
        total => cells(
            &told, &report.total, report.total_before.as_ref(), None, values.tables_of(query, &[]).as_ref(),
        ),
        left_out => report.rows_left_out, behind => report.uncounted_from, bars, chart,
        download => address("/console/reports/download", &given(request)),
    })
}

/// What never happened to an offer, in words.
fn never(query: &ReportQuery, figures: &Figures) -> Option<&'static str> {
    match (figures.shown, figures.clicks) {
        _ if !query.is_by_offer() => None,
        (0, 0) => Some("never shown"),
        (1.., 0) => Some("never clicked"),
        _ => None,
    }
}

/// The search for the rate tables of a row, by figure.
struct TablesOfRow(Vec<(String, String)>);

impl TablesOfRow {
    /// The address of those that a figure counts; a figure of events has none.
    fn counted(&self, figure: Figure) -> Option<String> {
        let counted = COUNTED.into_iter().find(|(_, of)| *of == figure)?.0;
        let pairs = self.0.iter().cloned().chain([("counted".to_owned(), counted.to_owned())]);
        Some(address("/console/rateTables", &pairs.collect::<Vec<_>>()))
    }
}

/// Whether a figure has a column: a value in some row, or the order.
fn is_told(figure: Figure, query: &ReportQuery, report: &Report) -> bool {
    let is_sorted = [OrderBy::Figure(figure), OrderBy::Change(figure)].contains(&query.order.by);
    let before = report.total_before.as_ref();
    is_sorted || report.total.get(figure).or_else(|| before?.get(figure)).is_some()
}

struct ValueNames {
    by: Vec<Dimension>,
    /// Names of partners by key, and ids of companies by name.
    partners: BTreeMap<String, String>,
    companies: BTreeMap<String, Uuid>,
}

impl ValueNames {
    fn of(request: &ConsoleRequest, query: &ReportQuery) -> Self {
        let book = request.app.engine.book();
        let partners =
            book.partners().into_iter().map(|one| (one.key.clone(), one.partner.name.clone())).collect();
        let companies = Tokens::of(request.app.store.clone()).companies().into_iter();
        let companies = companies.map(|one| (one.name, one.uuid)).collect();
        Self { by: query.by.clone(), partners, companies }
    }

    fn named(&self, row: &Row) -> Vec<(String, Option<String>)> {
        let named = |(by, value): (&Dimension, &String)| match self.partners.get(value) {
            Some(name) if by.slot() == Some(DimensionSlot::PARTNER) && name != value => {
                (name.clone(), Some(value.clone()))
            }
            _ => (value.clone(), None),
        };
        self.by.iter().zip(&row.by).map(named).collect()
    }

    /// The search for the rate tables of a row, or of all rows, if they can be found by its values.
    fn tables_of(&self, query: &ReportQuery, row: &[String]) -> Option<TablesOfRow> {
        let DayRange { mut first, mut last } = query.range;
        let mut pairs = Vec::new();
        for (by, value) in self.by.iter().zip(row).chain(query.filters.iter().map(|(by, one)| (by, one))) {
            if by.is_time() {
                let begins = |day: &NaiveDate| by.value(*day) == *value;
                let all = || first.iter_days().take_while(|day| *day <= query.range.last).filter(begins);
                (first, last) = (all().next()?, all().last()?);
                continue;
            }
            let is_reserved = value.starts_with('(');
            let sought = match by.slot() {
                None => ("company", self.companies.get(value)?.to_string()),
                Some(DimensionSlot::PARTNER) if !is_reserved => ("partner", value.clone()),
                Some(DimensionSlot::PRODUCT) if !is_reserved => ("product", value.clone()),
                Some(DimensionSlot::OFFER) if !is_reserved => ("offer", value.clone()),
                Some(slot) if slot.is_tag() && !is_reserved => ("tag", format!("{by}={value}")),
                Some(_) => return None,
            };
            pairs.push((sought.0.to_owned(), sought.1));
        }
        pairs.extend([("from", first), ("to", last)].map(|(name, day)| (name.to_owned(), day.to_string())));
        let leads = if query.test { "test" } else { "live" };
        pairs.extend(
            [("zone", query.zone.name()), ("leads", leads)].map(|(name, of)| (name.into(), of.into())),
        );
        Some(TablesOfRow(pairs))
    }
}

fn columns(request: &ConsoleRequest, query: &ReportQuery, told: &[Figure]) -> Vec<Value> {
    let link = |name: &str, by: OrderBy| {
        let SortOrder { by: sorted, descending } = query.order;
        let is_sorted = sorted == by;
        // Figures sort descending first; another click reverses the order.
        let turned = if is_sorted { !descending } else { !matches!(by, OrderBy::Dimension(_)) };
        let mut pairs = given(request);
        pairs.retain(|(known, _)| known != "sort");
        pairs.push(("sort".to_owned(), format!("{}{name}", if turned { "-" } else { "" })));
        let sorted = is_sorted.then_some(if descending { "descending" } else { "ascending" });
        fields! { link => address("/console/reports", &pairs), sorted }
    };
    let dimensions = query.by.iter().enumerate().map(|(place, by)| {
        let title = by.to_string();
        let change = None::<Value>;
        let link = link(&title, OrderBy::Dimension(place));
        fields! { title, is_figure => false, change, ..link }
    });
    let figures = told.iter().map(|figure| {
        let figure = *figure;
        let title = figure.heading();
        let change = query.compare.then(|| link(&figure.change(), OrderBy::Change(figure)));
        fields! { title, is_figure => true, change, ..link(figure.name(), OrderBy::Figure(figure)) }
    });
    dimensions.chain(figures).collect()
}

pub(super) fn address(path: &str, pairs: &[(String, String)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    format!("{path}?{}", query.finish())
}

fn cells(
    told: &[Figure],
    figures: &Figures,
    before: Option<&Figures>,
    total: Option<&Figures>,
    tables: Option<&TablesOfRow>,
) -> Vec<Value> {
    let is_some = |figure| figures.get(figure).is_some_and(|count| count > 0.0);
    let link = |figure: Figure| tables?.counted(figure).filter(|_| is_some(figure));
    let change = |figure| before.and_then(|before| figures.change(before, figure));
    let share = |figure: Figure| {
        let of_total = figures.get(figure)? / total?.get(figure)?;
        Some(figures::percent(of_total))
            .filter(|_| figure.adds_up() && of_total.is_finite() && of_total > 0.0)
    };
    let has_any = |before: &Figures, figure| figures.get(figure).or_else(|| before.get(figure)).is_some();
    let cell = |figure: &Figure| {
        let figure = *figure;
        fields! {
            title => figure.heading(), text => text(figures, figure), share => share(figure),
            before => before.filter(|before| has_any(before, figure)).map(|before| text(before, figure)),
            change => change(figure).map(|change| changed(figure, change)),
            link => link(figure),
        }
    };
    told.iter().map(cell).collect()
}

/// `+12 (+20.0 %)`, `−3 (−10.5 %)`, `±0`
fn changed(figure: Figure, (more, part): (f64, Option<f64>)) -> String {
    if more == 0.0 {
        return "±0".to_owned();
    }
    let sign = if more > 0.0 { "+" } else { "−" };
    let part = part.map_or_else(String::new, |part| format!(" ({sign}{:.1} %)", part.abs() * 100.0));
    format!("{sign}{}{part}", figure.writing()(more.abs()))
}

fn text(figures: &Figures, figure: Figure) -> String {
    match figures.get(figure) {
        Some(value) => figure.writing()(value),
        None if figures.is_unreported(figure) => "not reported".to_owned(),
        None => "–".to_owned(),
    }
}

/// The drawn figure: the chosen one; else the sort figure; else payouts, or leads if there are none.
fn drawn(request: &ConsoleRequest, query: &ReportQuery, report: &Report) -> Figure {
    let chosen = request.query.iter().rev().find(|(name, _)| name == CHART);
    let usual = match query.order.by {
        OrderBy::Figure(figure) | OrderBy::Change(figure) => figure,
        OrderBy::Dimension(_) if report.total.get(Figure::Payouts).is_some_and(|sum| sum != 0.0) => {
            Figure::Payouts
        }
        OrderBy::Dimension(_) if query.is_by_offer() => Figure::Shown,
        OrderBy::Dimension(_) => Figure::Leads,
    };
    chosen.and_then(|(_, name)| figure_named(name)).unwrap_or(usual)
}

fn bars(figure: Figure, report: &Report) -> (String, Vec<Value>) {
    let value = |figures: &Figures| figures.get(figure).unwrap_or(0.0).max(0.0);
    let mut rows: Vec<&Row> = report.rows.iter().collect();
    rows.sort_by(|one, two| value(&two.figures).total_cmp(&value(&one.figures)));
    rows.truncate(BARS);
    let most = rows.first().map_or(0.0, |row| value(&row.figures));
    let bar = |row: &Row| {
        fields! {
            name => row.by.join(", "), text => text(&row.figures, figure),
            // In thousandths.
            length => if most > 0.0 { (value(&row.figures) / most * 10_000.0).round() / 10.0 } else { 0.0 },
        }
    };
    let heading = match report.rows.len() {
        all if all > BARS => format!("{}: top {BARS} of {all}", heading(figure, report)),
        _ => heading(figure, report),
    };
    (heading, rows.into_iter().map(bar).collect())
}

fn heading(figure: Figure, report: &Report) -> String {
    format!("{} by {}", figure.heading(), report.by.join(" and "))
}

/// Every day of the range up to today; only times that have a row, for months or when rows are missing.
fn times(query: &ReportQuery, report: &Report, place: usize) -> Vec<String> {
    let last = query.range.last.min(Utc::now().with_timezone(&query.zone).date_naive());
    let has_all = report.rows_left_out == 0 && query.range.days() <= DAYS_DRAWN;
    if has_all && query.by[place] == Dimension::Day {
        let days = query.range.first.iter_days().take_while(|day| *day <= last);
        return days.map(|day| day.to_string()).collect();
    }
    let mut times: Vec<String> = report.rows.iter().map(|row| row.by[place].clone()).collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// A line per leading value of the other dimension, or a single one without it.
fn chart(figure: Figure, query: &ReportQuery, report: &Report, place: usize) -> Result<(String, Value)> {
    let times = times(query, report, place);
    let other = |row: &Row| row.by.get(1 - place).cloned().unwrap_or_default();
    let value = |row: &Row| row.figures.get(figure).unwrap_or(0.0);
    let mut names: Vec<(String, f64)> = Vec::new();
    for row in &report.rows {
        match names.iter_mut().find(|(name, _)| *name == other(row)) {
            Some((_, sum)) => *sum += value(row),
            None => names.push((other(row), value(row))),
        }
    }
    names.sort_by(|one, two| two.1.total_cmp(&one.1));
    let line = |(name, _): &(String, f64)| {
        let of_name = || report.rows.iter().filter(|row| other(row) == *name);
        let at = |time: &String| of_name().find(|row| row.by[place] == *time).map_or(0.0, value);
        let name = if name.is_empty() { figure.heading().to_owned() } else { name.clone() };
        ChartLine::of_days(name, times.iter().map(at))
    };
    let lines: Vec<ChartLine> = names.iter().take(LINES).map(line).collect();
    let heading = heading(figure, report);
    let chart = Chart {
        id: "report".into(),
        title: heading.clone(),
        description: format!("{heading}, of the rows below."),
        source: "lead_events, lead_payouts and rate_tables, counted into reports".to_owned(),
        ..Chart::default()
    };
    days(chart, WIDE, &times, &lines, figure.writing()).map(|drawn| (heading, drawn))
}
