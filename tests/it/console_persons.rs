//! Requests of persons in the console: search, export, erasure, opt-out.

use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;
use crate::people::{Browser, add, text};
use crate::power::shim::Syncs;

const EMAIL: &str = "Ottoline@quillfeather.example";
const PHONE: &str = "(206) 555-0142";
const REASON: &str = "letter 4711";

/// What no address, log line or audit may have.
const PERSONAL: [&str; 5] = ["uillfeather", "Ottoline", "ottoline", "555-0142", "2065550142"];

async fn submitted(daemon: &Daemon, email: &str, phone: &str) -> (String, usize) {
    let lead = json!({
        "productTypes": ["savings"],
        "personalInformation": {
            "firstName": "Ottoline", "lastName": "Quillfeather", "dateOfBirth": "1985-12-10",
            "email": email, "primaryPhone": phone,
        },
    });
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    (table["leadUuid"].as_str().unwrap().to_owned(), table["savingsOffers"].as_array().unwrap().len())
}

async fn daemon() -> Daemon {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    for role in ["viewer", "analyst", "operator"] {
        add(&daemon, role, role);
    }
    daemon
}

/// The records of the audit about persons, the oldest first.
fn audited(daemon: &Daemon) -> Vec<Value> {
    let listed = daemon.command(&["audit", "list", "--action", "person", "--format", "json"]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let mut records: Vec<Value> = serde_json::from_slice(&listed.stdout).expect("records");
    records.sort_by_key(|record| record["number"].as_u64());
    records
}

fn actions(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["action"].as_str().unwrap()).collect()
}

/// The receipt that a page offers as a file.
fn receipt_of(page: &str) -> Value {
    let (_, data) = page.split_once("href=\"data:application/json;charset=utf-8,").expect("a file");
    let encoded = format!("json={}", data.split('"').next().unwrap().replace("&#x2f;", "/"));
    let (_, json) = form_urlencoded::parse(encoded.as_bytes()).next().unwrap();
    serde_json::from_str(&json).expect("JSON")
}

#[tokio::test]
async fn the_leads_of_a_person_are_found_given_and_erased_with_a_receipt_from_the_page_alone() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    let mut uuids = Vec::new();
    for _ in 0..3 {
        uuids.push(submitted(&daemon, EMAIL, PHONE).await.0);
    }
    let (other, _) = submitted(&daemon, "else@quillfeather.example", "206-555-0199").await;

    for contact in ["ottoline@QUILLFEATHER.example", " +1 206 555 0142 "] {
        let page = text(&operator.post("/console/persons", &[("contact", contact)]).await);
        assert!(page.contains(">3 leads</h2>") && page.contains("3 made with test tokens"), "{page}");
        assert!(page.contains("of 1 company") && page.contains("not on the list"), "{page}");
        for uuid in &uuids {
            assert!(page.contains(&format!("/console/rateTables?find={uuid}")), "{page}");
        }
        assert!(!page.contains(&other));
    }

    let wish = [("contact", EMAIL), ("reason", REASON)];
    let export = operator.post("/console/persons/export", &wish).await;
    assert_eq!(export.header("content-disposition"), Some("attachment; filename=\"person.json\""));
    assert_eq!((export.status, export.header("cache-control")), (200, Some("no-store")));
    let copy = export.json();
    let copied: Vec<&str> =
        copy["leads"].as_array().unwrap().iter().map(|held| held["lead"]["uuid"].as_str().unwrap()).collect();
    assert_eq!(copied, uuids);

    let sure = [("contact", EMAIL), ("reason", REASON), ("sure", "yes")];
    let erased = operator.post("/console/persons/erase", &sure).await;
    let page = text(&erased);
    assert!(erased.status == 200 && page.contains(">3 leads are erased</h2>"), "{page}");
    assert!(PERSONAL.iter().all(|word| !page.contains(word)), "a receipt names nobody: {page}");
    let receipt = receipt_of(&page);
    let destroyed: Vec<&str> =
        receipt["leads"].as_array().unwrap().iter().map(|lead| lead["leadUuid"].as_str().unwrap()).collect();
    assert_eq!(destroyed, uuids);
    assert_eq!(receipt["leads"][0]["destroyed"]["leads"], 1);
    for uuid in &uuids {
        assert_eq!(daemon.get(&format!("/leads/{uuid}")).await.status, 404);
    }
    assert_eq!(daemon.get(&format!("/leads/{other}")).await.status, 200);
    let gone = text(&operator.post("/console/persons", &[("contact", PHONE)]).await);
    assert!(gone.contains(">0 leads</h2>") && gone.contains("No lead has this contact"), "{gone}");
    assert!(!gone.contains("/console/persons/erase"), "there is nothing to erase: {gone}");
    let again = text(&operator.post("/console/persons/erase", &sure).await);
    assert!(again.contains("Nothing was erased"), "{again}");

    // Each act stands in the audit as the command's would, with its reason.
    let records = audited(&daemon);
    let ours = ["find", "find", "export", "erase", "erased", "find", "erase", "erased"];
    assert_eq!(actions(&records), ours.map(|action| format!("person.{action}")));
    for record in &records {
        assert_eq!((&record["who"], &record["role"]), (&"console, user operator".into(), &"operator".into()));
        let wants_reason = record["action"] != "person.find";
        assert_eq!(record["reason"].as_str(), wants_reason.then_some(REASON), "{record}");
    }
    let object = records[4]["object"].as_str().unwrap();
    assert!(object.contains(receipt["receiptUuid"].as_str().unwrap()), "{object}");
    for object in [records[2]["object"].as_str().unwrap(), object] {
        assert!(uuids.iter().all(|uuid| object.contains(uuid)), "{object}");
    }
    let told = format!("{}{records:?}", daemon.log());
    assert!(PERSONAL.iter().all(|word| !told.contains(word)), "{told}");
}

