//! `offerd user add|list|role|password|disable|enable|remove`

use std::io::{self, BufRead, Read};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use hyper::Method;

use super::admin_client::AdminClient;
use super::trouble::Trouble;
use super::{page, values};
use crate::admin::console::links::ConsoleLink;
use crate::admin::users::{ListedUser, NewUser, RemovedUser, UserChange};
use crate::config::Settings;
use crate::sheet::{Sheet, sheet};
use crate::store::users::{Role, Users};

/// Longest line that is read for a password, bytes.
const LINE_BYTES: u64 = 4096;

/// What to do with users.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add a user, and print a link that signs them in once and has them set a password
    Add(Add),
    /// List users with their roles
    #[command(after_help = "\
Examples:
  offerd user list
  offerd user list --json | jq -r '.[] | select(.disabled | not) | .name'")]
    List {
        /// As JSON: of each `name`, `role`, `hasPassword`, `disabled`, `createdAt` and `changedAt`
        #[arg(long)]
        json: bool,
    },
    /// Give a user another role; their sessions end
    #[command(after_help = "\
Examples:
  offerd user role alice operator")]
    Role {
        /// Name of the user
        #[arg(value_parser = name)]
        name: String,
        /// What they may from now on
        #[arg(value_parser = role())]
        role: Role,
    },
    /// Print a link that signs a user in once and has them set a password; or set it
    Password(Password),
    /// Keep a user out until they are enabled again; their sessions end
    #[command(after_help = "\
Examples:
  offerd user disable alice")]
    Disable {
        /// Name of the user
        #[arg(value_parser = name)]
        name: String,
    },
    /// Let a user in again who was disabled
    #[command(after_help = "\
Examples:
  offerd user enable alice")]
    Enable {
        /// Name of the user
        #[arg(value_parser = name)]
        name: String,
    },
    /// Remove a user; their sessions end
    #[command(after_help = "\
Examples:
  offerd user remove alice")]
    Remove {
        /// Name of the user
        #[arg(value_parser = name)]
        name: String,
    },
}

/// `user add`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd user add alice --role operator
  offerd user add alice@example.com --role analyst --at https://offers.example:8082
  offerd user add robin --role viewer --password-stdin < password

Roles, each with all that those before it may:
  viewer         whether all is well, who is asked, what is on offer: no money, and nothing of a lead
  analyst        figures and money
  operator       pause, resume, reload; leads masked, and what is masked with a reason
  administrator  users and the audit")]
pub struct Add {
    /// Name that they sign in with: letters a to z, digits, `.`, `-`, `_`, `@` and `+`
    #[arg(value_parser = name)]
    name: String,
    /// What they may
    #[arg(long, value_parser = role())]
    role: Role,
    #[command(flatten)]
    with: With,
}

/// `user password`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd user password alice
  offerd user password alice --password-stdin < password

Until they set another, their password stays as it is; `offerd user disable` keeps them out at once.")]
pub struct Password {
    /// Name of the user
    #[arg(value_parser = name)]
    name: String,
    #[command(flatten)]
    with: With,
}

/// What they sign in with.
#[derive(Debug, Args)]
struct With {
    /// Read the password from the first line of standard input, at least 12 characters, and print no link
    #[arg(long, conflicts_with = "at")]
    password_stdin: bool,
    /// How browsers reach the admin listener, where that is not its own address
    #[arg(long, value_name = "URL", value_parser = values::address)]
    at: Option<String>,
}

/// Runs `offerd user`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = &super::settings(config)?;
    match command {
        Command::Add(add) => add.run(settings).await,
        Command::Password(password) => password.run(settings).await,
        Command::List { json } => list(settings, json).await,
        Command::Role { name, role } => {
            let change = UserChange { role: Some(role), ..UserChange::default() };
            changed(settings, &name, &change, &format!("is {} from now on", role.word())).await
        }
        Command::Disable { name } => {
            let change = UserChange { disabled: Some(true), ..UserChange::default() };
            changed(settings, &name, &change, "is kept out; their sessions have ended").await
        }
        Command::Enable { name } => {
            let change = UserChange { disabled: Some(false), ..UserChange::default() };
            changed(settings, &name, &change, "may sign in again").await
        }
        Command::Remove { name } => remove(settings, &name).await,
    }
}

