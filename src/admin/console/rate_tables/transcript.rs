//! `GET`, `POST /console/rateTables/{uuid}/transcript`: what partners were sent and answered, and the form that shows it whole.

use std::sync::Arc;

use super::{Section, path_of};
use crate::admin::audit::Note;
use crate::admin::console::view::{Page, View, fields};
use crate::admin::console::visit::{Visit, audit};
use crate::admin::transcripts::{found, object, partners_of, reason_to_reveal};
use crate::hindsight::transcript::TableTranscript;
use crate::web::Failure;

const PAGE: Page = Page::new(Section::RateTables, "transcript.html");

fn view(visit: &Visit, transcript: &TableTranscript) -> Result<View, Failure> {
    let fields = fields! { table => path_of(transcript.rate_table), transcript };
    Ok(visit.view(PAGE, fields)?.titled("Transcript"))
}

/// The transcripts of a table, with what tells of a person masked.
pub(in crate::admin::console) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let uuid = visit.params.uuid("uuid")?;
    let transcript = found(&visit.app, uuid, None, false).await?;
    view(&visit, &transcript)
}

/// Those of one partner, whole. That they are seen, and why, stands in the audit log.
pub(in crate::admin::console) async fn reveal(visit: Arc<Visit>) -> Result<View, Failure> {
    let uuid = visit.params.uuid("uuid")?;
    let partner =
        visit.field("partner").ok_or_else(|| Failure::bad_request("`partner` must name a partner"))?;
    let transcript = found(&visit.app, uuid, Some(partner.to_owned()), true).await?;
    let reason = visit.field("reason").unwrap_or_default();
    let reason = reason_to_reveal(&visit.app, transcript.lead, reason).await?;
    let (rate_table, lead, partners) = (transcript.rate_table, transcript.lead, partners_of(&transcript));
    let note = Note::of("transcript.reveal").about(object(&transcript)).because(reason);
    visit.app.note(&visit.actor(), note).await?;
    audit!(visit, "transcript.reveal", %rate_table, %lead, partners, reason, "transcript revealed");
    view(&visit, &transcript)
}
