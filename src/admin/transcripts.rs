//! `GET`, `POST /rateTables/{uuid}/transcript`: what `offerd transcript` calls.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::App;
use super::audit::{Actor, Note, audit};
use super::command::{ORDER_BYTES, blocking, order, unavailable};
use super::reasons::{names_nobody, reason_given};
use crate::hindsight::transcript::{TableTranscript, of_table};
use crate::records::reading;
use crate::web::{Context, Failure, Reply};

/// What is to be seen whole, and why.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Only this partner's, by its key.
    pub partner: Option<String>,
    /// Why, for the audit log.
    pub reason: String,
}

pub(super) async fn redacted(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    Reply::json(&found(&context.app, uuid, None, false).await?)
}

pub(super) async fn reveal(mut context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let Reveal { partner, reason } = order(&mut context, ORDER_BYTES).await?;
    let transcript = found(&context.app, uuid, partner, true).await?;
    let reason = reason_to_reveal(&context.app, transcript.lead, &reason).await?;
    let partners = partners_of(&transcript);
    let TableTranscript { rate_table, lead, .. } = transcript;
    let note = Note::of("transcript.reveal").about(object(&transcript)).because(reason);
    context.app.note(&Actor::of_command(&context), note).await?;
    audit!(context, "transcript.reveal", %rate_table, %lead, partners, reason, "transcript revealed");
    Reply::json(&transcript)
}

/// A reason for which something of a lead is revealed.
///
/// # Errors
/// What is wrong with it, or that the lead cannot be read, so that nobody knows whether it names somebody.
pub(super) async fn reason_to_reveal<'r>(
    app: &Arc<App>,
    lead: Uuid,
    reason: &'r str,
) -> Result<&'r str, Failure> {
    let reason = reason_given(reason)?;
    let store = app.store.clone();
    let read = blocking("a lead could not be read", move || reading::lead(&store, lead)).await?;
    let record = read.map_err(|_| unavailable("the store cannot be read; the log tells why".to_owned()))?;
    names_nobody(reason, record.as_ref().map(|record| &record.lead))?;
    Ok(reason)
}

/// What the audit names a transcript by.
pub(super) fn object(transcript: &TableTranscript) -> String {
    let TableTranscript { rate_table, lead, .. } = transcript;
    format!("{} in rate table {rate_table} of lead {lead}", partners_of(transcript))
}

/// Whose transcripts they are, each once.
pub(super) fn partners_of(transcript: &TableTranscript) -> String {
    let mut partners: Vec<&str> = transcript.asks.iter().map(|ask| &ask.partner[..]).collect();
    partners.dedup();
    partners.join(", ")
}

/// The transcripts of a table, which are looked for on a thread that may block.
///
/// # Errors
/// That there is no such table, or that it cannot be read.
pub(super) async fn found(
    app: &Arc<App>,
    uuid: Uuid,
    partner: Option<String>,
    whole: bool,
) -> Result<TableTranscript, Failure> {
    let engine = Arc::clone(&app.engine);
    let look = move || {
        let configuration = engine.configuration();
        let kept = configuration.rules.transcripts.kept;
        of_table(&engine.records, &configuration.book, uuid, (partner.as_deref(), whole), kept)
    };
    let found = blocking("transcripts could not be read", look).await?;
    let found = found.map_err(|_| unavailable("the store cannot be read; the log tells why".to_owned()))?;
    found.ok_or_else(|| Failure::unknown_uuid("Rate table", uuid))
}
