//! Chapters as HTML.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The Markdown extensions that the chapters use.
pub const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_DEFINITION_LIST);

/// Renders a chapter. `link` resolves the name of a linked chapter, from `NAME.md`, to its address.
pub fn render(markdown: &str, link: impl Fn(&str) -> String) -> String {
    let events: Vec<Event> = Parser::new_ext(markdown, OPTIONS).collect();
    let (mut shown, mut tables) = (Vec::with_capacity(events.len()), 0);
    for (at, event) in events.iter().enumerate() {
        let event = match event.clone() {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) if level != HeadingLevel::H1 => {
                let id = Some(CowStr::from(slug(&heading_text(&events[at + 1..]))));
                Event::Start(Tag::Heading { level, id, classes, attrs })
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = destination(&dest_url, &link).map_or(dest_url, CowStr::from);
                Event::Start(Tag::Link { link_type, dest_url, title, id })
            }
            other => other,
        };
        // On a phone, a wide table scrolls by itself.
        let (begins, ends) =
            (matches!(event, Event::Start(Tag::Table(_))), matches!(event, Event::End(TagEnd::Table)));
        shown.extend(begins.then(|| {
            tables += 1;
            let scrolls = "<div class=\"scroll\" tabindex=\"0\" role=\"region\"";
            Event::Html(format!("{scrolls} aria-label=\"Table {tables}\">").into())
        }));
        shown.push(event);
        shown.extend(ends.then(|| Event::Html("</div>\n".into())));
    }
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, shown.into_iter());
    html
}

/// The text of the heading that these events start in.
pub fn heading_text(events: &[Event]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    inside
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        })
        .collect()
}

fn destination(url: &str, link: impl Fn(&str) -> String) -> Option<String> {
    let (file, fragment) = url.split_once('#').map_or((url, None), |(file, part)| (file, Some(part)));
    let name = file.strip_suffix(".md").filter(|name| super::chapter(name).is_some())?;
    Some(match fragment {
        None => link(name),
        Some(fragment) => format!("{}#{fragment}", link(name)),
    })
}

/// The heading in lower case, with a hyphen for each run of other characters than letters and digits:
/// `#until-when`.
pub fn slug(heading: &str) -> String {
    let words = heading.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}
