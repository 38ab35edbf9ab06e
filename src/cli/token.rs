//! `offerd token create|list|revoke`

use super::partners::known;
use super::prelude::*;
use offerd_admin::tokens::{AllTokens, Created, Holder, ListedToken, New};
use offerd_model::TokenKind;
use offerd_store::partner_keys::{NewPartnerKey, PartnerKeyKind};
use offerd_store::tokens::NewToken;

/// Actions on tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it, alone, on standard output; it is never shown again
    Create(Create),
    /// List tokens; the tokens themselves are not stored
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token, by the id that `list` shows
    Revoke {
        /// Id of the token
        #[arg(value_parser = values::uuid)]
        id: Uuid,
    },
}

/// `token create`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("holder").required(true).args(["company", "partner"])))]
pub struct Create {
    /// Company that owns the token; created if it does not exist
    #[arg(long, value_name = "NAME", requires = "kind")]
    company: Option<String>,
    /// Permissions of the company's token
    #[arg(long, conflicts_with = "partner")]
    kind: Option<TokenKindArgument>,
    /// Leads of this token are test leads
    #[arg(long, conflicts_with = "partner")]
    test: bool,
    /// Set the company's look-back window in minutes: a second lead of the same person and products within it
    /// is a duplicate (409)
    #[arg(long, value_name = "MINUTES", conflicts_with = "partner")]
    duplicate_look_back: Option<u32>,
    /// Partner that owns the token, by its file name: it reports the events of its leads with it
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Create a key that signs the query of `GET /partnerEvents`, for a partner that can only fire a URL
    #[arg(long, requires = "partner")]
    signing: bool,
    /// Print JSON: `token`, `id`, and `company` or `partner`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TokenKindArgument {
    /// Shipped in client code: may submit leads and read their rate tables
    Publishable,
    /// Kept secret like a password: may also read leads and the analytics feeds
    Confidential,
}

/// Runs `offerd token`.
pub async fn run(settings: &Settings, command: TokenCommand) -> Result<(), CommandError> {
    match command {
        TokenCommand::Create(create) => {
            page::can_print()?;
            let json = create.json;
            // Checked before the store is opened.
            let wanted = create.wanted(settings)?;
            if let Some(fault) = AllTokens::fault(&wanted) {
                return Err(fault.into());
            }
            tell(&AdminClient::find_to_change(settings).await?.post("/tokens", &wanted).await?, json)?;
        }
        TokenCommand::List { json } => {
            let admin = AdminClient::find(settings).await?;
            let tokens: Vec<ListedToken> = admin.ask(Method::GET, "/tokens").await?;
            page::show(&tokens, json, || page::print_sheet(&sheet(&tokens)))?;
            admin.warn_of_damage().await;
        }
        TokenCommand::Revoke { id } => {
            if !AdminClient::find(settings)
                .await?
                .send_and_find(Method::DELETE, &format!("/tokens/{id}"))
                .await?
            {
                return Err(format!("there is no token {id}; `offerd token list` lists them").into());
            }
            tell!("token {id} is revoked");
        }
    }
    Ok(())
}

/// Prints the new token: alone on standard output, unless JSON is requested.
fn tell(created: &Created, json: bool) -> Result<(), String> {
    page::show(created, json, || {
        page::print(&created.token);
        let holder = match &created.holder {
            Holder::Company(name) => format!("company {name}"),
            Holder::Partner(key) => format!("partner {key}"),
        };
        tell!("token {} of {holder}; it is shown only once", created.id);
    })
}

impl Create {
    /// The order for the admin route.
    fn wanted(self, settings: &Settings) -> Result<New, String> {
        if let Some(partner) = self.partner {
            // A token of an unknown partner would be useless.
            let book = Book::load(&settings.partners.path);
            let first = |faults: Vec<Fault>| {
                let all = match faults.len() {
                    1 => "",
                    _ => "; `offerd check` shows all",
                };
                faults
                    .first()
                    .map_or_else(String::new, |fault| format!("the partner files have faults: {fault}{all}"))
            };
            known(&book.map_err(first)?, &partner)?;
            let kind = if self.signing { PartnerKeyKind::Signing } else { PartnerKeyKind::Partner };
            return Ok(New::Partner(NewPartnerKey { partner, kind }));
        }
        Ok(New::Company(NewToken {
            company: self.company.unwrap_or_default(),
            kind: match self.kind {
                Some(TokenKindArgument::Confidential) => TokenKind::Confidential,
                Some(TokenKindArgument::Publishable) | None => TokenKind::Publishable,
            },
            test: self.test,
            duplicate_look_back_minutes: self.duplicate_look_back,
        }))
    }
}

fn sheet(tokens: &[ListedToken]) -> Sheet {
    sheet!(tokens, token => {
        "id" => token.id.to_string(),
        "holder" => token.holder.name(),
        "kind" => format!("{}{}", token.kind, if token.test { ", test" } else { "" }),
        "created": Time => token.created_at,
    })
}
