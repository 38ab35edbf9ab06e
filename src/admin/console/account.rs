//! `GET`, `POST /console/account`: the visitor's own account and password.

use super::super::password_hash;
use super::super::users::{self, NewUser, UserChange};
use super::links::HOME;
use super::prelude::*;
use super::session::ConsolePrincipal;
use super::sign_in::signed_in;

pub(super) async fn show(visit: &ConsoleRequest) -> Result<View> {
    view(visit, None, StatusCode::OK)
}

/// Sets the user's password, or adds a visitor without a user account as an administrator. Both end the
/// earlier sessions and links; this session is replaced.
pub(super) async fn set(visit: &ConsoleRequest) -> Result<View> {
    match changed(visit).await {
        Ok(person) => {
            if let Some(session) = visit.session() {
                visit.app.console.sessions.sign_out(session);
            }
            signed_in(visit, &visit.app.console.sessions.begin(person, false).0, HOME)
        }
        Err(failure) => {
            let trouble = failure.errors.iter().find_map(|error| error.message.clone());
            let trouble = trouble.unwrap_or_else(|| "this action is not available".to_owned());
            view(visit, Some(trouble), failure.status)
        }
    }
}

async fn changed(visit: &ConsoleRequest) -> Result<ConsolePrincipal> {
    let password = visit.field("password").unwrap_or_default().to_owned();
    if visit.field("again") != Some(password.as_str()) {
        return Err(Failure::bad_attribute("again", "the two passwords differ"));
    }
    let (actor, password) = (visit.actor(), Some(password));
    match (visit.user(), visit.role()) {
        (Some(user), _) => {
            let user = user.to_owned();
            is_them(visit, &user).await?;
            let change = UserChange { password, ..UserChange::default() };
            Ok(ConsolePrincipal::of(&users::change(&visit.app, &actor, &user, change).await?))
        }
        (None, Some(Role::Administrator)) => {
            let name = visit.field("name").unwrap_or_default().to_owned();
            let new = NewUser { name, role: Role::Administrator, password };
            Ok(ConsolePrincipal::of(&users::add(&visit.app, &actor, new).await?))
        }
        (None, _) => Err(Failure::forbidden("only an administrator can add a user")),
    }
}

/// Requires the current password, except from an invited user, against abuse of an unattended browser.
async fn is_them(visit: &ConsoleRequest, user: &str) -> Result<()> {
    if !asks(visit)? {
        return Ok(());
    }
    if is_only_by_proxy(visit)? {
        // A proxy proves the user only while it does so; a password would outlast that.
        return Err(Failure::forbidden(
            "a proxy signed you in, so you have no password to change; ask an administrator for an \
                invitation to set one",
        ));
    }
    let attempts = &visit.app.console.sessions.attempts;
    let attempt = attempts
        .begin(user)
        .map_err(|_| Failure::forbidden("too many attempts have failed; wait a minute"))?;
    let known = users::known(&visit.app, user)?;
    let current = visit.field("current").unwrap_or_default();
    if !password_hash::fits(known.password, current).await? {
        return Err(Failure::bad_attribute("current", "wrong password"));
    }
    attempts.succeeded(attempt);
    Ok(())
}

/// Whether the current password is required: if there is one and no invitation began the session.
fn asks(visit: &ConsoleRequest) -> Result<bool> {
    let Some(user) = visit.user() else { return Ok(false) };
    let Some(session) = visit.session() else { return Ok(true) };
    Ok(!session.invited && users::known(&visit.app, user)?.password.is_some())
}

fn is_only_by_proxy(visit: &ConsoleRequest) -> Result<bool> {
    let Some(user) = visit.user().filter(|_| visit.session().is_none()) else { return Ok(false) };
    Ok(users::known(&visit.app, user)?.password.is_none())
}

fn view(visit: &ConsoleRequest, trouble: Option<String>, status: StatusCode) -> Result<View> {
    let role = visit.role().unwrap_or(Role::Viewer);
    let fields = fields! {
        user => visit.user(),
        who => visit.signed_in().unwrap_or("nobody: sign-in is off"),
        role => role.word(), asks => asks(visit)?,
        // A proxy's sign-in is not enough to set a password.
        only_by_proxy => is_only_by_proxy(visit)?,
        may_begin => visit.user().is_none() && role == Role::Administrator,
        trouble,
    };
    Ok(visit.bare("Account", "account.html", fields)?.with_status(status))
}
