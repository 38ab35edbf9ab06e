//! Whoever keeps the store now, as commands speak to them: the running daemon, over HTTP, or its admin handlers in this process, over the
//! store that the command opens. A command does not see which of them answers. A daemon may take its time as long as it still answers
//! at all.

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

use super::answer::{self, Answer};
use super::operator::operator;
use super::trouble::Trouble;
use super::{no_answer, page};
use offerd_admin::audit::OPERATOR;
use offerd_admin::{Found, StoppedAdmin};
use offerd_base::config::Settings;
use offerd_base::declaration::Fault;
use offerd_base::regular_file::{self, PEM_BYTES_MAX};
use offerd_base::run_file::RunFile;
use offerd_partners::Book;
use offerd_store::{Damage, Store};
use offerd_web::AnswerBody;
use offerd_wire::pinned;

/// Longest silence of a daemon before it is asked whether it still answers at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest time that it may take to answer that.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// A client of the admin routes, or of another listener, with one bearer token.
pub struct AdminClient {
    server: Server,
    /// What stands before each path: scheme, host and port.
    base: String,
    token: String,
    /// Who runs the command, as the system names them; for the audit log.
    operator: String,
    /// That of a stopped daemon.
    store: Option<Store>,
}

/// What answers.
enum Server {
    /// A daemon. Boxed, since hyper-util's is several hundred bytes with HTTP/2.
    Daemon(Box<Http<HttpsConnector<HttpConnector>, Full<Bytes>>>),
    /// This very process.
    InProcess(StoppedAdmin),
}

/// The pieces of an answer, as they arrive.
pub struct Pieces<'c> {
    client: &'c AdminClient,
    /// The rest of it.
    body: AnswerBody,
}

impl Pieces<'_> {
    /// The next piece; `None` when there are no more.
    ///
    /// # Errors
    /// That the daemon hangs or hung up.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match self.client.patiently(self.body.frame()).await? {
            None => Ok(None),
            Some(Err(error)) => Err(self.client.broke(&*error)),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        }
    }
}

impl AdminClient {
    /// The running daemon, or else the store, without its partners.
    pub async fn find(settings: &Settings) -> Result<Self, Trouble> {
        Self::find_with(settings, || Ok(Book::of(Vec::new()))).await
    }

    /// The running daemon, or else the store with the partner files, as [`find_with`](Self::find_with).
    pub async fn find_with_partners(settings: &Settings) -> Result<Self, Trouble> {
        Self::find_with(settings, || Book::load(&settings.partners.path)).await
    }

    /// The running daemon, or else the store. Where there is none it is made, and that is reported: another may be meant.
    pub async fn find_or_make(settings: &Settings) -> Result<Self, Trouble> {
        if let Some(daemon) = Self::of_daemon(settings).await? {
            return Ok(daemon);
        }
        let made = !super::is_there(&settings.store)?;
        let store = super::open_or_make_store(settings)?;
        if made {
            tell!("there was no store at {}; it has been made", settings.store.place());
        }
        Ok(Self::of_store(store, Book::of(Vec::new()), settings))
    }

    /// The running daemon, or else the store with what is loaded. Files are read only for the latter: a running daemon is not to be
    /// kept from its work by a fault in them.
    pub async fn find_with(
        settings: &Settings,
        load: impl FnOnce() -> Result<Book, Vec<Fault>>,
    ) -> Result<Self, Trouble> {
        if let Some(daemon) = Self::of_daemon(settings).await? {
            return Ok(daemon);
        }
        let book = load()?;
        Ok(Self::of_store(super::open_store(settings)?, book, settings))
    }

    /// Over a store that this process has opened.
    pub fn of_store(store: Store, book: Book, settings: &Settings) -> Self {
        let admin = StoppedAdmin::new(store.clone(), book, settings);
        let token = admin.key().to_owned();
        let server = Server::InProcess(admin);
        Self { server, base: String::new(), token, operator: operator(), store: Some(store) }
    }

    /// The daemon that runs on the configured store, if one does.
    ///
    /// # Errors
    /// That there is one, and it hangs.
    pub async fn of_daemon(settings: &Settings) -> Result<Option<Self>, String> {
        let Some(running) = RunFile::read(&settings.store.path)? else { return Ok(None) };
        let client = Self::of_listener(running.admin, running.admin_key, settings)?;
        // A file without a daemon is left over from one that was killed.
        match timeout(PATIENCE, client.answered(Method::GET, "/tokens", Vec::new())).await {
            Err(_) => Err(no_answer::silent(&client.base)),
            Ok(answer) => Ok(answer.is_ok_and(|head| head.status().is_success()).then_some(client)),
        }
    }

    /// A client of a daemon's listener. It sends `token` with each call and trusts the certificates that the settings name.
    ///
    /// # Errors
    /// A sentence when TLS cannot be set up.
    pub fn of_listener(base: String, token: String, settings: &Settings) -> Result<Self, String> {
        let listeners = [&settings.api.tls, &settings.integrations.tls, &settings.admin.tls];
        // What cannot be read is not trusted; `offerd check` shows why.
        let chains: Vec<Vec<u8>> = listeners
            .iter()
            .filter_map(|tls| regular_file::bytes_of(&tls.as_ref()?.certificate, PEM_BYTES_MAX).ok())
            .collect();
        let http = Box::new(Http::builder(TokioExecutor::new()).build(pinned::connector(&chains)?));
        Ok(Self { server: Server::Daemon(http), base, token, operator: operator(), store: None })
    }

