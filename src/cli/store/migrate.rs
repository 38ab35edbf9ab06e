//! `offerd store migrate`

use clap::Args;

use super::copy::database;
use crate::admin::backup::told;
use crate::cli::operator::operator;
use crate::cli::page;
use crate::cli::trouble::Trouble;
use crate::config::Settings;
use crate::store::{Migrated, Store};

/// What its help ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  offerd store migrate --check
  offerd store migrate

Each step is one transaction. A step that nodes of the version before could not go on with is refused while one of them is alive.";

/// `store migrate`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only tell what there is to do
    #[arg(long)]
    check: bool,
}

/// Brings the tables to this build's version, or tells what that takes.
pub(super) fn run(settings: &Settings, arguments: &Arguments) -> Result<(), Trouble> {
    let database = database(settings, "`offerd store migrate`")?;
    let migrated = Store::migrate_tables(&database, arguments.check).map_err(|error| error.to_string())?;
    if !arguments.check && migrated.steps() > 0 {
        crate::cli::log_as_the_daemon_does(settings);
        told("store.migrate", &operator());
    }
    page::print(said(&migrated, arguments.check));
    Ok(())
}

fn said(migrated: &Migrated, only_looked: bool) -> String {
    let known = migrated.known;
    let Some(found) = migrated.found else {
        return format!("there are no tables yet: the first start makes them, of version {known}");
    };
    let beside = match migrated.is_compatible {
        true => "nodes of the version before may go on meanwhile",
        false => "every node of the version before must be stopped for it",
    };
    match (migrated.steps(), only_looked) {
        (0, _) => format!("the tables have version {known}, which is this offerd's: nothing is to be done"),
        (steps, true) => {
            format!("the tables have version {found}, this offerd's is {known}: {steps} to take; {beside}")
        }
        (steps, false) => format!("the tables had version {found} and have {known}: {steps} taken"),
    }
}
