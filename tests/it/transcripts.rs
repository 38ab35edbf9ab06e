//! Transcripts of partner calls: kept where the partner file wants it, shown masked, or whole with a reason, and gone
//! with the person or after their own time.

use std::process::Output;

use hyper::Method;
use serde_json::{Value, json};

use crate::console::{csrf, html, page, send};
use crate::kit::far_partners::{bidding, buyer, caller, offers, reply_to, secret_file, slow_lender};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender};
use crate::kit::{Daemon, PATIENCE, Plan, sample};

const SSN: &str = "536-22-8714";
const SECRET: &str = "s3cret-of-the-lender";

/// The same partner, with transcripts.
fn kept(partner: PartnerFile) -> PartnerFile {
    partner.replaced("wire =", "transcripts = true\nwire =")
}

fn said(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The transcripts of a table, once there are so many: they are written when an ask has ended, and nobody waits for them.
async fn transcripts(daemon: &Daemon, table: &str, count: usize) -> Vec<Value> {
    let waiting = async {
        loop {
            let output = daemon.command(&["transcript", table, "--json"]);
            if output.status.success() {
                let asks = said(&output)["asks"].as_array().unwrap().clone();
                if asks.len() == count {
                    return asks;
                }
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("transcripts are written")
}

/// The whole transcripts of a table.
fn whole(daemon: &Daemon, table: &str) -> Value {
    said(&daemon.command(&["transcript", table, "--json", "--reveal", "--reason", "dispute 4711"]))
}

/// A daemon that keeps what a lender with these further keys is sent, and the uuids of a table of it and of its lead.
async fn asked(plan: Plan) -> (Daemon, String, String) {
    let daemon = plan.start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let uuid = |key: &str| table[key].as_str().unwrap().to_owned();
    let uuids = (uuid("uuid"), uuid("leadUuid"));
    transcripts(&daemon, &uuids.0, 1).await;
    (daemon, uuids.0, uuids.1)
}

async fn plain_plan() -> (FarSide, Plan) {
    let far = FarSide::start(|_| offers()).await;
    let plan = Daemon::with_partners(vec![kept(far_lender("far", &far.url("/v2/quote"), ""))]);
    (far, plan)
}

#[tokio::test]
async fn it_is_kept_with_persons_masked_and_seen_whole_with_a_reason_that_the_audit_log_tells() {
    let (_far, plan) = plain_plan().await;
    let (daemon, table, _) = asked(plan).await;
    let shown = daemon.command(&["transcript", &table, "--json"]);
    let text = String::from_utf8(shown.stdout.clone()).unwrap();
    assert!(!text.contains(SSN) && !text.contains("10000"), "{text}");
    let call = &said(&shown)["asks"][0]["calls"][0];
    assert_eq!(
        (&call["method"], &call["status"], &call["by"]),
        (&json!("POST"), &json!(200), &json!("offerd"))
    );
    assert!(call["url"].as_str().unwrap().ends_with("/v2/quote"), "{call}");
    let sent: Value = serde_json::from_str(call["sent"]["body"].as_str().unwrap()).unwrap();
    assert_eq!(sent, json!({"amount": "•••", "ssn": "•••", "id": "•••"}), "names are shown");
    let came: Value = serde_json::from_str(call["came"]["body"].as_str().unwrap()).unwrap();
    assert_eq!((&came["offers"][0]["apr"], &came["offers"][0]["link"]), (&json!(9.5), &json!("•••")));
    assert!(!daemon.log().contains("transcript.reveal"), "what is masked may be looked at");

    for unreasoned in [&["--reveal"][..], &["--reveal", "--reason", "  "], &["--reason", "x"]] {
        refused(&daemon.command(&[&["transcript", &table], unreasoned].concat()));
    }
    assert!(!daemon.log().contains("transcript.reveal"));
    let whole = whole(&daemon, &table);
    let call = &whole["asks"][0]["calls"][0];
    assert!(call["sent"]["body"].as_str().unwrap().contains(SSN), "{call}");
    let Deed::Json(_, answered) = offers() else { unreachable!("offers are JSON") };
    assert_eq!((&whole["whole"], &call["came"]["body"]), (&json!(true), &json!(answered)));
    daemon.logged("transcript.reveal").await;
    let log = daemon.log();
    let line = log.lines().find(|line| line.contains("transcript.reveal")).unwrap();
    assert!(line.contains("dispute 4711") && line.contains(&table) && line.contains("far"), "{line}");

    let outline = daemon.command(&["transcript", &table, "--partner", "far"]);
    let outline = String::from_utf8(outline.stdout).unwrap();
    assert!(
        outline.contains("200 after") && outline.contains("> content-type: application/json"),
        "{outline}"
    );
    assert!(
        refused(&daemon.command(&["transcript", &table, "--partner", "else"])).contains("nothing is kept")
    );
}

#[tokio::test]
async fn secrets_are_never_in_it_however_they_are_sent_or_repeated() {
    let spelled: String = SECRET.bytes().map(|byte| format!("&#{byte};")).collect();
    let answer = json!({"offers": [{"term": 36, "apr": 9.5}], "echo": SECRET, "spelled": spelled,
        "sessionToken": {"values": ["t0k3n-of-a-session"]}});
    let far = FarSide::start(move |request| match request.head.split_whitespace().nth(1) {
        Some("/token") => {
            Deed::Json(200, json!({"access_token": "b3arer-token", "expires_in": 60}).to_string())
        }
        _ => Deed::Json(200, answer.to_string()),
    })
    .await;
    let keys = format!(
        r#"
transcripts = true
secrets = {{ key = {{ file = "{}" }} }}
query = {{ plain = "'web'", key = "secret.key" }}

[products.loan.http.headers]
x-key = "secret.key"
x-nonce = "nonce"
x-signature = "request.body|hmac('sha256', secret.key)|hex"

[products.loan.http.auth.oauth2]
token_url = "{}"
client_id = "'offerd'"
client_secret = "secret.key"
"#,
        secret_file(SECRET),
        far.url("/token")
    );
    let lender = far_lender("far", &far.url("/quote"), &keys).replaced(
        "id = \"lead_uuid\" }",
        "id = \"lead_uuid\", login = { key = \"secret.key\", made = \"secret.key|sha256|hex\" } }",
    );
    let (daemon, table, lead) = asked(Daemon::with_partners(vec![lender])).await;
    let call = &whole(&daemon, &table)["asks"][0]["calls"][0];
    let request = far.received().into_iter().find(|request| request.head.starts_with("POST /quote")).unwrap();
    let header = |name: &str| {
        let headers = call["sent"]["headers"].as_array().unwrap();
        headers.iter().find(|header| header[0] == name).unwrap_or_else(|| panic!("{name}: {call}"))[1].clone()
    };
    for withheld in ["x-key", "x-signature", "authorization"] {
        assert_eq!(header(withheld), json!(null), "{withheld}");
    }
    let nonce = header("x-nonce");
    assert!(request.head.contains(nonce.as_str().unwrap()), "the nonce that was sent");
    assert!(call["url"].as_str().unwrap().ends_with("/quote?key=***&plain=web"), "{call}");
    let sent: Value = serde_json::from_str(&request.body).unwrap();
    let dossier = said(&daemon.command(&["lead", "export", &lead]));
    let made = sent["login"]["made"].as_str().unwrap();
    let backed = daemon.file("whole.json");
    std::fs::write(&backed, format!("{call}{dossier}")).unwrap();
    let all = std::fs::read_to_string(&backed).unwrap();
    for secret in [SECRET, &spelled, "b3arer-token", "t0k3n-of-a-session", made] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(all.contains(SSN) && dossier["partnerTranscripts"][0]["partner"] == "far", "a dossier has it");
}

#[tokio::test]
async fn nothing_is_kept_of_a_partner_whose_file_does_not_say_so() {
    let far = FarSide::start(|_| offers()).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let told = refused(&daemon.command(&["transcript", table["uuid"].as_str().unwrap()]));
    assert!(told.contains("nothing is kept of it") && told.contains("transcripts = true"), "{told}");
    let told = refused(&daemon.command(&["transcript", table["leadUuid"].as_str().unwrap()]));
    assert!(told.contains("no rate table or offer has the uuid"), "{told}");
    assert!(!daemon.metrics().await.contains("offerd_transcripts_total{event=\"kept\"} 1"));
}

#[tokio::test]
async fn every_step_and_every_poll_is_in_it() {
    let polls = std::sync::atomic::AtomicUsize::new(0);
    let far = FarSide::start(move |request| match request.head.starts_with("POST") {
        true => Deed::Json(202, json!({"id": "A 7", "state": "working"}).to_string()),
        false if polls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 => {
            Deed::Json(200, json!({"state": "working"}).to_string())
        }
        false => offers(),
    })
    .await;
    let (daemon, table, _) = asked(Daemon::with_partners(vec![kept(slow_lender(&far, "50ms"))])).await;
    let asks = transcripts(&daemon, &table, 1).await;
    let calls = asks[0]["calls"].as_array().unwrap();
    let told: Vec<_> = calls.iter().map(|call| (&call["method"], &call["step"], &call["status"])).collect();
    let (first, poll) = (json!("steps[0]"), json!("steps[1]"));
    let [post, get, taken, ok] = [json!("POST"), json!("GET"), json!(202), json!(200)];
    let polled = (&get, &poll, &ok);
    assert_eq!(told, [(&post, &first, &taken), polled, polled, polled]);
    let working: Value = serde_json::from_str(calls[1]["came"]["body"].as_str().unwrap()).unwrap();
    assert_eq!(working["state"], "working", "a word of the mapping is shown");
}

#[tokio::test]
async fn a_ping_and_its_post_are_in_it() {
    let far = bidding(json!(25)).await;
    let (daemon, table, _) =
        asked(Daemon::with_partners(vec![kept(buyer("buyer", &far, "floor = 5.0"))])).await;
    let whole = whole(&daemon, &table);
    let calls = whole["asks"][0]["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{whole}");
    let [ping, post] = [0, 1].map(|nth: usize| calls[nth]["sent"]["body"].as_str().unwrap());
    assert!(!ping.contains(SSN) && post.contains(SSN), "{whole}");
}

#[tokio::test]
async fn a_call_of_the_partner_is_in_it_and_one_that_came_too_late_beside_it() {
    let far = FarSide::start(|_| Deed::Json(202, json!({"taken": true}).to_string())).await;
    let verify = format!(
        "verify = \"header['x-key'] == secret.key\"\n\n[products.loan.http.secrets]\nkey = {{ file = \"{}\" }}",
        secret_file(SECRET)
    );
    let daemon = Daemon::with_partners(vec![kept(caller(&far, &verify))]).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let table = table["uuid"].as_str().unwrap();
    let url = reply_to(&far).await;
    let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
    let call = async |key: &str| {
        let headers = [("x-key", key), ("content-type", "application/json")];
        daemon.request_with(Method::POST, &url, "", &headers, answer.clone()).await.status
    };
    assert_eq!(call("a stranger's").await, 403);
    assert_eq!(call(SECRET).await, 204);
    daemon.complete(table).await;
    transcripts(&daemon, table, 1).await;
    assert_eq!(call(SECRET).await, 410);
    assert_eq!(call("a stranger's").await, 410);
    transcripts(&daemon, table, 2).await;
    for _ in 0..8 {
        assert_eq!(call(SECRET).await, 410);
    }
    transcripts(&daemon, table, 4).await;
    let whole = whole(&daemon, table);
    let by = |nth: usize| {
        let calls = whole["asks"][nth]["calls"].as_array().unwrap();
        calls.iter().map(|call| call["by"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((by(0), by(1)), (vec!["offerd", "partner"], vec!["partner_late"]), "{whole}");
    assert_eq!(whole["asks"][0]["calls"][1]["sent"]["body"], json!(answer));
    assert!(!whole.to_string().contains(SECRET), "{whole}");
}

#[tokio::test]
async fn a_call_without_an_answer_is_in_it_with_its_cause() {
    let far = FarSide::start(|_| Deed::Reset).await;
    let (daemon, table, _) =
        asked(Daemon::with_partners(vec![kept(far_lender("far", &far.url("/"), ""))])).await;
    let call = &transcripts(&daemon, &table, 1).await[0]["calls"][0];
    assert!(call["failure"].as_str().is_some_and(|cause| !cause.is_empty()), "{call}");
    assert_eq!((&call["status"], &call["came"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn what_is_longer_than_it_may_be_is_cut_and_says_so() {
    let long = "x".repeat(5000);
    let answer = json!({"offers": [{"term": 36, "apr": 9.5}], "long": long}).to_string();
    let bytes = answer.len();
    let far = FarSide::start(move |_| Deed::Json(200, answer.clone())).await;
    let plan = Daemon::with_partners(vec![kept(far_lender("far", &far.url("/"), ""))]);
    let (daemon, table, _) = asked(plan.setting("transcripts.call_bytes", "1024")).await;
    let call = &whole(&daemon, &table)["asks"][0]["calls"][0];
    let lengths = ["sent", "came"].map(|part| call[part]["body"].as_str().unwrap().len());
    assert_eq!((lengths[0] + lengths[1], &call["came"]["bytes"]), (1024, &json!(bytes)), "{call}");
    assert_eq!((&call["sent"]["cut"], &call["came"]["cut"]), (&json!(false), &json!(true)));
    assert!(daemon.metrics().await.contains("offerd_transcripts_total{event=\"cut\"} 1"));
    let outline = String::from_utf8(daemon.command(&["transcript", &table]).stdout).unwrap();
    assert!(
        outline.contains(&format!("cut: {bytes} bytes in all")) && outline.contains("< •••"),
        "{outline}"
    );
}

#[tokio::test]
async fn it_goes_with_the_person() {
    let (_far, plan) = plain_plan().await;
    let (daemon, table, lead) = asked(plan).await;
    let erased = said(&daemon.command(&["lead", "erase", &lead, "--json"]));
    let destroyed = ["answers", "transcripts"].map(|kind| erased["destroyed"][kind].as_u64());
    assert_eq!(destroyed, [Some(1), Some(1)], "{erased}");
    let gone = |told: String| assert!(told.contains("or its lead is erased"), "{told}");
    gone(refused(&daemon.command(&["transcript", &table])));
    gone(refused(&daemon.command(&["transcript", &table, "--reveal", "--reason", "dispute"])));
    assert_eq!(page(&daemon, &format!("/console/rateTables/{table}/transcript")).await.status, 404);
    let (_, stopped) = daemon.terminate();
    gone(refused(&stopped.plan.command(&["transcript", &table]).output().unwrap()));
    let report = stopped.plan.command(&["store", "check"]).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
}

#[tokio::test]
async fn it_ends_before_the_lead_does() {
    let (_far, plan) = plain_plan().await;
    let daemon = plan.setting("transcripts.kept", "1s").setting("store.volume_age", "1s").start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let uuid = table["uuid"].as_str().unwrap();
    daemon.logged("older than `transcripts.kept`").await;
    assert!(refused(&daemon.command(&["transcript", uuid])).contains("nothing is kept"));
    assert!(daemon.metrics().await.contains("offerd_transcripts_total{event=\"removed\"} 1"));
    assert_eq!(daemon.rate_table(uuid).await.json(), table, "the rest stays");
}

#[tokio::test]
async fn it_is_in_a_backup_and_in_an_export_and_survives_a_restart() {
    let (_far, plan) = plain_plan().await;
    let (daemon, table, lead) = asked(plan).await;
    let before = said(&daemon.command(&["transcript", &table, "--json"]));
    let backup = daemon.file("backup");
    assert!(daemon.command(&["backup", backup.to_str().unwrap()]).status.success());
    let (_, stopped) = daemon.terminate();
    let shown = |plan: &Plan| said(&plan.command(&["transcript", &table, "--json"]).output().unwrap());
    assert_eq!(shown(&stopped.plan), before, "of a stopped daemon's store, too");

    let export = stopped.plan.store().with_file_name("export");
    let exported = [&["export", export.to_str().unwrap()][..], &["--personal-data"]].concat();
    assert!(stopped.plan.command(&exported).status().unwrap().success());
    let (_other, elsewhere) = plain_plan().await;
    assert!(elsewhere.command(&["import", export.to_str().unwrap()]).status().unwrap().success());
    let imported = shown(&elsewhere);
    assert_eq!(imported["asks"][0]["calls"].as_array().unwrap().len(), 1);
    let whole = ["transcript", &table, "--json", "--reveal", "--reason", "moved"];
    let [here, there] = [&stopped.plan, &elsewhere].map(|plan| said(&plan.command(&whole).output().unwrap()));
    assert_eq!(here, there);

    let restored = stopped.plan.store().with_file_name("restored");
    let into = restored.to_str().unwrap();
    let made = stopped.plan.command(&["restore", backup.to_str().unwrap(), "--into", into]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut told = stopped.plan.command(&["transcript", &table, "--json"]);
    told.env("OFFERD__STORE__PATH", into);
    told.env("OFFERD__STORE__MASTER_KEY_FILE", stopped.plan.master_key());
    assert_eq!(said(&told.output().unwrap()), before);
    assert!(!lead.is_empty());
}

#[tokio::test]
async fn the_page_of_a_table_leads_to_it_and_a_form_with_a_reason_shows_it_whole() {
    let (_far, plan) = plain_plan().await;
    let (daemon, table, _) = asked(plan).await;
    let path = format!("/console/rateTables/{table}");
    let transcript = format!("{path}/transcript");
    assert!(html(&daemon, &path).await.contains(&format!("{transcript}#far-loan")));
    let masked = html(&daemon, &transcript).await;
    assert!(masked.contains("v2&#x2f;quote") && masked.contains("9.5") && !masked.contains(SSN), "{masked}");

    let csrf = csrf(&masked);
    let [token, far, why] = [("csrf", &csrf[..]), ("partner", "far"), ("reason", "a dispute <b>")];
    assert_eq!(send(&daemon, &transcript, &[far, why], &[]).await.status, 403, "no form of ours");
    assert_eq!(send(&daemon, &transcript, &[token, far], &[]).await.status, 400, "no reason");
    assert_eq!(send(&daemon, &transcript, &[token, why], &[]).await.status, 400, "no partner");
    assert!(!daemon.log().contains("transcript.reveal"));
    let shown = send(&daemon, &transcript, &[token, far, why], &[]).await;
    let text = String::from_utf8(shown.body.to_vec()).unwrap();
    assert!(shown.status == 200 && text.contains(SSN) && !text.contains("name=\"reason\""), "{text}");
    daemon.logged("transcript.reveal").await;
    daemon.logged("a dispute <b>").await;
    assert!(!html(&daemon, &transcript).await.contains(SSN), "and it is masked again");
}
