//! `/users` and the paths below it for `offerd user`, and changes to users, for the console too.

use super::console::links::{ConsoleLink, invitation};
use super::password_hash;
use super::prelude::*;
use offerd_store::users::{Role, USERS, UserRecord, Users};
use offerd_store::{CommitError, ReadError};

const RETRY_AFTER_S: u32 = 5;

/// A user to add.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Their name.
    pub name: String,
    /// Their role.
    pub role: Role,
    /// Their password; `None` if an invitation lets them set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// Changes to a user.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    /// The new role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The new password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Whether the account is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// A user in a list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedUser {
    /// Their name.
    pub name: String,
    /// Their role.
    pub role: Role,
    /// Whether they have set a password.
    pub has_password: bool,
    /// Whether the account is disabled.
    pub disabled: bool,
    /// When they were added, Unix milliseconds.
    pub created_at: i64,
    /// When the record last changed, Unix milliseconds.
    pub changed_at: i64,
}

impl From<UserRecord> for ListedUser {
    fn from(user: UserRecord) -> Self {
        let UserRecord { name, role, password, disabled, removed: _, created_at, changed_at } = user;
        Self { name, role, has_password: password.is_some(), disabled, created_at, changed_at }
    }
}

operations! {
    list(context) => all(&context.app)?;
    create(context, new: NewUser) => ListedUser::from(add(&context.app, &by(&context), new).await?);
    update(context, what: UserChange) =>
        ListedUser::from(change(&context.app, &by(&context), name(&context), what).await?);
    delete(context) => TargetExists { found: remove(&context.app, &by(&context), name(&context)).await? };
    invite(context) => create_link(&context.app, &by(&context), name(&context)).await?;
}

fn name(context: &Context) -> &str {
    context.params.get("name").unwrap_or_default()
}

pub(super) fn all(app: &AdminState) -> Result<Vec<ListedUser>> {
    Ok(Users::of(app.store.clone()).list().map_err(unread)?.into_iter().map(ListedUser::from).collect())
}

pub(super) async fn add(app: &AdminState, actor: &AuditActor, new: NewUser) -> Result<UserRecord> {
    let NewUser { name, role, password } = new;
    if let Some(fault) = Users::fault(&name) {
        return Err(Failure::bad_attribute("name", fault));
    }
    if all(app)?.len() >= USERS {
        let message = format!("there are {USERS} users already; remove one first");
        return Err(Failure::bad_attribute("name", message));
    }
    let password = match password {
        Some(password) => Some(password_hash::make(&password).await?),
        None => None,
    };
    let user = UserRecord::new(&name, role, password);
    let (name, word) = (&user.name, role.word());
    let note = note!("user.add", user = name, role = word, "user added").about(format!("{name} as {word}"));
    let removed = find_also_removed(app, name)?;
    app.commit(actor, note, user.added(removed.as_ref())).await.map_err(|failure| match failure {
        CommitError::Guard { .. } => Failure::bad_attribute("name", format!("user `{name}` exists already")),
        failure => unwritten("the user", &failure),
    })?;
    Ok(user)
}

/// Changes a user and ends their sessions: when this returns, the old permissions no longer apply.
pub(super) async fn change(
    app: &AdminState,
    actor: &AuditActor,
    name: &str,
    what: UserChange,
) -> Result<UserRecord> {
    let known = known(app, name)?;
    let mut user = known.clone();
    user.role = what.role.unwrap_or(user.role);
    user.disabled = what.disabled.unwrap_or(user.disabled);
    if let Some(password) = &what.password {
        user.password = Some(password_hash::make(password).await?);
    }
    user.changed_at = chrono::Utc::now().timestamp_millis();
    let action = match what {
        UserChange { password: Some(_), .. } => "user.password",
        UserChange { disabled: Some(true), .. } => "user.disable",
        UserChange { disabled: Some(false), .. } => "user.enable",
        UserChange { .. } => "user.role",
    };
    let (name, word) = (&user.name, user.role.word());
    let note = note!(action, user = name, role = word, "user changed").about(format!("{name} as {word}"));
    app.commit(actor, note, user.replaces(&known)).await.map_err(changed_meanwhile)?;
    app.console.end_sessions_of(&user.name);
    Ok(user)
}

pub(super) async fn remove(app: &AdminState, actor: &AuditActor, name: &str) -> Result<bool> {
    let Some(known) = find(app, name)? else { return Ok(false) };
    let note = note!("user.remove", user = known.name, "user removed").about(&known.name);
    app.commit(actor, note, known.removal()).await.map_err(changed_meanwhile)?;
    app.console.end_sessions_of(&known.name);
    Ok(true)
}

/// Whether a user is the only one who may administer the console.
pub(super) fn is_last_administrator(app: &AdminState, name: &str) -> Result<bool> {
    let mut users = all(app)?;
    users.retain(|user| user.role == Role::Administrator && !user.disabled);
    Ok(matches!(&users[..], [last] if last.name == name))
}

/// A one-time sign-in link with which a user sets a password. Fails for a disabled account.
pub(super) async fn create_link(app: &AdminState, actor: &AuditActor, name: &str) -> Result<ConsoleLink> {
    let user = known(app, name)?;
    if user.disabled {
        let message = format!("`{name}` is disabled; `offerd user enable {name}` lets them in again");
        return Err(Failure::bad_attribute("name", message));
    }
    app.note(actor, note!("user.invite", user = user.name, "link for a user made").about(&user.name)).await?;
    Ok(invitation(app, &user))
}

pub(super) fn known(app: &AdminState, name: &str) -> Result<UserRecord> {
    find(app, name)?.ok_or_else(|| Failure::unknown(&format!("There is no user `{}`", printable(name))))
}

pub(super) fn find(app: &AdminState, name: &str) -> Result<Option<UserRecord>> {
    Ok(find_also_removed(app, name)?.filter(|user| !user.removed))
}

pub(super) fn find_also_removed(app: &AdminState, name: &str) -> Result<Option<UserRecord>> {
    Users::of(app.store.clone()).find_also_removed(name).map_err(|failure: ReadError| {
        error!(%failure, "a user could not be read");
        Failure::unreadable(RETRY_AFTER_S)
    })
}

/// A valid name unchanged; an invalid one as an empty text.
fn printable(name: &str) -> &str {
    if Users::fault(name).is_none() { name } else { "" }
}

fn changed_meanwhile(failure: CommitError) -> Failure {
    match failure {
        CommitError::Guard { .. } => {
            Failure::bad_attribute("name", "somebody else has just changed this user; check, and try again")
        }
        failure => unwritten("the user", &failure),
    }
}
