//! What a person asks for: their leads are found by what they gave, whatever company has them, and are erased at once.

use std::path::Path;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Daemon, PATIENCE};

const EMAIL: &str = "Ottoline@quillfeather.example";
const PHONE: &str = "(206) 555-0142";

fn lead(email: &str, phone: &str) -> String {
    json!({
        "productTypes": ["savings"],
        "personalInformation": {"firstName": "Ottoline", "email": email, "primaryPhone": phone},
    })
    .to_string()
}

async fn submitted(daemon: &Daemon, body: String) -> String {
    daemon.submit_blocking(body).await.json()["leadUuid"].as_str().expect("a uuid").to_owned()
}

fn asked(daemon: &Daemon, command: &[&str]) -> Value {
    let output = daemon.command(&[&["person"], command].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn found(daemon: &Daemon, by: [&str; 2]) -> Vec<String> {
    let found = asked(daemon, &["find", by[0], by[1], "--json"]);
    let uuids =
        found.as_array().expect("a list").iter().map(|lead| lead["leadUuid"].as_str().unwrap().to_owned());
    uuids.collect()
}

async fn daemon() -> Daemon {
    Daemon::with_partners(vec![partner("bank").savings("")]).start().await
}

#[tokio::test]
async fn leads_are_found_by_any_contact_however_it_is_written_and_over_a_restart() {
    let daemon = daemon().await;
    let first = submitted(&daemon, lead(EMAIL, PHONE)).await;
    let second = submitted(&daemon, lead("other@quillfeather.example", PHONE)).await;
    submitted(&daemon, lead("else@quillfeather.example", "206-555-0199")).await;
    assert_eq!(found(&daemon, ["--email", "ottoline@QUILLFEATHER.example"]), std::slice::from_ref(&first));
    assert_eq!(found(&daemon, ["--phone", "+1 206 555 0142"]), [first.clone(), second.clone()]);
    let daemon = daemon.kill().start().await;
    assert_eq!(found(&daemon, ["--phone", PHONE]), [first, second]);
    assert_eq!(found(&daemon, ["--email", "nobody@quillfeather.example"]), [""; 0]);
}

#[tokio::test]
async fn a_lead_that_has_grown_is_found_by_what_it_had_and_by_what_it_has() {
    let daemon = daemon().await;
    let uuid = submitted(&daemon, lead(EMAIL, PHONE)).await;
    assert_eq!(found(&daemon, ["--email", EMAIL]), std::slice::from_ref(&uuid));
    let later = json!({"personalInformation": {"email": "new@quillfeather.example"}}).to_string();
    let url = format!("{}/leads/{uuid}", daemon.api);
    let grown = daemon.request(Method::PATCH, &url, &daemon.confidential, &later).await;
    assert!(grown.status < 300, "{}", grown.status);
    for email in [EMAIL, "new@quillfeather.example"] {
        assert_eq!(found(&daemon, ["--email", email]), std::slice::from_ref(&uuid), "{email}");
    }
    asked(&daemon, &["erase", "--phone", PHONE, "--json"]);
    for email in [EMAIL, "new@quillfeather.example"] {
        assert_eq!(found(&daemon, ["--email", email]), [""; 0], "{email}");
    }
}

#[tokio::test]
async fn all_leads_of_a_person_are_copied_and_erased_at_once_with_a_receipt() {
    let daemon = daemon().await;
    let mut uuids = Vec::new();
    for _ in 0..3 {
        uuids.push(submitted(&daemon, lead(EMAIL, PHONE)).await);
    }
    let other = submitted(&daemon, lead("other@quillfeather.example", "206-555-0199")).await;
    let copy = asked(&daemon, &["export", "--email", EMAIL]);
    let copied: Vec<&str> =
        copy["leads"].as_array().unwrap().iter().map(|held| held["lead"]["uuid"].as_str().unwrap()).collect();
    assert_eq!(copied, uuids);
    let receipt = asked(&daemon, &["erase", "--email", EMAIL, "--json"]);
    let erased: Vec<&str> =
        receipt["leads"].as_array().unwrap().iter().map(|lead| lead["leadUuid"].as_str().unwrap()).collect();
    assert_eq!(erased, uuids);
    assert!(!receipt.to_string().to_lowercase().contains("ottoline"));
    for uuid in &uuids {
        assert_eq!(daemon.get(&format!("/leads/{uuid}")).await.status, 404);
    }
    assert_eq!(daemon.get(&format!("/leads/{other}")).await.status, 200);
    assert_eq!(found(&daemon, ["--phone", PHONE]), [""; 0]);
    assert!(daemon.log().contains("person.erase") && !daemon.log().contains("uillfeather"));
    let (_, stopped) = daemon.terminate();
    assert!(stopped.plan.command(&["store", "check"]).output().unwrap().status.success());
}

#[tokio::test]
async fn what_names_nobody_is_told_without_repeating_it() {
    let daemon = daemon().await;
    for by in [["--email", "ottoline"], ["--phone", "555-0142"]] {
        let output = daemon.command(&["person", "find", by[0], by[1]]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains("must be") && !told.contains(by[1]), "{told}");
    }
    let out = daemon.file("copy.json");
    let file = Path::new(&out).to_str().unwrap();
    assert!(daemon.command(&["person", "export", "--email", EMAIL, "--out", file]).status.success());
    assert!(!daemon.command(&["person", "export", "--email", EMAIL, "--out", file]).status.success());
}

#[tokio::test]
async fn who_asked_to_be_left_alone_is_asked_about_nowhere_also_after_an_erasure_and_not_without_the_key() {
    let daemon = daemon().await;
    let offers = async |daemon: &Daemon, email: &str| {
        let table = daemon.submit_blocking(lead(email, PHONE)).await.json();
        table["savingsOffers"].as_array().unwrap().len()
    };
    assert_eq!(offers(&daemon, EMAIL).await, 1);
    for what in ["erase", "suppress"] {
        let done = daemon.command(&["person", what, "--email", EMAIL]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!((offers(&daemon, EMAIL).await, offers(&daemon, "else@quillfeather.example").await), (0, 1));
    let daemon = daemon.kill().start().await;
    assert_eq!(offers(&daemon, EMAIL).await, 0);
    let listed = daemon.command(&["suppressions", "list"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("everywhere"));

    // Without the key nobody can be told from anybody.
    let (_, stopped) = daemon.terminate();
    let key = stopped.plan.store().with_file_name("store.suppression-key");
    let lent = key.with_extension("lent");
    std::fs::rename(&key, &lent).unwrap();
    let daemon = stopped.start().await;
    assert_eq!(offers(&daemon, "else@quillfeather.example").await, 0);
    let locked = "the key of who asked to be left alone cannot be used";
    let ready = async |daemon: &Daemon| {
        let answer = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
        String::from_utf8_lossy(&answer.body).into_owned()
    };
    assert!(daemon.log().contains(locked) && ready(&daemon).await.contains(locked));
    std::fs::rename(&lent, &key).unwrap();
    let back = async || {
        while ready(&daemon).await.contains(locked) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, back()).await.expect("it is taken in when it is back, without a restart");
    assert_eq!((offers(&daemon, EMAIL).await, offers(&daemon, "else@quillfeather.example").await), (0, 1));
    assert!(daemon.command(&["person", "unsuppress", "--email", EMAIL]).status.success());
    assert_eq!(offers(&daemon, EMAIL).await, 1);

    let file = daemon.file("opted_out.txt");
    std::fs::write(&file, format!("{PHONE}\n")).unwrap();
    let added = daemon.command(&[
        "suppressions",
        "add",
        "everywhere",
        file.to_str().unwrap(),
        "--kind",
        "phone",
        "--plain",
    ]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    assert_eq!(offers(&daemon, EMAIL).await, 0);
    assert!(daemon.command(&["suppressions", "remove", "everywhere"]).status.success());
    assert_eq!(offers(&daemon, EMAIL).await, 1);
}

#[tokio::test]
async fn who_agreed_to_what_is_told_with_each_text_that_was_shown_and_its_time() {
    let daemon = daemon().await;
    let consenting = |text: &str| {
        let stated = json!({"consentsToTcpa": true, "tcpaLanguage": text});
        json!({"productTypes": ["savings"], "legalInformation": stated}).to_string()
    };
    let first = submitted(&daemon, consenting("You may call me.")).await;
    let second = submitted(&daemon, consenting("You may call me.")).await;
    let erased = submitted(&daemon, consenting("You may call me.")).await;
    assert!(daemon.command(&["lead", "erase", &erased]).status.success());
    let url = format!("{}/leads/{second}", daemon.api);
    let later = json!({"legalInformation": {"consentsToTcpa": false, "tcpaLanguage": "Call me not."}});
    assert!(daemon.request(Method::PATCH, &url, &daemon.confidential, &later.to_string()).await.status < 300);

    let daemon = daemon.kill().start().await;
    let lines = |command: &[&str]| -> Vec<Value> {
        let output =
            daemon.command(&[&["person", "consents", "--test", "--format", "json"], command].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let told = |line: &Value| {
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        [text("leads"), text("superseded"), text("consentsToTcpa"), text("tcpaLanguage")]
    };
    let summary: Vec<[String; 4]> = lines(&[]).iter().map(told).collect();
    assert_eq!(summary, [["2", "1", "true", "You may call me."], ["1", "0", "false", "Call me not."]]);

    let live = daemon.command(&["person", "consents", "--format", "csv"]);
    assert!(live.status.success() && live.stdout.is_empty());

    let each = lines(&["--each"]);
    let of = |uuid: &str| each.iter().filter(|line| line["leadUuid"] == uuid).collect::<Vec<_>>();
    assert_eq!((of(&first).len(), of(&second).len(), of(&erased).len()), (1, 2, 0));
    let [earlier, now] = of(&second)[..] else { panic!("both") };
    assert_eq!((earlier["superseded"].as_str(), now["superseded"].as_str()), (Some("true"), Some("false")));
    assert!(earlier["statedAt"].as_str() < now["statedAt"].as_str());
    assert!(lines(&["--to", "2020-01-01"]).is_empty());

    let dossier = daemon.command(&["lead", "export", &second]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    let kept = &dossier["lead"]["earlierConsents"][0]["legalInformation"];
    assert_eq!(kept["tcpaLanguage"], "You may call me.");
}
