//! Bounds on the output of mappings: fuel limits the number of instructions, but not the size of the text
//! that one of them makes.

use std::io;

use minijinja::value::{Kwargs, Rest, StringInput, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters};

/// Maximum size of a text made by a mapping, bytes.
pub(super) const TEXT_BYTES: usize = 1024 * 1024;

/// Maximum number of digits of a width or precision in a format.
const WIDTH_DIGITS: usize = 3;

/// Jinja's layout filters, whose output grows with a number.
const OF_PAGES: [&str; 3] = ["batch", "indent", "slice"];

pub(super) fn bound(environment: &mut Environment<'static>) {
    OF_PAGES.iter().for_each(|name| environment.remove_filter(name));
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment.add_filter("format", format);
}

/// A text buffer of at most `TEXT_BYTES`.
#[derive(Default)]
pub(super) struct BoundedText {
    bytes: Vec<u8>,
    pub(super) is_full: bool,
}

impl BoundedText {
    pub(super) fn into_text(self) -> String {
        // Templates write whole strings.
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

impl io::Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > TEXT_BYTES {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn join(
    state: &mut State,
    list: &Value,
    joiner: Option<StringInput<'_>>,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let named: Option<StringInput<'_>> = kwargs.get("d")?;
    let between = joiner.as_ref().or(named.as_ref()).map_or(0, |joiner| joiner.as_str().len());
    let mut bytes = 0;
    for item in list.try_iter().into_iter().flatten() {
        let item = match attribute {
            Some(attribute) => item.get_attr(attribute)?,
            None => item,
        };
        bytes += between + item.as_str().map_or_else(|| item.to_string().len(), str::len);
        within(bytes)?;
    }
    filters::join(state, list, joiner, attribute, kwargs)
}

fn replace(
    state: &mut State,
    text: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
) -> Result<Value, Error> {
    let found = text.as_str().matches(from.as_str()).count();
    within(text.as_str().len().saturating_add(found.saturating_mul(to.as_str().len())))?;
    filters::replace(state, text, from, to)
}

/// `'%05d'|format(number)`, with a bounded width.
fn format(state: &mut State, format: &Value, values: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let text = format.as_str().unwrap_or_default();
    let is_wide =
        text.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() > WIDTH_DIGITS);
    if is_wide || text.contains('*') {
        return Err(too_long());
    }
    filters::format(state, format, values)
}

fn within(bytes: usize) -> Result<(), Error> {
    if bytes <= TEXT_BYTES { Ok(()) } else { Err(too_long()) }
}

fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("makes more than {TEXT_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use minijinja::AutoEscape;
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::{Expression, TextTemplate};
    use super::*;

    #[test]
    fn what_would_make_much_of_little_is_an_error() {
        let nothing = Value::from(Serde(json!({})));
        for text in [
            "range(10000)|join('x' * 100000)",
            "['x' * 100000] * 1000|join",
            "range(10000)|join(d='x' * 100000)",
            "('x' * 1000000)|replace('x', 'xx')",
            "'%099999999d'|format(1)",
            "'%.99999999f'|format(1.5)",
            "'%*d'|format(99999999, 1)",
            "'x' * 1100000",
        ] {
            let run = Expression::compile(text).unwrap().run(&nothing);
            assert!(run.is_err(), "{text}");
        }
        let long = "{% set x = 'x' * 100000 %}{% for one in range(1000) %}{{ x }}{% endfor %}";
        let error = TextTemplate::compile(long, AutoEscape::None).unwrap().run(&nothing).unwrap_err();
        assert!(error.cause.contains("bytes"), "{error}");
        assert!(Expression::compile("[1]|batch(99999999, 'x')").unwrap_err().contains("unknown"));
    }

    #[test]
    fn what_is_usual_is_as_in_jinja() {
        let context =
            Value::from(Serde(json!({"words": ["a", "b"], "offers": [{"key": "a"}, {"key": "b"}]})));
        for (text, made) in [
            ("words|join(', ')", "a, b"),
            ("words|join(d='-')", "a-b"),
            ("offers|join('/', attribute='key')", "a/b"),
            ("'a-b'|replace('-', '')", "ab"),
            ("'%05.2f and %3d'|format(1.5, 7)", "01.50 and   7"),
        ] {
            let value = Expression::compile(text).unwrap().run(&context).unwrap();
            assert_eq!(value.as_str(), Some(made), "{text}");
        }
    }
}
