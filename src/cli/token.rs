//! `offerd token create|list|revoke`
//!
//! With a running daemon the commands go over its admin listener; without one they open the store themselves.

use std::path::Path;
use std::process::ExitCode;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use comfy_table::Table;
use hyper::Method;
use uuid::Uuid;

use super::client::Client;
use super::page;
use crate::admin::tokens::{Created, Listed, Revoked};
use crate::config::Settings;
use crate::model::TokenKind;
use crate::run_file::RunFile;
use crate::store::tokens::{NewToken, Tokens};
use crate::store::{Store, StoreOptions};

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a token and print it, alone, on standard output; it is told nowhere else
    Create(Create),
    /// List tokens; the tokens themselves are kept nowhere
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// End a token, by the id that `list` shows
    Revoke {
        /// Id of the token
        id: Uuid,
    },
}

/// `token create`
#[derive(Debug, Args)]
pub struct Create {
    /// Company that the token belongs to; made when there is none of this name
    #[arg(long, value_name = "NAME")]
    company: String,
    /// What the token may do
    #[arg(long)]
    kind: Kind,
    /// Leads of this token are tests
    #[arg(long)]
    test: bool,
    /// Set the company's look-back: the same person and products within so many minutes is a duplicate (409)
    #[arg(long, value_name = "MINUTES")]
    duplicate_look_back: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Shipped in application code: submit leads and read their rate tables
    Publishable,
    /// Kept like a password: also read leads and the analytics feeds
    Confidential,
}

/// Runs `offerd token`.
pub fn run(config: Option<&Path>, command: Command) -> ExitCode {
    let settings = match super::settings(config) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    match super::block_on(execute(&settings, command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => super::fail(message),
    }
}

async fn execute(settings: &Settings, command: Command) -> Result<(), String> {
    let keeper = Keeper::find(settings).await?;
    match command {
        Command::Create(create) => {
            let created = keeper.create(create.into()).await?;
            page::print(created.token);
            eprintln!("token {} of company {}; it is shown only now", created.id, created.company);
        }
        Command::List { json: true } => {
            let tokens = keeper.list().await?;
            page::print(serde_json::to_string_pretty(&tokens).map_err(|error| error.to_string())?);
        }
        Command::List { json: false } => page::print(table(&keeper.list().await?)),
        Command::Revoke { id } => {
            if !keeper.revoke(id).await? {
                return Err(format!("there is no token {id}; `offerd token list` shows those there are"));
            }
            eprintln!("token {id} is revoked");
        }
    }
    keeper.close()
}

impl From<Create> for NewToken {
    fn from(create: Create) -> Self {
        Self {
            company: create.company,
            kind: match create.kind {
                Kind::Publishable => TokenKind::Publishable,
                Kind::Confidential => TokenKind::Confidential,
            },
            test: create.test,
            duplicate_look_back_minutes: create.duplicate_look_back,
        }
    }
}

/// Who keeps the tokens now.
enum Keeper {
    Daemon { client: Client, url: String },
    Store { store: Store, tokens: Tokens },
}

impl Keeper {
    /// The running daemon, or else the store.
    async fn find(settings: &Settings) -> Result<Self, String> {
        if let Some(running) = RunFile::read(&settings.store.path) {
            let client = Client::new(running.admin_key);
            let url = format!("{}/tokens", running.admin);
            // A file without a daemon is left over from one that was killed.
            if client.call(Method::GET, &url, None).await.is_ok_and(|answer| answer.status.is_success()) {
                return Ok(Self::Daemon { client, url });
            }
        }
        let options = StoreOptions::from(&settings.store);
        let store =
            Store::open(options).map_err(|error| format!("`store.path` cannot be opened: {error}"))?;
        Ok(Self::Store { tokens: Tokens::of(store.clone()), store })
    }

    async fn create(&self, new: NewToken) -> Result<Created, String> {
        match self {
            Self::Daemon { client, url } => {
                let body = serde_json::to_vec(&new).map_err(|error| error.to_string())?;
                client.call(Method::POST, url, Some(body)).await.map_err(|error| error.to_string())?.read()
            }
            Self::Store { tokens, .. } => {
                if let Some(fault) = Tokens::fault(&new) {
                    return Err(fault);
                }
                let company = new.company.clone();
                let (token, record) = tokens.create(new).await.map_err(|error| error.to_string())?;
                Ok(Created { token, id: record.id, company })
            }
        }
    }

    async fn list(&self) -> Result<Vec<Listed>, String> {
        match self {
            Self::Daemon { client, url } => {
                client.call(Method::GET, url, None).await.map_err(|error| error.to_string())?.read()
            }
            Self::Store { tokens, .. } => Ok(tokens.list().into_iter().map(Listed::from).collect()),
        }
    }

    async fn revoke(&self, id: Uuid) -> Result<bool, String> {
        match self {
            Self::Daemon { client, url } => {
                let answer = client.call(Method::DELETE, &format!("{url}/{id}"), None).await;
                Ok(answer.map_err(|error| error.to_string())?.read::<Revoked>()?.found)
            }
            Self::Store { tokens, .. } => tokens.revoke(id).await.map_err(|error| error.to_string()),
        }
    }

    fn close(self) -> Result<(), String> {
        match self {
            Self::Daemon { .. } => Ok(()),
            Self::Store { store, .. } => store.close().map_err(|error| error.to_string()),
        }
    }
}

fn table(tokens: &[Listed]) -> Table {
    let mut table = page::table(["id", "company", "kind", "test", "created"]);
    for token in tokens {
        let created = DateTime::<Utc>::from_timestamp_millis(token.created_at).unwrap_or_default();
        table.add_row([
            token.id.to_string(),
            token.company.clone(),
            match token.kind {
                TokenKind::Publishable => "publishable".to_owned(),
                TokenKind::Confidential => "confidential".to_owned(),
            },
            if token.test { "test" } else { "" }.to_owned(),
            created.format("%Y-%m-%d %H:%M UTC").to_string(),
        ]);
    }
    table
}
