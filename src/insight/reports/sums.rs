//! Sums of cells over days and companies, by group.

use chrono::{Datelike, NaiveDate};
use uuid::Uuid;

use super::ReportFault;
use super::blocks::{self, Blocks};
use super::cells::Ids;
use super::count::ReportCount;
use super::cover::{PeriodRange, cover, days};
use super::dimension::{CellDimensions, Dimension, DimensionSlot};
use super::groups::{GroupIds, Groups, IdRange};
use super::key::{CompanyPeriod, Granularity, TOGETHER, kind_bytes, period_of};
use super::measure::Measures;
use super::names::Names;
use super::query::{DayRange, ReportQuery};
use offerd_store::{Store, Tree};

/// Sums the cells of a count, both stored and in memory.
pub struct Sums<'a> {
    pub store: &'a Store,
    pub count: &'a ReportCount,
    pub query: &'a ReportQuery,
    /// The companies to sum over: uuid and name.
    pub companies: &'a [(Uuid, String)],
    /// The values of each dimension of the report, over all companies.
    pub labels: [Names; 2],
    /// The most groups of a report.
    pub most: usize,
    /// Whether to add the cells in memory, which the store does not have yet.
    pub with_pending: bool,
}

enum DimensionRole {
    /// None: the report is not grouped by this dimension.
    None,
    /// A filter: only this id counts.
    Only(u32),
    /// A dimension of the report: its index, and the label shared by all companies for each id.
    Place(usize, Vec<u32>),
}

struct Grouping {
    company: Uuid,
    kind: CellDimensions,
    roles: [DimensionRole; 2],
    base: GroupIds,
    time: Option<(usize, Dimension)>,
}

