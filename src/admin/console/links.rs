//! Addresses of the console, and links that sign in once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::App;
use super::session::{INVITATION_LIFE, LINK_LIFE, Person};
use offerd_store::users::UserRecord;

/// Where the console begins.
pub(super) const HOME: &str = "/console";

/// Where to sign in.
pub(super) const SIGN_IN: &str = "/console/signIn";

/// What `offerd console` is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleLink {
    /// Where to look.
    pub url: String,
    /// Whether one has to sign in there, which the link does.
    pub sign_in: bool,
    /// How long the link may be used, seconds; nothing where there is no need to sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

impl ConsoleLink {
    /// The same as it is reached from elsewhere, where that is not the address of the listener itself.
    pub fn reached_at(self, own: &str, at: Option<&str>) -> Self {
        let url = at.map_or_else(|| self.url.clone(), |at| self.url.replacen(own, at, 1));
        Self { url, ..self }
    }
}

/// The sign-in link of the first start, good for one use: its user sets a name and a password, and becomes the first
/// administrator.
pub fn first_link(app: &App) -> String {
    link_of(app, Person::of_machine("link of the first start".to_owned()), true, LINK_LIFE).url
}

/// A link that signs a user in once, and has them set a password.
pub(crate) fn invitation(app: &App, user: &UserRecord) -> ConsoleLink {
    link_of(app, Person::of(user), true, INVITATION_LIFE)
}

/// Where the console is, with a link to sign in once where that is asked for.
pub(super) fn link_of(app: &App, person: Person, invites: bool, life: Duration) -> ConsoleLink {
    let base = &app.run_file.admin;
    if !app.console.sessions.rules.required {
        return ConsoleLink { url: format!("{base}{HOME}"), sign_in: false, expires_in_s: None };
    }
    let code = app.console.sessions.link(person, invites, life);
    ConsoleLink {
        url: format!("{base}{SIGN_IN}?code={code}"),
        sign_in: true,
        expires_in_s: Some(life.as_secs()),
    }
}
