//! The documentation documents itself.

use hyper::Method;

use super::draft::Draft;
use crate::model::Components;

/// The section of the document.
pub const TAG: &str = "Documentation";

/// The operations.
pub fn operations(_: &mut Components) -> Vec<Draft> {
    vec![
        Draft::new(Method::GET, "/openapi.json", TAG, "getOpenApi").answers_object("This document."),
        Draft::new(Method::GET, "/docs", TAG, "showDocs").answers_type("text/html", "The page."),
    ]
}
