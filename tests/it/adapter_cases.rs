//! The cases of the sample partners hold, and `offerd partners cases` tells of those that do not.

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
    assert!(shown.contains("tests/partners has no cases of `nobody`"), "{shown}");
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
    let leads = root().join("tests/leads");
    let flags = ["--cases", directory.path().to_str().unwrap(), "--leads", leads.to_str().unwrap()];
    let (output, shown) = run(&flags);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for wanted in [
        "FAIL fairholt_mortgage/wrong",
        "expected GET",
        "found    POST",
        "the answer cannot be mapped: `answer.offer.interest_rate`: must be a number from 0 to 400",
        "is no case: missing field `product`",
        "2 of 2 cases failed",
    ] {
        assert!(shown.contains(wanted), "{wanted} is not in {shown}");
    }
    let (output, _) = run(&[&flags[..], &["--json"]].concat());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told[1]["case"], &told[1]["passed"]), (&json!("wrong"), &json!(false)), "{told}");
    assert_eq!(told[1]["differences"][0], "method\n  expected GET\n  found    POST");
}
