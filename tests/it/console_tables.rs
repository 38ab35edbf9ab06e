//! Rate tables in the console: found by any of their uuids, shown as recorded, persons masked until revealed.

use hyper::Method;
use serde_json::{Value, json};

use crate::console::{csrf, html, kept_open, page, send};
use crate::kit::Daemon;
use crate::kit::partners::partner;

const SSN: &str = "536-22-8714";

/// A lead that tells its partners how to answer.
fn lead(sandbox: &[&str]) -> String {
    let lead = json!({
        "productTypes": ["loan", "other"],
        "personalInformation": {"firstName": "Marenka", "ssn": SSN, "state": "WA"},
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"},
        "clientTags": {"sandbox": sandbox},
    });
    lead.to_string()
}

async fn daemon() -> Daemon {
    let slow = partner("slow").loan("").replaced("timeout = \"10s\"", "timeout = \"400ms\"");
    let picky = partner("picky").loan("eligibility = { \"personalInformation.state\" = { in = [\"NY\"] } }");
    let second = partner("second").second_look(3.0, "");
    let partners = vec![partner("bank").loan(""), slow, picky, partner("saver").savings(""), second];
    Daemon::with_partners(partners).start().await
}

async fn submitted(daemon: &Daemon, lead: &str) -> Value {
    let answer = daemon.submit_blocking(lead).await;
    assert_eq!(answer.status, 200, "{}\n{}", String::from_utf8_lossy(&answer.body), daemon.log());
    answer.json()
}

fn path(table: &Value) -> String {
    format!("/console/rateTables/{}", table["uuid"].as_str().unwrap())
}

#[tokio::test]
async fn a_table_is_found_by_each_uuid_and_tells_who_was_asked_and_why_others_did_not_offer() {
    let daemon = daemon().await;
    let table = submitted(&daemon, &lead(&["slow=timed_out"])).await;
    let list = html(&daemon, "/console/rateTables").await;
    assert!(list.contains(&path(&table)) && list.contains("complete"), "{list}");

    let offer = &table["loanOffers"][0]["uuid"];
    for uuid in [&table["uuid"], &table["leadUuid"], offer] {
        let uuid = uuid.as_str().unwrap();
        let sent = page(&daemon, &format!("/console/rateTables?find={uuid}")).await;
        let by_uuid = page(&daemon, &format!("/console/rateTables?uuid={uuid}")).await;
        assert_eq!(by_uuid.header("location"), sent.header("location"));
        let location = sent.header("location").unwrap().to_owned();
        assert_eq!((sent.status, location.starts_with(&path(&table))), (303, true), "{location}");
        let anchor = location.split_once('#').map(|(_, anchor)| anchor.to_owned());
        assert_eq!(anchor, (uuid == offer).then(|| format!("offer-{}", offer.as_str().unwrap())));
        let found = html(&daemon, &location).await;
        assert!(anchor.is_none_or(|anchor| found.contains(&format!("id=\"{anchor}\""))), "it is there");
        assert!(found.contains("<h1>Rate table</h1>"), "{uuid}");
        assert!(found.contains("1 offer · ") && found.contains("timed out · "), "{found}");
        assert!(found.contains("as the client tag"), "the cause is told");
        assert!(found.contains("<td data-label=\"Had\" class=\"num\">400 ms</td>"), "and so is the budget");
        assert!(found.contains("second look was not needed"));
        assert!(
            found.contains("<code>personalInformation.state</code> in NY<span class=\"found\">WA</span>")
        );
        assert!(found.contains("1 partner product not requested by this lead"));
        assert!(found.contains(offer.as_str().unwrap()), "the offer stands as the client sees it");
        assert!(!found.contains(SSN) && !found.contains("Marenka"), "a person is masked");
    }
}

#[tokio::test]
async fn second_look_is_drawn_where_it_began() {
    let daemon = daemon().await;
    let table = submitted(&daemon, &lead(&["bank=declined", "slow=unreachable"])).await;
    let page = html(&daemon, &path(&table)).await;
    assert!(page.contains("class=\"second\"") && page.contains("Second look began after"), "{page}");
    assert!(page.contains("nothing for this lead") && page.contains("not reached"), "{page}");
}

#[tokio::test]
async fn what_no_record_has_is_said_and_not_invented() {
    let daemon = daemon().await;
    assert!(html(&daemon, "/console/rateTables").await.contains("No lead has asked for a rate table yet"));
    assert!(html(&daemon, "/console/rateTables?find=tomorrow").await.contains("This is not a uuid"));
    let nobody = "01a1fcce-e71a-773e-b126-244629fac000";
    let missing = html(&daemon, &format!("/console/rateTables?find={nobody}")).await;
    assert!(missing.contains("No lead, rate table or offer has this uuid"));
    assert_eq!(page(&daemon, &format!("/console/rateTables/{nobody}")).await.status, 404);
    assert_eq!(page(&daemon, "/console/rateTables/tomorrow").await.status, 400);
}

