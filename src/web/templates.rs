//! What pages are written with, whichever listener shows them.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};
use tracing::error;

use super::failure::Failure;

/// An engine with these templates, each by the name of its file. It escapes whatever it writes into one whose name ends in `.html`.
///
/// # Panics
/// When a template is not well-formed: it is part of the program, and a test compiles every one of them.
pub fn environment(templates: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut environment = Environment::new();
    // A name that is misspelt fails the test of its page.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters are well-formed"));
    for (name, source) in templates {
        environment.add_template(name, source).expect("templates are well-formed");
    }
    environment
}

/// What a template makes of a context.
///
/// # Errors
/// Our fault, logged without the context.
pub fn render(environment: &Environment<'_>, template: &str, context: &Value) -> Result<String, Failure> {
    let rendered = environment.get_template(template).and_then(|template| template.render(context));
    rendered.map_err(|fault| {
        error!(template, line = fault.line(), kind = %fault.kind(), "a page could not be rendered");
        Failure::internal()
    })
}
