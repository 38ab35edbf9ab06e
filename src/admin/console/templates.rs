//! The templates, their filters for figures, code and times, and the options of their forms.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use minijinja::value::Value;
use minijinja::{Environment, HtmlEscape};

use super::super::command::Result;
use offerd_insight::sheet::figures::{self, known};
use offerd_model::ProductType;
use offerd_web::{Failure, templates};

macro_rules! embedded {
    ($($name:ident)+) => {
        &[$((concat!(stringify!($name), ".html"), include_str!(concat!("templates/", stringify!($name), ".html")))),+]
    };
}

/// All templates. The engine escapes all output, since the names end in `.html`.
const TEMPLATES: &[(&str, &str)] = embedded! {
    layout standing chart sparkline failure now alerts funnel ranking reports catalogue trial rate_tables
    rate_table transcript partner timeouts partners audit people persons receipt consents account
    experiments postbacks sign_in statement handbook nodes system declared
};

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = templates::environment(TEMPLATES);
    environment.add_filter("count", figure(figures::count));
    environment.add_filter("rate", figure(figures::rate));
    environment.add_filter("seconds", figure(figures::seconds));
    environment.add_filter("millis", figure(|millis| figures::seconds(millis / 1000.0)));
    environment.add_filter("percent", figure(figures::percent));
    environment.add_filter("bytes", figure(figures::bytes));
    environment.add_filter("dollars", figure(figures::dollars));
    environment.add_filter("code", code);
    environment.add_filter("clock", time(figures::clock));
    environment.add_filter("moment", time(figures::moment));
    environment
});

/// The context of a template: values by name, and after `..` the fields of a struct.
macro_rules! fields {
    (= $name:ident) => { minijinja::value::Serde(&$name) };
    (= $name:ident $value:expr) => { minijinja::value::Serde(&$value) };
    ($($name:ident $(=> $value:expr)?),* $(, ..$rest:expr)? $(,)?) => {
        minijinja::context! {
            $($name => $crate::console::templates::fields!(= $name $($value)?)),*
            $(, ..minijinja::value::Serde(&$rest))?
        }
    };
}
pub(super) use fields;

/// Renders a template. Fails with an internal error, logged without the context.
pub(super) fn render(template: &str, context: &Value) -> Result<String> {
    templates::render(&ENVIRONMENT, template, context)
}

fn figure(write: fn(f64) -> String) -> impl Fn(Value) -> String {
    move |value| known(number(&value), write)
}

/// A filter that formats a time, given in Unix milliseconds or as ISO 8601.
fn time(write: fn(i64) -> String) -> impl Fn(Value) -> String {
    move |value| {
        let ms = match value.as_str() {
            Some(text) => text.parse::<DateTime<Utc>>().ok().map(|at| at.timestamp_millis()),
            None => number(&value).map(|ms| ms as i64),
        };
        known(ms, write)
    }
}

/// A text whose names in backticks become code.
fn code(words: &str) -> Value {
    let mut html = String::new();
    for (nth, part) in words.split('`').enumerate() {
        let part = HtmlEscape(part);
        html.push_str(&if nth % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() });
    }
    Value::from_safe_string(html)
}

fn number(value: &Value) -> Option<f64> {
    f64::try_from(value.clone()).ok().filter(|number| number.is_finite())
}

/// Options of values and labels, with the selected one marked.
pub(super) fn choices<V: ToString, W: ToString>(
    all: impl IntoIterator<Item = (V, W)>,
    chosen: Option<&str>,
) -> Vec<Value> {
    let choice = |(value, words): (V, W)| {
        let (value, words) = (value.to_string(), words.to_string());
        fields! { chosen => chosen == Some(&value), value, words }
    };
    all.into_iter().map(choice).collect()
}

pub(super) fn product_named(name: Option<&str>) -> Result<Option<ProductType>> {
    let wrong = || Failure::bad_request("`product` is not a choice on this page");
    name.map(|name| ProductType::from_wire(name).ok_or_else(wrong)).transpose()
}

pub(super) fn products(chosen: Option<ProductType>) -> Vec<Value> {
    let all = ProductType::ALL.iter().map(|product| (product.as_str(), product.as_str().replace('_', " ")));
    choices(all, chosen.map(|product| product.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_insight::sheet::figures::{
        UNKNOWN, bytes, clock, count, dollars, moment, percent, rate, seconds,
    };

    #[test]
    fn every_template_compiles() {
        for (name, _) in TEMPLATES {
            assert!(name.ends_with(".html"), "{name} would not be escaped");
            assert!(ENVIRONMENT.get_template(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_is_written_is_escaped() {
        let context = minijinja::context! { status => 404, reason => "<script>", message => "" };
        let page = render("failure.html", &context).unwrap();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");
    }

    #[test]
    fn names_are_code_and_what_is_written_stays_text() {
        assert_eq!(code("`a<b>` from 1").to_string(), "<code>a&lt;b&gt;</code> from 1");
        assert_eq!(code("<i>").to_string(), "&lt;i&gt;");
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        for nothing in [Value::from(()), Value::from(f64::NAN)] {
            for write in [count, rate, seconds, percent, dollars, bytes] {
                assert_eq!(figure(write)(nothing.clone()), UNKNOWN);
            }
            for write in [clock, moment] {
                assert_eq!(time(write)(nothing.clone()), UNKNOWN);
            }
        }
    }

    #[test]
    fn a_moment_is_a_number_or_a_text() {
        let texts = [Value::from(0), Value::from("1970-01-01T00:00:00.5Z")].map(time(moment));
        assert_eq!(texts, ["1970-01-01T00:00:00Z"; 2]);
    }
}
