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

pub(super) async fn show(visit: &ConsoleRequest) -> Result<View> {
    page(visit, Ok(UserChangeResult::default())).await
}

pub(super) async fn add(visit: &ConsoleRequest) -> Result<View> {
    page(visit, added(visit).await).await
}

pub(super) async fn change(visit: &ConsoleRequest) -> Result<View> {
    let name = visit.params.get("name").unwrap_or_default().to_owned();
    page(visit, changed(visit, &name).await).await
}

async fn added(visit: &ConsoleRequest) -> Result<UserChangeResult> {
    let name = visit.field("name").unwrap_or_default().trim().to_owned();
    let new = NewUser { name, role: role(visit)?, password: None };
    let user = users::add(&visit.app, &visit.actor(), new).await?;
    let done = Some(format!("{} is added as {}.", user.name, user.role.word()));
    Ok(UserChangeResult { done, ..invite(visit, &user.name).await? })
}

async fn changed(visit: &ConsoleRequest, name: &str) -> Result<UserChangeResult> {
    let nothing = UserChange::default();
    let own = visit.person().and_then(|person| person.user.as_deref());
    // Commands on the machine may do so, since they can add another.
    if own.is_some_and(|own| own.eq_ignore_ascii_case(name))
        && match visit.field("do") {
            Some("role") => role(visit)? != Role::Administrator,
            Some("disable" | "remove") => true,
            _ => false,
        }
        && users::is_last_administrator(&visit.app, &name.to_ascii_lowercase())?
    {
        return Err(Failure::bad_attribute("name", LAST));
    }
    let (what, words) = match visit.field("do").unwrap_or_default() {
        "invite" => return invite(visit, name).await,
        "remove" => {
            if !users::remove(&visit.app, &visit.actor(), name).await? {
                return Err(Failure::unknown("There is no such user any longer."));
            }
            return Ok(UserChangeResult { done: Some("The user is removed.".to_owned()), link: None });
        }
        "role" => (UserChange { role: Some(role(visit)?), ..nothing }, "has another role"),
        "disable" => (UserChange { disabled: Some(true), ..nothing }, "is disabled"),
        "enable" => (UserChange { disabled: Some(false), ..nothing }, "may sign in again"),
        _ => return Err(Failure::bad_attribute("do", "must be invite, role, disable, enable or remove")),
    };
    let UserRecord { name, .. } = users::change(&visit.app, &visit.actor(), name, what).await?;
    Ok(UserChangeResult { done: Some(format!("{name} {words}.")), link: None })
}

/// The link is shown as a path, so that the browser copies it with the address it uses itself.
async fn invite(visit: &ConsoleRequest, name: &str) -> Result<UserChangeResult> {
    let link = users::create_link(&visit.app, &visit.actor(), name).await?;
    let path = link.url.strip_prefix(&visit.app.run_file.admin).unwrap_or(&link.url).to_owned();
    Ok(UserChangeResult { link: Some((name.to_owned(), path)), done: None })
}

fn role(visit: &ConsoleRequest) -> Result<Role> {
    let role = visit.field("role").and_then(Role::named);
    role.ok_or_else(|| Failure::bad_attribute("role", "must be a role"))
}

async fn page(visit: &ConsoleRequest, came: Result<UserChangeResult>) -> Result<View> {
    let (UserChangeResult { link, done }, failure) = outcome(came);
    let trouble = failure.as_ref().map(Failure::words);
    let users = visit.reading(users::all).await??;
    let roles = Role::ALL.map(Role::word);
    Ok(visit.view(PAGE, fields! { users, roles, link, done, trouble })?.failed(failure.as_ref()))
}
