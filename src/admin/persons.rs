//! `POST /persons/find`, `/persons/export`, `/persons/erase`: what `offerd person` calls. Whom it is about stands in the body, as a digest,
//! so that no log of addresses has it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use super::App;
use super::audit::{Actor, Note, audit};
use super::command::{ORDER_BYTES, blocking, order, unavailable};
use super::suppressions::{digest, leave_alone, load, not_left_alone};
use crate::matching::Engine;
use crate::model::{SuppressionDigest, SuppressionKind};
use crate::persons::request::{self, NotDone, Who};
use crate::records::contacts::KINDS;
use crate::store::left_alone;
use crate::web::{Context, Failure, Reply};

/// Whom a request is about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonOrder {
    /// `email` or `phone`.
    pub kind: SuppressionKind,
    /// The SHA-256 of its normal form, 64 hexadecimal digits.
    pub digest: String,
}

/// Whether somebody is, or was until now, on the list of who asked to be left alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suppressed {
    /// Whether they are, or were.
    pub was_suppressed: bool,
}

pub(super) async fn find(mut context: Context<App>) -> Result<Reply, Failure> {
    let who = who(&mut context).await?;
    let found = carried_out(Arc::clone(&context.app.engine), move |engine, runtime| {
        runtime.block_on(request::find(engine, who))
    })
    .await?;
    let note = Note::of("person.find").about(format!("{} leads", found.len()));
    context.app.note(&Actor::of_command(&context), note).await?;
    audit!(context, "person.find", leads = found.len(), "leads of a person looked up");
    Reply::json(&found)
}

pub(super) async fn export(mut context: Context<App>) -> Result<Reply, Failure> {
    let who = who(&mut context).await?;
    let copy = carried_out(Arc::clone(&context.app.engine), move |engine, runtime| {
        runtime.block_on(request::copy(engine, who))
    })
    .await?;
    let note = Note::of("person.export").about(format!("{} leads", copy.leads.len()));
    context.app.note(&Actor::of_command(&context), note).await?;
    audit!(context, "person.export", leads = copy.leads.len(), "personal data of all leads of a person");
    Reply::json(&copy)
}

pub(super) async fn erase(mut context: Context<App>) -> Result<Reply, Failure> {
    let who = who(&mut context).await?;
    let actor = Actor::of_command(&context);
    context.app.note(&actor, Note::of("person.erase")).await?;
    let receipt = carried_out(Arc::clone(&context.app.engine), move |engine, runtime| {
        runtime.block_on(request::erase_all(engine, who))
    })
    .await?;
    let leads = receipt.leads.iter().map(|lead| lead.lead_uuid.to_string()).collect::<Vec<_>>().join(" ");
    let note = Note::of("person.erased").about(format!("receipt {}: {leads}", receipt.receipt_uuid));
    context.app.note_if_can(&actor, note).await;
    audit!(context, "person.erase", receipt = %receipt.receipt_uuid, leads, "personal data of all leads of a person");
    Reply::json(&receipt)
}

pub(super) async fn suppress(mut context: Context<App>) -> Result<Reply, Failure> {
    let (kind, digest) = named(&mut context).await?;
    let engine = Arc::clone(&context.app.engine);
    leave_alone(&engine, kind, &[digest]).await?;
    load(engine).await?;
    context.app.note_if_can(&Actor::of_command(&context), Note::of("person.suppress")).await;
    audit!(context, "person.suppress", kind = kind.word(), "a person is asked about nowhere any more");
    Reply::json(&Suppressed { was_suppressed: true })
}

pub(super) async fn unsuppress(mut context: Context<App>) -> Result<Reply, Failure> {
    let (kind, digest) = named(&mut context).await?;
    let engine = Arc::clone(&context.app.engine);
    let (store, key_file) = (&engine.records.store, engine.suppressions.key_file());
    let done = left_alone::ask_again(store, key_file, kind, &digest).await;
    let was_suppressed = done.map_err(not_left_alone)?;
    load(Arc::clone(&engine)).await?;
    context.app.note_if_can(&Actor::of_command(&context), Note::of("person.unsuppress")).await;
    audit!(context, "person.unsuppress", kind = kind.word(), "a person may be asked about again");
    Reply::json(&Suppressed { was_suppressed })
}

/// Whom it is about, by whatever names people.
async fn named(context: &mut Context<App>) -> Result<(SuppressionKind, SuppressionDigest), Failure> {
    let PersonOrder { kind, digest: text } = order(context, ORDER_BYTES).await?;
    let digest =
        digest(&text).ok_or_else(|| Failure::bad_attribute("digest", "must be 64 hexadecimal digits"))?;
    Ok((kind, digest))
}

async fn who(context: &mut Context<App>) -> Result<Who, Failure> {
    let (kind, digest) = named(context).await?;
    if !KINDS.contains(&kind) {
        return Err(Failure::bad_attribute("kind", "must be `email` or `phone`, by which leads are found"));
    }
    Ok(Who { kind, digest })
}

/// Carries a request out on a thread that may block: feeds may be long.
async fn carried_out<T: Send + 'static>(
    engine: Arc<Engine>,
    work: impl FnOnce(&Engine, Handle) -> Result<T, NotDone> + Send + 'static,
) -> Result<T, Failure> {
    let runtime = Handle::current();
    let done = blocking("what is held on a person could not be read", move || work(&engine, runtime)).await?;
    done.map_err(|failure| {
        unavailable(match failure {
            NotDone::Indexing => {
                "leads are still coming into the index of persons, so that some could be missed; ask again in a minute".to_owned()
            }
            NotDone::Unavailable => "the store cannot be read or written; the log tells why".to_owned(),
        })
    })
}
