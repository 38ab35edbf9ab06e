//! `GET`, `POST /console/rateTables/{uuid}/transcript`: messages of partners, revealed by the form.

use super::path_of;
use crate::console::prelude::*;
use crate::transcripts::{found, reveal_lead};
use offerd_insight::hindsight::transcript::TableTranscript;

const PAGE: ConsolePage = ConsolePage::new(Section::RateTables, "transcript.html");

fn view(visit: &ConsoleRequest, transcript: &TableTranscript) -> Result<View> {
    let fields = fields! { table => path_of(transcript.rate_table), transcript };
    Ok(visit.view(PAGE, fields)?.titled("Transcript"))
}

pub(in crate::console) async fn show(visit: &ConsoleRequest) -> Result<View> {
    view(visit, &found(&visit.app, visit.params.uuid("uuid")?, None, false).await?)
}

pub(in crate::console) async fn reveal(visit: &ConsoleRequest) -> Result<View> {
    let uuid = visit.params.uuid("uuid")?;
    let unnamed = || Failure::bad_request("`partner` must name a partner");
    let partner = Some(visit.field("partner").ok_or_else(unnamed)?.to_owned());
    let reason = visit.field("reason").unwrap_or_default();
    view(visit, &reveal_lead(&visit.app, &visit.actor(), uuid, partner, reason).await?)
}
