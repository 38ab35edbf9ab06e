//! The audit: who changed what may be done here, or saw what is masked, and when. Each is a record in the store ([`AuditLog`](crate::store::audit::AuditLog)) and a line
//! of the log with the target `audit`, so that a filter such as `audit=info` collects nothing else; never with a secret.
//!
//! The record is written in one commit with what it tells, where that is a commit; before it is done, where it shows what is masked,
//! reloads or erases; and of the rest when it can be, since nobody is to be kept from a sick store by its audit.

use std::fmt::Display;

use hyper::HeaderMap;
use tracing::error;

use super::App;
use super::unwritten::unwritten;
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

    fn entry(&self, note: Note) -> AuditEntry {
        let Self { who, role, from } = self.clone();
        let Note { action, object, reason } = note;
        AuditEntry { who, role, from, action, object, reason }
    }
}

/// What is recorded of what somebody does.
#[derive(Debug, Clone)]
pub(super) struct Note {
    action: &'static str,
    object: Option<String>,
    reason: Option<String>,
}

impl Note {
    /// An action.
    pub(super) fn of(action: &'static str) -> Self {
        Self { action, object: None, reason: None }
    }

    /// What it is done to.
    pub(super) fn about(self, object: impl Display) -> Self {
        Self { object: Some(object.to_string()), ..self }
    }

    /// Why.
    pub(super) fn because(self, reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..self }
    }
}

impl App {
    /// Records something; what comes after this is done only if it is recorded.
    ///
    /// # Errors
    /// That it could not be.
    pub(super) async fn note(&self, actor: &Actor, note: Note) -> Result<(), Failure> {
        let noted = self.commit(actor, note, Commit::new()).await;
        noted.map_err(|failure| {
            unwritten("the record in the audit, without which this is not done,", &failure)
        })
    }

    /// Records something that is done in any case.
    pub(super) async fn note_if_can(&self, actor: &Actor, note: Note) {
        let action = note.action;
        if let Err(failure) = self.commit(actor, note, Commit::new()).await {
            error!(%failure, action, "what was done could not be recorded in the audit");
        }
    }

    /// Commits something together with the record of it.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub(super) async fn commit(&self, actor: &Actor, note: Note, commit: Commit) -> Result<(), CommitError> {
        self.audit.commit(commit, actor.entry(note)).await
    }
}

/// What `root (uid 0)` and `alice@example.com (uid 1000)` are made of: nothing that ends a field of the log, or begins one.
fn is_of_a_name(letter: &char) -> bool {
    letter.is_ascii_alphanumeric() || " ()-_.@+$\\".contains(*letter)
}

/// Writes one line of the audit log: `audit!(context, "token.create", id = %id)`. The log adds the time, the request's id
/// and the listener.
macro_rules! audit {
    ($context:expr, $action:literal, $($fields:tt)+) => {
        $crate::admin::audit::audit_by!(
            $crate::admin::audit::operator(&$context.request.headers),
            $action,
            $($fields)+
        )
    };
}

/// The same where it is known by name who acts, as when a command works on a stopped daemon's store.
macro_rules! audit_by {
    ($who:expr, $action:expr, $($fields:tt)+) => {
        ::tracing::info!(target: $crate::telemetry::logging::AUDIT, who = $who, action = $action, $($fields)+)
    };
}

pub(super) use audit;
pub(crate) use audit_by;

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
