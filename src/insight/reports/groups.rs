//! Sums by group, while a report is made.
//!
//! Sums are kept in a dense table if all possible groups fit, otherwise in a hash map.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::measure::Measures;

/// A group: the ids of its values in the report's dimensions; 0 for a missing dimension.
pub type GroupIds = [u32; 2];

/// The least id of a dimension's values, and the number of ids from there on.
pub type IdRange = (u32, u32);

/// Sums by group.
#[derive(Debug)]
pub enum Groups {
    /// A dense table of all possible groups.
    Table { bounds: [IdRange; 2], sums: Vec<Measures> },
    /// The groups that occur.
    Found(HashMap<(u32, u32), Measures, BuildHasherDefault<GroupHasher>>),
}

/// Hashes the ids of a group. No outsider chooses them, so collisions need no defence.
#[derive(Debug, Default, Clone)]
pub struct GroupHasher(u64);

impl Hasher for GroupHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Default for Groups {
    fn default() -> Self {
        Self::Found(HashMap::default())
    }
}

impl Groups {
    /// No sums yet; dense if the bounds allow at most `most` groups.
    pub fn within(bounds: [IdRange; 2], most: usize) -> Self {
        let [(_, one), (_, other)] = bounds;
        match (one as usize).checked_mul(other as usize).filter(|groups| *groups <= most) {
            Some(groups) => Self::Table { bounds, sums: vec![Measures::default(); groups] },
            None => Self::default(),
        }
    }

    /// The sum of a group, which must be within the bounds.
    pub fn sum(&mut self, group: GroupIds) -> &mut Measures {
        match self {
            Self::Table { bounds, sums } => &mut sums[place(bounds, group).expect("it is within bounds")],
            Self::Found(found) => found.entry(group.into()).or_default(),
        }
    }

    /// Whether there are more than `most` groups.
    pub fn are_more_than(&self, most: usize) -> bool {
        matches!(self, Self::Found(found) if found.len() > most)
    }

    /// Removes and returns the sum of a group; zero if there is none.
    pub fn take(&mut self, group: GroupIds) -> Measures {
        match self {
            Self::Table { bounds, sums } => {
                place(bounds, group).map(|place| std::mem::take(&mut sums[place])).unwrap_or_default()
            }
            Self::Found(found) => found.remove(&group.into()).unwrap_or_default(),
        }
    }

    /// The groups with a non-zero sum.
    pub fn each(self) -> Box<dyn Iterator<Item = (GroupIds, Measures)>> {
        match self {
            Self::Table { bounds: [(first, _), (second, width)], sums } => {
                let group = move |nth: usize| {
                    let (row, column) = (nth / width as usize, nth % width as usize);
                    [first + row as u32, second + column as u32]
                };
                let each = sums.into_iter().enumerate().filter(|(_, sum)| !sum.is_empty());
                Box::new(each.map(move |(nth, sum)| (group(nth), sum)))
            }
            Self::Found(found) => {
                let some = found.into_iter().filter(|(_, sum)| !sum.is_empty());
                Box::new(some.map(|(group, sum)| (group.into(), sum)))
            }
        }
    }
}

fn place([(first, rows), (second, width)]: &[IdRange; 2], [one, other]: GroupIds) -> Option<usize> {
    let row = one.checked_sub(*first).filter(|row| row < rows)?;
    let column = other.checked_sub(*second).filter(|column| column < width)?;
    Some(row as usize * *width as usize + column as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::reports::measure::Measure;

    proptest! {
        #[test]
        fn a_table_tells_what_is_told_without_one(added in vec((0..7_u32, 0..5_u32, -2..3_i64), 0..60)) {
            let bounds = [(100, 7), (20, 5)];
            let all = [Groups::within(bounds, 35), Groups::within(bounds, 34)].map(|mut groups| {
                for (one, other, count) in &added {
                    groups.sum([100 + one, 20 + other]).add(&Measures::of(Measure::Leads, *count));
                }
                groups.take([102, 21]);
                groups.take([99, 0]);
                groups.each().map(|(group, sum)| (group, sum.get(Measure::Leads))).collect::<BTreeMap<_, _>>()
            });
            prop_assert_eq!(&all[0], &all[1]);
            prop_assert!(all[0].values().all(|count| *count != 0) && !all[0].contains_key(&[102, 21]));
        }
    }
}
