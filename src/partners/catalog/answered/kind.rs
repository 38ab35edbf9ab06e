//! Kinds of answered values. Refused values are never quoted, since they may be personal.

use serde_json::Value;
use toml::Value::{Boolean, Float, Integer};
use uuid::Uuid;

use super::unfit::Unfit;
use crate::base_url::url_fault;
use crate::truth::truth;
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_model::{Timestamp, one_of};

const TEXT_BYTES_MAX: usize = 4096;

const LIST_MAX: usize = 64;

#[derive(Debug)]
pub(super) enum FigureKind {
    /// A number within inclusive bounds, or a text with one.
    Number(f64, f64),
    /// An integer within inclusive bounds.
    Whole(i64, i64),
    Flag,
    Text,
    Url,
    Uuid,
    /// A point in time, ISO 8601.
    Instant,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list; a single value counts as a list of one, as in XML.
    List(&'static FigureKind),
    /// An object with these attributes; the text names it in faults.
    Object(&'static str, ObjectFields),
    /// An object with arbitrary attributes.
    Free,
}

/// The attributes of an object, grouped by kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectFields(pub(super) &'static [(FigureKind, &'static [&'static str])]);

impl ObjectFields {
    pub(super) fn each(self) -> impl Iterator<Item = (&'static str, &'static FigureKind)> {
        self.0.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*name, kind)))
    }
}

type FitResult<T> = Result<T, Unfit>;

pub(super) const DOLLARS: FigureKind = FigureKind::Number(0.0, 100_000_000.0);

/// Dollars that somebody pays, at least a cent.
pub(super) const PAID: FigureKind = FigureKind::Number(0.01, 100_000_000.0);

/// Dollars that somebody may borrow.
pub(super) const LENT_DOLLARS: FigureKind = FigureKind::Number(1.0, 100_000_000.0);

/// A rate in percent: 12.5, not 0.125.
pub(super) const PERCENT: FigureKind = FigureKind::Number(0.0, 400.0);

pub(super) const FEE_RATE: FigureKind = FigureKind::Number(0.0, 50.0);

pub(super) const TEXTS: FigureKind = FigureKind::List(&FigureKind::Text);

impl FigureKind {
    /// Parses a value; the error is the expected kind, worded to follow the key.
    pub(super) fn read(&self, value: &Value) -> FitResult<toml::Value> {
        let trimmed = value.as_str().map(str::trim);
        let read = match self {
            // Payments are compared with what the amount, rate and term give.
            Self::Number(min, max) if min.fract() == 0.0 && *max >= 1e6 && has_thousands(value) => {
                return Err("must be dollars, got a text with a mark of thousands or of cents".into());
            }
            Self::Number(min, max) => number(value).filter(|one| (min..=max).contains(&one)).map(Float),
            Self::Whole(min, max) => {
                let whole = number(value).filter(|number| number.fract() == 0.0).map(|number| number as i64);
                whole.filter(|whole| (min..=max).contains(&whole)).map(Integer)
            }
            Self::Flag => flag(value).map(Boolean),
            Self::Text => Some(text(value)?.into()),
            Self::Url => {
                let url = text(value)?;
                if let Some(fault) = url_fault(&url) {
                    return Err(fault.into());
                }
                Some(url.into())
            }
            Self::Uuid => trimmed.and_then(|text| Some(Uuid::parse_str(text).ok()?.to_string().into())),
            Self::Instant => trimmed.and_then(Timestamp::parse).map(|instant| instant.to_string().into()),
            Self::Word(words) => Some(word(value, words)?),
            Self::List(kind) => Some(list(value, kind)?),
            Self::Object(noun, fields) => Some(object(value, noun, *fields)?),
            Self::Free => value.is_object().then(|| toml::Value::try_from(value).ok()).flatten(),
        };
        read.ok_or_else(|| format!("must be {}", self.wanted(value)).into())
    }

    fn wanted(&self, value: &Value) -> String {
        match self {
            Self::Number(min, max) => format!("a number from {min} to {max}, got {}", found(value)),
            Self::Whole(min, max) => format!("a whole number from {min} to {max}, got {}", found(value)),
            Self::Flag => "true or false".to_owned(),
            Self::Uuid => "a UUID".to_owned(),
            Self::Instant => "an ISO 8601 date-time".to_owned(),
            Self::Free if value.is_object() => "an object without null".to_owned(),
            _ => "an object".to_owned(),
        }
    }
}

/// Describes the value without personal data: figures too short for an account number, else the kind.
fn found(value: &Value) -> String {
    match value {
        Value::Number(_) | Value::String(_) if number(value).is_some_and(f64::is_finite) => {
            let few = number(value).filter(|number| number.abs() < 1e6);
            few.map_or_else(|| "a number of more than six digits".to_owned(), |few| few.to_string())
        }
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Whether a text is ten to a reader of English and ten thousand to others: `10.000`.
fn has_thousands(value: &Value) -> bool {
    let parts =
        value.as_str().filter(|_| number(value).is_some()).and_then(|text| text.trim().split_once('.'));
    parts.is_some_and(|(whole, rest)| rest.len() == 3 && whole.trim_start_matches('-').len() <= 3)
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => truth(text),
        Value::Number(number) => truth(&number.to_string()),
        _ => None,
    }
}

fn text(value: &Value) -> FitResult<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return Err("must be a text".into()),
    };
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("must be at most {TEXT_BYTES_MAX} bytes").into());
    }
    Ok(text)
}

