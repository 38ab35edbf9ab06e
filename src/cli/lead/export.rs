//! `offerd lead export UUID`

use serde_json::value::RawValue;

use super::unknown;
use crate::cli::prelude::*;

/// `lead export`
#[derive(Debug, Args)]
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
    files::can_give(arguments.out.as_deref())?;
    let admin = AdminClient::find(settings).await?;
    let waiting = progress::waiting("gathering all that is held");
    let lead = arguments.uuid;
    let held: Option<Box<RawValue>> = admin.find_one(Method::GET, &format!("/leads/{lead}")).await?;
    let dossier = held.ok_or_else(|| unknown(lead))?;
    drop(waiting);
    Ok(files::give(arguments.out.as_deref(), &dossier, &format!("all that is held on lead {lead}"))?)
}
