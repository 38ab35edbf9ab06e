//! `GET`, `POST /tokens`, `DELETE /tokens/{id}` for `offerd token`: tokens of companies and partners.

use super::prelude::*;
use offerd_model::name_as_it_looks;
use offerd_store::partner_keys::{NewPartnerKey, PartnerKeys};
use offerd_store::tokens::{NewToken, Tokens};
use offerd_store::{Commit, CommitError, ReadError, Store};

/// A token to create.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum New {
    /// A token of a company.
    Company(NewToken),
    /// A key of a partner institution.
    Partner(NewPartnerKey),
}

/// A new token.
#[derive(Debug, Serialize, Deserialize)]
pub struct Created {
    /// The token, shown only now.
    pub token: String,
    /// Its id.
    pub id: Uuid,
    /// Its owner.
    #[serde(flatten)]
    pub holder: Holder,
}

/// The owner of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Holder {
    /// A company, by its name.
    Company(String),
    /// A partner, by its key.
    Partner(String),
}

/// A token in a list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedToken {
    /// Its id.
    pub id: Uuid,
    /// Its owner.
    #[serde(flatten)]
    pub holder: Holder,
    /// The company's id, by which partner files name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company_uuid: Option<Uuid>,
    /// Its kind: `publishable` or `confidential` for a company, `partner` or `signing` for a partner.
    pub kind: String,
    /// Whether its leads are test leads.
    pub test: bool,
    /// Creation time, Unix milliseconds.
    pub created_at: i64,
}

/// All tokens, of companies and of partners. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AllTokens {
    tokens: Tokens,
    partner_keys: PartnerKeys,
}

impl AllTokens {
    /// The tokens of a store.
    pub fn of(store: Store) -> Self {
        Self { tokens: Tokens::of(store.clone()), partner_keys: PartnerKeys::of(store) }
    }

    /// Why a token cannot be created, if anything.
    pub fn fault(new: &New) -> Option<String> {
        match new {
            New::Company(new) => Tokens::fault(new),
            New::Partner(_) => None,
        }
    }

    /// A new token, and the commit that makes it valid.
    pub fn made(&self, new: New) -> (Created, Commit) {
        match new {
            New::Company(new) => {
                let holder = Holder::Company(name_as_it_looks(&new.company));
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

    /// All tokens: companies' first, each oldest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub fn list(&self) -> Result<Vec<ListedToken>, ReadError> {
        let tokens = self.tokens.list()?.into_iter().map(|(token, company)| ListedToken {
            id: token.id,
            holder: Holder::Company(company.name),
            company_uuid: Some(company.uuid),
            kind: word(&token.kind),
            test: token.test,
            created_at: token.created_at,
        });
        let keys = self.partner_keys.list()?.into_iter().map(|key| ListedToken {
            id: key.id,
            holder: Holder::Partner(key.partner),
            company_uuid: None,
            kind: word(&key.kind),
            test: false,
            created_at: key.created_at,
        });
        Ok(tokens.chain(keys).collect())
    }

    /// The commit that revokes the token of an id, if it exists.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
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

fn word(kind: &impl Serialize) -> String {
    serde_json::json!(kind).as_str().unwrap_or_default().to_owned()
}

pub(super) async fn list(context: Context) -> Result<Reply> {
    Reply::json(&context.app.tokens.list().map_err(unread)?)
}

pub(super) async fn create(mut context: Context) -> Result<Reply> {
    let new: New = read_body(&mut context, BODY_BYTES).await?;
    if let Some(fault) = AllTokens::fault(&new) {
        return Err(Failure::bad_attribute("company", fault));
    }
    let actor = by(&context);
    let created = loop {
        let (created, commit) = context.app.tokens.made(new.clone());
        let (id, holder) = (created.id, created.holder.name());
        let note = note!("token.create", %id, holder, "token created").about(format!("{id} of {holder}"));
        match context.app.commit(&actor, note, commit).await {
            Ok(()) => break created,
            // Its company changed meanwhile; try again.
            Err(CommitError::Guard { .. }) => {}
            Err(failure) => return Err(unwritten("the token", &failure)),
        }
    };
    Reply::json(&created)
}

pub(super) async fn revoke(context: Context) -> Result<Reply> {
    let id = context.params.uuid("id")?;
    let Some(commit) = context.app.tokens.ended(id).map_err(unread)? else {
        return Reply::json(&TargetExists { found: false });
    };
    let note = note!("token.revoke", %id, "token revoked").about(id);
    let revoked = context.app.commit(&by(&context), note, commit).await;
    revoked.map_err(|failure| unwritten("the end of the token", &failure))?;
    Reply::json(&TargetExists { found: true })
}
