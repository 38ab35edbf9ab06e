//! Client of the admin routes for commands: calls the running daemon over HTTP, or runs the same handlers in
//! this process over the store of a stopped daemon. A command does not see which. A daemon may take as long
//! as it needs while it still answers its liveness check.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::timeout;

use super::answer::{self, AdminAnswer};
use super::command_error::CommandError;
use super::operator::operator;
use super::{no_answer, page};
use offerd_admin::audit::OPERATOR;
use offerd_admin::{StoppedAdmin, TargetExists};
use offerd_base::config::Settings;
use offerd_base::declaration::Fault;
use offerd_base::regular_file::{self, PEM_BYTES_MAX};
use offerd_base::run_file::RunFile;
use offerd_partners::Book;
use offerd_store::{FileDamage, Store};
use offerd_web::AnswerBody;
use offerd_wire::pinned;

/// Longest silence of a daemon before its liveness is checked.
const PATIENCE: Duration = Duration::from_secs(10);

const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// A client of the admin routes, or of another listener, with one bearer token.
pub struct AdminClient {
    server: Server,
    /// Scheme, host and port, which precede each path.
    base: String,
    token: String,
    /// The operating system's name of the user that runs the command, for the audit log.
    operator: String,
    /// The store of a stopped daemon, opened by this process.
    store: Option<Store>,
}

enum Server {
    /// A daemon. Boxed, since hyper-util's client is several hundred bytes with HTTP/2.
    Daemon(Box<Http<HttpsConnector<HttpConnector>, Full<Bytes>>>),
    /// This process.
    InProcess(StoppedAdmin),
}

/// The body of an answer, chunk by chunk.
pub struct AnswerChunks<'c> {
    client: &'c AdminClient,
    body: AnswerBody,
}

impl AnswerChunks<'_> {
    /// The next chunk; `None` at the end. Fails when the daemon hangs or closes the connection.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match self.client.patiently(self.body.frame()).await? {
            None => Ok(None),
            Some(Err(error)) => Err(self.client.broke(&*error)),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        }
    }
}

impl AdminClient {
    /// Finds the running daemon, or else opens the store without partners.
    pub async fn find(settings: &Settings) -> Result<Self, CommandError> {
        Self::find_with(settings, || Ok(Book::of(Vec::new()))).await
    }

    /// Finds the running daemon, or else opens the store with the partner files.
    pub async fn find_with_partners(settings: &Settings) -> Result<Self, CommandError> {
        Self::find_with(settings, || Book::load(&settings.partners.path)).await
    }

    /// Like [`find`](Self::find), for changes to opt-outs and access: names the store of a stopped daemon,
    /// since the operator may have meant another one.
    pub async fn find_to_change(settings: &Settings) -> Result<Self, CommandError> {
        let admin = Self::find(settings).await?;
        if admin.is_stopped() {
            tell!("no daemon runs; this changes the store at {}", settings.store.location());
        }
        Ok(admin)
    }

    /// Finds the running daemon, or else opens the store with what `load` returns. `load` runs only for a
    /// stopped daemon, so a fault in the files does not keep a command from reaching a running one.
    pub async fn find_with(
        settings: &Settings,
        load: impl FnOnce() -> Result<Book, Vec<Fault>>,
    ) -> Result<Self, CommandError> {
        if let Some(daemon) = Self::of_daemon(settings).await? {
            return Ok(daemon);
        }
        // First: in a wrong directory, the missing store is the clearer message.
        super::expect_store(settings)?;
        let book = load()?;
        match super::open_or_make_store(settings) {
            Ok(store) => Ok(Self::of_store(store, book, settings)),
            // A daemon may have started meanwhile.
            Err(why) => Ok(Self::of_daemon(settings).await?.ok_or(why)?),
        }
    }

    /// A client over a store that this process has opened.
    pub fn of_store(store: Store, book: Book, settings: &Settings) -> Self {
        let admin = StoppedAdmin::new(store.clone(), book, settings);
        let token = admin.key.clone();
        let server = Server::InProcess(admin);
        Self { server, base: String::new(), token, operator: operator(), store: Some(store) }
    }

