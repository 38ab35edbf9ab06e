//! `offerd lead erase UUID`

use clap::Args;
use hyper::Method;
use uuid::Uuid;

use super::unknown;
use crate::cli::admin_client::AdminClient;
use crate::cli::trouble::Trouble;
use crate::cli::{page, progress, values};
use crate::config::Settings;
use crate::persons::erasure::Erasure;

/// `lead erase`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd lead erase 01a1fcce-e71a-773e-b126-2445db4ef9dc
  offerd lead erase 01a1fcce-e71a-773e-b126-2445db4ef9dc --json")]
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
    page::show(&erasure, arguments.json, || page::print(told(&erasure)))?;
    Ok(admin.close()?)
}

fn told(erasure: &Erasure) -> String {
    let Erasure { lead_uuid, destroyed, remaining, damaged, .. } = erasure;
    let damaged = match damaged {
        true => "; its record was damaged, so that only what was still found of it is counted",
        false => "",
    };
    format!(
        "\
lead {lead_uuid} is erased: its key is destroyed, and what was sealed with it can never be read again{damaged}

destroyed
  {:>6}  lead as it was sent
  {:>6}  answers of partners
  {:>6}  transcripts of calls to partners
  {:>6}  actions
  {:>6}  reports of partners
  {:>6}  client tags
  {:>6}  displays of offers
  {:>6}  hashes by which it was found, for duplicates and repeated submits

remaining, without anything that names the person
  {:>6}  rate tables: who was asked when, and the amount of the loan
  {:>6}  events in the feed: what happened to a lead of this uuid, and when
  {:>6}  payouts in the feed

Backups of the store that were made before, with the keys of that time, still hold it until they are destroyed.",
        destroyed.leads,
        destroyed.answers,
        destroyed.transcripts,
        destroyed.lead_actions,
        destroyed.partner_reports,
        destroyed.client_tags,
        destroyed.offer_displays,
        destroyed.hashes,
        remaining.rate_tables,
        remaining.lead_events,
        remaining.lead_payouts,
    )
}