/// What an address says that nothing is known of is said beside the form, and nothing is looked for meanwhile.
#[tokio::test]
async fn a_search_for_what_there_is_not_says_so_beside_the_form() {
    let daemon = daemon().await;
    let table = submitted(&daemon, &lead(&[])).await;
    let nonsense = "company=Nope&product=boat&outcome=maybe&slow=-1&from=tomorrow&to=2026-02-30&before=x";
    let told = html(&daemon, &format!("/console/rateTables?{nonsense}")).await;
    for wanted in [
        "company must be the uuid of a company, got <code>Nope</code>",
        "product must be one of ",
        "outcome must be one of offers, no_offers, failed, timed_out, got <code>maybe</code>",
        "slow must be one of 1, 3, 5, 10 seconds, got <code>-1</code>",
        "from must be a day, such as 2026-11-24, got <code>tomorrow</code>",
        "to must be a day, such as 2026-11-24, got <code>2026-02-30</code>",
        "before must be the uuid of a rate table, got <code>x</code>",
        "<select name=\"outcome\">",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert!(!told.contains(&path(&table)) && !told.contains("No match among"), "{told}");
    let turned = html(&daemon, "/console/rateTables?from=2026-11-02&to=2026-11-01").await;
    assert!(turned.contains("from must be no later than to"), "{turned}");
    let found = html(&daemon, "/console/rateTables?outcome=offers&product=loan").await;
    assert!(found.contains(&path(&table)), "{found}");
    let left = html(&daemon, "/console/rateTables?partner=nobody").await;
    let kept = "<option value=\"nobody\" selected>nobody (has no file)</option>";
    assert!(left.contains(kept) && left.contains("No match among the 1 rate tables searched"), "{left}");
}

#[tokio::test]
async fn a_search_that_stops_at_its_limit_says_so_and_goes_on_from_there() {
    let daemon = Daemon::with_partners(vec![partner("bank").loan("")])
        .setting("console.tables_read", "20")
        .start()
        .await;
    let first = submitted(&daemon, &lead(&["bank=declined"])).await;
    for _ in 0..20 {
        submitted(&daemon, &lead(&[])).await;
    }
    let stopped = html(&daemon, "/console/rateTables?outcome=no_offers").await;
    assert!(stopped.contains("this one covered 20") && stopped.contains("Continue the search"), "{stopped}");
    assert!(daemon.metrics().await.contains("offerd_console_searches_stopped_total 1"));
    let next = stopped.split("href=\"/console/rateTables?").find(|rest| rest.contains("before=")).unwrap();
    let next = next.split('"').next().unwrap().replace("&amp;", "&");
    let found = html(&daemon, &format!("/console/rateTables?{next}")).await;
    assert!(found.contains(&path(&first)), "{next}: {found}");
}

#[tokio::test]
async fn one_attribute_of_a_person_is_revealed_by_our_own_form_and_audited() {
    let daemon = daemon().await;
    let table = submitted(&daemon, &lead(&[])).await;
    let masked = html(&daemon, &path(&table)).await;
    let reveal = format!("{}/reveal", path(&table));
    let attribute = |path| ("reveal", path);

    let forged = send(&daemon, &reveal, &[attribute("personalInformation.ssn")], &[]).await;
    assert_eq!(forged.status, 403);
    let csrf = csrf(&masked);
    let (token, reason) = (("csrf", csrf.as_str()), ("reason", "they asked what we hold"));
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let forged = send(&daemon, &reveal, &[token, attribute("personalInformation.ssn")], &elsewhere).await;
    assert_eq!(forged.status, 403);
    for wrong in ["personalInformation.state", "personalInformation", "everything"] {
        let refused = send(&daemon, &reveal, &[token, reason, attribute(wrong)], &[]).await;
        assert_eq!(refused.status, 400, "{wrong}");
    }
    for reason in ["", " ", &"x".repeat(201)] {
        let fields = [token, ("reason", reason), attribute("personalInformation.ssn")];
        assert_eq!(send(&daemon, &reveal, &fields, &[]).await.status, 400, "{reason:?} is no reason");
    }
    assert!(!daemon.log().contains("personal_data.reveal"));

    let shown =
        send(&daemon, &reveal, &[token, reason, attribute("personalInformation.firstName")], &[]).await;
    let text = String::from_utf8(shown.body.to_vec()).unwrap();
    assert_eq!(shown.status, 200);
    assert!(text.contains("Marenka") && !text.contains(SSN), "only what was asked for is revealed");
    let kept = "<input type=\"hidden\" name=\"reveal\" value=\"personalInformation.firstName\">";
    assert!(text.contains(kept), "what is revealed next is seen with it: {text}");
    daemon.logged("personal_data.reveal").await;
    daemon.logged("personalInformation.firstName").await;
    let shown = send(&daemon, &reveal, &[token, reason, attribute("personalInformation.ssn")], &[]).await;
    let text = String::from_utf8(shown.body.to_vec()).unwrap();
    assert!(text.contains(SSN) && !text.contains("Marenka"));
    let both =
        [token, reason, attribute("personalInformation.firstName"), attribute("personalInformation.ssn")];
    let shown = send(&daemon, &reveal, &both, &[]).await;
    let text = String::from_utf8(shown.body.to_vec()).unwrap();
    assert!(text.contains(SSN) && text.contains("Marenka"), "they can be seen together");
    let forged =
        [token, reason, attribute("personalInformation.ssn"), attribute("personalInformation.state")];
    assert_eq!(send(&daemon, &reveal, &forged, &[]).await.status, 400);
    assert!(!html(&daemon, &path(&table)).await.contains(SSN), "and it is masked again");
    let opened = page(&daemon, &reveal).await;
    assert_eq!((opened.status, opened.header("location")), (303, Some(path(&table).as_str())));
}

#[tokio::test]
async fn an_open_table_is_sent_anew_until_it_is_complete() {
    let silence = r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#;
    let silent = partner("silent").loan(silence).replaced("timeout = \"10s\"", "timeout = \"2500ms\"");
    let daemon = Daemon::with_partners(vec![silent]).start().await;
    let table = daemon.submit(lead(&[])).await.json();
    // One a second; the last comes when its time is over.
    let sent = kept_open(&daemon, &path(&table), 4).await;
    let states: Vec<&str> = sent.split("id=\"table-state\" data-live>").skip(1).collect();
    assert!(states.len() >= 2, "{sent}");
    assert!(states[0].starts_with("<span class=\"pill warn\">open"), "{sent}");
    let last = states[states.len() - 1];
    assert!(last.starts_with("<span class=\"pill good\">complete after"), "{sent}");
    let after = kept_open(&daemon, &path(&table), 2).await;
    assert_eq!(after.matches("<h1").count(), 1, "then it never changes again: {after}");
}

#[tokio::test]
async fn of_a_person_who_was_erased_nothing_is_told() {
    let daemon = daemon().await;
    let table = submitted(&daemon, &lead(&[])).await;
    let lead = table["leadUuid"].as_str().unwrap();
    let erased = daemon.command(&["lead", "erase", lead]);
    assert!(erased.status.success(), "{}", String::from_utf8_lossy(&erased.stderr));
    for uuid in [lead, table["uuid"].as_str().unwrap()] {
        let found = html(&daemon, &format!("/console/rateTables?find={uuid}")).await;
        assert!(found.contains("was erased"), "{found}");
    }
    assert_eq!(page(&daemon, &path(&table)).await.status, 404);
}

/// The uuids of a list, in its order.
fn listed(page: &str) -> Vec<String> {
    let links = page.split("<a class=\"mono nowrap\" href=\"/console/rateTables/").skip(1);
    links.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

async fn found(daemon: &Daemon, query: &str) -> Vec<String> {
    listed(&html(daemon, &format!("/console/rateTables?{query}")).await)
}

#[tokio::test]
async fn tables_are_found_by_company_product_partner_outcome_time_and_by_what_went_wrong() {
    let daemon = daemon().await;
    let uuid = |table: &Value| table["uuid"].as_str().unwrap().to_owned();
    let good = uuid(&submitted(&daemon, &lead(&[])).await);
    let late = uuid(&submitted(&daemon, &lead(&["slow=timed_out"])).await);
    let saver = uuid(&submitted(&daemon, &json!({ "productTypes": ["savings"] }).to_string()).await);
    let empty = json!({ "productTypes": ["mortgage"] }).to_string();
    let empty = uuid(&submitted(&daemon, &empty).await);

    let all = [empty.clone(), saver.clone(), late.clone(), good.clone()];
    assert_eq!(found(&daemon, "").await, all, "the latest first");
    assert_eq!(found(&daemon, "product=savings").await, std::slice::from_ref(&saver));
    assert_eq!(found(&daemon, "partner=saver").await, [saver]);
    assert_eq!(found(&daemon, "partner=slow&outcome=timed_out").await, [late]);
    assert_eq!(found(&daemon, "none=yes").await, [empty]);
    assert_eq!(found(&daemon, "slow=10").await, [""; 0]);
    assert_eq!(found(&daemon, "to=2020-01-01").await, [""; 0]);
    assert_eq!(found(&daemon, "from=2020-01-01").await, all);
    let told = html(&daemon, "/console/rateTables").await;
    assert!(told.contains("<td data-label=\"Amount\" class=\"num\">$10,000</td>"), "{told}");
}

#[tokio::test]
async fn pages_go_on_where_the_one_before_ended() {
    let daemon = Daemon::with_partners(vec![partner("saver").savings("")]).start().await;
    let mut made = Vec::new();
    for _ in 0..45 {
        let table = submitted(&daemon, &json!({ "productTypes": ["savings"] }).to_string()).await;
        made.insert(0, table["uuid"].as_str().unwrap().to_owned());
    }
    let (mut shown, mut query) = (Vec::new(), "product=savings".to_owned());
    for _ in 0..3 {
        let page = html(&daemon, &format!("/console/rateTables?{query}")).await;
        shown.extend(listed(&page));
        let next = page.split("<a class=\"chip\" href=\"/console/rateTables?").nth(1);
        query = next.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).unwrap_or_default();
    }
    assert_eq!(shown, made, "each once, in order");
}

#[tokio::test]
async fn a_table_tells_what_it_has_brought() {
    let daemon = daemon().await;
    let table = submitted(&daemon, &lead(&[])).await;
    let before = html(&daemon, &path(&table)).await;
    assert!(before.contains("0 clicks on these offers; the lead has earned $0"), "{before}");
    let click = table["loanOffers"][0]["url"].as_str().unwrap().to_owned();
    assert!((300..400).contains(&daemon.request(Method::GET, &click, "", "").await.status));
    let after = html(&daemon, &path(&table)).await;
    assert!(after.contains("1 click on these offers") && after.contains("later events"), "{after}");
}

#[tokio::test]
async fn tables_are_found_by_the_client_tags_of_their_leads() {
    let daemon = daemon().await;
    let tagged = async |tags: Value| {
        let lead = json!({ "productTypes": ["savings"], "clientTags": tags });
        submitted(&daemon, &lead.to_string()).await
    };
    let spring = tagged(json!({ "campaign": ["spring"], "note": ["kept back"] })).await;
    let both = tagged(json!({ "campaign": ["autumn", "spring"], "affiliate": ["7=b"] })).await;
    tagged(json!({ "campaign": ["springtime"], "affiliate": ["spring"] })).await;
    let uuid = |table: &Value| table["uuid"].as_str().unwrap().to_owned();

    let of_spring = [uuid(&both), uuid(&spring)];
    assert_eq!(found(&daemon, "tag=campaign%3Dspring").await, of_spring);
    assert_eq!(found(&daemon, "tag=+campaign+%3D+spring+&product=savings").await, of_spring);
    assert_eq!(found(&daemon, "tag=campaign%3Dspring&product=loan").await, [""; 0]);
    assert_eq!(found(&daemon, "tag=campaign%3Dspring&tag=affiliate%3D7%3Db").await, [uuid(&both)]);
    assert_eq!(found(&daemon, "tag=Campaign%3Dspring").await, [""; 0]);
    let kept = html(&daemon, "/console/rateTables?tag=campaign%3Dspring").await;
    assert!(kept.contains("name=\"tag\" value=\"campaign=spring\""), "it stays in the form: {kept}");
    for nonsense in ["spring", "=spring"] {
        let told = html(&daemon, &format!("/console/rateTables?tag={nonsense}")).await;
        let fault = "tag must be a client tag and its value, such as campaign=spring, got <code>";
        assert!(told.contains(&format!("{fault}{nonsense}</code>")), "{told}");
    }

    let one = html(&daemon, &path(&spring)).await;
    assert!(
        one.contains("href=\"/console/rateTables?tag=campaign%3Dspring\">others with this tag</a>"),
        "{one}"
    );
    assert!(!one.contains("kept back"), "only tags that are counted are shown: {one}");
    let erased = daemon.command(&["lead", "erase", both["leadUuid"].as_str().unwrap()]);
    assert!(erased.status.success(), "{}", String::from_utf8_lossy(&erased.stderr));
    assert_eq!(found(&daemon, "tag=campaign%3Dspring").await, [uuid(&spring)]);
}
