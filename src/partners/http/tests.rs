//! Diagnostics of wrong mappings, at load and at run time.

use std::path::PathBuf;

use chrono::{TimeZone, Utc};
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{HeaderMap, StatusCode};
use minijinja::value::{Serde, Value};
use serde_json::json;
use uuid::Uuid;

use super::expression::Expression;
use super::{
    AnswerReading, Answered, AskContext, AskProgress, HttpRequest, MappingError, MappingInput, NextCall,
    Received, Secrets,
};
use crate::{Book, Facts};
use offerd_model::{CreditBands, Lead};

const FILE: &str = r#"[partner]
uuid = "3f0c1a52-6d5e-4b8e-9f43-7a1d0a2b3c4d"
name = "Lender"
description = "One."
disclaimer = "None."
image_url = "https://lender.example/logo.png"
sub_account_id = 1
[products.mortgage]
timeout = "5s"
paused = true
[[products.mortgage.offers]]
key = "thirty"
sub_type = "purchase"
loan_type = "thirty_year_fixed"
landing_url = "https://lender.example/"
amount = { min = 75000, max = 1500000 }
reference_amount = 300000
payout = { on = "applied", fixed = 75.0 }
conversion_probability = 0.05
[[products.mortgage.offers]]
key = "refinance"
sub_type = "refinance"
loan_type = "thirty_year_fixed"
landing_url = "https://lender.example/"
amount = { min = 75000, max = 1500000 }
reference_amount = 300000
payout = { on = "applied", fixed = 75.0 }
conversion_probability = 0.05
[products.mortgage.http]
url = "https://lender.example/rates"
"#;

const ANSWER: &str = "answer = { offers = 'response.Rates.Rate', offer = { key = 'offer.Key', interest_rate = 'offer.Note' } }\n";

