//! Templates of the offer pages. The engine escapes all output, since the names end in `.html`.

use std::sync::LazyLock;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use tracing::error;

use super::brand::{Brand, SCRIPT, WayBack};
use super::cards::{self, OfferEnds, Shelf};
use crate::prelude::*;
use offerd_engine::matching::TableSnapshot;
use offerd_model::{BaseUrl, RateTable};
use offerd_web::{events, templates};

/// The controls of the page's script, to sort and filter offers.
pub const SORTING: &str = include_str!("sorting.html");

const TEMPLATES: &[(&str, &str)] = &[
    ("layout.html", include_str!("layout.html")),
    ("page.html", include_str!("page.html")),
    ("offers.html", include_str!("offers.html")),
    ("message.html", include_str!("message.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| templates::environment(TEMPLATES));

/// A page with offers.
pub struct OfferPage<'a> {
    /// Name in the page's header.
    pub name: String,
    /// The brand.
    pub brand: &'a Brand,
    /// Whether it is for a frame.
    pub framed: bool,
    /// The link back, if its address has one.
    pub back: Option<&'a WayBack>,
    /// The service's base URL.
    pub base_url: &'a BaseUrl,
    /// Prefix of the addresses of its stream and images.
    pub root: &'a str,
    /// Expiry.
    pub until: &'a str,
    /// End times of its offers.
    pub ends: &'a OfferEnds,
    /// The table.
    pub snapshot: &'a TableSnapshot,
}

/// Why a page has no offers.
#[derive(Debug, Clone, Copy)]
pub struct PageMessage {
    /// Label in metrics.
    pub name: &'static str,
    /// Status of the answer.
    pub status: StatusCode,
    heading: &'static str,
    words: &'static str,
}

impl PageMessage {
    /// The page or offer does not exist.
    pub const UNKNOWN: Self = Self {
        name: "unknown",
        status: StatusCode::NOT_FOUND,
        heading: "Nothing found here",
        words: "The link may be incomplete, or its offers were removed. Please open it again from where you got it, or ask there for a new one.",
    };
    /// The page has expired.
    pub const EXPIRED: Self = Self {
        name: "expired",
        status: StatusCode::GONE,
        heading: "These offers have expired",
        words: "Offers are valid for a limited time. Please ask for new ones where you got this link.",
    };
    /// The offer has ended.
    pub const OFFER_ENDED: Self = Self {
        name: "offer_ended",
        status: StatusCode::GONE,
        heading: "This offer has ended",
        words: "Its institution offered it for a limited time only. Please ask for new offers where you found this one.",
    };
    /// Too many requests for the page or offer.
    pub const TOO_OFTEN: Self = Self {
        name: "too_often",
        status: StatusCode::TOO_MANY_REQUESTS,
        heading: "Please wait a moment",
        words: "This page was opened very often in a short time. It is still available: please try again in a minute.",
    };
    /// The offer cannot be looked up or its click recorded now.
    pub const OFFER_UNAVAILABLE: Self = Self {
        name: "offer_unavailable",
        status: StatusCode::SERVICE_UNAVAILABLE,
        heading: "This offer cannot be opened just now",
        words: "One of our systems is not responding. The offer is still available: please try again in a few seconds.",
    };
}

/// The complete page.
pub fn page(page: &OfferPage) -> Result<String, Failure> {
    let OfferPage { name, brand, framed, back, base_url, root, until, ends, snapshot } = page;
    let shelf = Value::from(Serde(read(snapshot, ends, base_url)?));
    let offers = offers(&shelf, snapshot, root)?;
    let [sorting, offers] = [SORTING.to_owned(), offers].map(Value::from_safe_string);
    let test = snapshot.test;
    let body = render("page.html", context! { shelf, sorting, offers, until => *until, test })?;
    let back = Serde(back);
    let head = context! { title => "Your offers", name => name.as_str(), framed => *framed, back };
    layout(head, brand, body, Some(SCRIPT))
}

/// A page without offers.
pub fn message(
    name: &str,
    brand: &Brand,
    framed: bool,
    back: Option<&WayBack>,
    message: PageMessage,
) -> Result<String, Failure> {
    let PageMessage { heading, words, .. } = message;
    let body = render("message.html", context! { heading, words })?;
    layout(
        context! { title => heading, name, framed, back => Serde(back) },
        brand,
        body,
        framed.then_some(SCRIPT),
    )
}

/// The offers of a table as an event, which replace those on the page.
pub fn event(
    snapshot: &TableSnapshot,
    base_url: &BaseUrl,
    root: &str,
    ends: &OfferEnds,
) -> Result<Bytes, Failure> {
    let html = offers(&Value::from(Serde(read(snapshot, ends, base_url)?)), snapshot, root)?;
    Ok(events::event("offers", Some(snapshot.version), html.split(['\n', '\r'])))
}

fn offers(shelf: &Value, snapshot: &TableSnapshot, root: &str) -> Result<String, Failure> {
    render("offers.html", context! { shelf, root, version => snapshot.version })
}

fn layout(head: Value, brand: &Brand, body: String, script: Option<&str>) -> Result<String, Failure> {
    let [style, body] = [brand.style.clone(), body].map(Value::from_safe_string);
    let script = script.map(|script| Value::from_safe_string(script.to_owned()));
    render("layout.html", context! { style, script, body, ..head })
}

fn read(snapshot: &TableSnapshot, ends: &OfferEnds, base_url: &BaseUrl) -> Result<Shelf, Failure> {
    let table: RateTable = serde_json::from_slice(&snapshot.json).map_err(|error| {
        error!(rate_table = %snapshot.table, line = error.line(), column = error.column(), "a shown table cannot be read");
        Failure::internal()
    })?;
    Ok(cards::shelf(table, ends, base_url))
}

fn render(template: &str, context: Value) -> Result<String, Failure> {
    templates::render(&ENVIRONMENT, template, &context)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::current::offer_pages::brand::OfferPages;
    use offerd_base::config::Settings;

    fn snapshot(json: String, pending: bool) -> TableSnapshot {
        let (table, company, test, version, deadline) = (Uuid::nil(), Uuid::nil(), true, 3, 0);
        TableSnapshot { table, company, test, json: json.into(), version, pending, deadline }
    }

    fn example() -> String {
        include_str!("../../openapi/examples/rate_table.json").to_owned()
    }

    fn shown(snapshot: &TableSnapshot) -> String {
        shown_with(snapshot, &OfferEnds::default())
    }

    fn shown_with(snapshot: &TableSnapshot, ends: &OfferEnds) -> String {
        let pages = OfferPages::new(&Settings::from_layers(None, []).unwrap().offer_pages);
        let (brand, base_url) = (pages.brand(""), &BaseUrl::default());
        let (name, framed, back, root, until) = ("A & B".to_owned(), false, None, "p/", "May 1, 2027");
        page(&OfferPage { name, brand, framed, back, base_url, root, until, ends, snapshot }).unwrap()
    }

    #[test]
    fn every_template_compiles_and_escapes() {
        for (name, _) in TEMPLATES {
            assert!(name.ends_with(".html"), "{name} would not be escaped");
            assert!(ENVIRONMENT.get_template(name).is_ok(), "{name}");
        }
        let hostile = example().replace("\"Everyday\"", r#""<img src=x onerror=alert(1)>""#);
        let html = shown(&snapshot(hostile, true));
        assert!(html.contains("A &amp; B") && html.contains("&lt;img src=x"), "{html}");
        assert!(!html.contains("<img src=x"));
    }

    #[test]
    fn a_page_tells_neither_the_table_nor_the_lead() {
        let table: RateTable = serde_json::from_str(&example()).unwrap();
        let html = shown(&snapshot(example(), true));
        assert!(!html.contains(&table.uuid.to_string()) && !html.contains(&table.lead_uuid.to_string()));
        assert!(html.contains("data-events=\"p&#x2f;events?seen=3\""), "{html}");
    }

    #[test]
    fn an_offer_that_ends_before_its_page_says_when_and_one_that_has_ended_leads_nowhere() {
        let table: RateTable = serde_json::from_str(&example()).unwrap();
        let offer = &table.loan_offers[0];
        let link = format!("/click&#x2f;{}\"", offer.uuid).replace('/', "&#x2f;");
        let at = |end| OfferEnds { at: [(offer.uuid, end)].into(), now: 1_000, page: 9_000 };
        let html = |end| shown_with(&snapshot(example(), false), &at(end));
        let links = shown(&snapshot(example(), false)).matches(&link).count();
        assert_eq!(links, 1, "{link}");
        let ending = html(8_999);
        assert!(ending.contains("data-ends-in=\"7999\""), "{ending}");
        assert_eq!((ending.matches(&link).count(), ending.matches("class=\"over\"").count()), (1, 0));
        let ended = html(1_000);
        assert_eq!(
            (ended.matches(&link).count(), ended.matches("class=\"over\"").count()),
            (0, 1),
            "{ended}"
        );
        let standing = table.offer_count();
        for (html, standing) in [(&ending, standing), (&ended, standing - 1)] {
            assert!(html.contains(&format!("{standing} offers")), "what has ended is not counted: {html}");
        }
        let later = html(9_000);
        assert!(!later.contains("data-ends-in=\""), "the page ends first");
    }

    /// A stream is read line by line, and there are three line endings.
    #[test]
    fn no_text_of_a_partner_is_an_event_of_its_own() {
        let hostile =
            example().replace("\"Everyday\"", "\"Everyday\\r\\nid: 9\\rdata: x\\n\\nevent: other\"");
        let event = event(&snapshot(hostile, true), &BaseUrl::default(), "", &OfferEnds::default()).unwrap();
        let text = std::str::from_utf8(&event).unwrap();
        let (head, lines) = text.trim_end().split_at(text.find("data: ").unwrap());
        assert_eq!(head, "event: offers\nid: 3\n");
        assert!(lines.lines().all(|line| line.starts_with("data: ")) && !lines.contains('\r'), "{text}");
        assert!(lines.contains("data: id: 9"), "{text}");
    }
}
