//! The offer page of a rate table, behind `partnerPageUrl` and `embedUrl`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use offerd::rate_table::record::TableHead;
use offerd::store::{Commit, Tree, codec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon, Plan, Stopped, sample};

const STRANGER: &str = "0193a7b2-1c7e-8d5a-9c11-2f6c5a0e4b77";

const LOAN: &str = r#"{
    "productTypes": ["loan"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// What a stranger's browser is answered.
async fn open(daemon: &Daemon, url: &str) -> Answer {
    daemon.request(Method::GET, url, "", "").await
}

/// The text of an answer; a slash may be written as HTML has it.
fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap().replace("&#x2f;", "/")
}

fn url<'t>(table: &'t Value, field: &str) -> &'t str {
    table[field].as_str().unwrap_or_else(|| panic!("no {field} in {table}"))
}

fn page_url(table: &Value) -> &str {
    url(table, "partnerPageUrl")
}

/// The addresses that a page names, by the attribute that names them.
fn addresses<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let mark = format!(" {attribute}=\"");
    let parts = page.split(&mark).skip(1);
    parts.filter_map(|rest| rest.split('"').next()).collect()
}

fn rule<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let policy = answer.header("content-security-policy").expect("a policy");
    policy.split("; ").find_map(|rule| rule.strip_prefix(name)).unwrap_or_default().trim()
}

/// Lenders that answer one after the other.
fn slow_lenders() -> Plan {
    let slow =
        |name: &str, delay: &str| partner(name).loan(&format!(r#"simulate = {{ delay = "{delay}" }}"#));
    Daemon::with_partners(vec![slow("first", "400ms"), slow("second", "900ms"), partner("prompt").loan("")])
}

/// The displays of a lead's offers, as its dossier has them.
fn displays(daemon: &Daemon, lead: &str) -> Vec<Value> {
    let dossier = daemon.command(&["lead", "export", lead]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).expect("a dossier");
    dossier["offerDisplays"].as_array().expect("a list").clone()
}

fn erase(daemon: &Daemon, table: &Value) {
    let erased = daemon.command(&["lead", "erase", table["leadUuid"].as_str().unwrap()]);
    assert!(erased.status.success(), "{}", String::from_utf8_lossy(&erased.stderr));
}

#[tokio::test]
async fn every_table_of_the_current_edition_has_its_page_and_none_of_v1() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let first = daemon.submit("{}").await.json();
    let again = format!("/leads/{}/rateTables", first["leadUuid"].as_str().unwrap());
    let polled = daemon.rate_table(first["uuid"].as_str().unwrap()).await.json();
    assert_eq!(
        (&polled["partnerPageUrl"], &polled["embedUrl"]),
        (&first["partnerPageUrl"], &first["embedUrl"])
    );
    for table in
        [first.clone(), daemon.submit_blocking("{}").await.json(), daemon.post(&again, "{}").await.json()]
    {
        let page = page_url(&table);
        assert!(page.starts_with(&format!("{}/offers/", daemon.api)), "{page}");
        assert_eq!(url(&table, "embedUrl"), format!("{page}/embed"));
        for address in [page, url(&table, "embedUrl")] {
            assert_eq!(open(&daemon, address).await.status, 200, "{address}");
        }
    }
    let v1 = [("accept", "application/vnd.offerd.v1+json")];
    let submit = format!("{}/leads/rateTables", daemon.api);
    let poll = format!("{}/originator/rateTables/{}", daemon.api, first["uuid"].as_str().unwrap());
    for (method, url, body) in [(Method::POST, submit, "{}"), (Method::GET, poll, "")] {
        let table = daemon.request_with(method, &url, &daemon.publishable, &v1, body).await.json();
        assert_eq!((table.get("partnerPageUrl"), table.get("embedUrl")), (None, None), "{url}");
    }
}

#[tokio::test]
async fn the_addresses_are_on_the_configured_base_url() {
    let plan =
        Daemon::with_partners(prompt_partners(1)).setting("api.base_url", "https://offers.example/api");
    let daemon = plan.start().await;
    let table = daemon.submit("{}").await.json();
    assert!(page_url(&table).starts_with("https://offers.example/api/offers/"), "{table}");
    assert!(url(&table, "embedUrl").starts_with("https://offers.example/api/offers/"), "{table}");
    let path = page_url(&table).replace("https://offers.example/api", "");
    let html = text(&open(&daemon, &format!("{}{path}", daemon.api)).await);
    let images = addresses(&html, "src");
    assert!(images.len() == 1 && images[0].starts_with(&format!("/api{path}/")), "{images:?}");
}

#[tokio::test]
async fn a_page_shows_the_offers_with_their_own_links_and_loads_nothing_from_elsewhere() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("").savings("")]).start().await;
    let table = daemon.submit(
        r#"{"loanInformation":{"loanAmount":10000},"creditInformation":{"providedCreditRating":"good"}}"#,
    );
    let table = table.await.json();
    let page = open(&daemon, page_url(&table)).await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let html = text(&page);
    for words in [
        "Pre-qualified",
        "APR",
        "7.00%",
        "Account of lender",
        "4.08%",
        "Not a real institution.",
        "2 offers.",
    ] {
        assert!(html.contains(words), "{words}: {html}");
    }
    let offers = [&table["loanOffers"][0], &table["savingsOffers"][0]];
    let clicks: Vec<&str> = offers.iter().map(|offer| offer["url"].as_str().unwrap()).collect();
    let [icon, links @ ..] = &addresses(&html, "href")[..] else { panic!("{html}") };
    assert_eq!(*icon, "data:,", "there is none to load");
    assert_eq!(links, clicks, "every link is a click");
    assert_eq!(open(&daemon, clicks[0]).await.status, 302);
    let images: Vec<&str> = addresses(&html, "src");
    assert!(images.len() == 2 && images.iter().all(|image| !image.contains("://")), "{images:?}");
    for secret in ["uuid", "leadUuid"] {
        assert!(!html.contains(table[secret].as_str().unwrap()), "{secret} is told");
    }
}

