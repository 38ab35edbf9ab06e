//! Escapes values in XML: only the five markup characters; characters that XML cannot represent are dropped.

use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, Output, State, escape_formatter};

use super::truth::plain;

/// Enables XML escaping in an environment. Jinja's own escaping is for HTML and uses more entities.
pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("escape", escape);
    environment.add_filter("e", escape);
}

/// A value as it is sent outside of JSON: yes and no as `true` and `false`, null as nothing, an element of XML as
/// its own text.
pub(super) fn sent(value: &Value) -> Value {
    match value.kind() {
        ValueKind::Bool => value.is_true().to_string().into(),
        ValueKind::None => Value::UNDEFINED,
        _ => plain(value),
    }
}

/// Writes a value as it is sent, escaped if the environment escapes; bytes are an error.
pub(super) fn format(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let value = &sent(value);
    let plain = matches!(value.kind(), ValueKind::Undefined | ValueKind::Number);
    if value.kind() == ValueKind::Bytes {
        return Err(Error::new(minijinja::ErrorKind::InvalidOperation, super::signing::NO_TEXT));
    }
    if plain || value.is_safe() || matches!(state.auto_escape(), AutoEscape::None) {
        return escape_formatter(out, state, value);
    }
    out.write_str(&escaped(&value.to_string())).map_err(Error::from)
}

/// `"<a>"|escape` is `&lt;a&gt;`, and is not escaped again.
fn escape(value: &Value) -> Value {
    if value.is_safe() { value.clone() } else { Value::from_safe_string(escaped(&value.to_string())) }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // XML cannot represent these.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {}
            other => escaped.push(other),
        }
    }
    escaped
}
