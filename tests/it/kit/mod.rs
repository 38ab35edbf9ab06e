//! The kit: a real daemon on a store of its own, partners in a few words, and a client.
#![allow(dead_code, missing_docs, clippy::unwrap_used)] // each test binary and benchmark uses a part of it

pub mod canaries;
pub mod database;
pub mod far_partners;
pub mod far_side;
pub mod line;
pub mod mail_server;
pub mod partners;
pub mod planted_runs;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use offerd::analytics::{ArrivalTime, Feed, Feeds, Horizon, PageRequest};
use offerd::model::{FeedPage, Viewer};
use offerd::run_file::RunFile;
use offerd::store::{Clock, Store, StoreOptions};
use serde_json::Value;
use tokio::sync::OnceCell;

use canaries::Canaries;
pub use partners::PartnerFile;

/// Longest wait for anything at all; only a hanging daemon reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How a daemon is to be started.
pub struct Plan {
    directory: tempfile::TempDir,
    partners: PathBuf,
    program: PathBuf,
    settings: Vec<(String, String)>,
    /// Variables beside the settings.
    variables: Vec<(String, String)>,
    sockets: Option<GivenSockets>,
    /// Soft and hard limit of open files.
    file_limits: Option<(u32, u32)>,
    /// The address of the database that has the records, where the tests run over one.
    database: Option<String>,
    /// What it is told and must not tell: looked for in its store and its log whenever it has ended.
    canaries: Canaries,
}

/// Two sockets that listen already, as systemd holds them open for a service.
pub struct GivenSockets {
    names: String,
    sockets: [TcpListener; 2],
}

impl GivenSockets {
    /// Sockets under these two names, `one:other`.
    pub fn named(names: &str) -> Self {
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        Self { names: names.to_owned(), sockets }
    }

    /// Where one of them is reached.
    pub fn url(&self, position: usize) -> String {
        format!("http://{}", self.sockets[position].local_addr().expect("a bound socket"))
    }

    /// For standard input or output of a process.
    fn stdio(&self, position: usize) -> Stdio {
        OwnedFd::from(self.sockets[position].try_clone().expect("a free descriptor")).into()
    }
}

/// Gives what came as standard input and error as the sockets 3 and 4, to this very process, as systemd does.
const ACTIVATE: &str = r#"
    exec 3<&0 4<&2 0</dev/null 2>>"$LOG"
    export LISTEN_FDS=2 LISTEN_FDNAMES="$NAMES" LISTEN_PID=$$
    exec "$0" "$@""#;

/// A running daemon.
pub struct Daemon {
    plan: Plan,
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

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The attributes of an error array, in order.
    pub fn attributes(&self) -> Vec<String> {
        let attribute = |error: &Value| error["attribute"].as_str().unwrap_or_default().to_owned();
        self.json().as_array().expect("errors are an array").iter().map(attribute).collect()
    }
}

impl Daemon {
    /// A daemon with the sample catalogue.
    pub fn with_sample_partners() -> Plan {
        Plan::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("partners"))
    }

    /// A daemon with these partners only.
    pub fn with_partners(partners: Vec<PartnerFile>) -> Plan {
        let plan = Plan::new(PathBuf::new());
        let directory = plan.directory.path().join("partners");
        std::fs::create_dir(&directory).unwrap();
        for partner in partners {
            partner.write(&directory);
        }
        Plan { partners: directory, ..plan }
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
        self.plan.canaries.note(token, &body);
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
        self.plan.directory.path().join(name)
    }

    /// Where the daemon reads its partners.
    pub fn partners(&self) -> &Path {
        &self.plan.partners
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

    /// Runs another program from now on.
    #[must_use]
    pub fn program(self, program: &Path) -> Self {
        Self { plan: self.plan.program(program), ..self }
    }

    /// Starts it again on the same store.
    pub async fn start(self) -> Daemon {
        let mut daemon = self.plan.start_anew(false).0;
        daemon.publishable = self.publishable;
        daemon.confidential = self.confidential;
        daemon
    }
}

