//! Faults in the file of a partner asked over HTTP: found by `offerd check`, with file, line and key.

use std::process::Output;

use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, Plan};

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// On which line of a partner's file a text stands.
fn line_of(plan: &Plan, key: &str, text: &str) -> usize {
    let file = std::fs::read_to_string(plan.partners().join(format!("{key}.toml"))).unwrap();
    1 + file.lines().position(|line| line.contains(text)).unwrap()
}

/// Steps of a partner with something in each that may not be what was meant.
const DOUBTFUL_STEPS: &str = r#"
[products.loan.http.post]
wait = "5s"
best = 2

[[products.loan.http.steps]]
url = "http://lender.example/pings"
json = { amount = "lead.loanInformation.loanAmount" }
bid = "response.bid"

[[products.loan.http.steps]]
url = "http://localhost:9/applications"
json = { amount = "lead.loanInformation.loanAmount" }

[[products.loan.http.steps]]
callback = true
url = "https://lender.example/applications"
pending = "status == 202"
every = "4s"
"#;

#[test]
fn what_may_not_be_meant_of_a_far_partner_is_told_with_file_line_and_key() {
    let lender = far_lender("far", "URL", DOUBTFUL_STEPS)
        .replaced("url = \"URL\"\nsandbox_url = \"URL\"\n", "")
        .replaced(
            "json = { amount = \"lead.loanInformation.loanAmount\", ssn = \"lead.personalInformation.ssn\", id = \"lead_uuid\" }\n",
            "",
        )
        .replaced("[\"127.0.0.1\"]", "[\"localhost\"]");
    let plan = Daemon::with_partners(vec![lender.clone()]);
    let output = plan.command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stderr(&output);
    let remarks: Vec<&str> = told.lines().filter(|line| line.contains("far.toml:")).collect();
    for (key, at, wanted) in [
        ("post.wait", "wait = ", "is 5s, but the whole ask has only 3s (`timeout`)"),
        ("steps[0].url", "/pings", "is `http://`: live leads would be sent unencrypted"),
        ("steps[2].every", "every = ", "is 4s, but the whole ask has only 3s (`timeout`)"),
        ("steps[2].callback", "callback = ", "no earlier step sends `callback_url`"),
        ("steps[2].callback", "callback = ", "accepts unsigned calls"),
        ("steps[0].sandbox_url", "http.steps]]", "is missing: the partner is not sent test leads"),
    ] {
        let place = format!("far.toml:{}: `products.loan.http.{key}` ", line_of(&plan, "far", at));
        let is_told = remarks.iter().any(|line| line.contains(&place) && line.contains(wanted));
        assert!(is_told, "{place} {wanted} is not in {told}");
    }
    assert_eq!(remarks.len(), 6, "{told}");
    let output = plan.command(&["check", "--json"]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let in_json =
        json["remarks"].as_array().unwrap().iter().filter(|one| one.as_str().unwrap().contains("far.toml:"));
    assert_eq!(in_json.count(), 6, "{json}");

    // Who says where to call and how that is signed, and is not asked now, is told nothing.
    let mut secret = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut secret, b"k3y").unwrap();
    let signed = format!("[products.loan.http.secrets]\nx = {{ file = \"{}\" }}", secret.path().display());
    let careful = lender
        .replaced("json = { amount = \"lead.loanInformation.loanAmount\" }\n\n[[products.loan.http.steps]]\ncallback", "json = { to = \"callback_url\" }\n\n[[products.loan.http.steps]]\nverify = \"body == secret.x\"\ncallback")
        .replaced("wait = \"5s\"\n", "")
        .replaced("every = \"4s\"", &format!("every = \"1s\"\n\n{signed}"))
        .replaced("needs = ", "paused = true\nneeds = ");
    let told = stderr(&Daemon::with_partners(vec![careful]).command(&["check"]).output().unwrap());
    assert!(!told.contains("far.toml:"), "{told}");
}