/// Under a spoilt name no later lead comes; an opt-out under a name as a lead had it can be ended.
#[tokio::test]
async fn a_name_that_a_program_has_spoilt_opts_nobody_out() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    for (last, told) in
        [("M\u{c3}\u{bc}ller", "garbled by a program"), ("M&uuml;ller", "names as people write them")]
    {
        let fields = [("first", "Ottoline"), ("last", last), ("born", "1985-12-10"), ("reason", REASON)];
        let refused = operator.post("/console/persons/suppress", &fields).await;
        assert!(refused.status == 400 && text(&refused).contains(told), "{}", text(&refused));
        let ended = text(&operator.post("/console/persons/unsuppress", &fields).await);
        assert!(ended.contains("They were not on the opt-out list"), "{ended}");
    }
}

/// A browser without a field for days lets anything be typed.
#[tokio::test]
async fn a_day_of_birth_is_refused_for_what_it_is() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    for (last, born, told) in [
        (
            "Later",
            "2976-01-05",
            "What you typed must be names with a day of birth that is not in the future.",
        ),
        ("Later", "10.12.1985", "What you typed must be names with a day of birth such as"),
        ("Later", "", "Give all three of first name, last name and day of birth"),
        ("La, ter", "1985-12-10", "Give all three of first name, last name and day of birth"),
    ] {
        let fields = [("first", "Ottoline"), ("last", last), ("born", born), ("reason", REASON)];
        let refused = operator.post("/console/persons/suppress", &fields).await;
        assert!(refused.status == 400 && text(&refused).contains(told), "{born}: {}", text(&refused));
    }
}

