//! Partners that live elsewhere, in a few words: what they answer, and how they are declared that answer later, bid or call back.

use std::time::Duration;

use serde_json::{Value, json};

use super::far_side::{Deed, FarSide, Received};
use super::partners::{PartnerFile, far_lender};
use super::{Daemon, PATIENCE};

/// Two offers, as the mappings of a [`far_lender`] read them.
pub fn offers() -> Deed {
    let offers = json!({"offers": [
        {"term": 36, "apr": 9.5, "link": "https://far.example/yours?c={clickId}"},
        {"term": 24, "apr": 8.75},
    ]});
    Deed::Json(200, offers.to_string())
}

/// A file that holds a secret, for as long as the test's process lives.
pub fn secret_file(secret: &str) -> String {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path().keep().unwrap();
    std::fs::write(&path, format!("{secret}\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A lender whose calls are these.
pub fn stepped(key: &str, far: &FarSide, steps: &str) -> PartnerFile {
    let lender = far_lender(key, &far.url("/"), steps);
    let text = lender.text();
    let own = text.split_once("[products.loan.http]\n").unwrap().1.split_once("wire =").unwrap().0.to_owned();
    lender.replaced(&own, "")
}

/// A lender that takes an application, and is asked for its offers until it has them.
pub fn slow_lender(far: &FarSide, every: &str) -> PartnerFile {
    let steps = format!(
        r#"
[[products.loan.http.steps]]
url = "{url}"
sandbox_url = "{url}"
json = {{ amount = "lead.loanInformation.loanAmount" }}
declined = "response.no"
keep = {{ id = "response.id" }}

[[products.loan.http.steps]]
method = "GET"
url = "{url}/{{{{ kept.id|urlencode }}}}"
sandbox_url = "{url}/{{{{ kept.id|urlencode }}}}"
pending = "response.state == 'working'"
every = "{every}"
"#,
        url = far.url("/applications")
    );
    stepped("slow", far, &steps)
}

/// A buyer of leads that is asked for its bid, and sent the lead if that is chosen.
pub fn buyer(key: &str, far: &FarSide, post: &str) -> PartnerFile {
    let steps = format!(
        r#"
[products.loan.http.post]
{post}

[[products.loan.http.steps]]
url = "{0}/ping"
sandbox_url = "{0}/ping"
json = {{ amount = "lead.loanInformation.loanAmount", state = "lead.personalInformation.state", id = "ask_uuid" }}
bid = "response.bid"
keep = {{ ping = "response.ping" }}

[[products.loan.http.steps]]
url = "{0}/post"
sandbox_url = "{0}/post"
json = {{ ping = "kept.ping", price = "kept.bid", ssn = "lead.personalInformation.ssn" }}
"#,
        far.url("")
    );
    stepped(key, far, &steps)
}

/// A far side that bids so much, and answers a post with offers.
pub async fn bidding(dollars: Value) -> FarSide {
    FarSide::start(move |request| match request.head.starts_with("POST /ping") {
        true => Deed::Json(200, json!({"bid": dollars, "ping": "P-7"}).to_string()),
        false => offers(),
    })
    .await
}

/// The posts that it was sent.
pub fn posts(far: &FarSide) -> Vec<Received> {
    far.received().into_iter().filter(|request| request.head.starts_with("POST /post")).collect()
}

/// A lender that takes an application, and calls us with its offers.
pub fn caller(far: &FarSide, verify: &str) -> PartnerFile {
    let steps = format!(
        r#"
[[products.loan.http.steps]]
url = "{0}"
sandbox_url = "{0}"
json = {{ amount = "lead.loanInformation.loanAmount", reply_to = "callback_url" }}

[[products.loan.http.steps]]
callback = true
{verify}
"#,
        far.url("/applications")
    );
    stepped("caller", far, &steps).replaced("\"3s\"", "\"8s\"")
}

/// Where a lender was asked to call.
pub async fn reply_to(far: &FarSide) -> String {
    far.until(|received| !received.is_empty()).await;
    let asked: Value = serde_json::from_str(&far.received()[0].body).unwrap();
    asked["reply_to"].as_str().unwrap().to_owned()
}

/// What explains a table, in words.
pub fn explained(daemon: &Daemon, table: &Value) -> String {
    let why = daemon.command(&["explain", table["uuid"].as_str().unwrap()]);
    String::from_utf8_lossy(&why.stdout).into_owned()
}

/// Waits until what explains a table says something so often.
pub async fn explains(daemon: &Daemon, table: &Value, wanted: &str, times: usize) {
    let looking = async {
        while explained(daemon, table).matches(wanted).count() < times {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await;
    found.unwrap_or_else(|_| panic!("{wanted} is not in {}", explained(daemon, table)));
}
