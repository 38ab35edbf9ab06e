//! Comparisons within mappings. Jinja orders values of different kinds by their kind, and `"false"` is not
//! `false` to it. Partners write numbers and truths as texts, so before compilation each comparison becomes a
//! call of our filter, which reads them.

use std::cmp::Ordering;

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, State, tests as of_jinja};

use super::mapping_error::own_words;
use super::truth::{plain, says_nothing, truth_of};
use super::work;

/// The filter of comparisons: `a < b` is `(a)|compared('a < b', '<', b)`.
pub(super) const FILTER: &str = "compared";

/// Operators, and the names of Jinja's tests for each.
const TESTS: [(&str, &[&str]); 7] = [
    ("==", &["==", "eq", "equalto"]),
    ("!=", &["!=", "ne"]),
    ("<", &["<", "lt", "lessthan"]),
    ("<=", &["<=", "le"]),
    (">", &[">", "gt", "greaterthan"]),
    (">=", &[">=", "ge"]),
    ("in", &["in"]),
];

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter(FILTER, compared);
    environment.add_filter("max", |list: &Value| best(list, "max", Ordering::is_gt));
    environment.add_filter("min", |list: &Value| best(list, "min", Ordering::is_lt));
    environment.add_filter("sort", sort);
    environment.add_test("true", |value: &Value| says(value, true));
    environment.add_test("false", |value: &Value| says(value, false));
    for (operator, names) in TESTS {
        for name in names {
            environment.add_test(*name, move |state: &mut State, left: &Value, right: &Value| {
                pay(state, left, operator, right)?;
                holds(state, left, operator, right).map_err(|wrong| fault(name, wrong))
            });
        }
    }
}

/// Whether each comparison of a chain such as `600 <= offer.score < 700` holds; `text` is how it is written.
fn compared(state: &mut State, left: &Value, text: &str, chain: Rest<Value>) -> Result<bool, Error> {
    let mut left = left;
    for pair in chain.chunks_exact(2) {
        let operator = pair[0].as_str().unwrap_or_default();
        pay(state, left, operator, &pair[1])?;
        let holds = match holds(state, left, operator, &pair[1]) {
            // The whole answer may be a text of one word, or a table.
            Err(wrong) if wrong.ends_with(SHAPES) && is_of_whole(text) => operator == "!=",
            holds => holds.map_err(|wrong| fault(text, wrong))?,
        };
        if !holds {
            return Ok(false);
        }
        left = &pair[1];
    }
    Ok(true)
}

/// What to compare instead of values of which one is never the other.
const SHAPES: &str = "; compare one of its values, or use `in`";

/// Whether a comparison names `response` itself.
fn is_of_whole(text: &str) -> bool {
    text.split([' ', '=', '!']).any(|word| word == "response")
}

fn fault(text: &str, wrong: String) -> Error {
    own_words(format!("`{text}` compares {wrong}"))
}

fn holds(state: &State, left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    let [left, right] = &[left, right].map(plain);
    if operator.ends_with("in") {
        return Ok(is_in(state, left, right) == (operator == "in"));
    }
    Ok(match operator {
        "==" => same(left, right)?,
        "!=" => !same(left, right)?,
        "<" => ordered(left, right)?.is_lt(),
        "<=" => ordered(left, right)?.is_le(),
        ">" => ordered(left, right)?.is_gt(),
        _ => ordered(left, right)?.is_ge(),
    })
}

/// Pays for a search in a list or a text, and for the equality of lists and tables.
fn pay(state: &mut State, left: &Value, operator: &str, right: &Value) -> Result<(), Error> {
    use ValueKind::{Iterable, Map, Seq};
    match (left.kind(), right.kind()) {
        (_, Map) if operator.ends_with("in") => Ok(()),
        _ if operator.ends_with("in") => work::charge(state, work::size(right)),
        (Seq | Iterable | Map, Seq | Iterable | Map) => work::weigh(state, left).map(drop),
        _ => Ok(()),
    }
}

fn is_in(state: &State, value: &Value, list: &Value) -> bool {
    match list.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            let is_it = |one: Value| same(value, &plain(&one)) == Ok(true);
            list.try_iter().is_ok_and(|mut list| list.any(is_it))
        }
        _ => of_jinja::is_in(state, value, list).unwrap_or(false),
    }
}

