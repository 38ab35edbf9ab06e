//! The audit: who changed what may be done here, or saw what is masked, and when. Each is a record in the store ([`AuditLog`](crate::store::audit::AuditLog)) and a line
//! of the log with the target `audit`, so that a filter such as `audit=info` collects nothing else; never with a secret.
//!
//! The record is written in one commit with what it tells, where that is a commit; before it is done, where it shows what is masked,
//! reloads or erases; and of the rest when it can be, since nobody is to be kept from a sick store by its audit.

use std::fmt::Display;

use hyper::HeaderMap;
use tracing::error;

use super::App;
use super::command::unwritten;
use crate::store::audit::AuditEntry;
use crate::store::users::Role;
use crate::store::{Commit, CommitError};
use crate::web::{Context, Failure};

/// Where the command line says who runs it. Whoever has the admin key is believed: the key stands in a file that only the
/// daemon's own user may read.
pub const OPERATOR: &str = "offerd-operator";

/// Longest name that is logged.
const NAME_CHARS: usize = 64;

/// Who acts: the user who ran the command or, where no name came with it, the holder of the admin key.
pub fn operator(headers: &HeaderMap) -> String {
    let name = headers.get(OPERATOR).and_then(|name| name.to_str().ok()).unwrap_or_default();
    let name: String = name.chars().filter(is_of_a_name).take(NAME_CHARS).collect();
    let name = name.trim().to_owned();
    if name.is_empty() { "admin key".to_owned() } else { name }
}

/// Somebody who acts, as the audit names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Actor {
    /// Who: `user alice`, or by what right.
    pub(super) who: String,
    /// In which role; nothing of who has the machine itself.
    pub(super) role: Option<Role>,
    /// Where from: `command`, or the console and an address.
    pub(super) from: String,
}

impl Actor {
    /// Who gives a command.
    pub(super) fn of_command(context: &Context<App>) -> Self {
        Self { who: operator(&context.request.headers), role: None, from: "command".to_owned() }
    }
}

/// The record of an action: an entry of the audit and a line of the log. `note!` makes one.
pub(super) struct Note<'l> {
    action: &'static str,
    object: Option<String>,
    reason: Option<String>,
    /// Writes the line of the log, given who acts.
    line: Box<dyn FnOnce(&str) + Send + 'l>,
}

impl<'l> Note<'l> {
    /// An action.
    pub(super) fn new(action: &'static str, line: impl FnOnce(&str) + Send + 'l) -> Self {
        Self { action, object: None, reason: None, line: Box::new(line) }
    }

    /// What it is done to.
    pub(super) fn about(self, object: impl Display) -> Self {
        Self { object: Some(object.to_string()), ..self }
    }

    /// Why, where that is said.
    pub(super) fn because<'r>(self, reason: impl Into<Option<&'r str>>) -> Self {
        Self { reason: reason.into().map(str::to_owned), ..self }
    }
}

impl App {
    /// Records something, and logs it; what comes after this is done only if it is recorded.
    ///
    /// # Errors
    /// That it could not be.
    pub(super) async fn note(&self, actor: &Actor, note: Note<'_>) -> Result<(), Failure> {
        let noted = self.commit(actor, note, Commit::new()).await;
        noted.map_err(|failure| {
            unwritten("the record in the audit, without which this is not done,", &failure)
        })
    }

    /// Records and logs something that is done in any case.
    pub(super) async fn note_if_can(&self, actor: &Actor, note: Note<'_>) {
        let Note { action, line, .. } = note;
        if let Err(failure) = self.commit(actor, Note { line: Box::new(|_| ()), ..note }, Commit::new()).await
        {
            error!(%failure, action, "what was done could not be recorded in the audit");
        }
        line(&actor.who);
    }

    /// Commits something together with the record of it, and logs it.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub(super) async fn commit(
        &self,
        actor: &Actor,
        note: Note<'_>,
        commit: Commit,
    ) -> Result<(), CommitError> {
        let Actor { who, role, from } = actor.clone();
        let Note { action, object, reason, line } = note;
        let entry = AuditEntry { who, role, from, action, object, reason };
        self.audit.commit(commit, entry).await.inspect(|()| line(&actor.who))
    }
}

/// What `root (uid 0)` and `alice@example.com (uid 1000)` are made of: nothing that ends a field of the log, or begins one.
fn is_of_a_name(letter: &char) -> bool {
    letter.is_ascii_alphanumeric() || " ()-_.@+$\\".contains(*letter)
}

/// The record of an action, with the fields and the message of its log line: `note!("token.create", id = %id, "token created")`.
/// Without these it is in the audit alone. The log adds the time, the request's id and the listener.
macro_rules! note {
    ($action:expr) => {
        $crate::admin::audit::Note::new($action, |_| ())
    };
    ($action:expr, $($fields:tt)+) => {
        $crate::admin::audit::Note::new($action, |who| $crate::admin::audit::audit_by!(who, $action, $($fields)+))
    };
}

/// Writes a line of the audit log alone, for an action that is recorded elsewhere or at another moment.
macro_rules! audit_by {
    ($who:expr, $action:expr, $($fields:tt)+) => {
        ::tracing::info!(target: $crate::telemetry::logging::AUDIT, who = $who, action = $action, $($fields)+)
    };
}

pub(crate) use audit_by;
pub(super) use note;

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
}
