//! `offerd alerts list|test`

use super::prelude::*;
use offerd_admin::alerts::AlertTest;
use offerd_outbound::alerts::{AlertStatus, AlertsStatus, ReceiverStatus, ReceiverTest, Severity};

/// Actions on alerts.
#[derive(Debug, Subcommand)]
pub enum AlertsCommand {
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
pub async fn run(admin: &AdminClient, command: AlertsCommand) -> Result<(), CommandError> {
    match command {
        AlertsCommand::List { json } => {
            let status: AlertsStatus = admin.ask(Method::GET, "/alerts").await?;
            page::show(&status, json, || show(&status))?;
        }
        AlertsCommand::Test { receiver, json } => {
            let test = AlertTest { receiver };
            let asked = admin.post("/alerts/test", &test);
            let tried: Vec<ReceiverTest> = progress::during("asking the receivers", asked).await?;
            if tried.is_empty() {
                return Err(NOBODY.into());
            }
            page::show(&tried, json, || tried.iter().map(summary).for_each(page::print))?;
            CommandError::unless(tried.iter().all(|one| one.error.is_none()))?;
        }
    }
    Ok(())
}

const NOBODY: &str = "alerts have no receiver: set `alerts.webhooks` or `alerts.mail`";

fn summary(ReceiverTest { receiver, place, error }: &ReceiverTest) -> String {
    match error {
        None => format!("{receiver} ({place}) accepted it"),
        Some(error) => format!("{receiver} ({place}) did not accept it: {error}"),
    }
}

fn show(status: &AlertsStatus) {
    status.doubt.iter().for_each(page::print);
    status.node.iter().for_each(|node| page::print(format_args!("evaluated by node {node}, the leader")));
    match status.alerts.is_empty() {
        true if status.doubt.is_some() => {}
        true => page::print("no alert is firing, pending or recently ended"),
        false => page::print_sheet(&alerts(&status.alerts)),
    }
    match status.receivers.is_empty() {
        true => page::print(NOBODY),
        false => page::print_sheet(&receivers(&status.receivers)),
    }
}

fn alerts(alerts: &[AlertStatus]) -> Sheet {
    sheet!(alerts, one => {
        let color = match (one.state.as_str(), one.severity) {
            ("firing", Severity::Page | Severity::Ticket) => Color::Red,
            _ => Color::Plain,
        };
        "alert" => &one.name,
        "urgency" => one.severity.word(),
        "state" => SheetValue::from(&one.state).in_color(color),
        "since": Time => one.since,
        "ended": Time => one.ended,
        "what" => &one.summary,
    })
}

fn receivers(receivers: &[ReceiverStatus]) -> Sheet {
    sheet!(receivers, one => {
        "receiver" => &one.name,
        "place" => &one.place,
        "outstanding": Count => one.outstanding,
        "last sent": Time => one.told.last_sent.map_or_else(|| "never".into(), SheetValue::from),
        "failing since": Time => SheetValue::from(one.told.failing_since).in_color(Color::Red),
        "last error" => one.told.last_error.as_ref(),
    })
}
