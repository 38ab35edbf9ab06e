//! `GET`, `POST /console/rateTables/{uuid}/transcript`: messages of partners, revealed by the form.

use super::path_of;
use crate::console::prelude::*;
use crate::transcripts::{found, reveal_lead};
use offerd_insight::hindsight::transcript::TableTranscript;

const PAGE: ConsolePage = ConsolePage::new(Section::RateTables, "transcript.html");

fn view(request: &ConsoleRequest, transcript: &TableTranscript) -> Result<View> {
    let fields = fields! { table => path_of(transcript.rate_table), transcript };
    Ok(request.view(PAGE, fields)?.titled("Transcript"))
}

pub(in crate::console) async fn show(request: &ConsoleRequest) -> Result<View> {
    view(request, &found(&request.app, request.params.uuid("uuid")?, None, false).await?)
}

pub(in crate::console) async fn reveal(request: &ConsoleRequest) -> Result<View> {
    let uuid = request.params.uuid("uuid")?;
    let unnamed = || Failure::bad_request("`partner` must name a partner");
    let partner = Some(request.field("partner").ok_or_else(unnamed)?.to_owned());
    let reason = request.field("reason").unwrap_or_default();
    view(request, &reveal_lead(&request.app, &request.actor(), uuid, partner, reason).await?)
}
