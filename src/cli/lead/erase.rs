//! `offerd lead erase UUID`

use super::found;
use crate::cli::prelude::*;
use crate::persons::erasure::Erasure;

/// `lead erase`
#[derive(Debug, Args)]
pub struct Erase {
    /// The lead
    #[arg(value_parser = values::uuid)]
    uuid: Uuid,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Erases a person, and prints what remains.
pub async fn run(settings: &Settings, arguments: &Erase) -> Result<(), Trouble> {
    let admin = AdminClient::find(settings).await?;
    let erased = found(&admin, Method::DELETE, arguments.uuid);
    let erasure: Erasure = progress::during("erasing", erased).await?;
    Ok(page::show(&erasure, arguments.json, || page::print(told(&erasure)))?)
}

fn told(Erasure { lead_uuid, destroyed, remaining, damaged, .. }: &Erasure) -> String {
    let damaged = match damaged {
        true => "; its record was damaged, so that only what was still found of it is counted",
        false => "",
    };
    let told = format!(
        include_str!("erased.txt"),
        lead = lead_uuid,
        damaged = damaged,
        leads = destroyed.leads,
        answers = destroyed.answers,
        transcripts = destroyed.transcripts,
        lead_actions = destroyed.lead_actions,
        partner_reports = destroyed.partner_reports,
        client_tags = destroyed.client_tags,
        offer_displays = destroyed.offer_displays,
        hashes = destroyed.hashes,
        rate_tables = remaining.rate_tables,
        lead_events = remaining.lead_events,
        lead_payouts = remaining.lead_payouts
    );
    told.trim_end().to_owned()
}
