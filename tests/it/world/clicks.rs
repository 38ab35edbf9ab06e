//! Clicks and the people behind them: what browsers fetch ahead, and what a person reads whose link leads nowhere.

use hyper::Method;
use serde_json::Value;

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon};

/// What a browser asks for that a person opens.
const NAVIGATED: (&str, &str) = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

/// How browsers say that nobody has opened what they fetch.
///
/// Seen in short links, one-time links and pixels: a browser's guess, a hover or a preview in a messenger counts as a click, or uses the link up
/// before its reader has opened it.
const AHEAD: [(&str, &str); 8] = [
    ("sec-purpose", "prefetch"),
    ("sec-purpose", "prefetch;prerender"),
    ("sec-purpose", "prefetch;anonymous-client-ip"),
    ("purpose", "prefetch"),
    ("purpose", "preview"),
    ("x-purpose", "preview"),
    ("x-moz", "prefetch"),
    ("X-Moz", "Prefetch"),
];

/// Opens an address as a browser does, with more headers.
async fn open(daemon: &Daemon, url: &str, more: &[(&str, &str)]) -> Answer {
    daemon.request_with(Method::GET, url, "", &[&[NAVIGATED], more].concat(), "").await
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

#[tokio::test]
async fn what_a_browser_fetches_ahead_is_no_click() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let offer = table["savingsOffers"][0]["url"].as_str().unwrap();
    let lead = format!("/leads/{}", table["leadUuid"].as_str().unwrap());
    let clicks = async || {
        let lead = daemon.get(&lead).await.json();
        let clicked = |action: &&Value| action["actionType"] == "clicked_savings_offer_link";
        lead["leadActions"].as_array().unwrap().iter().filter(clicked).count()
    };
    for header in AHEAD {
        let answer = open(&daemon, offer, &[header]).await;
        // A browser keeps what it has fetched well, and would not ask again.
        assert_eq!((answer.status, answer.header("location")), (403, None), "{header:?}");
        assert_eq!(clicks().await, 0, "{header:?}");
    }
    assert_eq!(open(&daemon, offer, &[("sec-fetch-mode", "navigate")]).await.status, 302);
    assert_eq!(clicks().await, 1);
}

#[tokio::test]
async fn what_a_browser_fetches_ahead_is_not_seen_either() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let [page, offer] = [&table["partnerPageUrl"], &table["savingsOffers"][0]["uuid"]];
    let image = format!("{}/{}/seen.gif", page.as_str().unwrap(), offer.as_str().unwrap());
    let recorded = async || {
        let metrics = daemon.metrics().await;
        let line = metrics.lines().find(|line| line.contains(r#"offer_page_displays_total{recorded="yes"}"#));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
    };
    for header in AHEAD {
        let answer = open(&daemon, &image, &[header]).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/gif")), "{header:?}");
    }
    assert_eq!(recorded().await, 0);
    assert_eq!(open(&daemon, &image, &[]).await.status, 200);
    assert_eq!(recorded().await, 1);
    // The page itself may be there before it is looked at.
    assert_eq!(open(&daemon, page.as_str().unwrap(), &[("sec-purpose", "prefetch")]).await.status, 200);
}

/// How a person's browser asks, and whether a person reads the answer.
///
/// Seen where a link in a mail or a message leads to an API: its reader is shown `[{"message":…}]` in a fixed font.
const READERS: [(&[(&str, &str)], bool); 6] = [
    (&[NAVIGATED], true),
    (&[("accept", "application/xhtml+xml")], true),
    (&[("accept", "*/*"), ("sec-fetch-dest", "document")], true),
    (&[("accept", "*/*"), ("sec-fetch-dest", "empty")], false),
    (&[("accept", "application/json")], false),
    (&[], false),
];

/// Opens an address until it is refused.
async fn refused(daemon: &Daemon, url: &str, headers: &[(&str, &str)]) -> Answer {
    for _ in 0..40 {
        let answer = daemon.request_with(Method::GET, url, "", headers, "").await;
        if answer.status == 429 {
            return answer;
        }
    }
    panic!("{url} is never refused");
}

#[tokio::test]
async fn a_person_reads_a_page_where_a_program_reads_json() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let daemon = plan.setting("limits.burst_clicks_per_offer", "3").start().await;
    let table = daemon.submit("{}").await.json();
    let offer = table["savingsOffers"][0]["url"].as_str().unwrap();
    let unknown = format!("{}/click/0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77", daemon.api);
    for (headers, by_a_person) in READERS {
        let limited = refused(&daemon, offer, headers).await;
        let missing = daemon.request_with(Method::GET, &unknown, "", headers, "").await;
        assert!(limited.header("retry-after").is_some(), "{headers:?}");
        assert_eq!(missing.status, 404);
        for (answer, words) in [(limited, "Please wait a moment"), (missing, "Nothing found here")] {
            let kind = if by_a_person { "text/html; charset=utf-8" } else { "application/json" };
            assert_eq!(answer.header("content-type"), Some(kind), "{headers:?}");
            assert_eq!(text(&answer).contains(words), by_a_person, "{headers:?}: {}", text(&answer));
        }
    }
}