impl Plan {
    fn new(partners: PathBuf) -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            partners,
            program: env!("CARGO_BIN_EXE_offerd").into(),
            settings: Vec::new(),
            variables: Vec::new(),
            sockets: None,
            file_limits: None,
            database: database::schema(),
            canaries: Canaries::default(),
        }
    }

    /// Another node on the database of a daemon, with its partners, settings and keys; nothing where the tests run over files.
    pub fn beside(node: &Daemon) -> Option<Self> {
        let Self { partners, program, settings, database, .. } = &node.plan;
        let plan = Self::new(partners.clone());
        let (program, settings) = (program.clone(), settings.clone());
        let plan = Self { program, settings, database: Some(database.clone()?), ..plan };
        Some(plan.setting("store.master_key_file", &node.plan.master_key().display().to_string()))
    }

    /// The address of the database, where the tests run over one.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Sets a key, as `section.key`.
    #[must_use]
    pub fn setting(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Runs this program, such as that of another version.
    #[must_use]
    pub fn program(self, program: &Path) -> Self {
        Self { program: program.to_owned(), ..self }
    }

    /// With the records in files, whatever the tests run over.
    #[must_use]
    pub fn in_files(self) -> Self {
        Self { database: None, ..self }
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives sockets to every start, as systemd does.
    #[must_use]
    pub fn given(self, sockets: GivenSockets) -> Self {
        Self { sockets: Some(sockets), ..self }
    }

    /// Starts with these limits of open files, a soft and a hard one.
    #[must_use]
    pub fn file_limits(self, soft: u32, hard: u32) -> Self {
        Self { file_limits: Some((soft, hard)), ..self }
    }

    /// Writes the settings file, which goes below the keys that are set one by one.
    pub fn write_settings(&self, text: &str) {
        std::fs::write(self.settings_file(), text).unwrap();
    }

    fn settings_file(&self) -> PathBuf {
        self.directory.path().join("offerd.toml")
    }

    pub fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// The store, while no daemon has it.
    pub fn open_store(&self) -> Store {
        Store::open_inline_with(&self.store_options()).unwrap()
    }

    /// How a test opens it.
    pub fn store_options(&self) -> StoreOptions {
        let database = self.database.as_deref().map(database::options);
        StoreOptions { database, ..StoreOptions::new(self.store()) }
    }

    pub fn partners(&self) -> &Path {
        &self.partners
    }

    /// Neither the store nor the log tells what the daemon was told of persons, nor a token.
    fn assert_silent(&self) {
        self.canaries.assert_in_none_of(&[self.store(), self.directory.path().join("log")]);
        if let Some(url) = &self.database {
            self.canaries.assert_not_in(&database::records(url), "the database");
        }
    }

    pub fn canaries(&self) -> &Canaries {
        &self.canaries
    }

    /// Where a first start puts the master key when none is given.
    pub fn master_key(&self) -> PathBuf {
        self.directory.path().join("store.key")
    }

    /// Starts the daemon for the first time, and waits until it is ready.
    pub async fn start(self) -> Daemon {
        self.start_anew(true).0
    }

    /// Starts a daemon on a store that was restored from the backup of another, whose tokens it has.
    pub async fn start_restored(self, of: &Daemon) -> Daemon {
        let mut daemon = self.start_anew(false).0;
        daemon.publishable.clone_from(&of.publishable);
        daemon.confidential.clone_from(&of.confidential);
        daemon
    }

    /// Starts a daemon on the database of another, whose tokens it has.
    pub async fn start_beside(self, node: &Daemon) -> Daemon {
        self.start_restored(node).await
    }

    /// Starts a daemon on a store that has this confidential token already.
    pub async fn start_with_token(self, confidential: String) -> Daemon {
        let mut daemon = self.start_anew(false).0;
        daemon.confidential = confidential;
        daemon
    }

    /// Like [`start`](Self::start), and gives what else the daemon tells the service manager.
    pub async fn start_watched(self) -> (Daemon, UnixDatagram) {
        self.start_anew(true)
    }

    /// A command of the binary under these settings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null());
        self.dress(command)
    }

    /// The command that runs the daemon, within its limits of open files.
    fn serving(&self) -> Command {
        let Some((soft, hard)) = self.file_limits else { return self.command(&["serve"]) };
        let mut command = Command::new("sh");
        let line = format!("ulimit -Sn {soft}; ulimit -Hn {hard}; exec \"$0\" serve");
        command.arg("-c").arg(&line).arg(&self.program).stdin(Stdio::null());
        self.dress(command)
    }

    /// Like [`command`](Self::command), with the sockets that were [given](Self::given); standard error is the log.
    pub fn command_with_sockets(&self, arguments: &[&str]) -> Command {
        let given = self.sockets.as_ref().expect("sockets are given");
        let mut command = Command::new("sh");
        command.args(["-c", ACTIVATE, env!("CARGO_BIN_EXE_offerd")]).args(arguments);
        command.env("NAMES", &given.names).env("LOG", self.directory.path().join("log"));
        command.stdin(given.stdio(0)).stderr(given.stdio(1));
        self.dress(command)
    }

    /// Puts the settings of this plan into the environment of a command.
    fn dress(&self, mut command: Command) -> Command {
        command.current_dir(self.directory.path());
        command.env("OFFERD__STORE__PATH", self.store()).env("OFFERD__PARTNERS__PATH", &self.partners);
        if self.settings_file().exists() {
            command.env("OFFERD_CONFIG", self.settings_file());
        }
        if let Some(url) = &self.database {
            command.env("OFFERD__STORE__ENGINE", "postgres").env("OFFERD__STORE__POSTGRES__URL", url);
            command.env("OFFERD__STORE__POSTGRES__LEASE", "2s");
        }
        for listener in ["API", "INTEGRATIONS", "ADMIN"] {
            command.env(format!("OFFERD__{listener}__LISTEN"), "127.0.0.1:0");
        }
        if !self.settings.iter().any(|(key, _)| key == "matching.deadline") {
            // Who answers at once has then answered, however busy the machine is.
            command.env("OFFERD__MATCHING__SUBMIT_WAIT", "10s");
        }
        // However busy the machine is, only tests of it turn leads away for that.
        command.env("OFFERD__LIMITS__QUEUEING_TARGET", "0ms");
        // Nor is its disk taken for one that hangs.
        command.env("OFFERD__STORE__STALL_AFTER", "60s");
        for (key, value) in &self.settings {
            command.env(format!("OFFERD__{}", key.to_uppercase().replace('.', "__")), value);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The directory of everything of the test, gone with it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A line of shell under these settings, where `offerd` is the binary.
    pub fn shell(&self, line: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_offerd")).parent().expect("a file is in a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let as_the_binary = self.command(&[]);
        let settings = as_the_binary.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.directory.path()).stdin(Stdio::null()).envs(settings);
        shell.env("PATH", format!("{}:{path}", binary.display()));
        shell
    }

    fn start_anew(self, first: bool) -> (Daemon, UnixDatagram) {
        // The daemon says that it is ready as it does to systemd, so nobody has to ask again and again.
        let path = self.directory.path().join("notify");
        let _ = std::fs::remove_file(&path);
        let notifications = UnixDatagram::bind(&path).expect("a socket for notifications");
        notifications.set_read_timeout(Some(PATIENCE)).expect("a socket has a timeout");

        let mut command = if self.sockets.is_some() {
            self.command_with_sockets(&["serve"])
        } else {
            let mut command = self.serving();
            let log =
                std::fs::OpenOptions::new().create(true).append(true).open(self.directory.path().join("log"));
            command.stderr(log.expect("a file for the log"));
            command
        };
        command.env("NOTIFY_SOCKET", &path).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");

        let stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let [publishable, confidential, console_secret] =
            if first { first_words(stdout) } else { Default::default() };
        let mut message = [0; 256];
        let ready = notifications.recv(&mut message);
        let log = || std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        assert!(ready.is_ok_and(|length| message[..length].starts_with(b"READY=1")), "not ready: {}", log());

        let run = RunFile::read(&self.store()).expect("it is the daemon's user's own");
        let run = run.expect("a ready daemon has a run file");
        let daemon = Daemon {
            plan: self,
            child: Some(child),
            api: run.api,
            integrations: run.integrations,
            admin: run.admin,
            publishable,
            confidential,
            console_secret,
            admin_key: run.admin_key,
            session: OnceCell::new(),
            http: Client::builder(TokioExecutor::new()).build({
                let mut connector = HttpConnector::new();
                connector.set_nodelay(true);
                connector
            }),
        };
        (daemon, notifications)
    }

    /// What the daemon has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

/// The tokens that a first start prints, and the console's secret if it makes one.
fn first_words(mut stdout: BufReader<impl std::io::Read>) -> [String; 3] {
    let mut found = [const { String::new() }; 3];
    let mut line = String::new();
    while stdout.read_line(&mut line).is_ok_and(|length| length > 0) {
        note(&line, &mut found);
        if line.trim_start().starts_with("console ") {
            break;
        }
        line.clear();
    }
    // All is said at once, so what goes on behind the console's address has come with it.
    String::from_utf8_lossy(stdout.buffer()).lines().for_each(|line| note(line, &mut found));
    assert!(!found[1].is_empty(), "a first start prints its tokens");
    found
}

fn note(line: &str, found: &mut [String; 3]) {
    let names = ["publishable", "confidential", "secret"];
    if let [name, value] = line.split_whitespace().collect::<Vec<_>>()[..]
        && let Some(nth) = names.iter().position(|known| *known == name)
    {
        found[nth] = value.to_owned();
    }
}

/// Sends a signal by name.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status();
    assert!(sent.expect("a shell runs").success());
}

/// A sample lead by the name of its file.
pub fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/leads").join(format!("{name}.json"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
