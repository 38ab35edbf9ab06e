//! The clients' requests, and the expected answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use offerd::http::current::api_version::{API_VERSION, PROMPT_VERSION};
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use super::ledger::{Acknowledged, Ledger};
use crate::kit::Daemon;

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    Submit,
    /// Submits a lead and waits for the complete table.
    Block,
    Poll,
    /// Reads a table with its entity tag.
    PollHeld,
    /// Submits a lead and follows its table to the end.
    Stream,
    Read,
    Click,
    Feed,
    /// Submits a lead with faults.
    Malformed,
    /// Submits a lead that exists already.
    Repeat,
    /// Reads a table that does not exist.
    Unknown,
    /// Uses an invalid token.
    Stranger,
}

/// The mix of deeds, in percent.
const MIX: [(Deed, u32); 11] = [
    (Deed::Submit, 30),
    (Deed::Block, 4),
    (Deed::Poll, 25),
    (Deed::PollHeld, 14),
    (Deed::Stream, 4),
    (Deed::Read, 8),
    (Deed::Click, 9),
    (Deed::Malformed, 2),
    (Deed::Repeat, 2),
    (Deed::Unknown, 1),
    (Deed::Stranger, 1),
];

const FEED_EVERY: Duration = Duration::from_secs(1);

/// All clients; they share a company and its connections.
pub struct Clients {
    http: Client<HttpConnector, Full<Bytes>>,
    api: String,
    integrations: String,
    publishable: String,
    confidential: String,
    ledger: Arc<Ledger>,
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Deed {
    fn expected(self) -> &'static [u16] {
        match self {
            Self::Submit | Self::Block | Self::Poll | Self::Stream | Self::Read | Self::Feed => &[200],
            // The table may have grown meanwhile.
            Self::PollHeld => &[200, 304],
            Self::Click => &[302],
            Self::Malformed => &[422],
            Self::Repeat => &[409],
            Self::Unknown => &[404],
            Self::Stranger => &[401],
        }
    }
}