    /// Finds the daemon that runs on the configured store. Fails when the daemon hangs.
    pub async fn of_daemon(settings: &Settings) -> Result<Option<Self>, String> {
        let Some(running) = RunFile::read(&settings.store.path)? else { return Ok(None) };
        let client = Self::of_listener(running.admin, running.admin_key, settings)?;
        // A run file without a daemon is left over from a killed one.
        let answer = client.patiently(client.fetch(Method::GET, "/tokens", Vec::new())).await?;
        Ok(answer.is_ok_and(|head| is_of_daemon(head.status())).then_some(client))
    }

    /// A client of one of the daemon's listeners. It sends `token` with each call and trusts the certificates
    /// that the settings name. Fails when TLS cannot be set up.
    pub fn of_listener(base: String, token: String, settings: &Settings) -> Result<Self, String> {
        let listeners = [&settings.api.tls, &settings.integrations.tls, &settings.admin.tls];
        // An unreadable certificate is not trusted; `offerd check` shows why.
        let chains: Vec<Vec<u8>> = listeners
            .iter()
            .filter_map(|tls| regular_file::bytes_of(&tls.as_ref()?.certificate, PEM_BYTES_MAX).ok())
            .collect();
        let http = Box::new(Http::builder(TokioExecutor::new()).build(pinned::connector(&chains)?));
        Ok(Self { server: Server::Daemon(http), base, token, operator: operator(), store: None })
    }

    /// Whether the store has lost records.
    pub async fn knows_of_damage(&self) -> bool {
        let Some(store) = &self.store else {
            let ready = self.call(Method::GET, "/readyz").await;
            let says_so =
                |text: &str| text.contains("degraded") || text.contains("acknowledged data cannot be read");
            return ready.is_ok_and(|ready| says_so(&ready.text()));
        };
        store.damages().iter().any(FileDamage::costs_records) || store.broken_records() > 0
    }

    /// Warns that a list may lack damaged records.
    pub async fn warn_of_damage(&self) {
        if self.knows_of_damage().await {
            tell!(
                "the store is damaged; unreadable records are missing from this list, and `offerd store check` names them"
            );
        }
    }

    /// Whether no daemon runs and this process has the store open.
    pub fn is_stopped(&self) -> bool {
        self.store.is_some()
    }

    /// The daemon's URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends a request without a body. The error is the refusal, or says that the daemon cannot be reached,
    /// hangs or closed the connection; likewise for the other calls.
    pub async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, String> {
        self.call(method, path).await?.read()
    }

