//! The cases of the sample partners, and the faults that `offerd partners cases` names.

use std::path::Path;
use std::process::Output;

use offerd::partners::Book;
use offerd::partners::case::CaseFile;
use serde_json::{Value, json};

use crate::kit::Daemon;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<CaseFile> {
    CaseFile::all(&root().join("tests/partners"), None).unwrap()
}

#[test]
fn every_case_holds() {
    let book = Book::load(&root().join("partners")).unwrap();
    let mut wrong = Vec::new();
    for case in cases() {
        let differences = case.differences(&book, &root().join("tests/leads"));
        wrong.extend(differences.into_iter().map(|fault| format!("{}/{}: {fault}", case.partner, case.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_partner_that_is_asked_over_http_has_cases() {
    let book = Book::load(&root().join("partners")).unwrap();
    let over_http: Vec<&str> = book
        .seats()
        .iter()
        .filter(|seat| seat.http.is_some())
        .map(|seat| seat.identity.key.as_str())
        .collect();
    assert!(over_http.len() >= 3, "{over_http:?}");
    for key in over_http {
        assert!(cases().iter().filter(|case| case.partner == key).count() >= 3, "{key} has too few cases");
    }
}

/// Runs the command on the sample partners.
fn run(arguments: &[&str]) -> (Output, String) {
    let output = Daemon::with_sample_partners()
        .command(&[&["partners", "cases"], arguments].concat())
        .current_dir(root())
        .output()
        .unwrap();
    let shown = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output, String::from_utf8(shown).unwrap())
}

#[test]
fn the_command_runs_them_all_or_those_of_one_partner() {
    let (output, shown) = run(&[]);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains(&format!("{} cases, all as expected", cases().len())), "{shown}");
    let (output, shown) = run(&["fairholt_mortgage"]);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("ok   fairholt_mortgage/offers") && !shown.contains("hazelmoor"), "{shown}");
    let (output, shown) = run(&["nobody"]);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("there is no partner `nobody`; there are: "), "{shown}");
    let (output, shown) = run(&["tidelark_savings"]);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("tests/partners has no cases of `tidelark_savings`; write one as "), "{shown}");
    assert!(
        shown.contains("tests/partners/tidelark_savings/CASE.json, with a lead, the partner's `response`"),
        "{shown}"
    );
}

#[test]
fn a_case_that_fails_is_told_with_what_differs() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("fairholt_mortgage");
    std::fs::create_dir(&folder).unwrap();
    let case = json!({
        "product": "mortgage",
        "lead": "mortgage_purchase",
        "call": {"method": "GET", "url": "https://xml.fairholt-mortgage.example/RateService"},
        "response": {
            "status": 200,
            "headers": {"content-type": "text/xml"},
            "xml": ["<R><Rates><Rate months=\"360\"><Note>soon</Note></Rate></Rates></R>"],
        },
        "expect": {"offers": [{"details": {"interestRate": 6.5}}]},
    });
    std::fs::write(folder.join("wrong.json"), case.to_string()).unwrap();
    std::fs::write(folder.join("unreadable.json"), "{}").unwrap();
    let no_lead = json!({"product": "mortgage", "lead": {"mortgageInformation": {"propertyValue": "much"}}});
    std::fs::write(folder.join("no_lead.json"), no_lead.to_string()).unwrap();
    let leads = root().join("tests/leads");
    let flags = ["--cases", directory.path().to_str().unwrap(), "--leads", leads.to_str().unwrap()];
    let (output, shown) = run(&flags);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for wanted in [
        "FAIL fairholt_mortgage/wrong",
        "expected GET",
        "found    POST",
        "the answer cannot be mapped: `answer.offer.interest_rate`: must be a number from 0 to 400",
        "is not a valid case: missing field `product`",
        "`lead.mortgageInformation.propertyValue` must be",
        "3 of 3 cases failed",
    ] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
    let (output, _) = run(&[&flags[..], &["--json"]].concat());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told[2]["case"], &told[2]["passed"]), (&json!("wrong"), &json!(false)), "{told}");
    assert_eq!(told[2]["differences"][0], "method\n  expected GET\n  found    POST");
}

