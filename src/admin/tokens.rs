//! `GET`, `POST /tokens`, `DELETE /tokens/{id}`: what `offerd token` calls on a running daemon.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::{error, info};
use uuid::Uuid;

use super::App;
use crate::model::TokenKind;
use crate::store::entities::{CompanyRecord, TokenRecord};
use crate::store::tokens::{NewToken, Tokens};
use crate::web::{Context, Failure, Reply};

/// Longest body of a command.
const MAX_BODY_BYTES: usize = 4096;

/// Longest time that its arrival may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// A token that was just made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Created {
    /// The token, told only now.
    pub token: String,
    /// Names it from now on.
    pub id: Uuid,
    /// Name of its company.
    pub company: String,
}

/// A token as it is listed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Names it.
    pub id: Uuid,
    /// Name of its company.
    pub company: String,
    /// What it may do.
    pub kind: TokenKind,
    /// Whether its leads are tests.
    pub test: bool,
    /// Unix milliseconds.
    pub created_at: i64,
}

/// Whether there was a token to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Revoked {
    /// Whether there was one.
    pub found: bool,
}

impl From<(TokenRecord, CompanyRecord)> for Listed {
    fn from((token, company): (TokenRecord, CompanyRecord)) -> Self {
        let TokenRecord { id, kind, test, created_at, .. } = token;
        Self { id, company: company.name, kind, test, created_at }
    }
}

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let tokens: Vec<Listed> = context.app.tokens.list().into_iter().map(Listed::from).collect();
    Reply::json(&tokens)
}

pub(super) async fn create(mut context: Context<App>) -> Result<Reply, Failure> {
    let body = context.request.read_body(MAX_BODY_BYTES, BODY_TIMEOUT).await?;
    let new: NewToken = serde_json::from_slice(&body)
        .map_err(|error| Failure::bad_request(format!("body does not fit: {error}")))?;
    if let Some(fault) = Tokens::fault(&new) {
        return Err(Failure::bad_attribute("company", fault));
    }
    let company = new.company.clone();
    let (token, record) = context.app.tokens.create(new).await.map_err(|failure| {
        error!(%failure, "a token could not be stored");
        Failure::internal()
    })?;
    info!(id = %record.id, company, "token created");
    Reply::json(&Created { token, id: record.id, company })
}

pub(super) async fn revoke(context: Context<App>) -> Result<Reply, Failure> {
    let id = context.params.uuid("id")?;
    let found = context.app.tokens.revoke(id).await.map_err(|failure| {
        error!(%failure, "a token could not be revoked");
        Failure::internal()
    })?;
    if found {
        info!(%id, "token revoked");
    }
    Reply::json(&Revoked { found })
}
