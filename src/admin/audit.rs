//! The audit log, and `GET /audit` and `GET /audit/verdict` for `offerd audit`: who changed a permission or
//! viewed masked data, and when. Each entry is a record in the store
//! ([`AuditLog`](offerd_store::audit::AuditLog)) and a log line with the target `audit`, without secrets.
//!
//! If the action is a commit, the record is part of it. A reveal, a reload or an erasure is recorded before
//! it is done. Other actions do not depend on it: operators must get at a damaged store.

use std::fmt::Display;

use hyper::HeaderMap;
use serde::{Deserialize, Serialize};
use tracing::error;
use uuid::Uuid;

use super::AdminState;
use super::command::{Context, Result, WHOLE, parameter, unavailable, unwritten};
use offerd_insight::sheet;
use offerd_insight::sheet::Sheet;
use offerd_store::audit::{AuditEntry, AuditFilter, AuditRecord};
use offerd_store::users::Role;
use offerd_store::{Commit, CommitError, ReadError};
use offerd_web::{Failure, Reply};

/// Header with the operator's name from the command line. Only the daemon's own user has the admin key.
pub const OPERATOR: &str = "offerd-operator";

const NAME_CHARS: usize = 64;

/// The actor's name: the user that ran the command, or `admin key` if none was sent.
pub fn operator(headers: &HeaderMap) -> String {
    let name = headers.get(OPERATOR).and_then(|name| name.to_str().ok()).unwrap_or_default();
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric() || " ()-_.@+$\\".contains(*letter);
    let name: String = name.chars().filter(is_of_name).take(NAME_CHARS).collect();
    let name = name.trim().to_owned();
    if name.is_empty() { "admin key".to_owned() } else { name }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuditActor {
    /// `user alice`, or the credential.
    pub(super) who: String,
    /// The role; `None` for an operator with access to the machine.
    pub(super) role: Option<Role>,
    /// Origin: `command`, or the console with an address.
    pub(super) from: String,
}

/// The operator that sent a command.
pub(super) fn by(context: &Context) -> AuditActor {
    AuditActor { who: operator(&context.request.headers), role: None, from: "command".to_owned() }
}

/// The record of an action: an audit entry and a log line. Created by `note!`.
pub(super) struct Note<'l> {
    action: &'static str,
    object: Option<String>,
    reason: Option<String>,
    line: Box<dyn FnOnce(&str) + Send + 'l>,
}

impl<'l> Note<'l> {
    pub(super) fn new(action: &'static str, line: impl FnOnce(&str) + Send + 'l) -> Self {
        Self { action, object: None, reason: None, line: Box::new(line) }
    }

    pub(super) fn about(self, object: impl Display) -> Self {
        Self { object: Some(object.to_string()), ..self }
    }

    pub(super) fn because<'r>(self, reason: impl Into<Option<&'r str>>) -> Self {
        Self { reason: reason.into().map(str::to_owned), ..self }
    }
}

impl AdminState {
    /// Records and logs an action before it is done, or fails; the caller must not go on then.
    pub(super) async fn note(&self, actor: &AuditActor, note: Note<'_>) -> Result<()> {
        let noted = self.commit(actor, note, Commit::new()).await;
        noted.map_err(|failure| unwritten("the audit record that this action needs", &failure))
    }

    /// Records an action on leads before it is done, in as many records as their uuids need.
    pub(super) async fn note_leads(
        &self,
        actor: &AuditActor,
        action: &'static str,
        (what, leads): (&str, &[Uuid]),
        reason: Option<&str>,
    ) -> Result<()> {
        // An action on no lead has a record, too.
        let parts = leads.chunks(LEADS_PER_RECORD).chain(leads.is_empty().then_some(leads));
        for part in parts {
            self.note(actor, note!(action).about(with_leads(what, part)).because(reason)).await?;
        }
        Ok(())
    }

    /// Records and logs an action that happens in any case.
    pub(super) async fn note_if_can(&self, actor: &AuditActor, note: Note<'_>) {
        let Note { action, line, .. } = note;
        if let Err(failure) = self.commit(actor, Note { line: Box::new(|_| ()), ..note }, Commit::new()).await
        {
            error!(%failure, action, "an action could not be recorded in the audit");
        }
        line(&actor.who);
    }

