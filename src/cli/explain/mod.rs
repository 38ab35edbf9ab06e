//! `offerd explain FILE|UUID`
//!
//! A file is a lead that was never submitted: caps, budgets and pauses come from the running daemon, if any;
//! the rest from the partner files. A UUID names a stored lead, rate table or offer.

mod given;
mod outline;
mod stored;

use super::partners::known;
use super::prelude::*;

/// `offerd explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// A lead as JSON (`-` reads standard input), or the UUID of a stored lead, rate table or offer
    #[arg(value_name = "FILE|UUID")]
    lead: String,
    /// Only this partner, by its key
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Only partners with offers for the lead, and only those offers
    #[arg(long)]
    matched: bool,
    /// Also partners of other products, and those not asked for several reasons; a short list has them
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `offerd explain`.
pub async fn run(config: Option<&Path>, arguments: &ExplainArguments) -> Result<(), CommandError> {
    let lead = &arguments.lead;
    // A file whose name is a UUID is still a file.
    let is_file = lead == "-" || Path::new(lead).exists();
    match lead.parse::<Uuid>() {
        _ if is_file => {}
        Ok(uuid) => return stored::explain(&super::settings(config)?, uuid, arguments).await,
        Err(_) => {
            return Err(format!(
                "`{lead}` is neither a file nor a uuid; give a JSON file as for `offerd lead submit`, or the uuid of a stored lead, rate table or offer"
            ).into());
        }
    }
    let loaded = daemon::load(config)?;
    Ok(given::explain(&loaded.settings, &loaded.book, arguments).await?)
}

impl ExplainArguments {
    fn shows_all(&self) -> bool {
        self.all || self.matched || self.partner.is_some()
    }

    fn check_partner(&self, book: &Book) -> Result<(), String> {
        self.partner.as_ref().map_or(Ok(()), |key| known(book, key))
    }

    fn wants(&self, partner: &str) -> bool {
        self.partner.as_ref().is_none_or(|key| key == partner)
    }
}
