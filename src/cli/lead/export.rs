//! `offerd lead export UUID`

use serde_json::value::RawValue;

use super::found;
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
    let lead = arguments.uuid;
    let looked_up = found(&admin, Method::GET, lead);
    let dossier: Box<RawValue> = progress::during("gathering all that is held", looked_up).await?;
    Ok(files::give(arguments.out.as_deref(), &dossier, &format!("all that is held on lead {lead}"))?)
}