/// What stands in the page is known to the policy by its digest; all else is refused by the browser.
#[tokio::test]
async fn the_policy_knows_the_pages_own_style_and_script_and_nothing_else() {
    let daemon = slow_lenders().start().await;
    let table = daemon.submit(LOAN).await.json();
    let page = open(&daemon, page_url(&table)).await;
    let html = text(&page);
    for (element, name) in [("style", "style-src"), ("script", "script-src")] {
        let inside = html
            .split(&format!("<{element}>"))
            .nth(1)
            .and_then(|rest| rest.split(&format!("</{element}>")).next());
        let digest = STANDARD.encode(Sha256::digest(inside.unwrap()));
        assert_eq!(rule(&page, name), format!("'sha256-{digest}'"));
    }
    assert_eq!(rule(&page, "default-src"), "'none'");
    let policy = page.header("content-security-policy").unwrap();
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("://"), "{policy}");
    assert!(!html.contains("style=") && !html.contains("onclick"), "the policy forbids it");
    for (name, value) in [
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-robots-tag", "noindex, nofollow"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn offers_are_streamed_as_they_arrive_until_the_table_is_complete() {
    let daemon = slow_lenders().start().await;
    let table = daemon.submit(LOAN).await.json();
    let html = text(&open(&daemon, page_url(&table)).await);
    assert!(html.contains("still deciding") && html.contains("Look again"), "{html}");
    let page = page_url(&table).replace(&daemon.api, "");
    let stream = addresses(&html, "data-events")[0];
    let shown = stream.strip_prefix(&format!("{page}/events?seen=")).expect("beside the page").to_owned();

    let events = open(&daemon, &format!("{}{stream}", daemon.api)).await;
    assert_eq!((events.status, events.header("content-type")), (200, Some("text/event-stream")));
    let events = text(&events);
    let ids: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert!(
        ids.is_sorted() && ids.last() == Some(&"3") && !ids.contains(&shown.as_str()),
        "{ids:?} after {shown}"
    );
    let names = |html: &str| html.matches("<h3>").count();
    let last = events.rsplit("event: offers").next().unwrap();
    assert_eq!(names(last), 3);
    assert!(
        last.contains("3 offers. Every institution has answered.") && !last.contains("data-events"),
        "{last}"
    );
    for secret in ["uuid", "leadUuid"] {
        assert!(!events.contains(table[secret].as_str().unwrap()), "{secret} is told");
    }

    // What an `EventSource` does when the stream has ended, and what one does that has seen nothing.
    let url = format!("{}/events", page_url(&table));
    let again = daemon.request_with(Method::GET, &url, "", &[("last-event-id", "3")], "").await;
    assert_eq!((again.status, again.body.len()), (204, 0));
    assert_eq!(open(&daemon, &format!("{url}?seen=3")).await.status, 204);
    assert_eq!(names(&text(&open(&daemon, &url).await)), 3);

    // Without a script the page itself has them all.
    let complete = text(&open(&daemon, page_url(&table)).await);
    assert!(names(&complete) == 3 && !complete.contains("Look again"), "{complete}");
}

