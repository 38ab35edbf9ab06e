//! Requests of persons: their leads in all companies, found by contact, and erased at once.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::console::page;
use crate::kit::far_partners::offers;
use crate::kit::far_side::FarSide;
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, PATIENCE, sample};
use crate::people;
use crate::store_damage::damage_lead;

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

/// Also where it is merged before the index has reached it.
#[tokio::test]
async fn a_lead_that_is_changed_at_once_is_found_by_what_it_began_with() {
    let daemon = daemon().await;
    let url = format!("{}/leads", daemon.api);
    for nth in 0..4 {
        let [old, new] = ["old", "new"].map(|word| format!("{word}{nth}@quillfeather.example"));
        let uuid = submitted(&daemon, lead(&old, &format!("206 555 010{nth}"))).await;
        let later =
            json!({"personalInformation": {"email": new, "primaryPhone": "206 555 0199"}}).to_string();
        let path = if nth % 2 == 0 { "" } else { "/rateTables" };
        let method = if nth % 2 == 0 { Method::PATCH } else { Method::POST };
        let to = format!("{url}/{uuid}{path}");
        assert!(daemon.request(method, &to, &daemon.confidential, &later).await.status < 300);
        for email in [&old, &new] {
            assert_eq!(found(&daemon, ["--email", email]), std::slice::from_ref(&uuid), "{email}");
        }
        assert_eq!(found(&daemon, ["--phone", &format!("206 555 010{nth}")]), [uuid]);
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
async fn a_copy_begins_with_whose_lead_it_is_when_it_was_made_and_what_was_agreed_to() {
    let daemon = daemon().await.with_live_company();
    let mut lead: Value = serde_json::from_str(&lead(EMAIL, PHONE)).unwrap();
    let shown = "You may call me at any time.";
    lead["legalInformation"] = json!({
        "consentsToFcra": false, "consentsToTcpa": true, "tcpaLanguage": shown, "batchConsentVersion": "v2",
    });
    let uuid = submitted(&daemon, lead.to_string()).await;
    let url = format!("{}/leads/{uuid}", daemon.api);
    let later = json!({"legalInformation": {"consentsToTcpa": false, "consentsToSms": true}}).to_string();
    assert!(daemon.request(Method::PATCH, &url, &daemon.confidential, &later).await.status < 300);

    let copy = asked(&daemon, &["export", "--email", EMAIL, "--reason", "letter 4711"]);
    let [held] = &copy["leads"].as_array().unwrap()[..] else { panic!("one lead: {copy}") };
    assert_eq!(held["companyName"], "Live");
    let seen = daemon.get(&format!("/leads/{uuid}")).await.json();
    assert_eq!(held["leadCreatedAt"], seen["createdAt"]);
    let time = |value: &Value| value.as_str().expect("a time").to_owned();
    let (made, changed) = (time(&held["leadCreatedAt"]), time(&held["leadUpdatedAt"]));
    assert!(made <= changed && changed <= time(&held["exportedAt"]), "{held}");
    assert_eq!(
        held["consents"],
        json!([
            {"statedAt": made, "to": [["FCRA", false], ["TCPA", true]], "version": "v2", "superseded": true},
            {
                "statedAt": changed, "to": [["FCRA", false], ["TCPA", false], ["SMS", true]], "version": "v2",
                "superseded": false,
            },
        ])
    );
    let found = asked(&daemon, &["find", "--phone", PHONE, "--json"]);
    assert_eq!(found[0]["consents"], held["consents"]);
    assert!(!found.to_string().contains(shown), "the texts are in the copy alone");
    let nothing = submitted(&daemon, self::lead("else@quillfeather.example", PHONE)).await;
    let found = asked(&daemon, &["find", "--email", "else@quillfeather.example", "--json"]);
    assert_eq!((&found[0]["leadUuid"], &found[0]["consents"]), (&json!(nothing), &json!([])));
}

/// What only the lead of somebody says who is to be erased.
const ONLY_THEIRS: [&str; 4] =
    ["Zephyrina", "Quobblethwaite", "zephyrina@quobblethwaite.example", "219-09-9417"];

/// Which of that stands in a text.
fn told_of_them(text: &str) -> Vec<&'static str> {
    ONLY_THEIRS.into_iter().filter(|word| text.to_lowercase().contains(&word.to_lowercase())).collect()
}

/// Every page of the console that its pages lead to, but for the handbook, with its address.
async fn console(daemon: &Daemon, from: &[String]) -> Vec<(String, String)> {
    let mut known = BTreeSet::from_iter(from.iter().cloned());
    let (mut open, mut pages) = (from.to_vec(), Vec::new());
    while let Some(path) = open.pop() {
        let text = String::from_utf8_lossy(&page(daemon, &path).await.body).into_owned();
        let links = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let links = links.map(|link| link.replace("&#x2f;", "/").replace("&amp;", "&"));
        let links = links.filter_map(|link| Some(link.split('#').next()?.to_owned()));
        for link in links.filter(|link| link.starts_with("/console") && !link.contains("/handbook")) {
            let is_page = !link.contains('.') && link.split(['?', '&']).count() <= 2;
            if is_page && known.insert(link.clone()) {
                open.push(link);
            }
        }
        pages.push((path, text));
    }
    pages
}

/// A daemon that has a lead of them and one of somebody else, both with what a partner was sent, and the uuids of theirs: the table, the lead.
async fn with_them_and_another(far: &FarSide) -> (Daemon, [String; 2]) {
    let lender = far_lender("far", &far.url("/quote"), "").replaced("wire =", "transcripts = true\nwire =");
    let daemon = Daemon::with_partners(vec![lender, partner("bank").loan("")]).start().await;
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    daemon.submit_blocking(lead.to_string()).await;
    for (name, word) in ["firstName", "lastName", "email", "ssn"].into_iter().zip(ONLY_THEIRS) {
        lead["personalInformation"][name] = json!(word);
    }
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    let uuids = ["uuid", "leadUuid"].map(|name| table[name].as_str().expect("a uuid").to_owned());
    let click = table["loanOffers"][0]["url"].as_str().expect("an offer");
    assert_eq!(daemon.request(Method::GET, click, "", "").await.status, 302);
    let kept = async {
        while !daemon.command(&["transcript", &uuids[0], "--json"]).status.success() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, kept).await.expect("a transcript is kept");
    (daemon, uuids)
}

#[tokio::test]
async fn of_who_was_erased_no_command_page_or_file_tells_and_the_audit_holds() {
    let far = FarSide::start(|_| offers()).await;
    let (daemon, [table, lead]) = with_them_and_another(&far).await;
    let found = daemon.command(&["person", "find", "--email", ONLY_THEIRS[2]]);
    assert!(String::from_utf8_lossy(&found.stdout).contains("Sandbox"), "{found:?}");
    let reason = ["--reason", "letter 4711"];
    let commands: Vec<Vec<&str>> = vec![
        [&["person", "export", "--email", ONLY_THEIRS[2]], &reason[..]].concat(),
        vec!["person", "find", "--email", ONLY_THEIRS[2], "--json"],
        vec!["person", "consents", "--test", "--each", "--format", "json"],
        vec!["lead", "export", &lead],
        vec!["explain", &lead, "--json"],
        [&["transcript", &table, "--json", "--reveal"], &reason[..]].concat(),
        vec!["report", "--test", "--by", "campaign,state", "--format", "json"],
        vec!["audit", "list", "--format", "json"],
        vec!["suppressions", "list"],
    ];
    let answers = |daemon: &Daemon| -> String {
        let outputs = commands.iter().map(|command| daemon.command(command));
        outputs.map(|one| String::from_utf8_lossy(&[one.stdout, one.stderr].concat()).into_owned()).collect()
    };
    assert_eq!(told_of_them(&answers(&daemon)), ONLY_THEIRS, "all of it is told before");

    let erase = ["person", "erase", "--email", ONLY_THEIRS[2], "--suppress", "--json"];
    let receipt = daemon.command(&[&erase[..], &reason].concat());
    assert!(receipt.status.success(), "{}", String::from_utf8_lossy(&receipt.stderr));
    assert_eq!(told_of_them(&String::from_utf8_lossy(&receipt.stdout)), [""; 0]);
    let told = answers(&daemon);
    assert!(told_of_them(&told).is_empty() && told.contains("person.erase"), "{told}");

    let begun =
        ["/console", &format!("/console/rateTables/{table}"), &format!("/console/rateTables?find={lead}")];
    let pages = console(&daemon, &begun.map(str::to_owned)).await;
    assert!(pages.len() > 20, "{:?}", pages.iter().map(|(path, _)| path).collect::<Vec<_>>());
    for (path, text) in &pages {
        assert!(told_of_them(text).is_empty(), "{path}: {text}");
    }
    assert!(pages.iter().any(|(path, text)| path == "/console/audit" && text.contains("person.erase")));
    assert!(told_of_them(&(daemon.metrics().await + &daemon.log())).is_empty());
    let verified = daemon.command(&["audit", "verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));

    // Whoever has the key reads the other in an export, and nothing of them.
    let (_, stopped) = daemon.terminate();
    stopped.plan.canaries().assert_in_none_of(&[stopped.plan.store()]);
    let file = stopped.plan.directory().join("export");
    let export = ["export", file.to_str().unwrap(), "--personal-data"];
    assert!(stopped.plan.command(&export).output().unwrap().status.success());
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.contains("536-22-8714") && told_of_them(&lines).is_empty());
    let verified = stopped.plan.command(&["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// Whether an index still finds the damaged record, or was made anew without it.
#[tokio::test]
async fn where_a_lead_of_theirs_may_be_damaged_nothing_is_done_for_a_person_unless_that_is_accepted() {
    for is_indexed in [true, false] {
        let daemon = daemon().await;
        people::add(&daemon, "operator", "operator");
        let damaged = submitted(&daemon, lead(EMAIL, PHONE)).await;
        let whole = submitted(&daemon, lead(EMAIL, PHONE)).await;
        assert_eq!(found(&daemon, ["--email", EMAIL]).len(), 2);
        let (_, stopped) = daemon.terminate();
        damage_lead(&stopped, &damaged);
        if !is_indexed {
            std::fs::remove_file(stopped.plan.store().join("volumes/1/index.sum")).unwrap();
        }
        let daemon = stopped.start().await;
        let by = ["--email", EMAIL];
        for what in ["find", "export", "erase"] {
            let refused = daemon.command(&[&["person", what], &by[..]].concat());
            let told = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(1), "{what}: {told}");
            for part in
                ["1 place of the store cannot be read", "store check", "store salvage", "--despite-damage"]
            {
                assert!(told.contains(part), "{what}: {told}");
            }
        }
        let operator = people::Browser::of(&daemon, "operator").await;
        let page = people::text(&operator.post("/console/persons", &[("contact", EMAIL)]).await);
        assert!(page.contains("1 place of the store cannot be read"), "{page}");
        let despite = asked(&daemon, &["find", "--email", EMAIL, "--despite-damage", "--json"]);
        assert_eq!((despite.as_array().unwrap().len(), &despite[0]["leadUuid"]), (1, &json!(whole)));

        let erased = daemon.command(&["lead", "erase", &damaged]);
        let told = String::from_utf8_lossy(&erased.stdout).into_owned();
        assert!(erased.status.success() && told.contains("its record was damaged"), "{told}");
        let again = daemon.command(&["lead", "erase", &damaged]);
        assert!(String::from_utf8_lossy(&again.stderr).contains("there is no lead"), "{again:?}");
        let receipt = asked(&daemon, &["erase", "--email", EMAIL, "--despite-damage", "--json"]);
        assert_eq!((receipt["leads"].as_array().unwrap().len(), &receipt["unread"]), (1, &json!(1)));
    }
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
    let held = daemon.command(&["person", "export", "--email", EMAIL, "--out", "-"]);
    assert!(held.status.success() && held.stdout.starts_with(b"{"), "`-` is standard output");
    let none = daemon.file("none.json");
    let nobody = ["person", "export", "--email", "nobody@example.com", "--out", none.to_str().unwrap()];
    let output = daemon.command(&nobody);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("no lead has this contact"), "{told}");
    assert!(told.contains("a copy without leads is in") && none.exists(), "{told}");
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
    let locked = "the suppression key cannot be used";
    let ready = async |daemon: &Daemon| {
        let answer = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
        String::from_utf8_lossy(&answer.body).into_owned()
    };
    assert!(daemon.log().contains(locked) && ready(&daemon).await.contains(locked));
    let url = format!("{}/readyz", daemon.admin);
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 503, "a balancer turns to others");
    let doctor = daemon.command(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(locked), "{doctor:?}");
    // An empty list would look as if nobody had opted out.
    let listed = daemon.command(&["suppressions", "list", "--json"]);
    assert!(!listed.status.success() && listed.stdout.is_empty(), "{listed:?}");
    assert!(String::from_utf8_lossy(&listed.stderr).contains(locked), "{listed:?}");
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

/// By what was given first or by what came later, and also if they ask only after the merge.
#[tokio::test]
async fn who_asked_to_be_left_alone_is_so_whatever_is_merged_into_their_lead() {
    let daemon = daemon().await;
    let uuid = submitted(&daemon, lead(EMAIL, PHONE)).await;
    let again = async |email: &str| {
        let body = serde_json::json!({"personalInformation": {"email": email}}).to_string();
        let table = daemon.post(&format!("/leads/{uuid}/rateTables"), body).await.json();
        table["savingsOffers"].as_array().unwrap().len()
    };
    assert_eq!(again("later@quillfeather.example").await, 1);
    assert!(daemon.command(&["person", "suppress", "--email", EMAIL]).status.success());
    assert_eq!(again("later@quillfeather.example").await, 0);
    assert_eq!(again("latest@quillfeather.example").await, 0);
    assert!(daemon.command(&["person", "unsuppress", "--email", EMAIL]).status.success());
    assert_eq!(again("latest@quillfeather.example").await, 1);
}

/// A store that was lost, or moved aside for a restore that was cut, had opt-outs.
#[tokio::test]
async fn beside_the_suppression_key_of_an_earlier_store_a_new_one_asks_nobody_until_that_is_confirmed() {
    let daemon = daemon().await;
    assert!(daemon.command(&["person", "suppress", "--email", EMAIL]).status.success());
    let (_, stopped) = daemon.terminate();
    std::fs::remove_dir_all(stopped.plan.store()).unwrap();
    let daemon = stopped.start().await;
    let url = format!("{}/readyz", daemon.admin);
    let ready = daemon.request(Method::GET, &url, "", "").await;
    let told = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(ready.status == 503 && told.contains("the suppression key of an earlier one"), "{told}");
    assert!(daemon.command(&["suppressions", "confirm"]).status.success());
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 200);
}

/// The damaged bytes may be an entry, of which an index that is made anew knows nothing.
#[tokio::test]
async fn over_a_damaged_base_nobody_is_asked_about_anybody_once_somebody_asked_to_be_left_alone() {
    let asked = async |daemon: &Daemon| {
        let table = daemon.submit_blocking(lead("else@quillfeather.example", PHONE)).await.json();
        !table["savingsOffers"].as_array().unwrap().is_empty()
    };
    let ready = async |daemon: &Daemon| {
        let url = format!("{}/readyz", daemon.admin);
        daemon.request(Method::GET, &url, "", "").await
    };
    // A record that is flipped where the index is made anew; and all of the base gone with the list of the files.
    let flip = |store: &Path| {
        // A stop whose index did not close in time leaves none.
        let _ = std::fs::remove_file(store.join("base/index.sum"));
        let file = store.join("base/00000001.records");
        let mut bytes = std::fs::read(&file).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&file, bytes).unwrap();
    };
    let lose = |store: &Path| {
        std::fs::remove_dir_all(store.join("base")).unwrap();
        for name in ["manifest", "manifest.copy"] {
            std::fs::remove_file(store.join(name)).unwrap();
        }
    };
    let damages = [(false, true, &flip as &dyn Fn(&Path)), (true, true, &flip), (true, false, &lose)];
    for (suppress, has_tokens, damage) in damages {
        let daemon = daemon().await;
        if suppress {
            assert!(daemon.command(&["person", "suppress", "--email", EMAIL]).status.success());
        }
        assert!(asked(&daemon).await);
        let (_, stopped) = daemon.terminate();
        damage(&stopped.plan.store());

        let daemon = stopped.start().await;
        let answer = ready(&daemon).await;
        assert_eq!(answer.status, if suppress { 503 } else { 200 });
        let told = String::from_utf8_lossy(&answer.body).into_owned();
        let is_named = told.contains("some opt-outs may be lost") || told.contains(".records` is missing");
        assert_eq!(is_named, suppress, "{told}");
        assert!(!has_tokens || asked(&daemon).await != suppress);
        let again = daemon.terminate().1.start().await;
        assert_eq!(ready(&again).await.status, answer.status, "it is damaged as before");
    }
}

#[tokio::test]
async fn who_agreed_to_what_is_told_with_each_text_that_was_shown_and_its_time() {
    let daemon = daemon().await;
    let consenting = |text: &str| {
        let certificate = format!("https://cert.trustedform.com/{:032x}", fastrand::u128(..));
        let stated = json!({"consentsToTcpa": true, "tcpaLanguage": text, "trustedFormCertUrl": certificate});
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
    assert!(earlier["trustedFormCertUrl"].as_str().unwrap().starts_with("https://cert.trustedform.com/"));
    assert!(lines(&["--to", "2020-01-01"]).is_empty());

    let dossier = daemon.command(&["lead", "export", &second]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    let kept = &dossier["lead"]["earlierConsents"][0]["legalInformation"];
    assert_eq!(kept["tcpaLanguage"], "You may call me.");
}
