//! Mappings that need no engine: a literal, or names between dots.

use std::borrow::Cow;

use minijinja::value::{Value, ValueKind};

/// A mapping without an operation, resolved when its file is read.
#[derive(Debug)]
pub(super) enum Plain {
    /// A literal: `'fixed'`, `36`, `true`.
    Literal(Value),
    /// A path: `lead.loanInformation.loanAmount`.
    Path(Box<[Box<str>]>),
}

impl Plain {
    /// The plain form of an expression, if it has one; `value` evaluates a literal.
    pub(super) fn of(text: &str, value: impl FnOnce() -> Option<Value>) -> Option<Self> {
        let text = text.trim();
        match is_literal(text) {
            true => value().map(Self::Literal),
            false => text.split('.').map(name).collect::<Option<_>>().map(Self::Path),
        }
    }

    /// Its value, undefined where a name is missing, at any depth; `None` if it meets a value that cannot be
    /// used, whose fault the engine names.
    pub(super) fn value(&self, context: &Value) -> Option<Value> {
        let names = match self {
            Self::Literal(value) => return Some(value.clone()),
            Self::Path(names) => names,
        };
        let mut found = Cow::Borrowed(context);
        for name in names {
            found = Cow::Owned(found.get_attr(name).unwrap_or_default());
            if found.kind() == ValueKind::Invalid {
                return None;
            }
        }
        Some(found.into_owned())
    }
}

fn is_literal(text: &str) -> bool {
    let is_quoted = |quote: char| {
        let inner = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
        inner.is_some_and(|inner| !inner.contains([quote, '\\']))
    };
    let is_whole = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    is_whole || matches!(text, "true" | "false") || is_quoted('\'') || is_quoted('"')
}

/// A name that is no keyword.
fn name(text: &str) -> Option<Box<str>> {
    let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !super::conditions::WORDS.contains(&text);
    is_name.then(|| text.into())
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::Expression;
    use super::*;

    #[test]
    fn a_plain_mapping_has_the_value_that_the_engine_gives() {
        let context = Value::from(Serde(json!({
            "lead": {"amount": 12_000, "name": "Ann", "nil": null, "list": [1]},
            "text": "abc",
        })));
        for (text, is_plain) in [
            ("lead.amount", true),
            (" lead.name ", true),
            ("lead.nil", true),
            ("lead.nil.deeper", true),
            ("lead.missing.deeper", true),
            ("missing", true),
            ("text.length", true),
            ("lead.list.first", true),
            ("'fixed'", true),
            ("\"fixed\"", true),
            ("36", true),
            ("true", true),
            ("none", false),
            ("true.a", false),
            ("not", false),
            ("9.5", false),
            ("'a' ~ 'b'", false),
            ("'it\\'s'", false),
            ("lead.list.0", false),
            ("lead['amount']", false),
            ("-1", false),
        ] {
            let Ok(expression) = Expression::compile(text) else { continue };
            assert_eq!(expression.is_plain(), is_plain, "{text}");
            let [plain, by_engine] = [expression.run(&context), expression.run_by_engine(&context)];
            assert_eq!(plain.unwrap(), by_engine.unwrap(), "{text}");
        }
    }
}
