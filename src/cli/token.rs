//! `offerd token create|list|revoke`
//!
//! With a running daemon the commands go over its admin listener; without one they open the store themselves.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use comfy_table::Table;
use hyper::Method;
use uuid::Uuid;

use super::client::Client;
use super::operator::operator;
use super::partners::known;
use super::{page, values};
use crate::admin::audit::audit_by;
use crate::admin::key_ring::{Created, Holder, KeyRing, Listed, New};
use crate::admin::tokens::Revoked;
use crate::config::Settings;
use crate::model::TokenKind;
use crate::partners::Book;
use crate::store::Store;
use crate::store::partner_keys::{NewPartnerKey, PartnerKeyKind};
use crate::store::tokens::NewToken;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a token and print it, alone, on standard output; it is told nowhere else
    Create(Create),
    /// List tokens; the tokens themselves are kept nowhere
    #[command(after_help = "\
Examples:
  offerd token list
  offerd token list --json | jq -r '.[].id'")]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// End a token, by the id that `list` shows
    #[command(after_help = "\
Examples:
  offerd token revoke 3f0a1d62-0a53-4d1c-a3a2-7d0f7bb2d1c4")]
    Revoke {
        /// Id of the token
        #[arg(value_parser = values::uuid)]
        id: Uuid,
    },
}

/// `token create`
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("holder").required(true).args(["company", "partner"])), after_help = "\
Examples:
  offerd token create --company Acme --kind publishable
  offerd token create --company Acme --kind confidential --test
  offerd token create --company Acme --kind publishable --duplicate-look-back 1440
  TOKEN=$(offerd token create --partner tidelark_savings)
  offerd token create --company Acme --kind confidential --json | jq -r .id")]
pub struct Create {
    /// Company that the token belongs to; made when there is none of this name
    #[arg(long, value_name = "NAME", requires = "kind")]
    company: Option<String>,
    /// What the company's token may do
    #[arg(long, conflicts_with = "partner")]
    kind: Option<Kind>,
    /// Leads of this token are tests
    #[arg(long, conflicts_with = "partner")]
    test: bool,
    /// Set the company's look-back: the same person and products within so many minutes is a duplicate (409)
    #[arg(long, value_name = "MINUTES", conflicts_with = "partner")]
    duplicate_look_back: Option<u32>,
    /// Partner that the token belongs to, by the name of its file: it reports with it what became of its leads
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Make a key that signs the query of `GET /partnerEvents`, for a partner that can only fire a URL
    #[arg(long, requires = "partner")]
    signing: bool,
    /// As JSON: `token`, `id`, and `company` or `partner`
    #[arg(long)]
    json: bool,
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
    if let Command::Create(create) = command {
        let json = create.json;
        // Before there may be a store, so that none is made for a token that cannot be.
        let wanted = create.wanted(settings)?;
        if let Some(fault) = KeyRing::fault(&wanted) {
            return Err(fault);
        }
        let keeper = Keeper::find(settings, true).await?;
        tell(keeper.create(wanted).await?, json)?;
        return keeper.close();
    }
    let keeper = Keeper::find(settings, false).await?;
    match command {
        Command::List { json: true } => {
            let tokens = keeper.list().await?;
            page::print(serde_json::to_string_pretty(&tokens).map_err(|error| error.to_string())?);
        }
        Command::Revoke { id } => {
            if !keeper.revoke(id).await? {
                return Err(format!("there is no token {id}; `offerd token list` shows those there are"));
            }
            eprintln!("token {id} is revoked");
        }
        // A token to be made was made above.
        Command::List { json: false } | Command::Create(_) => {
            page::print_table(table(&keeper.list().await?));
        }
    }
    keeper.close()
}

/// Tells the token that was made: it alone on standard output, unless all is wanted as JSON.
fn tell(created: Created, json: bool) -> Result<(), String> {
    if json {
        page::print(serde_json::to_string_pretty(&created).map_err(|error| error.to_string())?);
        return Ok(());
    }
    page::print(created.token);
    let holder = match created.holder {
        Holder::Company(name) => format!("company {name}"),
        Holder::Partner(key) => format!("partner {key}"),
    };
    eprintln!("token {} of {holder}; it is shown only now", created.id);
    Ok(())
}