impl Add {
    async fn run(self, settings: &Settings) -> Result<(), Trouble> {
        let password = self.with.password()?;
        let admin = AdminClient::find_or_make(settings).await?;
        let new = NewUser { name: self.name, role: self.role, password };
        let added: ListedUser = admin.post("/users", &new).await?;
        tell!("added {} as {}", added.name, added.role.word());
        if !added.has_password {
            self.with.invite(&admin, &added.name).await?;
        }
        Ok(admin.close()?)
    }
}

impl Password {
    async fn run(self, settings: &Settings) -> Result<(), Trouble> {
        let Some(password) = self.with.password()? else {
            let admin = AdminClient::find(settings).await?;
            self.with.invite(&admin, &self.name).await?;
            return Ok(admin.close()?);
        };
        let change = UserChange { password: Some(password), ..UserChange::default() };
        changed(settings, &self.name, &change, "has another password; their sessions have ended").await
    }
}

impl With {
    /// The password that standard input gives, if it is to.
    fn password(&self) -> Result<Option<String>, String> {
        if !self.password_stdin {
            return Ok(None);
        }
        let mut line = String::new();
        let read = io::stdin().lock().take(LINE_BYTES).read_line(&mut line);
        read.map_err(|error| format!("the password cannot be read from standard input: {error}"))?;
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Prints a link. A stopped daemon would have forgotten it by its start.
    async fn invite(&self, admin: &AdminClient, name: &str) -> Result<(), String> {
        if admin.is_stopped() {
            tell!(
                "no daemon runs: once one does, `offerd user password {name}` prints a link to set a password with"
            );
            return Ok(());
        }
        let path = format!("/users/{name}/invitation");
        let link: ConsoleLink = admin.ask(Method::POST, &path).await?;
        if let Some(seconds) = link.expires_in_s {
            tell!("signs {name} in once, within {} hours, to set a password:", seconds / 3600);
        }
        page::print(link.reached_at(&admin.url(""), self.at.as_deref()).url);
        Ok(())
    }
}

async fn list(settings: &Settings, json: bool) -> Result<(), Trouble> {
    let admin = AdminClient::find(settings).await?;
    let users: Vec<ListedUser> = admin.ask(Method::GET, "/users").await?;
    page::show(&users, json, || page::print_sheet(&sheet(&users)))?;
    admin.warn_of_damage().await;
    Ok(admin.close()?)
}

async fn changed(settings: &Settings, name: &str, change: &UserChange, words: &str) -> Result<(), Trouble> {
    let admin = AdminClient::find(settings).await?;
    let user: ListedUser = admin.post(&format!("/users/{name}"), change).await?;
    tell!("{} {words}", user.name);
    Ok(admin.close()?)
}

async fn remove(settings: &Settings, name: &str) -> Result<(), Trouble> {
    let admin = AdminClient::find(settings).await?;
    let removed: RemovedUser = admin.ask(Method::DELETE, &format!("/users/{name}")).await?;
    admin.close()?;
    if !removed.found {
        return Err(Trouble::Other(format!(
            "there is no user `{name}`; `offerd user list` shows who there is"
        )));
    }
    tell!("{name} is removed; their sessions have ended");
    Ok(())
}

fn sheet(users: &[ListedUser]) -> Sheet {
    sheet!(users, user => {
        "name" => &user.name,
        "role" => user.role.word(),
        "signs in" => match (user.disabled, user.has_password) {
            (true, _) => "disabled",
            (false, true) => "with a password",
            (false, false) => "has set no password",
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
