//! `GET`, `POST /tokens`, `DELETE /tokens/{id}`: what `offerd token` calls on a running daemon.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::App;
use super::audit::audit;
use super::key_ring::{KeyRing, New};
use super::unwritten::unwritten;
use crate::web::{Context, Failure, Reply};

/// Longest body of a command.
const MAX_BODY_BYTES: usize = 4096;

/// Longest time that its arrival may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether there was a token to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Revoked {
    /// Whether there was one.
    pub found: bool,
}

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    Reply::json(&context.app.key_ring.list())
}

pub(super) async fn create(mut context: Context<App>) -> Result<Reply, Failure> {
    let body = context.request.read_body(MAX_BODY_BYTES, BODY_TIMEOUT).await?;
    let new: New = serde_json::from_slice(&body)
        .map_err(|error| Failure::bad_request(format!("body does not fit: {error}")))?;
    if let Some(fault) = KeyRing::fault(&new) {
        return Err(Failure::bad_attribute("company", fault));
    }
    let created =
        context.app.key_ring.create(new).await.map_err(|failure| unwritten("the token", &failure))?;
    audit!(context, "token.create", id = %created.id, holder = created.holder.name(), "token created");
    Reply::json(&created)
}

pub(super) async fn revoke(context: Context<App>) -> Result<Reply, Failure> {
    let id = context.params.uuid("id")?;
    let found = context
        .app
        .key_ring
        .revoke(id)
        .await
        .map_err(|failure| unwritten("the end of the token", &failure))?;
    if found {
        audit!(context, "token.revoke", %id, "token revoked");
    }
    Reply::json(&Revoked { found })
}