#[tokio::test]
async fn nothing_is_done_without_a_reason_that_names_nobody_and_no_fault_repeats_what_was_typed() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    let (uuid, _) = submitted(&daemon, EMAIL, PHONE).await;
    for act in ["export", "erase", "suppress", "unsuppress"] {
        let path = format!("/console/persons/{act}");
        let long = "x".repeat(201);
        for (fields, told) in [
            (&[("contact", EMAIL)][..], "The reason must say why"),
            (&[("contact", EMAIL), ("reason", "  ")], "The reason must say why"),
            (&[("contact", EMAIL), ("reason", "\u{200b}")], "The reason must say why"),
            (&[("contact", EMAIL), ("reason", &long)], "in at most 200 characters"),
            (
                &[("contact", EMAIL), ("reason", "ottoline@quillfeather.example asks")],
                "must not name the person",
            ),
            (&[("contact", PHONE), ("reason", "call of 206 555 0142")], "must not name the person"),
            (&[("contact", "ottoline@"), ("reason", REASON)], "not an e-mail address"),
            (
                &[("contact", "555-0142"), ("reason", REASON)],
                "neither an e-mail address nor a ten-digit phone number",
            ),
            (&[("reason", REASON)], "Give an e-mail address or a phone number"),
        ] {
            let answer = operator.post(&path, &[fields, &[("sure", "yes")]].concat()).await;
            let page = text(&answer);
            assert_eq!(answer.status, 400, "{path} {fields:?}: {page}");
            assert!(page.contains(told) && page.contains("<h1>Data requests</h1>"), "{told}: {page}");
            let notice = page.split_once("role=\"alert\">").unwrap().1.split("</p>").next().unwrap();
            assert!(PERSONAL.iter().all(|word| !notice.contains(word)), "{notice}");
        }
    }
    for (by, told) in [
        ([("first", "Ada"), ("last", ""), ("born", "1985-12-10")], "Give all three"),
        ([("first", "Ada"), ("last", "L"), ("born", "then")], "What you typed"),
    ] {
        let answer =
            operator.post("/console/persons/suppress", &[&by[..], &[("reason", REASON)]].concat()).await;
        assert!(answer.status == 400 && text(&answer).contains(told), "{}", text(&answer));
    }
    let unsure = operator.post("/console/persons/erase", &[("contact", EMAIL), ("reason", REASON)]).await;
    assert!(unsure.status == 400 && text(&unsure).contains("Nothing was erased: tick"), "{}", text(&unsure));
    assert_eq!(daemon.get(&format!("/leads/{uuid}")).await.status, 200);
    let records = audited(&daemon);
    assert!(actions(&records).iter().all(|action| *action == "person.find"), "{records:?}");
    let told = format!("{}{records:?}", daemon.log());
    assert!(PERSONAL.iter().all(|word| !told.contains(word)), "{told}");
}

#[tokio::test]
async fn who_asks_for_it_is_left_alone_by_address_number_or_name_and_taken_off_the_list_again() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    let name = [("first", "Ottoline"), ("last", "Quillfeather"), ("born", "1985-12-10")];
    for who in [&[("contact", EMAIL)][..], &[("contact", PHONE)], &name] {
        let fields = [who, &[("reason", REASON)]].concat();
        let page = text(&operator.post("/console/persons/suppress", &fields).await);
        assert!(page.contains("no partner is asked about leads submitted with this contact"), "{page}");
        assert_eq!(submitted(&daemon, EMAIL, PHONE).await.1, 0, "{who:?}");
        if who.len() == 1 {
            let page = text(&operator.post("/console/persons", who).await);
            assert!(page.contains(">on the list</span>") && page.contains("/persons/unsuppress"), "{page}");
        }
        let page = text(&operator.post("/console/persons/unsuppress", &fields).await);
        assert!(page.contains("Partners may be asked about them again."), "{page}");
        assert_eq!(submitted(&daemon, EMAIL, PHONE).await.1, 1, "{who:?}");
        let page = text(&operator.post("/console/persons/unsuppress", &fields).await);
        assert!(page.contains("They were not on the opt-out list."), "{page}");
    }
    let fields = [("contact", EMAIL), ("reason", REASON), ("sure", "yes"), ("suppress", "yes")];
    let page = text(&operator.post("/console/persons/erase", &fields).await);
    assert!(
        page.contains("6 leads are erased") && page.contains("1 e-mail address, 1 phone number, 1 name"),
        "{page}"
    );
    assert_eq!(submitted(&daemon, EMAIL, "").await.1, 0);
    for left_alone in [&[("contact", PHONE)][..], &name] {
        let fields = [left_alone, &[("reason", REASON)]].concat();
        let page = text(&operator.post("/console/persons/unsuppress", &fields).await);
        assert!(page.contains("Partners may be asked about them again."), "{page}");
    }

    // What the page has done the command sees, and the other way round.
    assert!(daemon.command(&["person", "unsuppress", "--email", EMAIL, "--reason", REASON]).status.success());
    let page = text(&operator.post("/console/persons", &[("contact", EMAIL)]).await);
    assert!(page.contains(">not on the list</span>"), "{page}");
    let records = audited(&daemon);
    let by_command = records.iter().rfind(|record| record["action"] == "person.unsuppress").unwrap();
    assert_eq!((&by_command["from"], &by_command["reason"]), (&"command".into(), &REASON.into()));
    let told = format!("{}{records:?}", daemon.log());
    assert!(PERSONAL.iter().all(|word| !told.contains(word)), "{told}");
}

