//! Yes and no in the words of partners: every value of XML is a text, and much of JSON, and `false` is no yes.

use serde_json::{Value, json};

use crate::kit::far_partners::{offers, stepped};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender};
use crate::kit::{Daemon, sample};

/// A text, what it says, and where it was seen.
const TEXTS: [(&str, Option<bool>, &str); 20] = [
    ("false", Some(false), "xsd:boolean"),
    ("False", Some(false), ".NET and Python write it so"),
    (" no ", Some(false), "forms of agencies"),
    ("N", Some(false), "fields of one letter, of mainframes"),
    ("0", Some(false), "xsd:boolean, its other form; MySQL"),
    ("0.00", Some(false), "an amount that is none"),
    ("", Some(false), "an element that is there and empty"),
    ("true", Some(true), "xsd:boolean"),
    ("TRUE", Some(true), "a spreadsheet behind the service"),
    ("yes", Some(true), "forms of agencies"),
    ("Y", Some(true), "fields of one letter"),
    ("1", Some(true), "xsd:boolean, its other form"),
    ("PENDING", None, "a state in place of a flag"),
    ("nil", None, "Ruby's word for nothing"),
    ("None", None, "Python's, which declined everybody"),
    ("null", None, "what templates write"),
    ("-", None, "forms of agencies"),
    ("-1", None, "codes of mainframes for none"),
    ("off", Some(false), "switches, and YAML"),
    ("ON", Some(true), "the same"),
];

/// The first of those that are no reason either, and the only text that is one.
const NOTHING: usize = 13;
const REASON: &str = "PENDING";

