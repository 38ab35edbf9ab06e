//! Covers a range with stored days and months. For a month that is cut, either its days inside are added, or
//! the whole month is added and its days outside are subtracted, whichever are fewer.

use chrono::{Days, Months, NaiveDate};

use super::key::Granularity;
use super::query::DayRange;

/// Consecutive days or months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodRange {
    /// Whether they are days or months.
    pub grain: Granularity,
    /// From the first day of the first to the last day of the last.
    pub range: DayRange,
    /// Whether they are subtracted.
    pub is_less: bool,
}

/// Covers a range whose days need no separate sums.
pub fn cover(range: DayRange) -> Vec<PeriodRange> {
    let mut stretches: Vec<PeriodRange> = Vec::new();
    for month in months(range) {
        let part = DayRange { first: month.first.max(range.first), last: month.last.min(range.last) };
        let whole = PeriodRange { grain: Granularity::Month, range: month, is_less: false };
        if part == month {
            match stretches.last_mut().filter(|last| last.grain == Granularity::Month && !last.is_less) {
                Some(last) if last.range.last.succ_opt() == Some(month.first) => last.range.last = month.last,
                _ => stretches.push(whole),
            }
        } else if part.days() * 2 <= month.days() {
            stretches.push(PeriodRange { range: part, ..days(range) });
        } else {
            stretches.push(whole);
            stretches.extend(outside(month, part));
        }
    }
    stretches
}

/// Covers a range day by day.
pub fn days(range: DayRange) -> PeriodRange {
    PeriodRange { grain: Granularity::Day, range, is_less: false }
}

fn outside(month: DayRange, part: DayRange) -> impl Iterator<Item = PeriodRange> {
    let before = part.first.pred_opt().map(|last| DayRange { first: month.first, last });
    let behind = part.last.succ_opt().map(|first| DayRange { first, last: month.last });
    let outside = before.into_iter().chain(behind).filter(|range| range.first <= range.last);
    outside.map(|range| PeriodRange { is_less: true, ..days(range) })
}

fn months(range: DayRange) -> impl Iterator<Item = DayRange> {
    let first = Granularity::Month.period(range.first);
    let next = |month: &NaiveDate| month.checked_add_months(Months::new(1));
    let months = std::iter::successors(Some(first), next).take_while(move |month| *month <= range.last);
    months.map(move |first| {
        let last = next(&first).and_then(|next| next.checked_sub_days(Days::new(1)));
        DayRange { first, last: last.unwrap_or(range.last) }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_day_of_the_range_counts_once_and_no_other(first in 0..1500_u64, length in 0..800_u64) {
            let day = |nth| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(nth);
            let range = DayRange { first: day(first), last: day(first + length) };
            let stretches = cover(range);
            let mut counted: BTreeMap<NaiveDate, i32> = BTreeMap::new();
            for stretch in &stretches {
                for day in stretch.range.first.iter_days().take_while(|day| *day <= stretch.range.last) {
                    *counted.entry(day).or_default() += if stretch.is_less { -1 } else { 1 };
                }
            }
            counted.retain(|_, count| *count != 0);
            prop_assert!(counted.values().all(|count| *count == 1));
            prop_assert_eq!(counted.into_keys().collect::<Vec<_>>(),
                range.first.iter_days().take_while(|day| *day <= range.last).collect::<Vec<_>>());
            let days: i64 = stretches.iter().filter(|one| one.grain == Granularity::Day).map(|one| one.range.days()).sum();
            prop_assert!(days <= 30);
        }
    }
}
