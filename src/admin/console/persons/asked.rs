//! Whom a form is about, as it was typed. That stands in the bodies of forms and of the pages that they lead to, and nowhere else.

use crate::console::prelude::*;
use crate::persons::Wish;
use crate::reasons::{has_name, names_them, reason_given};
use offerd_model::{SuppressionDigest, SuppressionKind};

/// Whom a form is about.
pub(super) struct Asked {
    pub(super) kind: SuppressionKind,
    digest: SuppressionDigest,
    /// The names that were typed, which no reason may have.
    names: Vec<String>,
}

impl Asked {
    /// Whom the form is about that was sent; nobody where it says nothing.
    ///
    /// # Errors
    /// That it names nobody.
    pub(super) fn of(visit: &Visit) -> Result<Option<Self>, Failure> {
        let field = |name| visit.field(name).map(str::trim).unwrap_or_default();
        let contact = field("contact");
        let names = ["first", "last", "born"].map(field);
        let (kind, line) = match contact {
            "" if names == [""; 3] => return Ok(None),
            "" => (SuppressionKind::Person, names.join(",")),
            _ if contact.contains('@') => (SuppressionKind::Email, contact.to_owned()),
            _ => (SuppressionKind::Phone, contact.to_owned()),
        };
        let digest = kind.of_line(&line).ok_or_else(|| Failure::bad_request(wanted(kind)))?;
        let names = names[..2].iter().map(|name| (*name).to_owned()).collect();
        Ok(Some(Self { kind, digest, names }))
    }

    /// What is wished for them, and why.
    ///
    /// # Errors
    /// That it is not said why, or that the reason names them: it is kept for longer than they may want.
    pub(super) fn wish(&self, visit: &Visit) -> Result<Wish, Failure> {
        let reason = reason_given(visit.field("reason").unwrap_or_default())?;
        if self.names.iter().any(|name| has_name(reason, name)) {
            return Err(names_them());
        }
        Ok(Wish { reason: Some(reason.to_owned()), ..self.look_up(visit) })
    }

    /// That their leads are looked for, for which nobody has to say why.
    pub(super) fn look_up(&self, visit: &Visit) -> Wish {
        Wish { by: visit.actor(), kind: self.kind, digest: self.digest, reason: None, despite_damage: false }
    }
}

/// What has to be typed, said without what was.
fn wanted(kind: SuppressionKind) -> &'static str {
    match kind {
        SuppressionKind::Email => "That is no e-mail address, such as ada@example.com.",
        SuppressionKind::Phone => "That is neither an e-mail address nor a phone number of ten digits.",
        SuppressionKind::Person => {
            "First name, last name and day of birth are wanted, all three, and the names without commas."
        }
    }
}
