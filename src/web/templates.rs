//! The template engine of the HTML pages, on any listener.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};
use tracing::error;

use super::failure::Failure;

/// A template engine with `templates`, pairs of file name and source; `.html` is escaped. Panics when a
/// template is malformed: a test compiles each of them.
pub fn environment(templates: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut environment = Environment::new();
    // A misspelt variable fails the test of its page.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters are well-formed"));
    for (name, source) in templates {
        environment.add_template(name, source).expect("templates are well-formed");
    }
    environment
}

/// Renders a template. A failure is an internal error, logged without the context.
pub fn render(environment: &Environment<'_>, template: &str, context: &Value) -> Result<String, Failure> {
    let rendered = environment.get_template(template).and_then(|template| template.render(context));
    rendered.map_err(|fault| {
        error!(template, line = fault.line(), kind = %fault.kind(), "a page could not be rendered");
        Failure::internal()
    })
}
