//! The few HTTP calls that commands make. A daemon may take its time, as long as it still answers at all.

use std::fs;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
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
use crate::admin::audit::OPERATOR;
use crate::config::Settings;
use crate::model::ApiError;
use crate::run_file::RunFile;
use crate::wire::pinned;

/// Longest silence of a daemon before it is asked whether it still answers at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest time that it may take to answer that.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// A client with one bearer token.
pub struct Client {
    /// Boxed, since hyper-util's is several hundred bytes with HTTP/2.
    http: Box<Http<HttpsConnector<HttpConnector>, Full<Bytes>>>,
    token: String,
    /// Who runs the command, as the system names them; for the audit log.
    operator: String,
}

/// An answer: status and body.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    body: Bytes,
}

impl Client {
    /// A client that shows `token` with each call, and trusts the certificates that the settings name.
    ///
    /// # Errors
    /// A sentence when TLS cannot be set up.
    pub fn new(token: String, settings: &Settings) -> Result<Self, String> {
        let listeners = [&settings.api.tls, &settings.integrations.tls, &settings.admin.tls];
        // What cannot be read is not trusted; `offerd check` tells why.
        let chains: Vec<Vec<u8>> =
            listeners.iter().filter_map(|tls| fs::read(&tls.as_ref()?.certificate).ok()).collect();
        let http = Box::new(Http::builder(TokioExecutor::new()).build(pinned::connector(&chains)?));
        Ok(Self { http, token, operator: operator() })
    }

    /// A client of the daemon that runs on the configured store, if one does, and the address of its admin listener.
    ///
    /// # Errors
    /// That there is one, and it hangs.
    pub async fn of_daemon(settings: &Settings) -> Result<Option<(Self, String)>, String> {
        let Some(running) = RunFile::read(&settings.store.path)? else { return Ok(None) };
        let client = Self::new(running.admin_key, settings)?;
        let request = client.request(Method::GET, &format!("{}/tokens", running.admin), None)?;
        match timeout(PATIENCE, client.http.request(request)).await {
            Err(_) => Err(NoAnswer::silent(&running.admin).to_string()),
            // A file without a daemon is left over from one that was killed.
            Ok(answer) => {
                Ok(answer.is_ok_and(|head| head.status().is_success()).then_some((client, running.admin)))
            }
        }
    }

    /// Sends one request; a body is JSON.
    ///
    /// # Errors
    /// [`NoAnswer`] when the daemon could not be reached, hangs or hung up.
    pub async fn call(&self, method: Method, url: &str, body: Option<Vec<u8>>) -> Result<Answer, NoAnswer> {
        let response = self.send(method, url, body).await?;
        self.whole(url, response).await
    }

    /// Posts JSON, and reads the answer line by line.
    ///
    /// # Errors
    /// What the daemon refused, or that it could not be reached.
    pub async fn lines(&self, url: &str, body: Vec<u8>) -> Result<Lines<'_>, String> {
        let response = self.send(Method::POST, url, Some(body)).await.map_err(|error| error.to_string())?;
        Ok(Lines { pieces: self.accepted(url, response).await?, arrived: Vec::new() })
    }

    /// Reads an answer piece by piece.
    ///
    /// # Errors
    /// What the daemon refused, or that it could not be reached.
    pub async fn pieces(&self, url: &str) -> Result<Pieces<'_>, String> {
        let response = self.send(Method::GET, url, None).await.map_err(|error| error.to_string())?;
        self.accepted(url, response).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let request = self.request(method, url, body).map_err(|cause| NoAnswer::broke(url, cause))?;
        let sent = self.patiently(url, self.http.request(request)).await?;
        sent.map_err(|error| NoAnswer::of(url, &error))
    }

    fn request(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Request<Full<Bytes>>, String> {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .header(OPERATOR, &self.operator)
            .body(Full::new(Bytes::from(body.unwrap_or_default())));
        request.map_err(|error| format!("no request can be made for {url}: {error}"))
    }

    /// Waits for something of a daemon for as long as that lives: some answers take longer than anybody would wait for one
    /// that hangs.
    async fn patiently<T>(&self, url: &str, awaited: impl Future<Output = T>) -> Result<T, NoAnswer> {
        let mut awaited = pin!(awaited);
        loop {
            if let Ok(arrived) = timeout(PATIENCE, &mut awaited).await {
                return Ok(arrived);
            }
            if !self.is_alive(url).await {
                return Err(NoAnswer::silent(url));
            }
        }
    }

    /// Whether the daemon answers on a new connection, whatever it says.
    async fn is_alive(&self, url: &str) -> bool {
        let Ok(request) = self.request(Method::GET, &format!("{}/livez", origin(url)), None) else {
            return false;
        };
        matches!(timeout(SIGN_OF_LIFE, self.http.request(request)).await, Ok(Ok(_)))
    }

    /// The body of an answer that refuses nothing.
    async fn accepted(&self, url: &str, response: Response<Incoming>) -> Result<Pieces<'_>, String> {
        if response.status().is_success() {
            return Ok(Pieces { client: self, url: url.to_owned(), body: response.into_body() });
        }
        let refused = self.whole(url, response).await.map_err(|error| error.to_string())?;
        Err(refused.read::<serde::de::IgnoredAny>().err().unwrap_or_default())
    }

    async fn whole(&self, url: &str, response: Response<Incoming>) -> Result<Answer, NoAnswer> {
        let status = response.status();
        let body = self.patiently(url, response.into_body().collect()).await?;
        let body = body.map_err(|error| NoAnswer::broke(url, error.to_string()))?;
        Ok(Answer { status, body: body.to_bytes() })
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
    url: String,
    body: Incoming,
}

impl Pieces<'_> {
    /// The next piece; `None` when there are no more.
    ///
    /// # Errors
    /// That the daemon hangs or hung up.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        let frame = self.client.patiently(&self.url, self.body.frame()).await;
        match frame.map_err(|error| error.to_string())? {
            None => Ok(None),
            Some(Err(error)) => Err(NoAnswer::broke(&self.url, error.to_string()).to_string()),
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
    /// That the daemon hangs, hung up, or said something else.
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
        Err(if told.is_empty() {
            format!(
                "the daemon answered with {} and did not say why; if it is of another version than this command, start \
                 it again",
                self.status.as_u16()
            )
        } else {
            format!("the daemon refused: {}", told.join("; "))
        })
    }
}

/// What an error says. The attribute is told where the message goes on from it, not where it says everything itself.
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
            let answer = Answer { status: StatusCode::BAD_REQUEST, body: body.as_bytes().into() };
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
