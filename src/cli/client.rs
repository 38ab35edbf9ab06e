//! The few calls that commands make: over HTTP of a daemon, which may take its time as long as it still answers at all, or of the
//! handlers in this process, over the store of a stopped one.

use std::error::Error;
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
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::no_answer::NoAnswer;
use super::operator::operator;
use crate::admin::StoppedAdmin;
use crate::admin::audit::OPERATOR;
use crate::config::Settings;
use crate::model::ApiError;
use crate::regular_file::{self, PEM_BYTES_MAX};
use crate::web::AnswerBody;
use crate::wire::pinned;

/// Longest silence of a daemon before it is asked whether it still answers at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest time that it may take to answer that.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// A client of one server, with one bearer token.
pub struct Client {
    server: Server,
    /// What stands before each path: scheme, host and port.
    base: String,
    token: String,
    /// Who runs the command, as the system names them; for the audit log.
    operator: String,
}

/// What answers.
enum Server {
    /// A daemon. Boxed, since hyper-util's is several hundred bytes with HTTP/2.
    Daemon(Box<Http<HttpsConnector<HttpConnector>, Full<Bytes>>>),
    /// This very process.
    InProcess(StoppedAdmin),
}

/// An answer: status and body.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    body: Bytes,
    /// Whether a daemon gave it.
    of_daemon: bool,
}

impl Client {
    /// A client of a daemon, which shows it `token` with each call, and trusts the certificates that the settings name.
    ///
    /// # Errors
    /// A sentence when TLS cannot be set up.
    pub fn of_daemon(base: String, token: String, settings: &Settings) -> Result<Self, String> {
        let listeners = [&settings.api.tls, &settings.integrations.tls, &settings.admin.tls];
        // What cannot be read is not trusted; `offerd check` shows why.
        let chains: Vec<Vec<u8>> = listeners
            .iter()
            .filter_map(|tls| regular_file::bytes_of(&tls.as_ref()?.certificate, PEM_BYTES_MAX).ok())
            .collect();
        let http = Box::new(Http::builder(TokioExecutor::new()).build(pinned::connector(&chains)?));
        Ok(Self { server: Server::Daemon(http), base, token, operator: operator() })
    }

    /// A client of the handlers in this process.
    pub fn in_process(admin: StoppedAdmin) -> Self {
        let token = admin.key().to_owned();
        Self { server: Server::InProcess(admin), base: String::new(), token, operator: operator() }
    }

    /// Where a path is reached.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether it is our daemon that answers there, and takes the token.
    ///
    /// # Errors
    /// That somebody accepts connections there, and hangs.
    pub async fn is_served(&self, path: &str) -> Result<bool, NoAnswer> {
        match timeout(PATIENCE, self.answered(Method::GET, path, None)).await {
            Err(_) => Err(NoAnswer::silent(&self.base)),
            Ok(answer) => Ok(answer.is_ok_and(|head| head.status().is_success())),
        }
    }

    /// Sends one request; a body is JSON.
    ///
    /// # Errors
    /// [`NoAnswer`] when the daemon could not be reached, hangs or hung up.
    pub async fn call(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Result<Answer, NoAnswer> {
        let response = self.send(method, path, body).await?;
        self.whole(response).await
    }

    /// Posts JSON, and reads the answer line by line.
    ///
    /// # Errors
    /// What was refused, or that the daemon could not be reached.
    pub async fn lines(&self, path: &str, body: Vec<u8>) -> Result<Lines<'_>, String> {
        let response = self.send(Method::POST, path, Some(body)).await.map_err(|error| error.to_string())?;
        Ok(Lines { pieces: self.accepted(response).await?, arrived: Vec::new() })
    }

    /// Reads an answer piece by piece.
    ///
    /// # Errors
    /// What was refused, or that the daemon could not be reached.
    pub async fn pieces(&self, path: &str) -> Result<Pieces<'_>, String> {
        let response = self.send(Method::GET, path, None).await.map_err(|error| error.to_string())?;
        self.accepted(response).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<AnswerBody>, NoAnswer> {
        self.patiently(self.answered(method, path, body)).await?
    }

    async fn answered(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<AnswerBody>, NoAnswer> {
        let request = Request::builder()
            .method(method)
            .uri(self.url(path))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .header(OPERATOR, &self.operator)
            .body(Bytes::from(body.unwrap_or_default()));
        let request = request.map_err(|error| NoAnswer::broke(&self.base, error.to_string()))?;
        match &self.server {
            Server::InProcess(admin) => Ok(admin.call(request).await),
            Server::Daemon(http) => match http.request(request.map(Full::new)).await {
                Ok(response) => Ok(response.map(|body| body.map_err(Into::into).boxed_unsync())),
                Err(error) => Err(NoAnswer::of(&self.base, &error)),
            },
        }
    }

    /// Waits for something of a daemon for as long as that lives: some answers take longer than anybody would wait for one
    /// that hangs.
    async fn patiently<T>(&self, awaited: impl Future<Output = T>) -> Result<T, NoAnswer> {
        let mut awaited = pin!(awaited);
        loop {
            if let Ok(arrived) = timeout(PATIENCE, &mut awaited).await {
                return Ok(arrived);
            }
            if !self.is_alive().await {
                return Err(NoAnswer::silent(&self.base));
            }
        }
    }

    /// Whether the daemon answers on a new connection, whatever it says.
    async fn is_alive(&self) -> bool {
        matches!(timeout(SIGN_OF_LIFE, self.answered(Method::GET, "/livez", None)).await, Ok(Ok(_)))
    }

    /// The body of an answer that refuses nothing.
    async fn accepted(&self, response: Response<AnswerBody>) -> Result<Pieces<'_>, String> {
        if response.status().is_success() {
            return Ok(Pieces { client: self, body: response.into_body() });
        }
        let refused = self.whole(response).await.map_err(|error| error.to_string())?;
        Err(refused.read::<serde::de::IgnoredAny>().err().unwrap_or_default())
    }

