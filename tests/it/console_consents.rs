//! Consents in the console: counted by statement, and as a file.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;
use crate::people::{Browser, add, text};

async fn daemon() -> Daemon {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    add(&daemon, "operator", "operator");
    for (tcpa, words) in
        [(true, "You may call me."), (true, "You may call me."), (false, "=Call me <b>not</b>.")]
    {
        let stated = json!({"consentsToTcpa": tcpa, "tcpaLanguage": words});
        let lead = json!({"productTypes": ["savings"], "legalInformation": stated});
        assert_eq!(daemon.submit_blocking(lead.to_string()).await.status, 200);
    }
    daemon
}

const TESTS: (&str, &str) = ("leads", "test");

#[tokio::test]
async fn each_statement_is_counted_and_both_files_have_what_the_command_has() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    let page = text(&operator.post("/console/consents", &[TESTS]).await);
    assert!(page.contains(">2 statements</h2>") && page.contains("made 3 times<"), "{page}");
    assert!(
        page.contains("TCPA yes") && page.contains("TCPA no") && page.contains("You may call me."),
        "{page}"
    );
    assert!(page.contains("&lt;b&gt;not") && !page.contains("<b>not"), "a text is text: {page}");
    let live = text(&operator.post("/console/consents", &[]).await);
    assert!(
        live.contains(">0 statements</h2>") && live.contains("No live lead came in these days"),
        "{live}"
    );
    let (_, options) =
        page.split_once("name=\"company\"><option value=\"\">all</option><option value=\"").unwrap();
    let own = [TESTS, ("company", options.split('"').next().unwrap())];
    let page = text(&operator.post("/console/consents", &own).await);
    assert!(page.contains(">2 statements</h2>") && page.contains("\" selected>"), "{page}");
    let other = [TESTS, ("company", "0197d7b0-5bb3-7e26-9d38-2f3b9c6d4a11")];
    assert!(text(&operator.post("/console/consents", &other).await).contains(">0 statements</h2>"));
    let long_ago = [TESTS, ("from", "2020-01-01"), ("to", "2020-01-31")];
    assert!(text(&operator.post("/console/consents", &long_ago).await).contains(">0 statements</h2>"));

    let each = [TESTS, ("lines", "each")];
    for (fields, command, name) in [
        (&[TESTS][..], &["person", "consents", "--test", "--format", "csv"][..], "consents.csv"),
        (&each, &["person", "consents", "--test", "--each", "--format", "csv"], "consents-each.csv"),
    ] {
        let file = operator.post("/console/consents/download", fields).await;
        let named = format!("attachment; filename=\"{name}\"");
        assert_eq!((file.status, file.header("content-disposition")), (200, Some(named.as_str())));
        let told = String::from_utf8(daemon.command(command).stdout).unwrap();
        assert_eq!(text(&file), told);
        assert!(told.contains("'=Call me"), "no text is a formula: {told}");
    }
    let [uuid, name] = [own[1].1, "Sandbox"];
    for company in [uuid, name] {
        let found =
            daemon.command(&["person", "consents", "--test", "--format", "csv", "--company", company]);
        assert_eq!(
            String::from_utf8_lossy(&found.stdout).matches("You may call me.").count(),
            1,
            "{found:?}"
        );
    }
    let unknown = daemon.command(&["person", "consents", "--company", "Sandbax"]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(said.contains("there is no company `Sandbax`; did you mean `Sandbox`?"), "{said}");
    let listed = daemon.command(&["audit", "list", "--action", "consents.read", "--format", "json"]);
    let records: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    let ours = records.iter().filter(|record| record["who"] == "console, user operator");
    assert_eq!((ours.count(), records.len()), (7, 11), "{records:?}");
    let told = records.iter().map(|record| record["object"].as_str().unwrap());
    assert_eq!(told.clone().filter(|object| object.starts_with("live leads")).count(), 1);
    assert!(
        told.clone().any(|object| object == "test leads from 2020-01-01 before 2020-02-01"),
        "{records:?}"
    );
    assert!(told.clone().any(|object| object == format!("test leads of company {uuid}")), "{records:?}");
}

