//! A path that a mapping looked up in vain. Shows names of the answer, but no values.

use std::fmt;

use minijinja::value::{Value as Mapped, ValueKind};

use super::comparison::number;
use super::expression::Expression;
use super::json_fault::wrapped;
use super::mapping_error::MappingResult;
use super::truth::{own_text, plain, truth_of};

/// Maximum number of names shown in place of the missing one.
const NAMES_MAX: usize = 12;

/// Maximum length of a name before it is shortened, in characters.
const NAME_MAX: usize = 40;

/// What a mapping finds in an answer, or what stands in its place.
pub(super) type LookedUp<T> = MappingResult<Result<T, AbsentMapping>>;

/// A mapping that found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentMapping {
    /// Key of the mapping in the partner file.
    pub key: String,
    /// The expression as written.
    pub wanted: String,
    /// The first offer of the answer that lacks it, from 0; `None` if it concerns the whole answer.
    pub offer: Option<usize>,
    /// The existing prefix of its path: `response`, `response.RateResponse`.
    reached: Box<str>,
    /// Description of the value there.
    there: Box<str>,
    /// What the value there is, if it is a text that holds what is looked for.
    holds: Option<&'static str>,
    /// Whether the answer may mean that there are no offers: it is empty, or has single values and no error.
    pub(super) says_none: bool,
}

impl AbsentMapping {
    /// Describes the failed lookup of an expression in `context`.
    pub(super) fn of(expression: &Expression, context: &Mapped) -> Self {
        let of_answer = |path: &String| path.starts_with("response") || path.starts_with("offer");
        let path = expression.path().map(str::to_owned);
        let path = path.or_else(|| expression.variables().into_iter().find(of_answer)).unwrap_or_default();
        let (mut reached, mut value) = (Vec::new(), context.clone());
        for name in path.split('.') {
            match value.get_attr(name) {
                Ok(inner) if !inner.is_undefined() => {
                    reached.push(name);
                    value = inner;
                }
                _ => break,
            }
        }
        let wanted = expression.text.clone();
        Self {
            key: expression.key.clone(),
            wanted,
            offer: None,
            says_none: !reached.is_empty() && is_bare(&value),
            reached: reached.join(".").into(),
            there: described(&value).into(),
            holds: plain(&value).as_str().and_then(wrapped),
        }
    }

    /// The mapping and the existing prefix of its path, without names of the answer, which may be personal.
    pub(super) fn brief(&self) -> String {
        let place = self.offer.map_or_else(String::new, |position| format!("offer {position}: "));
        let reached = match &*self.reached {
            "" => String::new(),
            reached => format!("; it is found as far as `{reached}`"),
        };
        format!("{place}`{}` (`{}`) is not in the answer{reached}", self.key, self.wanted)
    }

    /// The place and the kind of a text that holds what is looked for.
    pub(super) fn wrapping(&self) -> Option<String> {
        let place = match &*self.reached {
            "response" => "the answer".to_owned(),
            reached => format!("`{reached}` of the answer"),
        };
        self.holds.map(|holds| format!("{place} {holds}"))
    }

    /// Attributes it to one offer of the answer.
    pub(super) fn in_offer(self, position: usize) -> Self {
        Self { offer: Some(position), ..self }
    }
}

/// Words of an answer that failed, or that is not the last.
#[rustfmt::skip]
const UNFIT: [&str; 14] = [
    "error", "exception", "fail", "invalid", "unavailable", "timeout", "timed out", "unauthori", "forbidden",
    "maintenance", "pending", "processing", "progress", "working",
];

/// Whether a value is nothing, or has single values alone, none of which speaks of a failure or of
/// work in progress.
fn is_bare(value: &Mapped) -> bool {
    let value = plain(value);
    let is_harmless = |name: Mapped| {
        let found = value.get_item(&name).unwrap_or_default();
        let (name, said) = (name.to_string().to_ascii_lowercase(), found.to_string().to_ascii_lowercase());
        if truth_of(&found) == Some(false) {
            return name != "ok" && !name.contains("success");
        }
        let is_list = matches!(found.kind(), ValueKind::Map | ValueKind::Seq) && own_text(&found).is_none();
        let is_bad = number(&found).is_some_and(|code| (400.into()..600.into()).contains(&code));
        let is_bad = is_bad && ["code", "status"].iter().any(|word| name.contains(word));
        let is_unfit =
            |text: &String| text.starts_with("fault") || UNFIT.iter().any(|word| text.contains(word));
        !(is_list || is_bad || [&name, &said].into_iter().any(is_unfit))
    };
    match value.kind() {
        ValueKind::Map => value.try_iter().is_ok_and(|mut names| names.all(is_harmless)),
        _ => !value.is_true(),
    }
}

/// Describes the structure of a value.
fn described(value: &Mapped) -> String {
    match value.kind() {
        ValueKind::Map => {
            let names: Vec<String> =
                value.try_iter().into_iter().flatten().map(|name| short(&name)).collect();
            let more = if names.len() > NAMES_MAX { ", …" } else { "" };
            match &names[..] {
                [] => "there is nothing".to_owned(),
                [one] => format!("there is {one}"),
                names => format!("there are {}{more}", names[..names.len().min(NAMES_MAX)].join(", ")),
            }
        }
        ValueKind::Seq | ValueKind::Iterable => "there is a list".to_owned(),
        ValueKind::Undefined | ValueKind::None => "there is nothing".to_owned(),
        ValueKind::String if value.as_str() == Some("") => "there is nothing".to_owned(),
        ValueKind::String => "there is a text".to_owned(),
        _ => "there is a single value".to_owned(),
    }
}

fn short(name: &Mapped) -> String {
    let name = name.to_string();
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

impl fmt::Display for AbsentMapping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offer {
            Some(position) => write!(out, "offer {position}: `{}` is not in the answer", self.wanted)?,
            None => write!(out, "`{}` (`{}`) is not in the answer", self.key, self.wanted)?,
        }
        match &*self.reached {
            "response" => write!(out, "; at its top {}", self.there),
            "offer" | "" => write!(out, "; {}", self.there),
            reached => write!(out, "; in `{reached}` {}", self.there),
        }
    }
}
