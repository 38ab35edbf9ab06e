//! URLs with macros: `https://track.example/pb?cid={clientTag.clickid}&payout={payout}`.

use hyper::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::message::PostbackMessage;
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_model::ClientTags;

const CLIENT_TAG: &str = "clientTag.";

/// The value of a macro; `None` if the event has none.
type MacroValue = fn(&PostbackMessage) -> Option<String>;

/// Every macro except `{clientTag.…}`, with its value.
pub const MACROS: &[(&str, MacroValue)] = &[
    ("postbackId", |it| Some(it.id.clone())),
    ("eventId", |it| Some(it.event.id.clone())),
    ("eventType", |it| Some(it.event.event_type.to_string())),
    ("eventCreatedAt", |it| Some(it.event.event_created_at.to_string())),
    ("eventDeletedAt", |it| it.event.event_deleted_at.map(|at| at.to_string())),
    ("leadUuid", |it| Some(it.event.lead_uuid.to_string())),
    ("leadCreatedAt", |it| Some(it.event.lead_created_at.to_string())),
    ("offerUuid", |it| it.event.offer_uuid.map(|uuid| uuid.to_string())),
    ("productType", |it| it.event.product_type.map(|product_type| product_type.to_string())),
    ("productSubType", |it| it.event.product_sub_type.map(|sub_type| sub_type.to_string())),
    ("financialInstitutionUuid", |it| it.event.financial_institution_uuid.map(|uuid| uuid.to_string())),
    ("financialInstitutionName", |it| it.event.financial_institution_name.clone()),
    ("amount", |it| it.event.amount_in_cents.map(dollars)),
    ("amountInCents", |it| it.event.amount_in_cents.map(|cents| cents.to_string())),
    ("payout", |it| it.payout_cents.map(dollars)),
    ("payoutInCents", |it| it.payout_cents.map(|cents| cents.to_string())),
    (SHARE[0], |it| it.share_cents.map(dollars)),
    (SHARE[1], |it| it.share_cents.map(|cents| cents.to_string())),
    ("rejectReason", |it| it.event.event_data.as_ref()?.reject_reason.map(|reason| reason.to_string())),
    ("isTest", |it| it.event.is_test.map(|test| test.to_string())),
];

const TAKEN_BACK: &str = "eventDeletedAt";

/// The macros of the subscription's share of a payout.
const SHARE: [&str; 2] = ["share", "shareInCents"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UrlTemplate(Vec<TemplatePiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    /// By its position in [`MACROS`].
    Macro(usize),
    /// The first value of the client tag with this key.
    ClientTag(String),
}

impl UrlTemplate {
    /// Parses a template. Returns all faults, each worded to follow its key.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let (mut pieces, mut faults) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            pieces.push(TemplatePiece::Text(before.to_owned()));
            let Some((name, behind)) = after.split_once('}') else {
                faults.push("has a `{` without its `}`".to_owned());
                rest = "";
                break;
            };
            match piece(name) {
                Ok(piece) => pieces.push(piece),
                Err(fault) => faults.push(fault),
            }
            rest = behind;
        }
        pieces.push(TemplatePiece::Text(rest.to_owned()));
        let fixed = text.split('{').next().unwrap_or_default();
        let has_host = fixed.split_once("://").is_some_and(|(_, after)| after.contains(['/', '?']));
        if text.contains('{') && !has_host {
            faults.push("must have its macros after the host, in the path or the query".to_owned());
        }
        if faults.is_empty() { Ok(Self(pieces)) } else { Err(faults) }
    }

    pub(super) fn filled(&self, message: &PostbackMessage, tags: Option<&ClientTags>) -> Option<String> {
        let mut url = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => url.push_str(text),
                TemplatePiece::Macro(nth) => encode(&MACROS[*nth].1(message).unwrap_or_default(), &mut url),
                TemplatePiece::ClientTag(key) => encode(tags?.0.get(key)?.first()?, &mut url),
            }
        }
        Some(url)
    }

    pub(super) fn client_tags(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            TemplatePiece::ClientTag(key) => Some(key.as_str()),
            _ => None,
        })
    }

    pub(super) fn tells_taken_back(&self) -> bool {
        self.has(&[TAKEN_BACK])
    }

    pub(super) fn tells_share(&self) -> bool {
        self.has(&SHARE)
    }

    fn has(&self, names: &[&str]) -> bool {
        let is_one = |piece: &TemplatePiece| matches!(piece, TemplatePiece::Macro(nth) if names.contains(&MACROS[*nth].0));
        self.0.iter().any(is_one)
    }

    pub(super) fn uri(text: &str) -> Option<Uri> {
        let outside = text.split('{').enumerate().map(|(nth, part)| match part.split_once('}') {
            Some((_, behind)) if nth > 0 => behind,
            _ => part,
        });
        outside.collect::<String>().parse().ok()
    }
}

fn piece(name: &str) -> Result<TemplatePiece, String> {
    if let Some(key) = name.strip_prefix(CLIENT_TAG).filter(|key| !key.is_empty()) {
        return Ok(TemplatePiece::ClientTag(key.to_owned()));
    }
    let known = MACROS.iter().position(|(known, _)| *known == name);
    known.map(TemplatePiece::Macro).ok_or_else(|| {
        let names = MACROS.iter().map(|(known, _)| *known).chain([CLIENT_TAG]);
        format!("has the unknown macro `{{{name}}}`{}", did_you_mean(nearest(name, names)))
    })
}

fn dollars(cents: i32) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

/// All characters that RFC 3986, 2.3, does not list as unreserved.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a value for any place in a path or query (RFC 3986, 2.3).
fn encode(value: &str, url: &mut String) {
    // Unescaped, these would be relative path segments.
    if value == "." || value == ".." {
        return url.push_str(&value.replace('.', "%2E"));
    }
    url.extend(utf8_percent_encode(value, &RESERVED));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_means_itself_and_never_the_way_to_another_path() {
        let encoded = |value| {
            let mut url = String::new();
            encode(value, &mut url);
            url
        };
        for (value, expected) in
            [(".", "%2E"), ("..", "%2E%2E"), ("...", "..."), ("a.b", "a.b"), ("../x", "..%2Fx"), ("", "")]
        {
            assert_eq!(encoded(value), expected, "{value}");
        }
    }
}
