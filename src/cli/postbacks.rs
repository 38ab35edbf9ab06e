//! `offerd postbacks list|dead|retry|test`

use super::prelude::*;
use offerd_outbound::postbacks::{DeadLetter, Retried, Retry, SubscriptionStatus, Subscriptions, Trial};

/// Actions on postbacks.
#[derive(Debug, Subcommand)]
pub enum PostbacksCommand {
    /// Show the lag, the failures and the last result of each subscription
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the dead letters of a subscription: events that were given up
    Dead {
        /// Subscription, by its file name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Retry dead letters, of one lead or all of a subscription
    Retry {
        /// Subscription, by its file name
        name: String,
        /// Only events of this lead
        #[arg(long, value_name = "UUID", required_unless_present = "all", conflicts_with = "all")]
        lead: Option<Uuid>,
        /// All events
        #[arg(long)]
        all: bool,
        /// Print JSON: how many are `putBack`
        #[arg(long)]
        json: bool,
    },
    /// Send a test event now and show the answer
    Test {
        /// Subscription, by its file name
        name: String,
        /// Print JSON: `request`, `headers`, `body`, and `answer` or `failure`
        #[arg(long)]
        json: bool,
    },
}

/// Runs `offerd postbacks`.
pub async fn run(settings: &Settings, command: PostbacksCommand) -> Result<(), CommandError> {
    let load = || Subscriptions::load(&settings.postbacks, None).map(|_| Book::of(Vec::new()));
    let admin = AdminClient::find_with(settings, load).await?;
    match command {
        PostbacksCommand::List { json } => {
            let statuses: Vec<SubscriptionStatus> = admin.ask(Method::GET, "/postbacks").await?;
            page::show(&statuses, json, || page::print_sheet(&subscriptions(&statuses)))?;
        }
        PostbacksCommand::Dead { name, json } => {
            let path = path(&admin, &name, "dead").await?;
            let letters: Vec<DeadLetter> = admin.ask(Method::GET, &path).await?;
            page::show(&letters, json, || page::print_sheet(&dead(&letters)))?;
        }
        PostbacksCommand::Retry { name, lead, json, .. } => {
            let path = path(&admin, &name, "retry").await?;
            let retried: Retried = admin.post(&path, &Retry { lead_uuid: lead }).await?;
            page::show(&retried, json, || {
                let told = page::counted(retried.put_back, "event");
                page::print(format_args!("{told} of {name} will be sent again"));
            })?;
        }
        PostbacksCommand::Test { name, json } => {
            let path = path(&admin, &name, "test").await?;
            let trial: Trial = admin.ask(Method::POST, &path).await?;
            page::show(&trial, json, || show(&trial))?;
            CommandError::unless(trial.is_good())?;
        }
    }
    Ok(())
}

/// The path of a subscription's resource. Fails when the subscription does not exist.
async fn path(admin: &AdminClient, name: &str, what: &str) -> Result<String, String> {
    let statuses: Vec<SubscriptionStatus> = admin.ask(Method::GET, "/postbacks").await?;
    match statuses.iter().any(|one| one.name == name) {
        true => Ok(format!("/postbacks/{name}/{what}")),
        false => Err(format!("there is no subscription `{name}`; `offerd postbacks list` lists them")),
    }
}

fn subscriptions(statuses: &[SubscriptionStatus]) -> Sheet {
    sheet!(statuses, one => {
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
        "failing since": Time => SheetValue::from(one.failing_since).in_color(Color::Red),
        "dead": Count => SheetValue::from(one.dead).in_color(if one.dead > 0 { Color::Red } else { Color::Plain }),
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

fn lag(seconds: f64) -> String {
    humantime::format_duration(Duration::from_secs(seconds as u64)).to_string()
}

fn show(trial: &Trial) {
    let headers = |headers: &[(String, String)]| {
        let lines = headers.iter().map(|(name, value)| page::foreign(&format!("{name}: {value}")));
        lines.map(|line| format!("\n  {line}")).collect::<String>()
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
            page::print(format_args!("\n  {}", page::foreign_lines(&answer.body)));
        }
    }
    if let Some(failure) = &trial.failure {
        page::print(format_args!("\nno answer: {}", page::foreign(failure)));
    }
}
