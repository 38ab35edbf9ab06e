//! `offerd alerts list|test`

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use comfy_table::Table;
use hyper::Method;

use super::admin_client::AdminClient;
use super::page::{self, Color};
use super::trouble::Trouble;
use crate::admin::alerts::Test;
use crate::alerts::{AlertStanding, ReceiverStanding, Severity, Standing, Tried};

/// What to do with alerts.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which alerts fire, which wait and which have ended, and how those stand who are told
    #[command(after_help = "\
Examples:
  offerd alerts list
  offerd alerts list --json | jq '.alerts[] | select(.state == \"firing\")'

An alert waits until its condition has held long enough. Of a stopped daemon it is shown what was so when it stopped.")]
    List {
        /// As JSON: `alerts` and `receivers`
        #[arg(long)]
        json: bool,
    },
    /// Send a test to those who are told of alerts, and show how they took it
    #[command(after_help = "\
Examples:
  offerd alerts test
  offerd alerts test mail

The test is the beginning of an alert OfferdTest, which has no end. It is sent once, past all that waits. Exit code 0: all have taken it.")]
    Test {
        /// Only this receiver: the name of a webhook, or `mail`
        receiver: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs `offerd alerts`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = super::settings(config)?;
    let admin = AdminClient::find(&settings).await?;
    let done = execute(&admin, command).await;
    admin.close()?;
    done
}

async fn execute(admin: &AdminClient, command: Command) -> Result<(), Trouble> {
    match command {
        Command::List { json } => {
            let standing: Standing = admin.ask(Method::GET, "/alerts").await?;
            page::show(&standing, json, || show(&standing))?;
        }
        Command::Test { receiver, json } => {
            let tried: Vec<Tried> = admin.post("/alerts/test", &Test { receiver: receiver.clone() }).await?;
            if tried.is_empty() {
                return Err(NOBODY.to_owned().into());
            }
            page::show(&tried, json, || {
                tried.iter().for_each(|one| page::print(format_args!("{}", told(one))))
            })?;
            if tried.iter().any(|one| one.error.is_some()) {
                return Err(Trouble::Told(ExitCode::FAILURE));
            }
        }
    }
    Ok(())
}

const NOBODY: &str = "nobody is told of alerts: set `alerts.webhooks` or `alerts.mail`";

fn told(Tried { receiver, place, error }: &Tried) -> String {
    match error {
        None => format!("{receiver} ({place}) has taken it"),
        Some(error) => format!("{receiver} ({place}) has not taken it: {error}"),
    }
}

fn show(standing: &Standing) {
    match standing.alerts.is_empty() {
        true => page::print("no alert fires, waits, or has ended lately"),
        false => page::print_table(table(&standing.alerts)),
    }
    match standing.receivers.is_empty() {
        true => page::print(NOBODY),
        false => page::print_table(receiver_table(&standing.receivers)),
    }
}

fn table(alerts: &[AlertStanding]) -> Table {
    let mut table = page::table(["alert", "urgency", "state", "since", "ended", "what"]);
    for one in alerts {
        let tone = match (one.state.as_str(), one.severity) {
            ("firing", Severity::Page | Severity::Ticket) => Color::Red,
            _ => Color::Plain,
        };
        table.add_row([
            one.name.as_str().into(),
            one.severity.word().into(),
            page::toned(&one.state, tone),
            page::moment_of(one.since).into(),
            one.ended.map_or_else(String::new, page::moment_of).into(),
            one.summary.as_str().into(),
        ]);
    }
    table
}

fn receiver_table(receivers: &[ReceiverStanding]) -> Table {
    let mut table =
        page::table(["receiver", "place", "outstanding", "last sent", "failing since", "last error"]);
    for one in receivers {
        let moment = |at: Option<i64>| at.map_or_else(String::new, page::moment_of);
        let tone = if one.failing_since.is_some() { Color::Red } else { Color::Plain };
        table.add_row([
            one.name.as_str().into(),
            one.place.as_str().into(),
            one.outstanding.to_string().into(),
            one.last_sent.map_or_else(|| "never".to_owned(), page::moment_of).into(),
            page::toned(moment(one.failing_since), tone),
            one.last_error.clone().unwrap_or_default().into(),
        ]);
    }
    table
}
