//! `GET /handbook/{chapter}`, `GET /llms.txt`: the handbook for clients, for people and for programs.

use super::home::POLICY;
use crate::prelude::*;
use offerd_handbook::{Chapter, chapter};

/// The chapters for clients, in reading order. The others are served too, because these refer to them.
const FOR_CLIENTS: [&str; 5] = ["client", "moving", "errors", "input", "changes"];

const PAGE: &str = include_str!("handbook/page.html");

const LLMS: &str = include_str!("handbook/llms.txt");

/// Shows a chapter as a page or, with `.md` after its name, as Markdown.
pub async fn show(context: Context<ApiState>) -> Answer {
    let name = context.params.get("chapter").unwrap_or_default();
    let found = |name| chapter(name).ok_or_else(Failure::not_found_path);
    if let Some(name) = name.strip_suffix(".md") {
        return Ok(Reply::bytes("text/markdown; charset=utf-8", found(name)?.markdown()).compressible());
    }
    let shown = found(name)?;
    let page = PAGE
        .replace("<!-- title -->", shown.title)
        .replace(
            "<!-- chapters -->",
            &listed(|one| format!("<li><a href=\"{}\">{}</a></li>", one.name, one.title)),
        )
        .replace("<!-- text -->", &shown.html(str::to_owned));
    Ok(Reply::page(page, POLICY).compressible())
}

/// Lists the documentation, for language models.
pub async fn llms(_: Context<ApiState>) -> Answer {
    let text = LLMS.to_owned() + &listed(|one| format!("- [{}](handbook/{}.md)\n", one.title, one.name));
    Ok(Reply::bytes("text/plain; charset=utf-8", text).compressible())
}

fn listed(row: impl Fn(&Chapter) -> String) -> String {
    FOR_CLIENTS.into_iter().filter_map(chapter).map(row).collect()
}
