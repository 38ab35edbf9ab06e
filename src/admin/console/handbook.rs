//! `GET /console/handbook`, `GET /console/handbook/{chapter}`: the chapters, as they are in the man pages.

use std::sync::Arc;

use minijinja::value::Value;
use serde::Serialize;

use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use crate::handbook::{CHAPTERS, Chapter, chapter};
use crate::web::Failure;

/// What stands on the page.
#[derive(Debug, Serialize)]
struct HandbookPage {
    title: &'static str,
    chapters: Vec<Entry>,
    /// The chapter as HTML, which is part of the program.
    text: Value,
}

/// A chapter in the list of chapters.
#[derive(Debug, Serialize)]
struct Entry {
    title: &'static str,
    path: String,
    current: bool,
}

impl Page for HandbookPage {
    const SECTION: Section = Section::Handbook;
    const TEMPLATE: &'static str = "handbook.html";

    fn title(&self) -> String {
        self.title.to_owned()
    }
}

/// Shows the first chapter.
pub(super) async fn begin(visit: Arc<Visit>) -> Result<View, Failure> {
    visit.view(&HandbookPage::of(&CHAPTERS[0]))
}

/// Shows a chapter.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let named = chapter(visit.params.get("chapter").unwrap_or_default());
    visit.view(&HandbookPage::of(named.ok_or_else(Failure::not_found_path)?))
}

impl HandbookPage {
    fn of(shown: &Chapter) -> Self {
        let entry =
            |one: &Chapter| Entry { title: one.title, path: path(one.name), current: one.name == shown.name };
        Self {
            title: shown.title,
            chapters: CHAPTERS.iter().map(entry).collect(),
            text: Value::from_safe_string(shown.html(path)),
        }
    }
}

fn path(name: &str) -> String {
    format!("/console/handbook/{name}")
}
