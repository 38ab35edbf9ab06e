//! `offerd user add|list|role|password|disable|enable|remove`

use std::io::{self, BufRead, Read};

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::prelude::*;
use offerd_admin::console::links::ConsoleLink;
use offerd_admin::users::{ListedUser, NewUser, UserChange};
use offerd_store::users::{Role, Users};

/// Longest password line read, bytes.
const LINE_BYTES: u64 = 4096;

/// Actions on users.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a user, and print a one-time sign-in link with which they set a password
    Add {
        /// Name to sign in with: letters a to z, digits, `.`, `-`, `_`, `@` and `+`
        #[arg(value_parser = name)]
        name: String,
        /// Role of the user
        #[arg(long, value_parser = role())]
        role: Role,
        #[command(flatten)]
        with: InitialCredential,
    },
    /// List users with their roles
    List {
        /// Print JSON: `name`, `role`, `hasPassword`, `disabled`, `createdAt` and `changedAt` of each
        #[arg(long)]
        json: bool,
    },
    /// Change a user's role; ends their sessions
    Role {
        #[command(flatten)]
        user: UserNameArgument,
        /// The new role
        #[arg(value_parser = role())]
        role: Role,
    },
    /// Print a one-time sign-in link with which a user sets a password; or set the password directly
    Password {
        #[command(flatten)]
        user: UserNameArgument,
        #[command(flatten)]
        with: InitialCredential,
    },
    /// Disable a user until they are enabled again; ends their sessions
    Disable(UserNameArgument),
    /// Enable a disabled user
    Enable(UserNameArgument),
    /// Remove a user; ends their sessions
    Remove(UserNameArgument),
}

/// An existing user.
#[derive(Debug, Args)]
pub struct UserNameArgument {
    /// Name of the user
    #[arg(value_parser = name)]
    name: String,
}

/// How the user first signs in.
#[derive(Debug, Args)]
pub struct InitialCredential {
    /// Read the password from the first line of standard input, at least 12 characters, and print no link
    #[arg(long, conflicts_with = "at")]
    password_stdin: bool,
    /// URL at which browsers reach the admin listener, if it is not the listener's own address
    #[arg(long, value_name = "URL", value_parser = values::address)]
    at: Option<String>,
}

/// Runs `offerd user`.
pub async fn run(settings: &Settings, command: UserCommand) -> Result<(), CommandError> {
    let same = UserChange::default();
    match command {
        UserCommand::Add { name, role, with } => {
            let password = with.password()?;
            let admin = AdminClient::find_to_change(settings).await?;
            if password.is_none() && !admin.is_stopped() {
                page::can_print()?;
            }
            let added: ListedUser = admin.post("/users", &NewUser { name, role, password }).await?;
            tell!("added {} as {}", added.name, added.role.word());
            if !added.has_password {
                with.invite(&admin, &added.name).await?;
            }
            Ok(())
        }
        UserCommand::Password { user: UserNameArgument { name }, with } => match with.password()? {
            None => Ok(with.invite(&AdminClient::find(settings).await?, &name).await?),
            password => {
                let change = UserChange { password, ..same };
                changed(settings, &name, &change, "has a new password; their sessions have ended").await
            }
        },
        UserCommand::List { json } => {
            let admin = AdminClient::find(settings).await?;
            let users: Vec<ListedUser> = admin.ask(Method::GET, "/users").await?;
            page::show(&users, json, || page::print_sheet(&sheet(&users)))?;
            admin.warn_of_damage().await;
            Ok(())
        }
        UserCommand::Role { user: UserNameArgument { name }, role } => {
            let change = UserChange { role: Some(role), ..same };
            changed(settings, &name, &change, &format!("is {} from now on", role.word())).await
        }
        UserCommand::Disable(UserNameArgument { name }) => {
            let change = UserChange { disabled: Some(true), ..same };
            changed(settings, &name, &change, "is disabled; their sessions have ended").await
        }
        UserCommand::Enable(UserNameArgument { name }) => {
            let change = UserChange { disabled: Some(false), ..same };
            changed(settings, &name, &change, "may sign in again").await
        }
        UserCommand::Remove(UserNameArgument { name }) => {
            if !AdminClient::find(settings)
                .await?
                .send_and_find(Method::DELETE, &format!("/users/{name}"))
                .await?
            {
                return Err(format!("there is no user `{name}`; `offerd user list` lists them").into());
            }
            tell!("{name} is removed; their sessions have ended");
            Ok(())
        }
    }
}

impl InitialCredential {
    /// The password from standard input, if `--password-stdin` is given.
    fn password(&self) -> Result<Option<String>, String> {
        if !self.password_stdin {
            return Ok(None);
        }
        let mut line = String::new();
        let read = io::stdin().lock().take(LINE_BYTES).read_line(&mut line);
        read.map_err(|error| format!("the password cannot be read from standard input: {error}"))?;
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Prints an invitation link. A stopped daemon prints none: links do not survive a restart.
    async fn invite(&self, admin: &AdminClient, name: &str) -> Result<(), String> {
        if admin.is_stopped() {
            tell!(
                "no daemon runs: once one does, `offerd user password {name}` prints a link to set a password with"
            );
            return Ok(());
        }
        page::can_print()?;
        let path = format!("/users/{name}/invitation");
        let link: ConsoleLink = admin.ask(Method::POST, &path).await?;
        if let Some(seconds) = link.expires_in_s {
            tell!("signs {name} in once, within {} hours, to set a password:", seconds / 3600);
        }
        page::print(link.reached_at(&admin.url(""), self.at.as_deref()).url);
        Ok(())
    }
}

async fn changed(settings: &Settings, name: &str, to: &UserChange, words: &str) -> Result<(), CommandError> {
    let user: ListedUser = AdminClient::find(settings).await?.post(&format!("/users/{name}"), to).await?;
    tell!("{} {words}", user.name);
    Ok(())
}

fn sheet(users: &[ListedUser]) -> Sheet {
    sheet!(users, user => {
        "name" => &user.name,
        "role" => user.role.word(),
        "signs in" => match (user.disabled, user.has_password) {
            (true, _) => "disabled",
            (false, true) => "with a password",
            (false, false) => "no password yet",
        },
        "since": Time => user.created_at,
    })
}

fn name(text: &str) -> Result<String, String> {
    Users::fault(text).map_or_else(|| Ok(text.to_ascii_lowercase()), Err)
}

fn role() -> impl TypedValueParser<Value = Role> {
    let named = |word: String| Role::named(&word).expect("only the names of roles are taken");
    PossibleValuesParser::new(Role::ALL.map(Role::word)).map(named)
}