impl Sums<'_> {
    /// The groups of a range.
    pub fn groups(&mut self, range: DayRange) -> Result<Groups, ReportFault> {
        let kind = self.query.kind(&self.query.by);
        let stretches = match self.query.place(|by| matches!(by, Dimension::Day | Dimension::Week)) {
            Some(_) => vec![days(range)],
            None => cover(range),
        };
        let mut groupings = Vec::with_capacity(self.companies.len());
        for (company, name) in self.companies {
            groupings.extend(self.grouping(kind, *company, name));
        }
        let mut groups = Groups::within([0, 1].map(|place| self.bounds(place, range)), self.most);
        for grouping in &groupings {
            for stretch in &stretches {
                self.sum(stretch, grouping, &mut groups)?;
            }
        }
        Ok(groups)
    }

    /// The ids of the values in a dimension: for time the first days of its periods.
    fn bounds(&self, place: usize, range: DayRange) -> IdRange {
        match self.query.by.get(place) {
            None => (0, 1),
            Some(by) if by.is_time() => {
                let first =
                    number(Granularity::Month.period(range.first).min(Dimension::Week.period(range.first)));
                (first, number(range.last) - first + 1)
            }
            Some(_) => (0, self.labels[place].names.len() as u32),
        }
    }

    /// The totals of a range: each lead counts once, in however many rows it is.
    pub fn whole(&mut self, range: DayRange) -> Result<Measures, ReportFault> {
        let kind = self.query.kind(&[]);
        let mut groups = Groups::default();
        for (company, _) in self.companies {
            let Some(roles) = self.roles(kind, *company, false) else { continue };
            let grouping = Grouping { company: *company, kind, roles, base: [0, 0], time: None };
            for stretch in cover(range) {
                self.sum(&stretch, &grouping, &mut groups)?;
            }
        }
        Ok(groups.each().next().map(|(_, sum)| sum).unwrap_or_default())
    }

    /// How a company's cells are grouped; `None` if it has no value that the filters accept.
    fn grouping(&mut self, kind: CellDimensions, company: Uuid, name: &str) -> Option<Grouping> {
        let roles = self.roles(kind, company, true)?;
        let mut base = [0, 0];
        if let Some(place) = self.query.place(|by| *by == Dimension::Company) {
            base[place] = self.labels[place].id(name, usize::MAX);
        }
        let time = self.query.place(Dimension::is_time);
        let time = time.map(|place| (place, self.query.by[place].clone()));
        Some(Grouping { company, kind, roles, base, time })
    }

    fn roles(&mut self, kind: CellDimensions, company: Uuid, by_rows: bool) -> Option<[DimensionRole; 2]> {
        let CellDimensions(one, other) = kind;
        Some([self.role(one, company, by_rows)?, self.role(other, company, by_rows)?])
    }

    /// The role of a dimension; `None` if the filter excludes all of the company's cells.
    fn role(&mut self, slot: Option<DimensionSlot>, company: Uuid, by_rows: bool) -> Option<DimensionRole> {
        let Some(slot) = slot else { return Some(DimensionRole::None) };
        let names = self.count.names(company, slot);
        let only = self.query.only(|by| by.slot() == Some(slot)).map(|value| names.find(value));
        let place = self.query.place(|by| by.slot() == Some(slot)).filter(|_| by_rows);
        match (place, only) {
            (_, Some(None)) => None,
            (None, only) => Some(only.flatten().map_or(DimensionRole::None, DimensionRole::Only)),
            (Some(place), only) => {
                let labels = &mut self.labels[place];
                let all = names.names.iter().enumerate();
                let is_wanted = |nth: usize| only.flatten().is_none_or(|only| only as usize == nth);
                let ids = all
                    .map(|(nth, name)| if is_wanted(nth) { labels.id(name, usize::MAX) } else { u32::MAX });
                Some(DimensionRole::Place(place, ids.collect()))
            }
        }
    }

    fn sum(
        &self,
        stretch: &PeriodRange,
        grouping: &Grouping,
        groups: &mut Groups,
    ) -> Result<(), ReportFault> {
        for is_together in [true, false] {
            self.stored(is_together, stretch, grouping, groups)?;
        }
        let pending = self.with_pending.then_some(&self.count.pending);
        let Grouping { company, kind, .. } = *grouping;
        let days = pending.into_iter().flat_map(|cells| cells.days(company, self.query.test, stretch.range));
        for (day, of_day) in days {
            let base = grouping.base_at(day);
            for (ids, measures) in of_day.get(&kind).into_iter().flatten() {
                grouping.add(base, *ids, measures, stretch.is_less, groups);
            }
        }
        self.check_size(groups)
    }

    fn check_size(&self, groups: &Groups) -> Result<(), ReportFault> {
        let most = self.most;
        if !groups.are_more_than(most) {
            return Ok(());
        }
        let wanted = format!(
            "must have {most} groups at most (`reports.groups`); use fewer days, a filter by `where`, or \
                another dimension"
        );
        Err(ReportFault::Query(vec![("by".to_owned(), wanted)]))
    }

    fn stored(
        &self,
        is_together: bool,
        stretch: &PeriodRange,
        grouping: &Grouping,
        groups: &mut Groups,
    ) -> Result<(), ReportFault> {
        let Grouping { company, kind, .. } = *grouping;
        let period = stretch.grain.period(stretch.range.first);
        let place = CompanyPeriod { company, test: self.query.test, grain: stretch.grain, period };
        let kept_as = if is_together { TOGETHER } else { kind_bytes(kind) };
        let (start, row) = (place.blocks(self.count.space, kept_as), place.row(self.count.space, kept_as));
        for record in self.store.scan_from(Tree::Reports, start, row) {
            let (key, bytes) = record.map_err(blocks::unreadable)?;
            let Some(period) = period_of(&key) else { continue };
            if period > stretch.range.last {
                break;
            }
            let base = grouping.base_at(period);
            let mut tell = |ids: Ids, measures: &Measures| {
                grouping.add(base, ids, measures, stretch.is_less, groups);
            };
            if is_together {
                let blocks: Blocks =
                    self.store.decode(Tree::Reports, &key, &bytes).map_err(blocks::unreadable)?;
                for (_, block) in blocks.iter().filter(|(of, _)| *of == kind) {
                    blocks::read(self.store, &key, block, &mut tell)?;
                }
            } else {
                blocks::read(self.store, &key, &bytes, tell)?;
            }
            self.check_size(groups)?;
        }
        Ok(())
    }
}

impl Grouping {
    /// The group of a day, week or month, before the stored dimensions are added.
    fn base_at(&self, period: NaiveDate) -> GroupIds {
        let mut base = self.base;
        if let Some((place, time)) = &self.time {
            base[*place] = number(time.period(period));
        }
        base
    }

    fn add(&self, base: GroupIds, ids: Ids, measures: &Measures, is_less: bool, groups: &mut Groups) {
        let mut group = base;
        for (role, id) in self.roles.iter().zip([ids.0, ids.1]) {
            match role {
                DimensionRole::None => {}
                DimensionRole::Only(only) if *only == id => {}
                DimensionRole::Only(_) => return,
                DimensionRole::Place(place, labels) => match labels.get(id as usize) {
                    Some(label) if *label != u32::MAX => group[*place] = *label,
                    _ => return,
                },
            }
        }
        let sum = groups.sum(group);
        if is_less { sum.take(measures) } else { sum.add(measures) }
    }
}

fn number(day: NaiveDate) -> u32 {
    u32::try_from(day.num_days_from_ce()).unwrap_or(0)
}