/// A condition of a file, with what the partner is sent when it is true, false and neither.
struct Condition {
    /// The file's keys.
    http: &'static str,
    /// What `partners try` says where it holds, where it does not, and of a text that says neither.
    said: [&'static str; 3],
}

const NEITHER: &str = "gives a text that means neither yes nor no";

const CONDITIONS: [Condition; 12] = [
    Condition { http: "declined = \"response.flag\"", said: ["declined", "9.5 % APR", "declined"] },
    Condition {
        http: "error = \"response.flag\"",
        said: ["the answer is an error", "9.5 % APR", "the answer is an error"],
    },
    Condition { http: "declined = \"not response.flag\"", said: ["9.5 % APR", "declined", "9.5 % APR"] },
    Condition { http: "declined = \"true if response.flag\"", said: ["declined", "9.5 % APR", "declined"] },
    Condition {
        http: "declined = \"response.flag and status == 200\"",
        said: ["declined", "9.5 % APR", "declined"],
    },
    Condition {
        http: "error = \"'failed' if status == 200 and not response.flag\"",
        said: ["9.5 % APR", "the answer is an error", "9.5 % APR"],
    },
    Condition {
        http: "declined = \"response['flag'] and true\"",
        said: ["declined", "9.5 % APR", "declined"],
    },
    Condition {
        http: "error = \"'failed' if not response.Offer[0].flag\"",
        said: ["9.5 % APR", "the answer is an error", "9.5 % APR"],
    },
    Condition {
        http: "declined = \"status == 200 and (response.none or response.Offer[-1]['flag'])\"",
        said: ["declined", "9.5 % APR", "declined"],
    },
    Condition {
        http: "declined = \"[response.flag]|select|length > 0\"",
        said: ["declined", "9.5 % APR", "declined"],
    },
    Condition { http: "declined = \"response.flag|bool\"", said: ["declined", "9.5 % APR", "declined"] },
    Condition {
        http: "declined = \"[response]|selectattr('flag')|length > 0\"",
        said: ["declined", "9.5 % APR", "declined"],
    },
];

fn answer(flag: &str) -> String {
    json!({"flag": flag, "Offer": [{"flag": flag}], "offers": [{"term": 36, "apr": 9.5}]}).to_string()
}

/// Sends the sample lead to a partner.
fn tried(partner: PartnerFile, key: &str) -> String {
    let plan = Daemon::with_partners(vec![partner]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), sample("personal_loan")).unwrap();
    let arguments = ["partners", "try", key, file.path().to_str().unwrap(), "--send"];
    let output = plan.command(&arguments).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

async fn said(partner: PartnerFile, key: &'static str) -> String {
    tokio::task::spawn_blocking(move || tried(partner, key)).await.unwrap()
}

#[tokio::test]
async fn a_text_says_no_in_words_in_every_condition_of_an_answer() {
    let far = FarSide::start(|request| {
        let nth = request.head.split_whitespace().nth(1).unwrap_or_default().trim_start_matches('/');
        Deed::Json(200, answer(TEXTS[nth.parse::<usize>().unwrap()].0))
    })
    .await;
    for Condition { http, said: wanted } in &CONDITIONS {
        // One of each kind is enough for all but the first.
        let all = *http == CONDITIONS[0].http;
        for (nth, (text, says, seen)) in
            TEXTS.iter().enumerate().filter(|(nth, _)| all || [0, 2, 7, 12, NOTHING].contains(nth))
        {
            let lender = far_lender("far", &far.url(&format!("/{nth}")), "")
                .replaced("declined = \"response.no\"", http);
            let wanted = match says {
                Some(true) => wanted[0],
                Some(false) => wanted[1],
                None if *text == REASON => wanted[2],
                None => NEITHER,
            };
            let said = said(lender, "far").await;
            assert!(said.contains(wanted), "{http} of `{text}` ({seen}): `{wanted}` is not in {said}");
        }
    }
}

/// `<Declined>false</Declined>` declined everybody.
#[tokio::test]
async fn an_element_that_says_false_declines_nobody() {
    for (flag, wanted) in [
        ("<flag>false</flag>", "9.5 % APR"),
        ("<flag code=\"7\">false</flag>", "9.5 % APR"),
        ("<flag/>", "9.5 % APR"),
        ("<flag>true</flag>", "declined"),
        ("<flag>low_fico</flag>", "declined: low_fico"),
        ("<flag code=\"7\">low_fico</flag>", "declined: low_fico"),
        ("<flag code=\"7\" kind=\"soft\">false</flag>", "9.5 % APR"),
        ("<flag>None</flag>", NEITHER),
        ("<flag code=\"7\">null</flag>", NEITHER),
        ("<flag>N/A</flag><flag>low_fico</flag>", "declined: low_fico"),
        ("<flag>N/A</flag><flag>moon</flag>", NEITHER),
        ("<flag code=\"7\" kind=\"soft\">low_fico</flag>", "declined: low_fico"),
    ] {
        let body = format!("<r>{flag}<offers><term>36</term><apr>9.5</apr></offers></r>");
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n", body.len());
        let bytes = format!("{head}{body}").into_bytes();
        let far = FarSide::start(move |_| Deed::Bytes(bytes.clone())).await;
        let lender = far_lender("far", &far.url("/"), "")
            .replaced("response.no", "response.flag if response.flag['@kind'] != 'hard'");
        let said = said(lender, "far").await;
        assert!(said.contains(wanted), "{flag}: `{wanted}` is not in {said}");
    }
}

/// Scores and truths as texts decide like those that are none, and a score that is no number decides nothing.
#[tokio::test]
async fn comparisons_read_numbers_and_truths_in_texts() {
    let low = "declined = \"response.score < 600\"";
    let refused = "declined = \"response.approved == false\"";
    for (http, answered, wanted) in [
        (low, json!({"score": "500"}), "declined"),
        (low, json!({"score": "1000"}), "9.5 % APR"),
        (low, json!({}), "`response.score < 600` compares nothing with a number"),
        (
            low,
            json!({"score": "N/A"}),
            "`response.score < 600` compares a text that is no number with a number",
        ),
        (refused, json!({"approved": "false"}), "declined"),
        (refused, json!({"approved": "True"}), "9.5 % APR"),
        ("declined = \"response.reasons\"", json!({"reasons": ["false", 0]}), "9.5 % APR"),
        ("declined = \"response.reasons\"", json!({"reasons": ["false", "low_fico"]}), "declined: low_fico"),
    ] {
        let mut body = answered.clone();
        body["offers"] = json!([{"term": 36, "apr": 9.5}]);
        let far = FarSide::start(move |_| Deed::Json(200, body.to_string())).await;
        let lender = far_lender("far", &far.url("/"), "").replaced("declined = \"response.no\"", http);
        let said = said(lender, "far").await;
        assert!(said.contains(wanted), "{http} of {answered}: `{wanted}` is not in {said}");
    }
}

/// A reason that looks like a no is a reason where the file declares it.
#[tokio::test]
async fn a_declared_reason_may_be_any_word() {
    let far = FarSide::start(|_| Deed::Json(200, answer("0"))).await;
    let declared = "reasons = { 0 = \"low_fico\" }, declined = \"response.flag\"";
    let lender = far_lender("far", &far.url("/"), "").replaced("declined = \"response.no\"", declared);
    let said = said(lender, "far").await;
    assert!(said.contains("declined: low_fico"), "{said}");
}

/// `pending`, `when` and `bid` of steps.
#[tokio::test]
async fn steps_take_words_for_yes_and_no_and_refuse_others() {
    for (text, says, seen) in TEXTS {
        let far = FarSide::start(move |request| match request.head.split_whitespace().nth(1) {
            Some("/first") => Deed::Json(200, json!({"flag": text}).to_string()),
            _ => offers(),
        })
        .await;
        let step = |nth: &str, keys: &str| {
            let url = far.url(nth);
            format!("\n[[products.loan.http.steps]]\nurl = \"{url}\"\nsandbox_url = \"{url}\"\n{keys}\n")
        };
        let steps = |first: &str, second: &str| {
            stepped("far", &far, &[step("/first", first), step("/second", second)].concat())
        };
        let asked = |path: &str| far.received().iter().filter(|one| one.head.contains(path)).count();

        // A text that is nothing is there all the same.
        let kept = steps("keep = { flag = \"response.flag\" }", "when = \"kept.flag\"");
        let when = said(kept, "far").await;
        assert_eq!(asked("/second"), usize::from(says == Some(true)), "when of `{text}` ({seen}): {when}");
        assert_eq!(when.contains(NEITHER), says.is_none(), "when of `{text}` ({seen}): {when}");

        far.forget();
        let pending = steps("pending = \"response.flag\"\nevery = \"50ms\"", "");
        let pending = said(pending.replaced("\"3s\"", "\"400ms\""), "far").await;
        assert_eq!(
            asked("/second"),
            usize::from(says == Some(false)),
            "pending of `{text}` ({seen}): {pending}"
        );
        assert_eq!(asked("/first") > 1, says == Some(true), "pending of `{text}` ({seen}): {pending}");
        assert_eq!(pending.contains(NEITHER), says.is_none(), "pending of `{text}` ({seen}): {pending}");

        far.forget();
        let bid = said(steps("bid = \"response.flag\"", ""), "far").await;
        assert_eq!(asked("/second"), usize::from(says == Some(true)), "bid of `{text}` ({seen}): {bid}");
        // A bid of nothing is neither a number nor a no.
        let is_fault = says.is_none() || text.is_empty();
        assert_eq!(bid.contains("must be dollars"), is_fault, "bid of `{text}` ({seen}): {bid}");
    }
}

/// A figure of yes or no is read by the same words.
#[tokio::test]
async fn a_flag_of_an_offer_is_read_by_the_same_words() {
    let some = ["False", " no ", "0", "Y", "1", "PENDING"];
    for (text, says, seen) in TEXTS.iter().filter(|(text, ..)| some.contains(text)) {
        let text = (*text).to_owned();
        let answered = json!({"offers": [{"term": 36, "apr": 9.5, "firm": text}]}).to_string();
        let far = FarSide::start(move |_| Deed::Json(200, answered.clone())).await;
        let lender = far_lender("far", &far.url("/"), "")
            .replaced("pre_qualified = \"true\"", "pre_qualified = \"offer.firm\"");
        let daemon = Daemon::with_partners(vec![lender]).start().await;
        let table: Value = daemon.submit_blocking(sample("personal_loan")).await.json();
        let firm = table["loanOffers"].get(0).map(|offer| offer["preQualified"] == true);
        assert_eq!(firm, *says, "`{text}` ({seen}): {table} {}", daemon.log());
    }
}