#[tokio::test]
async fn a_table_without_offers_says_so() {
    let daemon = Daemon::with_partners(Vec::new()).start().await;
    let table = daemon.submit("{}").await.json();
    let html = text(&open(&daemon, page_url(&table)).await);
    assert!(html.contains("No institution has an offer for you this time."), "{html}");
    assert!(html.contains("go back and change what you asked for"), "and how to go on: {html}");
}

/// The whole catalog: every kind of offer has its shelf, and nothing of the person is told.
#[tokio::test]
async fn every_kind_of_offer_is_shown_and_nothing_of_the_person() {
    let daemon = Daemon::with_sample_partners().start().await;
    let lead = sample("everything");
    let table = daemon.submit(&lead).await.json();
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    let html = text(&open(&daemon, page_url(&table)).await);
    let mut offers = 0;
    for (array, shelf) in [
        ("loanOffers", "Loans"),
        ("creditCardOffers", "Credit cards"),
        ("savingsOffers", "Savings"),
        ("mortgageOffers", "Mortgages"),
        ("specialOffers", "More for you"),
    ] {
        let of_kind = table[array].as_array().unwrap();
        offers += of_kind.len();
        assert_eq!(html.contains(&format!(">{shelf}</h2>")), !of_kind.is_empty(), "{shelf}");
        for offer in of_kind {
            assert!(html.contains(offer["url"].as_str().unwrap()), "{offer}");
        }
    }
    assert_eq!(html.matches("<li id=\"offer-").count(), offers);
    let lead: Value = serde_json::from_str(&lead).unwrap();
    for attribute in ["firstName", "lastName", "email", "ssn", "primaryPhone", "address1"] {
        let told =
            lead["personalInformation"][attribute].as_str().unwrap_or_else(|| panic!("no {attribute}"));
        assert!(!html.contains(told), "{attribute} is told");
    }
}

#[tokio::test]
async fn what_a_partner_wrote_is_text() {
    let file = partner("bank").savings("").replaced("Account of bank", "<script>alert(1)</script>");
    let daemon = Daemon::with_partners(vec![file]).start().await;
    let table = daemon.submit("{}").await.json();
    let html = text(&open(&daemon, page_url(&table)).await);
    assert!(html.contains("&lt;script&gt;alert(1)") && !html.contains("<script>alert"), "{html}");
}

