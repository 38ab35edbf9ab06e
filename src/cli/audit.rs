//! `offerd audit list|verify`

use super::page::AnswerFormat;
use super::prelude::*;
use offerd_admin::audit::{self, AuditPage};
use offerd_store::audit::{AuditRecord, AuditVerdict};

/// Actions on the audit log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List audited actions, oldest first: who, what, when and why
    List(AuditListArguments),
    /// Verify the hash chain, and show where it is broken
    Verify {
        /// A last record noted earlier: it must still exist, unaltered
        #[arg(long, value_name = "NUMBER:HASH", value_parser = head)]
        head: Option<(u64, String)>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// `audit list`.
#[derive(Debug, Args)]
pub struct AuditListArguments {
    /// Only actions within this time, such as 7d
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    since: Option<Duration>,
    /// Only actors whose name contains this
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Only this action, or actions with this prefix; `user` finds `user.add`
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only actions whose object contains this, such as the uuid of a lead
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Output format; JSON has each record as it is hashed
    #[arg(long, default_value = "table")]
    format: AnswerFormat,
}

/// Runs `offerd audit`.
pub async fn run(admin: &AdminClient, command: AuditCommand) -> Result<(), CommandError> {
    match command {
        AuditCommand::List(list) => {
            let records = list.records(admin).await?;
            let people = || page::print_sheet(&sheet(&records));
            Ok(list.format.show(&records, || audit::sheet(&records), people)?)
        }
        AuditCommand::Verify { head, json } => {
            let verdict: AuditVerdict = admin.ask(Method::GET, "/audit/verdict").await?;
            let written_down = match &head {
                Some((number, hash)) => against(admin, &verdict, *number, hash).await?,
                None => None,
            };
            tell(&verdict, written_down, json)
        }
    }
}

impl AuditListArguments {
    async fn records(&self, admin: &AdminClient) -> Result<Vec<AuditRecord>, String> {
        let since = self.since.map(|since| values::ago(since).to_string());
        let (mut records, mut next) = (Vec::new(), Some(0));
        while let Some(after) = next {
            let wanted = [
                ("after", Some(after.to_string())),
                ("since", since.clone()),
                ("who", self.who.clone()),
                ("action", self.action.clone()),
                ("about", self.about.clone()),
            ];
            let page: AuditPage = admin.ask(Method::GET, &values::query("/audit", wanted)).await?;
            records.extend(page.records);
            next = page.next;
        }
        Ok(records)
    }
}

/// Checks a record noted earlier against the log; its hash is stored in the next record.
async fn against(
    admin: &AdminClient,
    verdict: &AuditVerdict,
    number: u64,
    hash: &str,
) -> Result<Option<String>, String> {
    let missing = Some(format!("record {number} is missing: the end of the audit was cut off"));
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
    let bad = || format!("record {number} has another hash than the one you noted: the audit was rewritten");
    Ok(found.filter(|found| found != hash).map(|_| bad()))
}

fn tell(verdict: &AuditVerdict, written_down: Option<String>, json: bool) -> Result<(), CommandError> {
    page::show(verdict, json, || {
        let AuditVerdict { records, head, gaps, .. } = verdict;
        let records = page::counted(*records as usize, "record");
        page::print(format!("{records}, the last {}:{}", head.number, head.hash));
        for gap in gaps {
            page::print(format_args!("a gap that a salvage recorded: {gap}"));
        }
    })?;
    match verdict.broken.clone().or(written_down) {
        None => Ok(()),
        Some(broken) => Err(format!("the chain is broken: {broken}").into()),
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
    let good = parts.filter(|(_, hash)| hash.len() == 64 && hash.bytes().all(|it| it.is_ascii_hexdigit()));
    good.ok_or_else(|| {
        "must be the last output of `offerd audit verify`: a number, a colon and 64 digits".to_owned()
    })
}
