//! `offerd partners list|timing|pause|resume|try|cases`
//!
//! With a running daemon the commands go over its admin listener; without one they open the store themselves. `try` and
//! `cases` need neither.

mod attempt;
mod cases;
mod keeper;
mod list;
mod masked;
mod timing;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

pub use self::keeper::{Keeper, Trouble, running_standings};
use super::{page, progress};
use crate::config::Settings;
use crate::matching::pausing::Pausable;
use crate::model::ProductType;
use crate::partners::Book;
use crate::store::pauses::Resumed;

/// What to do with partners.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What needs to know where they stand.
    #[command(flatten)]
    Standing(Standing),
    /// Show the request that a partner asked over HTTP would be sent for a lead; on demand send it and show its offers
    Try(attempt::Try),
    /// Run the case files of partners asked over HTTP, and show where their mappings do something else
    Cases(cases::Cases),
}

/// What is done with whoever keeps the partners.
#[derive(Debug, Subcommand)]
pub enum Standing {
    /// Show for each partner and product type whether it is asked, and how much of its limits is used
    #[command(after_help = "\
Examples:
  offerd partners list
  offerd partners list --json | jq '.[] | select(.state != \"active\")'

Asks and payouts are those of live leads: a test counts against no limit.")]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how long partners took to answer, and what another timeout would have lost or won
    Timing(timing::Timing),
    /// Ask a partner no more, until it is resumed; who was asked may still answer
    #[command(after_help = "\
Examples:
  offerd partners pause tidelark_savings
  offerd partners pause meridell_bank --product loan
  offerd partners pause tidelark_savings --json | jq .since")]
    Pause(Which),
    /// Ask a paused partner again
    #[command(after_help = "\
Examples:
  offerd partners resume tidelark_savings")]
    Resume(Which),
}

/// A partner, or one product type of it.
#[derive(Debug, Args)]
pub struct Which {
    /// Partner, by the name of its file
    #[arg(value_name = "KEY")]
    partner: String,
    /// Only this product type
    #[arg(long, value_name = "TYPE", value_parser = product_type)]
    product: Option<ProductType>,
    /// As JSON: `partner`, `productType`, whether it is `paused`, and `since` when
    #[arg(long)]
    json: bool,
}

/// Runs `offerd partners`.
pub fn run(config: Option<&Path>, command: Command) -> ExitCode {
    let ended = match command {
        Command::Try(arguments) => {
            let (settings, book) = match super::settings_and_book(config) {
                Ok(loaded) => loaded,
                Err(code) => return code,
            };
            super::block_on(attempt::run(&settings, &book, &arguments)).map_err(Trouble::Other)
        }
        Command::Cases(arguments) => {
            let (_, book) = match super::settings_and_book(config) {
                Ok(loaded) => loaded,
                Err(code) => return code,
            };
            cases::run(&book, &arguments).map_err(Trouble::Other)
        }
        Command::Standing(command) => {
            let settings = match super::settings(config) {
                Ok(settings) => settings,
                Err(code) => return code,
            };
            super::block_on(execute(&settings, command))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble::Faults(faults)) => super::tell(&faults),
        Err(Trouble::Other(message)) => super::fail(message),
    }
}

async fn execute(settings: &Settings, command: Standing) -> Result<(), Trouble> {
    let keeper = Keeper::find(settings).await?;
    match command {
        Standing::List { json: true } => {
            let standings = keeper.standings().await?;
            page::print(serde_json::to_string_pretty(&standings).map_err(|error| error.to_string())?);
        }
        Standing::List { json: false } => page::print_table(list::table(&keeper.standings().await?)),
        Standing::Timing(asked) => {
            let waiting = progress::waiting("reading stored rate tables");
            let mut timings = keeper.timings(asked.since_ms()).await?;
            drop(waiting);
            if let Some(key) = &asked.partner {
                timings.retain(|timing| timing.partner == *key);
                if timings.is_empty() {
                    keeper.wants(key).await?;
                }
            }
            if asked.json {
                page::print(serde_json::to_string_pretty(&timings).map_err(|error| error.to_string())?);
            } else if timings.is_empty() {
                page::print(asked.nobody());
            } else {
                page::print_table(timing::table(&timings));
            }
        }
        Standing::Pause(which) => {
            let (what, json) = (which.what(), which.json);
            let pause = keeper.pause(&what).await?;
            match json {
                true => page::print(state(&what, Some(pause.since))),
                false => eprintln!("{} is paused since {}", name(&what), page::moment_of(pause.since)),
            }
        }
        Standing::Resume(which) => {
            let (what, json) = (which.what(), which.json);
            match keeper.resume(&what).await? {
                Resumed::Ended if json => page::print(state(&what, None)),
                Resumed::Ended => eprintln!("{} is resumed", name(&what)),
                Resumed::NotPaused => {
                    let name = name(&what);
                    return Err(Trouble::Other(format!(
                        "{name} is not paused from the command line; where its file says `paused`, take that out and reload"
                    )));
                }
                Resumed::PausedAsAWhole => {
                    let partner = &what.partner;
                    return Err(Trouble::Other(format!(
                        "{partner} is paused as a whole; resume it without `--product`"
                    )));
                }
            }
        }
    }
    Ok(keeper.close()?)
}

/// Wants a book to have a partner.
///
/// # Errors
/// Which ones it has.
pub fn known(book: &Book, key: &str) -> Result<(), String> {
    let keys: Vec<&str> = book.partners().iter().map(|partner| partner.key.as_str()).collect();
    if keys.contains(&key) { Ok(()) } else { Err(unknown(&keys, key)) }
}

fn unknown(keys: &[&str], key: &str) -> String {
    match keys {
        [] => format!("there is no partner `{key}`: there are no partner files in `partners.path`"),
        [..] => format!("there is no partner `{key}`; there are: {}", keys.join(", ")),
    }
}

fn product_type(text: &str) -> Result<ProductType, String> {
    ProductType::from_wire(text).ok_or_else(|| format!("must be one of {}", ProductType::WIRE.join(", ")))
}

fn name(what: &Pausable) -> String {
    match what.product_type {
        Some(product_type) => format!("{} for {product_type}", what.partner),
        None => what.partner.clone(),
    }
}

/// For scripts: since when it is paused, Unix milliseconds, if it is.
fn state(what: &Pausable, since: Option<i64>) -> Value {
    json!({
        "partner": what.partner,
        "productType": what.product_type,
        "paused": since.is_some(),
        "since": since,
    })
}

impl Which {
    /// What is to be paused or resumed.
    fn what(&self) -> Pausable {
        Pausable { partner: self.partner.clone(), product_type: self.product }
    }
}
