//! Whom a form is about, as it was typed. That stands in the bodies of forms and of the pages that they lead to, and nowhere else.

use super::Visit;
use crate::admin::persons::Wish;
use crate::admin::transcripts::reason_given;
use crate::model::{SuppressionDigest, SuppressionKind};
use crate::web::Failure;

/// Digits of a telephone number.
const PHONE_DIGITS: usize = 10;

/// Whom a form is about.
pub(super) struct Asked {
    pub(super) kind: SuppressionKind,
    digest: SuppressionDigest,
    /// The word that nobody's reason may have: the address or number, or the last name.
    name: String,
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
        let (kind, line, name) = match names {
            [_, last, _] if contact.is_empty() && names != [""; 3] => {
                (SuppressionKind::Person, names.join(","), last)
            }
            _ if contact.is_empty() => return Ok(None),
            _ if contact.contains('@') => (SuppressionKind::Email, contact.to_owned(), contact),
            _ => (SuppressionKind::Phone, contact.to_owned(), contact),
        };
        let digest = kind.of_line(&line).ok_or_else(|| Failure::bad_request(wanted(kind)))?;
        Ok(Some(Self { kind, digest, name: name.to_lowercase() }))
    }

    /// What is wished for them, and why.
    ///
    /// # Errors
    /// That it is not said why, or that the reason names them: it is kept for longer than they may want.
    pub(super) fn wish(&self, visit: &Visit) -> Result<Wish, Failure> {
        let reason = reason_given(visit.field("reason").unwrap_or_default())?;
        if self.is_named_in(reason) {
            let message =
                "must not name the person, since the audit keeps it; the number of their letter will do";
            return Err(Failure::bad_attribute("reason", message));
        }
        Ok(Wish { reason: Some(reason.to_owned()), ..self.look_up(visit) })
    }

    /// That their leads are looked for, for which nobody has to say why.
    pub(super) fn look_up(&self, visit: &Visit) -> Wish {
        Wish { by: visit.actor(), kind: self.kind, digest: self.digest, reason: None }
    }

    fn is_named_in(&self, reason: &str) -> bool {
        match self.kind {
            SuppressionKind::Email => reason.to_lowercase().contains(&self.name),
            SuppressionKind::Phone => {
                let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
                let number = digits(&self.name);
                digits(reason).contains(&number[number.len().saturating_sub(PHONE_DIGITS)..])
            }
            SuppressionKind::Person => spaced(reason).contains(&spaced(&self.name)),
        }
    }
}

/// The words of a text, a space before and behind each.
fn spaced(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
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
