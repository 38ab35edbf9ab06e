//! Partners that are asked for a bid before they are sent the lead: ping, then post.

use std::sync::Arc;

use hyper::Method;
use offerd::analytics::{Events, Payouts};
use offerd::model::EventType;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kit::far_partners::{bidding, buyer, explained, explains, offers, posts};
use crate::kit::far_side::{Deed, FarSide, Received};
use crate::kit::partners::partner;
use crate::kit::{Daemon, PartnerFile, sample};

#[tokio::test]
async fn only_who_is_chosen_by_its_bid_is_sent_the_person_and_the_bid_pays() {
    let (high, low, floored, none) = (
        bidding(json!(9.5)).await,
        bidding(json!("4.20")).await,
        bidding(json!(1.0)).await,
        bidding(json!(0)).await,
    );
    let daemon = Daemon::with_partners(vec![
        buyer("high", &high, "best = 1\nwait = \"2s\""),
        buyer("low", &low, "best = 1"),
        buyer("floored", &floored, "floor = 5.0"),
        buyer("none", &none, ""),
    ])
    .start()
    .await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let offers = table["loanOffers"].as_array().unwrap();
    assert_eq!(offers.len(), 2, "{table} {}", daemon.log());
    assert!(
        offers.iter().all(|offer| offer["originator"]["key"] == "high" && offer["payout"] == 9.5),
        "{table}"
    );
    for far in [&high, &low, &floored, &none] {
        let pings: Vec<_> =
            far.received().into_iter().filter(|request| request.head.starts_with("POST /ping")).collect();
        assert_eq!(pings.len(), 1);
        assert!(
            !pings[0].body.contains("536-22-8714")
                && !pings[0].body.contains(table["leadUuid"].as_str().unwrap())
        );
    }
    assert_eq!([&high, &low, &floored, &none].map(|far| posts(far).len()), [1, 0, 0, 0]);
    let post: Value = serde_json::from_str(&posts(&high)[0].body).unwrap();
    assert_eq!(post, json!({"ping": "P-7", "price": 9.5, "ssn": "536-22-8714"}));
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    for said in [
        "its bid of $9.50 was taken",
        "its bid of $4.20 is number 2 of the bids, and only the best gets the lead",
        "its bid of $1.00 is below its floor of $5.00",
        "none, loan   has nothing for this lead",
        "its bid is no, or 0",
    ] {
        assert!(why.contains(said), "{said} is not in {why}");
    }
}

#[tokio::test]
async fn a_ping_that_names_a_person_is_a_fault_of_the_file() {
    let far = bidding(json!(1)).await;
    let named = [
        "lead.personalInformation.email",
        "lead.personalInformation",
        "lead",
        "lead['personalInformation']['ssn']",
        "lead_uuid",
        "lead.clientTags.source",
    ];
    let daemon = Daemon::with_partners(vec![partner("prompt").savings("")]).start().await;
    for name in named {
        let file = buyer("buyer", &far, "")
            .replaced("state = \"lead.personalInformation.state\"", &format!("state = \"{name}\""));
        file.write(daemon.partners());
        let check = daemon.command(&["check"]);
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert_eq!(check.status.code(), Some(64), "{name}: {said}");
        assert!(
            said.contains("buyer.toml:") && said.contains("steps[0].json.state` uses "),
            "{name}: {said}"
        );
    }
    // Nor by way of what is kept for the next call, or of who we are.
    let keep = ("keep = { ping = \"response.ping\" }", "keep = { ping = \"lead.personalInformation.ssn\" }");
    let auth = (
        "[products.loan.http.post]",
        "[products.loan.http.auth.basic]\nuser = \"lead.personalInformation.email\"\npassword = \"'x'\"\n[products.loan.http.post]",
    );
    for ((plain, named), key) in [(keep, "steps[0].keep.ping"), (auth, "auth.basic.user")] {
        buyer("buyer", &far, "").replaced(plain, named).write(daemon.partners());
        let check = daemon.command(&["check"]);
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert_eq!(check.status.code(), Some(64), "{key}: {said}");
        assert!(
            said.contains("buyer.toml:") && said.contains(&format!("{key}` uses `lead.")),
            "{key}: {said}"
        );
    }
}

