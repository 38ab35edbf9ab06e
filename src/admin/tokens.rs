//! `GET`, `POST /tokens`, `DELETE /tokens/{id}`: what `offerd token` calls. A key ring has the tokens of companies and of partners.

use super::prelude::*;
use offerd_store::partner_keys::{NewPartnerKey, PartnerKeys};
use offerd_store::tokens::{NewToken, Tokens};
use offerd_store::{Commit, CommitError, ReadError, Store};

/// What is to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum New {
    /// A token of a supply partner.
    Company(NewToken),
    /// A key of a partner institution.
    Partner(NewPartnerKey),
}

/// A token that was just made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Created {
    /// The token, shown only now.
    pub token: String,
    /// Names it from now on.
    pub id: Uuid,
    /// Whose it is.
    #[serde(flatten)]
    pub holder: Holder,
}

/// Whose a token is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Holder {
    /// A company, by its name.
    Company(String),
    /// A partner, by its key.
    Partner(String),
}

/// A token as it is listed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Names it.
    pub id: Uuid,
    /// Whose it is.
    #[serde(flatten)]
    pub holder: Holder,
    /// The company's id, by which partner files name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company_uuid: Option<Uuid>,
    /// What it may do: `publishable` or `confidential` of a company, `partner` or `signing` of a partner.
    pub kind: String,
    /// Whether its leads are tests.
    pub test: bool,
    /// Unix milliseconds.
    pub created_at: i64,
}

/// Every token that there is: of companies, and of partners. Cheap to clone.
#[derive(Debug, Clone)]
pub struct KeyRing {
    tokens: Tokens,
    partner_keys: PartnerKeys,
}

impl KeyRing {
    /// The tokens of a store.
    pub fn of(store: Store) -> Self {
        Self { tokens: Tokens::of(store.clone()), partner_keys: PartnerKeys::of(store) }
    }

    /// What keeps a token from being made, if anything.
    pub fn fault(new: &New) -> Option<String> {
        match new {
            New::Company(new) => Tokens::fault(new),
            New::Partner(_) => None,
        }
    }

    /// A token that is accepted once its commit is taken.
    pub fn made(&self, new: New) -> (Created, Commit) {
        match new {
            New::Company(new) => {
                let holder = Holder::Company(new.company.clone());
                let (token, record, commit) = self.tokens.made(new);
                (Created { token, id: record.id, holder }, commit)
            }
            New::Partner(new) => {
                let holder = Holder::Partner(new.partner.clone());
                let (token, record, commit) = self.partner_keys.made(new);
                (Created { token, id: record.id, holder }, commit)
            }
        }
    }

    /// Every token, those of companies first, oldest first.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, ReadError> {
        let tokens = self.tokens.list()?.into_iter().map(|(token, company)| Listed {
            id: token.id,
            holder: Holder::Company(company.name),
            company_uuid: Some(company.uuid),
            kind: word(&token.kind),
            test: token.test,
            created_at: token.created_at,
        });
        let keys = self.partner_keys.list()?.into_iter().map(|key| Listed {
            id: key.id,
            holder: Holder::Partner(key.partner),
            company_uuid: None,
            kind: word(&key.kind),
            test: false,
            created_at: key.created_at,
        });
        Ok(tokens.chain(keys).collect())
    }

    /// The commit that ends a token by its id, if there is one.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub fn ended(&self, id: Uuid) -> Result<Option<Commit>, ReadError> {
        match self.tokens.ended(id)? {
            None => self.partner_keys.ended(id),
            found => Ok(found),
        }
    }
}

impl Holder {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Company(name) | Self::Partner(name) => name,
        }
    }
}

/// What a kind of token is called, as JSON has it.
fn word(kind: &impl Serialize) -> String {
    serde_json::json!(kind).as_str().unwrap_or_default().to_owned()
}

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    Reply::json(&context.app.key_ring.list().map_err(unread)?)
}

pub(super) async fn create(mut context: Context<App>) -> Result<Reply, Failure> {
    let new: New = order(&mut context, ORDER_BYTES).await?;
    if let Some(fault) = KeyRing::fault(&new) {
        return Err(Failure::bad_attribute("company", fault));
    }
    let actor = Actor::of_command(&context);
    let created = loop {
        let (created, commit) = context.app.key_ring.made(new.clone());
        let (id, holder) = (created.id, created.holder.name());
        let note = note!("token.create", %id, holder, "token created").about(format!("{id} of {holder}"));
        match context.app.commit(&actor, note, commit).await {
            Ok(()) => break created,
            // Its company was changed meanwhile.
            Err(CommitError::Guard { .. }) => {}
            Err(failure) => return Err(unwritten("the token", &failure)),
        }
    };
    Reply::json(&created)
}

pub(super) async fn revoke(context: Context<App>) -> Result<Reply, Failure> {
    let id = context.params.uuid("id")?;
    let Some(commit) = context.app.key_ring.ended(id).map_err(unread)? else {
        return Reply::json(&Found { found: false });
    };
    let note = note!("token.revoke", %id, "token revoked").about(id);
    let revoked = context.app.commit(&Actor::of_command(&context), note, commit).await;
    revoked.map_err(|failure| unwritten("the end of the token", &failure))?;
    Reply::json(&Found { found: true })
}
