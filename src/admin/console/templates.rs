//! Every template, and the filters that they write figures with.

use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::value::Value;
use tracing::error;

use super::format;
use crate::sheet::figures;
use crate::web::{Failure, templates};

/// The templates, by the names of their files. The engine escapes whatever it writes, since the names end in `.html`.
const TEMPLATES: &[(&str, &str)] = &[
    ("layout.html", include_str!("templates/layout.html")),
    ("standing.html", include_str!("templates/standing.html")),
    ("chart.html", include_str!("templates/chart.html")),
    ("sparkline.html", include_str!("templates/sparkline.html")),
    ("failure.html", include_str!("templates/failure.html")),
    ("now.html", include_str!("templates/now.html")),
    ("alerts.html", include_str!("templates/alerts.html")),
    ("funnel.html", include_str!("templates/funnel.html")),
    ("ranking.html", include_str!("templates/ranking.html")),
    ("reports.html", include_str!("templates/reports.html")),
    ("catalogue.html", include_str!("templates/catalogue.html")),
    ("trial.html", include_str!("templates/trial.html")),
    ("rate_tables.html", include_str!("templates/rate_tables.html")),
    ("rate_table.html", include_str!("templates/rate_table.html")),
    ("transcript.html", include_str!("templates/transcript.html")),
    ("partner.html", include_str!("templates/partner.html")),
    ("timeouts.html", include_str!("templates/timeouts.html")),
    ("partners.html", include_str!("templates/partners.html")),
    ("audit.html", include_str!("templates/audit.html")),
    ("people.html", include_str!("templates/people.html")),
    ("persons.html", include_str!("templates/persons.html")),
    ("receipt.html", include_str!("templates/receipt.html")),
    ("consents.html", include_str!("templates/consents.html")),
    ("account.html", include_str!("templates/account.html")),
    ("experiments.html", include_str!("templates/experiments.html")),
    ("postbacks.html", include_str!("templates/postbacks.html")),
    ("sign_in.html", include_str!("templates/sign_in.html")),
    ("handbook.html", include_str!("templates/handbook.html")),
    ("nodes.html", include_str!("templates/nodes.html")),
    ("system.html", include_str!("templates/system.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = templates::environment(TEMPLATES);
    environment.add_filter("count", format::figure(figures::count));
    environment.add_filter("rate", format::figure(figures::rate));
    environment.add_filter("seconds", format::figure(figures::seconds));
    environment.add_filter("percent", format::figure(figures::percent));
    environment.add_filter("bytes", format::figure(figures::bytes));
    environment.add_filter("dollars", format::figure(figures::dollars));
    environment.add_filter("code", format::code);
    environment.add_filter("clock", format::time(figures::clock));
    environment.add_filter("moment", format::time(figures::moment));
    environment
});

/// What a template is given: values by name, and behind `..` those of a struct.
macro_rules! fields {
    (= $name:ident) => { minijinja::value::Serde(&$name) };
    (= $name:ident $value:expr) => { minijinja::value::Serde(&$value) };
    ($($name:ident $(=> $value:expr)?),* $(, ..$rest:expr)? $(,)?) => {
        minijinja::context! {
            $($name => $crate::admin::console::templates::fields!(= $name $($value)?)),*
            $(, ..minijinja::value::Serde(&$rest))?
        }
    };
}
pub(super) use fields;

/// What a template makes of a context.
///
/// # Errors
/// Our fault, logged without the context.
pub(super) fn render(template: &str, context: &Value) -> Result<String, Failure> {
    let rendered = ENVIRONMENT.get_template(template).and_then(|template| template.render(context));
    rendered.map_err(|fault| {
        error!(template, line = fault.line(), kind = %fault.kind(), "a page could not be rendered");
        Failure::internal()
    })
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