fn word(value: &Value, words: &'static [&'static str]) -> FitResult<toml::Value> {
    let word = value.as_str().map(str::trim).unwrap_or_default();
    if words.contains(&word) {
        return Ok(word.into());
    }
    let hint = did_you_mean(nearest(word, words.iter().copied()));
    Err(format!("must be {}{hint}", one_of(words)).into())
}

fn list(value: &Value, kind: &FigureKind) -> FitResult<toml::Value> {
    let elements = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    if elements.len() > LIST_MAX {
        return Err(format!("must have at most {LIST_MAX} elements").into());
    }
    let read = |(nth, element)| kind.read(element).map_err(|unfit: Unfit| unfit.within(&format!("[{nth}]")));
    let given = elements.iter().enumerate().filter(|(_, element)| !element.is_null());
    given.map(read).collect::<FitResult<Vec<_>>>().map(toml::Value::Array)
}

fn object(value: &Value, noun: &str, fields: ObjectFields) -> FitResult<toml::Value> {
    let object = value.as_object().ok_or_else(|| Unfit::from(format!("must be an object: {noun}")))?;
    let mut table = toml::Table::new();
    for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        let Some((known, kind)) = fields.each().find(|(known, _)| known == name) else {
            let hint = did_you_mean(nearest(name, fields.each().map(|(known, _)| known)));
            return Err(Unfit::told(
                format!("has an attribute unknown to {noun}{hint}"),
                format!("has the attribute `{name}`, which {noun} has not{hint}"),
            ));
        };
        table.insert(known.to_owned(), kind.read(value).map_err(|unfit| unfit.within(&format!(".{known}")))?);
    }
    Ok(toml::Value::Table(table))
}

pub(super) fn number_of(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OBJECT: FigureKind = FigureKind::Object(
        "Thing",
        ObjectFields(&[
            (FigureKind::Number(0.0, 100.0), &["fee"]),
            (FigureKind::List(&FigureKind::Word(&["daily", "weekly"])), &["words"]),
        ]),
    );

    #[test]
    fn values_are_taken_in_the_forms_that_json_and_xml_have() {
        for (kind, value, read) in [
            (FigureKind::Number(0.0, 10.0), json!(" 2.5 "), toml::Value::Float(2.5)),
            (FigureKind::Number(0.0, 10.0), json!(2), toml::Value::Float(2.0)),
            (FigureKind::Whole(0, 10), json!("3"), toml::Value::Integer(3)),
            (FigureKind::Flag, json!("True"), toml::Value::Boolean(true)),
            (FigureKind::Text, json!(36), "36".into()),
            (FigureKind::Word(&["daily"]), json!("daily "), "daily".into()),
            (FigureKind::List(&FigureKind::Text), json!("only"), vec!["only"].into()),
        ] {
            assert_eq!(kind.read(&value), Ok(read), "{value}");
        }
        let object = OBJECT.read(&json!({"fee": "3", "words": ["daily"], "fee2": null})).unwrap();
        assert_eq!(
            object.to_string(),
            toml::Value::Table(toml::toml! { fee = 3.0
            words = ["daily"] })
            .to_string()
        );
    }

    #[test]
    fn what_is_refused_is_told_where_it_stands_and_never_repeated() {
        for (value, wanted) in [
            (json!({"fee": "canary"}), ".fee must be a number from 0 to 100"),
            (json!({"fee": "900"}), ".fee must be a number from 0 to 100, got 900"),
            (
                json!({"fee": " 536228714 "}),
                ".fee must be a number from 0 to 100, got a number of more than six",
            ),
            (json!({"words": ["daily", "canary"]}), ".words[1] must be one of `daily`, `weekly`"),
            (
                json!({"words": ["wekly"]}),
                ".words[0] must be one of `daily`, `weekly`; did you mean `weekly`?",
            ),
            (json!({"canary": 1}), "has an attribute unknown to Thing"),
            (json!("canary"), "must be an object: Thing"),
        ] {
            let refused = OBJECT.read(&value).unwrap_err();
            assert!(refused.reason.starts_with(wanted), "{}", refused.reason);
            assert!(!refused.reason.contains("canary"), "{}", refused.reason);
        }
        let long = FigureKind::Text.read(&json!("x".repeat(TEXT_BYTES_MAX + 1))).unwrap_err();
        assert_eq!(long.reason, "must be at most 4096 bytes");
        let kinds = [
            FigureKind::Whole(0, 5),
            FigureKind::Flag,
            FigureKind::Url,
            FigureKind::Uuid,
            FigureKind::Instant,
            FigureKind::Free,
        ];
        for kind in kinds {
            let refused = kind.read(&json!("canary.5")).unwrap_err();
            assert!(refused.reason.starts_with("must be") && !refused.reason.contains("canary"), "{kind:?}");
        }
    }
}
