//! `offerd transcript UUID`: what partners were sent about a lead and what they answered.

use super::prelude::*;
use offerd_admin::transcripts::Reveal;
use offerd_insight::hindsight::transcript::{
    AskTranscript, CallInitiator, ShownCall, ShownMessage, TableTranscript,
};

/// `offerd transcript`.
#[derive(Debug, Args)]
pub struct TranscriptArguments {
    /// The rate table, or one of its offers
    #[arg(value_parser = values::uuid)]
    uuid: Uuid,
    /// Only this partner, by its key
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Show it unredacted, with personal data
    #[arg(long, requires = "reason")]
    reveal: bool,
    /// Reason, for the audit log
    #[arg(long, value_name = "TEXT", requires = "reveal")]
    reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Message when no transcript is stored.
const NOTHING: &str = "nothing is kept of it: no such partner was asked, its file does not say `transcripts = true`, or it was longer ago \
                       than `transcripts.kept`";

/// Runs `offerd transcript`.
pub async fn run(settings: &Settings, arguments: &TranscriptArguments) -> Result<(), CommandError> {
    let admin = AdminClient::find_with_partners(settings).await?;
    let waiting = progress::waiting("reading");
    let TranscriptArguments { uuid, partner, reason, .. } = arguments;
    let path = format!("/rateTables/{uuid}/transcript");
    let found: Option<TableTranscript> = admin.lookup(Method::GET, &path).await?;
    let Some(mut transcript) = found else {
        return Err(format!(
            "no rate table or offer has the uuid {uuid}, or its lead is erased; for a lead, `explain` shows the uuids of its rate tables"
        ).into());
    };
    transcript.asks.retain(|ask| partner.as_ref().is_none_or(|partner| *partner == ask.partner));
    if transcript.asks.is_empty() {
        return Err(NOTHING.into());
    }
    if let Some(reason) = reason {
        let order = Reveal { partner: partner.clone(), reason: reason.clone() };
        transcript = admin.post(&path, &order).await?;
    }
    drop(waiting);
    Ok(page::show(&transcript, arguments.json, || transcript.asks.iter().for_each(print))?)
}

fn print(ask: &AskTranscript) {
    let AskTranscript { partner, product_type, written_at, calls, left_out } = ask;
    page::print(format!("{partner}, {product_type}, written {written_at}"));
    calls.iter().for_each(|call| page::print(summary(call)));
    if *left_out > 0 {
        page::print(format!("  {left_out} more calls are not kept\n"));
    }
}

fn summary(call: &ShownCall) -> String {
    let by = match call.by {
        CallInitiator::Offerd => "",
        CallInitiator::Partner => ", by the partner",
        CallInitiator::PartnerLate => ", by the partner, when the ask had ended",
    };
    let step = call.step.as_ref().map(|step| format!(", {step}")).unwrap_or_default();
    let end = match (call.status, &call.failure) {
        (Some(status), _) => status.to_string(),
        (None, Some(failure)) => failure.clone(),
        (None, None) => "taken".to_owned(),
    };
    let ShownCall { at, method, url, took_ms, .. } = call;
    let (url, end) = (page::foreign(url), page::foreign(&end));
    let mut text = format!("\n  {method} {url}{by}{step}\n  {at}, {end} after {took_ms} ms\n");
    text.push_str(&message('>', &call.sent));
    text.push_str(&call.came.as_ref().map(|came| message('<', came)).unwrap_or_default());
    text
}

fn message(mark: char, message: &ShownMessage) -> String {
    let ShownMessage { headers, body, bytes, cut } = message;
    let headers = headers.iter().map(|(name, it)| format!("{name}: {}", it.as_deref().unwrap_or("•••")));
    let body = page::foreign_lines(body);
    let cut = cut.then(|| format!("… cut: {bytes} bytes in all"));
    let lines = headers.map(|it| page::foreign(&it)).chain(body.lines().map(str::to_owned)).chain(cut);
    lines.map(|line| format!("  {mark} {line}\n")).collect()
}
