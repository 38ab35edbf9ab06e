//! Faults of mappings with a part that is the same everywhere and cannot be meant so.

use super::conditions::{COMPARING, tokens};
use super::names::QUOTES;

const OPERAND: &str = "has an operand of `or`, `and` or `not` that is always the same, since it is not \
    compared; compare each, as in `response.code in ['A', 'B']`";

/// The fault of an operand that decides by itself, as in `response.r == 'A' or 'B'`, or of a text without its
/// quotes.
pub(super) fn fault(text: &str, key: &str, is_verdict: bool) -> Option<String> {
    if is_text_without_quotes(text.trim()) {
        return Some(format!("is sent as a number, the result of arithmetic if it has operators; {QUOTES}"));
    }
    let is_condition = ["when", "pending", "verify"].contains(&key);
    decides_alone(&words(text, 0, None), is_condition, is_verdict).then(|| OPERAND.to_owned())
}

/// The same of the tags of a template.
pub(super) fn fault_of_template(template: &str) -> Option<&'static str> {
    let is_fixed = |begin: &str, end: &str| {
        let tags = template.match_indices(begin).map(|(at, _)| words(template, at + begin.len(), Some(end)));
        tags.into_iter().any(|tag| decides_alone(&tag, false, false))
    };
    (is_fixed("{{", "}}") || is_fixed("{%", "%}")).then_some(OPERAND)
}

/// Whether an expression is a single comparison, so that it gives true or false.
pub(super) fn is_comparison(text: &str) -> bool {
    let words = words(text, 0, None);
    let is_single = !words.iter().any(|word| OPERATORS[1..].contains(word) || *word == "(")
        && words.first() != Some(&"[");
    is_single && words.iter().any(|word| COMPARING.contains(word))
}

fn words<'t>(text: &'t str, from: usize, end: Option<&str>) -> Vec<&'t str> {
    tokens(text, from, end).0.into_iter().map(|(_, word)| word).collect()
}

/// Whether it is a date, a telephone number or a zipcode rather than a number: `2026-01-01`, `02134`.
fn is_text_without_quotes(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    let is_padded = text.len() > 1 && text.starts_with('0');
    text.split(['-', '/']).all(is_number) && (is_padded || !is_number(text))
}

/// Whether a constant decides an expression, or a part of it. One that changes nothing, as in `or ''`, and a
/// default, as in `response.reason or 'other'`, may be meant.
fn decides_alone(words: &[&str], is_condition: bool, is_verdict: bool) -> bool {
    let has_if = words.iter().any(|word| ["if", "elif"].contains(word));
    let (mut is_asked, mut in_list) = ((is_condition || is_verdict) && !has_if, Vec::new());
    (0..words.len()).any(|nth| {
        let (word, at) = (words[nth], |nth: usize| words.get(nth).copied().unwrap_or_default());
        let (before, behind) = (at(nth.wrapping_sub(1)), at(nth + 1));
        match word {
            "(" => in_list.push(before.ends_with(char::is_alphanumeric) && !OPERATORS.contains(&before)),
            "[" | "{" => in_list.push(true),
            ")" | "]" | "}" => drop(in_list.pop()),
            "if" | "elif" => is_asked = true,
            "else" => is_asked = false,
            _ => {}
        }
        let is_text =
            word.starts_with(['\'', '"']) && word.len() > 2 || word.parse().is_ok_and(|of: u64| of > 0);
        let ends = match behind {
            ")" => ["", "and", "or", "if", "else", ")"].contains(&at(nth + 2)),
            _ => ["", "and", "or", "if", "else"].contains(&behind),
        };
        let is_asked = is_asked && in_list.last() != Some(&true);
        let own = words[..nth].iter().rev().skip(1).take_while(|word| !OPERATORS[1..].contains(word));
        (is_text || word == "true" && before != "and" && behind != "and")
            && ends
            && match before {
                "not" => true,
                "or" => is_asked || own.into_iter().any(|word| COMPARING.contains(word)),
                "and" => is_asked && (has_if || is_condition),
                "" | "(" | "if" | "elif" | "else" => ["and", "or"].contains(&behind),
                _ => false,
            }
    })
}

/// What is before an operand: `not`, or what also ends another one.
const OPERATORS: [&str; 6] = ["not", "and", "or", "if", "elif", "else"];
