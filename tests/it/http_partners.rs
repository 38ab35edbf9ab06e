//! Partners asked over HTTP: their answers, their faults, and no harm to other partners.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::Method;
use serde_json::{Value, json};

use crate::console::html;
use crate::kit::far_partners::{self, offers, secret_file};
use crate::kit::far_side::{Deed, FarSide, Received};
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, sample};

#[tokio::test]
async fn its_answer_becomes_offers_and_a_click_leads_where_it_says() {
    let far = FarSide::start(|_| offers()).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/quote"), "")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let loans = table["loanOffers"].as_array().unwrap();
    assert_eq!(loans.len(), 2, "{table} {}", daemon.log());
    let yours = loans.iter().find(|offer| offer["termLength"] == 36).unwrap();
    assert_eq!((&yours["maxApr"], &yours["preQualified"]), (&json!(9.5), &json!(true)));
    assert_eq!(yours["maxMonthlyPayment"], 320.33);

    let request = &far.received()[0];
    assert!(request.head.starts_with("POST /quote HTTP/1.1"), "{}", request.head);
    let sent: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(sent, json!({"amount": 10000, "ssn": "536-22-8714", "id": table["leadUuid"]}));

    let click = daemon.request(Method::GET, yours["url"].as_str().unwrap(), "", "").await;
    let uuid = yours["uuid"].as_str().unwrap();
    assert_eq!(click.header("location"), Some(format!("https://far.example/yours?c={uuid}").as_str()));
    let poll = daemon.rate_table(table["uuid"].as_str().unwrap()).await.json();
    assert_eq!(poll, table, "a later poll is the same");
}

#[tokio::test]
async fn each_is_sent_its_own_request_beside_one_that_is_held_back() {
    let sides = [
        FarSide::start(|_| offers()).await,
        FarSide::start(|_| offers()).await,
        FarSide::start(|_| offers()).await,
    ];
    let lender = |key: &str, nth: usize| far_lender(key, &sides[nth].url(&format!("/{key}")), "");
    let held = partner("birch").second_look(3.0, "");
    let partners = vec![lender("amber", 0), held, lender("cedar", 1), lender("damson", 2)];
    let daemon = Daemon::with_partners(partners).start().await;
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    lead["productTypes"] = json!(["loan", "other"]);
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(6), "{table} {}", daemon.log());
    for (side, key) in sides.iter().zip(["amber", "cedar", "damson"]) {
        let heads: Vec<String> = side.received().into_iter().map(|request| request.head).collect();
        assert_eq!(heads.len(), 1, "{key}: {heads:?}");
        assert!(heads[0].starts_with(&format!("POST /{key} ")), "{heads:?}");
    }
}

/// What it answered is not known then, and whoever posts a lead twice may pay for it twice.
#[tokio::test]
async fn who_says_that_a_second_post_does_harm_is_posted_once_also_over_a_kill() {
    let far = FarSide::start(|_| Deed::Silence).await;
    let lender = |key: &str, wire: &str| {
        let lender = far_lender(key, &far.url(&format!("/{key}")), "").replaced("\"3s\"", "\"8s\"");
        lender.replaced("wire = {", &format!("wire = {{ {wire}"))
    };
    let partners = vec![lender("harmed", "idempotent = false,"), lender("unsaid", "")];
    let daemon = Daemon::with_partners(partners).setting("matching.deadline", "12s").start().await;
    let table = daemon.submit(sample("personal_loan")).await.json();
    let posts = |received: &[Received], key: &str| {
        received.iter().filter(|request| request.head.starts_with(&format!("POST /{key} "))).count()
    };
    far.until(|received| posts(received, "harmed") == 1 && posts(received, "unsaid") == 1).await;
    let daemon = daemon.kill().start().await;
    far.until(|received| posts(received, "unsaid") == 2).await;
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(posts(&far.received(), "harmed"), 1);
    assert!(far_partners::explained(&daemon, &table).contains("was sent the lead before a restart"));
}

/// A click could not be answered with it: no header takes it.
#[tokio::test]
async fn a_landing_url_with_a_control_character_is_no_offer() {
    for wrong in ["\0", "\x01", "\x7f", "\r\nset-cookie: a=b", "\u{85}"] {
        let link = format!("https://far.example/{wrong}");
        let answer = json!({"offers": [{"term": 36, "apr": 9.5, "link": link}]}).to_string();
        let far = FarSide::start(move |_| Deed::Json(200, answer.clone())).await;
        let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        assert_eq!(table["loanOffers"], json!([]), "{wrong:?}");
        let log = daemon.log();
        assert!(
            log.contains("`answer.offer.landing_url` must be an absolute http or https URL"),
            "{wrong:?}: {log}"
        );
    }
}

