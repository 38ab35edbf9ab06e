//! `GET`, `POST /console/account`: the visitor's own account and password.

use super::super::password_hash;
use super::super::users::{self, NewUser, UserChange};
use super::links::HOME;
use super::prelude::*;
use super::session::ConsolePrincipal;
use super::sign_in::signed_in;

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    view(request, None, StatusCode::OK)
}

/// Sets the user's password, or adds a visitor without a user account as an administrator. Both end the
/// earlier sessions and links; this session is replaced.
pub(super) async fn set(request: &ConsoleRequest) -> Result<View> {
    match changed(request).await {
        Ok(person) => {
            if let Some(session) = request.session() {
                request.app.console.sessions.sign_out(session);
            }
            signed_in(request, &request.app.console.sessions.begin(person, false).0, HOME)
        }
        Err(failure) => {
            let trouble = failure.errors.iter().find_map(|error| error.message.clone());
            let trouble = trouble.unwrap_or_else(|| "this action is not available".to_owned());
            view(request, Some(trouble), failure.status)
        }
    }
}

async fn changed(request: &ConsoleRequest) -> Result<ConsolePrincipal> {
    let password = request.field("password").unwrap_or_default().to_owned();
    if request.field("again") != Some(password.as_str()) {
        return Err(Failure::bad_attribute("again", "the two passwords differ"));
    }
    let (actor, password) = (request.actor(), Some(password));
    match (request.user(), request.role()) {
        (Some(user), _) => {
            let user = user.to_owned();
            is_them(request, &user).await?;
            let change = UserChange { password, ..UserChange::default() };
            Ok(ConsolePrincipal::of(&users::change(&request.app, &actor, &user, change).await?))
        }
        (None, Some(Role::Administrator)) => {
            let name = request.field("name").unwrap_or_default().to_owned();
            let new = NewUser { name, role: Role::Administrator, password };
            Ok(ConsolePrincipal::of(&users::add(&request.app, &actor, new).await?))
        }
        (None, _) => Err(Failure::forbidden("only an administrator can add a user")),
    }
}

/// Requires the current password, except from an invited user, against abuse of an unattended browser.
async fn is_them(request: &ConsoleRequest, user: &str) -> Result<()> {
    if !asks(request)? {
        return Ok(());
    }
    if is_only_by_proxy(request)? {
        // A proxy proves the user only while it does so; a password would outlast that.
        return Err(Failure::forbidden(
            "a proxy signed you in, so you have no password to change; ask an administrator for an \
                invitation to set one",
        ));
    }
    let attempts = &request.app.console.sessions.attempts;
    let attempt = attempts
        .begin(user)
        .map_err(|_| Failure::forbidden("too many attempts have failed; wait a minute"))?;
    let known = users::known(&request.app, user)?;
    let current = request.field("current").unwrap_or_default();
    if !password_hash::fits(known.password, current).await? {
        return Err(Failure::bad_attribute("current", "wrong password"));
    }
    attempts.succeeded(attempt);
    Ok(())
}

/// Whether the current password is required: if there is one and no invitation began the session.
fn asks(request: &ConsoleRequest) -> Result<bool> {
    let Some(user) = request.user() else { return Ok(false) };
    let Some(session) = request.session() else { return Ok(true) };
    Ok(!session.invited && users::known(&request.app, user)?.password.is_some())
}

fn is_only_by_proxy(request: &ConsoleRequest) -> Result<bool> {
    let Some(user) = request.user().filter(|_| request.session().is_none()) else { return Ok(false) };
    Ok(users::known(&request.app, user)?.password.is_none())
}

fn view(request: &ConsoleRequest, trouble: Option<String>, status: StatusCode) -> Result<View> {
    let role = request.role().unwrap_or(Role::Viewer);
    let fields = fields! {
        user => request.user(),
        who => request.signed_in().unwrap_or("nobody: sign-in is off"),
        role => role.word(), asks => asks(request)?,
        // A proxy's sign-in is not enough to set a password.
        only_by_proxy => is_only_by_proxy(request)?,
        may_begin => request.user().is_none() && role == Role::Administrator,
        trouble,
    };
    Ok(request.bare("Account", "account.html", fields)?.with_status(status))
}
