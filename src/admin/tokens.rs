//! `GET`, `POST /tokens`, `DELETE /tokens/{id}`: what `offerd token` calls.

use serde::{Deserialize, Serialize};

use super::App;
use super::audit::{Actor, Note, audit};
use super::command::{ORDER_BYTES, order, unread};
use super::key_ring::{KeyRing, New};
use super::unwritten::unwritten;
use crate::store::CommitError;
use crate::web::{Context, Failure, Reply};

/// Whether there was a token to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Revoked {
    /// Whether there was one.
    pub found: bool,
}

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    Reply::json(&context.app.key_ring.list().map_err(unread)?)
}

pub(super) async fn create(mut context: Context<App>) -> Result<Reply, Failure> {
    let new: New = order(&mut context, ORDER_BYTES).await?;
    if let Some(fault) = KeyRing::fault(&new) {
        return Err(Failure::bad_attribute("company", fault));
    }
    let actor = Actor::of_command(&context);
    let created = loop {
        let (created, commit) = context.app.key_ring.made(new.clone());
        let note = Note::of("token.create").about(format!("{} of {}", created.id, created.holder.name()));
        match context.app.commit(&actor, note, commit).await {
            Ok(()) => break created,
            // Its company was changed meanwhile.
            Err(CommitError::Guard { .. }) => {}
            Err(failure) => return Err(unwritten("the token", &failure)),
        }
    };
    audit!(context, "token.create", id = %created.id, holder = created.holder.name(), "token created");
    Reply::json(&created)
}

pub(super) async fn revoke(context: Context<App>) -> Result<Reply, Failure> {
    let id = context.params.uuid("id")?;
    let Some(commit) = context.app.key_ring.ended(id).map_err(unread)? else {
        return Reply::json(&Revoked { found: false });
    };
    let note = Note::of("token.revoke").about(id);
    let revoked = context.app.commit(&Actor::of_command(&context), note, commit).await;
    revoked.map_err(|failure| unwritten("the end of the token", &failure))?;
    audit!(context, "token.revoke", %id, "token revoked");
    Reply::json(&Revoked { found: true })
}
