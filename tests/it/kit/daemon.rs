//! A daemon that runs, and one that has ended.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use offerd::analytics::{ArrivalTime, Feed, Feeds, Horizon, PageRequest};
use offerd::model::{FeedPage, Viewer};
use offerd::run_file::RunFile;
use offerd::store::Clock;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::answer::Answer;
use super::canaries::Canaries;
use super::partners::PartnerFile;
use super::plan::Plan;
use super::{PATIENCE, signal};

/// A running daemon.
pub struct Daemon {
    pub(super) plan: Plan,
    child: Option<Child>,
    pub api: String,
    pub integrations: String,
    pub admin: String,
    pub publishable: String,
    pub confidential: String,
    /// What a first start of a sandbox has shown to sign in to the console with.
    pub console_secret: String,
    /// What opens the admin listener to commands.
    pub admin_key: String,
    /// The cookie of somebody who is signed in to the console, once it was wanted.
    session: OnceCell<String>,
    http: Client<HttpConnector, Full<Bytes>>,
}

impl Daemon {
    /// One that has just been started by a plan, where it is reached, and the first words of a first start.
    pub(super) fn of(plan: Plan, child: Child, run: RunFile, words: [String; 3]) -> Self {
        let [publishable, confidential, console_secret] = words;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            plan,
            child: Some(child),
            api: run.api,
            integrations: run.integrations,
            admin: run.admin,
            publishable,
            confidential,
            console_secret,
            admin_key: run.admin_key,
            session: OnceCell::new(),
            http: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// A daemon with the sample catalog.
    pub fn with_sample_partners() -> Plan {
        Plan::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("partners"))
    }

    /// A daemon with these partners only.
    pub fn with_partners(partners: Vec<PartnerFile>) -> Plan {
        Plan::of(partners)
    }