/// Whether two values are equal. Beside a number or a truth value, a text is read as one.
fn same(left: &Value, right: &Value) -> Result<bool, String> {
    use ValueKind::{Bool, Iterable, Map, Number, Seq, String};
    match (left.kind(), right.kind()) {
        (Number, String) => Ok(number(right).is_some_and(|right| right == *left)),
        (Bool, String) if says_nothing(right) => {
            Err("true or false with a text that means neither yes nor no".to_owned())
        }
        (Bool, String) => Ok(truth_of(right) == Some(left.is_true())),
        (String, Number | Bool) => same(right, left),
        // Whether something is empty may be asked of anything.
        (String, Map | Seq | Iterable) if left.as_str() != Some("") => {
            let found = described(right);
            Err(format!("a text with {found}{SHAPES}"))
        }
        (Number | Bool, Map | Seq | Iterable) => {
            Err(format!("{} with {}{SHAPES}", described(left), described(right)))
        }
        (Map | Seq | Iterable, String | Number | Bool) => same(right, left),
        _ => Ok(left == right),
    }
}

/// The order of two numbers, of which either may be written as a text, or of two other texts.
fn ordered(left: &Value, right: &Value) -> Result<Ordering, String> {
    match (number(left), number(right)) {
        (Some(left), Some(right)) => Ok(left.cmp(&right)),
        (None, None) if [left, right].iter().all(|value| value.kind() == ValueKind::String) => {
            Ok(left.cmp(right))
        }
        _ => {
            Err(format!("{} with {}; it needs two numbers, or two texts", described(left), described(right)))
        }
    }
}

/// Whether a truth value, or a text in its place, is this one.
fn says(value: &Value, wanted: bool) -> bool {
    let value = &plain(value);
    matches!(value.kind(), ValueKind::Bool | ValueKind::String) && truth_of(value) == Some(wanted)
}

/// The greatest or the least of a list, in the order of [`ordered`].
fn best(list: &Value, name: &str, is_better: fn(Ordering) -> bool) -> Result<Value, Error> {
    let mut best: Option<Value> = None;
    for one in list.try_iter()? {
        let one = plain(&one);
        let order = best.as_ref().map(|best| ordered(&one, best)).transpose();
        if order.map_err(|wrong| fault(name, wrong))?.is_none_or(is_better) {
            best = Some(one);
        }
    }
    Ok(best.unwrap_or_default())
}

/// A list in the order of its numbers, or else of its texts: of its elements, or of their `attribute`.
fn sort(list: &Value, options: Kwargs) -> Result<Value, Error> {
    let attribute = options.get::<Option<&str>>("attribute")?;
    let is_reversed = options.get::<Option<bool>>("reverse")?.unwrap_or_default();
    let by_case = options.get::<Option<bool>>("case_sensitive")?.unwrap_or_default();
    options.assert_all_used()?;
    let key = |one: &Value| {
        let path = attribute.into_iter().flat_map(|path| path.split('.'));
        let found = path.fold(one.clone(), |found, name| found.get_attr(name).unwrap_or_default());
        plain(&found)
    };
    let mut keyed: Vec<(Value, Value)> = list.try_iter()?.map(|one| (key(&one), one)).collect();
    if keyed.iter().all(|(key, _)| number(key).is_some()) {
        keyed.sort_by_cached_key(|(key, _)| number(key));
    } else if keyed.iter().all(|(key, _)| key.kind() == ValueKind::String) {
        keyed.sort_by_cached_key(
            |(key, _)| if by_case { key.to_string() } else { key.to_string().to_lowercase() },
        );
    } else {
        return Err(own_words("`sort` needs numbers alone, or texts alone".to_owned()));
    }
    if is_reversed {
        keyed.reverse();
    }
    Ok(keyed.into_iter().map(|(_, one)| one).collect())
}

/// A number, also of a plain text: `"600"`, `" 9.50 "`.
pub(super) fn number(value: &Value) -> Option<Value> {
    match value.kind() {
        ValueKind::Number => Some(value.clone()),
        ValueKind::String => {
            let text = value.as_str()?.trim();
            let fraction = || text.parse::<f64>().ok().filter(|number| number.is_finite());
            text.parse::<i64>().map(Value::from).ok().or_else(|| fraction().map(Value::from))
        }
        _ => None,
    }
}

