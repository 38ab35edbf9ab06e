//! Addresses of the console, and one-time sign-in links.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::AdminState;
use super::session::{ConsolePrincipal, INVITATION_LIFE, LINK_LIFE};
use offerd_store::users::UserRecord;

pub(super) const HOME: &str = "/console";

pub(super) const SIGN_IN: &str = "/console/signIn";

/// Answer to `offerd console`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleLink {
    /// The console's address.
    pub url: String,
    /// Whether a sign-in is required; the link signs in.
    pub sign_in: bool,
    /// Lifetime of the link, seconds; `None` if no sign-in is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

impl ConsoleLink {
    /// The link with the address at which browsers reach the listener, if that is not its own.
    pub fn reached_at(self, own: &str, at: Option<&str>) -> Self {
        Self { url: at.map_or_else(|| self.url.clone(), |at| self.url.replacen(own, at, 1)), ..self }
    }
}

/// The one-time link of the first start, whose user becomes the first administrator.
pub fn first_link(app: &AdminState) -> String {
    link_of(app, ConsolePrincipal::of_machine("link of the first start".to_owned()), true, LINK_LIFE).url
}

pub(crate) fn invitation(app: &AdminState, user: &UserRecord) -> ConsoleLink {
    link_of(app, ConsolePrincipal::of(user), true, INVITATION_LIFE)
}

/// The console's address, with a one-time sign-in link if a sign-in is required.
pub(super) fn link_of(app: &AdminState, who: ConsolePrincipal, invites: bool, life: Duration) -> ConsoleLink {
    let base = &app.run_file.admin;
    if !app.console.sessions.rules.required {
        return ConsoleLink { url: format!("{base}{HOME}"), sign_in: false, expires_in_s: None };
    }
    let code = app.console.sessions.link(who, invites, life);
    let url = format!("{base}{SIGN_IN}?code={code}");
    ConsoleLink { url, sign_in: true, expires_in_s: Some(life.as_secs()) }
}
