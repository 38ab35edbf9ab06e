//! Yes and no within mappings: where Jinja takes every text for true, `not response.Approved` and `… if response.Approved` take `false`
//! and its like for no, as conditions of the file do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use minijinja::value::{Value, ValueKind};

use super::truth::truth_of;

/// Most paths of a mapping that are looked at; each is a layer over the context.
const PATHS_MAX: usize = 64;

/// Words that are no names.
const WORDS: [&str; 10] = ["not", "and", "or", "if", "elif", "else", "true", "false", "none", "in"];

/// A path behind one of these words is a condition.
const ASKING: [&str; 3] = ["not", "if", "elif"];

/// What else may stand before a condition; the empty word is the start.
const BEFORE: [&str; 10] = ["", "and", "or", "else", "(", "[", "{", ",", ":", "%"];

/// What may stand behind it; the empty word is the end.
const BEHIND: [&str; 9] = ["", "and", "or", "else", ")", "]", "}", ",", "%"];

/// The paths that a mapping takes for conditions by themselves: `response.Approved` in `not response.Approved`.
#[derive(Debug)]
pub(super) struct Conditions(Vec<String>);

impl Conditions {
    /// Those of a mapping as it is written.
    pub(super) fn of(text: &str) -> Self {
        let code = code(text);
        let words = words(&code);
        let word = |nth: usize| words.get(nth).copied().unwrap_or_default();
        let mut paths: Vec<String> = Vec::new();
        let mut is_in_condition = false;
        for nth in 0..words.len() {
            let (before, path, behind) =
                (if nth == 0 { "" } else { word(nth - 1) }, word(nth), word(nth + 1));
            match path {
                "if" | "elif" | "not" => is_in_condition = true,
                "else" | "%" | "{" => is_in_condition = false,
                _ => {}
            }
            let is_path = path.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
            let is_asked = ASKING.contains(&before);
            let is_alone = BEHIND.contains(&behind) && (is_asked || BEFORE.contains(&before));
            // The last of `a or b` is a value, unless it stands in a condition.
            let is_tested = ["and", "or"].contains(&behind) || is_asked || is_in_condition;
            let is_condition = is_path && !WORDS.contains(&path) && !is_ours(path) && is_alone && is_tested;
            if is_condition && paths.len() < PATHS_MAX && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
        Self(paths)
    }

    /// The context, with false for a text that says no where a condition looks at it.
    pub(super) fn in_words(&self, context: Value) -> Value {
        self.0.iter().fold(context, |context, path| {
            let names: Vec<&str> = path.split('.').collect();
            let found = names.iter().try_fold(context.clone(), |value, name| value.get_attr(name));
            match found {
                Ok(value) if says_no(&value) => with_false(&context, &names),
                _ => context,
            }
        })
    }
}

/// Whether a path names a person's own data or a secret: a person may be called No.
fn is_ours(path: &str) -> bool {
    ["lead.", "secret."].iter().any(|ours| path.starts_with(ours))
}

/// What of a mapping is code: all of an expression, and of a template what stands between its marks.
fn code(text: &str) -> Cow<'_, str> {
    let marks = ["{%", "{{"];
    if !marks.iter().any(|mark| text.contains(mark)) {
        return text.into();
    }
    let mut code = String::new();
    let mut rest = text;
    while let Some(start) = marks.iter().filter_map(|mark| rest.find(mark)).min() {
        rest = &rest[start..];
        let end = if rest.starts_with("{%") { "%}" } else { "}}" };
        let length = rest.find(end).map_or(rest.len(), |at| at + end.len());
        code.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    code.into()
}

/// Whether a value is true for Jinja and says no.
fn says_no(value: &Value) -> bool {
    value.is_true() && truth_of(value) == Some(false)
}

/// A table with false at a path.
fn with_false(table: &Value, path: &[&str]) -> Value {
    let Some((first, rest)) = path.split_first() else { return false.into() };
    let inner = table.get_attr(first).unwrap_or_default();
    let changed = BTreeMap::from([((*first).to_owned(), with_false(&inner, rest))]);
    match table.kind() {
        ValueKind::Map => minijinja::context! { ..Value::from(changed), ..table.clone() },
        _ => table.clone(),
    }
}

/// The words of a mapping: paths whole, everything else letter by letter, texts in quotes as their first quote.
fn words(text: &str) -> Vec<&str> {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if is_of_path(first) => rest.find(|letter| !is_of_path(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        words.push(if matches!(first, '\'' | '"') { &rest[..1] } else { &rest[..length] });
        rest = rest[length..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::Expression;
    use super::*;

    #[test]
    fn paths_that_are_conditions_are_found_and_no_values() {
        for (text, paths) in [
            ("not response.Approved", &["response.Approved"][..]),
            ("response.message if response.code", &["response.code"]),
            ("response.reason or true if not response.accepted", &["response.reason", "response.accepted"]),
            ("offer.a or offer.b", &["offer.a"]),
            ("1 if (response.a and response.b) else 2", &["response.a", "response.b"]),
            ("response.Success == 'true'", &[]),
            ("offer.fee", &[]),
            ("'if x' ~ offer.fee", &[]),
            ("1 if response.a is defined else offer.b", &[]),
            ("<a>{% if kept.open %}1{% endif %}</a>", &["kept.open"]),
            ("<a>do not call</a><b>{{ kept.flag }}</b>", &[]),
            ("<n>Applicant's</n>{% if kept.open %}<Open/>{% endif %}", &["kept.open"]),
            // A person may be called No.
            ("lead.personalInformation.lastName or ''", &[]),
            ("{% if lead.personalInformation.lastName %}<l/>{% endif %}", &[]),
        ] {
            assert_eq!(Conditions::of(text).0, paths, "{text}");
        }
    }

    #[test]
    fn a_text_that_says_no_is_false_in_conditions_alone() {
        let context =
            Value::from(Serde(json!({"response": {"Ok": "false", "Code": "0", "Word": "open", "Other": 7}})));
        for (text, made) in [
            ("not response.Ok", json!(true)),
            ("1 if response.Ok else 2", json!(2)),
            ("1 if response.Code else response.Code", json!(false)),
            ("response.Other if not response.Ok", json!(7)),
            ("response.Ok", json!("false")),
            ("response.Ok == 'false'", json!(true)),
            ("1 if response.Word else 2", json!(1)),
        ] {
            let value = Expression::compile(text).unwrap().run(&context).unwrap();
            assert_eq!(serde_json::to_value(&value).unwrap(), made, "{text}");
        }
    }
}