    async fn whole(&self, response: Response<AnswerBody>) -> Result<Answer, NoAnswer> {
        let status = response.status();
        let body = self.patiently(response.into_body().collect()).await?;
        let body = body.map_err(|error| self.broke(&*error))?.to_bytes();
        Ok(Answer { status, body, of_daemon: matches!(self.server, Server::Daemon(_)) })
    }

    /// Why an answer ended before its end.
    fn broke(&self, error: &(dyn Error + 'static)) -> NoAnswer {
        match self.server {
            Server::Daemon(_) => NoAnswer::broke(&self.base, error.to_string()),
            Server::InProcess(_) => NoAnswer::failed(error),
        }
    }
}

/// Scheme, host and port of a URL.
pub fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    url[host..].find('/').map_or(url, |path| &url[..host + path])
}

/// The pieces of an answer, as they arrive.
pub struct Pieces<'c> {
    client: &'c Client,
    body: AnswerBody,
}

impl Pieces<'_> {
    /// The next piece; `None` when there are no more.
    ///
    /// # Errors
    /// That the daemon hangs or hung up.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        let frame = self.client.patiently(self.body.frame()).await;
        match frame.map_err(|error| error.to_string())? {
            None => Ok(None),
            Some(Err(error)) => Err(self.client.broke(&*error).to_string()),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        }
    }
}

/// The lines of an answer, as they arrive.
pub struct Lines<'c> {
    pieces: Pieces<'c>,
    arrived: Vec<u8>,
}

impl Lines<'_> {
    /// The next line, which is JSON; `None` when there are no more.
    ///
    /// # Errors
    /// That the daemon hangs, hung up, or sent something else.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        loop {
            if let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=end).collect();
                return serde_json::from_slice(&line).map(Some).map_err(unreadable);
            }
            match self.pieces.next().await? {
                None => return Ok(None),
                Some(piece) => self.arrived.extend(piece),
            }
        }
    }
}

impl Answer {
    /// The body, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end().to_owned()
    }

    /// The body, whatever the status.
    ///
    /// # Errors
    /// That it is something else.
    pub fn read_any<T: DeserializeOwned>(self) -> Result<T, String> {
        serde_json::from_slice(&self.body).or_else(|_| self.read())
    }

    /// The body, when the call succeeded; else what the errors say, in one sentence.
    ///
    /// # Errors
    /// The sentence.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        if self.status.is_success() {
            return serde_json::from_slice(&self.body).map_err(unreadable);
        }
        let errors: Vec<ApiError> = serde_json::from_slice(&self.body).unwrap_or_default();
        let told: Vec<String> = errors.iter().filter_map(sentence).collect();
        Err(match (self.of_daemon, told.as_slice()) {
            (true, []) => format!(
                "the daemon answered with {} and did not say why; if it is of another version than this command, start \
                 it again",
                self.status.as_u16()
            ),
            (true, told) => format!("the daemon refused: {}", told.join("; ")),
            (false, _) if self.status == StatusCode::INTERNAL_SERVER_ERROR => {
                "it could not be done; what is wrong is told above".to_owned()
            }
            (false, told) => told.join("; "),
        })
    }
}

/// What an error says. The attribute is named where the message goes on from it, not where it says everything itself.
fn sentence(error: &ApiError) -> Option<String> {
    let message = error.message.as_deref()?;
    let goes_on = ["must ", "is ", "has ", "does ", "cannot "].iter().any(|word| message.starts_with(word));
    Some(match &error.attribute {
        Some(path) if goes_on => format!("`{path}` {message}"),
        _ => message.to_owned(),
    })
}

fn unreadable(error: serde_json::Error) -> String {
    format!("the daemon's answer cannot be read ({error}); it may be of another version than this command")
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use serde::de::IgnoredAny;

    use super::{Answer, origin};

    #[test]
    fn a_refusal_is_one_sentence_without_words_of_http() {
        let told = |body: &'static str| {
            let status = StatusCode::BAD_REQUEST;
            let answer = Answer { status, body: body.as_bytes().into(), of_daemon: true };
            answer.read::<IgnoredAny>().unwrap_err()
        };
        assert_eq!(
            told(r#"[{"type":"malformed","attribute":"partner","message":"there is no partner `a`"}]"#),
            "the daemon refused: there is no partner `a`"
        );
        assert_eq!(
            told(r#"[{"attribute":"a","message":"must be b"},{"attribute":"c","message":"is missing"}]"#),
            "the daemon refused: `a` must be b; `c` is missing"
        );
        assert!(told("<html>").contains("answered with 400") && told("<html>").contains("version"));
    }

    #[test]
    fn an_origin_ends_before_the_path() {
        assert_eq!(origin("https://offers.example:8080/leads?a=b"), "https://offers.example:8080");
        assert_eq!(origin("http://offers.example"), "http://offers.example");
    }
}