#[tokio::test]
async fn nobody_is_posted_twice_when_the_daemon_is_killed_before_the_post_is_answered() {
    let far = FarSide::start(|request| match request.head.starts_with("POST /ping") {
        true => Deed::Json(200, json!({"bid": 7, "ping": "P-7"}).to_string()),
        false => Deed::Silence,
    })
    .await;
    let daemon =
        Daemon::with_partners(vec![buyer("buyer", &far, "").replaced("\"3s\"", "\"8s\"")]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    far.until(|received| received.iter().any(|request| request.head.starts_with("POST /post"))).await;
    let daemon = daemon.kill().start().await;
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"], json!([]));
    assert_eq!(posts(&far).len(), 1);
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("was sent the lead before a restart; its answer is unknown"), "{why}");
}

/// With `idempotent = false` a second ping does harm too.
#[tokio::test]
async fn nobody_who_says_that_a_second_post_does_harm_is_pinged_twice_over_a_kill() {
    let far = FarSide::start(|_| Deed::Silence).await;
    let buyer = |key: &str, wire: &str, post: &str| {
        let buyer = buyer(key, &far, post).replaced("\"3s\"", "\"8s\"");
        buyer
            .replaced("wire = {", &format!("wire = {{ {wire}"))
            .replaced("/ping\"", &format!("/ping?{key}\""))
            .replaced("/ping\"", &format!("/ping?{key}\""))
    };
    let harmed = "idempotent = false,";
    let partners = vec![
        buyer("chosen", harmed, ""),
        buyer("shown", harmed, "when = \"shown\""),
        buyer("unsaid", "", ""),
    ];
    let daemon = Daemon::with_partners(partners).setting("matching.deadline", "12s").start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let pings = |received: &[Received], key: &str| {
        received.iter().filter(|request| request.head.starts_with(&format!("POST /ping?{key} "))).count()
    };
    far.until(|received| ["chosen", "shown", "unsaid"].iter().all(|key| pings(received, key) == 1)).await;
    let daemon = daemon.kill().start().await;
    far.until(|received| pings(received, "unsaid") == 2).await;
    daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(["chosen", "shown"].map(|key| pings(&far.received(), key)), [1, 1]);
}

#[tokio::test]
async fn nobody_is_posted_twice_for_other_tables_of_the_same_lead_also_of_tables_at_once() {
    let far = bidding(json!(7)).await;
    let daemon = Daemon::with_partners(vec![buyer("buyer", &far, "")]).start().await;
    let lead =
        daemon.post("/leads", &sample("personal_loan")).await.json()["uuid"].as_str().unwrap().to_owned();
    let table = async || {
        let table = daemon.post(&format!("/leads/{lead}/rateTables"), "").await.json();
        daemon.complete(table["uuid"].as_str().unwrap()).await
    };
    let at_once = tokio::join!(table(), table(), table());
    let tables = [at_once.0, at_once.1, at_once.2, table().await];
    let told = tables
        .iter()
        .filter(|table| explained(&daemon, table).contains("it already got the lead for another rate table"));
    assert_eq!(told.count(), 3, "{}", daemon.log());
    assert_eq!(posts(&far).len(), 1);
    let sold =
        tables.iter().filter(|table| table["loanOffers"].as_array().is_some_and(|offers| !offers.is_empty()));
    assert_eq!(sold.count(), 1);
}

