//! `offerd lead export UUID`

use std::path::PathBuf;

use clap::Args;
use hyper::Method;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::unknown;
use crate::cli::admin_client::AdminClient;
use crate::cli::trouble::Trouble;
use crate::cli::{files, progress, values};
use crate::config::Settings;

/// `lead export`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd lead export 01a1fcce-e71a-773e-b126-2445db4ef9dc --out dossier.json")]
pub struct Export {
    /// The lead
    #[arg(value_parser = values::uuid)]
    uuid: Uuid,
    /// File to make, readable by its owner only; standard output when not given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Prints everything that is held on a person, or writes it into a file.
pub async fn run(settings: &Settings, arguments: &Export) -> Result<(), Trouble> {
    let admin = AdminClient::find(settings).await?;
    let waiting = progress::waiting("gathering all that is held");
    let lead = arguments.uuid;
    let held: Option<Box<RawValue>> = admin.find_one(Method::GET, &format!("/leads/{lead}")).await?;
    let dossier = held.ok_or_else(|| unknown(lead))?;
    drop(waiting);
    files::give(arguments.out.as_deref(), &dossier, &format!("all that is held on lead {lead}"))?;
    Ok(admin.close()?)
}
