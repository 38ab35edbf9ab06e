//! `offerd alerts list|test`

use super::prelude::*;
use offerd_admin::alerts::Test;
use offerd_outbound::alerts::{AlertStanding, ReceiverStanding, Severity, Standing, Tried};

/// Actions on alerts.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show firing, pending and resolved alerts, and the state of their receivers
    List {
        /// Print JSON: `alerts` and `receivers`
        #[arg(long)]
        json: bool,
    },
    /// Send a test alert to the receivers, and show the results
    Test {
        /// Only this receiver: the name of a webhook, or `mail`
        receiver: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs `offerd alerts`.
pub async fn run(admin: &AdminClient, command: Command) -> Result<(), Trouble> {
    match command {
        Command::List { json } => {
            let standing: Standing = admin.ask(Method::GET, "/alerts").await?;
            page::show(&standing, json, || show(&standing))?;
        }
        Command::Test { receiver, json } => {
            let tried: Vec<Tried> = admin.post("/alerts/test", &Test { receiver }).await?;
            if tried.is_empty() {
                return Err(NOBODY.into());
            }
            page::show(&tried, json, || tried.iter().map(told).for_each(page::print))?;
            Trouble::unless(tried.iter().all(|one| one.error.is_none()))?;
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
        false => page::print_sheet(&alerts(&standing.alerts)),
    }
    match standing.receivers.is_empty() {
        true => page::print(NOBODY),
        false => page::print_sheet(&receivers(&standing.receivers)),
    }
}

fn alerts(alerts: &[AlertStanding]) -> Sheet {
    sheet!(alerts, one => {
        let color = match (one.state.as_str(), one.severity) {
            ("firing", Severity::Page | Severity::Ticket) => Color::Red,
            _ => Color::Plain,
        };
        "alert" => &one.name,
        "urgency" => one.severity.word(),
        "state" => Value::from(&one.state).in_color(color),
        "since": Time => one.since,
        "ended": Time => one.ended,
        "what" => &one.summary,
    })
}

fn receivers(receivers: &[ReceiverStanding]) -> Sheet {
    sheet!(receivers, one => {
        "receiver" => &one.name,
        "place" => &one.place,
        "outstanding": Count => one.outstanding,
        "last sent": Time => one.told.last_sent.map_or_else(|| "never".into(), Value::from),
        "failing since": Time => Value::from(one.told.failing_since).in_color(Color::Red),
        "last error" => one.told.last_error.as_ref(),
    })
}
