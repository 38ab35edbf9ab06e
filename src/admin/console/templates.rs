//! The templates, and their filters for figures.

use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::value::Value;

use super::super::command::Result;
use super::format;
use offerd_insight::sheet::figures;
use offerd_web::templates;

/// Embeds templates from their files, by name.
macro_rules! embedded {
    ($($name:ident)+) => {
        &[$((concat!(stringify!($name), ".html"), include_str!(concat!("templates/", stringify!($name), ".html")))),+]
    };
}

/// All templates. The engine escapes all output, since the names end in `.html`.
const TEMPLATES: &[(&str, &str)] = embedded! {
    layout standing chart sparkline failure now alerts funnel ranking reports catalogue trial rate_tables
    rate_table transcript partner timeouts partners audit people persons receipt consents account
    experiments postbacks sign_in handbook nodes system
};

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = templates::environment(TEMPLATES);
    environment.add_filter("count", format::figure(figures::count));
    environment.add_filter("rate", format::figure(figures::rate));
    environment.add_filter("seconds", format::figure(figures::seconds));
    environment.add_filter("millis", format::figure(|millis| figures::seconds(millis / 1000.0)));
    environment.add_filter("percent", format::figure(figures::percent));
    environment.add_filter("bytes", format::figure(figures::bytes));
    environment.add_filter("dollars", format::figure(figures::dollars));
    environment.add_filter("code", format::code);
    environment.add_filter("clock", format::time(figures::clock));
    environment.add_filter("moment", format::time(figures::moment));
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
