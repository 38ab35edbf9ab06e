//! The report: rows, totals, and the previous range beside both.

use std::cmp::Ordering;
use std::collections::HashSet;

use chrono::{Datelike, Days, Months, NaiveDate};
use uuid::Uuid;

use super::ReportFault;
use super::count::ReportCount;
use super::dimension::{Dimension, DimensionSlot};
use super::figures::{Figure, Figures};
use super::groups::{GroupIds, Groups};
use super::measure::{Measure, Measures};
use super::names::Names;
use super::query::{DayRange, OrderBy, ReportQuery, SortOrder};
use super::sums::Sums;
use crate::sheet::{ColumnKind, Sheet, SheetValue};
use offerd_model::record;

record! {
    plain

    /// A report.
    Report {
        /// The first day.
        from: NaiveDate,
        /// The last day.
        to: NaiveDate,
        /// The first and last day of the previous range, if it is compared.
        before?: (NaiveDate, NaiveDate),
        /// The time zone of the days.
        zone: String,
        /// Whether it counts test leads.
        test: bool,
        /// The names of the rows' dimensions.
        by: Vec<String>,
        /// The filters: dimension and value.
        #[serde(rename = "where")]
        filters: Vec<(String, String)>,
        /// The rows.
        rows: Vec<Row>,
        /// The totals. Each lead counts once, in however many rows it is.
        total: Figures,
        /// The totals of the previous range.
        total_before?: Figures,
        /// The number of rows beyond the limit.
        rows_left_out: usize,
        /// The arrival of the first uncounted record, in Unix milliseconds; none when all are counted.
        uncounted_from?: i64,
    }

    /// A row of a report.
    Row {
        /// Its values, in the order of the dimensions.
        by: Vec<String>,
        /// Its figures.
        #[serde(flatten)]
        figures: Figures,
        /// The figures of the previous range.
        before?: Figures,
    }
}

struct DraftRow {
    group: GroupIds,
    now: Measures,
    /// Boxed, since there may be millions of rows and most have no previous value.
    before: Option<Box<Measures>>,
}

impl DraftRow {
    fn before(&self) -> Measures {
        self.before.as_deref().copied().unwrap_or_default()
    }
}

/// Makes a report from sums.
///
/// # Errors
/// [`ReportFault`]
pub fn report(mut sums: Sums<'_>) -> Result<Report, ReportFault> {
    let Sums { store, count, query, .. } = sums;
    let earlier = query.range.before().filter(|_| query.compare);
    let total = sums.whole(query.range)?;
    let total_before = earlier.map(|range| sums.whole(range)).transpose()?;
    let now = if query.by.is_empty() { Groups::default() } else { sums.groups(query.range)? };
    let before = match earlier.filter(|_| !query.by.is_empty()) {
        Some(range) => moved(sums.groups(range)?, query, range),
        None => Groups::default(),
    };
    let mut drafts = drafts(now, before);
    let seen: HashSet<GroupIds> = drafts.iter().map(|draft| draft.group).collect();
    let never: HashSet<GroupIds> =
        never_counted(&mut sums.labels, query).difference(&seen).copied().collect();
    drafts.extend(never.into_iter().map(|group| DraftRow { group, now: Measures::default(), before: None }));
    let telling = RowRenderer { query, count, labels: [0, 1].map(|place| sums.labels[place].names.clone()) };
    let rows_left_out = drafts.len().saturating_sub(query.limit);
    telling.sort(&mut drafts);
    let figures = |measures: &Measures| telling.figures(measures, &[]);
    Ok(Report {
        from: query.range.first,
        to: query.range.last,
        before: earlier.map(|range| (range.first, range.last)),
        zone: query.zone.name().to_owned(),
        test: query.test,
        by: query.by.iter().map(ToString::to_string).collect(),
        filters: query.filters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        rows: drafts.iter().map(|draft| telling.row(draft)).collect(),
        total: figures(&total),
        total_before: total_before.as_ref().map(figures),
        rows_left_out,
        uncounted_from: super::fold::behind(store, count).and_then(|at| i64::try_from(at / 1000).ok()),
    })
}

