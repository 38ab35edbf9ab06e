//! `offerd audit list|verify`

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use hyper::Method;

use super::admin_client::AdminClient;
use super::page::{self, Format};
use super::trouble::Trouble;
use super::values;
use crate::admin::audit::{self, AuditPage};
use crate::sheet::{Sheet, sheet};
use crate::store::audit::{AuditRecord, AuditVerdict};

/// What to do with the audit.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List who did what, when and why, the oldest first
    List(List),
    /// Walk the chain of hashes, and tell whether and where it is broken
    #[command(after_help = "\
Examples:
  offerd audit verify
  offerd audit verify --json | jq -r .head.hash

Write down number and hash of the last record where nobody of this machine can change them: a chain whose end was cut off is whole,
and only that shows it. `--head NUMBER:HASH` holds the audit against them.")]
    Verify {
        /// A last record that was written down before: it must still be there, as it was
        #[arg(long, value_name = "NUMBER:HASH", value_parser = head)]
        head: Option<(u64, String)>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// `audit list`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd audit list --since 7d
  offerd audit list --who alice --action personal_data.reveal
  offerd audit list --format csv > audit.csv
  offerd audit list --action user --format json")]
pub struct List {
    /// What was done since so long ago, such as 7d
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    since: Option<Duration>,
    /// By whom: a part of the name
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// What: an action, or its beginning; `user` finds `user.add`
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// How it is written; as JSON each record as it is hashed
    #[arg(long, default_value = "table")]
    format: Format,
}

/// Runs `offerd audit`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = &super::settings(config)?;
    let admin = AdminClient::find(settings).await?;
    match command {
        Command::List(list) => {
            let records = list.records(&admin).await?;
            admin.close()?;
            let people = || page::print_sheet(&sheet(&records));
            list.format.show(&records, || audit::sheet(&records), people)?;
            Ok(())
        }
        Command::Verify { head, json } => {
            let verdict: AuditVerdict = admin.ask(Method::GET, "/audit/verdict").await?;
            let written_down = match &head {
                Some((number, hash)) => against(&admin, &verdict, *number, hash).await?,
                None => None,
            };
            admin.close()?;
            tell(&verdict, written_down, json)
        }
    }
}

impl List {
    /// All that are wanted, page by page.
    async fn records(&self, admin: &AdminClient) -> Result<Vec<AuditRecord>, String> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(since) = self.since {
            query.append_pair("since", &before_now(since).to_string());
        }
        let texts = [("who", &self.who), ("action", &self.action)];
        query.extend_pairs(texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))));
        let (query, mut records, mut next) = (query.finish(), Vec::new(), Some(0));
        while let Some(after) = next {
            let page: AuditPage = admin.ask(Method::GET, &format!("/audit?after={after}&{query}")).await?;
            records.extend(page.records);
            next = page.next;
        }
        Ok(records)
    }
}

/// A time ago, Unix milliseconds.
fn before_now(time: Duration) -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(time).as_millis()
}

/// What is wrong with a record that was written down once; its hash stands in the one behind it.
async fn against(
    admin: &AdminClient,
    verdict: &AuditVerdict,
    number: u64,
    hash: &str,
) -> Result<Option<String>, String> {
    let missing = Some(format!("record {number} is not there any more: the end of the audit was cut off"));
    if number > verdict.head.number {
        return Ok(missing);
    }
    let found = match number == verdict.head.number {
        true => Some(verdict.head.hash.clone()),
        false => {
            let page: AuditPage = admin.ask(Method::GET, &format!("/audit?after={number}")).await?;
            page.records.first().filter(|next| next.number == number + 1).map(|next| next.previous.clone())
        }
    };
    let other = || format!("record {number} has another hash than was written down: the audit was made anew");
    Ok(found.filter(|found| found != hash).map(|_| other()))
}

fn tell(verdict: &AuditVerdict, written_down: Option<String>, json: bool) -> Result<(), Trouble> {
    page::show(verdict, json, || {
        let AuditVerdict { records, head, .. } = verdict;
        page::print(format!(
            "{}, the last {}:{}",
            page::counted(*records as usize, "record"),
            head.number,
            head.hash
        ));
    })?;
    match verdict.broken.clone().or(written_down) {
        None => Ok(()),
        Some(broken) => Err(Trouble::Other(format!("the chain is broken: {broken}"))),
    }
}

fn sheet(records: &[AuditRecord]) -> Sheet {
    let foreign = |text: &Option<String>| text.as_deref().map(page::foreign);
    sheet!(records, record => {
        "number": Count => record.number,
        "at": Time => record.at,
        "who" => page::foreign(&record.who),
        "from" => page::foreign(&record.from),
        "action" => &record.action,
        "what" => foreign(&record.object),
        "why" => foreign(&record.reason),
    })
}

fn head(text: &str) -> Result<(u64, String), String> {
    let parts = text.split_once(':').and_then(|(number, hash)| Some((number.parse().ok()?, hash.to_owned())));
    let good =
        parts.filter(|(_, hash)| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    good.ok_or_else(|| {
        "must be what `offerd audit verify` prints last: a number, a colon and 64 digits".to_owned()
    })
}