/// Whoever asks by one number is known by whatever their leads have.
#[tokio::test]
async fn who_is_erased_and_left_alone_is_so_by_every_contact_and_name_of_their_leads() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    let other = "other@quillfeather.example";
    for email in [EMAIL, other] {
        assert_eq!(submitted(&daemon, email, PHONE).await.1, 1);
    }
    let fields = [("contact", PHONE), ("reason", REASON), ("sure", "yes"), ("suppress", "yes")];
    let page = text(&operator.post("/console/persons/erase", &fields).await);
    assert!(page.contains("2 e-mail addresses, 1 phone number, 1 name"), "{page}");
    let receipt = receipt_of(&page);
    assert_eq!(receipt["leftAlone"], json!({"emails": 2, "phones": 1, "names": 1}));
    assert_eq!((&receipt["reason"], &receipt["by"]), (&REASON.into(), &"console, user operator".into()));
    assert!(receipt["daemon"].as_str().unwrap().starts_with("offerd "), "{receipt}");
    assert_eq!(receipt["companies"].as_array().unwrap().len(), 1);
    for (email, phone) in [(EMAIL, ""), (other, ""), ("third@quillfeather.example", "(206) 555-0199")] {
        assert_eq!(submitted(&daemon, email, phone).await.1, 0, "{email}");
    }
}

/// The audit is kept for longer than they may want.
#[tokio::test]
async fn no_reason_may_hold_what_the_leads_say_of_the_person_though_it_was_not_typed() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    submitted(&daemon, EMAIL, PHONE).await;
    for reason in ["call 20, zoe.caller@example.com", "Mrs Quillfeather asks", "call back at 206 555 0177"] {
        for act in ["export", "erase", "suppress", "unsuppress"] {
            let fields = [("contact", PHONE), ("reason", reason), ("sure", "yes")];
            let answer = operator.post(&format!("/console/persons/{act}"), &fields).await;
            assert_eq!(answer.status, 400, "{act}: {reason}");
            assert!(text(&answer).contains("must not name the person"), "{}", text(&answer));
        }
        let command = daemon.command(&["person", "find", "--email", EMAIL, "--reason", reason]);
        assert!(!command.status.success(), "{reason}");
    }
    assert_eq!(actions(&audited(&daemon)).iter().filter(|action| **action != "person.find").count(), 0);
}

