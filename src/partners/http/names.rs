//! What mappings may name, and what is wrong with a name that there is not.

use crate::declaration::{did_you_mean, nearest};
use crate::model::Attribute;

/// What requests may use.
const OF_REQUESTS: [&str; 9] =
    ["lead", "lead_uuid", "rate_table_uuid", "test", "now", "age", "credit_score", "credit_rating", "secret"];

/// What expressions about an answer may use beside that; secrets are for requests only.
const OF_ANSWERS: [&str; 3] = ["status", "header", "response"];

/// Tables whose mappings are not repeated: what is put in the wrong place there may be a secret.
const KEPT: [&str; 4] = ["secrets", "auth", "headers", "query"];

/// The hint for whoever forgot the inner quotes.
const QUOTES: &str = "a text needs quotes of its own: `\"'abc'\"`";

/// Parts of a lead that have no list of attributes: `refinanceLoans.0.interestRate`, `clientTags.source`.
const OPEN: [&str; 5] = ["clientTags", "sessionUuid", "uuid", "refinanceLoans", "productTypes"];

/// Where an expression stands, and so what it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Request,
    Answer,
    Offer,
}

impl Stage {
    fn names(self, kept: bool) -> Vec<&'static str> {
        let mut names = OF_REQUESTS.to_vec();
        if self != Self::Request {
            names.retain(|name| *name != "secret");
            names.extend(OF_ANSWERS);
        }
        names.extend((self == Self::Offer).then_some("offer"));
        names.extend(kept.then_some("kept"));
        names
    }
}

/// What a file declares that mappings may name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) secrets: &'a [&'a str],
    /// What the steps before have kept.
    pub(super) kept: &'a [String],
}

/// Whether a mapping stands where its words may not be repeated.
fn is_kept(key: &str) -> bool {
    key.split('.').next().is_some_and(|table| KEPT.contains(&table))
}

/// A fault of a mapping that cannot be compiled, as far as it may be shown.
pub(super) fn no_mapping(key: &str, fault: String) -> String {
    if is_kept(key) { format!("is no mapping, or names what there is not; {QUOTES}") } else { fault }
}

/// What is wrong with a name that the mapping `text` uses; `None` when it is known.
pub(super) fn fault(
    key: &str,
    text: &str,
    variable: &str,
    stage: Stage,
    declared: Known<'_>,
) -> Option<String> {
    let (first, rest) = variable.split_once('.').unwrap_or((variable, ""));
    let Known { secrets, kept } = declared;
    let known = stage.names(!kept.is_empty());
    if !known.contains(&first) {
        let bare = text.trim() == variable && rest.is_empty();
        // A word on its own is a text without its quotes, whatever it says.
        let mut fault = match bare || is_kept(key) {
            true => "uses a name that is not known here".to_owned(),
            false => format!("uses `{first}`, which is not known here"),
        };
        fault.push_str(&format!("; there are {}", known.join(", ")));
        fault.push_str(&did_you_mean(nearest(first, known)));
        if bare || is_kept(key) {
            fault.push_str(&format!("; {QUOTES}"));
        }
        return Some(fault);
    }
    match first {
        "secret" if !secrets.contains(&rest) => Some(match secrets {
            [] => "uses a secret, and `secrets` names none".to_owned(),
            _ => format!("uses a secret that `secrets` does not name; there are {}", secrets.join(", ")),
        }),
        "kept" if !kept.iter().any(|name| rest.split('.').next() == Some(name)) => {
            Some(format!("uses what no step before keeps; there are {}", kept.join(", ")))
        }
        "lead" => attribute(rest),
        _ => None,
    }
}

/// Wants a path to lead somewhere in a lead.
fn attribute(path: &str) -> Option<String> {
    let within = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let paths = || Attribute::all().iter().map(|attribute| attribute.path);
    let is_open = OPEN.iter().any(|open| path.split('.').next() == Some(*open));
    if path.is_empty() || is_open || paths().any(|known| within(known, path) || within(path, known)) {
        return None;
    }
    let near = nearest(path, paths()).map(|known| format!("lead.{known}"));
    Some(format!("uses `lead.{path}`, which is no attribute of a lead{}", did_you_mean(near.as_deref())))
}
