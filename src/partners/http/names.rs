//! The names that mappings may use, and the faults of unknown ones.

use super::conditions;
use super::expression::is_of_known_words;
use offerd_base::declaration::{SECRET_TABLES, did_you_mean, nearest};
use offerd_model::{Attribute, AttributeKind};

#[rustfmt::skip]
const OF_REQUESTS: [&str; 12] = [
    "lead", "lead_uuid", "rate_table_uuid", "ask_uuid", "callback_url", "test", "now", "nonce", "age",
    "credit_score", "credit_rating", "secret",
];

/// Fields of the `request` variable, available to its headers.
const OF_THE_REQUEST: [&str; 5] = ["method", "url", "path", "query", "body"];

/// Variables of `verify`.
const OF_CALLBACKS: [&str; 4] = ["header", "body", "now", "secret"];

/// Variables of token requests, which serve many leads.
const OF_TOKENS: [&str; 4] = ["test", "now", "nonce", "secret"];

/// Additional variables of answer mappings, which lack those specific to requests.
const OF_ANSWERS: [&str; 3] = ["status", "header", "response"];

/// The hint for missing inner quotes.
pub(super) const QUOTES: &str = "a text needs quotes of its own: `\"'abc'\"`";

/// Parts of a lead without a fixed list of attributes: `refinanceLoans.0.interestRate`, `clientTags.source`.
const OPEN: [&str; 5] = ["clientTags", "sessionUuid", "uuid", "refinanceLoans", "productTypes"];

/// The place of an expression, which decides its variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpressionPlace {
    Request,
    /// A header; the rest of the request is complete.
    Header,
    Callback,
    Token,
    Answer,
    /// An element of the outer list of offers.
    Inner,
    Offer,
}

/// Ids by which any holder of a company token finds the person.
const OF_THE_PERSON: [&str; 2] = ["lead_uuid", "rate_table_uuid"];

impl ExpressionPlace {
    fn names(self, kept: bool, ping: bool) -> Vec<&'static str> {
        let mut names = match self {
            Self::Token => return OF_TOKENS.to_vec(),
            Self::Callback => return OF_CALLBACKS.to_vec(),
            _ => OF_REQUESTS.to_vec(),
        };
        if ping {
            names.retain(|name| !OF_THE_PERSON.contains(name));
        }
        match self {
            Self::Request | Self::Token | Self::Callback => {}
            Self::Header => names.push("request"),
            Self::Answer | Self::Inner | Self::Offer => {
                names.retain(|name| !["secret", "nonce"].contains(name));
                names.extend(OF_ANSWERS);
            }
        }
        names.extend((self == Self::Offer || self == Self::Inner).then_some("offer"));
        names.extend((self == Self::Offer).then_some("outer"));
        names.extend(kept.then_some("kept"));
        names
    }
}

/// The declared names that mappings may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownNames<'a> {
    pub(super) secrets: &'a [&'a str],
    /// Names that earlier steps keep.
    pub(super) kept: &'a [String],
    /// Whether it belongs to a ping, whose recipient may not receive the person.
    pub(super) ping: bool,
}

/// Whether the key holds secrets, so that its text may not be quoted.
fn is_kept(key: &str) -> bool {
    key.split('.').next().is_some_and(|table| SECRET_TABLES.contains(&table))
}

/// The fault of a mapping that does not compile, redacted if necessary.
pub(super) fn no_mapping(key: &str, fault: String) -> String {
    match is_kept(key) && !is_of_known_words(&fault) {
        true => format!("is not a valid mapping, or uses an unknown name; {QUOTES}"),
        false => fault,
    }
}

/// The fault of a name that the mapping `text` uses; `None` if it is known.
pub(super) fn fault(
    key: &str,
    text: &str,
    variable: &str,
    stage: ExpressionPlace,
    declared: KnownNames<'_>,
) -> Option<String> {
    let (first, rest) = variable.split_once('.').unwrap_or((variable, ""));
    let KnownNames { secrets, kept, ping } = declared;
    let known = stage.names(!kept.is_empty(), ping);
    if !known.contains(&first) {
        if ping && OF_THE_PERSON.contains(&first) {
            let advice = "use `ask_uuid` to identify the ask";
            return Some(format!("uses `{first}`, which leads to the person: {OF_PINGS}; {advice}"));
        }
        let bare = text.trim() == variable && rest.is_empty();
        // A single word is usually a text without quotes.
        let near = nearest(first, known.iter().copied());
        let mut fault = match bare || is_kept(key) && near.is_none() {
            true => "is no text in quotes, and no name that is known here".to_owned(),
            false => format!("uses `{first}`, which is unknown here"),
        };
        fault.push_str(&format!("; known: {}", known.join(", ")));
        fault.push_str(&did_you_mean(near));
        if bare || is_kept(key) {
            fault.push_str(&format!("; {QUOTES}"));
        }
        return Some(fault);
    }
    match first {
        "secret" if !secrets.contains(&rest) => Some(match secrets {
            [] => "uses a secret, and `secrets` names none".to_owned(),
            _ => format!("uses a secret that `secrets` does not name; known: {}", secrets.join(", ")),
        }),
        "kept" if !kept.iter().any(|name| rest.split('.').next() == Some(name)) => {
            Some(format!("uses a value that no earlier step keeps; kept: {}", kept.join(", ")))
        }
        "request" if !OF_THE_REQUEST.contains(&rest) => {
            let near = nearest(rest, OF_THE_REQUEST);
            let shown = near.map_or_else(String::new, |_| format!(", `{rest}`"));
            let parts = OF_THE_REQUEST.join(", ");
            let hint = did_you_mean(near);
            Some(format!("uses an unknown part of the `request`{shown}; known: {parts}{hint}"))
        }
        "lead" => attribute(rest).or_else(|| personal(rest).filter(|_| ping)),
        _ => None,
    }
}

