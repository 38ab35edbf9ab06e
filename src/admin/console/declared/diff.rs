//! The lines in which two texts differ.

use minijinja::value::Value;
use similar::{ChangeTag, TextDiff};

use super::super::prelude::fields;

/// Lines shown before and after a difference.
const AROUND: usize = 3;

/// The differences with some lines around each: `+`, `-` or a blank, and the line; `…` for those left out.
pub(super) fn lines(before: &str, after: &str) -> Vec<Value> {
    marked(before, after).into_iter().map(|(mark, line)| fields! { mark, line }).collect()
}

fn marked(before: &str, after: &str) -> Vec<(&'static str, String)> {
    // A last line without an end is the same line.
    let ended = |text: &str| match text {
        "" => String::new(),
        text => format!("{}\n", text.strip_suffix('\n').unwrap_or(text)),
    };
    let (before, after) = (ended(before), ended(after));
    let diff = TextDiff::from_lines(&before, &after);
    let mut shown: Vec<(&str, String)> = Vec::new();
    let mut next = 0;
    for group in diff.grouped_ops(AROUND) {
        if group[0].old_range().start > next {
            shown.push(("…", String::new()));
        }
        for change in group.iter().flat_map(|part| diff.iter_changes(part)) {
            let mark = match change.tag() {
                ChangeTag::Equal => " ",
                ChangeTag::Delete => "-",
                ChangeTag::Insert => "+",
            };
            shown.push((mark, change.value().trim_end_matches('\n').to_owned()));
        }
        next = group[group.len() - 1].old_range().end;
    }
    if !shown.is_empty() && next < before.lines().count() {
        shown.push(("…", String::new()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let lines = marked(before, after).into_iter().map(|(mark, line)| format!("{mark}{line}"));
        lines.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn the_lines_that_differ_are_shown_with_those_around_them() {
        assert_eq!(shown("a\nb\nc", "a\nB\nc"), " a|-b|+B| c");
        assert_eq!(shown("a\nb\nc\nd", "b\nx\nc"), "-a| b|+x| c|-d");
        assert_eq!(shown("", "a\nb"), "+a|+b");
        assert_eq!(shown("a", "a"), "");
        let long = (0..10).map(|nth| nth.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(shown(&long, &long.replace('5', "five")), "…| 2| 3| 4|-5|+five| 6| 7| 8|…");
    }
}
