//! The dimensions of reports.

use std::fmt;

use chrono::{Datelike, NaiveDate, Weekday};
use serde::{Deserialize, Serialize};

/// The most tag names that are counted.
pub const TAGS_MAX: usize = 8;

/// A stored dimension, by its number. Tags follow from [`DimensionSlot::TAG`] on, by first count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DimensionSlot(pub u8);

impl DimensionSlot {
    /// Product type.
    pub const PRODUCT: Self = Self(0);
    /// Product sub-type.
    pub const SUB_TYPE: Self = Self(1);
    /// Partner, by key.
    pub const PARTNER: Self = Self(2);
    /// Credit rating band.
    pub const RATING: Self = Self(3);
    /// State of residence.
    pub const STATE: Self = Self(4);
    /// The first tag.
    pub const TAG: Self = Self(5);

    /// Experiments, as a rule with the variant that the lead drew. Follows the numbers reserved for tags.
    pub const EXPERIMENT: Self = Self(Self::TAG.0 + TAGS_MAX as u8);

    /// Offers, as `PARTNER/OFFER` by their keys. Follows experiments.
    pub const OFFER: Self = Self(Self::EXPERIMENT.0 + 1);

    /// The tag with this index.
    pub fn tag(nth: usize) -> Self {
        Self(Self::TAG.0 + nth as u8)
    }

    /// Whether it is a tag.
    pub fn is_tag(self) -> bool {
        (Self::TAG..Self::EXPERIMENT).contains(&self)
    }

    /// Whether offers are counted by it: an offer says it, so that the pairs are few.
    pub fn is_of_offers(self) -> bool {
        self == Self::OFFER || self <= Self::PARTNER
    }
}

/// The dimensions of a cell: none, one, or a pair in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellDimensions(pub Option<DimensionSlot>, pub Option<DimensionSlot>);

impl CellDimensions {
    /// The whole, without a dimension.
    pub const WHOLE: Self = Self(None, None);

    /// The kind of some dimensions; `None` for more than two.
    pub fn of(slots: &[DimensionSlot]) -> Option<Self> {
        match *slots {
            [] => Some(Self::WHOLE),
            [one] => Some(Self(Some(one), None)),
            [one, other] => Some(Self(Some(one.min(other)), Some(one.max(other)))),
            _ => None,
        }
    }

    /// Every counted kind that this many dimensions have.
    pub fn all(slots: u8) -> impl Iterator<Item = Self> {
        let singles = (0..slots).map(|one| Self(Some(DimensionSlot(one)), None));
        let pair = |one, other| Self(Some(DimensionSlot(one)), Some(DimensionSlot(other)));
        let pairs = (0..slots).flat_map(move |one| (one + 1..slots).map(move |other| pair(one, other)));
        std::iter::once(Self::WHOLE).chain(singles).chain(pairs).filter(|kind| kind.is_counted())
    }

    /// Whether its cells are counted: offers are paired only with what they themselves say.
    pub fn is_counted(self) -> bool {
        !self.has(DimensionSlot::OFFER) || self.is_of_offers()
    }

    /// Whether offers are counted by all of its dimensions.
    pub fn is_of_offers(self) -> bool {
        [self.0, self.1].into_iter().flatten().all(DimensionSlot::is_of_offers)
    }

    /// Whether the kind has a dimension.
    pub fn has(self, slot: DimensionSlot) -> bool {
        self.0 == Some(slot) || self.1 == Some(slot)
    }
}

/// A dimension that a report can be grouped or filtered by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// Day of the report's time zone.
    Day,
    /// ISO week of that zone, from Monday.
    Week,
    /// Month of that zone.
    Month,
    /// Company.
    Company,
    /// A stored dimension: its slot and its name.
    Stored(DimensionSlot, String),
}

