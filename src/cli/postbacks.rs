//! `offerd postbacks list|dead|retry|test`

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use hyper::Method;
use uuid::Uuid;

use super::admin_client::AdminClient;
use super::page::{self, Color};
use super::trouble::Trouble;
use crate::postbacks::{DeadLetter, Retried, Retry, Standing, Trial};
use crate::sheet::{Sheet, Value, sheet};

/// What to do with what is pushed to companies.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show for each subscription how far behind it is, what failed, and how the last call ended
    #[command(after_help = "\
Examples:
  offerd postbacks list
  offerd postbacks list --json | jq '.[] | select(.failingSince)'

The lag is how long the oldest event waits that was not acknowledged. What a call ended with is the status of its answer or, without
one, why there was none. No daemon need run for this.")]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the events of a subscription that were given up
    #[command(after_help = "\
Examples:
  offerd postbacks dead acme_events
  offerd postbacks dead acme_events --json | jq -r '.[].leadUuid' | sort -u")]
    Dead {
        /// Subscription, by the name of its file
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Send events again that were given up, of one lead or all of a subscription
    #[command(after_help = "\
Examples:
  offerd postbacks retry acme_events --lead 01a1fcce-e71a-773e-b126-2445db4ef9dc
  offerd postbacks retry acme_events --all

They are tried as if they had just arrived, each before what is younger of its lead. A stopped daemon sends them once it runs.")]
    Retry(RetryArguments),
    /// Send a test event now and show what came back
    #[command(after_help = "\
Examples:
  offerd postbacks test acme_events

The event is a conversion of a lead that there is not, and says that it is a test; client tags are `test`. It is sent once, past all that
waits, whatever the file's `events` and `tags` are. Exit code 0: the receiver has answered 2xx.")]
    Test {
        /// Subscription, by the name of its file
        name: String,
        /// As JSON: `request`, `headers`, `body`, and `answer` or `failure`
        #[arg(long)]
        json: bool,
    },
}

/// `postbacks retry`
#[derive(Debug, Args)]
pub struct RetryArguments {
    /// Subscription, by the name of its file
    name: String,
    /// Those of this lead
    #[arg(long, value_name = "UUID", required_unless_present = "all", conflicts_with = "all")]
    lead: Option<Uuid>,
    /// All of them
    #[arg(long)]
    all: bool,
    /// As JSON: how many are `putBack`
    #[arg(long)]
    json: bool,
}

/// Runs `offerd postbacks`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = super::settings(config)?;
    let admin = AdminClient::find_with_postbacks(&settings).await?;
    let done = execute(&admin, command).await;
    admin.close()?;
    done
}

async fn execute(admin: &AdminClient, command: Command) -> Result<(), Trouble> {
    match command {
        Command::List { json } => {
            let standings: Vec<Standing> = admin.ask(Method::GET, "/postbacks").await?;
            page::show(&standings, json, || page::print_sheet(&subscriptions(&standings)))?;
        }
        Command::Dead { name, json } => {
            let path = path(&name, "dead")?;
            let letters: Option<Vec<DeadLetter>> = admin.find_one(Method::GET, &path).await?;
            let letters = letters.ok_or_else(|| missing(&name))?;
            page::show(&letters, json, || page::print_sheet(&dead(&letters)))?;
        }
        Command::Retry(RetryArguments { name, lead, json, .. }) => {
            known(admin, &name).await?;
            let order = Retry { lead_uuid: lead };
            let retried: Retried = admin.post(&path(&name, "retry")?, &order).await?;
            page::show(&retried, json, || {
                let told = page::counted(retried.put_back, "event");
                page::print(format_args!("{told} of {name} will be sent again"));
            })?;
        }
        Command::Test { name, json } => {
            known(admin, &name).await?;
            let trial: Trial = admin.ask(Method::POST, &path(&name, "test")?).await?;
            page::show(&trial, json, || show(&trial))?;
            if !trial.is_good() {
                return Err(Trouble::Told(ExitCode::FAILURE));
            }
        }
    }
    Ok(())
}

/// Where something of a subscription is asked for.
fn path(name: &str, what: &str) -> Result<String, String> {
    match crate::partners::is_key(name) {
        true => Ok(format!("/postbacks/{name}/{what}")),
        false => Err(missing(name)),
    }
}

async fn known(admin: &AdminClient, name: &str) -> Result<(), String> {
    let standings: Vec<Standing> = admin.ask(Method::GET, "/postbacks").await?;
    standings.iter().any(|one| one.name == name).then_some(()).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> String {
    format!("there is no subscription `{name}`; `offerd postbacks list` shows those there are")
}

fn subscriptions(standings: &[Standing]) -> Sheet {
    sheet!(standings, one => {
        let state = match (one.paused, one.test) {
            (true, _) => ", paused",
            (false, true) => ", tests",
            (false, false) => "",
        };
        "subscription" => &one.name,
        "company" => &one.company,
        "calls" => format!("{}{state}", one.host),
        "lag" => one.lag_seconds.map_or_else(|| "none".to_owned(), lag),
        "outstanding": Count => one.outstanding,
        "failing since": Time => Value::from(one.failing_since).in_color(Color::Red),
        "dead": Count => Value::from(one.dead).in_color(if one.dead > 0 { Color::Red } else { Color::Plain }),
        "last answer" => one.last.as_ref().map_or_else(|| "none yet".to_owned(), ToString::to_string),
    })
}

fn dead(letters: &[DeadLetter]) -> Sheet {
    sheet!(letters, letter => {
        "lead" => letter.lead_uuid.to_string(),
        "event" => letter.event_type.to_string(),
        "attempts": Count => letter.attempts,
        "given up": Time => letter.given_up_at,
        "last answer" => letter.last.as_ref().map(ToString::to_string),
    })
}

/// Whole seconds, as people write them.
fn lag(seconds: f64) -> String {
    humantime::format_duration(Duration::from_secs(seconds as u64)).to_string()
}

fn show(trial: &Trial) {
    let headers = |headers: &[(String, String)]| {
        headers.iter().map(|(name, value)| format!("\n  {name}: {value}")).collect::<String>()
    };
    page::print(format_args!("{}{}", trial.request, headers(&trial.headers)));
    if !trial.body.is_empty() {
        page::print(format_args!("\n  {}", trial.body));
    }
    if let Some(answer) = &trial.answer {
        let [connect, wait, read] = answer.took_ms;
        let took = format!("connected in {connect} ms, answered {wait} ms later, read in {read} ms");
        page::print(format_args!("\n{} ({took}){}", answer.status, headers(&answer.headers)));
        if !answer.body.is_empty() {
            page::print(format_args!("\n  {}", answer.body));
        }
    }
    if let Some(failure) = &trial.failure {
        page::print(format_args!("\nno answer: {failure}"));
    }
}
