//! `GET`, `POST /tokens`, `DELETE /tokens/{id}`: what `offerd token` calls.

use serde::{Deserialize, Serialize};

use super::App;
use super::audit::audit;
use super::command::{ORDER_BYTES, order};
use super::key_ring::{KeyRing, New};
use super::unwritten::unwritten;
use crate::web::{Context, Failure, Reply};

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
    let new: New = order(&mut context, ORDER_BYTES).await?;
    if let Some(fault) = KeyRing::fault(&new) {
        return Err(Failure::bad_attribute("company", fault));
    }
    let created = context.app.key_ring.create(new).await;
    let created = created.map_err(|failure| unwritten("the token", &failure))?;
    audit!(context, "token.create", id = %created.id, holder = created.holder.name(), "token created");
    Reply::json(&created)
}

pub(super) async fn revoke(context: Context<App>) -> Result<Reply, Failure> {
    let id = context.params.uuid("id")?;
    let revoked = context.app.key_ring.revoke(id).await;
    let found = revoked.map_err(|failure| unwritten("the end of the token", &failure))?;
    if found {
        audit!(context, "token.revoke", %id, "token revoked");
    }
    Reply::json(&Revoked { found })
}
