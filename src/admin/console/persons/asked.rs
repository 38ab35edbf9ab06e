//! The person of a form. Typed personal data appears only in form bodies and in the pages that answer them.

use crate::console::prelude::*;
use crate::persons::PersonRequest;
use crate::reasons::{has_name, names_them, reason_given};
use offerd_insight::persons::request::{typed, typed_before};
use offerd_model::{SuppressionDigest, SuppressionKind};

pub(super) struct PersonQuery {
    pub(super) kind: SuppressionKind,
    digest: SuppressionDigest,
    /// Typed names, which a reason must not contain.
    names: Vec<String>,
}

impl PersonQuery {
    /// The person of the submitted form; `None` if it is empty.
    ///
    /// # Errors
    /// Fails when it identifies nobody.
    pub(super) fn of(visit: &ConsoleRequest) -> Result<Option<Self>, Failure> {
        Self::read_by(visit, typed)
    }

    /// The same of a person who may have opted out before, under a name as a lead had it.
    ///
    /// # Errors
    /// Fails when it identifies nobody.
    pub(super) fn before(visit: &ConsoleRequest) -> Result<Option<Self>, Failure> {
        Self::read_by(visit, typed_before)
    }

    fn read_by(
        visit: &ConsoleRequest,
        read: fn(SuppressionKind, &str) -> Result<SuppressionDigest, String>,
    ) -> Result<Option<Self>, Failure> {
        let field = |name| visit.field(name).map(str::trim).unwrap_or_default();
        let contact = field("contact");
        let names = ["first", "last", "born"].map(field);
        let (kind, line) = match contact {
            "" if names == [""; 3] => return Ok(None),
            "" => (SuppressionKind::Person, names.join(",")),
            _ if contact.contains('@') => (SuppressionKind::Email, contact.to_owned()),
            _ => (SuppressionKind::Phone, contact.to_owned()),
        };
        let digest = read(kind, &line).map_err(|message| match kind.of_line(&line) {
            Some(_) => Failure::bad_request(format!("What you typed {message}.")),
            None => Failure::bad_request(wanted(kind)),
        })?;
        let names = names[..2].iter().map(|name| (*name).to_owned()).collect();
        Ok(Some(Self { kind, digest, names }))
    }

    /// The request, with its reason.
    ///
    /// # Errors
    /// Fails when the reason is missing, or contains a typed name: the audit keeps it longer than
    /// the person may want.
    pub(super) fn wish(&self, visit: &ConsoleRequest) -> Result<PersonRequest, Failure> {
        let reason = reason_given(visit.field("reason").unwrap_or_default())?;
        if self.names.iter().any(|name| has_name(reason, name)) {
            return Err(names_them());
        }
        Ok(PersonRequest { reason: Some(reason.to_owned()), ..self.look_up(visit) })
    }

    /// A look-up of their leads, which needs no reason.
    pub(super) fn look_up(&self, visit: &ConsoleRequest) -> PersonRequest {
        PersonRequest {
            by: visit.actor(),
            kind: self.kind,
            digest: self.digest,
            reason: None,
            despite_damage: false,
        }
    }
}

/// The required input, without the given one.
fn wanted(kind: SuppressionKind) -> &'static str {
    match kind {
        SuppressionKind::Email => "This is not an e-mail address; write one like ada@example.com.",
        SuppressionKind::Phone => "This is neither an e-mail address nor a ten-digit phone number.",
        SuppressionKind::Person => {
            "Give all three of first name, last name and day of birth; names without commas."
        }
    }
}
