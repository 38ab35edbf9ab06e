//! The lines in which two texts differ.

use minijinja::value::Value;

use super::super::prelude::fields;

/// Lines shown before and after a difference.
const AROUND: usize = 3;

/// Most comparisons; texts that differ more are shown as a whole.
const COMPARISONS: usize = 4_000_000;

/// The differences with some lines around each: `+`, `-` or a blank, and the line; `…` for those left out.
pub(super) fn lines(before: &str, after: &str) -> Vec<Value> {
    marked(before, after).into_iter().map(|(mark, line)| fields! { mark, line }).collect()
}

fn marked<'t>(before: &'t str, after: &'t str) -> Vec<(&'static str, &'t str)> {
    let all = compared(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let differ: Vec<usize> = (0..all.len()).filter(|nth| all[*nth].0 != " ").collect();
    let is_near = |nth: usize| differ.iter().any(|at| at.abs_diff(nth) <= AROUND);
    let mut shown = Vec::new();
    for (nth, line) in all.iter().enumerate().filter(|_| !differ.is_empty()) {
        match is_near(nth) {
            true => shown.push(*line),
            false if shown.last() != Some(&("…", "")) => shown.push(("…", "")),
            false => {}
        }
    }
    shown
}

/// Every line of both, by the longest common subsequence.
fn compared<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<(&'static str, &'t str)> {
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (head, before, after) = (&before[..same], &before[same..], &after[same..]);
    let ends = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, after, tail) =
        (&before[..before.len() - ends], &after[..after.len() - ends], &before[before.len() - ends..]);
    // The longest common subsequence of what begins at each pair of lines.
    let width = after.len() + 1;
    let mut longest =
        vec![0; if before.len() * width > COMPARISONS { 0 } else { (before.len() + 1) * width }];
    let is_compared = !longest.is_empty();
    for (one, other) in
        (0..before.len()).rev().flat_map(|one| (0..after.len()).rev().map(move |other| (one, other)))
    {
        if !is_compared {
            break;
        }
        longest[one * width + other] = match before[one] == after[other] {
            true => longest[(one + 1) * width + other + 1] + 1,
            false => longest[(one + 1) * width + other].max(longest[one * width + other + 1]),
        };
    }
    let (mut one, mut other) = (0, 0);
    let mut all: Vec<_> = head.iter().map(|line| (" ", *line)).collect();
    while one < before.len() || other < after.len() {
        let removes = other == after.len()
            || one < before.len()
                && (!is_compared || longest[(one + 1) * width + other] >= longest[one * width + other + 1]);
        if one < before.len() && other < after.len() && before[one] == after[other] {
            all.push((" ", before[one]));
            (one, other) = (one + 1, other + 1);
        } else if removes {
            all.push(("-", before[one]));
            one += 1;
        } else {
            all.push(("+", after[other]));
            other += 1;
        }
    }
    all.extend(tail.iter().map(|line| (" ", *line)));
    all
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
