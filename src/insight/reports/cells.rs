//! Cells in memory: counted since the last write.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDate;
use uuid::Uuid;

use super::dimension::{CellDimensions, DimensionSlot};
use super::measure::Measures;
use super::query::DayRange;

/// The company and day of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompanyDay {
    /// The company.
    pub company: Uuid,
    /// Whether it counts test leads.
    pub test: bool,
    /// The day, in the count's time zone.
    pub day: NaiveDate,
}

/// The ids of a cell's values, in the order of its kind; 0 where the kind has no such dimension.
pub type Ids = (u32, u32);

/// The cells of one kind.
pub type CellsByIds = HashMap<Ids, Measures>;

/// The cells of one company and day.
pub type DayCells = BTreeMap<CellDimensions, CellsByIds>;

/// The ids of an item's values in each dimension, indexed by slot. The item counts for each value.
#[derive(Debug, Clone, Default)]
pub struct ItemValues(pub Vec<Vec<u32>>);

/// Cells by company and day.
#[derive(Debug, Clone, Default)]
pub struct ReportCells {
    /// The cells.
    pub by: BTreeMap<CompanyDay, DayCells>,
    /// The number of cells.
    pub count: usize,
}

impl ItemValues {
    fn of(&self, slot: Option<DimensionSlot>) -> &[u32] {
        match slot {
            None => &[0],
            Some(DimensionSlot(nth)) => self.0.get(usize::from(nth)).map_or(&[], Vec::as_slice),
        }
    }

    /// The cells of a kind in which it counts.
    pub fn ids(&self, CellDimensions(one, other): CellDimensions) -> impl Iterator<Item = Ids> {
        let others = self.of(other);
        self.of(one).iter().flat_map(move |one| others.iter().map(move |other| (*one, *other)))
    }

    fn slots(&self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(u8::MAX)
    }
}

impl ReportCells {
    /// Adds measures to every cell of these values.
    pub fn add(&mut self, at: CompanyDay, values: &ItemValues, measures: Measures) {
        let of_day = self.by.entry(at).or_default();
        for kind in CellDimensions::all(values.slots()) {
            for ids in values.ids(kind) {
                self.count += usize::from(add(of_day, kind, ids, &measures));
            }
        }
    }

    /// Adds measures once to each cell that any of several items has, for the kinds that `is_wanted` accepts.
    pub fn add_once(
        &mut self,
        at: CompanyDay,
        several: &[ItemValues],
        is_wanted: impl Fn(CellDimensions) -> bool,
        measures: Measures,
    ) {
        let of_day = self.by.entry(at).or_default();
        let slots = several.iter().map(ItemValues::slots).max().unwrap_or(0);
        for kind in CellDimensions::all(slots).filter(|kind| is_wanted(*kind)) {
            let cells: BTreeSet<Ids> = several.iter().flat_map(|values| values.ids(kind)).collect();
            for ids in cells {
                self.count += usize::from(add(of_day, kind, ids, &measures));
            }
        }
    }

    /// A company's cells in a range of days.
    pub fn days(
        &self,
        company: Uuid,
        test: bool,
        DayRange { first, last }: DayRange,
    ) -> impl Iterator<Item = (NaiveDate, &DayCells)> {
        let at = |day| CompanyDay { company, test, day };
        let days = (first <= last).then(|| self.by.range(at(first)..=at(last)));
        days.into_iter().flatten().map(|(at, of_day)| (at.day, of_day))
    }
}

/// Adds to a cell; returns whether it is new.
fn add(of_day: &mut DayCells, kind: CellDimensions, ids: Ids, measures: &Measures) -> bool {
    let cells = of_day.entry(kind).or_default();
    let before = cells.len();
    cells.entry(ids).or_default().add(measures);
    cells.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::measure::Measure;

    fn at() -> CompanyDay {
        CompanyDay { company: Uuid::nil(), test: false, day: NaiveDate::default() }
    }

    fn leads(cells: &ReportCells, kind: CellDimensions, ids: Ids) -> i64 {
        cells.by[&at()].get(&kind).and_then(|of| of.get(&ids)).map_or(0, |found| found.get(Measure::Leads))
    }

    #[test]
    fn what_has_two_values_of_a_dimension_counts_for_each_and_once_in_the_whole() {
        let mut cells = ReportCells::default();
        let values = ItemValues(vec![vec![3, 4], vec![], vec![7]]);
        cells.add(at(), &values, Measures::of(Measure::Leads, 1));
        let pair = CellDimensions(Some(DimensionSlot(0)), Some(DimensionSlot(2)));
        assert_eq!(leads(&cells, CellDimensions::WHOLE, (0, 0)), 1);
        assert_eq!((leads(&cells, pair, (3, 7)), leads(&cells, pair, (4, 7))), (1, 1));
        assert_eq!(leads(&cells, CellDimensions(Some(DimensionSlot(1)), None), (0, 0)), 0);
        // The whole, two cells of one dimension, one of the other, and two pairs.
        assert_eq!(cells.count, 6);
    }

    #[test]
    fn of_several_that_share_a_cell_one_counts() {
        let mut cells = ReportCells::default();
        let seats = [ItemValues(vec![vec![3], vec![8]]), ItemValues(vec![vec![4], vec![8]])];
        let single = CellDimensions(Some(DimensionSlot(1)), None);
        cells.add_once(at(), &seats, |kind| kind.has(DimensionSlot(1)), Measures::of(Measure::Leads, 1));
        assert_eq!((leads(&cells, single, (8, 0)), leads(&cells, CellDimensions::WHOLE, (0, 0))), (1, 0));
    }
}
