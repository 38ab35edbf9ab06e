//! `offerd explain FILE|UUID`
//!
//! A file is a lead that was never submitted: caps, budgets and pauses are those of the running daemon, if one runs; the
//! rest is what the partner files say. A uuid names what is stored: a lead, a rate table or an offer.

mod given;
mod outline;
mod stored;

use std::path::Path;

use clap::Args;
use uuid::Uuid;

use super::partners::known;
use super::trouble::Trouble;
use crate::partners::Book;

/// `offerd explain`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd explain lead.json
  offerd explain 01a1fcce-e71a-773e-b126-2445db4ef9dc
  offerd explain savings.json --partner tidelark_savings --json

Of a stored lead, what was asked, answered and kept out by limits is told as it was recorded. Conditions are not recorded:
they are found again with the lead and the partner files of now, and it is said when those have changed since. Where a ranking
was in force, each offer has what its score was made of then, and why it stands above the next; a lead in a file is of no company, and its
offers have the scores that the partner files say.")]
pub struct Arguments {
    /// A lead as JSON (`-` reads standard input), or the uuid of a stored lead, a rate table or an offer
    #[arg(value_name = "FILE|UUID")]
    lead: String,
    /// Only this partner, by its key
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Only what matches
    #[arg(long)]
    matched: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `offerd explain`.
pub async fn run(config: Option<&Path>, arguments: &Arguments) -> Result<(), Trouble> {
    // A file whose name is a uuid is still a file.
    let uuid = arguments.lead.parse::<Uuid>().ok().filter(|_| !Path::new(&arguments.lead).exists());
    if let Some(uuid) = uuid {
        return stored::explain(&super::settings(config)?, uuid, arguments).await;
    }
    if !arguments.is_file() {
        return Err(Trouble::Other(format!(
            "there is no file `{}`, and it is no uuid either; give a lead as a JSON file such as \
             `offerd lead submit` takes, or the uuid of a stored lead, rate table or offer",
            arguments.lead
        )));
    }
    let (settings, book) = super::settings_and_book(config)?;
    Ok(given::explain(&settings, &book, arguments).await?)
}

impl Arguments {
    /// Whether a lead can be read there.
    fn is_file(&self) -> bool {
        self.lead == "-" || Path::new(&self.lead).exists()
    }

    /// Wants a partner that is asked about to be one.
    fn check_partner(&self, book: &Book) -> Result<(), String> {
        match &self.partner {
            Some(key) => known(book, key),
            None => Ok(()),
        }
    }

    fn wants(&self, partner: &str) -> bool {
        self.partner.as_ref().is_none_or(|key| key == partner)
    }
}