/// The kind of a value, in words of a fault.
pub(super) fn described(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => "nothing",
        ValueKind::String if value.as_str() == Some("") => "an empty text",
        ValueKind::String if number(value).is_none() => "a text that is no number",
        ValueKind::String | ValueKind::Number => "a number",
        ValueKind::Bool => "true or false",
        ValueKind::Map => "a table",
        _ => "a list",
    }
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::{Expression, TextTemplate};
    use super::*;

    const HOLDS: Option<bool> = Some(true);
    const FAILS: Option<bool> = Some(false);

    /// Whether an expression holds of a value `x`; the cause if it is a fault.
    fn said(text: &str, x: serde_json::Value) -> Result<bool, String> {
        let context = Value::from(Serde(json!({"response": {"x": x, "y": {"x": x}, "list": [{"x": x}]}})));
        let value = Expression::compile(text).unwrap().run(&context).map_err(|error| error.cause)?;
        Ok(value.is_true())
    }

    #[test]
    fn an_order_is_of_numbers_or_of_texts_and_else_a_fault() {
        let fault = |found: &str| {
            format!("`response.x < 600` compares {found} with a number; it needs two numbers, or two texts")
        };
        for (x, wanted) in [
            (json!(500), Ok(true)),
            (json!(600.5), Ok(false)),
            (json!("500"), Ok(true)),
            (json!(" 599.99 "), Ok(true)),
            (json!("1000"), Ok(false)),
            (json!({"#text": "500", "@unit": "points"}), Ok(true)),
            (json!("N/A"), Err(fault("a text that is no number"))),
            (json!("inf"), Err(fault("a text that is no number"))),
            (json!(""), Err(fault("an empty text"))),
            (json!(null), Err(fault("nothing") + "; missing: `response.x`")),
            (json!(true), Err(fault("true or false"))),
            (json!([500]), Err(fault("a list"))),
            (json!({"score": 500}), Err(fault("a table"))),
        ] {
            assert_eq!(said("response.x < 600", x.clone()), wanted, "{x}");
        }
        let lacking = said("response.none.score >= 600 or response.other", json!(1)).unwrap_err();
        assert!(
            lacking.starts_with("`response.none.score >= 600` compares nothing with a number"),
            "{lacking}"
        );
        assert!(lacking.ends_with("; missing: `response.none.score`"), "{lacking}");
    }

    #[test]
    fn a_text_is_no_list() {
        let fault = said("response.x == 'Jane'", json!(["Jane"])).unwrap_err();
        let wanted =
            "`response.x == 'Jane'` compares a text with a list; compare one of its values, or use `in`";
        assert_eq!(fault, wanted);
        let fault = said("7 == response.x", json!({"Jane": 7})).unwrap_err();
        assert!(fault.contains("compares a number with a table; compare one"), "{fault}");
        for (text, x, wanted) in [
            ("response.x == 'a'", json!(["a"]), None),
            ("'a' != response.x", json!({"a": "a"}), None),
            ("response.x == true", json!([true]), None),
            ("response.x is eq 7", json!([7]), None),
            ("response.list|selectattr('x', '==', 'a')|list", json!(["a"]), None),
            ("response.x == response.y.x", json!(["a"]), HOLDS),
            ("response.x in [['a'], 'b']", json!("b"), HOLDS),
            // Whether there is anything, and whether it is a word.
            ("response.x != ''", json!(["a"]), HOLDS),
            ("response == 'NO' or 'NO'==response", json!(1), FAILS),
            ("response != 'NO'", json!(1), HOLDS),
        ] {
            assert_eq!(said(text, x.clone()).ok(), wanted, "{text} of {x}");
        }
    }

    /// The reading of truths and numbers in texts, wherever a mapping compares.
    #[test]
    fn texts_are_numbers_and_truths_beside_one() {
        let (yes, no) = (json!("True"), json!("false"));
        for (text, x, wanted) in [
            ("response.x == false", no.clone(), HOLDS),
            ("response.x != false", no.clone(), FAILS),
            ("response['x'] == true", yes.clone(), HOLDS),
            ("true == response.x", yes.clone(), HOLDS),
            ("response.x == false", json!(""), HOLDS),
            ("response.x == true", json!("PENDING"), FAILS),
            ("response.x == false", json!("PENDING"), FAILS),
            ("response.x == false", json!("null"), None),
            ("response.x == 'E1'", json!(false), FAILS),
            ("response.x == 0", json!("0.00"), HOLDS),
            ("response.x == '7'", json!(7), HOLDS),
            ("response.x == 7", json!("seven"), FAILS),
            ("response.x != 7", json!(null), HOLDS),
            ("response.x == 'True'", yes.clone(), HOLDS),
            ("response.x == 'true'", yes.clone(), FAILS),
            ("response.x == '7'", json!({"#text": "7", "@unit": "a"}), HOLDS),
            ("response.x in [1, 2]", json!("2"), HOLDS),
            ("response.x not in [1, 2] and true", json!("2"), FAILS),
            ("'b' in response.x", json!("abc"), HOLDS),
            ("'a' not in response.x", json!({"a": 1}), FAILS),
            ("response.x is not in [1, 2] and response.x is in [3]", json!("3"), HOLDS),
            ("response.x is eq 7 and response.x is lt(8)", json!("7"), HOLDS),
            ("response.list|selectattr('x', 'lt', 600)|length > 0", json!("70"), HOLDS),
            ("response.list|selectattr('x', 'lt', 600)", json!(null), None),
            ("600 <= response.x < 700", json!("650"), HOLDS),
            ("600 <= response.x < 700", json!("700"), FAILS),
            ("response.x < '10'", json!("9"), HOLDS),
            ("response.x < '2026-02-01'", json!("2026-01-31"), HOLDS),
            ("response.x < '600'", json!("N/A"), None),
            ("not response.x == 1 if response.x < 5 else response.y.x|int + 1 > 2*-1", json!("1"), FAILS),
            ("(response.x|int == 7) == true", json!("7"), HOLDS),
            ("'it\\'s' == response.x", json!("it's"), HOLDS),
            ("{'a': response.x == 1}.a", json!("1"), HOLDS),
            ("response.x in ['Denied', 'No']", json!({"#text": "Denied", "@code": "9"}), HOLDS),
            ("'eni' in response.x", json!({"#text": "Denied", "@code": "9"}), HOLDS),
            ("response.x is false", no.clone(), HOLDS),
            ("response.x is true", json!({"#text": "true", "@code": "9"}), HOLDS),
            ("response.x is true", no.clone(), FAILS),
            ("response.x|max == 12", json!(["9.50", "12.00"]), HOLDS),
            ("response.x|min == 9.5", json!(["9.50", "12.00"]), HOLDS),
            ("response.x|max", json!(["9.50", null]), None),
            ("response.x|sort|first == 9.5", json!(["12.00", "9.50"]), HOLDS),
            (
                "response.x|sort(attribute='p', reverse=true)|first is eq({'p': '12'})",
                json!([{"p": "9"}, {"p": "12"}]),
                HOLDS,
            ),
            ("response.x|sort|first == 'a'", json!(["b", "a"]), HOLDS),
            ("response.x|sort", json!(["b", 7]), None),
        ] {
            assert_eq!(said(text, x.clone()).ok(), wanted, "{text} of {x}");
        }
    }

    #[test]
    fn templates_compare_alike() {
        let text = "{% for one in kept.list if one.x < 9 %}{{ 'a' if one.x == 7 }}{% endfor %}\n{% if kept.x >= 2 %}b{% endif %}";
        let template = TextTemplate::compile(text, minijinja::AutoEscape::None).unwrap();
        let run = |kept| template.run(&Value::from(Serde(json!({"kept": kept}))));
        assert_eq!(run(json!({"list": [{"x": "7"}, {"x": "10"}], "x": "3"})).unwrap(), "a\nb");
        let fault = run(json!({"list": [], "x": "N/A"})).unwrap_err().cause;
        assert!(fault.starts_with("`kept.x >= 2` compares a text that is no number"), "{fault}");
        assert!(fault.ends_with(", in line 2"), "{fault}");
    }
}
