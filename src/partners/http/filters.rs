//! The names of all filters of mappings, and our filters other than those for signing (`signing.rs`) and
//! dates (`moment.rs`).

use std::borrow::Cow;
use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, filters};

use super::bounds;
use super::comparison::{described, number};
use super::conditions::something;
use super::mapping_error::own_words;
use super::truth::{plain, truth_of};
use super::xml::sent;

/// Every filter that a mapping may use, sorted.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 60] = [
    "abs", "as_list", "attr", "base64", "base64url", "bool", "chain", "count", "date", "default", "dictsort", "digits",
    "escape", "first", "float", "format", "from_base64", "from_hex", "groupby", "hex", "hmac", "int", "is_signed", "items",
    "join", "jws", "last", "length", "lines", "list", "lower", "map", "max", "md5", "min", "pprint", "read_date", "reject",
    "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "sha1", "sha256", "sha512", "sign", "sort",
    "split", "string", "sum", "title", "tojson", "trim", "unique", "upper", "urlencode", "zip",
];

/// The filter of what a sum or a product computes with.
pub(super) const ADDEND: &str = "addend";

/// The fault of a text there.
pub(super) const ADDS_TEXT: &str =
    "adds or multiplies a text: make it a number by `|float`, or join texts by `~`";

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("digits", digits);
    environment.add_filter("as_list", as_list);
    environment.add_filter("urlencode", urlencode);
    environment.add_filter("bool", says_yes);
    environment.add_test("yes", says_yes);
    environment.add_filter("select", select);
    environment.add_filter("reject", reject);
    environment.add_filter("selectattr", selectattr);
    environment.add_filter("rejectattr", rejectattr);
    environment.add_filter("float", float);
    environment.add_filter("int", int);
    environment.add_filter(ADDEND, addend);
    for name in ["length", "count"] {
        environment.add_filter(name, |value: &Value| filters::length(&plain(value)));
    }
    environment.add_filter("first", |value: &Value| filters::first(&plain(value)));
    environment.add_filter("last", |value: &Value| filters::last(plain(value)));
    environment.add_filter("lines", |value: &Value| filters::lines(&plain(value)));
    environment.add_filter("reverse", |value: &Value| filters::reverse(&plain(value)));
    environment.add_filter("split", |value: &Value, by: Option<Arc<str>>, most: Option<i64>| {
        filters::split(&plain(value), by, most)
    });
}

/// `response.Approved|bool` is false for `no`, too, and nothing for what may stand for nothing.
fn says_yes(value: &Value) -> Result<bool, Error> {
    Ok(truth_of(something(value)?).unwrap_or(true))
}

type Test<'t> = Option<Cow<'t, str>>;
type Arguments = Rest<ValueOrKwargs>;
type Selected = Result<Vec<Value>, Error>;

/// The test of a filter; without one, that which texts fail that mean no.
fn or_yes(test: Test<'_>) -> Test<'_> {
    test.or(Some(Cow::Borrowed("yes")))
}

/// `flags|select` drops texts that mean no.
fn select(state: &mut State, list: Value, test: Test<'_>, arguments: Arguments) -> Selected {
    filters::select(state, list, or_yes(test), arguments)
}

/// The complement of `select`.
fn reject(state: &mut State, list: Value, test: Test<'_>, arguments: Arguments) -> Selected {
    filters::reject(state, list, or_yes(test), arguments)
}

/// `offers|selectattr('Eligible')` drops elements whose text means no.
fn selectattr(state: &mut State, list: Value, of: Cow<'_, str>, test: Test<'_>, more: Arguments) -> Selected {
    filters::selectattr(state, list, of, or_yes(test), more)
}

/// The complement of `selectattr`.
fn rejectattr(state: &mut State, list: Value, of: Cow<'_, str>, test: Test<'_>, more: Arguments) -> Selected {
    filters::rejectattr(state, list, of, or_yes(test), more)
}

/// `response.Bid|float`, also for an element that has attributes. A missing value stays missing.
fn float(state: &State, value: &Value, default: Option<Value>, named: Kwargs) -> Result<Value, Error> {
    let is_lenient = default.is_some() || named.has("default");
    match convertible(value, &named, is_lenient)? {
        Ok(value) => filters::float(state, &value, default, named),
        Err(missing) => Ok(missing),
    }
}

/// Like `float`, for integers.
fn int(
    state: &State,
    value: &Value,
    default: Option<Value>,
    base: Option<u32>,
    named: Kwargs,
) -> Result<Value, Error> {
    let is_lenient =
        default.is_some() || base.is_some() || ["default", "base"].iter().any(|name| named.has(name));
    match convertible(value, &named, is_lenient)? {
        Ok(value) => filters::int(state, &value, default, base, named),
        Err(missing) => Ok(missing),
    }
}

/// A value that becomes a number, or the inner error if it is missing; `of` is how the conversion is written.
fn convertible(value: &Value, named: &Kwargs, is_lenient: bool) -> Result<Result<Value, Value>, Error> {
    let of: Option<&str> = named.get("of")?;
    let value = plain(value);
    Ok(match value.kind() {
        kind if is_lenient || kind == ValueKind::Bool => Ok(value),
        ValueKind::Undefined | ValueKind::None => Err(value),
        ValueKind::String if value.as_str().is_some_and(|text| text.trim().is_empty()) => {
            Err(Value::UNDEFINED)
        }
        _ => match number(&value) {
            Some(number) => Ok(number),
            None => {
                let of = of.map_or_else(|| "a conversion".to_owned(), |of| format!("`{of}`"));
                return Err(own_words(format!("{of} needs a number, got {}", described(&value))));
            }
        },
    })
}

/// Any value but a text, which a sum joins and a product repeats.
fn addend(value: &Value) -> Result<Value, Error> {
    let value = plain(value);
    if value.kind() == ValueKind::String { Err(own_words(ADDS_TEXT)) } else { bounds::part(&value) }
}

/// `"(206) 555-0100"|digits` is `2065550100`.
fn digits(text: &Value) -> Value {
    let text = plain(text);
    match text.as_str() {
        Some(text) => Value::from(text.chars().filter(char::is_ascii_digit).collect::<String>()),
        None => text,
    }
}

/// `offer|as_list` wraps a single offer in a list, since a list of one in XML is not an array; an absent
/// value yields an empty list.
fn as_list(value: &Value) -> Value {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => value.clone(),
        ValueKind::Undefined | ValueKind::None => Value::from(Vec::<Value>::new()),
        _ => Value::from(vec![value.clone()]),
    }
}

/// `"Q/7 7"|urlencode` is `Q%2F7%207`: always a single segment of a path or query.
fn urlencode(value: &Value) -> Result<String, Error> {
    filters::urlencode(&sent(value)).map(|text| match &*text {
        // Not a name, but a relative path.
        "." | ".." => text.replace('.', "%2E"),
        _ => text.replace('/', "%2F"),
    })
}
