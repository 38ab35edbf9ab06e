//! `offerd explain FILE|UUID`
//!
//! A file is a lead that was never submitted: caps, budgets and pauses are those of the running daemon, if one runs; the
//! rest is what the partner files say. A uuid names what is stored: a lead, a rate table or an offer.

mod given;
mod outline;
mod stored;

use super::partners::known;
use super::prelude::*;
use crate::daemon;
use offerd_partners::Book;

/// `offerd explain`
#[derive(Debug, Args)]
pub struct Arguments {
    /// A lead as JSON (`-` reads standard input), or the uuid of a stored lead, a rate table or an offer
    #[arg(value_name = "FILE|UUID")]
    lead: String,
    /// Only this partner, by its key
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Only partners with offers for the lead, and of these only those offers
    #[arg(long)]
    matched: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `offerd explain`.
pub async fn run(config: Option<&Path>, arguments: &Arguments) -> Result<(), Trouble> {
    let lead = &arguments.lead;
    // A file whose name is a uuid is still a file.
    let is_file = lead == "-" || Path::new(lead).exists();
    match lead.parse::<Uuid>() {
        _ if is_file => {}
        Ok(uuid) => return stored::explain(&super::settings(config)?, uuid, arguments).await,
        Err(_) => {
            return Err(Trouble::Other(format!(
                "there is no file `{lead}`, and it is no uuid either; give a lead as a JSON file such as \
                 `offerd lead submit` takes, or the uuid of a stored lead, rate table or offer"
            )));
        }
    }
    let loaded = daemon::load(config)?;
    Ok(given::explain(&loaded.settings, &loaded.book, arguments).await?)
}

impl Arguments {
    /// Says how to see less, where every partner is shown.
    fn print_hint(&self) {
        if !self.matched && self.partner.is_none() {
            page::print("every partner is shown; `--matched` shows only those with offers for the lead\n");
        }
    }

    /// Wants a partner that is asked about to be one.
    fn check_partner(&self, book: &Book) -> Result<(), String> {
        self.partner.as_ref().map_or(Ok(()), |key| known(book, key))
    }

    fn wants(&self, partner: &str) -> bool {
        self.partner.as_ref().is_none_or(|key| key == partner)
    }
}