fn load(http: &str) -> Result<Book, Vec<String>> {
    let file = match http.contains("http.steps]]") {
        true => FILE.replace("url = \"https://lender.example/rates\"\n", ""),
        false => FILE.to_owned(),
    };
    let loaded = Book::from_texts([(PathBuf::from("lender.toml"), format!("{file}{http}"))]);
    loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// The only fault of some keys of `[products.mortgage.http]`.
fn fault(http: &str) -> String {
    let answer = if http.contains("answer") { "" } else { ANSWER };
    let faults = load(&format!("{http}\n{answer}")).unwrap_err();
    assert_eq!(faults.len(), 1, "{http}: {faults:?}");
    faults.concat()
}

/// The reading of an XML answer with the mappings in `answer`.
fn read(answer: &str, xml: &str) -> AnswerReading {
    answered(answer, (200, "text/xml", xml)).unwrap()
}

/// The reading of an answer with this status, content type and body.
fn answered(answer: &str, said: (u16, &'static str, &str)) -> Result<AnswerReading, MappingError> {
    reading(&load(answer).unwrap(), said)
}

/// What becomes of the answer to the only call, or to the first of several.
fn read_as(book: &Book, content_type: &'static str, body: &str) -> AnswerReading {
    reading(book, (200, content_type, body)).unwrap()
}

fn reading(book: &Book, said: (u16, &'static str, &str)) -> Result<AnswerReading, MappingError> {
    reading_from(AskProgress::default(), book, said)
}

fn reading_from(
    mut progress: AskProgress,
    book: &Book,
    (status, content_type, body): (u16, &'static str, &str),
) -> Result<AnswerReading, MappingError> {
    let lead = include_bytes!("../../../tests/leads/mortgage_purchase.json");
    let lead = Lead::read(lead).unwrap_or_else(|_| panic!("the sample is a lead"));
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let facts = Facts::new(&lead, now, CreditBands::Current);
    let asked = AskContext { lead: Uuid::nil(), rate_table: Uuid::nil(), test: false, now };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    let seat = &book.seats()[0];
    let fitting: Vec<_> = seat.offers.iter().filter(|offer| offer.rule.holds(&facts)).collect();
    let partner = seat.http.as_ref().unwrap();
    let given = MappingInput::of(&facts, &asked);
    let status = StatusCode::from_u16(status).unwrap();
    let received = Received { status, headers: &headers, body: body.as_bytes() };
    match partner.next_after(&mut progress, received, &given)? {
        NextCall::Ended(reading) => Ok(reading),
        NextCall::Read => partner.read_answer(&progress, received, &given, &facts, &fitting),
        next => Ok(Answered::Failed(format!("{next:?}")).into()),
    }
}

/// The cause of a failed answer.
fn failure(reading: AnswerReading) -> String {
    let Answered::Failed(cause) = reading.answered else { panic!("{reading:?}") };
    cause
}

/// A file of two calls, of which the first has these keys, and the second this URL.
fn stepped(first: &str, url: &str) -> Result<Book, Vec<String>> {
    let steps = format!(
        "{ANSWER}[[products.mortgage.http.steps]]\nurl = 'https://lender.example/1'\njson = {{ a = 'now' }}\n{first}\n\
            [[products.mortgage.http.steps]]\nurl = '{url}'\n"
    );
    let text = FILE.replace("url = \"https://lender.example/rates\"\n", "") + &steps;
    let loaded = Book::from_texts([(PathBuf::from("lender.toml"), text)]);
    loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// Formats other than the request's, and JSON or XML within a text.
#[test]
fn what_hides_the_offers_of_an_answer_is_named() {
    let (json, xml) = ("json = { a = 'now' }\n", "xml = '<a/>'\n");
    for (request, content_type, body, wanted) in [
        (json, "text/xml", "<r><Error/></r>", "; the answer is XML, and the request was JSON: check the URL"),
        (xml, "application/json", "{\"Error\":1}", "; the answer is JSON, and the request was XML: check"),
        (xml, "text/xml", "{\"Error\":1}", "; the answer is JSON, and the request was XML: check"),
        (json, "text/plain", "no", "; the answer is a text, neither JSON nor XML"),
        (json, "application/json", "", "; the answer is empty"),
        (
            json,
            "text/xml",
            "<string>{\"Rates\":[]}</string>",
            "the answer, with status 200, is a text that holds JSON, so it was",
        ),
        (
            json,
            "text/xml",
            "<r><Rates>&lt;Rate>6&lt;/Rate></Rates></r>",
            "`response.Rates` of the answer is a text that holds XML",
        ),
        (
            json,
            "application/json",
            "{\"Rates\":\"[{\\\"Rate\\\":6}]\"}",
            "`response.Rates` of the answer is a text that holds JSON",
        ),
        (
            json,
            "text/plain",
            ")]}'\n{\"Rates\":[]}",
            "the answer, with status 200, has a text before its JSON",
        ),
    ] {
        let cause = failure(read_as(&load(&format!("{request}{ANSWER}")).unwrap(), content_type, body));
        assert!(cause.contains(wanted), "{body}: {cause}");
    }
    let page = failure(read(ANSWER, "<!DOCTYPE html><html></html>"));
    assert!(page.contains("is not JSON or XML but an HTML page"), "{page}");
}

#[test]
fn a_ping_that_declines_without_a_word_says_what_it_answered() {
    let book = stepped("bid = 'response.bid'", "https://lender.example/2").unwrap();
    let bid = |body: &str| read_as(&book, "application/json", body);
    for (body, why) in [
        ("{\"bid\":null}", "the answer has no bid"),
        ("{\"bid\":0}", "its bid is no, or 0"),
        ("{\"bid\":\"0.00\"}", "its bid is no, or 0"),
        ("{\"bid\":false}", "its bid is no, or 0"),
        ("{\"bid\":\"no\"}", "its bid is no, or 0"),
    ] {
        let reading = bid(body);
        assert_eq!((reading.answered, reading.why), (Answered::Declined(None), Some(why)), "{body}");
    }
    let lacking = failure(bid("{\"price\":7}"));
    assert!(lacking.contains("`steps[0].bid` (`response.bid`) is not in the answer"), "{lacking}");
    let empty = read(&ANSWER.replace("{ offers", "{ empty = 'declines', offers"), "<R/>");
    assert_eq!(empty.why, Some("the answer has no list of offers"));
}

#[test]
fn no_url_is_built_of_an_empty_text() {
    let keep = "keep = { id = 'response.id' }";
    for (url, body, fault) in [
        ("https://lender.example/{{ kept.id }}", r#"{"id":" "}"#, Some("is an empty text in the answer")),
        (
            "https://lender.example/{{ kept.id|urlencode }}",
            r#"{"id":""}"#,
            Some("`steps[1].url` needs `kept.id`"),
        ),
        ("https://lender.example/{{ kept.id }}", r#"{"id":null}"#, Some("is not in the answer")),
        ("https://lender.example/{{ kept.id|default(\"x\", true) }}", r#"{"id":""}"#, None),
        ("https://lender.example/2", r#"{"id":""}"#, None),
        ("https://lender.example/{{ kept.id }}", r#"{"id":"7"}"#, None),
    ] {
        let cause = failure(read_as(&stepped(keep, url).unwrap(), "application/json", body));
        let wanted = fault.unwrap_or("Call");
        assert!(cause.contains(wanted), "{url} {body}: {cause}");
    }
}

/// SOAP faults, pages and redirects with a bad status.
#[test]
fn a_bad_status_has_the_cause_that_its_body_shows() {
    let said = |status: u16, location: Option<&'static str>, body: &str| {
        let location = location.map(|location| (LOCATION, HeaderValue::from_static(location)));
        let headers = HeaderMap::from_iter(location);
        let status = StatusCode::from_u16(status).unwrap();
        let received = Received { status, headers: &headers, body: body.as_bytes() };
        failure(received.bad_status().into())
    };
    let fault = "<s:Envelope xmlns:s=\"urn:s\"><s:Body><s:Fault><faultstring>Jane</faultstring></s:Fault></s:Body>\
        </s:Envelope>";
    for (said, wanted) in [
        (said(500, None, fault), "status 500: it is a SOAP fault; for its words, set `error`"),
        (said(500, None, "<html>Jane</html>"), "status 500: it is an HTML page"),
        (said(302, Some("https://a.example/Account/Login?ReturnUrl=%2f"), ""), "a page for signing in"),
        (said(302, Some("https://a.example/v2"), ""), "use the address in its `Location`"),
        (said(301, None, ""), "without a `Location`"),
        (
            said(401, None, "{}"),
            "status 401: it does not accept our key; check `auth`, `headers` and `secrets`",
        ),
        (said(403, None, "Jane"), "status 403: it does not let us in; check the key, and ask it to admit"),
        (said(405, None, ""), "status 405: it does not take this method there; check `method`"),
        (said(415, None, ""), "status 415: it does not take this kind of body; check `json`"),
        (said(429, None, ""), "status 429: it takes fewer calls; lower `limits.per_minute`"),
    ] {
        assert!(said.contains(wanted) && !said.contains("Jane"), "{said}");
    }
}

#[test]
fn the_paths_of_a_verdict_that_an_answer_lacks_are_named() {
    let answer = ANSWER.replace("{ offers", "{ error = \"status == 200 and response.fault\", declined = \"response.state == 'no' or response.decision.code in ['A']\", offers");
    let book = load(&answer).unwrap();
    let (lead, now) = (Lead::default(), Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap());
    let facts = Facts::new(&lead, now, CreditBands::Current);
    let asked = AskContext { lead: Uuid::nil(), rate_table: Uuid::nil(), test: false, now };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let body = br#"{"decision": {"state": "no"}, "fault": ""}"#;
    let received = Received { status: StatusCode::OK, headers: &headers, body };
    let partner = book.seats()[0].http.as_ref().unwrap();
    let lacking =
        partner.lacking_verdicts(&AskProgress::default(), received, &MappingInput::of(&facts, &asked));
    let told: Vec<String> = lacking.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "`answer.declined` (`response.decision.code`) is not in the answer; in `response.decision` there is state",
            "`answer.declined` (`response.state`) is not in the answer; at its top there are decision, fault",
        ]
    );
}

#[test]
fn no_url_is_shown_with_its_user_and_its_scheme_may_be_in_capitals() {
    let steps = |url: &str| stepped("", url).map(drop);
    for url in ["HTTPS://lender.example/2", "Http://lender.example/2"] {
        assert_eq!(steps(url), Ok(()), "{url}");
    }
    for url in [
        "https://me:secret@lender.example/",
        "me:sec/ret@lender.example",
        "https://me:secret@a:b@c/{{ now }}",
    ] {
        let told = steps(url).unwrap_err().join("\n");
        let has_user = url.starts_with("https");
        assert_eq!(told.contains("must not hold a user or a password"), has_user, "{told}");
        assert!(told.contains("***@") && !told.contains("sec"), "{told}");
    }
    let logo = FILE.replace("https://lender.example/logo", "https://me:secret@lender.example/logo");
    let faults = Book::from_texts([(PathBuf::from("lender.toml"), logo + ANSWER)]).unwrap_err();
    let wanted = "must not hold a user or a password, got `https://***@lender.example/logo.png`";
    assert!(faults[0].to_string().contains(wanted), "{faults:?}");
}

/// A key is checked where the file is, and not when the first lead comes.
#[test]
fn a_key_that_cannot_sign_is_a_fault_of_its_secret() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hunter2\n").unwrap();
    let secrets = format!("secrets = {{ key = {{ file = '{}' }} }}\n", file.path().display());
    for (mapping, wanted) in [
        ("headers = { X-S = \"request.body|jws('RS256', secret.key, detached=true)\" }", "a private RSA key"),
        (
            "headers = { X-S = \"request.body|sign('ES384' , secret.key)|hex\" }",
            "the curve that its algorithm",
        ),
        ("json = { a = \"now|jws(\\\"EdDSA\\\", secret.key)\" }", "a private Ed25519 key"),
        ("headers = { X-S = \"request.body|jws('HS256', secret.key)\" }", ""),
        ("headers = { X-S = \"request.body|jws('RS256', secret.key|from_base64)\" }", ""),
    ] {
        let loaded = load(&format!("{secrets}{mapping}\n{ANSWER}")).map(drop);
        if wanted.is_empty() {
            assert_eq!(loaded, Ok(()), "{mapping}");
            continue;
        }
        let told = loaded.unwrap_err().concat();
        let place = "`products.mortgage.http.secrets.key` has a key that is not ";
        assert!(told.contains(place) && told.contains(wanted) && !told.contains("hunter2"), "{told}");
    }
}

fn quotes(reading: &AnswerReading) -> usize {
    match &reading.answered {
        Answered::Offers(quotes) => quotes.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    for misplaced in [
        "secrets = { password = 'hunter2' }",
        "secrets = { password = { env = 'hunter2', file = 'hunter2' } }",
        "secrets = { password = { evn = 'hunter2' } }",
        "secrets = 'hunter2'",
        "auth = 'hunter2'",
        "auth = { basic = 'hunter2' }",
        "auth = { basic = { user = \"'me'\", password = 'hunter2' } }",
        "auth = { basic = { user = \"'me'\", password = 'Bearer hunter2' } }",
        "auth = { oauth2 = { token_url = 'hunter2', client_id = \"'me'\", client_secret = \"'us'\" } }",
        "headers = { X-A = 'hunter2' }",
        "headers = { X-A = 'hunter2.b' }",
        "headers = { X-A = 'test|hunter2' }",
        "headers = { X-A = 'secret.hunter2' }",
        "query = { key = 'hunter2' }",
        "form = { key = 'hunter2' }",
        "json = { key = { inner = 'hunter2' } }",
    ] {
        let told = load(&format!("{misplaced}\n{ANSWER}")).unwrap_err().join("\n");
        assert!(!told.contains("hunter2"), "{told}");
    }
    // Secrets are only required if the seat is not paused.
    let awake = FILE.replace("paused = true\n", "");
    for misplaced in ["{ env = 'hunter2' }", "{ file = 'hunter2' }", "{ env = 'HUNTER2' }"] {
        let text = format!("{awake}secrets = {{ password = {misplaced} }}\n{ANSWER}");
        let faults = Book::from_texts([(PathBuf::from("lender.toml"), text)]).unwrap_err();
        let told = faults[0].to_string();
        assert!(told.contains("cannot be read") && !told.to_lowercase().contains("hunter2"), "{told}");
    }
}

#[test]
fn a_misplaced_secret_is_told_what_is_wanted() {
    let told = fault("secrets = { password = 'hunter2' }");
    assert!(
        told.ends_with("`products.mortgage.http.secrets.password` must be a table, `{ env = \"NAME\" }` or `{ file = \"PATH\" }`"),
        "{told}"
    );
    let told = fault("headers = { X-A = 'abc' }");
    assert!(told.ends_with("a text needs quotes of its own: `\"'abc'\"`"), "{told}");
}

#[test]
fn unknown_names_are_told_with_those_that_there_are() {
    for (wrong, wanted) in [
        ("json = { a = 'leed.uuid' }", "uses `leed`, which is unknown here; known: lead, lead_uuid,"),
        ("json = { a = 'leed.uuid' }", "; did you mean `lead`?"),
        ("json = { a = 'lead_uid' }", "did you mean `lead_uuid`?"),
        ("json = { a = 'lead.personalInformation.stat' }", "did you mean `lead.personalInformation.state`?"),
        ("auth = {}", "`products.mortgage.http.auth` must have exactly one of `basic` and `oauth2`"),
    ] {
        let told = load(&format!("{wrong}\n{ANSWER}")).unwrap_err().join("\n");
        assert!(told.contains(wanted), "{told}");
    }
}

#[test]
fn a_misspelt_key_of_auth_is_one_fault() {
    let told = fault("auth = { basic = { username = \"'a'\", password = \"'b'\" } }");
    let wanted = "`products.mortgage.http.auth.basic.username` is not a known key; did you mean `user`?";
    assert!(told.ends_with(wanted), "{told}");
}

#[test]
fn what_cannot_work_is_a_fault() {
    let answer = |answer: &str| format!("answer = {{ offers = 'response.R', {answer} }}");
    for (wrong, wanted) in [
        ("xml = '<a><b></a>'".to_owned(), "`products.mortgage.http.xml` cannot make XML"),
        ("xml = '<a>{% if test %}<b>{% endif %}</a>'".to_owned(), "cannot make XML"),
        ("json = { a = \"now|date('%Q')\" }".to_owned(), "invalid date format"),
        ("json = { a = \"lead_uuid|hmac|hex\" }".to_owned(), "too few or too many arguments"),
        (answer("bounds = { interest_rate = { min = nan } }, offer = { key = \"'thirty'\", interest_rate = 'offer.Note' }"), "must have its lowest at or below its highest, got NaN"),
        (
            "headers = { authorization = \"'a'\" }\nauth = { basic = { user = \"'a'\", password = \"'b'\" } }".to_owned(),
            "`products.mortgage.http.headers.authorization` conflicts with `auth`",
        ),
        (answer("offer = { key = \"'thirtyy'\", interest_rate = 'offer.Note' }"), "`thirtyy` is not an \
            offer of the file; did you mean `thirty`?"),
        (answer("offer = { key = \"'thirty' if test else 'fort'\", interest_rate = 'offer.Note' }"), "`fort` is not an offer of the file"),
        (answer("offer = { key = \"'thirty'\", apr = 'offer.Apr' }"), "`products.mortgage.http.answer.offer` must have interest_rate; without it no offer can be shown"),
        (answer("declined = \"'lowfico' if response.No\", offer = { interest_rate = 'offer.Note' }"), "did you mean `low_fico`?"),
        (
            "xml = '<a/>'\nanswer = { offer = { interest_rate = 'offer.Note' } }".to_owned(),
            "`products.mortgage.http.answer.offers` is missing: the path of the offers",
        ),
        ("answer = { offers = '[]', offer = { interest_rate = 'offer.Note' } }".to_owned(), "http.answer.offers` is the same for every answer: use `response`"),
        (answer("error = 'true', offer = { interest_rate = 'offer.Note' }"), "http.answer.error` is the same for every answer"),
        (answer("reasons = { X = 'low_fico' }, offer = { interest_rate = 'offer.Note' }"), "http.answer.reasons` never apply: no `declined` gives a reason"),
        (answer("reasons = { X = 'low_fico' }, declined = \"response.R != 'ok'\", offer = { interest_rate = 'offer.Note' }"), "http.answer.reasons` never apply"),
        (answer("offer = { interest_rate = '900' }"), "http.answer.offer.interest_rate` must be a number from 0 to 400, got 900"),
        (answer("offer = { interest_rate = '9', adjustment_type = \"'pointz'\" }"), "must be one of"),
        (answer("offer = { interest_rate = '9', term = '0' }"), "http.answer.offer.term` must be a whole number from 1 to 600, got 0"),
        (answer("bounds = { interest_rate = { max = 8 } }, offer = { interest_rate = '9' }"), "must be within `answer.bounds`, at most 8, got 9"),
    ] {
        let told = fault(&wrong);
        assert!(told.contains(wanted), "{told}");
    }
}

#[test]
fn requests_that_no_server_reads_as_meant_are_a_fault() {
    for (wrong, wanted) in [
        (
            "headers = { X-A = \"'caf\u{e9}'\" }",
            r"http.headers.X-A` has `\u{e9}`, but may only have visible ASCII",
        ),
        ("headers = { X-A = \"'caf\u{e9} ' ~ lead_uuid\" }", r"http.headers.X-A` has `\u{e9}`, but"),
        (r#"headers = { X-A = "'a\nb'" }"#, r"http.headers.X-A` has `\n`, but may only have visible ASCII"),
        (
            "headers = { X-A = \"'a'\", x-a = \"'b'\" }",
            "http.headers.x-a` stands twice: names of headers compare in any case",
        ),
        (
            "headers = { HTTP2-Settings = \"'a'\" }",
            "cannot be set in the file: leave it out; `wire` controls",
        ),
        (
            "headers = { early-data = '1' }",
            "cannot be set in the file: leave it out; offerd sends nothing before",
        ),
        (
            "headers = { Content-Range = \"'bytes 0-1/2'\" }",
            "cannot be set in the file: leave it out; offerd always",
        ),
        (
            "headers = { A-IM = \"'feed'\" }",
            "cannot be set in the file: leave it out; offerd cannot read a partial",
        ),
        (
            "xml = '<a/>'\nheaders = { content-type = \"'text/xml; charset=\\\"iso-8859-1\\\"'\" }",
            "http.headers.content-type` declares `iso-8859-1`, but offerd sends UTF-8: write `UTF-8`",
        ),
        (
            "xml = '<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>'",
            "http.xml` declares `ISO-8859-1`, but offerd sends UTF-8: write `UTF-8`",
        ),
        (
            "auth = { basic = { user = \"'a:b'\", password = \"'c'\" } }",
            "http.auth.basic.user` has a user with a `:`",
        ),
        ("method = 'GET'\njson = { a = '1' }", "http.json` is a body, and a `GET` has none: use `query`"),
        ("method = 'GET'\nxml = '<a/>'", "http.xml` is a body, and a `GET` has none"),
    ] {
        let faults = load(&format!("{wrong}\n{ANSWER}")).unwrap_err();
        assert!(faults.len() == 1 && faults[0].contains(wanted), "{wrong}: {faults:?}");
    }
    for right in [
        r#"headers = { X-A = "['a', 'b']|join('\n')|sha256|hex", Content-Type = "'text/xml; charset=UTF-8'" }"#,
        "xml = '<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>'",
        "method = 'GET'\nquery = { a = '1' }",
    ] {
        assert!(load(&format!("{right}\n{ANSWER}")).is_ok(), "{right}");
    }
}

#[test]
fn a_content_type_is_that_of_the_body() {
    for (wrong, wanted) in [
        (
            "json = { a = '1' }\nheaders = { content-type = \"'text/xml; charset=utf-8'\" }",
            "http.headers.content-type` is of another kind than the body; leave it out",
        ),
        (
            "form = { a = '1' }\nheaders = { Content-Type = \"'multipart/form-data'\" }",
            "http.headers.Content-Type` is of another kind than the body",
        ),
        (
            "xml = '<a/>'\nheaders = { Content-Type = \"'application/json'\" }",
            "is of another kind than the body",
        ),
    ] {
        let told = fault(wrong);
        assert!(told.contains(wanted), "{told}");
    }
    for right in [
        "json = { a = '1' }\nheaders = { Content-Type = \"'application/vnd.lender+json'\" }",
        "json = { a = '1' }\nheaders = { Content-Type = \"'text/plain'\" }",
        "xml = '<a/>'\nheaders = { Content-Type = \"'application/soap+xml; action=json'\" }",
    ] {
        assert!(load(&format!("{right}\n{ANSWER}")).is_ok(), "{right}");
    }
}

/// A number is never a text, however both are written.
#[test]
fn a_number_that_is_compared_with_a_text_is_a_fault() {
    let with = |error: &str| load(&ANSWER.replace("{ offers", &format!("{{ error = \"{error}\", offers")));
    for (name, wrong) in [
        ("status", "status == '200'"),
        ("status", "response.a and '404' != status"),
        ("status", "'x' if not (status == '200') else false"),
        ("status", "status in ['200', '202']"),
        ("status", "status not in ('200', '202')"),
        ("status", "not status == '200'"),
        ("age", "age == '40'"),
        ("test", "test == 'true'"),
        ("lead.loanInformation.loanAmount", "lead.loanInformation.loanAmount == '5000'"),
        ("lead.productTypes", "lead.productTypes == 'loan'"),
    ] {
        let faults = with(wrong).unwrap_err();
        let wanted = format!("http.answer.error` compares `{name}`, which is no text, with a text");
        assert!(faults.len() == 1 && faults[0].contains(&wanted), "{wrong}: {faults:?}");
    }
    for right in [
        "response.status == '200'",
        "status == '200'|int",
        "status ~ '' == '200'",
        "'loan' in lead.productTypes",
        "status in [200, 202] and response.a in ['b']",
        "response['status'] == '200'",
        "'a' if status == 200 else 'b'",
    ] {
        assert!(with(right).is_ok(), "{right}: {:?}", with(right).err());
    }
}

/// A constant that an operator has for an operand decides every lead and answer alike.
#[test]
fn a_constant_that_decides_alone_is_a_fault() {
    let wanted = "has an operand of `or`, `and` or `not` that is always the same";
    for (key, wrong, right) in [
        ("declined", "response.r == 'A' or 'B'", "response.r == 'A' or response.r == 'B'"),
        ("declined", "(response.r == 'A' or 'B') and response.x", "response.r in ['A', 'B']"),
        ("declined", "response.reason or 'other'", "response.reason or ''"),
        ("declined", "response.reason or true", "response.reason or true if not response.accepted"),
        ("declined", "'A' or response.r == 'B'", "(response.r or 'none') == 'none'"),
        ("declined", "response.r in ('A' or 'B')", "response.r in ('A', 'B')"),
        ("error", "status == 404 or 410", "status in [404, 410]"),
        ("error", "not 'A' and response.r", "not response.r and 'a' in response.s"),
        ("declined", "'low_fico' if response.a == 'x' and 'y'", "status in [404, 422] and 'low_fico'"),
        (
            "declined",
            "'low_fico' if response.a|default(response.b or 'x') == 'y' or 'z'",
            "response.a|default(response.b or 'x') == 'y'",
        ),
        ("error", "response.if.or == 'A' or 'B'", "response.a and true or false"),
    ] {
        let with = |text: &str| load(&ANSWER.replace("{ offers", &format!("{{ {key} = \"{text}\", offers")));
        let faults = with(wrong).unwrap_err();
        assert!(
            faults.len() == 1 && faults[0].contains(&format!("http.answer.{key}` {wanted}")),
            "{wrong}: {faults:?}"
        );
        assert!(with(right).is_ok(), "{right}: {:?}", with(right).err());
    }
    for (wrong, right) in [
        (
            "json = { a = \"'x' if age == 40 or 41 else 'y'\" }",
            "json = { a = \"lead.personalInformation.state or 'NY'\" }",
        ),
        (
            "json = { a = \"test == false or 'x'\" }",
            "json = { a = \"[age, 1]|join(' or ') ~ (credit_rating or 'good')\" }",
        ),
        (
            "xml = '<a>{% if age == 40 or 41 %}b{% endif %}</a>'",
            "xml = '<a>{% if age in [40, 41] %}b{% endif %}{{ credit_rating or \"x\" }}</a>'",
        ),
    ] {
        let told = fault(wrong);
        assert!(told.contains(wanted), "{told}");
        assert!(load(&format!("{right}\n{ANSWER}")).is_ok(), "{right}");
    }
}

#[test]
fn a_text_without_quotes_of_its_own_is_no_number() {
    for text in ["2026-01-01", "01/01/2026", "206-555-0100", "02134", " 2026-01-01 "] {
        for http in [
            format!("json = {{ a = '{text}' }}"),
            format!("headers = {{ X-A = '{text}' }}"),
            "json = { a = 2026-01-01 }".to_owned(),
        ] {
            let told = fault(&http);
            assert!(
                told.contains("is sent as a number") && told.contains("a text needs quotes of its own"),
                "{told}"
            );
        }
    }
    for right in ["2026", "0", "60 * 60", "age - 1", "1 / 12", "\"'2026-01-01'\"", "1.5"] {
        let quoted = if right.starts_with('"') { right.to_owned() } else { format!("'{right}'") };
        let loaded = load(&format!("json = {{ a = {quoted}, b = 2026 }}\n{ANSWER}"));
        assert!(loaded.is_ok(), "{right}: {loaded:?}");
    }
}

#[test]
fn a_secret_is_used_by_a_mapping() {
    let secrets = "secrets = { key = { env = 'KEY' }, other = { env = 'OTHER' } }";
    let both = "auth = { basic = { user = 'secret.key', password = 'secret.other' } }";
    assert!(load(&format!("{secrets}\n{both}\n{ANSWER}")).is_ok());
    let told = fault(&format!("{secrets}\nheaders = {{ X-Key = 'secret.other' }}"));
    assert!(told.contains("http.secrets.key` is used by no mapping; use it as `secret.key`"), "{told}");
    // A mapping that cannot be read may use it.
    assert!(fault(&format!("{secrets}\nheaders = {{ X-Key = 'secret.other ~ ' }}")).contains("X-Key"));
}

#[test]
fn an_outage_that_would_count_as_declines_is_remarked() {
    let remarks = |declined: &str| {
        let text =
            format!("{FILE}{}", ANSWER.replace("{ offers", &format!("{{ declined = '{declined}', offers")));
        let book = Book::from_texts([(PathBuf::from("lender.toml"), text)])
            .unwrap_or_else(|faults| panic!("{faults:?}"));
        book.remarks.iter().map(ToString::to_string).collect::<Vec<_>>().concat()
    };
    for (declined, status) in [
        ("status >= 400", 500),
        ("status != 200", 500),
        ("not status in [200, 404, 500]", 502),
        ("status == 401", 401),
    ] {
        let told = remarks(declined);
        assert!(
            told.contains(&format!("answer.declined` applies to every answer with status {status}")),
            "{told}"
        );
    }
    for declined in
        ["status in [404, 422]", "response.no", "status >= 400 and response.no", "not response.yes"]
    {
        assert!(!remarks(declined).contains("applies to every answer"), "{declined}");
    }
}

/// The request for an empty lead.
fn requested(book: &Book) -> Result<Option<HttpRequest>, MappingError> {
    let lead = Lead::default();
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let facts = Facts::new(&lead, now, CreditBands::Current);
    let asked = AskContext { lead: Uuid::nil(), rate_table: Uuid::nil(), test: false, now };
    let partner = book.seats()[0].http.as_ref().unwrap();
    partner.request(&AskProgress::default(), &MappingInput::of(&facts, &asked), Secrets::Masked)
}

/// It is made on the thread that asks, which others wait for.
#[test]
fn the_mappings_of_a_request_are_bounded_together() {
    let too_much = "takes too many steps: the mappings of one request may visit 50000 values";
    let doubled = "{% set a=[a,a] %}".repeat(60);
    let found = fault(&format!("xml='''<a>{{% set a=[1,2] %}}{doubled}{{{{ a|tojson }}}}</a>'''"));
    assert!(found.contains(&format!("http.xml` {too_much}")), "{found}");
    let values = format!("[{}]|tojson|sha256|hex", "0,".repeat(5_000));
    let asked = |count: usize| {
        let fields: Vec<_> = (0..count).map(|nth| format!("f{nth} = \"{values}\"")).collect();
        requested(&load(&format!("json = {{ {} }}\n{ANSWER}", fields.join(", "))).unwrap())
    };
    assert!(asked(5).is_ok());
    let failed = asked(12).err().unwrap();
    assert!(failed.key.starts_with("json.") && failed.cause.starts_with(too_much), "{failed}");
}

/// As XML and JSON write them, and not as Python does.
#[test]
fn yes_no_and_nothing_are_sent_in_the_words_of_the_web() {
    for (http, query, body) in [
        ("query = { a = 'test', b = 'not test', c = 'none' }", "a=false&b=true", ""),
        ("form = { a = 'test', b = 'not test', c = 'none' }", "", "a=false&b=true"),
        ("xml = '<a b=\"{{ test }}\">{{ not test }}{{ none }}</a>'", "", "<a b=\"false\">true</a>"),
        ("json = { a = 'test', b = 'none' }", "", r#"{"a":false,"b":null}"#),
    ] {
        let offers = "answer = { offers = 'response.R', offer = { interest_rate = 'offer.Note' } }";
        let request = requested(&load(&format!("{http}\n{offers}")).unwrap());
        let request = request.unwrap_or_else(|error| panic!("{error}")).unwrap();
        assert_eq!(request.url.split_once('?').map_or("", |(_, query)| query), query, "{http}");
        assert_eq!(String::from_utf8_lossy(&request.body), body, "{http}");
    }
}

/// Half of an address is another address.
#[test]
fn what_a_path_uses_is_there_for_every_lead() {
    let with = |path: &str, needs: &str| {
        let file = FILE.replace("/rates", path).replace("paused = true", &format!("paused = true\n{needs}"));
        let loaded = Book::from_texts([(PathBuf::from("lender.toml"), format!("{file}{ANSWER}"))]);
        loaded.err().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let state = "lead.personalInformation.state";
    for path in ["/q/{{ S }}", "/q/{{- S|urlencode -}}/x?a=b", "/q-{{ S|lower }}"] {
        let path = path.replace('S', state);
        let faults = with(&path, "");
        let wanted = format!(
            "http.url` uses `{state}`, which a lead may lack: add `personalInformation.state` to `needs`"
        );
        assert!(faults.len() == 1 && faults[0].contains(&wanted), "{path}: {faults:?}");
        for needs in [
            "needs = ['personalInformation.state']",
            "eligibility = { 'personalInformation.state' = { in = ['NY'] } }",
        ] {
            assert!(with(&path, needs).is_empty(), "{path} {needs}");
        }
        let or_missing = "eligibility = { 'personalInformation.state' = { in = ['NY'], or_missing = true } }";
        assert_eq!(with(&path, or_missing).len(), 1, "{path}");
    }
    for path in ["/q/{{ S|default('any') }}", "/q?state={{ S }}", "/{{ lead_uuid }}/{{ 'a' if S else 'b' }}"]
    {
        assert!(with(&path.replace('S', state), "").is_empty(), "{path}");
    }
}

#[test]
fn a_list_that_is_not_where_it_is_looked_for_is_told_by_its_neighbours() {
    let wrong = ANSWER.replace("response.Rates.Rate", "response.RateResponse.Quote");
    let reading = read(&wrong, "<R><Quote><Name>Jane</Name></Quote></R>");
    let told: Vec<String> = reading.absent.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["`answer.offers` (`response.RateResponse.Quote`) is not in the answer; at its top there is Quote"]
    );
    let reading = read(ANSWER, "<R><Rates><Quote/><Note/></Rates></R>");
    let told = reading.absent[0].to_string();
    assert!(told.ends_with("; in `response.Rates` there are Note, Quote"), "{told}");
    assert!(
        read(ANSWER, "<R><Rates><Rate><Note>6</Note><Key>thirty</Key></Rate></Rates></R>").absent.is_empty()
    );
}

#[test]
fn a_figure_that_is_not_where_it_is_looked_for_is_told_once() {
    let xml =
        "<R><Rates><Rate><Key>thirty</Key><Rate>6</Rate></Rate><Rate><Key>thirty</Key></Rate></Rates></R>";
    let reading = read(ANSWER, xml);
    let told: Vec<String> = reading.absent.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["offer 0: `offer.Note` is not in the answer; there are Key, Rate"]);
    assert_eq!(reading.dropped.len(), 2);
}

/// What stands behind `answer.max_offers` is neither read nor shown, and is one line.
#[test]
fn no_more_offers_are_read_than_the_file_says() {
    let rate = "<Rate><Key>thirty</Key><Note>6</Note></Rate>";
    let plain = ANSWER.replace("answer = {", "answer = { max_offers = 3,");
    let nested = plain.replace("offer = {", "inner = 'offer.Rate', offer = {");
    let banks = format!("<Rates><Rate>{}</Rate><Rate>{}</Rate></Rates>", rate.repeat(2), rate.repeat(9));
    let behind = "it stands behind the first 3, and `answer.max_offers` is 3";
    for (answer, rates, shown, dropped) in [
        (&*plain, format!("<Rates>{}</Rates>", rate.repeat(3)), 3, vec![]),
        (&plain, format!("<Rates>{}</Rates>", rate.repeat(4)), 3, vec![(3, behind)]),
        (&plain, format!("<Rates>{}</Rates>", rate.repeat(9_000)), 3, vec![(3, behind)]),
        (&nested, banks, 3, vec![(3, behind)]),
        (ANSWER, format!("<Rates>{}</Rates>", rate.repeat(1_000)), 1_000, vec![]),
    ] {
        let reading = read(answer, &format!("<R>{rates}</R>"));
        let told: Vec<_> = reading.dropped.iter().map(|one| (one.position, one.reason.as_str())).collect();
        assert_eq!((quotes(&reading), told), (shown, dropped), "{answer}");
    }
    // The answer of the worst case: no offer of it can be shown.
    let nines = format!("<R><Rates>{}</Rates></R>", "<Rate>9</Rate>".repeat(40_000));
    assert_eq!(read(ANSWER, &nines).dropped.len(), 1_001);
}

/// What the mappings of one answer visit is bounded together, and by the deadline.
#[test]
fn reading_an_answer_ends() {
    let rates = |count: usize| "<Rate><Key>thirty</Key><Note>6</Note></Rate>".repeat(count);
    let join = "(response.Rates.Rate|selectattr('Key', '==', offer.Key)|first).Note";
    let whole = "offer.Note if response|tojson|sha256|hex";
    let copied = "response.Rates.Rate";
    let like = "offer.Note if offer in response.Rates.Rate";
    let too_much = "takes too many steps: the mappings of one answer may visit 2000000 values";
    for (rate, count, shown) in [
        (join, 1_000, Some(1_000)),
        (join, 4_000, None),
        (whole, 300, Some(300)),
        (whole, 2_000, None),
        (copied, 10_000, None),
        (like, 1_000, Some(1_000)),
        (like, 10_000, None),
    ] {
        let offer = format!("interest_rate = \"{rate}\", key = 'offer.Key'");
        let answer = format!("answer = {{ offers = 'response.Rates.Rate', offer = {{ {offer} }} }}\n");
        let xml = format!("<R><Rates>{}</Rates></R>", rates(count));
        let read = answered(&answer, (200, "text/xml", &xml));
        match (read, shown) {
            (Ok(reading), Some(shown)) => assert_eq!(quotes(&reading), shown, "{rate} of {count}"),
            (Err(error), None) => assert!(error.cause.starts_with(too_much), "{error}"),
            (found, _) => panic!("{rate} of {count}: {}", found.is_ok()),
        }
    }
    let progress = AskProgress { until: Some(std::time::Instant::now()), ..AskProgress::default() };
    let xml = format!("<R><Rates>{}</Rates></R>", rates(2));
    let late = reading_from(progress, &load(ANSWER).unwrap(), (200, "text/xml", &xml)).unwrap_err();
    assert_eq!(late.to_string(), "`answer.offer`: was stopped at the deadline of the ask");
}

#[test]
fn a_bad_offer_costs_no_other() {
    let xml = "<R><Rates><Rate><Note>soon</Note><Key>thirty</Key></Rate><Rate><Note>6.5</Note><Key>thirty</Key></Rate>\
        <Rate><Note>7</Note><Key>thirtyy</Key></Rate><Rate><Note>7</Note><Key>refinance</Key></Rate></Rates></R>";
    let reading = read(ANSWER, xml);
    assert_eq!(quotes(&reading), 1);
    let told: Vec<(usize, &str, &str)> =
        reading.dropped.iter().map(|one| (one.position, one.reason.as_str(), one.detail.as_str())).collect();
    let bad_rate = "`answer.offer.interest_rate`: must be a number from 0 to 400, got a text";
    let not_for_it = "`refinance` does not fit the lead: its conditions are not met";
    assert_eq!(
        told,
        [
            (0, bad_rate, bad_rate),
            (
                2,
                "its key is not an offer of the file; there are thirty, refinance",
                "`thirtyy` is not an offer of the file; there are thirty, refinance"
            ),
            (3, not_for_it, not_for_it),
        ]
    );
}

/// `xsi:nil` is null, whether or not a mapping asks for it, and whatever stands beside it.
#[test]
fn a_figure_or_a_list_that_is_nil_is_none() {
    let schema = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    let asking = |name: &str| {
        ANSWER.replace("{ offers", &format!("{{ error = \"response['@{name}'] == 'never'\", offers"))
    };
    for mapped in [ANSWER, &asking("nil"), &asking("unit")] {
        let rate = |apr: &str| {
            let offer = format!("<Rate><Key>thirty</Key><Note>6.5</Note>{apr}</Rate>");
            read(
                &mapped.replace("offer = {", "offer = { apr = 'offer.Apr',"),
                &format!("<R {schema}><Rates>{offer}</Rates></R>"),
            )
        };
        for nil in [
            "<Apr xsi:nil=\"true\"/>",
            "<Apr xsi:nil=\"1\" unit=\"percent\"/>",
            "<Apr xsi:nil=\"true\"></Apr>",
        ] {
            let reading = rate(nil);
            assert_eq!((quotes(&reading), &*reading.dropped), (1, &[][..]), "{nil}");
        }
        assert_eq!(quotes(&rate("<Apr xsi:nil=\"false\">6.6</Apr>")), 1);
        let list = format!("<R {schema}><Rates><Rate xsi:nil=\"true\"/></Rates></R>");
        assert_eq!(quotes(&read(mapped, &list)), 0);
    }
}

#[test]
fn what_an_error_says_is_kept_apart_from_its_cause() {
    let mapped = ANSWER.replace("{ offers", "{ error = 'response.Error', offers");
    let reading = read(&mapped, "<R><Error>Jane is unknown</Error></R>");
    assert_eq!(reading.answered, Answered::Failed("the answer is an error".to_owned()));
    assert_eq!(reading.said.as_deref(), Some("Jane is unknown"));
}

/// An unexpected answer is not a decline.
#[test]
fn what_looks_like_a_decline_and_is_none_is_a_bad_answer() {
    for (xml, missing) in [
        ("<R/>", "`response.Rates.Rate`"),
        ("<R><Rates><Rat><Note>6</Note></Rat></Rates></R>", "as far as `response.Rates`"),
        ("<R><Status>OK</Status></R>", "as far as `response`"),
    ] {
        let Answered::Failed(cause) = read(ANSWER, xml).answered else { panic!("{xml}") };
        // Offers that stand elsewhere are no decline.
        let may_decline = !xml.contains("<Rat>");
        assert!(cause.contains(missing), "{cause}");
        assert_eq!(cause.contains("`answer.empty = \"declines\"`"), may_decline, "{cause}");
    }
    for none in ["<R><Rates/></R>", "<R><Rates count='0'></Rates></R>"] {
        assert_eq!(read(ANSWER, none).answered, Answered::Offers(Vec::new()), "{none}");
    }
    let unknown = "<R><Rates><Rate><Note>7</Note><Key>thirtyy</Key></Rate></Rates></R>";
    let Answered::Failed(cause) = read(ANSWER, unknown).answered else { panic!("its only offer is unknown") };
    assert!(
        cause.starts_with("its only offer cannot be shown: its key is not an offer of the file"),
        "{cause}"
    );
    let of_others = "<R><Rates><Rate><Note>7</Note><Key>refinance</Key></Rate></Rates></R>";
    assert_eq!(read(ANSWER, of_others).answered, Answered::Offers(Vec::new()));
}

/// An error is no decline, whatever the file takes for one.
#[test]
fn an_empty_answer_declines_where_the_file_says_so_and_an_error_does_not() {
    let mapped = ANSWER.replace("{ offers", "{ empty = 'declines', offers");
    for xml in [
        "",
        "<R/>",
        "{}",
        "<R><Status>OK</Status></R>",
        "<R><Rates><Count>0</Count></Rates></R>",
        r#"{"status": "none", "errors": [], "error": null, "Rates": {}}"#,
        r#"{"code": 200, "count": 500, "success": true, "failed": 0, "message": "No offers"}"#,
    ] {
        assert_eq!(read(&mapped, xml).answered, Answered::Declined(None), "{xml}");
    }
    for xml in [
        r#"{"error": "down"}"#,
        r#"{"errors": ["down"]}"#,
        r#"{"message": "Internal Server Error"}"#,
        r#"{"faultcode": "Server"}"#,
        "<R><Rates><Error code='1'>down</Error></Rates></R>",
        "<R><Rates><Fault>down</Fault></Rates></R>",
        "<R><Rates><Rat><Note>6</Note></Rat></Rates></R>",
        r#"{"quotes": [{"Note": 6}]}"#,
        r#"{"status": "failed"}"#,
        r#"{"status": "FAILURE"}"#,
        r#"{"code": 500, "message": "Try later"}"#,
        r#"{"statusCode": "503"}"#,
        r#"{"success": false}"#,
        r#"{"ok": false, "message": "Try later"}"#,
        r#"{"message": "Service Unavailable"}"#,
        r#"{"state": "working"}"#,
        r#"{"status": "PENDING"}"#,
        "<R><Status>Processing</Status></R>",
        "[1]",
    ] {
        let Answered::Failed(cause) = read(&mapped, xml).answered else { panic!("{xml}") };
        assert!(cause.contains("`answer.empty` declines only for what is empty"), "{xml}: {cause}");
    }
    // Of several lists, one may be missing.
    let inner = "answer = { empty = 'declines', offers = 'response.Banks.Bank', inner = 'offer.Rates.Rate', \
        offer = { key = \"'thirty'\", interest_rate = 'offer.Note' } }\n";
    let bank = |more: &str| {
        format!(
            "<R><Banks><Bank><Rates><Rate><Note>6</Note></Rate></Rates></Bank><Bank>{more}</Bank></Banks></R>"
        )
    };
    assert_eq!(quotes(&read(inner, &bank("<Name>None</Name>"))), 1);
    let Answered::Failed(_) = read(inner, &bank("<Error>down</Error>")).answered else { panic!("it failed") };
}

/// A 202 has offers, or it is an answer that is not there yet.
#[test]
fn an_answer_that_comes_later_declines_nothing() {
    let empty = ANSWER.replace("{ offers", "{ empty = 'declines', offers");
    let polls = "[[products.mortgage.http.steps]]\nurl = \"https://lender.example/rates\"\npending = \"response.state == 'busy' if response\"\n";
    let polled = format!("{empty}{polls}");
    let offers = r#"{"Rates":{"Rate":[{"Key":"thirty","Note":6}]}}"#;
    let none = r#"{"Rates":{"Rate":[]}}"#;
    for (answer, status, body, wanted) in [
        (&empty, 202, offers, "1 offers"),
        (&empty, 202, none, "has status 202: the result comes later"),
        (&empty, 202, "", "has status 202: the result comes later"),
        (&empty, 202, r#"{"state":"done"}"#, "has status 202: the result comes later"),
        (&empty, 200, "", "declined"),
        (&polled, 202, offers, "1 offers"),
        (&polled, 202, none, "0 offers"),
        (&polled, 202, r#"{"state":"busy"}"#, "Again"),
        (&polled, 202, "", "let `pending` name `status == 202`"),
        (&polled, 202, r#"{"state":"done"}"#, "let `pending` name `status == 202`"),
        (&polled, 200, r#"{"state":"working"}"#, "`answer.empty` declines only for what is empty"),
        (&polled, 200, "{}", "declined"),
    ] {
        let found = verdict(answered(answer, (status, JSON_TYPE, body)));
        let is_right = if wanted == "declined" { found == wanted } else { found.contains(wanted) };
        assert!(is_right, "{status} {body}: {found}");
    }
}

#[test]
fn a_part_of_an_answer_is_none() {
    let xml = "<R><Rates><Rate><Note>6</Note><Key>thirty</Key></Rate></Rates></R>";
    assert_eq!(quotes(&read(ANSWER, xml)), 1);
    let Answered::Failed(cause) = answered(ANSWER, (206, "text/xml", xml)).unwrap().answered else {
        panic!("it is a part")
    };
    assert!(cause.starts_with("the answer has status 206: it is a part"), "{cause}");
}

#[test]
fn a_header_of_an_answer_is_found_by_its_name_in_any_case() {
    for declined in [
        "header['content-type'] == 'text/xml'",
        "header['Content-Type'] == 'text/xml'",
        "'CONTENT-TYPE' in header",
        "header|items|length == 1",
    ] {
        let mapped = ANSWER.replace("{ offers", &format!("{{ declined = \"{declined}\", offers"));
        assert_eq!(read(&mapped, "<R/>").answered, Answered::Declined(None), "{declined}");
    }
}

/// A code is a key of `reasons` as a number and as a text.
#[test]
fn a_reason_may_be_a_number() {
    let reasons = "reasons = { 0 = 'low_fico', 17 = 'duplicate', '-1' = 'no_fico' }";
    for (declined, reason) in [
        ("response.No|int", Some("low_fico")),
        ("response.No|float", Some("low_fico")),
        ("response.No", Some("low_fico")),
        ("response.No|int + 17", Some("duplicate")),
        ("[response.No|int + 18, response.No|float + 17]", Some("duplicate")),
        ("response.No|int - 1", Some("no_fico")),
        ("response.No|int + 18", None),
    ] {
        let mapped = ANSWER.replace("{ offers", &format!("{{ {reasons}, declined = \"{declined}\", offers"));
        let Answered::Declined(found) = read(&mapped, "<R><No>0</No></R>").answered else {
            panic!("{declined}")
        };
        assert_eq!(found.map(|reason| reason.as_str()), reason, "{declined}");
    }
    let undeclared = ANSWER.replace("{ offers", "{ declined = 'response.No|int', offers");
    assert_ne!(read(&undeclared, "<R><No>0</No></R>").answered, Answered::Declined(None), "no reason is 0");
}

#[test]
fn why_it_declines_is_said_in_its_own_words() {
    let said =
        "{ declined = 'response.No', reasons = { SCORE = 'low_fico', '17' = 'debt_to_income_ratio' }, offers";
    let mapped = ANSWER.replace("{ offers", said);
    for (xml, reason, undeclared) in [
        ("<R><No>SCORE</No></R>", Some("low_fico"), None),
        ("<R><No>17</No></R>", Some("debt_to_income_ratio"), None),
        ("<R><No>duplicate</No></R>", Some("duplicate"), None),
        ("<R><No>MOON</No></R>", None, Some("MOON")),
        ("<R><No>MOON</No><No>SCORE</No></R>", Some("low_fico"), Some("MOON")),
        ("<R><No>Jane Doe moves too often</No></R>", None, Some("(a text)")),
    ] {
        let reading = read(&mapped, xml);
        let Answered::Declined(found) = reading.answered else { panic!("{xml}: {reading:?}") };
        assert_eq!(found.map(|reason| reason.as_str()), reason, "{xml}");
        assert_eq!(reading.undeclared.as_deref(), undeclared, "{xml}");
    }
    let told = fault(&mapped.replace("low_fico", "lowfico"));
    assert!(
        told.contains("http.answer.reasons.SCORE` must be ") && told.contains("did you mean `low_fico`?"),
        "{told}"
    );
}

#[test]
fn offers_stand_in_lists_of_a_list() {
    let mapped = "answer = { offers = 'response.Banks.Bank', inner = 'offer.Rates.Rate', \
        offer = { key = 'outer.Key', interest_rate = 'offer.Note' } }\n";
    let xml = "<R><Banks><Bank><Key>thirty</Key><Rates><Rate><Note>6</Note></Rate><Rate><Note>7</Note></Rate></Rates></Bank>\
        <Bank><Key>thirty</Key><Rates/></Bank><Bank><Key>thirty</Key><Rates><Rate><Note>8</Note></Rate></Rates></Bank></Banks></R>";
    assert_eq!(quotes(&read(mapped, xml)), 3);
    let lacks = "<R><Banks><Bank><Key>thirty</Key></Bank></Banks></R>";
    let Answered::Failed(cause) = read(mapped, lacks).answered else { panic!("it has no inner list") };
    assert!(
        cause.starts_with(
            "offer 0: `answer.inner` (`offer.Rates.Rate`) is not in the answer; it is found as far as `offer`"
        ),
        "{cause}"
    );
}

/// Words of verdicts in tests: a decline with or without a reason, offers, or the cause of a failure.
fn verdict(reading: Result<AnswerReading, MappingError>) -> String {
    match reading.map(|reading| reading.answered) {
        Ok(Answered::Offers(quotes)) => format!("{} offers", quotes.len()),
        Ok(Answered::Declined(None)) => "declined".to_owned(),
        Ok(Answered::Declined(Some(reason))) => format!("declined: {}", reason.as_str()),
        Ok(Answered::Failed(cause)) => cause,
        Err(error) => error.to_string(),
    }
}

const JSON_TYPE: &str = "application/json";
const PAGE: &str = "<html>Bad Gateway</html>";
const NO_TABLE: &str = "looks for names in `response`, but the answer is";

/// Only a mapping that names the HTTP status judges an answer outside 2xx.
#[test]
fn an_answer_with_a_bad_status_is_no_decline() {
    let looks = "response.status != 'ok'";
    let (page, json) = (("text/html", PAGE), (JSON_TYPE, r#"{"error":"slow down"}"#));
    let empty = (JSON_TYPE, "");
    for (key, condition, status, (content_type, body), wanted) in [
        ("declined", looks, 502, page, "has status 502: it is an HTML page"),
        ("declined", looks, 401, json, "the answer has status 401"),
        ("declined", looks, 429, json, "the answer has status 429"),
        ("declined", looks, 301, empty, "has status 301: it is a redirect"),
        ("declined", "not header['x-ok']", 500, json, "the answer has status 500"),
        ("declined", "response.score < 600", 500, json, "the answer has status 500"),
        ("error", looks, 503, json, "the answer has status 503"),
        ("error", "response.error", 400, json, "the answer has status 400"),
        ("error", "response.error if status >= 400", 400, json, "is an error, with status 400"),
        ("declined", "status == 404", 404, page, "declined"),
        ("declined", "status in [404, 422] and 'low_fico'", 422, json, "declined: low_fico"),
        ("declined", "status == 404", 502, page, "has status 502"),
        ("declined", "status == 204", 204, empty, "declined"),
        ("declined", "status == 204 or response.no", 200, empty, "`answer.empty = \"declines\"`"),
        ("declined", "response == ''", 200, empty, "declined"),
        (
            "declined",
            looks,
            200,
            empty,
            "`answer.declined`: looks for names in `response`, but the answer is an empty text",
        ),
        ("declined", looks, 204, empty, NO_TABLE),
        ("declined", looks, 200, (JSON_TYPE, "null"), NO_TABLE),
        ("declined", looks, 200, (JSON_TYPE, "[]"), NO_TABLE),
        ("declined", looks, 200, ("text/plain", "OK"), NO_TABLE),
        ("declined", "not response.Rates", 200, ("text/xml", "<R/>"), "declined"),
        ("error", "not response.ok", 200, empty, "`answer.error`: looks for names in `response`"),
        ("declined", "response[:2] == 'NO'", 200, ("text/plain", "NO|7"), "declined"),
        ("declined", "response.no", 200, empty, "`answer.empty = \"declines\"`"),
        ("declined", looks, 200, (JSON_TYPE, r#""{\"status\":\"ok\"}""#), "is a text that holds JSON"),
        ("declined", looks, 200, (JSON_TYPE, r#"{"status":"no"}"#), "declined"),
    ] {
        let mapped = ANSWER.replace("{ offers", &format!("{{ {key} = \"{condition}\", offers"));
        let found = verdict(answered(&mapped, (status, content_type, body)));
        let is_right = if wanted.starts_with("declined") { found == wanted } else { found.contains(wanted) };
        assert!(is_right, "{key} = {condition} of {status} {body}: {found}");
    }
}

/// A second ping counts as a second call of a partner that says that repeats do harm.
#[test]
fn a_ping_is_made_once_where_repeats_do_harm() {
    for (wire, once) in [("{ idempotent = false }", true), ("{ idempotent = true }", false), ("{}", false)] {
        let steps =
            "[[products.mortgage.http.steps]]\nurl = 'https://lender.example/1'\njson = { a = 'now' }\n";
        let http = format!("wire = {wire}\n{ANSWER}{steps}bid = 'response.bid'\n{steps}");
        let book = load(&http).unwrap();
        let partner = book.seats()[0].http.as_ref().unwrap();
        assert_eq!(partner.step(&AskProgress::default()).once_per_ask, once, "{wire}");
        let post = AskProgress { step: 1, ..AskProgress::default() };
        assert_eq!((partner.step(&post).once_per_ask, partner.has_made_once(&post)), (true, once), "{wire}");
    }
}

/// The same of steps, of polls and of bids.
#[test]
fn a_step_with_a_bad_status_is_no_decline() {
    let looks = "response.status != 'ok'";
    let unreadable = ("text/html", PAGE);
    let empty = (JSON_TYPE, "");
    for (keys, status, (content_type, body), wanted) in [
        (format!("declined = \"{looks}\""), 502, unreadable, "has status 502"),
        (format!("error = \"{looks}\""), 500, empty, "has status 500"),
        ("error = \"response.error\"".to_owned(), 204, empty, "Call"),
        ("declined = \"status == 404\"".to_owned(), 404, unreadable, "declined"),
        (format!("declined = \"{looks}\""), 200, empty, "`steps[0].declined`: looks for names"),
        (format!("pending = \"{looks}\""), 502, unreadable, "has status 502"),
        (format!("pending = \"{looks}\""), 200, empty, "`steps[0].pending`: looks for names"),
        ("pending = \"status == 404\"".to_owned(), 404, unreadable, "Again"),
        ("bid = \"response.price if response.ok\"".to_owned(), 200, empty, "`steps[0].bid`: looks for names"),
        ("bid = \"response.price if response.ok\"".to_owned(), 200, (JSON_TYPE, "{}"), "declined"),
    ] {
        let url = "url = \"https://lender.example/rates\"";
        let steps = format!(
            "{ANSWER}[[products.mortgage.http.steps]]\n{url}\n{keys}\n[[products.mortgage.http.steps]]\n{url}\n"
        );
        let found = verdict(answered(&steps, (status, content_type, body)));
        let is_right = if wanted == "declined" { found == wanted } else { found.contains(wanted) };
        assert!(is_right, "{keys} of {status} {body}: {found}");
    }
}

/// A list declines by those of its elements that are not false.
#[test]
fn a_list_declines_unless_all_that_it_holds_is_false() {
    let said = "{ declined = 'response.no', reasons = { SCORE = 'low_fico', 0 = 'duplicate' }, offers";
    let mapped = ANSWER.replace("{ offers", said);
    for (no, wanted) in [
        (r#"["false"]"#, "1 offers"),
        (r#"["No", false, null, ""]"#, "1 offers"),
        ("[]", "1 offers"),
        ("[0.0]", "declined: duplicate"),
        ("[0]", "declined: duplicate"),
        ("0", "declined: duplicate"),
        (r#"["false", "SCORE"]"#, "declined: low_fico"),
        (r#"[false, true]"#, "declined"),
        (r#"["yes"]"#, "declined"),
        (r#"["false", "n/a"]"#, "means neither yes nor no"),
        (r#"[{"code": "SCORE"}]"#, "must be true, a word, or a list of words"),
    ] {
        let offers = r#""Rates":{"Rate":[{"Key":"thirty","Note":6}]}"#;
        let body = format!("{{\"no\":{no},{offers}}}");
        let found = verdict(answered(&mapped, (200, JSON_TYPE, &body)));
        let is_right = if wanted.starts_with("declined") { found == wanted } else { found.contains(wanted) };
        assert!(is_right, "{no}: {found}");
        let error = ANSWER.replace("{ offers", "{ error = 'response.no', offers");
        let is_error = verdict(answered(&error, (200, JSON_TYPE, &body))) == "the answer is an error";
        assert_eq!(is_error, wanted != "1 offers" && !no.starts_with("[0") && no != "0", "{no}");
    }
}

/// What a partner is sent of a person is never made up.
#[test]
fn a_missing_income_stays_missing_and_one_that_is_no_number_is_a_fault() {
    for (income, sent) in [
        (json!(null), json!({})),
        (json!(" 84000 "), json!({"a": 84000.0, "b": 84000})),
        (json!(84000.5), json!({"a": 84000.5, "b": 84000})),
        (json!(""), json!({})),
    ] {
        let context = Value::from(Serde(json!({"lead": {"income": income}})));
        for (name, text) in [("a", "lead.income|float"), ("b", "lead.income|int")] {
            let made = Expression::compile(text).unwrap().run(&context).unwrap();
            let made = serde_json::to_value(&made).unwrap();
            assert_eq!(made, sent[name], "{text} of {income}");
        }
    }
    for (income, text, wanted) in [
        (
            json!("N/A"),
            "lead.income|float",
            "`lead.income|float` needs a number, got a text that is no number",
        ),
        (
            json!("nan"),
            "2 * lead.income|int",
            "`lead.income|int` needs a number, got a text that is no number",
        ),
        (json!([1]), "lead.income|int", "`lead.income|int` needs a number, got a list"),
        (
            json!("N/A"),
            "[lead.income]|map('int')|sum",
            "a conversion needs a number, got a text that is no number",
        ),
        (json!(null), "lead.income|float / 12", "missing: `lead.income`"),
    ] {
        let context = Value::from(Serde(json!({"lead": {"income": income}})));
        let fault = Expression::compile(text).unwrap().run(&context).unwrap_err().to_string();
        assert!(fault.contains(wanted), "{text}: {fault}");
    }
}
