//! Bounds on the output of mappings: fuel limits the number of instructions, but not the size of the text
//! that one of them makes.

use std::io::{self, Write as _};

use minijinja::value::{Kwargs, Rest, StringInput, Value, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, State, filters};

use super::conditions::{self, Tag};
use super::filters::ADDS_TEXT;
use super::mapping_error::own_words;
use super::truth::plain;
use super::work::{self, TEXT_BYTES, too_long};

/// Maximum size of a mapping, bytes; of a template, with all its tags.
const EXPRESSION_BYTES: usize = 16 * 1024;
const TEMPLATE_BYTES: usize = 128 * 1024;

/// Maximum number of operators of one expression, and of branches of a template: each may take a place on the
/// stack when it is compiled.
const OPERATORS: usize = 500;

/// Maximum depth of brackets.
const BRACKETS: usize = 64;

/// What a part of a sum may have: bytes of a text, values of a list.
const PART_BYTES: usize = 64 * 1024;
const PART_VALUES: usize = 10_000;

/// The filters of chains of `~`, of what sums join, and of what products compute with.
pub(super) const JOINED: &str = "joined";
pub(super) const PART: &str = "part";
pub(super) const FACTOR: &str = "factor";

/// Maximum number of digits of a width or precision in a format.
const WIDTH_DIGITS: usize = 3;

/// Jinja's layout filters, whose output grows with a number.
const OF_PAGES: [&str; 3] = ["batch", "indent", "slice"];

pub(super) fn bound(environment: &mut Environment<'static>) {
    OF_PAGES.iter().for_each(|name| environment.remove_filter(name));
    environment.add_filter(JOINED, joined);
    environment.add_filter(PART, part);
    environment.add_filter(FACTOR, factor);
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment.add_filter("format", format);
}

/// What makes an expression too large to compile, or a template, to follow its key.
pub(super) fn fault(text: &str, tags: &[Tag<'_>], is_template: bool) -> Option<String> {
    let most = if is_template { TEMPLATE_BYTES } else { EXPRESSION_BYTES };
    if text.len() > most {
        return Some(format!("is longer than {most} bytes"));
    }
    let word = |tag: &Tag<'_>, nth: usize| tag.1.get(nth).map_or("", |(_, word)| *word).to_owned();
    let branches = tags.iter().filter(|tag| tag.0 == "{%" && word(tag, 0) == "elif").count();
    let operators = tags.iter().map(|tag| tag.1.iter().filter(|(_, word)| conditions::nests(word)).count());
    if operators.chain([branches]).any(|found| found > OPERATORS) {
        return Some(format!("has more than {OPERATORS} operators: keep parts of it, or use a table"));
    }
    let mut depth = 0_usize;
    for (_, word) in tags.iter().flat_map(|tag| &tag.1) {
        depth = conditions::depth_behind(word, depth);
        if depth > BRACKETS {
            return Some(format!("nests deeper than {BRACKETS} brackets"));
        }
    }
    // These would make texts that no bound sees.
    let is_unbound = |tag: &&Tag<'_>| match &*word(tag, 0) {
        "set" => !tag.1.iter().any(|(_, word)| *word == "="),
        "for" => tag.1.last().is_some_and(|(_, word)| *word == "recursive"),
        statement => statement == "filter",
    };
    let found = tags.iter().filter(|tag| tag.0 == "{%").find(is_unbound);
    let what = |tag: &Tag<'_>| if word(tag, 0) == "for" { "recursive".to_owned() } else { word(tag, 0) };
    found.map(|tag| format!("has a block of `{}`, which mappings lack: use `{{% set x = … %}}`", what(tag)))
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

/// The text of a chain of `~`.
fn joined(first: &Value, others: Rest<Value>) -> Result<String, Error> {
    let mut text = BoundedText::default();
    for value in [first].into_iter().chain(others.iter()) {
        write!(text, "{value}").map_err(|_| too_long())?;
    }
    Ok(text.into_text())
}

/// A value that a sum joins with others.
pub(super) fn part(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String if value.len().is_some_and(|length| length > PART_BYTES) => Err(too_long()),
        ValueKind::Seq | ValueKind::Iterable if value.len().is_none_or(|length| length > PART_VALUES) => {
            Err(own_words(format!("adds a list of more than {PART_VALUES} values")))
        }
        _ => Ok(value.clone()),
    }
}

