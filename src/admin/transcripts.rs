//! `GET`, `POST /rateTables/{uuid}/transcript` for `offerd transcript`.

use super::prelude::*;
use super::reasons::reason_about;
use offerd_insight::hindsight::transcript::{TableTranscript, of_table};

/// What to reveal, and why.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Only this partner's transcript, by its key.
    pub partner: Option<String>,
    /// Reason, for the audit log.
    pub reason: String,
}

operations! {
    redacted(context) => found(&context.app, context.params.uuid("uuid")?, None, false).await?;
    reveal(context, request: Reveal) => {
        let (actor, uuid) = (by(&context), context.params.uuid("uuid")?);
        reveal_lead(&context.app, &actor, uuid, request.partner, &request.reason).await?
    };
}

/// The unredacted transcripts of a table, or of one partner, with an audit record of the reason.
pub(super) async fn reveal_lead(
    app: &Arc<AdminState>,
    actor: &AuditActor,
    uuid: Uuid,
    partner: Option<String>,
    reason: &str,
) -> Result<TableTranscript> {
    let transcript = found(app, uuid, partner, true).await?;
    let TableTranscript { rate_table, lead, .. } = transcript;
    let reason = reason_about(app, lead, reason).await?;
    let partners = partners_of(&transcript);
    let object = format!("{partners} in rate table {rate_table} of lead {lead}");
    let note = note!("transcript.reveal", %rate_table, %lead, partners, reason, "transcript revealed");
    app.note(actor, note.about(object).because(reason)).await?;
    Ok(transcript)
}

fn partners_of(transcript: &TableTranscript) -> String {
    let mut partners: Vec<&str> = transcript.asks.iter().map(|ask| &ask.partner[..]).collect();
    partners.dedup();
    partners.join(", ")
}

pub(super) async fn found(
    app: &Arc<AdminState>,
    uuid: Uuid,
    partner: Option<String>,
    whole: bool,
) -> Result<TableTranscript> {
    let look = move |app: &AdminState| {
        let configuration = app.engine.configuration();
        let kept = configuration.rules.transcripts.kept;
        of_table(&app.engine.records, &configuration.book, uuid, (partner.as_deref(), whole), kept)
    };
    let found = app.reading("transcripts could not be read", look).await?.map_err(store_unread)?;
    found.ok_or_else(|| Failure::unknown_uuid("Rate table", uuid))
}
