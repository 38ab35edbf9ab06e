//! A client of a daemon that may be gone, hang or refuse.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use offerd::run_file::RunFile;
use serde_json::Value;

use super::subject::BASE_URL;
use crate::kit::Answer;

/// Calls one daemon.
#[derive(Debug, Clone)]
pub struct Caller {
    http: Client<HttpConnector, Full<Bytes>>,
    api: String,
    admin: String,
}

impl Caller {
    /// Of the daemon that wrote this.
    pub fn new(run: RunFile) -> Self {
        Self { api: run.api, admin: run.admin, ..Self::nobody() }
    }

    /// Of none yet.
    pub fn nobody() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Self { http, api: String::new(), admin: String::new() }
    }

    /// Posts a lead.
    pub async fn submit(&self, token: &str, lead: String, bound: Duration) -> Option<Answer> {
        self.call(Method::POST, &format!("{}/leads/rateTables", self.api), token, lead, bound).await.ok()
    }

    /// Asks for a path; why there was no answer is told.
    pub async fn get(&self, token: &str, path: &str, bound: Duration) -> Result<Answer, String> {
        self.call(Method::GET, &format!("{}{path}", self.api), token, String::new(), bound).await
    }

    /// What `/readyz` answers; nothing when it does not answer within the bound.
    pub async fn ready(&self, bound: Duration) -> Option<u16> {
        let url = format!("{}/readyz", self.admin);
        Some(self.call(Method::GET, &url, "", String::new(), bound).await.ok()?.status)
    }

    /// All of a feed, page by page.
    pub async fn feed(&self, token: &str, path: &str, bound: Duration) -> Result<Vec<Value>, String> {
        let mut path = format!("{path}?timestamp=2020-01-01T00:00:00Z");
        let mut data = Vec::new();
        loop {
            let answer = self.get(token, &path, bound).await?;
            if answer.status != 200 {
                return Err(format!("a feed's page: {}", answer.status));
            }
            let mut page = answer.json();
            data.append(page["data"].as_array_mut().ok_or("a feed's page has no data")?);
            if page["shouldContinuePolling"] != true {
                return Ok(data);
            }
            let next = page["nextUrl"].as_str().ok_or("a feed's page has no next one")?;
            path = next.strip_prefix(BASE_URL).unwrap_or(next).to_owned();
        }
    }

    async fn call(
        &self,
        method: Method,
        url: &str,
        token: &str,
        body: String,
        bound: Duration,
    ) -> Result<Answer, String> {
        let no_answer = |cause: &dyn std::fmt::Debug| format!("{url} has no answer: {cause:?}");
        let mut request =
            Request::builder().method(method).uri(url).header("content-type", "application/json");
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let exchange = async {
            let (head, body) =
                self.http.request(request).await.map_err(|cause| no_answer(&cause))?.into_parts();
            let body = body.collect().await.map_err(|cause| no_answer(&cause))?.to_bytes();
            Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
        };
        tokio::time::timeout(bound, exchange).await.unwrap_or_else(|late| Err(no_answer(&late)))
    }
}