impl Create {
    /// What is to be made.
    fn wanted(self, settings: &Settings) -> Result<New, String> {
        if let Some(partner) = self.partner {
            known_partner(&partner, settings)?;
            let kind = if self.signing { PartnerKeyKind::Signing } else { PartnerKeyKind::Partner };
            return Ok(New::Partner(NewPartnerKey { partner, kind }));
        }
        Ok(New::Company(NewToken {
            company: self.company.unwrap_or_default(),
            kind: match self.kind {
                Some(Kind::Confidential) => TokenKind::Confidential,
                Some(Kind::Publishable) | None => TokenKind::Publishable,
            },
            test: self.test,
            duplicate_look_back_minutes: self.duplicate_look_back,
        }))
    }
}

/// A token of a partner that there is not would open nothing.
fn known_partner(key: &str, settings: &Settings) -> Result<(), String> {
    let path = &settings.partners.path;
    let book =
        Book::load(path).map_err(|_| "the partner files have faults; see `offerd check`".to_owned())?;
    known(&book, key)
}

/// The store of a stopped daemon, or a new one, which is told: it may be that another was meant.
fn store_for_a_token(settings: &Settings) -> Result<Store, String> {
    let made = !super::is_there(&settings.store.path)?;
    let store = super::open_or_make_store(settings)?;
    if made {
        let place = super::whole(&settings.store.path);
        eprintln!("there was no store at `store.path` ({}); it has been made", place.display());
    }
    Ok(store)
}

/// Who keeps the tokens now.
enum Keeper {
    Daemon { client: Client, url: String },
    Store { store: Store, key_ring: KeyRing },
}

impl Keeper {
    /// The running daemon, or else the store. One that `makes` tokens may be the first that there is to do: then the store
    /// is made too.
    async fn find(settings: &Settings, makes: bool) -> Result<Self, String> {
        if let Some((client, admin)) = Client::of_daemon(settings).await? {
            return Ok(Self::Daemon { client, url: format!("{admin}/tokens") });
        }
        super::log_as_the_daemon_does(settings);
        let store = if makes { store_for_a_token(settings)? } else { super::open_store(settings)? };
        Ok(Self::Store { key_ring: KeyRing::of(store.clone()), store })
    }

    async fn create(&self, new: New) -> Result<Created, String> {
        match self {
            Self::Daemon { client, url } => {
                let body = serde_json::to_vec(&new).map_err(|error| error.to_string())?;
                client.call(Method::POST, url, Some(body)).await.map_err(|error| error.to_string())?.read()
            }
            Self::Store { key_ring, .. } => match KeyRing::fault(&new) {
                Some(fault) => Err(fault),
                None => {
                    let created = key_ring.create(new).await.map_err(|error| error.to_string())?;
                    let holder = created.holder.name();
                    audit_by!(operator(), "token.create", id = %created.id, holder, "token created");
                    Ok(created)
                }
            },
        }
    }

    async fn list(&self) -> Result<Vec<Listed>, String> {
        match self {
            Self::Daemon { client, url } => {
                client.call(Method::GET, url, None).await.map_err(|error| error.to_string())?.read()
            }
            Self::Store { key_ring, .. } => Ok(key_ring.list()),
        }
    }

    async fn revoke(&self, id: Uuid) -> Result<bool, String> {
        match self {
            Self::Daemon { client, url } => {
                let answer = client.call(Method::DELETE, &format!("{url}/{id}"), None).await;
                Ok(answer.map_err(|error| error.to_string())?.read::<Revoked>()?.found)
            }
            Self::Store { key_ring, .. } => {
                let found = key_ring.revoke(id).await.map_err(|error| error.to_string())?;
                if found {
                    audit_by!(operator(), "token.revoke", %id, "token revoked");
                }
                Ok(found)
            }
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
    let mut table = page::table(["id", "holder", "kind", "created"]);
    for token in tokens {
        table.add_row([
            token.id.to_string(),
            token.holder.name().to_owned(),
            format!("{}{}", token.kind.word(), if token.test { ", test" } else { "" }),
            page::moment_of(token.created_at),
        ]);
    }
    table
}
