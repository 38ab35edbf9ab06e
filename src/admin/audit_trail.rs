//! `GET /audit`, `GET /audit/verdict`: what `offerd audit` calls; and what the console reads of the audit.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tracing::error;

use super::App;
use super::command::{blocking, unavailable};
use crate::sheet::{Sheet, sheet};
use crate::store::ReadError;
use crate::store::audit::{AuditFilter, AuditRecord};
use crate::web::{Context, Failure, Reply};

/// Most records of one answer.
pub const PAGE: usize = 1000;

/// Most records that are looked at for one answer.
pub(super) const LOOKED_AT: usize = 20_000;

/// Records, the oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuditPage {
    /// The records.
    pub records: Vec<AuditRecord>,
    /// Behind which number to go on; nothing at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let (after, filter) = wanted(&context)?;
    let audit = context.app.audit.clone();
    let read = move || audit.after(after, &filter, PAGE, LOOKED_AT);
    let (records, next) = blocking("the audit could not be read", read).await?.map_err(unread)?;
    Reply::json(&AuditPage { records, next })
}

/// Behind which number, and which records.
fn wanted(context: &Context<App>) -> Result<(u64, AuditFilter), Failure> {
    let text = |name| context.request.query_value(name).map(str::to_owned);
    let number = |name| {
        let wrong = |_| Failure::bad_attribute(name, "must be a whole number that is not negative");
        text(name).map_or(Ok(0), |number| number.parse::<u64>().map_err(wrong))
    };
    let since = i64::try_from(number("since")?).unwrap_or(i64::MAX);
    Ok((number("after")?, AuditFilter { since, who: text("who"), action: text("action") }))
}

pub(super) async fn verdict(context: Context<App>) -> Result<Reply, Failure> {
    let app = Arc::clone(&context.app);
    let read = blocking("the audit could not be read", move || app.audit.verify()).await?;
    Reply::json(&read.map_err(unread)?)
}

/// That the disk cannot be read.
pub(super) fn unread(failure: ReadError) -> Failure {
    error!(%failure, "the audit could not be read");
    unavailable("the audit cannot be read; the log tells why".to_owned())
}

/// The records as a file for spreadsheets has them.
pub fn sheet(records: &[AuditRecord]) -> Sheet {
    sheet!(records, record => {
        "number": Count => record.number,
        "at": Time => record.at,
        "who" => &record.who,
        "role" => record.role.map(|role| role.word()),
        "from" => &record.from,
        "action" => &record.action,
        "object" => record.object.as_ref(),
        "reason" => record.reason.as_ref(),
        "previous" => &record.previous,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_no_formula_and_breaks_no_line() {
        let record = AuditRecord {
            number: 7,
            at: 0,
            who: "user alice".to_owned(),
            role: None,
            from: "command".to_owned(),
            action: "reload".to_owned(),
            object: None,
            reason: Some("=1+1\n\"x\"".to_owned()),
            gaps: Vec::new(),
            previous: "00".to_owned(),
        };
        let text = sheet(&[record]).csv().unwrap();
        let (_, line) = text.split_once('\n').unwrap();
        assert_eq!(line, "7,1970-01-01T00:00:00.000Z,user alice,,command,reload,,\"'=1+1\n\"\"x\"\"\",00\n");
    }
}