    /// Like `ask`; `None` for 404.
    pub async fn lookup<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<Option<T>, String> {
        let answer = self.call(method, path).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(None) } else { answer.read().map(Some) }
    }

    /// Sends a command about an object; false if it does not exist.
    pub async fn send_and_find(&self, method: Method, path: &str) -> Result<bool, String> {
        Ok(self.ask::<TargetExists>(method, path).await?.found)
    }

    /// Posts an order as JSON.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, order: &impl Serialize) -> Result<T, String> {
        self.post_json(path, json(order)?).await?.read()
    }

    /// Posts a JSON body and returns the answer, whatever its status.
    pub async fn post_json(&self, path: &str, body: Vec<u8>) -> Result<AdminAnswer, String> {
        self.whole(self.send(Method::POST, path, body).await?).await
    }

    /// Posts an order and reads the answer line by line until `ended` returns a result for one. `cut_short`
    /// is the error when the answer ends or breaks off before that.
    pub async fn follow<L: DeserializeOwned, T>(
        &self,
        path: &str,
        order: &impl Serialize,
        cut_short: &str,
        mut ended: impl FnMut(L) -> Option<Result<T, String>>,
    ) -> Result<T, String> {
        let mut pieces = self.accepted(self.send(Method::POST, path, json(order)?).await?).await?;
        let mut arrived = Vec::new();
        let broke = |why: String| format!("{why}; {cut_short}");
        while let Some(piece) = pieces.next().await.map_err(broke)? {
            arrived.extend(piece);
            while let Some(end) = arrived.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = arrived.drain(..=end).collect();
                if let Some(ended) = ended(answer::read(&line)?) {
                    return ended;
                }
            }
        }
        Err(cut_short.to_owned())
    }

    /// Requests an answer that streams in chunks.
    pub async fn pieces(&self, path: &str) -> Result<AnswerChunks<'_>, String> {
        self.accepted(self.send(Method::GET, path, Vec::new()).await?).await
    }

    /// Sends a request and returns the answer, whatever its status.
    pub async fn call(&self, method: Method, path: &str) -> Result<AdminAnswer, String> {
        self.whole(self.send(method, path, Vec::new()).await?).await
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response<AnswerBody>, String> {
        self.patiently(self.fetch(method, path, body)).await?
    }

    async fn fetch(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response<AnswerBody>, String> {
        let request = Request::builder()
            .method(method)
            .uri(self.url(path))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .header(OPERATOR, &self.operator)
            .body(Bytes::from(body));
        let request = request.map_err(|error| no_answer::broke(&self.base, &error.to_string()))?;
        match &self.server {
            Server::InProcess(admin) => Ok(admin.call(request).await),
            Server::Daemon(http) => match http.request(request.map(Full::new)).await {
                Ok(response) => Ok(response.map(|body| body.map_err(Into::into).boxed_unsync())),
                Err(error) => Err(no_answer::of(&self.base, &error)),
            },
        }
    }

    /// Waits for the daemon as long as it passes its liveness check: some answers take longer than a timeout
    /// that would catch a hung daemon.
    async fn patiently<T>(&self, awaited: impl Future<Output = T>) -> Result<T, String> {
        let mut awaited = pin!(awaited);
        loop {
            if let Ok(arrived) = timeout(PATIENCE, &mut awaited).await {
                return Ok(arrived);
            }
            let sign = timeout(SIGN_OF_LIFE, self.fetch(Method::GET, "/livez", Vec::new())).await;
            if !matches!(sign, Ok(Ok(_))) {
                return Err(no_answer::silent(&self.base));
            }
        }
    }

    async fn accepted(&self, response: Response<AnswerBody>) -> Result<AnswerChunks<'_>, String> {
        if response.status().is_success() {
            return Ok(AnswerChunks { client: self, body: response.into_body() });
        }
        Err(self.whole(response).await?.read::<IgnoredAny>().err().unwrap_or_default())
    }

    async fn whole(&self, response: Response<AnswerBody>) -> Result<AdminAnswer, String> {
        let status = response.status();
        let body = self.patiently(response.into_body().collect()).await?;
        let body = body.map_err(|error| self.broke(&*error))?.to_bytes();
        Ok(AdminAnswer { status, body, of_daemon: !self.is_stopped() })
    }

    /// Why an answer broke off. In this process it is an error of the handlers.
    fn broke(&self, error: &(dyn std::error::Error + 'static)) -> String {
        let innermost = || no_answer::innermost(error);
        if self.is_stopped() { innermost() } else { no_answer::broke(&self.base, &error.to_string()) }
    }

    /// Closes the store of a stopped daemon. Dropping the client closes it too, and marks the command as
    /// failed if that fails.
    pub fn close(mut self) -> Result<(), String> {
        self.store.take().map_or(Ok(()), |store| store.close().map_err(|error| error.to_string()))
    }
}

impl Drop for AdminClient {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.store.take().map(|store| store.close()) {
            page::fail(error);
        }
    }
}

/// Whether an answer to the key of the run file is the daemon's. Without its store it answers 503, and each
/// command gets the cause.
fn is_of_daemon(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::SERVICE_UNAVAILABLE
}

fn json(order: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(order).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// What is found by a run file whose listener gives this answer.
    async fn found(status: &'static str) -> Option<AdminClient> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let admin = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            BufReader::new(&stream).read_line(&mut String::new()).unwrap();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
        });
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings::from_layers(None, []).unwrap();
        settings.store.path = directory.path().to_owned();
        let _held = RunFile { admin, ..RunFile::default() }.write(&settings.store.path).unwrap();
        AdminClient::of_daemon(&settings).await.unwrap()
    }

    #[tokio::test]
    async fn a_daemon_whose_store_does_not_answer_is_a_daemon() {
        assert!(found("200 OK").await.is_some());
        assert!(found("503 Service Unavailable").await.is_some());
        assert!(found("401 Unauthorized").await.is_none(), "another program at its address");
    }
}