fn moved(groups: Groups, query: &ReportQuery, earlier: DayRange) -> Groups {
    let Some(place) = query.place(Dimension::is_time) else { return groups };
    let months = query.range.whole_months();
    let moved = |number: u32| -> Option<u32> {
        let day = NaiveDate::from_num_days_from_ce_opt(i32::try_from(number).ok()?)?;
        let days = (query.range.first - earlier.first).num_days();
        let day = match (&query.by[place], months) {
            (Dimension::Month, Some(months)) => day.checked_add_months(Months::new(months))?,
            // A partial month has no counterpart, nor has a week whose weekdays do not line up.
            (Dimension::Month, None) => return None,
            (Dimension::Week, _) if days % 7 != 0 => return None,
            _ => day.checked_add_days(Days::new(days.unsigned_abs()))?,
        };
        u32::try_from(day.num_days_from_ce()).ok()
    };
    let mut all = Groups::default();
    for (mut group, measures) in groups.each() {
        if let Some(number) = moved(group[place]) {
            group[place] = number;
            all.sum(group).add(&measures);
        }
    }
    all
}

/// The groups of the offers in force.
fn never_counted(labels: &mut [Names; 2], query: &ReportQuery) -> HashSet<GroupIds> {
    let offers = query.in_force.iter().filter(|_| query.is_by_offer());
    let mut group = |row: Vec<&str>| {
        let mut ids = [0, 0];
        for ((id, value), labels) in ids.iter_mut().zip(row).zip(&mut *labels) {
            *id = labels.id(value, usize::MAX);
        }
        ids
    };
    offers.filter_map(|offer| query.row_of(offer)).map(&mut group).collect()
}

fn drafts(now: Groups, mut before: Groups) -> Vec<DraftRow> {
    let some = |before: Measures| (!before.is_empty()).then(|| Box::new(before));
    let mut drafts: Vec<DraftRow> =
        now.each().map(|(group, now)| DraftRow { group, now, before: some(before.take(group)) }).collect();
    let gone = |(group, before)| DraftRow { group, now: Measures::default(), before: some(before) };
    drafts.extend(before.each().map(gone));
    drafts
}

struct RowRenderer<'a> {
    query: &'a ReportQuery,
    count: &'a ReportCount,
    labels: [Vec<String>; 2],
}

impl RowRenderer<'_> {
    fn sort(&self, drafts: &mut Vec<DraftRow>) {
        let SortOrder { by, descending } = self.query.order;
        let compare = |one: &DraftRow, other: &DraftRow| -> Ordering {
            let order = match by {
                OrderBy::Figure(figure) => figure.weight(&one.now).total_cmp(&figure.weight(&other.now)),
                OrderBy::Change(figure) => change(figure, one).total_cmp(&change(figure, other)),
                OrderBy::Dimension(place) => self.compare(place, one, other),
            };
            let order = if descending { order.reverse() } else { order };
            order.then_with(|| self.compare(0, one, other)).then_with(|| self.compare(1, one, other))
        };
        if drafts.len() > self.query.limit {
            drafts.select_nth_unstable_by(self.query.limit, compare);
            drafts.truncate(self.query.limit);
        }
        drafts.sort_unstable_by(compare);
    }

    fn compare(&self, place: usize, one: &DraftRow, other: &DraftRow) -> Ordering {
        let numbers = [one, other].map(|draft| draft.group[place]);
        match self.query.by.get(place) {
            Some(by) if !by.is_time() => {
                let [one, other] = numbers.map(|number| self.labels[place].get(number as usize));
                one.cmp(&other)
            }
            _ => numbers[0].cmp(&numbers[1]),
        }
    }

    fn row(&self, draft: &DraftRow) -> Row {
        let places = self.query.by.iter().enumerate();
        let by: Vec<String> = places.map(|(place, by)| self.value(place, by, draft.group[place])).collect();
        let figures = self.figures(&draft.now, &by);
        let before = self.query.compare.then(|| self.figures(&draft.before(), &by));
        Row { by, figures, before }
    }

    fn value(&self, place: usize, by: &Dimension, number: u32) -> String {
        let day = || NaiveDate::from_num_days_from_ce_opt(number.cast_signed()).unwrap_or_default();
        match by {
            time if time.is_time() => time.value(day()),
            _ => self.labels[place].get(number as usize).cloned().unwrap_or_default(),
        }
    }

    /// The figures of a row with these values; figures that its partner never reports are missing.
    fn figures(&self, measures: &Measures, by: &[String]) -> Figures {
        let is_partner = |by: &Dimension| by.slot() == Some(DimensionSlot::PARTNER);
        let place = self.query.place(is_partner);
        let of_row = place.and_then(|place| by.get(place)).map(String::as_str);
        let offer = self.query.place(|by| by.slot() == Some(DimensionSlot::OFFER)).and_then(|at| by.get(at));
        let of_offer = offer.and_then(|offer| Some(offer.split_once('/')?.0));
        let partner = of_row.or(of_offer).or_else(|| self.query.only(is_partner));
        let state = &self.count.state;
        let has = |reported| state.has_reported(partner, reported);
        Figures::of(measures, |measure: Measure| measure.reported_as().is_some_and(has))
    }
}