#[tokio::test]
async fn displays_are_recorded_as_those_of_any_client() {
    let plan = Daemon::with_partners(prompt_partners(2)).setting("limits.burst_clicks_per_offer", "3");
    let daemon = plan.start().await;
    let table = daemon.submit("{}").await.json();
    let other = daemon.submit("{}").await.json();
    let lead = table["leadUuid"].as_str().unwrap();
    let offer = |table: &Value| table["savingsOffers"][0]["uuid"].as_str().unwrap().to_owned();
    let seen = |page: &str, offer: &str| format!("{page}/{offer}/seen.gif");
    let html = text(&open(&daemon, page_url(&table)).await);
    assert!(displays(&daemon, lead).is_empty(), "a page that is only asked for is not seen");

    let image = addresses(&html, "src")[0];
    let answer = open(&daemon, &format!("{}{image}", daemon.api)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/gif")));
    let recorded = displays(&daemon, lead);
    assert_eq!(recorded.len(), 1);
    for (field, of_table) in [("leadUuid", "leadUuid"), ("rateTableUuid", "uuid")] {
        assert_eq!(recorded[0][field], table[of_table]);
    }
    assert_eq!(recorded[0]["offerUuid"], offer(&table));
    let dossier = daemon.command(&["lead", "export", lead]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    assert_eq!(recorded[0]["createdBy"], dossier["lead"]["company"]);

    // Of another page, of no page, of no offer, and asked for without being shown: the pixel all the same, and no record.
    let stranger = format!("{}/offers/{STRANGER}", daemon.api);
    for url in [
        seen(page_url(&table), &offer(&other)),
        seen(page_url(&other), &offer(&table)),
        seen(&stranger, &offer(&table)),
        seen(page_url(&table), STRANGER),
        seen(page_url(&table), "nonsense"),
    ] {
        assert_eq!(open(&daemon, &url).await.body, answer.body, "{url}");
    }
    daemon.request(Method::HEAD, &seen(page_url(&table), &offer(&table)), "", "").await;
    assert_eq!(displays(&daemon, lead).len(), 1);

    // Who loads it for ever fills nothing.
    for _ in 0..60 {
        assert_eq!(open(&daemon, &seen(page_url(&table), &offer(&table))).await.status, 200);
    }
    let recorded = displays(&daemon, lead).len();
    assert!((1..40).contains(&recorded), "{recorded}");
    let metrics = daemon.metrics().await;
    assert!(
        metrics.contains(&format!(r#"offerd_offer_page_displays_total{{recorded="yes"}} {recorded}"#)),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_is_not_there_is_said_kindly() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit("{}").await.json();
    let cut = &page_url(&table)[..page_url(&table).len() - 1];
    for url in
        [cut, &format!("{}/offers/{STRANGER}", daemon.api), &format!("{}/offers/nonsense/embed", daemon.api)]
    {
        let page = open(&daemon, url).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (404, Some("text/html; charset=utf-8")),
            "{url}"
        );
        assert!(text(&page).contains("Nothing found here"), "{url}");
        assert_eq!(rule(&page, "default-src"), "'none'");
    }
    assert!(daemon.metrics().await.contains(r#"offerd_offer_pages_total{answer="unknown"} 3"#));
}

#[tokio::test]
async fn after_an_erasure_the_page_is_gone() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit("{}").await.json();
    let unknown = text(&open(&daemon, &format!("{}/offers/{STRANGER}", daemon.api)).await);
    let offer = table["savingsOffers"][0]["uuid"].as_str().unwrap();
    assert_eq!(open(&daemon, page_url(&table)).await.status, 200);
    erase(&daemon, &table);
    let gone = open(&daemon, page_url(&table)).await;
    assert_eq!((gone.status, text(&gone)), (404, unknown), "as if it had never been");
    assert_eq!(open(&daemon, url(&table, "embedUrl")).await.status, 404);
    assert_eq!(open(&daemon, &format!("{}/events", page_url(&table))).await.status, 404);
    assert_eq!(open(&daemon, &format!("{}/{offer}/seen.gif", page_url(&table))).await.status, 200);
    assert!(daemon.metrics().await.contains(r#"offerd_offer_page_displays_total{recorded="no"} 1"#));
}

/// Makes a stored table older.
pub async fn age(stopped: &Stopped, table: &Value, age: Duration) {
    let store = stopped.plan.open_store();
    let key = Uuid::try_parse(table["uuid"].as_str().unwrap()).unwrap().into_bytes();
    let head = store.get(Tree::RateTables, key).unwrap().expect("the table is stored");
    let mut head: TableHead = codec::decode(&head).unwrap();
    let then = (SystemTime::now() - age).duration_since(UNIX_EPOCH).unwrap();
    let then = i64::try_from(then.as_millis()).unwrap();
    head.deadline += then - head.created_at;
    head.created_at = then;
    store.commit(Commit::new().put(Tree::RateTables, key, codec::encode(&head))).await.unwrap();
}

#[tokio::test]
async fn a_page_expires_and_keeps_its_address_until_then() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let plan = Daemon::with_partners(prompt_partners(1)).setting("offer_pages.open_for", "2days");
    let mut daemon = plan.start().await;
    let table = daemon.submit_blocking("{}").await.json();
    let path = |daemon: &Daemon, rest: &str| {
        format!("{}/offers/{}{rest}", daemon.api, page_url(&table).rsplit('/').next().unwrap())
    };
    for (hours, status) in [(47, 200), (49, 410)] {
        let (_, stopped) = daemon.terminate();
        age(&stopped, &table, hours * HOUR).await;
        daemon = stopped.start().await;
        for rest in ["", "/embed", "/events"] {
            let answer = open(&daemon, &path(&daemon, rest)).await;
            assert_eq!(answer.status, status, "{rest} after {hours} hours");
        }
    }
    let expired = open(&daemon, &path(&daemon, "")).await;
    assert!(text(&expired).contains("These offers have expired"), "{}", text(&expired));
    let offer = table["savingsOffers"][0]["uuid"].as_str().unwrap();
    assert_eq!(open(&daemon, &path(&daemon, &format!("/{offer}/seen.gif"))).await.status, 200);
    assert!(displays(&daemon, table["leadUuid"].as_str().unwrap()).is_empty());
    // It is the page that has expired; the offers have their own 31 days.
    assert_eq!(open(&daemon, &format!("{}/click/{offer}", daemon.api)).await.status, 302);
    erase(&daemon, &table);
    assert_eq!(
        open(&daemon, &path(&daemon, "")).await.status,
        404,
        "what is erased has not expired: it never was"
    );
}

#[tokio::test]
async fn an_offer_that_has_ended_is_shown_so_without_a_link_and_its_click_is_answered_with_a_page() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let until = "minimum_deposit = 0\nvalid_for = \"14days\"";
    let short = partner("short").savings("").replaced("minimum_deposit = 0", until);
    let mut daemon = Daemon::with_partners(vec![short, partner("long").savings("")]).start().await;
    let table = daemon.submit_blocking("{}").await.json();
    let page =
        |daemon: &Daemon| format!("{}/offers/{}", daemon.api, page_url(&table).rsplit('/').next().unwrap());
    // Links, offers that are still to end, those that have ended, images that record a display.
    for (days, counts) in [(0, [2, 1, 0, 2]), (13, [2, 1, 0, 2]), (15, [1, 0, 1, 1])] {
        let (_, stopped) = daemon.terminate();
        age(&stopped, &table, days * DAY).await;
        daemon = stopped.start().await;
        let html = text(&open(&daemon, &page(&daemon)).await);
        let marks = ["class=\"go\"", "data-ends-in=\"", "has ended.</p>", "/seen.gif\""];
        assert_eq!(marks.map(|mark| html.matches(mark).count()), counts, "after {days} days: {html}");
    }
    let offers = table["savingsOffers"].as_array().unwrap();
    let short = offers.iter().find(|offer| offer["details"]["name"] == "Account of short").unwrap();
    let click = format!("{}/click/{}", daemon.api, short["uuid"].as_str().unwrap());
    let navigated = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (accept, kind) in [
        (navigated, "text/html; charset=utf-8"),
        ("TEXT/HTML", "text/html; charset=utf-8"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
    ] {
        let answer = daemon.request_with(Method::GET, &click, "", &[("accept", accept)], "").await;
        assert_eq!((answer.status, answer.header("content-type")), (410, Some(kind)), "{accept}");
        if kind.starts_with("text/html") {
            assert!(text(&answer).contains("This offer has ended") && answer.body.len() < 10_000, "{accept}");
            assert!(answer.header("content-security-policy").is_some());
        }
    }
}

#[tokio::test]
async fn no_site_shows_it_in_a_frame_unless_the_settings_name_it() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit("{}").await.json();
    for field in ["partnerPageUrl", "embedUrl"] {
        assert_eq!(rule(&open(&daemon, url(&table, field)).await, "frame-ancestors"), "'none'", "{field}");
    }
    let plan = Daemon::with_partners(prompt_partners(1));
    let origins = "https://shop.example,https://*.shop.example";
    let daemon = plan.variable("OFFERD__OFFER_PAGES__FRAME_ANCESTORS", origins).start().await;
    let table = daemon.submit("{}").await.json();
    let framed = open(&daemon, url(&table, "embedUrl")).await;
    assert_eq!(rule(&framed, "frame-ancestors"), "https://shop.example https://*.shop.example");
    assert!(text(&framed).contains("class=\"framed\""));
    assert_eq!(
        rule(&open(&daemon, page_url(&table)).await, "frame-ancestors"),
        "'none'",
        "it stands by itself"
    );
    let image = addresses(&text(&framed), "src")[0].to_owned();
    assert_eq!(open(&daemon, &format!("{}{image}", daemon.api)).await.status, 200);
    assert_eq!(displays(&daemon, table["leadUuid"].as_str().unwrap()).len(), 1);
}

#[tokio::test]
async fn an_institution_has_one_card_with_its_terms_each_with_the_basis_of_its_payment() {
    let lender = partner("lender").loan("").replaced("terms = [36]", "terms = [36, 60]");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit(LOAN).await.json();
    let offers = table["loanOffers"].as_array().unwrap();
    let html = text(&open(&daemon, page_url(&table)).await);
    assert_eq!((offers.len(), html.matches("<h3>").count()), (2, 1), "{html}");
    for basis in ["a month for $10,000 over 36 months", "a month for $10,000 over 60 months"] {
        assert_eq!(html.matches(basis).count(), 1, "{basis}: {html}");
    }
    let least = offers[0]["minMonthlyPayment"].as_f64().unwrap();
    assert!(html.contains(&format!("<b>${least:.2}")), "{least}: {html}");
}

#[tokio::test]
async fn a_mortgage_names_the_amount_that_its_payment_is_for() {
    let daemon = Daemon::with_sample_partners().start().await;
    let lead = sample("mortgage_purchase");
    let amount = &serde_json::from_str::<Value>(&lead).unwrap()["mortgageInformation"]["mortgageAmount"];
    let table = daemon.submit(lead).await.json();
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    let html = text(&open(&daemon, page_url(&table)).await);
    let thousands = amount.as_i64().unwrap() / 1000;
    let basis = format!("a month for ${thousands},{:03} over 30 years", amount.as_i64().unwrap() % 1000);
    assert!(html.contains(&basis), "{basis}: {html}");
}

#[tokio::test]
async fn a_page_links_back_to_the_sites_that_may_show_it_and_to_no_other() {
    let plan = Daemon::with_partners(Vec::new());
    let plan = plan.variable("OFFERD__OFFER_PAGES__FRAME_ANCESTORS", "https://shop.example");
    let daemon = plan.start().await;
    let table = daemon.submit("{}").await.json();
    let missing = format!("{}/offers/{STRANGER}", daemon.api);
    for page in [page_url(&table), url(&table, "embedUrl"), &missing] {
        let of = |back: &str| format!("{page}?return={back}");
        let html = text(&open(&daemon, &of("https%3A%2F%2Fshop.example%2Floans%3Fstep%3D2")).await);
        assert!(html.contains("href=\"https://shop.example/loans?step=2\" target=\"_top\""), "{html}");
        assert!(html.contains("Back to shop.example"), "{html}");
        for elsewhere in ["https%3A%2F%2Fevil.example", "javascript:alert(1)", "%2F%2Fevil.example", ""] {
            let html = text(&open(&daemon, &of(elsewhere)).await);
            assert!(!html.contains("target=\"_top\"") && !html.contains("evil"), "{elsewhere}: {html}");
        }
    }
}

/// Whatever pages of other origins may call, they read none of this.
#[tokio::test]
async fn no_page_of_another_origin_reads_it() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit("{}").await.json();
    let offer = table["savingsOffers"][0]["uuid"].as_str().unwrap();
    for rest in ["", "/embed", "/events", "/events?seen=1", &format!("/{offer}/seen.gif")] {
        let url = format!("{}{rest}", page_url(&table));
        let origin = [("origin", "https://shop.example")];
        let answer = daemon.request_with(Method::GET, &url, "", &origin, "").await;
        assert!([200, 204].contains(&answer.status), "{rest}: {}", answer.status);
        assert_eq!(answer.header("access-control-allow-origin"), None, "{rest}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{rest}");
    }
}

#[tokio::test]
async fn a_page_has_the_name_and_the_colours_of_its_company() {
    let plan = Daemon::with_partners(prompt_partners(1));
    plan.write_settings(
        "[offer_pages]\ncolour = \"#9d174d\"\n[offer_pages.companies.Live]\nname = \"Lively & Co\"\ncolour = \"#1d4ed8\"\n",
    );
    let daemon = plan.start().await;
    let of_test = text(&open(&daemon, page_url(&daemon.submit("{}").await.json())).await);
    assert!(of_test.contains("--brand: #9d174d") && !of_test.contains("Lively"), "{of_test}");
    assert!(of_test.contains("These offers are a test"), "who is shown a test is told so");
    let daemon = daemon.with_live_company();
    let table = daemon.submit("{}").await.json();
    let page = open(&daemon, page_url(&table)).await;
    let html = text(&page);
    assert!(html.contains("--brand: #1d4ed8") && html.contains("Lively &amp; Co"), "{html}");
    assert!(!html.contains("These offers are a test"), "{html}");
    let framed = text(&open(&daemon, url(&table, "embedUrl")).await);
    assert!(!framed.contains("<header"), "the site around it has its own");
}

/// Every page with its own address: as many as there are tables, and the same after a restart.
#[tokio::test]
async fn a_page_keeps_its_address_over_a_restart() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit("{}").await.json();
    let path = page_url(&table).replace(&daemon.api, "");
    let daemon = daemon.kill().start().await;
    assert_eq!(open(&daemon, &format!("{}{path}", daemon.api)).await.status, 200);
    let after = daemon.rate_table(table["uuid"].as_str().unwrap()).await.json();
    assert!(page_url(&after).ends_with(&path), "{after}");
    assert_eq!(json!(page_url(&after)), after["partnerPageUrl"]);
}

#[tokio::test]
async fn displays_that_images_tell_of_are_kept_up_to_a_limit_over_a_restart() {
    let plan = Daemon::with_partners(prompt_partners(2)).setting("limits.displays_kept_per_offer", "3");
    let daemon = plan.start().await;
    let table = daemon.submit("{}").await.json();
    let (lead, offers) = (url(&table, "leadUuid"), table["savingsOffers"].as_array().unwrap());
    let offer = |nth: usize| offers[nth]["uuid"].as_str().unwrap();
    let page = page_url(&table).replace(&daemon.api, "");
    let images = |nth: usize| {
        let pixel = format!("/uiEvent/offerDisplays/{lead}/{}/{}/pixel.gif", url(&table, "uuid"), offer(nth));
        [pixel, format!("{page}/{}/seen.gif", offer(nth))]
    };
    let load = async |daemon: &Daemon, nth: usize| {
        for image in images(nth) {
            let answer = open(daemon, &format!("{}{image}", daemon.api)).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/gif")), "{image}");
        }
    };
    for _ in 0..4 {
        load(&daemon, 0).await;
    }
    load(&daemon, 1).await;
    let kept = |daemon: &Daemon, nth: usize| {
        displays(daemon, lead).iter().filter(|display| display["offerUuid"] == offer(nth)).count()
    };
    assert_eq!((kept(&daemon, 0), kept(&daemon, 1)), (3, 2));
    assert!(daemon.metrics().await.contains("offerd_offer_displays_cut_total 5"));

    let daemon = daemon.kill().start().await;
    load(&daemon, 0).await;
    let told = json!({"leadUuid": lead, "rateTableUuid": table["uuid"], "offerUuid": offer(0)});
    assert_eq!(daemon.post("/uiEvent/offerDisplays", told.to_string()).await.status, 201);
    assert_eq!(kept(&daemon, 0), 4, "a client that shows its token is believed");
}
