//! The keys of counts in the store.

use chrono::{Datelike, NaiveDate};
use chrono_tz::Tz;
use uuid::Uuid;

use super::dimension::{CellDimensions, DimensionSlot};

/// A count: its time zone and generation. A rebuild makes the next generation aside, then puts it in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountSpace {
    /// The time zone of its days.
    pub zone: Tz,
    /// The number of rebuilds before it.
    pub generation: u32,
}

/// The granularity of stored periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Granularity {
    /// By day.
    Day,
    /// By month.
    Month,
}

impl Granularity {
    /// The first day of the day or month that contains a day.
    pub fn period(self, day: NaiveDate) -> NaiveDate {
        match self {
            Self::Day => day,
            Self::Month => day.with_day(1).unwrap_or(day),
        }
    }
}

/// The kind under which the blocks of all kinds share a record, where they are small.
pub const TOGETHER: [u8; 2] = [0xfe, 0xfe];

/// The encoding of a kind in keys.
pub fn kind_bytes(CellDimensions(one, other): CellDimensions) -> [u8; 2] {
    [one, other].map(|slot| slot.map_or(0xff, |DimensionSlot(nth)| nth))
}

/// The key of a zone's generation in force.
pub fn in_force(zone: Tz) -> Vec<u8> {
    [b"g", zone.name().as_bytes()].concat()
}

impl CountSpace {
    fn prefix(self, what: u8) -> Vec<u8> {
        [&[what][..], self.zone.name().as_bytes(), &[0], &self.generation.to_be_bytes()].concat()
    }

    /// The key prefixes of this count.
    pub fn prefixes(self) -> [Vec<u8>; 3] {
        [b'c', b'v', b'b'].map(|what| self.prefix(what))
    }

    /// The key of its progress.
    pub fn state(self) -> Vec<u8> {
        self.prefix(b'c')
    }

    /// The prefix of its names.
    pub fn names(self) -> Vec<u8> {
        self.prefix(b'v')
    }

    /// The prefix of its blocks.
    pub fn blocks(self) -> Vec<u8> {
        self.prefix(b'b')
    }

    /// The key of a batch of names of a dimension at a company; `first` is the id of the first name.
    pub fn some_names(self, company: Uuid, DimensionSlot(slot): DimensionSlot, first: u32) -> Vec<u8> {
        [&self.names()[..], company.as_bytes(), &[slot], &first.to_be_bytes()].concat()
    }

    /// The company, dimension and first id of such a key.
    pub fn names_of(self, key: &[u8]) -> Option<((Uuid, DimensionSlot), u32)> {
        let (company, rest) = key.get(self.names().len()..)?.split_first_chunk()?;
        let (slot, first) = rest.split_first()?;
        Some(((Uuid::from_bytes(*company), DimensionSlot(*slot)), u32::from_be_bytes(first.try_into().ok()?)))
    }
}

/// A day or month of a company.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompanyPeriod {
    /// The company.
    pub company: Uuid,
    /// Whether it counts test leads.
    pub test: bool,
    /// Whether it is a day or a month.
    pub grain: Granularity,
    /// Its first day.
    pub period: NaiveDate,
}

impl CompanyPeriod {
    /// The key prefix of all blocks of one kind and grain.
    pub fn row(&self, space: CountSpace, kind: [u8; 2]) -> Vec<u8> {
        let grain = if self.grain == Granularity::Day { b'd' } else { b'm' };
        let head = space.blocks();
        [&head[..], self.company.as_bytes(), &[u8::from(self.test), grain], &kind].concat()
    }

    /// The key prefix of this period's blocks of one kind.
    pub fn blocks(&self, space: CountSpace, kind: [u8; 2]) -> Vec<u8> {
        // Days before year 1 do not occur.
        let days = u32::try_from(self.period.num_days_from_ce()).unwrap_or(0);
        [&self.row(space, kind)[..], &days.to_be_bytes()].concat()
    }

    /// The key of one part's block.
    pub fn block(&self, space: CountSpace, kind: [u8; 2], part: u32) -> Vec<u8> {
        [&self.blocks(space, kind)[..], &part.to_be_bytes()].concat()
    }
}

/// The day or month of such a key.
pub fn period_of(block: &[u8]) -> Option<NaiveDate> {
    let days = block.last_chunk::<8>()?.first_chunk::<4>()?;
    NaiveDate::from_num_days_from_ce_opt(i32::try_from(u32::from_be_bytes(*days)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_its_day() {
        let space = CountSpace { zone: chrono_tz::America::New_York, generation: 7 };
        let day = NaiveDate::from_ymd_opt(2026, 2, 28).unwrap();
        let place =
            CompanyPeriod { company: Uuid::from_u128(3), test: false, grain: Granularity::Day, period: day };
        let next = CompanyPeriod { period: day.succ_opt().unwrap(), ..place };
        let (kind, key) =
            (kind_bytes(CellDimensions::WHOLE), place.block(space, kind_bytes(CellDimensions::WHOLE), 9));
        assert!(key.starts_with(&place.blocks(space, kind)) && key < next.blocks(space, kind));
        assert!(key.starts_with(&place.row(space, kind)));
        assert_eq!(period_of(&key), Some(day));
        assert!(space.prefixes().iter().any(|prefix| key.starts_with(prefix)));
        let names = space.some_names(place.company, DimensionSlot::STATE, 3);
        assert_eq!(space.names_of(&names), Some(((place.company, DimensionSlot::STATE), 3)));
    }
}
