//! The partner simulator: the binary answers as the case files say.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::{PartnerFile, partner};
use crate::kit::{Daemon, sample};

/// A running simulator.
pub struct Sandbox {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub url: String,
}

impl Sandbox {
    fn start(flags: &[&str]) -> Self {
        Self::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/partners"), flags)
    }

    /// With other cases than those of the sample partners.
    pub fn of(cases: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_offerd"))
            .args(["sandbox", "--listen", "127.0.0.1:0", "--latency", "0ms", "--cases"])
            .arg(cases)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let url = first.split_whitespace().find_map(|word| word.strip_suffix("/KEY/...")).unwrap().to_owned();
        Self { child, stdout, url }
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sample lender, not paused, whose sandbox is the simulator.
fn lender(url: &str) -> PartnerFile {
    partner("hazelmoor_lending").and(&format!(
        r#"
[products.loan]
timeout = "20s"

[[products.loan.offers]]
key = "personal"
sub_type = "personal_loan"
landing_url = "https://apply.example/start?click={{clickId}}"
amount = {{ min = 2000, max = 50000 }}
terms = [36, 60]
apr_type = "fixed"
payout = {{ on = "funded", percent = 2.0 }}
conversion_probability = 0.1

[products.loan.http]
url = "{url}/hazelmoor_lending/quotes"
sandbox_url = "{url}/hazelmoor_lending/quotes"
json = {{ name = "lead.personalInformation.lastName" }}
wire = {{ allow_addresses = ["127.0.0.1"] }}
answer = {{ declined = "'low_fico' if response.decision == 'DECLINED'", offer = {{ key = "'personal'", term = "offer.termMonths", apr = "offer.apr * 100", pre_qualified = "true" }} }}

[products.loan.http.auth.oauth2]
token_url = "{url}/hazelmoor_lending/token"
client_id = "'client'"
client_secret = "'public'"
"#
    ))
}

fn called(last_name: &str) -> String {
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    lead["personalInformation"]["lastName"] = last_name.into();
    lead.to_string()
}

#[tokio::test]
async fn a_daemon_gets_offers_and_the_case_that_a_lead_asks_for() {
    let mut sandbox = Sandbox::start(&[]);
    let daemon = Daemon::with_partners(vec![lender(&sandbox.url)]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2, "{table} {}", daemon.log());
    assert_eq!(sandbox.line(), "POST /hazelmoor_lending/token - token");
    assert_eq!(sandbox.line(), "POST /hazelmoor_lending/quotes offers answered after 0 ms");

    let table = daemon.submit_blocking(called("case:declined_for_score")).await.json();
    assert_eq!(table["loanOffers"], json!([]));
    assert_eq!(sandbox.line(), "POST /hazelmoor_lending/quotes declined_for_score answered after 0 ms");
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!(lead["leadActions"][0]["rejectReason"], "low_fico");

    let file = daemon.store().with_file_name("lead.json");
    std::fs::write(&file, sample("personal_loan")).unwrap();
    let tried = daemon.command(&["partners", "try", "hazelmoor_lending", file.to_str().unwrap(), "--send"]);
    let shown = String::from_utf8(tried.stdout).unwrap();
    assert_eq!(tried.status.code(), Some(0), "{shown}");
    assert!(shown.contains("11.49 % APR") && shown.contains("12.99 % APR"), "{shown}");
    assert!(!shown.contains("Tolliver"), "{shown}");

    let list = daemon.request(Method::GET, &sandbox.url, "", "").await.json();
    assert_eq!(list.as_object().unwrap().len(), 7);
    assert!(list["hazelmoor_lending"].as_array().unwrap().contains(&json!("declined_for_score")), "{list}");
    let unknown = format!("{}/hazelmoor_lending/quotes", sandbox.url);
    let unknown = daemon.request(Method::POST, &unknown, "", "case:of_nobody").await;
    assert_eq!(unknown.status, 404);
}

/// As the handbook has it: the sample partners' own files, asked of the simulator.
#[tokio::test]
async fn the_offers_of_a_sample_partner_lead_to_the_pages_that_stand_for_it() {
    let sandbox = Sandbox::start(&[]);
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("partners");
    let file = std::fs::read_to_string(files.join("hazelmoor_lending.toml")).unwrap();
    let lines = file.lines().map(|line| match line.split(" = ").next().unwrap() {
        "paused" => String::new(),
        "sandbox_url" => format!("sandbox_url = \"{}/hazelmoor_lending/quotes\"", sandbox.url),
        "wire" => "wire = { allow_addresses = [\"127.0.0.1\"] }".to_owned(),
        "secrets" => "secrets = { api_key = { env = \"PATH\" } }".to_owned(),
        _ => line.to_owned(),
    });
    let plan = Daemon::with_partners(Vec::new());
    std::fs::write(plan.partners().join("hazelmoor_lending.toml"), lines.collect::<Vec<_>>().join("\n"))
        .unwrap();
    let daemon = plan.start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let offers = table["loanOffers"].as_array().unwrap();
    assert_eq!(offers.len(), 2, "{table} {}", daemon.log());
    for offer in offers {
        let click = offer["url"].as_str().unwrap();
        let to = daemon.request(Method::GET, click, "", "").await;
        let to = to.header("location").unwrap().to_owned();
        assert!(to.starts_with(&format!("{}/samples/hazelmoor_lending/personal?click=", daemon.api)), "{to}");
        assert!(to.contains(offer["uuid"].as_str().unwrap()) && !to.contains('{'), "{to}");
        assert_eq!(daemon.request(Method::GET, &to, "", "").await.status, 200, "{to}");
    }
}

#[tokio::test]
async fn chance_spares_the_case_that_was_asked_for() {
    let mut sandbox = Sandbox::start(&["--errors", "1"]);
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let url = format!("{}/hazelmoor_lending/quotes", sandbox.url);
    let failed = daemon.request(Method::POST, &url, "", "{}").await;
    assert_eq!(failed.status, 500);
    assert_eq!(sandbox.line(), "POST /hazelmoor_lending/quotes offers error after 0 ms");
    let answered = daemon.request(Method::POST, &url, "", r#"{"name": "case:offers"}"#).await;
    assert_eq!((answered.status, &answered.json()["decision"]), (200, &json!("APPROVED")));
}

#[tokio::test]
async fn garbage_cut_connections_and_drips_never_become_offers() {
    for (flag, deed) in [("--garbage", "garbage"), ("--reset", "reset"), ("--drip", "drip")] {
        let mut sandbox = Sandbox::start(&[flag, "1"]);
        let lender = lender(&sandbox.url).replaced("timeout = \"20s\"", "timeout = \"2s\"");
        let daemon = Daemon::with_partners(vec![lender, partner("bank").loan("")]).start().await;
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        let loans = table["loanOffers"].as_array().unwrap();
        assert!(
            loans.iter().all(|offer| offer["originator"]["key"] == "bank") && loans.len() == 1,
            "{table}"
        );
        assert_eq!(sandbox.line(), "POST /hazelmoor_lending/token - token");
        let line = sandbox.line();
        assert!(line.ends_with(&format!("offers {deed} after 0 ms")), "{line}");
    }
}

/// A lender that takes an application and calls back, signed as `verify` wants it.
fn caller(url: &str, verify: &str, secret: &Path) -> PartnerFile {
    lender(url)
        .replaced("timeout = \"20s\"", "timeout = \"6s\"")
        .replaced(
            &format!("url = \"{url}/hazelmoor_lending/quotes\"\nsandbox_url = \"{url}/hazelmoor_lending/quotes\"\njson = {{ name = \"lead.personalInformation.lastName\" }}\n"),
            &format!("secrets = {{ key = {{ file = \"{}\" }} }}\n", secret.display()),
        )
        .replaced(
            "[products.loan.http.auth.oauth2]",
            &format!(
                r#"[[products.loan.http.steps]]
url = "{url}/hazelmoor_lending/applications"
sandbox_url = "{url}/hazelmoor_lending/applications"
json = {{ name = "lead.personalInformation.lastName", reply_to = "callback_url" }}

[[products.loan.http.steps]]
callback = true
verify = "{verify}"

[products.loan.http.auth.oauth2]"#
            ),
        )
}

/// Cases of the lender: a call that is signed so, one that is not, and one that is signed with another key.
fn cases_of(directory: &Path, headers: &Value, secrets: &str, others: &Value) {
    let folder = directory.join("hazelmoor_lending");
    std::fs::create_dir_all(&folder).unwrap();
    let said = json!({"status": 200, "json": {"offers": [{"termMonths": 36, "apr": 0.1149}]}});
    let case = |name: &str, callback: Value| {
        let applied = json!({"response": {"status": 202, "json": {"taken": true}}});
        let calls = json!([applied, {"callback": callback, "response": said}]);
        std::fs::write(folder.join(format!("{name}.json")), json!({"calls": calls}).to_string()).unwrap();
    };
    case("offers", json!({"sign": {"headers": headers}}));
    case("unsigned", json!({"expect": "unsigned"}));
    case("badly_signed", json!({"sign": {"headers": headers, "secrets": others}, "expect": "unsigned"}));
    std::fs::write(folder.join("sandbox.toml"), secrets).unwrap();
}

#[tokio::test]
async fn a_partner_signs_a_callback_with_a_digest_of_its_body_as_its_file_verifies_it() {
    signs_as_it_verifies(
        "header['x-signature'] == body|hmac('sha256', secret.key)|hex",
        json!({"x-signature": "body|hmac('sha256', secret.key)|hex"}),
    )
    .await;
}

#[tokio::test]
async fn a_partner_signs_a_callback_with_the_time_in_it_as_its_file_verifies_it() {
    signs_as_it_verifies(
        "header['x-signature'] == [header['x-time'], body|md5|hex]|join('.')|hmac('sha512', secret.key)|base64",
        json!({
            "x-signature": "[header['x-time'], body|md5|hex]|join('.')|hmac('sha512', secret.key)|base64",
            "x-time": "now|date('%s')",
        }),
    )
    .await;
}

#[tokio::test]
async fn a_partner_signs_a_callback_with_a_detached_jws_as_its_file_verifies_it() {
    signs_as_it_verifies(
        "header.authorization == 'JWS ' ~ body|jws('HS384', secret.key, kid='7', detached=true)",
        json!({"authorization": "'JWS ' ~ body|jws('HS384', secret.key, kid='7', detached=true)"}),
    )
    .await;
}

#[tokio::test]
async fn a_partner_signs_a_callback_with_a_private_key_as_its_file_verifies_it() {
    signs_as_it_verifies(
        "body|is_signed('ES256', header['x-signature']|from_base64, secret.key)",
        json!({"x-signature": "body|sign('ES256', secret.private)|base64url"}),
    )
    .await;
}

/// A callback that is signed is taken in; one that is not, and one under another key, is refused and counted.
async fn signs_as_it_verifies(verify: &str, headers: Value) {
    let [ours, others] =
        [(); 2].map(|()| rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let is_private = headers.to_string().contains("private");
    let secrets = format!("[secrets]\nkey = \"k3y\"\nprivate = \"\"\"\n{}\"\"\"\n", ours.serialize_pem());
    let others = match is_private {
        true => json!({"private": others.serialize_pem()}),
        false => json!({"key": "other"}),
    };
    cases_of(directory.path(), &headers, &secrets, &others);
    let mut sandbox = Sandbox::of(directory.path(), &[]);
    let secret = directory.path().join("key");
    let public = ours.public_key_pem();
    std::fs::write(&secret, if is_private { &public } else { "k3y\n" }).unwrap();
    let daemon = Daemon::with_partners(vec![caller(&sandbox.url, verify, &secret)]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 1, "{verify}: {table} {}", daemon.log());
    assert_eq!(sandbox.line(), "POST /hazelmoor_lending/token - token");
    assert_eq!(sandbox.line(), "POST /hazelmoor_lending/applications offers answered after 0 ms");
    assert!(sandbox.line().ends_with("callback 204"));
    for case in ["unsigned", "badly_signed"] {
        let table = daemon.submit(called(&format!("case:{case}"))).await.json();
        assert!(sandbox.line().contains(case));
        let line = sandbox.line();
        assert!(line.ends_with("callback 403"), "{verify}, {case}: {line}");
        let _ = daemon.complete(table["uuid"].as_str().unwrap()).await;
    }
    assert!(daemon.metrics().await.contains("offerd_callbacks_total{result=\"unsigned\"} 2"));
}

#[test]
fn what_it_cannot_sign_is_refused_at_the_start_with_file_and_key() {
    let start = |headers: Value, secrets: &str| {
        let directory = tempfile::tempdir().unwrap();
        cases_of(directory.path(), &headers, secrets, &json!({"key": "other"}));
        let mut command = Command::new(env!("CARGO_BIN_EXE_offerd"));
        let command = command.args(["sandbox", "--listen", "127.0.0.1:0", "--cases"]).arg(directory.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let key = "[secrets]\nkey = \"k3y\"\n";
    for (headers, secrets, wanted) in [
        (
            json!({"x-s": "body|hmac('sha1024', secret.key)|hex"}),
            key,
            "badly_signed.json: `calls[1].callback.sign.headers.x-s` names an unknown digest, `sha1024`; \
                known: sha1, sha256",
        ),
        (
            json!({"x-s": "body|jws('ES256', secret.key)"}),
            key,
            "sign.headers.x-s`: has a key that is not a private key of the curve",
        ),
        (
            json!({"x-s": "body|hmac('sha256', secret.key)|hex"}),
            "",
            "offers.json: `calls[1]`: `callback`: `sign.headers.x-s` uses `secret.key`, which neither \
                `sign.secrets` nor `[secrets]` of sandbox.toml defines",
        ),
        (
            json!({"x-s": "body|sha256|hex"}),
            "latency = \"soon\"\nseed = 1\n",
            "sandbox.toml:2: `seed` is not a known key",
        ),
    ] {
        let told = start(headers, secrets);
        assert!(told.contains(wanted), "{wanted} is not in {told}");
    }
}

/// The steps of a case stay with it, though the later ones carry nothing of the lead.
#[tokio::test]
async fn a_poll_stays_with_the_case_that_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("hazelmoor_lending");
    std::fs::create_dir(&folder).unwrap();
    let case = |name: &str, said: &str| {
        let status = "https://lender.example/v1/quotes/A-1";
        let calls = json!([
            {"call": {"method": "POST", "url": "https://lender.example/v1/quotes"}, "response": {"status": 202, "json": {"id": "A-1"}}},
            {"call": {"method": "GET", "url": status}, "response": {"status": 200, "text": said}},
        ]);
        std::fs::write(folder.join(format!("{name}.json")), json!({"calls": calls}).to_string()).unwrap();
    };
    case("offers", "yes");
    case("declined", "no");
    let sandbox = Sandbox::of(directory.path(), &[]);
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let quotes = format!("{}/hazelmoor_lending/quotes", sandbox.url);
    for (body, said) in [("{}", "yes"), ("{\"name\": \"case:declined\"}", "no"), ("{}", "yes")] {
        daemon.request(Method::POST, &quotes, "", body).await;
        let polled = daemon.request(Method::GET, &format!("{quotes}/A-1"), "", "").await;
        assert_eq!(polled.body, said, "{body}");
    }
}