#[tokio::test]
async fn who_declines_says_why() {
    let far = FarSide::start(|_| Deed::Json(200, json!({"no": "low_fico"}).to_string())).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"], json!([]));
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    let action = &lead["leadActions"][0];
    assert_eq!(
        (&action["actionType"], &action["rejectReason"]),
        (&json!("api_rejected"), &json!("low_fico"))
    );
}

#[tokio::test]
async fn one_bad_partner_never_hurts_the_rest() {
    let good = FarSide::start(|_| offers()).await;
    let bad =
        [Deed::Garbage, Deed::Drip, Deed::Reset, Deed::Silence, Deed::Json(500, "Maren Tolliver".to_owned())];
    let mut partners = vec![far_lender("good", &good.url("/"), "")];
    let mut bad_sides = Vec::new();
    for (nth, deed) in bad.into_iter().enumerate() {
        let side = FarSide::start(move |_| deed.clone()).await;
        partners.push(far_lender(&format!("bad_{nth}"), &side.url("/"), ""));
        bad_sides.push(side);
    }
    // Nobody listens there any more.
    let dead = { FarSide::start(|_| offers()).await.address };
    partners.push(far_lender("dead", &format!("http://127.0.0.1:{}/", unused_port(dead.port())), ""));
    partners.push(
        partner("panics").loan(r#"simulate = { delay = "1ms", failure = "panic", failure_rate = 1.0 }"#),
    );

    let daemon = Daemon::with_partners(partners).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let institutions: Vec<&str> = table["loanOffers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|offer| offer["originator"]["key"].as_str().unwrap())
        .collect();
    assert_eq!(institutions, ["good", "good"], "{table}");
    assert_eq!(table["pendingResponses"], json!([]));

    let log = daemon.log();
    for key in ["bad_0", "bad_1", "bad_2", "bad_3", "bad_4", "dead"] {
        let line =
            log.lines().find(|line| line.contains(key)).unwrap_or_else(|| panic!("{key} is not in {log}"));
        assert!(line.contains("cause"), "{line}");
    }
    for personal in ["Maren", "536-22-8714", "maren.tolliver"] {
        assert!(!log.contains(personal), "{log}");
    }
}

/// A port that was free a moment ago, and is not `taken`.
fn unused_port(taken: u16) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_ne!(port, taken);
    port
}

#[tokio::test]
async fn a_token_is_fetched_once_and_sent_with_each_request() {
    let far = FarSide::start(|request| match request.head.split_whitespace().nth(1) {
        Some("/token") => Deed::Json(200, json!({"access_token": "t0k3n", "expires_in": 3600}).to_string()),
        _ => offers(),
    })
    .await;
    let auth = format!(
        "secrets = {{ id = {{ file = \"{0}\" }} }}\nauth = {{ oauth2 = {{ token_url = \"{1}\", client_id = \"secret.id\", client_secret = \"'s3cret'\", scope = \"quotes\" }} }}",
        secret_file("client-7"),
        far.url("/token"),
    );
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/quote"), &auth)]).start().await;
    for _ in 0..3 {
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2);
    }
    let received = far.received();
    let (tokens, quotes): (Vec<_>, Vec<_>) =
        received.iter().partition(|one| one.head.starts_with("POST /token"));
    assert_eq!((tokens.len(), quotes.len()), (1, 3));
    assert_eq!(
        tokens[0].body,
        "grant_type=client_credentials&client_id=client-7&client_secret=s3cret&scope=quotes"
    );
    assert!(quotes.iter().all(|quote| quote.head.to_lowercase().contains("authorization: bearer t0k3n")));
    let log = daemon.log();
    assert!(!log.contains("t0k3n") && !log.contains("s3cret"), "{log}");
}

/// The value of a header of a request.
fn header<'r>(request: &'r Received, name: &str) -> &'r str {
    let prefix = format!("{name}: ");
    let value = request.head.lines().find_map(|line| line.strip_prefix(prefix.as_str()));
    value.unwrap_or_else(|| panic!("{name} is not in {}", request.head))
}