impl Clients {
    pub fn of(daemon: &Daemon, ledger: Arc<Ledger>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            http: Client::builder(TokioExecutor::new()).build(connector),
            api: daemon.api.clone(),
            integrations: daemon.integrations.clone(),
            publishable: daemon.publishable.clone(),
            confidential: daemon.confidential.clone(),
            ledger,
        }
    }

    /// Does one deed of the mix.
    pub async fn act(&self) {
        let mut draw = fastrand::u32(..100);
        let deed = MIX.iter().find(|(_, often)| {
            let here = draw < *often;
            draw = draw.saturating_sub(*often);
            here
        });
        let deed = deed.map_or(Deed::Submit, |(deed, _)| *deed);
        match (deed, self.ledger.a_recent(fastrand::usize(..))) {
            (Deed::Block, _) => self.block().await,
            (Deed::Stream, _) => self.stream().await,
            (Deed::Malformed, _) => self.refused(deed, r#"{"loanInformation":{"loanAmount":"much"}}"#).await,
            (Deed::Unknown | Deed::Stranger, _) => self.turned_away(deed).await,
            (Deed::Poll, Some(known)) => drop(self.poll(&known, None).await),
            (Deed::PollHeld, Some(known)) => self.poll_held(&known).await,
            (Deed::Read, Some(known)) => self.read(&known).await,
            (Deed::Click, Some(known)) => self.click(&known).await,
            (Deed::Repeat, Some(known)) => self.refused(deed, &body(&known.lead)).await,
            _ => drop(self.submit(Deed::Submit).await),
        }
    }

    async fn submit(&self, deed: Deed) -> Option<Acknowledged> {
        let lead = Uuid::new_v4().to_string();
        let url = format!("{}/leads/rateTables", self.api);
        let answer = self.exchange(deed, Method::POST, &url, &self.publishable, &[], body(&lead)).await?;
        self.taken(lead, &answer.json())
    }

    fn taken(&self, lead: String, table: &Value) -> Option<Acknowledged> {
        if table["leadUuid"] != json!(lead) {
            self.ledger.unexpected(format!("the table of {lead} is of {}", table["leadUuid"]));
            return None;
        }
        let acknowledged = Acknowledged { lead, table: table["uuid"].as_str()?.to_owned() };
        self.ledger.acknowledge(acknowledged.clone());
        Some(acknowledged)
    }

    async fn block(&self) {
        let lead = Uuid::new_v4().to_string();
        let url = format!("{}/blocking/leads/rateTables", self.integrations);
        let sent = self.exchange(Deed::Block, Method::POST, &url, &self.publishable, &[], body(&lead));
        let Some(answer) = sent.await else { return };
        let table = answer.json();
        if table["pendingResponses"] != json!([]) {
            self.ledger.unexpected(format!("a blocking answer has {} pending", table["pendingResponses"]));
        }
        let Some(known) = self.taken(lead, &table) else { return };
        if self.poll(&known, None).await.is_some_and(|polled| polled.json() != table) {
            self.ledger.unexpected(format!("{}: a poll differs from the blocking answer", known.table));
        }
    }

    async fn stream(&self) {
        let Some(known) = self.submit(Deed::Submit).await else { return };
        let url = format!("{}/originator/rateTables/{}/events", self.api, known.table);
        let Some(answer) = self.exchange(Deed::Stream, Method::GET, &url, &self.confidential, &[], "").await
        else {
            return;
        };
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let last = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default();
        let last: Value = serde_json::from_str(last).unwrap_or_default();
        if last["pendingResponses"] != json!([]) {
            self.ledger.unexpected(format!("{}: its stream ended before it was complete", known.table));
        }
    }

    async fn poll(&self, known: &Acknowledged, held: Option<&str>) -> Option<Answer> {
        let url = format!("{}/originator/rateTables/{}", self.api, known.table);
        let deed = if held.is_some() { Deed::PollHeld } else { Deed::Poll };
        let headers: Vec<_> = held.map(|tag| ("if-none-match", tag)).into_iter().collect();
        self.exchange(deed, Method::GET, &url, &self.confidential, &headers, "").await
    }

    async fn poll_held(&self, known: &Acknowledged) {
        let Some(answer) = self.poll(known, None).await else { return };
        let tag = answer.headers.get("etag").and_then(|tag| tag.to_str().ok());
        self.poll(known, tag).await;
    }

    async fn read(&self, known: &Acknowledged) {
        let url = format!("{}/leads/{}", self.api, known.lead);
        self.exchange(Deed::Read, Method::GET, &url, &self.confidential, &[], "").await;
    }

    async fn click(&self, known: &Acknowledged) {
        let Some(answer) = self.poll(known, None).await else { return };
        let Some(offer) = answer.json()["savingsOffers"][0]["uuid"].as_str().map(str::to_owned) else {
            return;
        };
        let url = format!("{}/click/{offer}", self.api);
        if self.exchange(Deed::Click, Method::GET, &url, "", &[], "").await.is_some() {
            self.ledger.clicked();
        }
    }

    async fn refused(&self, deed: Deed, body: &str) {
        let url = format!("{}/leads/rateTables", self.api);
        self.exchange(deed, Method::POST, &url, &self.publishable, &[], body.to_owned()).await;
    }

    async fn turned_away(&self, deed: Deed) {
        let url = format!("{}/originator/rateTables/{}", self.api, Uuid::new_v4());
        let stranger = format!("{}_{}", Uuid::new_v4(), Uuid::new_v4());
        let token = if deed == Deed::Stranger { &stranger } else { &self.confidential };
        self.exchange(deed, Method::GET, &url, token, &[], "").await;
    }

    /// Follows the feed of events, in its newer form, until the load ends; returns the ids in order.
    pub async fn follow_the_feed(&self, mut ended: watch::Receiver<bool>) -> Vec<String> {
        let mut next = format!("{}/supplyAnalytics/leadEvents?sinceTimestamp=2020-08-01T00:00:00Z", self.api);
        let (mut ids, mut seen) = (Vec::new(), BTreeSet::new());
        while !*ended.borrow() {
            let form = [(API_VERSION, PROMPT_VERSION)];
            let page = self.exchange(Deed::Feed, Method::GET, &next, &self.confidential, &form, "").await;
            let Some(page) = page else { return ids };
            let page = page.json();
            for event in page["data"].as_array().into_iter().flatten() {
                let id = event["id"].as_str().unwrap_or_default().to_owned();
                if !seen.insert(id.clone()) {
                    self.ledger.unexpected(format!("the feed tells {id} twice"));
                }
                ids.push(id);
            }
            let path =
                page["nextUrl"].as_str().and_then(|url| url.find("/supplyAnalytics").map(|at| &url[at..]));
            next = format!("{}{}", self.api, path.unwrap_or_default());
            if page["shouldContinuePolling"] != json!(true) {
                let _ = tokio::time::timeout(FEED_EVERY, ended.changed()).await;
            }
        }
        ids
    }

    /// The fault of an acknowledged lead that is missing or incomplete; `None` if it is as it should be.
    pub async fn lost(&self, daemon: &Daemon, known: &Acknowledged) -> Option<String> {
        let table = daemon.complete(&known.table).await;
        let url = format!("{}/leads/{}", self.api, known.lead);
        let lead = self.send(Method::GET, &url, &self.confidential, &[], "".into()).await;
        let is_there =
            lead.is_some_and(|lead| lead.status == 200 && lead.json()["uuid"] == json!(known.lead));
        (!is_there || table["leadUuid"] != json!(known.lead)).then(|| known.lead.clone())
    }

    /// The company of the leads.
    pub async fn company(&self, acknowledged: &[Acknowledged]) -> String {
        let url = format!("{}/leads/{}", self.api, acknowledged[0].lead);
        let lead = self.send(Method::GET, &url, &self.confidential, &[], "".into()).await;
        lead.expect("the daemon runs").json()["companyUUID"]
            .as_str()
            .expect("a lead has a company")
            .to_owned()
    }

    /// Sends the request of a deed and records the answer; `None` if the answer is unexpected.
    async fn exchange(
        &self,
        deed: Deed,
        method: Method,
        url: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Option<Answer> {
        let sent = Instant::now();
        let answer = self.send(method, url, token, headers, body.into()).await;
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        self.ledger.answered(deed, status, sent.elapsed());
        if deed.expected().contains(&status) {
            return answer;
        }
        let said =
            answer.map(|answer| String::from_utf8_lossy(&answer.body).chars().take(200).collect::<String>());
        self.ledger.unexpected(format!("{deed:?} was answered {status}: {}", said.unwrap_or_default()));
        None
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Option<Answer> {
        let mut request =
            Request::builder().method(method).uri(url).header("content-type", "application/json");
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).expect("a request");
        let (head, body) = self.http.request(request).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}

/// A lead with this uuid, of a new person.
fn body(lead: &str) -> String {
    json!({
        "uuid": lead,
        "productTypes": ["loan", "savings"],
        "personalInformation": {
            "firstName": "Maren", "lastName": "Tolliver", "email": format!("{lead}@example.com"), "zipcode": "98101",
        },
        "loanInformation": {"loanAmount": 12_000},
        "savingsInformation": {"minDepositAmount": 5000},
        "creditInformation": {"providedCreditRating": "good"},
    })
    .to_string()
}