#[tokio::test]
async fn a_turned_range_is_told_by_page_command_and_route() {
    let daemon = daemon().await;
    let operator = Browser::of(&daemon, "operator").await;
    let told = "the last day, 2026-01-01, is before the first, 2026-03-31";
    let turned = [TESTS, ("from", "2026-03-31"), ("to", "2026-01-01")];
    for path in ["/console/consents", "/console/consents/download"] {
        let answer = operator.post(path, &turned).await;
        let page = text(&answer);
        assert!(answer.status == 400 && page.contains(told) && page.contains("<h1>Consents</h1>"), "{page}");
        assert!(page.contains("value=\"2026-03-31\""), "the form keeps it: {page}");
    }
    for (field, told) in [(("from", "2026-02-30"), "must be a day"), (("company", "acme"), "must be a uuid")]
    {
        let answer = operator.post("/console/consents", &[field]).await;
        assert!(answer.status == 400 && text(&answer).contains(told), "{}", text(&answer));
    }
    let command = daemon.command(&["person", "consents", "--from", "2026-03-31", "--to", "2026-01-01"]);
    let said = String::from_utf8_lossy(&command.stderr).into_owned();
    assert!(!command.status.success() && said.contains(told), "{said}");
    let command = daemon.command(&["person", "consents", "--to", "2001-01-01"]);
    let said = String::from_utf8_lossy(&command.stderr).into_owned();
    assert!(command.status.success() && said.contains("no live lead states a consent here"), "{said}");
    let url = format!("{}/consents?from=2000&until=1000", daemon.admin);
    let answer = daemon.request(Method::GET, &url, &daemon.admin_key, "").await;
    let fault = &answer.json()[0];
    assert_eq!((answer.status, &fault["attribute"]), (400, &"until".into()));
    let empty = daemon.request(Method::GET, &url.replace("2000", "1000"), &daemon.admin_key, "").await;
    assert_eq!(empty.status, 200);
}

#[tokio::test]
async fn leads_that_stated_nothing_are_counted_and_a_partner_can_refuse_them() {
    let bank = |key: &str, identity: &str| partner(key).with_identity(identity).savings("");
    let partners = vec![bank("any", ""), bank("careful", r#"consents = ["tcpa", "sms"]"#)];
    let daemon = Daemon::with_partners(partners).start().await;
    add(&daemon, "operator", "operator");
    for (stated, offers) in [
        (json!({}), 1),
        (json!({"tcpaLanguage": "You may call me."}), 1),
        (json!({"consentsToTcpa": true}), 1),
        (json!({"consentsToTcpa": true, "consentsToSms": false}), 1),
        (json!({"consentsToTcpa": true, "consentsToSms": true}), 2),
    ] {
        let lead = json!({"productTypes": ["savings"], "legalInformation": stated});
        let table = daemon.submit_blocking(lead.to_string()).await.json();
        assert_eq!(table["savingsOffers"].as_array().unwrap().len(), offers, "{stated}");
        let explained = daemon.command(&["explain", table["leadUuid"].as_str().unwrap()]);
        let told = String::from_utf8_lossy(&explained.stdout);
        assert_eq!(told.contains("legalInformation.consentsTo"), offers == 1, "{stated}: {told}");
    }
    let operator = Browser::of(&daemon, "operator").await;
    let page = text(&operator.post("/console/consents", &[TESTS]).await);
    assert!(page.contains("made 5 times; 2 leads stated nothing<"), "{page}");
}

#[tokio::test]
async fn a_lead_keeps_the_certificates_of_its_consents() {
    let certificates = json!({
        "trustedFormCertUrl": "https://cert.trustedform.com/3a9c51e07d2b4f6885e1",
        "jornayaLeadId": "0C27EC2C-6B2F-4C44-B3F1-7B0D3D8A5F11",
    });
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let lead = |stated: &Value| json!({"productTypes": ["savings"], "legalInformation": stated}).to_string();
    let table = daemon.submit_blocking(lead(&certificates)).await.json();
    let uuid = table["leadUuid"].as_str().unwrap();
    let url = format!("{}/leads/{uuid}", daemon.api);
    let kept = daemon.request(Method::GET, &url, &daemon.confidential, "").await.json();
    assert_eq!(kept["legalInformation"], certificates);
    for (name, wrong) in [
        ("trustedFormCertUrl", "https://cert.example.com/3a9c51e07d2b4f6885e1"),
        ("trustedFormCertUrl", "https://cert.trustedform.com/"),
        ("jornayaLeadId", "0C27EC2C6B2F4C44B3F17B0D3D8A5F11"),
    ] {
        let refused = daemon.submit_blocking(lead(&json!({name: wrong}))).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(text(&refused).contains(&format!("legalInformation.{name}")), "{}", text(&refused));
    }
}
