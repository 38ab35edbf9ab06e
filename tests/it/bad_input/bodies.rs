//! Bodies that are no JSON, no lead, or hardly one.

use super::{BODY_MAX, assert_refused, assert_unharmed, daemon, submit};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};

/// Why, a body, the status, and the attributes that the errors name.
type Case<'a> = (&'a str, Vec<u8>, u16, &'a [&'a str]);

fn case<'a>(why: &'a str, body: impl AsRef<[u8]>, status: u16, attributes: &'a [&'a str]) -> Case<'a> {
    (why, body.as_ref().to_vec(), status, attributes)
}

async fn try_all(daemon: &Daemon, cases: Vec<Case<'_>>) {
    for (why, body, status, attributes) in cases {
        let answer = submit(daemon, body).await;
        assert_eq!(answer.status, status, "{why}: {answer:?}");
        if status != 200 {
            assert_refused(&answer, why);
            assert_eq!(named(&answer), attributes, "{why}");
        }
    }
    assert_unharmed(daemon).await;
}

/// The attributes that errors name; none when the fault is tied to none.
fn named(answer: &Answer) -> Vec<String> {
    answer.attributes().into_iter().filter(|attribute| !attribute.is_empty()).collect()
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

#[tokio::test]
async fn what_is_no_object_is_a_bad_request() {
    let mut cases = vec![
        case("nothing", "", 400, &[]),
        case("blanks", " \n\t\r ", 400, &[]),
        case("only a byte-order mark", "\u{feff}", 400, &[]),
        case("a byte-order mark of UTF-16", b"\xff\xfe{\0}\0", 400, &[]),
        case("UTF-16", b"{\0}\0", 400, &[]),
        case("a byte that is no UTF-8 for a key", b"{\"\xff\":1}", 400, &[]),
        case("two objects", "{}{}", 400, &[]),
        case("an object and more", "{} x", 400, &[]),
        case("an object and NUL", "{}\0", 400, &[]),
        case("NUL", "\0", 400, &[]),
        case("a trailing comma", r#"{"uuid":null,}"#, 400, &[]),
        case("a comment", "{/**/}", 400, &[]),
        case("single quotes", "{'uuid':null}", 400, &[]),
        case("a key without quotes", "{uuid:null}", 400, &[]),
        case("a form", "a=b&c=d", 400, &[]),
        case("NaN", r#"{"unknown":NaN}"#, 400, &[]),
        case("a number with a leading zero", r#"{"unknown":01}"#, 400, &[]),
        case("a number with a plus", r#"{"unknown":+1}"#, 400, &[]),
        case("a tab within a text", "{\"jobTitle\":\"a\tb\"}", 400, &[]),
        case("NUL within a text", "{\"unknown\":\"a\0b\"}", 400, &[]),
        case("an unknown escape", r#"{"unknown":"\x41"}"#, 400, &[]),
        case("a cut escape", r#"{"unknown":"\u00"#, 400, &[]),
    ];
    for other in ["null", "true", "0", "1e400", "\"lead\"", "[]", "[{}]"] {
        cases.push(case(other, other, 400, &[]));
    }
    try_all(&daemon().await, cases).await;
}

#[tokio::test]
async fn an_object_that_is_cut_anywhere_is_a_bad_request() {
    let daemon = daemon().await;
    let lead =
        r#"{"productTypes":["loan"],"personalInformation":{"firstName":"A\u00e9","ssn":null},"x":-1.5e3}"#;
    for end in 0..lead.len() {
        let answer = submit(&daemon, lead[..end].to_owned()).await;
        assert_refused(&answer, &lead[..end]);
        assert_eq!(answer.status, 400, "{}", &lead[..end]);
    }
    assert_eq!(submit(&daemon, lead).await.status, 200);
}

#[tokio::test]
async fn depth_is_no_danger_where_it_is_unknown_and_a_fault_where_it_is_not() {
    let mut cases = Vec::new();
    for depth in [100, 127, 128, 129, 1_000, 100_000] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            if depth * (open.len() + close.len()) > BODY_MAX {
                continue;
            }
            let deep = nested(open, close, depth);
            let why = if open == "[" { "arrays" } else { "objects" };
            cases.push(case(why, format!(r#"{{"unknown":{deep}}}"#), 200, &[]));
            cases.push(case(why, format!(r#"{{"loanInformation":{{"unknown":{deep}}}}}"#), 200, &[]));
            let section = format!(r#"{{"loanInformation":{{"loanAmount":{deep}}}}}"#);
            cases.push(case(why, section, 422, &["loanInformation.loanAmount"]));
            let both = format!(r#"{{"unknown":{deep},"formCompleted":"yes"}}"#);
            cases.push(case(why, both, 422, &["formCompleted"]));
            cases.push(case(why, format!("{open}{deep}"), 400, &[]));
        }
        let list = format!(r#"{{"productTypes":{}}}"#, nested("[", "]", depth));
        cases.push(case("a list", list, 422, &["productTypes[0]"]));
        let open = format!(r#"{{"unknown":{}"#, "[".repeat(depth));
        cases.push(case("never closed", open, 400, &[]));
    }
    try_all(&daemon().await, cases).await;
}

#[tokio::test]
async fn numbers_are_read_by_their_value_and_refused_beyond_their_range() {
    let amount = |text: &str| format!(r#"{{"loanInformation":{{"loanAmount":{text}}}}}"#);
    let deposit = |text: &str| format!(r#"{{"savingsInformation":{{"minDepositAmount":{text}}}}}"#);
    let rate = |text: &str| format!(r#"{{"refinanceLoans":[{{"interestRate":{text}}}]}}"#);
    let mut cases = Vec::new();
    for taken in ["0", "-0", "-0.0", "1e2", "1E+2", "100.0", "1000e-1", "2147483647"] {
        cases.push(case(taken, amount(taken), 200, &[]));
    }
    let digits = "9".repeat(30);
    let long = format!("1{}", "0".repeat(400));
    for refused in
        ["2147483648", "-1", "-2147483649", "0.1", "1e-1", "1e30", &digits, "1e400", "-1e400", &long]
    {
        cases.push(case(refused, amount(refused), 422, &["loanInformation.loanAmount"]));
    }
    for refused in ["9223372036854775808", "-9300000000000000000", "1e19", "1e400"] {
        cases.push(case(refused, deposit(refused), 422, &["savingsInformation.minDepositAmount"]));
    }
    for taken in ["0", "1e-400", "399.99"] {
        cases.push(case(taken, rate(taken), 200, &[]));
    }
    for refused in ["-0.1", "1e300", &digits, "1e400", "-1e400", &long] {
        cases.push(case(refused, rate(refused), 422, &["refinanceLoans[0].interestRate"]));
    }
    cases.push(case("a text", rate("\"7.5\""), 422, &["refinanceLoans[0].interestRate"]));
    cases.push(case("unknown", r#"{"unknown":1e400}"#, 200, &[]));
    cases.push(case(
        "unknown, and a fault",
        r#"{"unknown":1e400,"formCompleted":1}"#,
        422,
        &["formCompleted"],
    ));
    try_all(&daemon().await, cases).await;
}

#[tokio::test]
async fn texts_are_unicode_or_refused() {
    let name = |text: &str| format!(r#"{{"personalInformation":{{"firstName":"{text}"}}}}"#);
    let mut cases = vec![
        case("an escaped NUL", name(r"a\u0000b"), 422, &["personalInformation.firstName"]),
        case("a pair of surrogates", name(r"\ud83d\ude42"), 200, &[]),
        case("text from right to left", name("\u{202e}evil"), 200, &[]),
        case("a very long text", name(&"é".repeat(100_000)), 200, &[]),
    ];
    for lone in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud800x"] {
        cases.push(case(lone, name(lone), 400, &[]));
        cases.push(case(lone, format!(r#"{{"unknown":"{lone}"}}"#), 200, &[]));
        let both = format!(r#"{{"unknown":"{lone}","formCompleted":1}}"#);
        cases.push(case(lone, both, 422, &["formCompleted"]));
    }
    let raw = [b"{\"personalInformation\":{\"firstName\":\"", &b"\xff\xfe"[..], b"\"}}"].concat();
    cases.push(case("bytes that are no UTF-8", raw, 400, &[]));
    try_all(&daemon().await, cases).await;
}

#[tokio::test]
async fn an_attribute_given_twice_is_named() {
    let twice = |body: &str, at: &'static [&str]| case("an attribute given twice", body, 422, at);
    let cases = vec![
        twice(r#"{"productTypes":["loan"],"uuid":null,"productTypes":["savings"]}"#, &["productTypes"]),
        twice(r#"{"productTypes":["savings"],"productTypes":null}"#, &["productTypes"]),
        twice(
            r#"{"legalInformation":{"consentsToTcpa":true,"consentsToTcpa":null}}"#,
            &["legalInformation.consentsToTcpa"],
        ),
        case("unknown ones", r#"{"other":1,"other":2}"#, 200, &[]),
    ];
    try_all(&daemon().await, cases).await;
}

#[tokio::test]
async fn a_refusal_is_short_whatever_the_number_of_faults() {
    let daemon = daemon().await;
    let types = format!(r#"{{"productTypes":[{}1]}}"#, "1,".repeat(50_000));
    let answer = submit(&daemon, types).await;
    assert_refused(&answer, "many faults");
    let count = answer.json().as_array().unwrap().len();
    assert!((100..1_000).contains(&count), "{count}");
    let keys: String = (0..20_000).map(|nth| format!(r#""k{nth}":[],"#)).collect();
    assert_eq!(submit(&daemon, format!(r#"{{{keys}"uuid":null}}"#)).await.status, 200);
    assert_unharmed(&daemon).await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_too_large_whatever_it_holds() {
    let daemon =
        Daemon::with_partners(prompt_partners(1)).setting("api.max_body_bytes", "1024").start().await;
    let of_length = |length: usize| format!("{{\"deviceId\":\"{}\"}}", "x".repeat(length - 15));
    assert_eq!(submit(&daemon, of_length(1_024)).await.status, 200);
    for body in [of_length(1_025), of_length(1_048_576), "[".repeat(2_000), " ".repeat(5_000)] {
        let answer = submit(&daemon, body).await;
        assert_refused(&answer, "too large");
        assert_eq!((answer.status, answer.json()[0]["type"].as_str()), (413, Some("tooLarge")));
    }
    assert_unharmed(&daemon).await;
}