#[tokio::test]
async fn without_the_key_of_the_list_the_page_says_what_is_wrong() {
    let daemon = daemon().await;
    let fields = [("contact", EMAIL), ("reason", REASON)];
    let operator = Browser::of(&daemon, "operator").await;
    assert_eq!(operator.post("/console/persons/suppress", &fields).await.status, 200);
    drop(operator);
    let (_, stopped) = daemon.terminate();
    std::fs::remove_file(stopped.plan.store().with_file_name("store.suppression-key")).unwrap();
    let daemon = stopped.start().await;
    let operator = Browser::of(&daemon, "operator").await;
    let locked = "he suppression key cannot be used";
    let found = operator.post("/console/persons", &[("contact", EMAIL)]).await;
    assert!(found.status == 200 && text(&found).contains(locked), "{}", text(&found));
    assert!(!text(&found).contains(">not on the list</span>"), "nobody knows that");
    let more = [&fields[..], &[("sure", "yes"), ("suppress", "yes")]].concat();
    for act in ["suppress", "unsuppress", "erase"] {
        let answer = operator.post(&format!("/console/persons/{act}"), &more).await;
        assert_eq!((answer.status, answer.header("content-type")), (503, Some("text/html; charset=utf-8")));
        assert!(text(&answer).contains(locked), "{}", text(&answer));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_disk_hangs_nobody_is_given_or_erased_and_the_page_says_so() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]).setting("store.stall_after", "100ms");
    let plan = plan.setting("matching.deadline", "400ms").setting("matching.second_look_reserve", "100ms");
    let Some((plan, syncs)) = Syncs::of(plan) else { return };
    let daemon = plan.start().await;
    add(&daemon, "operator", "operator");
    let operator = Browser::of(&daemon, "operator").await;
    let (uuid, _) = submitted(&daemon, EMAIL, PHONE).await;
    assert_eq!(operator.post("/console/persons", &[("contact", EMAIL)]).await.status, 200);
    syncs.hang();
    let ready = async || {
        let url = format!("{}/readyz", daemon.admin);
        daemon.request(hyper::Method::GET, &url, "", "").await.status
    };
    // What waits when the disk is found to hang is a lead.
    tokio::join!(daemon.submit("{}"), async {
        while ready().await == 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    let fields = [("contact", EMAIL), ("reason", REASON), ("sure", "yes")];
    for act in ["export", "erase"] {
        let answer = operator.post(&format!("/console/persons/{act}"), &fields).await;
        let page = text(&answer);
        assert!(answer.status == 503 && page.contains("<h1>Data requests</h1>"), "{act}: {page}");
        assert!(page.contains("role=\"alert\"") && !page.contains("/console/persons/erase"), "{act}: {page}");
    }
    syncs.go_on();
    assert_eq!(daemon.get(&format!("/leads/{uuid}")).await.status, 200);
}

#[tokio::test]
async fn nobody_but_an_operator_finds_gives_or_erases_anybody_however_they_ask() {
    let daemon = daemon().await;
    let (uuid, _) = submitted(&daemon, EMAIL, PHONE).await;
    let fields = [("contact", EMAIL), ("reason", REASON), ("sure", "yes"), ("lines", "each")];
    let acts = [
        "persons",
        "persons/export",
        "persons/erase",
        "persons/suppress",
        "persons/unsuppress",
        "consents",
        "consents/download",
    ];
    for role in ["viewer", "analyst"] {
        let browser = Browser::of(&daemon, role).await;
        assert!(!text(&browser.get("/console").await).contains("/console/persons"), "{role}");
        for act in acts {
            let answer = browser.post(&format!("/console/{act}"), &fields).await;
            assert!(answer.status == 403 && !text(&answer).contains(&uuid), "{role} {act}");
        }
    }
    let operator = Browser::of(&daemon, "operator").await;
    let csrf = crate::console::csrf(&text(&operator.get("/console/persons").await));
    for act in acts {
        for foreign in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
            let answer = operator.post_from(&format!("/console/{act}"), &fields, &[foreign]).await;
            assert!(answer.status == 403 && !text(&answer).contains(&uuid), "{act} {foreign:?}");
        }
    }
    // What stands in an address is not looked up, and no receipt or copy has one.
    let receipt = operator.get(&format!("/console/persons/{uuid}")).await;
    assert_eq!(receipt.status, 404);
    for path in ["/console/persons?contact=ottoline%40quillfeather.example", "/console/consents?leads=test"] {
        let page = operator.get(path).await;
        assert!(page.status == 200 && !text(&page).contains("<table"), "{path}: {}", text(&page));
    }
    for act in ["export", "erase", "suppress", "unsuppress"] {
        let page = operator.get(&format!("/console/persons/{act}")).await;
        assert_eq!((page.status, page.header("location")), (303, Some("/console/persons")), "{act}");
    }
    // A cookie that was taken along is worth nothing after its owner has signed out, nor is their form.
    let mut stolen = Browser::new(&daemon);
    stolen.cookie = operator.cookie.clone();
    assert_eq!(operator.post("/console/signOut", &[]).await.status, 303);
    for act in acts {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("csrf", &csrf)
            .extend_pairs(fields)
            .finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let answer = stolen.send(hyper::Method::POST, &format!("/console/{act}"), &headers, form).await;
        assert!(answer.status == 403 && !text(&answer).contains(&uuid), "{act}: {}", text(&answer));
    }
    assert_eq!(daemon.get(&format!("/leads/{uuid}")).await.status, 200);
    assert!(audited(&daemon).is_empty(), "nothing was done");
}