fn change(figure: Figure, row: &DraftRow) -> f64 {
    let weight = |measures| Some(figure.weight(measures)).filter(|weight| *weight != f64::MIN).unwrap_or(0.0);
    weight(&row.now) - weight(&row.before())
}

impl Report {
    /// The figures that its rows count: by offer, those of offers.
    pub fn figures(&self) -> impl Iterator<Item = Figure> {
        let is_of_offers =
            self.by.iter().chain(self.filters.iter().map(|(name, _)| name)).any(|by| by == "offer");
        Figure::ALL.into_iter().filter(move |figure| !is_of_offers || figure.is_of_offers())
    }

    /// A row's values and figures; with a comparison also the previous figures and the changes.
    pub fn sheet(&self) -> Sheet {
        let behind: &[&str] =
            if self.before.is_some() { &["", "Before", "Change", "ChangePart"] } else { &[""] };
        let figures = behind.iter().flat_map(|behind| {
            Figure::ALL.map(|figure| {
                let is_amount = !figure.is_count() || *behind == "ChangePart";
                let kind = if is_amount { ColumnKind::Amount } else { ColumnKind::Count };
                (format!("{}{behind}", figure.name()), kind)
            })
        });
        let columns = self.by.iter().map(|by| (by.clone(), ColumnKind::Text)).chain(figures);
        let row = |row: &Row| row.by.iter().map(SheetValue::from).chain(row.values()).collect();
        Sheet::new(columns, self.rows.iter().map(row))
    }
}

impl Row {
    fn values(&self) -> Vec<SheetValue> {
        let all = |figures: &Figures| Figure::ALL.map(|figure| figures.get(figure));
        let mut values = all(&self.figures).to_vec();
        if let Some(before) = &self.before {
            let changes = Figure::ALL.map(|figure| self.figures.change(before, figure));
            values.extend(all(before));
            values.extend(changes.map(|change| change.map(|(more, _)| more)));
            values.extend(changes.map(|change| change.and_then(|(_, part)| part)));
        }
        values.into_iter().map(SheetValue::from).collect()
    }
}

/// The companies that have a name or were ever counted.
pub fn all_companies(count: &ReportCount, named: Vec<(Uuid, String)>) -> Vec<(Uuid, String)> {
    let known: HashSet<Uuid> = named.iter().map(|(uuid, _)| *uuid).collect();
    let nameless = count.state.cursors.keys().filter(|uuid| !known.contains(uuid));
    let nameless: Vec<_> = nameless.map(|uuid| (*uuid, uuid.to_string())).collect();
    named.into_iter().chain(nameless).collect()
}

/// The companies of a report: all, or those that match its filter.
pub fn companies(query: &ReportQuery, all: Vec<(Uuid, String)>) -> Vec<(Uuid, String)> {
    let wanted = query.only(|by| *by == Dimension::Company);
    let is_wanted = |(uuid, name): &(Uuid, String)| {
        wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name) || wanted == uuid.to_string())
    };
    all.into_iter().filter(is_wanted).collect()
}
