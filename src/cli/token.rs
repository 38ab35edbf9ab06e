//! `offerd token create|list|revoke`

use super::partners::known;
use super::prelude::*;
use offerd_admin::tokens::{Created, Holder, KeyRing, Listed, New};
use offerd_model::TokenKind;
use offerd_partners::Book;
use offerd_store::partner_keys::{NewPartnerKey, PartnerKeyKind};
use offerd_store::tokens::NewToken;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a token and print it, alone, on standard output; it is shown nowhere else
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
        #[arg(value_parser = values::uuid)]
        id: Uuid,
    },
}

/// `token create`
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("holder").required(true).args(["company", "partner"])))]
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
pub async fn run(settings: &Settings, command: Command) -> Result<(), Trouble> {
    match command {
        Command::Create(create) => {
            page::can_print()?;
            let json = create.json;
            // Before there may be a store, so that none is made for a token that cannot be.
            let wanted = create.wanted(settings)?;
            if let Some(fault) = KeyRing::fault(&wanted) {
                return Err(fault.into());
            }
            let admin = AdminClient::find_or_make(settings).await?;
            tell(&admin.post("/tokens", &wanted).await?, json)?;
        }
        Command::List { json } => {
            let admin = AdminClient::find(settings).await?;
            let tokens: Vec<Listed> = admin.ask(Method::GET, "/tokens").await?;
            page::show(&tokens, json, || page::print_sheet(&sheet(&tokens)))?;
            admin.warn_of_damage().await;
        }
        Command::Revoke { id } => {
            let admin = AdminClient::find(settings).await?;
            if !admin.end(Method::DELETE, &format!("/tokens/{id}")).await? {
                return Err(
                    format!("there is no token {id}; `offerd token list` shows those there are").into()
                );
            }
            tell!("token {id} is revoked");
        }
    }
    Ok(())
}

/// Prints the token that was made: alone on standard output, unless JSON is asked for.
fn tell(created: &Created, json: bool) -> Result<(), String> {
    page::show(created, json, || {
        page::print(&created.token);
        let holder = match &created.holder {
            Holder::Company(name) => format!("company {name}"),
            Holder::Partner(key) => format!("partner {key}"),
        };
        tell!("token {} of {holder}; it is shown only now", created.id);
    })
}

impl Create {
    /// What is to be made.
    fn wanted(self, settings: &Settings) -> Result<New, String> {
        if let Some(partner) = self.partner {
            // A token of a partner that there is not would open nothing.
            let book = Book::load(&settings.partners.path);
            known(&book.map_err(|_| "the partner files have faults; see `offerd check`")?, &partner)?;
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

fn sheet(tokens: &[Listed]) -> Sheet {
    sheet!(tokens, token => {
        "id" => token.id.to_string(),
        "holder" => token.holder.name(),
        "kind" => format!("{}{}", token.kind, if token.test { ", test" } else { "" }),
        "created": Time => token.created_at,
    })
}
