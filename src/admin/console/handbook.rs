//! `GET /console/handbook`, `GET /console/handbook/{chapter}`: the chapters of the man pages.

use super::prelude::*;
use offerd_handbook::{CHAPTERS, Chapter, chapter};

const PAGE: ConsolePage = ConsolePage::new(Section::Handbook, "handbook.html");

pub(super) async fn begin(request: &ConsoleRequest) -> Result<View> {
    view(request, &CHAPTERS[0])
}

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    view(
        request,
        chapter(request.params.get("chapter").unwrap_or_default()).ok_or_else(Failure::not_found_path)?,
    )
}

fn view(request: &ConsoleRequest, shown: &Chapter) -> Result<View> {
    let entry = |one: &Chapter| {
        fields! { title => one.title, path => path(one.name), current => one.name == shown.name }
    };
    let chapters: Vec<_> = CHAPTERS.iter().map(entry).collect();
    // Trusted: it is part of the program.
    let text = Value::from_safe_string(shown.html(path));
    Ok(request.view(PAGE, fields! { title => shown.title, chapters, text })?.titled(shown.title))
}

fn path(name: &str) -> String {
    format!("/console/handbook/{name}")
}