#[test]
fn what_is_mistyped_where_secrets_stand_is_named_if_it_can_be_none() {
    let lender = far_lender(
        "far",
        "https://lender.example/",
        r#"
[products.loan.http.secrets]
key = { env = "PATH" }

[products.loan.http.headers]
X-A = "request.body|hmac('sha265', secret.key)|hex"
X-B = "request.body|sha265|hex"
X-C = "requst.body|sha256|hex"
X-D = "request.boddy|sha256|hex"
X-E = "request.body|jws('RS265', secret.key)"
X-F = "hunter2|base64"
X-G = "request.body|hmac('hunter2', 'sha256')|hex"
"#,
    );
    let plan = Daemon::with_partners(vec![lender]);
    let output = plan.command(&["check"]).output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{told}");
    for (key, wanted) in [
        (
            "X-A",
            "names an unknown digest, `sha265`; known: sha1, sha256, sha384, sha512; did you mean \
                `sha256`?",
        ),
        ("X-B", "filter `sha265` is unknown; known: abs, "),
        ("X-C", "uses `requst`, which is unknown here; known: lead, "),
        (
            "X-D",
            "uses an unknown part of the `request`, `boddy`; known: method, url, path, query, body; did you \
                mean `body`?",
        ),
        ("X-E", "names an unknown algorithm, `RS265`; known: HS256, "),
        ("X-F", "is no text in quotes, and no name that is known here; known: lead, "),
        ("X-G", "names an unknown digest; known: sha1, "),
    ] {
        let place = format!("far.toml:{}: `products.loan.http.headers.{key}` ", line_of(&plan, "far", key));
        assert!(
            told.lines().any(|line| line.contains(&format!("{place}{wanted}"))),
            "{place}{wanted} is not in {told}"
        );
    }
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn what_a_far_partner_lacks_is_told_with_file_line_and_key() {
    let lender = far_lender("far", "https://lender.example/", "")
        .replaced("\nurl = \"https://lender.example/\"", "")
        .replaced(
            "declined = \"response.no\"",
            "declined = \"'low_fica' if response.no\", reasons = { X = \"low_score\" }",
        );
    let plan = Daemon::with_partners(vec![lender]);
    let output = plan.command(&["check", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for (key, at, wanted) in [
        ("url", "[products.loan.http]", "is missing"),
        ("answer.declined", "answer = ", "got `low_fica`; did you mean `low_fico`?"),
        ("answer.reasons.X", "answer = ", "got `low_score`"),
    ] {
        let is_told = told["faults"].as_array().unwrap().iter().any(|fault| {
            fault["key"] == format!("products.loan.http.{key}")
                && fault["line"] == line_of(&plan, "far", at)
                && fault["file"].as_str().unwrap().ends_with("/far.toml")
                && fault["message"].as_str().unwrap().contains(wanted)
        });
        assert!(is_told, "{key} {wanted} is not in {told}");
    }
}

#[tokio::test]
async fn a_timeout_beyond_the_deadline_is_told_and_is_no_fault() {
    let plan = Daemon::with_partners(vec![partner("slow").savings("").replaced("10s", "40s")]);
    let output = plan.command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stderr(&output);
    let line = told.lines().find(|line| line.contains("/slow.toml:")).unwrap_or_else(|| panic!("{told}"));
    let wanted =
        "`products.savings.timeout` is 40s, and `slow` is waited for 14.9s at most (`matching.deadline` less";
    assert!(
        line.contains(wanted) && line.contains(&format!(".toml:{}:", line_of(&plan, "slow", "40s"))),
        "{line}"
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("are good: 1 partner, 1 partner product, 1 offer\n"), "{said}");
}

#[tokio::test]
async fn a_partner_whose_last_day_has_passed_is_told_and_is_no_fault() {
    let over = partner("over").savings("limits = { ends_on = 2020-01-01 }");
    let output = Daemon::with_partners(vec![over]).command(&["check"]).output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let wanted = "/over.toml: `products.savings.limits.ends_on` has passed: `over` is never asked again";
    assert!(told.contains(wanted), "{told}");
}
