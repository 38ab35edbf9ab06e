//! What a person asks for, in the console: their leads are found, given and erased, and they are left alone.

use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;
use crate::people::{Browser, add, text};

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
    assert!(gone.contains(">0 leads</h2>") && gone.contains("No lead is found by this"), "{gone}");
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
    assert_eq!(records[2]["object"], "3 leads");
    let object = records[4]["object"].as_str().unwrap();
    assert!(object.contains(receipt["receiptUuid"].as_str().unwrap()), "{object}");
    assert!(uuids.iter().all(|uuid| object.contains(uuid)), "{object}");
    let told = format!("{}{records:?}", daemon.log());
    assert!(PERSONAL.iter().all(|word| !told.contains(word)), "{told}");
}
