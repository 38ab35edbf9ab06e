//! Sets of zipcodes by prefix.

use std::fmt;
use std::ops::RangeInclusive;

const DIGITS: usize = 5;

/// Maximum number of prefixes listed when a condition is displayed; the rest are counted.
const MOST_NAMED: usize = 8;

/// Zipcodes that begin with one of several prefixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipcodePrefixes {
    prefixes: Vec<String>,
    /// The matching zipcodes as sorted, disjoint numeric ranges.
    ranges: Vec<RangeInclusive<u32>>,
}

impl ZipcodePrefixes {
    /// The zipcodes that begin with one of `prefixes`; `None` unless each has one to five digits.
    pub fn new(prefixes: &[String]) -> Option<Self> {
        let mut all = prefixes.iter().map(|prefix| range(prefix)).collect::<Option<Vec<_>>>()?;
        all.sort_by_key(|range| *range.start());
        let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
        for range in all {
            match ranges.last_mut() {
                Some(last) if *range.start() <= last.end() + 1 => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => ranges.push(range),
            }
        }
        Some(Self { prefixes: prefixes.to_vec(), ranges })
    }

    /// Whether a text is a valid prefix.
    pub fn is_prefix(text: &str) -> bool {
        range(text).is_some()
    }

    /// Whether a zipcode, as a number, is in the set.
    pub fn contains(&self, zipcode: f64) -> bool {
        self.meets(zipcode, zipcode)
    }

    /// Whether any zipcode of a range is in the set.
    pub fn meets(&self, least: f64, greatest: f64) -> bool {
        let nth = self.ranges.partition_point(|range| f64::from(*range.end()) < least);
        self.ranges.get(nth).is_some_and(|range| f64::from(*range.start()) <= greatest)
    }

    /// Whether every zipcode of a range is in the set.
    pub fn covers(&self, least: f64, greatest: f64) -> bool {
        let range = self.ranges.get(self.ranges.partition_point(|range| f64::from(*range.end()) < least));
        let ends = |range: &RangeInclusive<u32>| greatest.floor() <= f64::from(*range.end());
        range.is_some_and(|range| f64::from(*range.start()) <= least && ends(range))
    }

    /// The boundaries of the set's ranges.
    pub fn bounds(&self) -> impl Iterator<Item = f64> {
        self.ranges.iter().flat_map(|range| [f64::from(*range.start()), f64::from(*range.end() + 1)])
    }
}

fn range(prefix: &str) -> Option<RangeInclusive<u32>> {
    let is_one = (1..=DIGITS).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_digit());
    let first: u32 = is_one.then(|| prefix.parse().ok())??;
    let span = 10_u32.pow((DIGITS - prefix.len()) as u32);
    Some(first * span..=first * span + (span - 1))
}

impl fmt::Display for ZipcodePrefixes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = &self.prefixes[..self.prefixes.len().min(MOST_NAMED)];
        formatter.write_str(&named.join(", "))?;
        match self.prefixes.len() - named.len() {
            0 => Ok(()),
            others => write!(formatter, " and {others} others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(texts: &[&str]) -> Option<ZipcodePrefixes> {
        ZipcodePrefixes::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_zipcode_begins_with_a_prefix_or_does_not() {
        let places = prefixes(&["941", "00501", "9", "100"]).unwrap();
        for (zipcode, begins) in [
            (501.0, true),
            (502.0, false),
            (10_099.0, true),
            (10_100.0, false),
            (94_105.0, true),
            (89_999.0, false),
            (99_999.0, true),
        ] {
            assert_eq!(places.contains(zipcode), begins, "{zipcode}");
        }
        assert_eq!(
            places.bounds().collect::<Vec<_>>(),
            [501.0, 502.0, 10_000.0, 10_100.0, 90_000.0, 100_000.0]
        );
        assert!(places.covers(90_000.0, 95_000.0) && !places.covers(10_050.0, 10_150.0));
        assert!(places.meets(10_050.0, 10_150.0) && !places.meets(20_000.0, 80_000.0));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["", "941051", "94a", "94105-1804", "٩"] {
            assert_eq!(prefixes(&[text]), None, "{text}");
        }
    }

    #[test]
    fn of_many_the_first_are_named() {
        let many: Vec<String> = (10..30).map(|prefix| prefix.to_string()).collect();
        let shown = ZipcodePrefixes::new(&many).unwrap().to_string();
        assert_eq!(shown, "10, 11, 12, 13, 14, 15, 16, 17 and 12 others");
    }
}