    pub(super) async fn commit(&self, by: &AuditActor, of: Note<'_>, put: Commit) -> Result<(), CommitError> {
        let AuditActor { who, role, from } = by.clone();
        let Note { action, object, reason, line } = of;
        let entry = AuditEntry { who, role, from, action, object, reason };
        self.audit.commit(put, entry).await.inspect(|()| line(&by.who))
    }
}

/// Creates the record of an action, with the fields and the message of its log line, if it has any:
/// `note!("token.create", id = %id, "token created")`.
macro_rules! note {
    ($action:expr) => {
        $crate::audit::Note::new($action, |_| ())
    };
    ($action:expr, $($fields:tt)+) => {
        $crate::audit::Note::new($action, |who| $crate::audit::audit_by!(who, $action, $($fields)+))
    };
}

/// Writes an audit log line only, for an action that is recorded elsewhere or at another time.
macro_rules! audit_by {
    ($who:expr, $action:expr, $($fields:tt)+) => {
        ::tracing::info!(target: ::offerd_base::telemetry::logging::AUDIT, who = $who, action = $action, $($fields)+)
    };
}

pub(crate) use audit_by;
pub(super) use note;

/// Maximum leads in the object of a record.
pub(super) const LEADS_PER_RECORD: usize = 500;

/// The object of an action on leads.
pub(super) fn with_leads(what: &str, leads: &[Uuid]) -> String {
    let leads: Vec<String> = leads.iter().map(Uuid::to_string).collect();
    format!("{what}: {}", if leads.is_empty() { "no lead".to_owned() } else { leads.join(" ") })
}

/// Maximum records per answer.
pub const PAGE: usize = 1000;

/// Maximum records scanned per answer.
pub(super) const LOOKED_AT: usize = 20_000;

const UNREAD: &str = "the audit could not be read";

/// Audit records, oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuditPage {
    /// The records.
    pub records: Vec<AuditRecord>,
    /// Number to continue after; `None` at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

pub(super) async fn list(context: Context) -> Result<Reply> {
    let (after, filter) = wanted(&context)?;
    let read = move |app: &AdminState| app.audit.after(after, &filter, PAGE, LOOKED_AT);
    let (records, next) = context.app.reading(UNREAD, read).await?.map_err(unread)?;
    Reply::json(&AuditPage { records, next })
}

fn wanted(context: &Context) -> Result<(u64, AuditFilter)> {
    let text = |name| context.request.query_value(name).map(str::to_owned);
    let since: u64 = parameter(context, "since", WHOLE)?.unwrap_or(0);
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let filter = AuditFilter { since, who: text("who"), action: text("action"), about: text("about") };
    Ok((parameter(context, "after", WHOLE)?.unwrap_or(0), filter))
}

pub(super) async fn verdict(context: Context) -> Result<Reply> {
    let read = |app: &AdminState| app.audit.verify();
    Reply::json(&context.app.reading(UNREAD, read).await?.map_err(unread)?)
}

pub(super) fn unread(failure: ReadError) -> Failure {
    error!(%failure, "{UNREAD}");
    unavailable("the audit cannot be read; see the log")
}

/// The records as a spreadsheet.
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
    fn a_name_cannot_forge_a_line() {
        let of = |name: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(OPERATOR, hyper::header::HeaderValue::from_bytes(name).unwrap());
            operator(&headers)
        };
        assert_eq!(of(b"alice"), "alice");
        assert_eq!(of(b"alice (uid 1000)"), "alice (uid 1000)");
        assert_eq!(of(b"bob\" who=\"carol"), "bob whocarol");
        assert_eq!(of(b"\xff"), "admin key");
        assert_eq!(of(&[b'x'; 200]).len(), NAME_CHARS);
        assert_eq!(operator(&HeaderMap::new()), "admin key");
    }

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
        assert_eq!(line, "7,1970-01-01 00:00:00.000,user alice,,command,reload,,\"'=1+1\n\"\"x\"\"\",00\n");
    }
}