    /// Whether the store is known to have lost records.
    pub async fn knows_of_damage(&self) -> bool {
        match &self.store {
            Some(store) => store.damages().iter().any(Damage::costs_records) || store.broken_records() > 0,
            None => {
                let ready = self.call(Method::GET, "/readyz").await;
                ready.is_ok_and(|ready| ready.text().contains("degraded"))
            }
        }
    }

    /// Warns of a list that may lack what is damaged.
    pub async fn warn_of_damage(&self) {
        if self.knows_of_damage().await {
            tell!(
                "the store is damaged, and what cannot be read is not listed: `offerd store check` names it"
            );
        }
    }

    /// Whether no daemon runs, and the store is ours.
    pub fn is_stopped(&self) -> bool {
        self.store.is_some()
    }

    /// Where a path of the daemon is reached.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Asks for something, or has something done that needs no order.
    ///
    /// # Errors
    /// What was refused, or that the daemon could not be reached, hangs or hung up; so have all calls.
    pub async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, String> {
        self.call(method, path).await?.read()
    }

    /// The same, of something that may not be there.
    pub async fn find_one<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
    ) -> Result<Option<T>, String> {
        let answer = self.call(method, path).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(None) } else { answer.read().map(Some) }
    }

    /// Has something ended that a path names; false where there is no such thing.
    pub async fn end(&self, method: Method, path: &str) -> Result<bool, String> {
        Ok(self.ask::<Found>(method, path).await?.found)
    }

    /// Has something done as ordered.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, order: &impl Serialize) -> Result<T, String> {
        self.post_json(path, json(order)?).await?.read()
    }

    /// Posts a JSON body, whatever the answer is.
    pub async fn post_json(&self, path: &str, body: Vec<u8>) -> Result<Answer, String> {
        self.whole(self.send(Method::POST, path, body).await?).await
    }

    /// Posts an order and reads the answer line by line, until `ended` has a result for a line. `cut_short` is the error when the answer
    /// ends before that.
    pub async fn follow<L: DeserializeOwned, T>(
        &self,
        path: &str,
        order: &impl Serialize,
        cut_short: &str,
        mut ended: impl FnMut(L) -> Option<Result<T, String>>,
    ) -> Result<T, String> {
        let mut pieces = self.accepted(self.send(Method::POST, path, json(order)?).await?).await?;
        let mut arrived = Vec::new();
        while let Some(piece) = pieces.next().await? {
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

    /// Asks for something that arrives piece by piece.
    pub async fn pieces(&self, path: &str) -> Result<Pieces<'_>, String> {
        self.accepted(self.send(Method::GET, path, Vec::new()).await?).await
    }

    /// Asks, whatever the answer is.
    pub async fn call(&self, method: Method, path: &str) -> Result<Answer, String> {
        self.whole(self.send(method, path, Vec::new()).await?).await
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response<AnswerBody>, String> {
        self.patiently(self.answered(method, path, body)).await?
    }

    async fn answered(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Response<AnswerBody>, String> {
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

    /// Waits for something of a daemon for as long as that lives, whatever it says: some answers take longer than anybody would wait for
    /// one that hangs.
    async fn patiently<T>(&self, awaited: impl Future<Output = T>) -> Result<T, String> {
        let mut awaited = pin!(awaited);
        loop {
            if let Ok(arrived) = timeout(PATIENCE, &mut awaited).await {
                return Ok(arrived);
            }
            let sign = timeout(SIGN_OF_LIFE, self.answered(Method::GET, "/livez", Vec::new())).await;
            if !matches!(sign, Ok(Ok(_))) {
                return Err(no_answer::silent(&self.base));
            }
        }
    }

    /// The body of an answer that refuses nothing.
    async fn accepted(&self, response: Response<AnswerBody>) -> Result<Pieces<'_>, String> {
        if response.status().is_success() {
            return Ok(Pieces { client: self, body: response.into_body() });
        }
        Err(self.whole(response).await?.read::<IgnoredAny>().err().unwrap_or_default())
    }

    async fn whole(&self, response: Response<AnswerBody>) -> Result<Answer, String> {
        let status = response.status();
        let body = self.patiently(response.into_body().collect()).await?;
        let body = body.map_err(|error| self.broke(&*error))?.to_bytes();
        Ok(Answer { status, body, of_daemon: !self.is_stopped() })
    }

    /// Why an answer ended before its end: where it is ours, its handlers could not go on.
    fn broke(&self, error: &(dyn std::error::Error + 'static)) -> String {
        match self.is_stopped() {
            true => no_answer::innermost(error),
            false => no_answer::broke(&self.base, &error.to_string()),
        }
    }

    /// Closes the store of a stopped daemon. A client that is dropped closes it too, and marks the command as failed if that fails.
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

fn json(order: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(order).map_err(|error| error.to_string())
}
