//! `GET`, `POST /console/rateTables/{uuid}/transcript`: what partners were sent and answered, and the form that shows it whole.

use std::sync::Arc;

use serde::Serialize;

use super::{Section, path_of};
use crate::admin::audit::Note;
use crate::admin::console::view::{Page, View};
use crate::admin::console::visit::{Visit, audit};
use crate::admin::transcripts::{found, object, partners_of, reason_to_reveal};
use crate::hindsight::transcript::TableTranscript;
use crate::web::Failure;

#[derive(Debug, Serialize)]
struct TranscriptPage {
    table: String,
    transcript: TableTranscript,
}

impl Page for TranscriptPage {
    const SECTION: Section = Section::RateTables;
    const TEMPLATE: &'static str = "transcript.html";

    fn title(&self) -> String {
        "Transcript".to_owned()
    }
}

/// The transcripts of a table, with what tells of a person masked.
pub(in crate::admin::console) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let uuid = visit.params.uuid("uuid")?;
    let transcript = found(&visit.app, uuid, None, false).await?;
    visit.view(&TranscriptPage { table: path_of(transcript.rate_table), transcript })
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
    visit.view(&TranscriptPage { table: path_of(rate_table), transcript })
}