/// Runs cases of the sample lender that calls back: of each what it says beside what they share.
fn run_called_back(cases: &[(&str, Value)]) -> (Output, String) {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("bellhaven_lending");
    std::fs::create_dir(&folder).unwrap();
    for (name, callbacks) in cases {
        let applied = json!({"response": {"status": 202, "json": {"result": "taken"}}});
        let calls: Vec<Value> = [applied].into_iter().chain(callbacks.as_array().unwrap().clone()).collect();
        let case = json!({"product": "loan", "lead": "personal_loan", "calls": calls});
        std::fs::write(folder.join(format!("{name}.json")), serde_json::to_string_pretty(&case).unwrap())
            .unwrap();
    }
    let leads = root().join("tests/leads");
    run(&["--cases", directory.path().to_str().unwrap(), "--leads", leads.to_str().unwrap()])
}

/// A call of the partner's, signed so, which is expected to be this.
fn called(callback: Value) -> Value {
    json!({"callback": callback, "response": {"status": 200, "json": {"result": "yes", "quotes": []}}})
}

#[test]
fn a_case_says_how_a_call_of_the_partners_is_signed_and_what_becomes_of_it() {
    let recipe = json!({"x-bellhaven-signature": "body|hmac('sha256', secret.key)|hex"});
    let signed = json!({"headers": recipe});
    let (output, shown) = run_called_back(&[
        ("unsigned", json!([called(json!({"expect": "unsigned"}))])),
        (
            "under_another_key",
            json!([called(
                json!({"sign": {"headers": recipe, "secrets": {"key": "k"}}, "expect": "unsigned"})
            )]),
        ),
        (
            "in_another_encoding",
            json!([called(json!({
                "sign": {"headers": {"x-bellhaven-signature": "body|hmac('sha256', secret.key)|base64"}},
                "expect": "unsigned",
            }))]),
        ),
        ("signed", json!([called(json!({"sign": signed}))])),
        (
            "not_readable_at_first",
            json!([
                {"callback": {"sign": signed, "expect": "unreadable"}, "response": {"status": 200, "json": {"result": "yes"}}},
                called(json!({"sign": signed})),
            ]),
        ),
        (
            "replayed",
            json!([called(json!({"sign": signed})), called(json!({"sign": signed, "expect": "again"}))]),
        ),
    ]);
    assert_eq!(output.status.code(), Some(0), "{shown}");

    let (output, shown) = run_called_back(&[
        ("forgotten", json!([called(json!({}))])),
        ("replayed", json!([called(json!({"sign": signed})), called(json!({"sign": signed}))])),
        ("twice", json!([called(json!({"sign": signed, "expect": "again"}))])),
    ]);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for wanted in [
        "call 2: callback: expected taken, found unsigned",
        "call 3: callback: expected taken, found again",
        "call 2: callback: expected again, found taken",
        "3 of 3 cases failed",
    ] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
}

#[test]
fn what_nobody_can_sign_with_is_told_with_its_key_and_line() {
    let sign = |sign: Value| json!([called(json!({"sign": sign}))]);
    let (output, shown) = run_called_back(&[
        ("algorithm", sign(json!({"header": "x-signature", "key": "k", "algorithm": "sha512"}))),
        ("digest", sign(json!({"headers": {"x-signature": "body|hmac('sha265', secret.key)|hex"}}))),
        ("half", sign(json!({"header": "x-signature"}))),
        ("name", sign(json!({"headers": {"x-signature": "lead_uuid|sha256|hex"}}))),
        ("url", json!([{"call": {"method": "GET"}, "response": {"status": 200}}])),
    ]);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for wanted in [
        "is not a valid case: `calls[1].callback.sign.algorithm` unknown field `algorithm`, expected one of",
        "names an unknown digest, `sha265`; known: sha1, sha256, sha384, sha512; did you mean `sha256`? \
            at line",
        "`calls[1].callback.sign` has one of `header` and `key`, which go together at line",
        "uses `lead_uuid`, which is unknown here; known: body, header, now, secret",
        "is not a valid case: `calls[1].call` missing field `url` at line",
    ] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
}