/// The fault of a comparison of what is no text with a text, which are never equal: `status == '200'`.
pub(super) fn never_equal(text: &str) -> Option<String> {
    let words: Vec<&str> = conditions::tokens(text, 0, None).0.into_iter().map(|(_, word)| word).collect();
    let operands: Vec<&[&str]> = words.split(|word| BETWEEN_OPERANDS.contains(word)).collect();
    let compared = |name: &[&str], with: &[&str]| {
        let is_text = matches!(with, [one] if one.starts_with(['\'', '"']));
        let name: String = name.iter().copied().filter(|word| *word != "not").collect();
        (is_text && is_no_text(&name)).then_some(name)
    };
    let same = operands.iter().find_map(|of| {
        let at = of.iter().position(|word| ["==", "!="].contains(word))?;
        compared(&of[..at], &of[at + 1..]).or_else(|| compared(&of[at + 1..], &of[..at]))
    });
    let mut lists = operands.windows(2).filter(|of| of[0].last() == Some(&"in"));
    let listed = || lists.find_map(|of| compared(&of[0][..of[0].len() - 1], of[1]));
    let name = same.or_else(listed)?;
    let advice = format!("leave out the quotes; of a list, write `'…' in {name}`");
    Some(format!("compares `{name}`, which is no text, with a text, and they are never equal: {advice}"))
}

/// What separates the operands of a mapping from each other. `not` may begin one.
const BETWEEN_OPERANDS: [&str; 12] = ["(", ")", "[", "]", "{", "}", ",", ":", "and", "or", "if", "else"];

/// Whether a path is a number, a list, or yes or no, wherever it has a value.
fn is_no_text(path: &str) -> bool {
    let of_lead = |path| Attribute::all().iter().find(|attribute| attribute.path == path);
    let is_no_text = |found: &Attribute| {
        use AttributeKind::{Flag, Number, Set, Texts};
        matches!(found.kind, Flag | Number | Set(_) | Texts)
    };
    ["status", "age", "credit_score", "test"].contains(&path)
        || path.strip_prefix("lead.").and_then(of_lead).is_some_and(is_no_text)
}

/// Whether a path equals another one or is inside it; the empty path contains all.
fn within(long: &str, short: &str) -> bool {
    let rest = long.strip_prefix(short);
    short.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

const OF_PINGS: &str = "a ping also goes to partners that do not get the lead";

/// The fault of a ping's path that identifies a person.
fn personal(path: &str) -> Option<String> {
    let named = Attribute::all().iter().find(|attribute| attribute.personal && within(attribute.path, path));
    let is_open = OPEN.iter().any(|open| *open != "productTypes" && path.split('.').next() == Some(*open));
    match named {
        Some(found) if found.path == path => {
            Some(format!("uses `lead.{path}`, which identifies a person: {OF_PINGS}"))
        }
        Some(Attribute { path: inner, .. }) => {
            let dot = if path.is_empty() { "" } else { "." };
            Some(format!("uses `lead{dot}{path}`, in which `{inner}` identifies a person: {OF_PINGS}"))
        }
        None if is_open => Some(format!(
            "uses `lead.{path}` in a ping, but it may identify a person: send it in the post instead"
        )),
        None => None,
    }
}

/// The fault of a path that is not an attribute of a lead.
fn attribute(path: &str) -> Option<String> {
    let paths = || Attribute::all().iter().map(|attribute| attribute.path);
    let is_open = OPEN.iter().any(|open| path.split('.').next() == Some(*open));
    if path.is_empty() || is_open || paths().any(|known| within(known, path) || within(path, known)) {
        return None;
    }
    let near = nearest(path, paths()).map(|known| format!("lead.{known}"));
    Some(format!("uses `lead.{path}`, which is not an attribute of a lead{}", did_you_mean(near.as_deref())))
}
