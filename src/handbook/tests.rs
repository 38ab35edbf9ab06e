//! The chapters use only what the pages support.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};

use super::html::OPTIONS;
use super::{CHAPTERS, MANUALS, chapter, man, slug};

#[test]
fn each_chapter_begins_with_its_title_and_is_in_one_manual() {
    for one in CHAPTERS {
        assert!(one.markdown().starts_with(&format!("# {}\n", one.title)), "{}", one.name);
        let manuals =
            MANUALS.iter().filter(|manual| manual.chapters().any(|own| own.name == one.name)).count();
        assert_eq!(manuals, 1, "{}", one.name);
    }
    assert!(MANUALS.iter().all(|manual| manual.chapters().next().is_some()));
}

/// A construct that the pages do not support would be dropped silently.
#[test]
fn the_chapters_use_only_what_the_pages_can_show() {
    for one in CHAPTERS {
        let markdown = one.markdown();
        let mut titles = 0;
        for event in Parser::new_ext(&markdown, OPTIONS) {
            let shown = !matches!(
                event,
                Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Image { .. } | Tag::BlockQuote(_))
            );
            assert!(shown, "{}: {event:?}", one.name);
            titles +=
                usize::from(matches!(event, Event::Start(Tag::Heading { level: HeadingLevel::H1, .. })));
        }
        assert_eq!(titles, 1, "{}", one.name);
    }
}

#[test]
fn links_between_chapters_lead_to_a_heading_that_there_is() {
    for one in CHAPTERS {
        let html = one.html(|name| format!("chapter:{name}"));
        for link in html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(!link.ends_with(".md"), "{}: {link}", one.name);
            let Some(target) = link.strip_prefix("chapter:") else { continue };
            if let Some((name, fragment)) = target.split_once('#') {
                let there = chapter(name).unwrap().html(|_| String::new());
                assert!(there.contains(&format!("id=\"{fragment}\"")), "{}: {link}", one.name);
            }
        }
    }
}

#[test]
fn a_heading_has_a_short_address() {
    assert_eq!(
        slug("When `offerd_limit_used_ratio` is 1, who waits?"),
        "when-offerd-limit-used-ratio-is-1-who-waits"
    );
}

#[test]
fn commands_stand_in_a_man_page_as_they_are_typed() {
    let page = man::page(&MANUALS[2], "0");
    assert!(page.starts_with("'\\\" t\n"));
    // Characters that roff would interpret are escaped.
    assert!(page.contains(".nf\n[partner]\n"), "{page}");
    assert!(page.contains("conversion_probability") && !page.contains("\n[partner]\n.PP"));
}
