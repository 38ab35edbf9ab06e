//! `offerd lead erase UUID`

use super::unknown;
use crate::cli::prelude::*;
use crate::persons::erasure::{Destroyed, Erasure, Remaining};

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
    let waiting = progress::waiting("erasing");
    let lead = arguments.uuid;
    let erased: Option<Erasure> = admin.find_one(Method::DELETE, &format!("/leads/{lead}")).await?;
    let erasure = erased.ok_or_else(|| unknown(lead))?;
    drop(waiting);
    Ok(page::show(&erasure, arguments.json, || page::print(told(&erasure)))?)
}

fn told(erasure: &Erasure) -> String {
    let Erasure { lead_uuid, destroyed, remaining, damaged, .. } = erasure;
    let Destroyed { leads, answers, transcripts, lead_actions, partner_reports, client_tags, .. } = destroyed;
    let Destroyed { offer_displays, hashes, .. } = destroyed;
    let Remaining { rate_tables, lead_events, lead_payouts } = remaining;
    let damaged = match damaged {
        true => "; its record was damaged, so that only what was still found of it is counted",
        false => "",
    };
    format!(
        "\
lead {lead_uuid} is erased: its key is destroyed, and what was sealed with it can never be read again{damaged}

destroyed
  {leads:>6}  lead as it was sent
  {answers:>6}  answers of partners
  {transcripts:>6}  transcripts of calls to partners
  {lead_actions:>6}  actions
  {partner_reports:>6}  reports of partners
  {client_tags:>6}  client tags
  {offer_displays:>6}  displays of offers
  {hashes:>6}  hashes by which it was found, for duplicates and repeated submits

remaining, without anything that names the person
  {rate_tables:>6}  rate tables: who was asked when, and the amount of the loan
  {lead_events:>6}  events in the feed: what happened to a lead of this uuid, and when
  {lead_payouts:>6}  payouts in the feed

Backups of the store that were made before, with the keys of that time, still hold it until they are destroyed."
    )
}
