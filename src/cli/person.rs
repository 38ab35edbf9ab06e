//! `offerd person`: what a person may ask for, whatever leads they have.

use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use comfy_table::Table;
use serde_json::value::RawValue;

use super::admin_client::AdminClient;
use super::files;
use super::suppressions::hex;
use super::trouble::Trouble;
use super::{page, progress};
use crate::admin::persons::PersonOrder;
use crate::model::SuppressionKind;
use crate::persons::request::{FoundLead, Receipt};

/// What to do for a person.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the leads of a person by an email address or a phone number
    #[command(after_help = "\
Examples:
  offerd person find --email ada@example.com
  offerd person find --phone - --json < number.txt")]
    Find {
        #[command(flatten)]
        who: Who,
        /// As JSON: of each `leadUuid`, `companyUuid`, `createdAt`, `productTypes` and `test`
        #[arg(long)]
        json: bool,
    },
    /// Write everything that is held on a person, of all their leads, as one JSON document
    #[command(after_help = "\
Examples:
  offerd person export --email ada@example.com --out ada.json")]
    Export {
        #[command(flatten)]
        who: Who,
        /// File to make, readable by its owner only; standard output when not given
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Erase all leads of a person, and print a receipt
    #[command(after_help = "\
Examples:
  offerd person erase --email ada@example.com
  offerd person erase --phone '(206) 555-0100' --json > receipt.json")]
    Erase {
        #[command(flatten)]
        who: Who,
        /// The receipt as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Whom it is about.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Who {
    /// An email address that they gave; `-` reads it from standard input, where no list of processes shows it
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// A phone number that they gave; `-` reads it from standard input
    #[arg(long, value_name = "NUMBER")]
    phone: Option<String>,
}

/// Runs `offerd person`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = super::settings(config)?;
    match command {
        Command::Find { who, json } => {
            let order = who.order()?;
            let admin = AdminClient::find(&settings).await?;
            let waiting = progress::waiting("looking them up");
            let found: Vec<FoundLead> = admin.post("/persons/find", &order).await?;
            drop(waiting);
            if json {
                page::print_json(&found)?;
            } else if found.is_empty() {
                page::print(NOBODY);
            } else {
                page::print_table(table(&found));
            }
            Ok(admin.close()?)
        }
        Command::Export { who, out } => {
            let order = who.order()?;
            let admin = AdminClient::find(&settings).await?;
            let waiting = progress::waiting("gathering all that is held");
            let held: Box<RawValue> = admin.post("/persons/export", &order).await?;
            drop(waiting);
            files::give(out.as_deref(), &held, "all that is held on them")?;
            Ok(admin.close()?)
        }
        Command::Erase { who, json } => {
            let order = who.order()?;
            let admin = AdminClient::find(&settings).await?;
            let waiting = progress::waiting("erasing");
            let receipt: Receipt = admin.post("/persons/erase", &order).await?;
            drop(waiting);
            if json {
                page::print_json(&receipt)?
            } else {
                page::print(told(&receipt))
            }
            Ok(admin.close()?)
        }
    }
}

/// What is said where no lead is found.
const NOBODY: &str = "no lead is found by this; one that was erased is found by nothing";

impl Who {
    /// What is sent of it: its digest.
    fn order(&self) -> Result<PersonOrder, Trouble> {
        let (kind, given) = match (&self.email, &self.phone) {
            (Some(email), _) => (SuppressionKind::Email, email),
            (_, Some(phone)) => (SuppressionKind::Phone, phone),
            (None, None) => unreachable!("the command line wants one of them"),
        };
        let mut line = given.clone();
        if given == "-" {
            line.clear();
            let read = stdin().lock().read_line(&mut line);
            read.map_err(|error| Trouble::Other(format!("standard input cannot be read: {error}")))?;
        }
        let digest = kind.of_line(&line);
        let digest =
            digest.ok_or_else(|| Trouble::Other(format!("--{} must be {}", kind.word(), kind.wanted())))?;
        Ok(PersonOrder { kind, digest: hex(&digest) })
    }
}

fn table(found: &[FoundLead]) -> Table {
    let mut table = page::table(["lead", "made", "asks for", "company", ""]);
    for lead in found {
        let asks_for: Vec<&str> = lead.product_types.iter().map(|one| one.as_str()).collect();
        table.add_row([
            lead.lead_uuid.to_string(),
            page::moment_of(lead.created_at.millis()),
            if asks_for.is_empty() { "all".to_owned() } else { asks_for.join(", ") },
            lead.company_uuid.to_string(),
            if lead.test { "test".to_owned() } else { String::new() },
        ]);
    }
    table
}

fn told(receipt: &Receipt) -> String {
    let Receipt { receipt_uuid, erased_at, leads } = receipt;
    if leads.is_empty() {
        return format!("{NOBODY}; nothing was erased (receipt {receipt_uuid}, {erased_at})");
    }
    let lines = leads.iter().map(|lead| format!("  lead {}\n", lead.lead_uuid));
    format!(
        "\
receipt {receipt_uuid}, {erased_at}
{} leads are erased: their keys are destroyed, and what was sealed with them can never be read again
{}
Backups of the store that were made before, with the keys of that time, still hold them until they are destroyed.",
        leads.len(),
        lines.collect::<String>()
    )
}