/// `null` is how many partners say that they have none.
#[tokio::test]
async fn a_bid_of_null_declines_and_explain_says_so() {
    let far = bidding(json!(null)).await;
    let daemon = Daemon::with_partners(vec![buyer("buyer", &far, "")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert!(posts(&far).is_empty());
    let why = explained(&daemon, &table);
    assert!(why.contains("the answer has no bid"), "{why}");
}

#[tokio::test]
async fn what_is_no_bid_is_no_decline() {
    for bid in [json!(""), json!([]), json!({})] {
        let far = bidding(bid).await;
        let daemon = Daemon::with_partners(vec![buyer("buyer", &far, "")]).start().await;
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        let why = explained(&daemon, &table);
        assert!(why.contains("`steps[0].bid` must be dollars"), "{why}");
    }
}

#[tokio::test]
async fn why_a_bid_is_not_taken_is_told_as_it_was() {
    let (one, other, unpriced) =
        (bidding(json!(6)).await, bidding(json!(6)).await, bidding(json!(true)).await);
    let told = Arc::new(Notify::new());
    let tells = Arc::clone(&told);
    let late = FarSide::start(move |_| {
        Deed::JsonWhenTold(Arc::clone(&told), json!({"bid": 50, "ping": "P-7"}).to_string())
    })
    .await;
    let daemon = Daemon::with_partners(vec![
        buyer("one", &one, "best = 1\nwait = \"300ms\""),
        buyer("other", &other, "best = 1\nwait = \"300ms\""),
        buyer("unpriced", &unpriced, "floor = 5.0"),
        buyer("late", &late, "best = 1").replaced("\"3s\"", "\"10s\""),
    ])
    .start()
    .await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    // The bidding is over when it is decided who is sent the lead.
    tokio::join!(late.until(|received| !received.is_empty()), async {
        while posts(&one).len() + posts(&other).len() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    tells.notify_one();
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{table} {}", daemon.log());
    let why = explained(&daemon, &table);
    for said in [
        "was not sent the lead: its bid was not chosen",
        "its bid of $6.00 is number 2 of the bids, behind 1 of equal height from earlier partners, and only \
            the best gets the lead",
        "its bid, without a price, is below its floor of $5.00",
        "its bid of $50.00 came after the best bids were chosen",
    ] {
        assert!(why.contains(said), "{said} is not in {why}");
    }
    assert!(!why.contains("others bid more") && !why.contains("$0.00"), "{why}");
}

#[tokio::test]
async fn a_failure_says_whether_the_partner_was_about_to_be_sent_the_person() {
    let failing = |at: &'static str| {
        FarSide::start(move |request| match request.head.starts_with(at) {
            true => Deed::Json(500, "{}".to_owned()),
            false => Deed::Json(200, json!({"bid": 9.5, "ping": "P-7"}).to_string()),
        })
    };
    for (at, told) in [
        ("POST /ping", "in steps[0], the ping: the answer has status 500"),
        ("POST /post", "in steps[1], the post, after its bid of $9.50 was taken: the answer has status 500"),
    ] {
        let far = failing(at).await;
        let daemon = Daemon::with_partners(vec![buyer("buyer", &far, "")]).start().await;
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
        let why = String::from_utf8_lossy(&why.stdout).into_owned();
        assert!(why.contains(told), "{why}");
    }
}

#[tokio::test]
async fn an_answer_without_a_bid_is_no_decline() {
    let far = FarSide::start(|_| Deed::Json(200, json!({"ping": "P-7", "price": 9.5}).to_string())).await;
    let daemon = Daemon::with_partners(vec![buyer("buyer", &far, "")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert!(posts(&far).is_empty());
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("`steps[0].bid` (`response.bid`) is not in the answer"), "{why}");
}

#[tokio::test]
async fn who_is_paused_between_ping_and_post_is_not_sent_the_lead() {
    let eager = bidding(json!(9.5)).await;
    let told = Arc::new(Notify::new());
    let tells = Arc::clone(&told);
    let slow =
        FarSide::start(move |_| Deed::JsonWhenTold(Arc::clone(&told), json!({"bid": 0}).to_string())).await;
    let daemon = Daemon::with_partners(vec![
        buyer("eager", &eager, "best = 1\nwait = \"12s\"").replaced("\"3s\"", "\"14s\""),
        buyer("slow", &slow, "").replaced("\"3s\"", "\"14s\""),
    ])
    .start()
    .await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    eager.until(|received| !received.is_empty()).await;
    slow.until(|received| !received.is_empty()).await;
    assert!(daemon.command(&["partners", "pause", "eager"]).status.success());
    tells.notify_one();
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!((posts(&eager).len(), &table["loanOffers"]), (0, &json!([])), "{}", daemon.log());
    let why = explained(&daemon, &table);
    assert!(why.contains("was not sent the lead: it was paused meanwhile"), "{why}");
}

#[tokio::test]
async fn what_a_bid_pays_is_booked_once_also_over_a_kill_and_in_place_of_what_the_file_says() {
    let far = bidding(json!(9.5)).await;
    let file =
        buyer("buyer", &far, "").replaced("on = \"funded\", percent = 2.0", "on = \"click\", fixed = 1.25");
    let file = file.replaced("[products.loan]\n", "[products.loan]\nlimits = { per_day_budget = 12.0 }\n");
    let mut daemon = Daemon::with_partners(vec![file]).start().await.with_live_company();
    let mut tables = Vec::new();
    // The second lead finds its budget of the day almost gone, the third all of it; and so it is after a kill.
    for posted in [1, 2, 2] {
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        assert_eq!(posts(&far).len(), posted, "{table} {}", daemon.log());
        tables.push(table);
        daemon = daemon.kill().start().await;
    }
    let offer = tables[0]["loanOffers"][0]["uuid"].as_str().unwrap();
    let clicked = daemon.request(Method::GET, &format!("{}/click/{offer}", daemon.api), "", "").await;
    assert_eq!(clicked.status, 302);
    let lead = daemon.get(&format!("/leads/{}", tables[0]["leadUuid"].as_str().unwrap())).await.json();
    let (_, stopped) = daemon.terminate();
    let payouts = stopped.feed_in_two_hours::<Payouts>(lead["companyUUID"].as_str().unwrap()).data;
    let booked: Vec<_> =
        payouts.iter().map(|payout| (payout.lead_uuid.to_string(), payout.payout_in_cents)).collect();
    let sold = |table: &Value| (table["leadUuid"].as_str().unwrap().to_owned(), 950.0);
    assert_eq!(booked, [sold(&tables[0]), sold(&tables[1])]);
}

/// A buyer that answers the ping with its offers, and is posted when they are shown.
fn shown_buyer(key: &str, far: &FarSide) -> PartnerFile {
    let ssn = "ssn = \"lead.personalInformation.ssn\" }";
    buyer(key, far, "when = \"shown\"").replaced(ssn, &format!("{ssn}\ndeclined = \"response.no\""))
}

/// A far side that bids with its offers, and answers the post so.
async fn bidding_with_offers(answer: Value) -> FarSide {
    let Deed::Json(_, offers) = offers() else { unreachable!("offers are JSON") };
    let mut bid: Value = serde_json::from_str(&offers).unwrap();
    (bid["bid"], bid["ping"]) = (json!(9.5), json!("P-7"));
    FarSide::start(move |request| match request.head.starts_with("POST /ping") {
        true => Deed::Json(200, bid.to_string()),
        false => Deed::Json(200, answer.to_string()),
    })
    .await
}

#[tokio::test]
async fn who_is_posted_when_its_offers_are_shown_is_posted_then_and_once_also_over_kills() {
    let (glad, picky) =
        (bidding_with_offers(json!({"ok": true})).await, bidding_with_offers(json!({"no": true})).await);
    let partners = vec![shown_buyer("glad", &glad), shown_buyer("picky", &picky)];
    let plan = Daemon::with_partners(partners).setting("api.base_url", "http://offers.example");
    let daemon = plan.start().await.with_live_company();
    let table = daemon.submit(sample("personal_loan")).await.json();
    let uuid = table["uuid"].as_str().unwrap();
    // An operator who looks on shows the table to nobody.
    let waiting = "its bid of $9.50 was taken, and it gets the lead once its offers are shown";
    explains(&daemon, &table, waiting, 2).await;
    let daemon = daemon.kill().start().await;
    assert_eq!((posts(&glad).len(), posts(&picky).len()), (0, 0));

    let shown = daemon.rate_table(uuid).await.json();
    assert_eq!(shown["loanOffers"].as_array().map(Vec::len), Some(4), "{shown} {}", daemon.log());
    for said in
        ["its offers were shown, and it took the lead", "its offers were shown, and it did not take the lead"]
    {
        explains(&daemon, &table, said, 1).await;
    }
    let daemon = daemon.kill().start().await;
    assert_eq!(daemon.rate_table(uuid).await.json(), shown, "it stays as it was shown");
    let (_, stopped) = daemon.terminate();
    let daemon = stopped.start().await;
    assert_eq!((posts(&glad).len(), posts(&picky).len()), (1, 1));
    assert!(posts(&glad)[0].body.contains("536-22-8714"));
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    let (_, stopped) = daemon.terminate();
    let company = lead["companyUUID"].as_str().unwrap();
    let payouts = stopped.feed_in_two_hours::<Payouts>(company).data;
    assert_eq!(payouts.iter().map(|payout| payout.payout_in_cents).collect::<Vec<_>>(), [950.0]);
    let events = stopped.feed_in_two_hours::<Events>(company).data;
    let of = |wanted: EventType| {
        let events = events.iter().filter(move |event| event.event_type == wanted);
        events.map(|event| event.financial_institution_name.clone().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of(EventType::ApiRejected), ["picky"], "the newer form tells of who took it, too");
}

#[tokio::test]
async fn a_post_when_shown_that_does_not_follow_its_ping_as_the_last_step_is_a_fault() {
    let far = bidding(json!(1)).await;
    let daemon = Daemon::with_partners(vec![partner("prompt").savings("")]).start().await;
    let more = "[[products.loan.http.steps]]\nurl = \"https://far.example/\"\nsandbox_url = \"https://far.example/\"\n\n[[products.loan.http.steps]]\nurl";
    let file = shown_buyer("buyer", &far);
    let text = file.text();
    let post = text.rsplit_once("[[products.loan.http.steps]]\nurl").unwrap().1.to_owned();
    file.replaced(&format!("[[products.loan.http.steps]]\nurl{post}"), &format!("{more}{post}"))
        .write(daemon.partners());
    let check = daemon.command(&["check"]);
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(said.contains("post.when` needs one ping, whose answer has the offers"), "{said}");
}

#[tokio::test]
async fn a_post_of_shown_offers_that_a_kill_leaves_unanswered_is_not_made_again() {
    let Deed::Json(_, offers) = offers() else { unreachable!("offers are JSON") };
    let mut bid: Value = serde_json::from_str(&offers).unwrap();
    (bid["bid"], bid["ping"]) = (json!(9.5), json!("P-7"));
    let far = FarSide::start(move |request| match request.head.starts_with("POST /ping") {
        true => Deed::Json(200, bid.to_string()),
        false => Deed::Silence,
    })
    .await;
    let file = shown_buyer("buyer", &far).replaced("\"3s\"", "\"30s\"");
    let daemon = Daemon::with_partners(vec![file]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    far.until(|received| received.iter().any(|one| one.head.starts_with("POST /post"))).await;
    let daemon = daemon.kill().start().await;
    daemon.rate_table(table["uuid"].as_str().unwrap()).await;
    // The tables that are shown are looked after in their order.
    daemon.submit_blocking(sample("personal_loan")).await;
    far.until(|received| received.iter().filter(|one| one.head.starts_with("POST /post")).count() >= 2).await;
    assert_eq!(posts(&far).len(), 2, "one for each lead");
    let why = explained(&daemon, &table);
    assert!(why.contains("it is unknown whether it took the lead: no answer has arrived"), "{why}");
}