/// By the limit of clicks, and by that of all requests, which networks of `limits.exempt` do not have.
#[tokio::test]
async fn a_page_of_offers_that_is_opened_too_often_says_so_in_words() {
    for exempt in ["127.0.0.0/8", ""] {
        let plan = Daemon::with_partners(vec![partner("bank").savings("")]).setting("limits.exempt", exempt);
        let plan = plan.setting("limits.requests_per_second_per_address", "1");
        let daemon = plan.setting("limits.burst_per_address", "5").start().await;
        let table = daemon.submit("{}").await.json();
        let page = table["partnerPageUrl"].as_str().unwrap();
        for url in [page, &format!("{page}/embed"), table["savingsOffers"][0]["url"].as_str().unwrap()] {
            let answer = refused(&daemon, url, &[NAVIGATED]).await;
            assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{url}");
            assert!(answer.header("retry-after").is_some());
            assert!(text(&answer).contains("Please wait a moment"), "{}", text(&answer));
        }
    }
}

/// Seen with consoles whose cookie is `SameSite=Strict`: a link in a mail or a chat leads to the page to sign in, though the reader is
/// signed in, since a browser keeps such a cookie back when the way begins at another site. What changes anything is sent by forms of our own
/// pages, with what only these know.
#[tokio::test]
async fn a_link_to_the_console_in_a_mail_finds_the_session_that_is_there() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let daemon = plan.setting("console.sign_in", "always").start().await;
    let link = daemon.command(&["console", "--json"]);
    let link: Value = serde_json::from_slice(&link.stdout).unwrap();
    let link = link["url"].as_str().unwrap();
    let form = text(&open(&daemon, link, &[]).await);
    let (_, after) = form.split_once("name=\"csrf\" value=\"").expect("the page has a form");
    let (_, code) = link.split_once("code=").expect("a link has a code");
    let fields = [("csrf", after.split('"').next().unwrap()), ("code", code)];
    let sent = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let url = format!("{}/console/signIn", daemon.admin);
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let signed_in = daemon.request_with(Method::POST, &url, "", &headers, sent.clone()).await;
    let attributes = signed_in.header("set-cookie").expect("who has a link is signed in");
    assert!(attributes.contains("; SameSite=Lax") && attributes.contains("HttpOnly"), "{attributes}");
    let cookie = attributes.split(';').next().unwrap();

    // As a browser opens a link of another site, which such a cookie goes with.
    let from_a_mail = [("cookie", cookie), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    let page = format!("{}/console/partners/bank", daemon.admin);
    assert_eq!(open(&daemon, &page, &from_a_mail).await.status, 200);
    // A form of another site changes nothing.
    let out = format!("{}/console/signOut", daemon.admin);
    let forged = [&headers[..], &from_a_mail].concat();
    assert_eq!(daemon.request_with(Method::POST, &out, "", &forged, sent).await.status, 403);
    assert_eq!(open(&daemon, &page, &from_a_mail).await.status, 200);
}
