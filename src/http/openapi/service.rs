//! The documentation documents itself.

use hyper::Method;
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;

use super::draft::{Draft, one_of};
use crate::http::current::demo::FILES as DEMO_FILES;
use crate::http::current::docs::FILES as DOCS_FILES;
use crate::model::Components;
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Documentation";

/// The operations.
pub fn operations(_: &mut Components) -> Vec<Draft> {
    vec![
        Draft::new(Method::GET, "/", TAG, "showHome").answers_type("text/html", "The page."),
        Draft::new(Method::GET, "/openapi.json", TAG, "getOpenApi")
            .answers_object("What of this document clients call."),
        Draft::new(Method::GET, "/openapi-all.json", TAG, "getWholeOpenApi").answers_object("This document."),
        Draft::new(Method::GET, "/docs", TAG, "showDocs").answers_type("text/html", "The page."),
        Draft::new(Method::GET, "/docs/{file}", TAG, "getDocsFile")
            .parameter(ParameterIn::Path, "file", Required::True, "The name of a file.", one_of(DOCS_FILES))
            .answers_type("*/*", "The file.")
            .refuses(Failure::not_found_path(), "The page has no such file."),
        Draft::new(Method::GET, "/demo", TAG, "showDemo")
            .answers_type("text/html", "The page.")
            .refuses(Failure::not_found_path(), "This is no sandbox."),
        Draft::new(Method::GET, "/demo/{file}", TAG, "getDemoFile")
            .parameter(ParameterIn::Path, "file", Required::True, "The name of a file.", one_of(DEMO_FILES))
            .answers_type("*/*", "The file.")
            .refuses(Failure::not_found_path(), "The page has no such file, or this is no sandbox."),
    ]
}