/// Any value but a text or a list, which a product repeats.
fn factor(value: &Value) -> Result<Value, Error> {
    let value = plain(value);
    match value.kind() {
        ValueKind::String => Err(own_words(ADDS_TEXT)),
        ValueKind::Seq | ValueKind::Iterable => Err(own_words("multiplies a list")),
        _ => Ok(value),
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
    work::charge(state, bytes / 16)?;
    filters::join(state, list, joiner, attribute, kwargs)
}

fn replace(
    state: &mut State,
    text: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
) -> Result<Value, Error> {
    let found = text.as_str().matches(from.as_str()).count();
    let bytes = text.as_str().len().saturating_add(found.saturating_mul(to.as_str().len()));
    within(bytes)?;
    work::charge(state, bytes / 16)?;
    filters::replace(state, text, from, to)
}

/// `'%05d'|format(number)`, with a bounded width.
fn format(state: &mut State, format: &Value, values: Rest<Value>) -> Result<Value, Error> {
    let text = format.as_str().unwrap_or_default();
    let is_wide =
        text.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() > WIDTH_DIGITS);
    if is_wide || text.contains('*') {
        return Err(too_long());
    }
    let mut longest = 0;
    for value in values.iter() {
        longest = longest.max(work::weigh(state, value)?);
    }
    within(text.matches('%').count().saturating_mul(longest))?;
    let (values,) = from_args::<(Rest<ValueOrKwargs>,)>(&values)?;
    filters::format(state, format, values)
}

fn within(bytes: usize) -> Result<(), Error> {
    if bytes <= TEXT_BYTES { Ok(()) } else { Err(too_long()) }
}

#[cfg(test)]
mod tests {
    use minijinja::AutoEscape;
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::expression::{Expression, TextTemplate};
    use super::*;

    /// A long text, and what makes more of it than it may.
    #[test]
    fn what_would_make_much_of_little_is_an_error() {
        let context = json!({"long": "x".repeat(100_000), "list": vec![1; 10_001]});
        let context = Value::from(Serde(context));
        let run = |text: &str| Expression::compile(text).unwrap().run(&context);
        for text in [
            "range(10000)|join(long)",
            "range(10000)|map('default', 1)|join(long)",
            "range(10000)|join(d=long)",
            "long|replace('x', 'xxxxxxxxxxx')",
            "'%099999999d'|format(1)",
            "'%.99999999f'|format(1.5)",
            "'%*d'|format(99999999, 1)",
            "'%s%s%s%s%s%s%s%s%s%s%s'|format(long, long, long, long, long, long, long, long, long, long, long)",
            "'/' + long + long",
            "(long ~ long ~ long ~ long ~ long ~ long) ~ (long ~ long ~ long ~ long ~ long)",
            "[long, long, long, long, long, long, long, long, long, long, long]|tojson",
            "list + list",
            "list * 100000000",
            "(1, 2) * 100000000",
        ] {
            assert!(run(text).is_err(), "{text}");
        }
        assert_eq!(run("long ~ long").unwrap().len(), Some(200_000));
        for (long, fault) in [
            ("{% for one in range(1000) %}{{ long }}{% endfor %}", "bytes"),
            (&("{% set x = 'x' %}".to_owned() + &"{% set x = x ~ x %}".repeat(40)), "bytes"),
            (&("{% set x = [1] %}".to_owned() + &"{% set x = x + x %}".repeat(40)), "10000 values"),
            (&("{% set x = [1] %}".to_owned() + &"{% set x = [x, x] %}".repeat(40)), "too many steps"),
            (&("{% set x = [1] %}".to_owned() + &"{% set x, y = [x], 1 %}".repeat(300)), "deeper than 200"),
            (
                "{% set x = namespace(a=1) %}{% for one in range(9000) %}{% set x.a = [x.a] %}{% endfor %}",
                "deeper than 200",
            ),
            ("{% for one in range(99) %}{% if long|tojson|sha256 %}{% endif %}{% endfor %}", ""),
            (
                "{% for one in range(9000) %}{% if long|tojson|sha256 %}{% endif %}{% endfor %}",
                "too many steps",
            ),
        ] {
            let template = TextTemplate::compile(long, AutoEscape::None).unwrap();
            let error = template.run(&context).map_or_else(|error| error.cause, |_| String::new());
            assert!(error.contains(fault) && error.is_empty() == fault.is_empty(), "{long:.60}: {error}");
        }
        assert!(Expression::compile("[1]|batch(99999999, 'x')").unwrap_err().contains("unknown"));
    }

