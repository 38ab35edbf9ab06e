//! `GET`, `POST /console/people`, `POST /console/people/{name}`: the users of the console.

use super::super::users::{self, NewUser, UserChange};
use super::prelude::*;

const PAGE: ConsolePage = ConsolePage::new(Section::People, "people.html");

const LAST: &str = "is you, the last administrator; make another user an administrator first";

#[derive(Default)]
struct UserChangeResult {
    /// A new link's user, and its path.
    link: Option<(String, String)>,
    done: Option<String>,
}

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    page(request, Ok(UserChangeResult::default())).await
}

pub(super) async fn add(request: &ConsoleRequest) -> Result<View> {
    page(request, added(request).await).await
}

pub(super) async fn change(request: &ConsoleRequest) -> Result<View> {
    let name = request.params.get("name").unwrap_or_default().to_owned();
    page(request, changed(request, &name).await).await
}

async fn added(request: &ConsoleRequest) -> Result<UserChangeResult> {
    let name = request.field("name").unwrap_or_default().trim().to_owned();
    let new = NewUser { name, role: role(request)?, password: None };
    let user = users::add(&request.app, &request.actor(), new).await?;
    let done = Some(format!("{} is added as {}.", user.name, user.role.word()));
    Ok(UserChangeResult { done, ..invite(request, &user.name).await? })
}

async fn changed(request: &ConsoleRequest, name: &str) -> Result<UserChangeResult> {
    let nothing = UserChange::default();
    let own = request.person().and_then(|person| person.user.as_deref());
    // Commands on the machine may do so, since they can add another.
    if own.is_some_and(|own| own.eq_ignore_ascii_case(name))
        && match request.field("do") {
            Some("role") => role(request)? != Role::Administrator,
            Some("disable" | "remove") => true,
            _ => false,
        }
        && users::is_last_administrator(&request.app, &name.to_ascii_lowercase())?
    {
        return Err(Failure::bad_attribute("name", LAST));
    }
    let (what, words) = match request.field("do").unwrap_or_default() {
        "invite" => return invite(request, name).await,
        "remove" => {
            if !users::remove(&request.app, &request.actor(), name).await? {
                return Err(Failure::unknown("There is no such user any longer."));
            }
            return Ok(UserChangeResult { done: Some("The user is removed.".to_owned()), link: None });
        }
        "role" => (UserChange { role: Some(role(request)?), ..nothing }, "has another role"),
        "disable" => (UserChange { disabled: Some(true), ..nothing }, "is disabled"),
        "enable" => (UserChange { disabled: Some(false), ..nothing }, "may sign in again"),
        _ => return Err(Failure::bad_attribute("do", "must be invite, role, disable, enable or remove")),
    };
    let UserRecord { name, .. } = users::change(&request.app, &request.actor(), name, what).await?;
    Ok(UserChangeResult { done: Some(format!("{name} {words}.")), link: None })
}

/// The link is shown as a path, so that the browser copies it with the address it uses itself.
async fn invite(request: &ConsoleRequest, name: &str) -> Result<UserChangeResult> {
    let link = users::create_link(&request.app, &request.actor(), name).await?;
    let path = link.url.strip_prefix(&request.app.run_file.admin).unwrap_or(&link.url).to_owned();
    Ok(UserChangeResult { link: Some((name.to_owned(), path)), done: None })
}

fn role(request: &ConsoleRequest) -> Result<Role> {
    let role = request.field("role").and_then(Role::named);
    role.ok_or_else(|| Failure::bad_attribute("role", "must be a role"))
}

async fn page(request: &ConsoleRequest, came: Result<UserChangeResult>) -> Result<View> {
    let (UserChangeResult { link, done }, failure) = outcome(came);
    let trouble = failure.as_ref().map(Failure::words);
    let users = request.reading(users::all).await??;
    let roles = Role::ALL.map(Role::word);
    Ok(request.view(PAGE, fields! { users, roles, link, done, trouble })?.failed(failure.as_ref()))
}
