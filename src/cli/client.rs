//! The few HTTP calls that commands make.

use std::fs;

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

use super::operator::operator;
use crate::admin::audit::OPERATOR;
use crate::config::Settings;
use crate::model::ApiError;
use crate::run_file::RunFile;
use crate::wire::pinned;

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

/// A call that got no answer.
pub struct NoAnswer {
    url: String,
    cause: String,
    /// Whether nobody listens there.
    pub refused: bool,
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
    pub async fn of_daemon(settings: &Settings) -> Option<(Self, String)> {
        let running = RunFile::read(&settings.store.path)?;
        let client = Self::new(running.admin_key, settings).ok()?;
        // A file without a daemon is left over from one that was killed.
        let answer = client.call(Method::GET, &format!("{}/tokens", running.admin), None).await;
        answer.is_ok_and(|answer| answer.status.is_success()).then_some((client, running.admin))
    }

    /// Sends one request; a body is JSON.
    ///
    /// # Errors
    /// [`NoAnswer`] when the daemon could not be reached or hung up.
    pub async fn call(&self, method: Method, url: &str, body: Option<Vec<u8>>) -> Result<Answer, NoAnswer> {
        Answer::whole(url, self.send(method, url, body).await?).await
    }

    /// Posts JSON, and reads the answer line by line.
    ///
    /// # Errors
    /// What the daemon refused, or that it could not be reached.
    pub async fn lines(&self, url: &str, body: Vec<u8>) -> Result<Lines, String> {
        let response = self.send(Method::POST, url, Some(body)).await.map_err(|error| error.to_string())?;
        Ok(Lines { body: accepted(url, response).await?, arrived: Vec::new() })
    }

    /// Reads an answer piece by piece.
    ///
    /// # Errors
    /// What the daemon refused, or that it could not be reached.
    pub async fn pieces(&self, url: &str) -> Result<Pieces, String> {
        let response = self.send(Method::GET, url, None).await.map_err(|error| error.to_string())?;
        Ok(Pieces { body: accepted(url, response).await? })
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let no_answer = |cause: String, refused| NoAnswer { url: url.to_owned(), cause, refused };
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .header(OPERATOR, &self.operator)
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|error| no_answer(error.to_string(), false))?;
        let sent = self.http.request(request).await;
        sent.map_err(|error| no_answer(error.to_string(), error.is_connect()))
    }
}

/// The body of an answer that refuses nothing.
async fn accepted(url: &str, response: Response<Incoming>) -> Result<Incoming, String> {
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let refused = Answer::whole(url, response).await.map_err(|error| error.to_string())?;
    Err(refused.read::<serde::de::IgnoredAny>().err().unwrap_or_default())
}

/// The pieces of an answer, as they arrive.
pub struct Pieces {
    body: Incoming,
}

impl Pieces {
    /// The next piece; `None` when there are no more.
    ///
    /// # Errors
    /// That the daemon hung up.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match self.body.frame().await {
            None => Ok(None),
            Some(Err(error)) => Err(format!("the daemon hung up, its log tells why: {error}")),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        }
    }
}

/// The lines of an answer, as they arrive.
pub struct Lines {
    body: Incoming,
    arrived: Vec<u8>,
}

impl Lines {
    /// The next line, which is JSON; `None` when there are no more.
    ///
    /// # Errors
    /// That the daemon hung up, or said something else.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        loop {
            if let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=end).collect();
                let line = serde_json::from_slice(&line);
                return line
                    .map(Some)
                    .map_err(|error| format!("the daemon's answer cannot be read: {error}"));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(format!("the daemon hung up: {error}")),
                Some(Ok(frame)) => self.arrived.extend(frame.into_data().unwrap_or_default()),
            }
        }
    }
}

impl Answer {
    async fn whole(url: &str, response: Response<Incoming>) -> Result<Self, NoAnswer> {
        let status = response.status();
        let body = response.into_body().collect().await;
        let no_answer =
            |error: hyper::Error| NoAnswer { url: url.to_owned(), cause: error.to_string(), refused: false };
        Ok(Self { status, body: body.map_err(no_answer)?.to_bytes() })
    }

    /// The body, whatever the status.
    ///
    /// # Errors
    /// That it is something else.
    pub fn read_any<T: DeserializeOwned>(self) -> Result<T, String> {
        serde_json::from_slice(&self.body).or_else(|_| self.read())
    }

    /// The body, when the call succeeded; else what the errors say, in one text.
    ///
    /// # Errors
    /// The text.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        if !self.status.is_success() {
            let errors: Vec<ApiError> = serde_json::from_slice(&self.body).unwrap_or_default();
            let lines = errors.iter().map(|error| {
                let attribute = error.attribute.as_ref().map(|path| format!("`{path}` ")).unwrap_or_default();
                format!("\n  {attribute}{}", error.message.as_deref().unwrap_or("no message"))
            });
            return Err(format!("the daemon answered {}:{}", self.status, lines.collect::<String>()));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| format!("the daemon's answer cannot be read: {error}"))
    }
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.refused {
            write!(formatter, "no daemon answers at {}; start it with `offerd serve`", self.url)
        } else {
            write!(formatter, "{} did not answer: {}; the daemon's log tells more", self.url, self.cause)
        }
    }
}