    /// What overflows the stack when it is compiled, or makes texts that nothing bounds.
    #[test]
    fn a_mapping_has_a_size_and_a_depth() {
        let chain = |operator: &str, count: usize| "a".to_owned() + &format!(" {operator} a").repeat(count);
        let many = "has more than 500 operators: keep parts of it, or use a table";
        for operator in
            ["~", "+", "-", "*", "**", "or", "and", "if a else", "==", "in", "|default ~", "is eq"]
        {
            let each = operator.split(' ').count();
            let fault = Expression::compile(&chain(operator, 490 / each)).err().unwrap_or_default();
            assert!(!fault.starts_with("has more"), "{operator}: {fault}");
            assert_eq!(Expression::compile(&chain(operator, 501)).unwrap_err(), many, "{operator}");
        }
        for (text, fault) in [
            ("not ".repeat(501) + "a", many),
            ("a".to_owned() + &".a".repeat(501), many),
            ("a".to_owned() + &"[0]".repeat(501), many),
            ("a".to_owned() + &"|list".repeat(501), many),
            ("a".to_owned() + &" ~ a".repeat(4_000), many),
            ("a".to_owned() + &" ~ a".repeat(8_000), "is longer than 16384 bytes"),
            ("[".repeat(65) + &"]".repeat(65), "nests deeper than 64 brackets"),
        ] {
            assert_eq!(Expression::compile(&text).unwrap_err(), fault, "{text:.20}");
        }
        for good in [
            "[".repeat(64) + &"]".repeat(64),
            "not ".repeat(490) + "a",
            "[".repeat(60) + "a" + &".a".repeat(430) + &"]".repeat(60),
            "a".to_owned() + &".a".repeat(490),
        ] {
            assert_eq!(Expression::compile(&good).err(), None, "{good:.20}");
        }
        let branches = |count| "{% if a %}a".to_owned() + &"{% elif a %}a".repeat(count) + "{% endif %}";
        let block =
            |name: &str| format!("has a block of `{name}`, which mappings lack: use `{{% set x = … %}}`");
        for (text, fault) in [
            (branches(500), None),
            (branches(501), Some(many.to_owned())),
            ("a".repeat(128 * 1024 + 1), Some("is longer than 131072 bytes".to_owned())),
            (format!("{{{{ {} }}}}", chain("~", 501)), Some(many.to_owned())),
            (format!("{{{{ {} }}}}", chain("~", 9)).repeat(900), None),
            ("{% set x %}{{ y }}{{ y }}{% endset %}".to_owned(), Some(block("set"))),
            ("{% filter upper %}{{ y }}{% endfilter %}".to_owned(), Some(block("filter"))),
            ("{% for a in b recursive %}{{ loop(a) }}{% endfor %}".to_owned(), Some(block("recursive"))),
        ] {
            assert_eq!(TextTemplate::compile(&text, AutoEscape::None).err(), fault, "{text:.20}");
        }
    }

    /// The compiler computes with constants, which may make gigabytes of a line.
    #[test]
    fn a_repeated_text_is_refused_before_it_is_made() {
        let many = vec!["'x'*100000000"; 40].join(" ~ ");
        let words = "adds or multiplies a text";
        for text in
            [many.clone(), format!("[{many}]"), format!("({many}) ~ 1"), "('x' ~ 'x')*200000000".into()]
        {
            assert!(Expression::compile(&text).unwrap_err().starts_with(words), "{text:.40}");
            let template = format!("<a>{{{{ {text} }}}}</a>");
            assert!(TextTemplate::compile(&template, AutoEscape::Html).unwrap_err().starts_with(words));
        }
        let fault = Expression::compile("2 * * 'x'").unwrap_err();
        assert!(fault.contains("unexpected `*`"), "{fault}");
        let context = Value::from(Serde(json!({"words": [6, 7]})));
        let value = Expression::compile("2 * 3 * words[1]").unwrap().run(&context).unwrap();
        assert_eq!(value, Value::from(42));
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
