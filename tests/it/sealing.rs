//! Personal data: sealed wherever it is stored, shown only on request, and unreadable once erased.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use hyper::Method;
use offerd::analytics::{ClientTagFeed, Events};
use serde_json::{Value, json};

use crate::kit::canaries::holds;
use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon, Stopped, sample};

const TAG: &str = "mrs-quillfeather-of-elm-street";
const IDEMPOTENCY_KEY: &str = "idempotency-quillfeather-1";
const TRANSACTION: &str = "account 0047118835-quillfeather";

/// A lead that has been through everything.
struct Life {
    daemon: Daemon,
    lead: String,
    table: Value,
    partner_token: String,
    signing_key: String,
}

impl Life {
    async fn new() -> Self {
        Self::beside("error").await
    }

    /// Also asks a partner that fails in this way.
    async fn beside(failure: &str) -> Self {
        let broken = format!("simulate = {{ delay = '1ms', failure_rate = 1.0, failure = '{failure}' }}");
        let partners = vec![partner("lender").loan("").savings(""), partner("broken").savings(&broken)];
        let daemon = Daemon::with_partners(partners).setting("log.filter", "offerd=trace,audit=trace");
        let daemon = daemon.start().await;
        let visit = daemon.post("/uiEvent/sessionInits", "").await.json();

        let mut lead: Value = serde_json::from_str(&sample("everything")).unwrap();
        lead["clientTags"] = json!({"campaign": [TAG]});
        lead["sessionUuid"] = visit["sessionUuid"].clone();
        let table = submit_once(&daemon, &lead).await;
        assert_eq!(table.status, 200);
        let table = daemon.complete(table.json()["uuid"].as_str().unwrap()).await;
        let lead = table["leadUuid"].as_str().unwrap().to_owned();
        let (url, more) =
            (format!("{}/leads/{lead}", daemon.api), r#"{"personalInformation":{"workPhone":"5095550199"}}"#);
        assert_eq!(daemon.request(Method::PATCH, &url, &daemon.confidential, more).await.status, 200);

        let token = |arguments: &[&str]| {
            let output = daemon.command(&[&["token", "create", "--partner", "lender"], arguments].concat());
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let (partner_token, signing_key) = (token(&[]), token(&["--signing"]));
        let life = Self { daemon, lead, table, partner_token, signing_key };
        assert_eq!(life.click().await, 302);
        assert_eq!(life.report(TRANSACTION).await.status, 201);
        assert_eq!(life.display().await, 201);
        life
    }

    fn offer(&self) -> &str {
        offer(&self.table)
    }

    async fn click(&self) -> u16 {
        self.daemon.get(&format!("/click/{}", self.offer())).await.status
    }

    async fn report(&self, transaction: &str) -> Answer {
        let report = json!({"transactionId": transaction, "eventType": "applied", "clickId": self.offer()});
        let url = format!("{}/partnerEvents", self.daemon.integrations);
        self.daemon.request(Method::POST, &url, &self.partner_token, &report.to_string()).await
    }

    async fn display(&self) -> u16 {
        let shown =
            json!({"leadUuid": self.lead, "rateTableUuid": self.table["uuid"], "offerUuid": self.offer()});
        self.daemon.post("/uiEvent/offerDisplays", shown.to_string()).await.status
    }

    fn table_uuid(&self) -> &str {
        self.table["uuid"].as_str().unwrap()
    }
}

fn offer(table: &Value) -> &str {
    table["loanOffers"][0]["uuid"].as_str().expect("an offer")
}

async fn submit_once(daemon: &Daemon, lead: &Value) -> Answer {
    let url = format!("{}/leads/rateTables", daemon.api);
    let headers = [("idempotency-key", IDEMPOTENCY_KEY)];
    daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, lead.to_string()).await
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

/// A copy of a store as it lies there, as a backup of the disk has it.
fn copied(store: &Path, to: PathBuf) -> PathBuf {
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(store).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to
}

#[tokio::test]
async fn neither_store_nor_backup_nor_log_nor_metrics_tell_of_a_person() {
    let life = Life::beside("panic").await;
    let metrics = life.daemon.request(Method::GET, &format!("{}/metrics", life.daemon.admin), "", "").await;
    let directory = tempfile::tempdir().unwrap();
    let backup = copied(&life.daemon.store(), directory.path().join("backup"));
    let lead = life.daemon.get(&format!("/leads/{}", life.lead)).await;
    let told = [life.partner_token.clone(), life.signing_key.clone()].into_iter();
    let told =
        told.chain([TAG, IDEMPOTENCY_KEY, TRANSACTION, "5095550199", "535-77-2043"].map(str::to_owned));
    let told: Vec<String> = told.collect();
    assert!(holds(&lead.body, TAG.as_bytes()), "who may ask is told");

    let log = life.daemon.log();
    let Stopped { plan, .. } = life.daemon.kill();
    assert!(plan.canaries().count() > 20, "the lead says much of a person");
    fs::write(directory.path().join("metrics"), &metrics.body).unwrap();
    plan.canaries().assert_in_none_of(&[backup.clone(), directory.path().join("metrics")]);
    for place in [backup.clone(), plan.store()] {
        // The run file opens the admin listener of a running daemon, and is new at every start.
        let _ = fs::remove_file(place.join("daemon.json"));
        for file in
            fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            let bytes = fs::read(&file).unwrap();
            for text in &told {
                assert!(!holds(&bytes, text.as_bytes()), "{} tells {text}", file.display());
            }
        }
    }
    assert!(log.contains("panic"), "{log}");
    for text in &told {
        assert!(!log.contains(text.as_str()), "the log tells {text}");
        assert!(!holds(&metrics.body, text.as_bytes()), "the metrics tell {text}");
    }

    // And a backup is no more than that to whoever has no key to it.
    let mut opened = plan.command(&["serve"]);
    let opened = opened.env("OFFERD__STORE__PATH", &backup).output().unwrap();
    assert_eq!(opened.status.code(), Some(1));
    assert!(stderr(&opened).contains("none is given"), "{}", stderr(&opened));
}

#[tokio::test]
async fn a_daemon_without_its_master_key_refuses_to_start_and_says_what_to_do() {
    let (_, stopped) = Daemon::with_partners(vec![]).start().await.terminate();
    let plan = &stopped.plan;
    let key = |name: &str| plan.master_key().with_file_name(name);
    let created = plan.command(&["key", "create"]).arg(key("wrong")).output().unwrap();
    let told = stderr(&created);
    assert!(created.status.success() && told.starts_with("key "), "{told}");
    assert_eq!(fs::metadata(key("wrong")).unwrap().permissions().mode() & 0o777, 0o600);

    let serve = |variable: &str, value: &str| plan.command(&["serve"]).env(variable, value).output().unwrap();
    let wrong = key("wrong");
    let text = fs::read_to_string(&wrong).unwrap();
    let file = ("OFFERD__STORE__MASTER_KEY_FILE", wrong.to_str().unwrap());
    for (variable, value) in [file, ("OFFERD_MASTER_KEY", text.trim())] {
        let refused = serve(variable, value);
        assert_eq!(refused.status.code(), Some(1));
        let told = stderr(&refused);
        assert!(told.contains("needs master key") && told.contains("give it as"), "{told}");
        assert!(!told.contains(text.trim()), "a key is never shown");
    }

    fs::rename(plan.master_key(), key("moved")).unwrap();
    let refused = plan.command(&["serve"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("none is given"), "{}", stderr(&refused));
    assert!(!plan.master_key().exists(), "no key is made for a store that has one");

    let moved = key("moved");
    let daemon = stopped.setting("store.master_key_file", moved.to_str().unwrap()).start().await;
    assert_eq!(daemon.submit("{}").await.status, 200);
}

#[tokio::test]
async fn a_master_key_that_is_none_is_a_fault_of_the_settings() {
    let plan = Daemon::with_partners(vec![]);
    let file = plan.master_key().with_file_name("short");
    fs::write(&file, "c0ffee").unwrap();
    let missing = file.with_file_name("missing");
    for (variable, value) in [
        ("OFFERD__STORE__MASTER_KEY_FILE", file.to_str().unwrap()),
        ("OFFERD__STORE__MASTER_KEY_FILE", missing.to_str().unwrap()),
        ("OFFERD_MASTER_KEY", "c0ffee"),
    ] {
        for command in ["check", "serve"] {
            let output = plan.command(&[command]).env(variable, value).output().unwrap();
            assert_eq!(output.status.code(), Some(64), "{command} {variable}={value}");
            let told = stderr(&output);
            assert!(told.contains("the master key in") && !told.contains("c0ffee"), "{told}");
        }
    }
    assert!(!plan.store().exists(), "nothing was started");
}

#[tokio::test]
async fn the_credential_of_a_service_manager_is_a_master_key() {
    let plan = Daemon::with_partners(vec![]);
    let directory = plan.master_key().with_file_name("credentials");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("offerd-master-key");
    assert!(plan.command(&["key", "create"]).arg(&file).status().unwrap().success());
    let plan = plan.variable("CREDENTIALS_DIRECTORY", &directory.display().to_string());
    let (_, stopped) = plan.start().await.terminate();
    let listed = json_of(&stopped.plan.command(&["token", "list", "--json"]).output().unwrap());
    assert_eq!(listed[0]["company"], "Sandbox");
    assert!(!stopped.plan.master_key().exists(), "the store is sealed with the credential");
}

#[tokio::test]
async fn an_erased_person_is_gone_for_all_who_ask_and_what_remains_is_told() {
    let life = Life::new().await;
    let other = life.daemon.submit(sample("personal_loan")).await.json();
    let path = format!("/originator/rateTables/{}", life.table_uuid());
    let tag = life.daemon.get(&path).await.header("etag").expect("a table has a tag").to_owned();
    assert_eq!(life.daemon.get_if_none_match(&path, &tag).await.status, 304);
    let erasure = json_of(&life.daemon.command(&["lead", "erase", &life.lead, "--json"]));
    assert_eq!(
        life.daemon.get_if_none_match(&path, &tag).await.status,
        404,
        "nor is it told to be unchanged"
    );
    assert_eq!(erasure["leadUuid"], life.lead);
    let destroyed = |kind: &str| erasure["destroyed"][kind].as_u64().unwrap();
    for (kind, count) in [("leads", 1), ("leadActions", 2), ("clientTags", 1), ("offerDisplays", 1)] {
        assert_eq!(destroyed(kind), count, "{kind}: {erasure}");
    }
    assert!(
        // Of the submit's key, and of what it was found by, as far as that was in the index.
        destroyed("answers") > 0
            && destroyed("hashes") >= 1
            && erasure["remaining"]["leadEvents"].as_u64().unwrap() >= 4,
        "{erasure}"
    );
    assert_eq!(erasure["remaining"]["rateTables"], 1);
    assert_eq!(erasure["remaining"]["partnerReports"], 1);

    let life = assert_gone(life).await;
    let again = life.daemon.command(&["lead", "erase", &life.lead]);
    assert_eq!(again.status.code(), Some(1));
    let audited = format!("action=\"lead.erase\" lead={}", life.lead);
    assert!(life.daemon.log().contains(&audited), "{}", life.daemon.log());
    let path = format!("/originator/rateTables/{}", other["uuid"].as_str().unwrap());
    assert_eq!(life.daemon.get(&path).await.status, 200, "others are as they were");

    // The same submit sent once more is a submit of a new lead; the same uuid is not.
    let lead: Value = serde_json::from_str(&sample("everything")).unwrap();
    let anew = submit_once(&life.daemon, &lead).await;
    assert_eq!(anew.status, 200);
    assert_ne!(anew.json()["leadUuid"], life.lead);
    let same = json!({"productTypes": ["savings"], "uuid": life.lead}).to_string();
    assert_eq!(life.daemon.submit(same).await.status, 409);

    let (_, stopped) = life.daemon.terminate();
    let daemon = stopped.start().await;
    let life = assert_gone(Life { daemon, ..life }).await;
    assert!(!life.daemon.log().contains("ERROR"), "{}", life.daemon.log());
}

/// Whoever asks for the erased lead is answered as if there had never been one.
async fn assert_gone(life: Life) -> Life {
    let (api, lead, table) = (&life.daemon.api, &life.lead, life.table_uuid());
    for (method, path, body) in [
        (Method::GET, format!("/leads/{lead}"), ""),
        (Method::PATCH, format!("/leads/{lead}"), "{}"),
        (Method::POST, format!("/leads/{lead}/rateTables"), "{}"),
        (Method::GET, format!("/originator/rateTables/{table}"), ""),
        (Method::GET, format!("/originator/rateTables/{table}/events"), ""),
        (Method::GET, format!("/click/{}", life.offer()), ""),
    ] {
        let answer = life
            .daemon
            .request(method.clone(), &format!("{api}{path}"), &life.daemon.confidential, body)
            .await;
        assert_eq!(answer.status, 404, "{method} {path}");
    }
    let pixel = format!("/uiEvent/offerDisplays/{lead}/{table}/{}/pixel.gif", life.offer());
    assert_eq!(life.daemon.get(&pixel).await.status, 200);
    assert_eq!(life.display().await, 400);
    // What a partner reports of it is still billed.
    assert_eq!((life.report(TRANSACTION).await.status, life.report("another").await.status / 100), (200, 2));
    life
}

#[tokio::test]
async fn feeds_tell_that_something_happened_to_an_erased_lead_but_not_its_tags() {
    let life = Life::new().await;
    let company = |stopped: &Stopped| {
        let output = stopped.plan.command(&["lead", "export", &life.lead]).output().unwrap();
        json_of(&output)["lead"]["company"].as_str().unwrap().to_owned()
    };
    let (_, stopped) = life.daemon.terminate();
    let company = company(&stopped);
    assert_eq!(stopped.feed_in_two_hours::<ClientTagFeed>(&company).data.len(), 1);
    let events = stopped.feed_in_two_hours::<Events>(&company).data.len();
    let erased = stopped.plan.command(&["lead", "erase", &life.lead]).output().unwrap();
    let told = stdout(&erased);
    assert!(told.contains("can never be read again") && told.contains("Backups"), "{told}");
    assert!(stderr(&erased).contains("action=\"lead.erase\""), "{}", stderr(&erased));
    assert_eq!(stopped.feed_in_two_hours::<ClientTagFeed>(&company).data.len(), 0);
    assert_eq!(stopped.feed_in_two_hours::<Events>(&company).data.len(), events);
}

#[tokio::test]
async fn a_pending_table_of_an_erased_lead_ends_and_is_not_recovered() {
    let silent = r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#;
    let partners = vec![partner("prompt").loan(""), partner("silent").loan(silent)];
    let daemon = Daemon::with_partners(partners).setting("matching.deadline", "5m").start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    assert_eq!(table["pendingResponses"].as_array().unwrap().len(), 1);
    let erased = daemon.command(&["lead", "erase", table["leadUuid"].as_str().unwrap()]);
    assert!(erased.status.success(), "{}", stderr(&erased));
    assert_eq!(daemon.rate_table(table["uuid"].as_str().unwrap()).await.status, 404);

    let daemon = daemon.kill().start().await;
    assert_eq!(daemon.rate_table(table["uuid"].as_str().unwrap()).await.status, 404);
    let log = daemon.log();
    assert!(!log.contains("continuing pending rate tables") && !log.contains("ERROR"), "{log}");
}

#[tokio::test]
async fn a_persons_request_is_answered_with_everything_that_is_held() {
    let life = Life::new().await;
    let running = json_of(&life.daemon.command(&["lead", "export", &life.lead]));
    let file = life.daemon.store().with_file_name("dossier.json");
    let (_, stopped) = life.daemon.terminate();
    let exported = ["lead", "export", &life.lead, "--out", file.to_str().unwrap()];
    let output = stopped.plan.command(&exported).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let mut offline: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();

    let person = &running["lead"]["lead"]["personalInformation"];
    assert_eq!((&person["ssn"], &person["workPhone"]), (&json!("535-77-2043"), &json!("5095550199")));
    assert_eq!(running["rateTables"][0]["loanOffers"][0]["uuid"], offer(&life.table));
    assert_eq!(running["clientTags"][0]["value"], TAG);
    assert_eq!(running["partnerReports"][0]["transactionId"], TRANSACTION);
    assert_eq!(running["status"], "applied");
    for (what, least) in [("leadActions", 3), ("leadEvents", 4), ("offerDisplays", 1), ("visits", 1)] {
        assert!(running[what].as_array().unwrap().len() >= least, "{what}: {running}");
    }
    // The same without a daemon, but for when it was put together and where offers would be clicked.
    offline["exportedAt"] = running["exportedAt"].clone();
    let origin =
        running["rateTables"][0]["loanOffers"][0]["url"].as_str().unwrap().split("/click").next().unwrap();
    assert_eq!(offline.to_string(), running.to_string().replace(origin, ""));
    let again = stopped.plan.command(&exported).output().unwrap();
    assert!(stderr(&again).contains("is never overwritten"), "{}", stderr(&again));
}

#[tokio::test]
async fn the_master_key_is_exchanged_while_the_daemon_runs_and_while_it_does_not() {
    // What is for the audit is logged all the same.
    let plan = Daemon::with_partners(vec![partner("prompt").savings("")]).setting("log.filter", "error");
    let daemon = plan.start().await;
    let table = daemon.submit(sample("everything")).await.json();
    let lead = format!("/leads/{}", table["leadUuid"].as_str().unwrap());
    let keys = ["first", "second"].map(|name| daemon.store().with_file_name(name));
    let [first, second] = keys.each_ref().map(|file| file.to_str().unwrap());
    for file in [first, second] {
        assert!(daemon.command(&["key", "create", file]).status.success());
    }

    // A rotation that is cut off half-way names the key in force.
    let in_force = daemon.command(&["doctor", "--json"]).stdout;
    fs::create_dir(daemon.store().join("keys.new")).unwrap();
    let failed = stderr(&daemon.command(&["key", "rotate", "--new-key-file", first]));
    let (before, _) = failed.split_once(" stays in force) was not written").expect("it names the key");
    let key = before.rsplit('(').next().unwrap();
    assert!(key.len() == 8 && String::from_utf8_lossy(&in_force).contains(key), "{failed}");
    fs::remove_dir(daemon.store().join("keys.new")).unwrap();

    let rotated = json_of(&daemon.command(&["key", "rotate", "--new-key-file", first, "--json"]));
    assert!(daemon.log().contains("action=\"key.rotate\""), "{}", daemon.log());
    assert_eq!(daemon.get(&lead).await.status, 200);
    let erased = daemon.submit(r#"{"productTypes":["savings"]}"#).await.json()["leadUuid"].clone();
    assert!(daemon.command(&["lead", "erase", erased.as_str().unwrap()]).status.success());
    let refused = daemon.command(&["key", "rotate", "--new-key-file", "/nowhere"]);
    assert!(stderr(&refused).contains("offerd key create /nowhere"), "{}", stderr(&refused));
    let again = daemon.command(&["key", "rotate", "--new-key-file", first]);
    let new_key = rotated["newKey"].as_str().unwrap();
    assert_eq!(stdout(&again), format!("the store is sealed with {new_key} already; nothing changed\n"));
    assert_eq!(daemon.log().matches("action=\"key.rotate\"").count(), 1, "nothing to be audited");

    // The settings still give the key of before: a start would fail, and who looks is told before.
    let looked = daemon.command(&["doctor", "--json"]);
    assert_eq!(looked.status.code(), Some(1));
    let findings = json_of(&Output { status: again.status, ..looked });
    let key = findings.as_array().unwrap().iter().find(|finding| finding["check"] == "master key").unwrap();
    assert_eq!(key["state"], "wrong");
    assert!(key["found"].as_str().unwrap().contains(&format!("sealed with {new_key}")), "{key}");
    assert!(key["next"].as_str().unwrap().contains("store.master_key_file"), "{key}");

    let checked = daemon.command(&["check"]);
    assert_eq!(checked.status.code(), Some(64));
    assert!(stderr(&checked).contains(&format!("but the store needs {new_key}")), "{}", stderr(&checked));
    assert!(daemon.metrics().await.contains("offerd_master_key_differs 1"));
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    let ready = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(ready.starts_with("ready\n") && ready.contains("the next start will fail"), "{ready}");

    let stopped = daemon.kill();
    let old = stopped.plan.command(&["serve"]).output().unwrap();
    assert_eq!(old.status.code(), Some(1));
    assert!(stderr(&old).contains(rotated["newKey"].as_str().unwrap()), "{}", stderr(&old));
    let checked = stopped.plan.command(&["check"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(64), "what a start refuses, a check finds");
    assert!(stderr(&checked).contains(&format!("but the store needs {new_key}")), "{}", stderr(&checked));
    let stopped = stopped.setting("store.master_key_file", first);
    let rotated = stopped.plan.command(&["key", "rotate", "--new-key-file", second]).output().unwrap();
    assert!(stdout(&rotated).contains("from now on"), "{}", stdout(&rotated));

    let daemon = stopped.setting("store.master_key_file", second).start().await;
    assert_eq!(daemon.get(&lead).await.json()["personalInformation"]["ssn"], "535-77-2043");
}
