//! The mapping language: any text as an expression and as a template, run on any JSON.

use minijinja::AutoEscape;
use minijinja::value::{Serde, Value as Mapped};
use offerd::partners::http::expression::{Expression, TextTemplate};
use serde_json::Value;

/// Longest text that a template may make.
pub const TEXT_BYTES: usize = 1024 * 1024;

/// What is compiled runs to an end, and what it makes is bounded. A fault of compiling is a line; one of running repeats
/// nothing of what was mapped. The first line is the mapping, the rest is what it is run on.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (mapping, context) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(context @ Value::Object(_)) = serde_json::from_str::<Value>(context) else { return };
    let context = Mapped::from(Serde(context));

    match Expression::compile(mapping) {
        Ok(expression) => {
            expression.variables();
            expression.literals();
            match expression.run(&context) {
                Ok(value) => assert!(value.as_str().map_or(0, str::len) <= TEXT_BYTES, "a text is bounded"),
                Err(error) => assert!(!error.to_string().contains(CANARY), "{error}"),
            }
        }
        Err(fault) => assert!(!fault.is_empty()),
    }
    for escape in [AutoEscape::None, AutoEscape::Html] {
        if let Ok(template) = TextTemplate::compile(mapping, escape) {
            match template.run(&context) {
                Ok(text) => assert!(text.len() <= TEXT_BYTES, "what a template makes is bounded"),
                Err(error) => assert!(!error.to_string().contains(CANARY), "{error}"),
            }
        }
    }
}

/// Stands in the corpus for what must not be told.
const CANARY: &str = "canary-4417";
