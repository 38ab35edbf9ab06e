//! Authentication: from the `Authorization` header, or a signed query, to a company or a partner.

use std::fmt;

use hyper::header::AUTHORIZATION;

use super::prelude::*;
use super::signature;
use offerd_model::{InDoubt, TokenKind, Viewer};

/// An access token: two UUIDs joined by an underscore, in lower case. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

/// The query parameter that holds a secret, for clients that send no headers.
pub const SECRET: &str = "secret";

/// The credentials that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Nothing: the route is public.
    None,
    /// A token of either kind.
    Publishable,
    /// A token of either kind, or the [`SECRET`] of what is read, which the handler checks.
    PublishableOrSecret,
    /// A confidential token.
    Confidential,
    /// A partner's token.
    Partner,
    /// A query signed with a partner's key ([`signature`]).
    Signed,
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// A company, by its token.
    Company(Caller),
    /// A partner institution, by its key.
    Partner(Arc<str>),
}

impl Principal {
    /// The company's id; `None` for a partner.
    pub fn company(&self) -> Option<Uuid> {
        match self {
            Self::Company(caller) => Some(caller.company),
            Self::Partner(_) => None,
        }
    }
}

/// The company behind a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The company; it sees only its own records.
    pub company: Uuid,
    /// The company's name, for logs and the console.
    pub company_name: Arc<str>,
    /// The kind of the token, which decides what it may do.
    pub kind: TokenKind,
    /// Whether leads of this token are test leads.
    pub test: bool,
    /// Whether its requests are read leniently where they do not say otherwise.
    pub lenient: bool,
    /// How old an earlier lead may be for a new one to be its duplicate, in minutes; `None` for no check.
    pub duplicate_look_back_minutes: Option<u32>,
}

impl Caller {
    /// The viewer whose records the company sees.
    pub fn viewer(&self) -> Viewer {
        Viewer { company: self.company, test: self.test }
    }
}

/// A key that signs queries.
pub struct QuerySigningKey {
    /// The key of the partner that holds it.
    pub partner: Arc<str>,
    /// The secret that signatures are made with.
    pub secret: String,
}

/// Looks up tokens and signing keys.
pub trait Authenticate {
    /// The holder of `token`; `None` when it was not issued, or was revoked.
    ///
    /// # Errors
    /// If that cannot be determined at the moment.
    fn principal(&self, token: &AccessToken) -> Result<Option<Principal>, InDoubt>;

    /// The signing key of this id; `None` when there is none, or it was revoked.
    ///
    /// # Errors
    /// If that cannot be determined at the moment.
    fn signing_key(&self, _id: Uuid) -> Result<Option<QuerySigningKey>, InDoubt> {
        Ok(None)
    }
}

impl AccessToken {
    /// Parses `uuid_uuid`; `None` for every other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, second) = text.split_once('_')?;
        let is_token = hyphenated_uuid(first).is_some() && hyphenated_uuid(second).is_some();
        is_token.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The token of a request: `Bearer` in any case, one space, the token, nothing after it.
    pub fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Err(Failure::unauthorized("Access token is missing"));
        };
        let only_one = values.next().is_none();
        let text = value.to_str().ok().filter(|_| only_one).ok_or_else(invalid)?;
        match text.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Self::parse(token).ok_or_else(invalid)
            }
            _ => Err(Failure::unauthorized("Access token must follow a word: `Authorization: Bearer TOKEN`")),
        }
    }

    /// The text of the token, to look it up by its digest. Not for logs.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken(***)")
    }
}

/// The `Retry-After`, in seconds, when a token cannot be looked up.
const RETRY_AFTER_S: u32 = 5;

/// Authenticates a request for a route that requires `scope`; `None` when it is public, or takes the secret given.
pub fn identify(
    scope: Scope,
    headers: &HeaderMap,
    query: &[(String, String)],
    keys: &impl Authenticate,
) -> Result<Option<Principal>, Failure> {
    let has_secret = || query.iter().any(|(name, _)| name == SECRET);
    if scope == Scope::None || scope == Scope::PublishableOrSecret && has_secret() {
        return Ok(None);
    }
    if scope == Scope::Signed {
        return Ok(Some(Principal::Partner(signature::signer(query, keys)?)));
    }
    let token = AccessToken::of(headers)?;
    let principal = keys.principal(&token).map_err(in_doubt)?.ok_or_else(invalid)?;
    authorize(scope, &principal)?;
    Ok(Some(principal))
}

/// Refuses a token that lacks `scope`, with 401, not 403, as the specification has it.
fn authorize(scope: Scope, principal: &Principal) -> Result<(), Failure> {
    let refusal = match (scope, principal) {
        (Scope::Confidential, Principal::Company(caller)) if caller.kind == TokenKind::Publishable => {
            "Access token must be a confidential one"
        }
        (Scope::Partner, Principal::Company(_)) => "Access token must be a partner's",
        (Scope::Publishable | Scope::PublishableOrSecret | Scope::Confidential, Principal::Partner(_)) => {
            "Access token must not be a partner's"
        }
        _ => return Ok(()),
    };
    Err(Failure::unauthorized(refusal))
}

pub(super) fn in_doubt(_: InDoubt) -> Failure {
    Failure::unreadable(RETRY_AFTER_S)
}

fn invalid() -> Failure {
    Failure::unauthorized("Access token is invalid")
}

/// Only the usual form of 36 characters is valid; `Uuid` also reads braces and `urn:`.
pub(super) fn hyphenated_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    const TOKEN: &str = "6f2c1d3a-98b1-4c55-9d4e-0a1b2c3d4e5f_0d9c8b7a-1122-4334-8556-778899AABBCC";

    fn message_for(authorization: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(authorization).unwrap());
        AccessToken::of(&headers).err().and_then(|failure| failure.errors[0].message.clone())
    }

    #[test]
    fn the_scheme_is_read_in_any_case_and_the_token_in_lower() {
        assert_eq!(message_for(&format!("Bearer {TOKEN}")), None);
        assert_eq!(message_for(&format!("bEARER {TOKEN}")), None);
        assert_eq!(AccessToken::parse(TOKEN).unwrap().as_str(), TOKEN.to_ascii_lowercase());
    }

    #[test]
    fn anything_else_is_invalid() {
        let bad = [
            format!("Bearer  {TOKEN}"),
            format!("Bearer {TOKEN} "),
            format!("Bearer {}", TOKEN.replace('_', "-")),
            format!("Bearer {}", TOKEN.replace('-', "")),
            format!("Bearer {TOKEN}_{TOKEN}"),
        ];
        for authorization in bad {
            assert_eq!(
                message_for(&authorization).as_deref(),
                Some("Access token is invalid"),
                "{authorization}"
            );
        }
        let failure = AccessToken::of(&HeaderMap::new()).unwrap_err();
        assert_eq!(failure.errors[0].message.as_deref(), Some("Access token is missing"));
    }

    #[test]
    fn without_its_word_a_token_is_told_it() {
        for other in [TOKEN.to_owned(), format!("Basic {TOKEN}"), format!("Bearer\t{TOKEN}"), String::new()] {
            assert!(message_for(&other).is_some_and(|told| told.contains("Bearer TOKEN")), "{other}");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        assert_eq!(format!("{:?}", AccessToken::parse(TOKEN).unwrap()), "AccessToken(***)");
    }
}