#[tokio::test]
async fn a_request_is_signed_by_the_recipe_of_its_file() {
    let far = FarSide::start(|_| offers()).await;
    let signed = format!(
        r#"
secrets = {{ key = {{ file = "{}" }} }}
query = {{ channel = "'web'" }}

[products.loan.http.headers]
x-time = "now|date('%s')"
x-ask = "ask_uuid"
x-signature = """[request.method, request.path, request.query, now|date('%s'), request.body|sha256|hex]|join('.')|hmac('sha512', secret.key)|base64"""
"#,
        secret_file("k3y")
    );
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/v2/quote"), &signed)]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{}", daemon.log());
    let request = &far.received()[0];
    let digest: String = ring::digest::digest(&ring::digest::SHA256, request.body.as_bytes())
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let text = format!("POST./v2/quote.channel=web.{}.{digest}", header(request, "x-time"));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA512, b"k3y");
    let wanted = STANDARD.encode(ring::hmac::sign(&key, text.as_bytes()));
    assert_eq!(header(request, "x-signature"), wanted);
    assert!(uuid::Uuid::parse_str(header(request, "x-ask")).is_ok());
    assert!(!daemon.log().contains("k3y"));
}

#[tokio::test]
async fn a_token_is_had_for_a_signed_assertion_and_fetched_again_when_it_is_refused() {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let granted = AtomicUsize::new(0);
    let far = FarSide::start(move |request| {
        if request.head.starts_with("POST /token") {
            let token = format!("t{}", granted.fetch_add(1, Ordering::SeqCst));
            return Deed::Json(200, json!({"access_token": token, "expires_in": 3600}).to_string());
        }
        let old = request.head.to_lowercase().contains("authorization: bearer t0");
        if old { Deed::Json(401, json!({"error": "expired_token"}).to_string()) } else { offers() }
    })
    .await;
    let auth = format!(
        r#"secrets = {{ key = {{ file = "{}" }} }}
auth = {{ oauth2 = {{ token_url = "{}", client_id = "'us'", client_assertion = "{{'iss': 'us', 'sub': 'us', 'aud': 'far', 'jti': nonce, 'exp': now|date('%s')|int + 300}}|jws('ES256', secret.key, kid='7')", params = {{ resource = "'quotes'" }} }} }}"#,
        secret_file(&pair.serialize_pem()),
        far.url("/token"),
    );
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/quote"), &auth)]).start().await;
    let offers_of = async |daemon: &Daemon| {
        daemon.submit_blocking(sample("personal_loan")).await.json()["loanOffers"].as_array().map(Vec::len)
    };
    assert_eq!((offers_of(&daemon).await, offers_of(&daemon).await), (Some(0), Some(2)), "{}", daemon.log());
    let received = far.received();
    let body: std::collections::HashMap<String, String> =
        form_urlencoded::parse(received[0].body.as_bytes()).into_owned().collect();
    assert_eq!(body["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    assert_eq!((body["grant_type"].as_str(), body["resource"].as_str()), ("client_credentials", "quotes"));
    let parts: Vec<&str> = body["client_assertion"].split('.').collect();
    let decoded =
        |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
    assert_eq!(decoded(parts[0]), json!({"alg": "ES256", "kid": "7"}));
    assert_eq!((&decoded(parts[1])["sub"], &decoded(parts[1])["aud"]), (&json!("us"), &json!("far")));
    let public = ring::signature::UnparsedPublicKey::new(
        &ring::signature::ECDSA_P256_SHA256_FIXED,
        pair.public_key_raw().to_vec(),
    );
    let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    assert!(public.verify(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature).is_ok());
}

#[tokio::test]
async fn a_test_lead_reaches_the_sandbox_only() {
    let (live, sandbox) = (FarSide::start(|_| offers()).await, FarSide::start(|_| offers()).await);
    let with_sandbox = far_lender("with_sandbox", &sandbox.url("/"), "");
    let with_sandbox = with_sandbox
        .replaced(&format!("\nurl = \"{}\"", sandbox.url("/")), &format!("\nurl = \"{}\"", live.url("/")));
    let without = far_lender("without", &live.url("/"), "");
    let without = without.replaced(&format!("sandbox_url = \"{}\"", live.url("/")), "");
    let daemon = Daemon::with_partners(vec![with_sandbox, without]).start().await;

    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2, "only the one with a sandbox answers");
    assert_eq!((live.received().len(), sandbox.received().len()), (0, 1));

    let made = daemon.command(&["token", "create", "--company", "Live", "--kind", "publishable"]);
    let token = String::from_utf8(made.stdout).unwrap();
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let table = daemon.request(Method::POST, &url, token.trim(), &sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 4);
    assert_eq!((live.received().len(), sandbox.received().len()), (2, 1));
}

#[tokio::test]
async fn a_private_address_is_called_only_where_the_file_names_it() {
    let far = FarSide::start(|_| offers()).await;
    let by_name = far.url("/").replace("127.0.0.1", "localhost");
    let lender = far_lender("far", &by_name, "").replaced("allow_addresses = [\"127.0.0.1\"], ", "");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"], json!([]));
    assert!(far.received().is_empty());
    assert!(daemon.log().contains("private, local or reserved"), "{}", daemon.log());
}

#[tokio::test]
async fn it_is_not_sent_a_lead_that_none_of_its_offers_fits() {
    let far = FarSide::start(|_| offers()).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    lead["loanInformation"]["loanAmount"] = json!(60_000);
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    assert_eq!((&table["loanOffers"], &table["pendingResponses"]), (&json!([]), &json!([])));
    assert!(far.received().is_empty());
}

#[tokio::test]
async fn explain_says_that_it_is_asked_for_its_terms() {
    let lender = far_lender("far", "https://far.example/", "");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let lead = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/leads/personal_loan.json");
    let output = daemon.command(&["explain", lead.to_str().unwrap(), "--matched"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("terms come from the partner"), "{told}");
    assert!(told.contains("1 of 1 partner products are asked, 2 offers match"), "{told}");
}

#[test]
fn explain_leaves_out_of_many_those_that_are_far_and_wraps_long_reasons() {
    let far = "\"personalInformation.city\" = { in = [";
    let cities: Vec<String> = (0..60).map(|nth| format!("\"City {nth}\"")).collect();
    let picky = partner("picky").loan(&format!("eligibility = {{ {far}{}] }} }}", cities.join(", ")));
    let lead = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/leads/personal_loan.json");
    let plan = Daemon::with_partners(vec![picky]);
    let output = plan.command(&["explain", lead.to_str().unwrap()]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let longest = told.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(160) && told.contains("city 59"), "{told}");

    let savers = (0..12).map(|nth| partner(&format!("saver_{nth}")).savings(""));
    let plan = Daemon::with_partners(savers.chain([partner("bank").loan("")]).collect());
    let printed = |more: &[&str]| {
        let output = plan.command(&[&["explain", lead.to_str().unwrap()], more].concat()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let told = printed(&[]);
    let rest =
        "12 more partner products not asked, for another product or several reasons; `--all` shows them\n";
    assert!(told.starts_with("bank, loan") && told.contains(rest) && !told.contains("saver_"), "{told}");
    assert!(
        printed(&["--all"]).contains("saver_11") && printed(&["--partner", "saver_3"]).contains("saver_3")
    );
}

#[tokio::test]
async fn who_mostly_fails_is_kept_out() {
    let far = FarSide::start(|_| Deed::Json(500, "{}".to_owned())).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
    let daemon = daemon.with_live_company();
    for _ in 0..40 {
        daemon.submit_blocking(sample("personal_loan")).await;
    }
    let called = far.received().len();
    // Five fail in a row; a slow machine may let some probes through.
    assert!((5..20).contains(&called), "{called} calls");
    let metrics = daemon.request(Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
    assert!(
        metrics
            .lines()
            .any(|line| line.starts_with("offerd_partner_outcomes_total") && line.contains("kept_out"))
    );
    assert!(metrics.contains("offerd_wire_breaker_state"), "{metrics}");
    let listed = daemon.command(&["partners", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("behind an open breaker since"), "{listed}");
    assert!(
        listed.contains(": open, asks again ") && listed.contains("; last: the answer has status 500"),
        "{listed}"
    );
    assert!(listed.contains("Test leads are not counted."), "{listed}");
    let doctor = daemon.command(&["doctor", "--json"]);
    let found: Vec<Value> = serde_json::from_slice(&doctor.stdout).unwrap();
    let rows: Vec<&str> = found
        .iter()
        .filter(|row| row["check"] == "partner" && row["state"] == "wrong")
        .filter_map(|row| row["found"].as_str())
        .collect();
    let is_told = |row: &str| {
        row.starts_with("`far` loan is behind an open breaker since") && row.contains("has status 500")
    };
    assert!(rows.len() == 1 && is_told(rows[0]), "{rows:?}");
    assert_eq!(doctor.status.code(), Some(1));
    let page = html(&daemon, "/console/partners/far").await;
    for said in ["; last: the answer has status 500;", "action=\"/console/partners/far/probe\""] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

#[tokio::test]
async fn test_leads_neither_open_the_breaker_nor_are_kept_out_by_it() {
    let far = FarSide::start(|_| Deed::Json(500, "{}".to_owned())).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
    for _ in 0..10 {
        daemon.submit_blocking(sample("personal_loan")).await;
    }
    assert_eq!(far.received().len(), 10);
    let live = daemon.command(&["token", "create", "--company", "Live", "--kind", "publishable"]);
    let live = String::from_utf8(live.stdout).unwrap();
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let lead = sample("personal_loan");
    let submit_live = || daemon.request(Method::POST, &url, live.trim(), &lead);
    submit_live().await;
    assert_eq!(far.received().len(), 11, "the breaker was still closed");
    for _ in 0..40 {
        submit_live().await;
    }
    let called = far.received().len();
    assert!(called < 40, "the breaker is open: {called} calls");
    daemon.submit_blocking(sample("personal_loan")).await;
    assert_eq!(far.received().len(), called + 1);
}

#[tokio::test]
async fn an_operator_lets_a_call_through_an_open_breaker() {
    let far = FarSide::start(|_| Deed::Json(500, "{}".to_owned())).await;
    let partners = vec![far_lender("far", &far.url("/"), ""), partner("bank").loan("")];
    let daemon = Daemon::with_partners(partners).start().await.with_live_company();
    let probe = |key: &str| {
        let output = daemon.command(&["partners", "probe", key]);
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, told) = probe("far");
    assert!(code != Some(0) && told.contains("no breaker of far is open: every call passes"), "{told}");
    for _ in 0..7 {
        daemon.submit_blocking(sample("personal_loan")).await;
    }
    let called = far.received().len();
    let (code, told) = probe("far");
    assert!(code == Some(0) && told.contains("far is asked again with the next lead for loan"), "{told}");
    daemon.logged("partner.probe").await;
    daemon.submit_blocking(sample("personal_loan")).await;
    assert_eq!(far.received().len(), called + 1);
    for (key, wanted) in [("bank", "no breaker of bank"), ("none", "there is no partner `none`")] {
        let (code, told) = probe(key);
        assert!(code != Some(0) && told.contains(wanted), "{told}");
    }
    let (_, stopped) = daemon.terminate();
    let refused = stopped.plan.command(&["partners", "probe", "far"]).output().unwrap();
    let refused = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.contains("no daemon runs on this store"), "{refused}");
}

#[tokio::test]
async fn faults_of_mappings_are_told_with_file_and_line() {
    let lender = far_lender(
        "far",
        "https://far.example/",
        "headers = { X-Key = \"secret.missing\", X-Other = \"lead.loanInformation.loanAmonut\" }",
    );
    let lender = lender.replaced("apr = \"offer.apr\"", "apr = \"offer.apr|percent\", aprr = \"1\"");
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    lender.write(daemon.partners());
    let output = daemon.command(&["check"]);
    assert_eq!(output.status.code(), Some(64));
    let told = String::from_utf8(output.stderr).unwrap();
    for wanted in [
        "uses a secret, and `secrets` names none",
        "did you mean `lead.loanInformation.loanAmount`?",
        "filter `percent` is unknown; known: abs, ",
        "`products.loan.http.answer.offer.aprr` is not a figure",
    ] {
        assert!(told.contains(wanted), "{wanted} is not in {told}");
    }
    assert!(told.lines().filter(|line| line.contains("far.toml:")).count() >= 4, "{told}");
}

#[tokio::test]
async fn an_offer_of_one_term_is_named_by_it_or_not_at_all() {
    let far = FarSide::start(|_| offers()).await;
    let one = far_lender("one", &far.url("/"), "").replaced("terms = [24, 36]", "terms = [36]");
    let nameless = far_lender("nameless", &far.url("/"), "").replaced("terms = [24, 36]", "terms = [36]");
    let nameless = nameless.replaced("key = \"'far'\", term = \"offer.term\", ", "");
    let daemon = Daemon::with_partners(vec![one, nameless]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let offers = table["loanOffers"].as_array().unwrap().iter();
    let mut keys: Vec<&str> = offers.map(|offer| offer["originator"]["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["nameless", "nameless", "one"], "what is not said fits the only offer there is");
}

#[test]
fn an_address_that_may_not_be_called_is_a_fault_of_the_file() {
    let lender = far_lender("far", "http://127.0.0.1:9/", "");
    let closed = lender.replaced("allow_addresses = [\"127.0.0.1\"], ", "");
    let other = partner("other").loan("weight = -1.0");
    let output = Daemon::with_partners(vec![closed, other]).command(&["check"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(64), "{told}");
    // Every address, beside what is wrong in another file.
    assert!(told.contains("`products.loan.http.sandbox_url` is at 127.0.0.1"), "{told}");
    assert!(told.contains("other.toml") && told.contains("3 faults found"), "{told}");
    let wanted = "`products.loan.http.url` is at 127.0.0.1, a private, local or reserved address; \
        `wire.allow_addresses = [\"127.0.0.1\"]` allows it";
    let line = told.lines().find(|line| line.contains(wanted)).unwrap_or_else(|| panic!("{told}"));
    let (file, rest) = line.split_once(".toml:").unwrap();
    assert!(file.ends_with("/far") && rest.starts_with(|digit: char| digit.is_ascii_digit()), "{line}");
}

/// How a lender that answers so is explained.
async fn explained(answer: Deed, keys: &str) -> String {
    let far = FarSide::start(move |_| answer.clone()).await;
    let lender = far_lender("far", &far.url("/"), "").replaced("answer = {", &format!("answer = {{ {keys}"));
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"], json!([]), "{table}");
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let log = daemon.log();
    assert!(!log.contains("Jane"), "{log}");
    String::from_utf8(why.stdout).unwrap()
}

#[tokio::test]
async fn what_looks_like_a_decline_and_is_none_is_a_bad_answer_by_name() {
    let changed = Deed::Json(200, json!({"quotes": [], "for": "Jane"}).to_string());
    let told = explained(changed.clone(), "").await;
    assert!(told.contains("its answer could not be read, or was an error"), "{told}");
    assert!(
        told.contains("`response.offers`") && told.contains("it is found as far as `response`"),
        "{told}"
    );
    let told = explained(changed, "empty = \"declines\", ").await;
    assert!(told.contains("has nothing for this lead"), "{told}");
    let told = explained(Deed::Json(202, json!({"offers": []}).to_string()), "").await;
    assert!(told.contains("the answer has status 202: the result comes later"), "{told}");
    let told = explained(Deed::Json(503, "{}".to_owned()), "").await;
    assert!(told.contains("status 503"), "{told}");
}

#[tokio::test]
async fn a_word_that_the_file_does_not_know_declines_and_is_counted() {
    let far = FarSide::start(|_| Deed::Json(200, json!({"no": "MOON"}).to_string())).await;
    let daemon = Daemon::with_partners(vec![far_lender("far", &far.url("/"), "")]).start().await;
    let metrics = || async {
        let metrics = daemon.request(Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
        let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
        let line = metrics.lines().find(|line| line.starts_with("offerd_partner_undeclared_words_total{"));
        line.unwrap_or_else(|| panic!("{metrics}")).to_owned()
    };
    assert!(metrics().await.ends_with(" 0"));
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert!(metrics().await.ends_with(" 1"));
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    let why = String::from_utf8_lossy(&why.stdout);
    assert!(why.contains("has nothing for this lead"), "{why}");
    assert!(why.contains(": its reason `MOON` is not in `answer.reasons`"), "{why}");

    daemon.submit_blocking(sample("personal_loan").replace("Tolliver", "Hollis")).await;
    let list = String::from_utf8(daemon.command(&["partners", "list"]).stdout).unwrap();
    for wanted in [
        "far declines with words missing from far.toml; [products.loan.http.answer.reasons] gives each a meaning:",
        "  MOON = \"...\"   # 2 times, last 20",
        "Meanings: ",
    ] {
        assert!(list.contains(wanted), "{wanted} is not in {list}");
    }
    let list = daemon.command(&["partners", "list", "--json"]);
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    let word = &list[0]["undeclaredWords"][0];
    assert_eq!((&word["word"], &word["count"]), (&json!("MOON"), &json!(2)), "{list}");
    let cookie = [("cookie", daemon.signed_in().await)];
    let page = format!("{}/console/partners/far", daemon.admin);
    let page = daemon.request_with(Method::GET, &page, "", &cookie, String::new()).await;
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    assert!(page.contains("Reject reasons missing from its file") && page.contains("MOON = "), "{page}");
}
