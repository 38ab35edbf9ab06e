//! The part of a settings file that declares a section or one of its tables, as text: what is around it
//! stays byte for byte.

use std::ops::Range;
use std::path::Path;

use super::web_address::{shown, shown_whole};
use crate::declaration::{Fault, Source};

/// The tables at and below one path, such as `["ranking", "named"]`, wherever they are in a text.
#[derive(Debug)]
pub struct SectionText<'t> {
    text: &'t str,
    parts: Vec<Range<usize>>,
}

impl<'t> SectionText<'t> {
    /// Finds the tables.
    ///
    /// # Errors
    /// The text is no TOML.
    pub fn find(text: &'t str, path: &[&str]) -> Result<Self, Fault> {
        Source::parse(Path::new("text"), text)?;
        let headers = headers(text);
        let ends = headers.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
        let mut parts: Vec<Range<usize>> = Vec::new();
        for ((begins, name), ends) in headers.iter().zip(ends) {
            match parts.last_mut().filter(|part| part.end == *begins) {
                _ if !is_below(name, path) => {}
                Some(part) => part.end = ends,
                None => parts.push(*begins..ends),
            }
        }
        for part in &mut parts {
            part.end = part.start + without_what_follows(&text[part.clone()], part.end == text.len());
        }
        Ok(Self { text, parts })
    }

    /// The text of the tables.
    pub fn shown(&self) -> String {
        self.parts.iter().map(|part| ended(&self.text[part.clone()])).collect::<Vec<_>>().join("\n")
    }

    /// The whole text with others in their place, or at its end.
    pub fn replaced(&self, with: &str) -> String {
        let part = ended(with);
        let Some((first, others)) = self.parts.split_first() else {
            let between = if self.text.is_empty() || part.is_empty() { "" } else { "\n" };
            return ended(self.text) + between + &part;
        };
        let (mut text, mut at) = (self.text[..first.start].to_owned() + &part, first.end);
        for other in others {
            text.push_str(&self.text[at..other.start]);
            at = other.end;
        }
        text + &self.text[at..]
    }
}

/// A text with a value at a key outside of its tables.
///
/// # Errors
/// The text is no TOML.
pub fn with_key(text: &str, key: &str, value: &str) -> Result<String, Fault> {
    let source = Source::parse(Path::new("text"), text)?;
    let set = format!("{key} = {value}\n");
    if let Some(line) = source.line_of(key).filter(|_| source.has(key)) {
        let lines = text.split_inclusive('\n').enumerate();
        return Ok(lines.map(|(nth, other)| if nth + 1 == line { &*set } else { other }).collect());
    }
    let first = headers(text).first().map_or(text.len(), |(at, _)| *at);
    let at = without_what_follows(&text[..first], first == text.len());
    Ok(ended(&text[..at]) + &set + &text[at..])
}

/// Whether a text has an address with a password in it, which is not shown.
pub fn has_password(text: &str) -> bool {
    let hides = |line: &str, shown: fn(&str) -> String| {
        line.split(['"', '\'']).any(|word| word.contains("://") && shown(word) != word)
    };
    let table = text.parse::<toml::Table>().unwrap_or_default();
    let database = table.get("store").and_then(|store| store.get("postgres"));
    text.lines().any(|line| !line.trim_start().starts_with('#') && hides(line, shown))
        || database.is_some_and(|database| hides(&database.to_string(), shown_whole))
}

/// The tables of a text: where their headers begin, and their names.
fn headers(text: &str) -> Vec<(usize, Vec<String>)> {
    let begins = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line.trim_start()))
    });
    let bare = |name: &str| name.trim().trim_matches(['"', '\'']).to_owned();
    let name = |line: &str| {
        let name = line.trim_start_matches('[').split(']').next().unwrap_or_default();
        name.split('.').map(bare).collect()
    };
    // A line within a value may begin with a bracket too: what is before it is no whole text.
    let is_header = |at: usize| text[..at].parse::<toml::Table>().is_ok();
    let headers = begins.filter(|(at, line)| line.starts_with('[') && is_header(*at));
    headers.map(|(at, line)| (at, name(line))).collect()
}

fn is_below(name: &[String], path: &[&str]) -> bool {
    name.len() >= path.len() && name.iter().zip(path).all(|(one, other)| one == other)
}

/// The length of a part without blank lines at its end, and without the comment above the header after it.
fn without_what_follows(part: &str, is_last: bool) -> usize {
    let mut lines: Vec<&str> = part.split_inclusive('\n').collect();
    while !is_last && lines.last().is_some_and(|line| line.trim_start().starts_with('#')) {
        lines.pop();
    }
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    lines.iter().map(|line| line.len()).sum()
}

fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# Ours.
[api]
cors_origins = [
  [\"ranking\"],
]

# How offers are ranked.
[ranking]
default = \"mine\" # for all

# About logs.
[log]
filter = \"info\"

[ranking.named.mine]
payout = 1.0
[ranking.named.yours]
payout = 2.0
";

    fn found<'t>(text: &'t str, path: &[&str]) -> SectionText<'t> {
        SectionText::find(text, path).unwrap()
    }

    #[test]
    fn the_tables_of_a_section_are_found_wherever_they_are() {
        let ranking = found(FILE, &["ranking"]).shown();
        assert_eq!(
            ranking,
            "[ranking]\ndefault = \"mine\" # for all\n\n[ranking.named.mine]\npayout = 1.0\n[ranking.named.yours]\npayout = 2.0\n"
        );
        assert_eq!(
            found(FILE, &["ranking", "named", "mine"]).shown(),
            "[ranking.named.mine]\npayout = 1.0\n"
        );
        assert_eq!(found(FILE, &["alerts"]).shown(), "");
        assert!(SectionText::find("[ranking\n", &["ranking"]).is_err());
    }

    #[test]
    fn what_is_around_a_section_stays_as_it_is() {
        let replaced = found(FILE, &["ranking"]).replaced("[ranking]\nleast = 0.1");
        let (before, rest) = FILE.split_once("[ranking]\n").unwrap();
        let between = "\n# About logs.\n[log]\nfilter = \"info\"\n\n";
        assert!(rest.contains(between));
        assert_eq!(replaced, format!("{before}[ranking]\nleast = 0.1\n{between}"));
        assert_eq!(found(FILE, &["log"]).replaced(&found(FILE, &["log"]).shown()), FILE);
        assert_eq!(found("a = 1", &["log"]).replaced("[log]"), "a = 1\n\n[log]\n");
        assert_eq!(found("", &["log"]).replaced("[log]"), "[log]\n");
    }

    #[test]
    fn a_key_is_set_where_it_is_or_above_the_tables() {
        let set = |text: &str| with_key(text, "paused", "true").unwrap();
        assert_eq!(set("a = 1\npaused = false\nb = 2\n"), "a = 1\npaused = true\nb = 2\n");
        assert_eq!(set("a = 1"), "a = 1\npaused = true\n");
        assert_eq!(set("a = 1\n\n# One.\n[[b]]\nc = 1\n"), "a = 1\npaused = true\n\n# One.\n[[b]]\nc = 1\n");
    }

    #[test]
    fn a_password_in_an_address_is_seen() {
        assert!(has_password("[store.postgres]\nurl = 'postgres://db/offerd?password=x'\n"));
        assert!(has_password("[alerts.webhooks.ops]\nurl = \"https://me:x@ops.example\" # ours\n"));
        assert!(!has_password(
            "[alerts.mail]\nfrom = 'a@b.example'\n[a]\nurl = \"https://a.example?b=c\" # me@b.example\n"
        ));
    }
}