const STORED: [(&str, DimensionSlot); 7] = [
    ("product", DimensionSlot::PRODUCT),
    ("subType", DimensionSlot::SUB_TYPE),
    ("partner", DimensionSlot::PARTNER),
    ("rating", DimensionSlot::RATING),
    ("state", DimensionSlot::STATE),
    ("experiment", DimensionSlot::EXPERIMENT),
    ("offer", DimensionSlot::OFFER),
];

const OTHERS: [(&str, Dimension); 4] = [
    ("day", Dimension::Day),
    ("week", Dimension::Week),
    ("month", Dimension::Month),
    ("company", Dimension::Company),
];

impl Dimension {
    /// Finds a dimension by its name, with these counted tags.
    pub fn named(name: &str, tags: &[String]) -> Option<Self> {
        let stored = || STORED.iter().find(|(known, _)| *known == name).map(|(_, slot)| *slot);
        let tag = || tags.iter().position(|tag| tag == name).map(DimensionSlot::tag);
        let other = OTHERS.iter().find(|(known, _)| *known == name).map(|(_, other)| other.clone());
        other.or_else(|| Some(Self::Stored(stored().or_else(tag)?, name.to_owned())))
    }

    /// The names of all dimensions.
    pub fn names(tags: &[String]) -> Vec<String> {
        let own = OTHERS.iter().map(|(name, _)| *name).chain(STORED.iter().map(|(name, _)| *name));
        own.map(str::to_owned).chain(tags.iter().cloned()).collect()
    }

    /// Its slot, if it is stored in cells.
    pub fn slot(&self) -> Option<DimensionSlot> {
        if let Self::Stored(slot, _) = self { Some(*slot) } else { None }
    }

    /// The first day of the week or month that contains a day; the day itself for other dimensions.
    pub fn period(&self, day: NaiveDate) -> NaiveDate {
        match self {
            Self::Week => day.week(Weekday::Mon).checked_first_day().unwrap_or(day),
            Self::Month => day.with_day(1).unwrap_or(day),
            _ => day,
        }
    }

    /// The label of a day, or of the week or month that contains it.
    pub fn value(&self, day: NaiveDate) -> String {
        match self {
            Self::Week => day.format("%G-W%V").to_string(),
            Self::Month => day.format("%Y-%m").to_string(),
            _ => day.to_string(),
        }
    }

    /// Whether it is a day, week or month.
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month)
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other = || OTHERS.iter().find(|(_, other)| other == self).map_or("", |(name, _)| name);
        f.write_str(if let Self::Stored(_, name) = self { name } else { other() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_dimensions_is_a_kind_once() {
        let kinds: std::collections::BTreeSet<CellDimensions> = CellDimensions::all(7).collect();
        assert_eq!((kinds.len(), CellDimensions::all(7).count()), (1 + 7 + 21, 1 + 7 + 21));
        let of_offers =
            CellDimensions::all(DimensionSlot::OFFER.0 + 1).filter(|kind| kind.has(DimensionSlot::OFFER));
        assert_eq!(of_offers.count(), 1 + 3, "product, sub-type and partner");
        assert!(
            kinds.contains(&CellDimensions::of(&[DimensionSlot::tag(1), DimensionSlot::PARTNER]).unwrap())
        );
        assert_eq!(CellDimensions::of(&[DimensionSlot(0), DimensionSlot(1), DimensionSlot(2)]), None);
    }

    #[test]
    fn no_tag_is_counted_under_the_name_of_a_dimension() {
        for name in Dimension::names(&[]) {
            let file = format!("[reports]\ntags = ['{name}']\n");
            assert!(
                offerd_base::config::Settings::from_layers(Some(("x".as_ref(), &file)), []).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_dimension_is_found_by_its_name() {
        let tags = ["campaign".to_owned()];
        for name in Dimension::names(&tags) {
            assert_eq!(Dimension::named(&name, &tags).unwrap().to_string(), name);
        }
        assert_eq!(Dimension::named("affiliate", &tags), None);
    }
}