    /// The same daemon, used by a live company: the leads of a first start's tokens are tests, which no feed tells.
    #[must_use]
    pub fn with_live_company(mut self) -> Self {
        let token = |kind| {
            let output = self.command(&["token", "create", "--company", "Live", "--kind", kind]);
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        (self.publishable, self.confidential) = (token("publishable"), token("confidential"));
        self
    }

    /// Posts a lead to the api listener, as the publishable token.
    pub async fn submit(&self, lead: impl AsRef<str>) -> Answer {
        self.post("/leads/rateTables", lead).await
    }

    /// Posts a lead to the blocking endpoint.
    pub async fn submit_blocking(&self, lead: impl AsRef<str>) -> Answer {
        let url = format!("{}/blocking/leads/rateTables", self.integrations);
        self.request(Method::POST, &url, &self.publishable, lead.as_ref()).await
    }

    pub async fn post(&self, path: &str, body: impl AsRef<str>) -> Answer {
        self.request(Method::POST, &format!("{}{path}", self.api), &self.publishable, body.as_ref()).await
    }

    /// Reads a path of the api listener as the confidential token.
    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, &format!("{}{path}", self.api), &self.confidential, "").await
    }

    pub async fn get_if_none_match(&self, path: &str, etag: &str) -> Answer {
        let headers = [("if-none-match", etag)];
        self.request_with(Method::GET, &format!("{}{path}", self.api), &self.confidential, &headers, "").await
    }

    /// Reads a rate table.
    pub async fn rate_table(&self, uuid: &str) -> Answer {
        self.get(&format!("/originator/rateTables/{uuid}")).await
    }

    /// Polls a rate table until nothing is pending.
    pub async fn complete(&self, uuid: &str) -> Value {
        let polling = async {
            loop {
                let table = self.rate_table(uuid).await.json();
                if table["pendingResponses"].as_array().is_some_and(Vec::is_empty) {
                    return table;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, polling).await.expect("a rate table completes")
    }

    pub async fn request(&self, method: Method, url: &str, token: &str, body: &str) -> Answer {
        self.request_with(method, url, token, &[], body.to_owned()).await
    }

    /// Sends anything. An empty token sends none.
    pub async fn request_with(
        &self,
        method: Method,
        url: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let answer = self.try_request(method, url, token, headers, body).await;
        answer.expect("the daemon answers")
    }

    /// Like [`request_with`](Self::request_with), but the daemon may be gone before it has answered.
    pub async fn try_request(
        &self,
        method: Method,
        url: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Option<Answer> {
        let body = body.into();
        self.plan.canaries().note(token, &body);
        let mut request = Request::builder().method(method).uri(url);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).unwrap();
        let exchange = async {
            let (head, body) = self.http.request(request).await.ok()?.into_parts();
            let body = body.collect().await.ok()?.to_bytes();
            Some(Answer { status: head.status.as_u16(), headers: head.headers, body })
        };
        tokio::time::timeout(PATIENCE, exchange).await.expect("an answer in time")
    }

    /// The cookie of somebody who has signed in to the console with a link, as `offerd console` prints them.
    pub async fn signed_in(&self) -> &str {
        self.session.get_or_init(|| self.sign_in()).await
    }

    async fn sign_in(&self) -> String {
        let links = format!("{}/console/links", self.admin);
        let link = self.request(Method::POST, &links, &self.admin_key, "").await.json();
        let link = link["url"].as_str().expect("a link").to_owned();
        let Some((_, code)) = link.split_once("code=") else { return String::new() };
        let page = self.request(Method::GET, &link, "", "").await;
        let page = String::from_utf8_lossy(&page.body).into_owned();
        let (_, after) = page.split_once("name=\"csrf\" value=\"").expect("the page has a form");
        let csrf = after.split('"').next().unwrap_or_default();
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("csrf", csrf), ("code", code)])
            .finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let url = format!("{}/console/signIn", self.admin);
        let answer = self.request_with(Method::POST, &url, "", &headers, form).await;
        let cookie = answer.header("set-cookie").expect("who has a link is signed in");
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    /// Runs a command of the binary beside the daemon, with the same settings.
    pub fn command(&self, arguments: &[&str]) -> std::process::Output {
        self.plan.command(arguments).output().expect("the binary runs")
    }

    /// A line of shell beside the daemon, with the same settings.
    pub fn shell(&self, line: &str) -> Command {
        self.plan.shell(line)
    }

    /// Begins such a command.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.plan.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    }

    /// Writes the settings file of a daemon whose plan has one.
    pub fn write_settings(&self, text: &str) {
        self.plan.write_settings(text);
    }

    /// Every metric.
    pub async fn metrics(&self) -> String {
        let page = self.request(Method::GET, &format!("{}/metrics", self.admin), "", "").await;
        String::from_utf8(page.body.to_vec()).unwrap()
    }

    /// Where the daemon keeps its store.
    pub fn store(&self) -> PathBuf {
        self.plan.store()
    }

    /// Where a first start has put the master key.
    pub fn master_key(&self) -> PathBuf {
        self.plan.master_key()
    }

    /// What it was told and must not tell.
    pub fn canaries(&self) -> &Canaries {
        self.plan.canaries()
    }

    /// A place for files of the test, gone with the daemon.
    pub fn file(&self, name: &str) -> PathBuf {
        self.plan.directory().join(name)
    }

    /// Where the daemon reads its partners.
    pub fn partners(&self) -> &Path {
        self.plan.partners()
    }

    /// Waits until the daemon has logged a text.
    pub async fn logged(&self, text: &str) {
        let reading = async {
            while !self.plan.log().contains(text) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("the daemon logs it");
    }

    /// What the daemon has logged so far, over all its starts.
    pub fn log(&self) -> String {
        self.plan.log()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the daemon runs").id()
    }

    /// SIGKILL: no chance to say goodbye.
    pub fn kill(mut self) -> Stopped {
        let mut child = self.child.take().expect("the daemon runs");
        child.kill().expect("a running daemon can be killed");
        child.wait().expect("a killed daemon ends");
        self.stopped()
    }

    /// SIGTERM, and how the daemon ends on it.
    pub fn terminate(mut self) -> (ExitStatus, Stopped) {
        let mut child = self.child.take().expect("the daemon runs");
        signal(child.id(), "TERM");
        let status = child.wait().expect("a daemon that was told to stop ends");
        (status, self.stopped())
    }

    /// Waits until the daemon has ended by itself; how, and what it has logged.
    pub async fn ended(&mut self) -> (ExitStatus, String) {
        let mut child = self.child.take().expect("the daemon runs");
        let waiting = tokio::task::spawn_blocking(move || child.wait());
        let ended = tokio::time::timeout(PATIENCE, waiting).await.expect("the daemon ends");
        (ended.expect("waiting does not panic").expect("a daemon that ends has a status"), self.log())
    }

    /// Starts a daemon that has [ended](Self::ended) again on the same store.
    pub async fn start_again(self) -> Self {
        self.stopped().start().await
    }

    fn stopped(mut self) -> Stopped {
        self.plan.assert_silent();
        let plan = std::mem::replace(&mut self.plan, Plan::new(PathBuf::new()));
        Stopped { plan, publishable: self.publishable.clone(), confidential: self.confidential.clone() }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
            if !std::thread::panicking() {
                self.plan.assert_silent();
            }
        }
    }
}

/// A daemon that ended; its store is still there.
pub struct Stopped {
    pub plan: Plan,
    publishable: String,
    confidential: String,
}

impl Stopped {
    /// A company's feed from its beginning, as it will be in two hours, when all of it is old enough to be told; all of
    /// its pages in one.
    pub fn feed_in_two_hours<F: Feed>(&self, company: &str) -> FeedPage<F::Record> {
        let later = Horizon::at(ArrivalTime(Clock::system().now_us() + 7_200_000_000));
        let store = self.plan.open_store();
        let feeds = Feeds::new(store, "https://offers.example".to_owned(), usize::MAX);
        let mut asked = PageRequest::hourly(ArrivalTime::FIRST);
        let mut data = Vec::new();
        loop {
            let page = feeds.page::<F>(Viewer::of_all(company.parse().unwrap()), asked, later);
            let page = page.unwrap_or_else(|refused| panic!("{refused:?}"));
            data.extend(page.data);
            if !page.should_continue_polling {
                return FeedPage { data, next_url: page.next_url, should_continue_polling: false };
            }
            let (_, query) = page.next_url.split_once('?').expect("a next page says from when on");
            let from = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "timestamp");
            let from = from.and_then(|(_, time)| ArrivalTime::parse(&time)).expect("a time");
            asked = asked.starting_at(from);
        }
    }

    /// Sets a key for the starts to come.
    #[must_use]
    pub fn setting(self, key: &str, value: &str) -> Self {
        Self { plan: self.plan.setting(key, value), ..self }
    }

    /// Starts it again on the same store.
    pub async fn start(self) -> Daemon {
        let mut daemon = self.plan.start_anew(false).0;
        daemon.publishable = self.publishable;
        daemon.confidential = self.confidential;
        daemon
    }
}
