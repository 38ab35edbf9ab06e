//! Trigger values: let a client test every kind of partner answer on demand.
//!
//! In a lead of a test token, the client tag `sandbox` sets how partners answer. A value is an outcome for
//! all partners, or `partner_key=outcome` for one:
//!
//! | outcome | the partner |
//! |---|---|
//! | `approved` | answers as it would |
//! | `declined` | declines the person |
//! | `declined:low_fico` | declines the person for a reason of the specification's RejectReason |
//! | `slow` | starts its usual answer after half of its time |
//! | `timed_out` | never answers |
//! | `unreachable` | cannot be reached |
//! | `malformed` | sends an unreadable answer |
//!
//! Other values have it report what became of the lead, once the rate table is complete
//! ([`RequestedReport`]). They combine with an outcome and with each other.
//!
//! Unknown outcomes and partners are counted, and refused under strict handling. Live leads ignore the tag.

use std::collections::{BTreeMap, BTreeSet};

use crate::rate_table::outcome::{AskFailure, NoOfferReason, Outcome};
use offerd_model::{ApiError, ErrorType, Lead, RejectReason};

const TAG: &str = "sandbox";

/// Most faults reported per lead: each lists all values.
const MOST_FAULTS: usize = 20;

const APPROVED: &str = "approved";

/// How a partner is to answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// Its usual answer, after half of its time.
    Slow,
    /// No answer.
    Silence,
    /// This outcome.
    Ends(Outcome),
}

/// A report that a test lead requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestedReport {
    /// `applied`: the person applied.
    Applied,
    /// `funded`: the offer was funded.
    Funded,
    /// `paid`: whatever the offer pays for.
    Paid,
    /// `reversed`: the reversal of the others, or else of what the offer pays for.
    Reversed,
}

/// The requested reports of a partner on its first offer, or without a partner on the table's first offer.
pub type RequestedReports<'l> = BTreeMap<Option<&'l str>, BTreeSet<RequestedReport>>;

impl RequestedReport {
    const NAMED: [(&str, Self); 4] = [
        ("applied", Self::Applied),
        ("funded", Self::Funded),
        ("paid", Self::Paid),
        ("reversed", Self::Reversed),
    ];

    /// All that a lead requests.
    pub fn all_of(lead: &Lead) -> RequestedReports<'_> {
        let mut requested = RequestedReports::new();
        for value in values(lead) {
            let (partner, word) = split(value);
            if let Some(report) = Self::named(word) {
                requested.entry(partner).or_default().insert(report);
            }
        }
        requested
    }

    fn named(word: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(name, _)| *name == word).map(|(_, report)| report)
    }
}

/// Unknown values of the `sandbox` tag, each with the valid ones.
pub fn faults(lead: &Lead, is_partner: impl Fn(&str) -> bool) -> Vec<ApiError> {
    let reasons = RejectReason::ALL.iter().map(|reason| format!("declined:{reason}")).collect::<Vec<_>>();
    let outcomes = [APPROVED, "declined", "slow", "timed_out", "unreachable", "malformed"];
    let reports = RequestedReport::NAMED.map(|(name, _)| name);
    let words = [&outcomes[..], &reports].concat();
    let wanted =
        format!("must be one of {}, {}, or PARTNER= and one of these", words.join(", "), reasons.join(", "));
    let unknown = "names an unknown partner: the part before the = must be a partner's key";
    let fault = |(nth, is_outcome)| {
        let message = if is_outcome { &wanted[..] } else { unknown };
        ApiError::at(format!("clientTags.{TAG}[{nth}]"), ErrorType::Malformed, message)
    };
    wrong(lead, is_partner).take(MOST_FAULTS).map(fault).collect()
}

/// The number of values without effect.
pub fn count_faults(lead: &Lead, is_partner: impl Fn(&str) -> bool) -> usize {
    wrong(lead, is_partner).count()
}

/// The places of unknown values, and whether it is the outcome that is unknown, not the partner.
fn wrong(lead: &Lead, is_partner: impl Fn(&str) -> bool) -> impl Iterator<Item = (usize, bool)> {
    values(lead).enumerate().filter_map(move |(nth, value)| {
        let (partner, word) = split(value);
        let is_unknown =
            word != APPROVED && Trigger::named(word).is_none() && RequestedReport::named(word).is_none();
        (is_unknown || partner.is_some_and(|partner| !is_partner(partner))).then_some((nth, is_unknown))
    })
}

fn values(lead: &Lead) -> impl Iterator<Item = &str> {
    let values = lead.client_tags.as_ref().and_then(|tags| tags.0.get(TAG));
    values.into_iter().flatten().map(String::as_str)
}

/// The partner of a value, if it is for one, and what it says.
fn split(value: &str) -> (Option<&str>, &str) {
    value.split_once('=').map_or((None, value), |(partner, word)| (Some(partner), word))
}

impl Trigger {
    /// The answer that a lead requests of a partner, if any. A value for one partner overrides one for all.
    pub fn of(lead: &Lead, partner: &str) -> Option<Self> {
        let outcomes = || values(lead).map(split).filter(|(_, word)| RequestedReport::named(word).is_none());
        match outcomes().find(|(one, _)| *one == Some(partner)) {
            Some((_, outcome)) => Self::named(outcome),
            None => outcomes().find_map(|(one, outcome)| Self::named(outcome).filter(|_| one.is_none())),
        }
    }

    fn named(outcome: &str) -> Option<Self> {
        let declined = |reason| Some(Self::Ends(Outcome::NoOffers(reason)));
        match outcome {
            "slow" => Some(Self::Slow),
            "timed_out" => Some(Self::Silence),
            "unreachable" => Some(Self::Ends(Outcome::Failed(AskFailure::Unreachable))),
            "malformed" => Some(Self::Ends(Outcome::Failed(AskFailure::Answer))),
            "declined" => declined(NoOfferReason::Declined),
            _ => {
                let reason = RejectReason::from_wire(outcome.strip_prefix("declined:")?)?;
                declined(NoOfferReason::Rejected(reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(tags: &str) -> Option<Trigger> {
        let lead = format!(r#"{{"clientTags":{{"sandbox":{tags},"other":["slow"]}}}}"#);
        Trigger::of(&Lead::read(lead.as_bytes()).unwrap(), "bank")
    }

    #[test]
    fn each_word_has_its_outcome() {
        assert_eq!(trigger(r#"["slow"]"#), Some(Trigger::Slow));
        assert_eq!(trigger(r#"["timed_out"]"#), Some(Trigger::Silence));
        for reason in RejectReason::ALL {
            let wanted = Trigger::Ends(Outcome::NoOffers(NoOfferReason::Rejected(*reason)));
            assert_eq!(trigger(&format!(r#"["declined:{reason}"]"#)), Some(wanted));
        }
        for ignored in ["[]", r#"["approved"]"#, r#"["declined:bad_hair"]"#, r#"["lender=slow"]"#] {
            assert_eq!(trigger(ignored), None, "{ignored}");
        }
    }

    #[test]
    fn what_brings_nothing_about_is_told_with_the_values_that_there_are() {
        let found = |tags: &str| {
            let lead = format!(r#"{{"clientTags":{{"sandbox":{tags},"other":["fast"]}}}}"#);
            let lead = Lead::read(lead.as_bytes()).unwrap();
            let faults = faults(&lead, |partner| ["bank", "a"].contains(&partner));
            assert_eq!(
                faults.len(),
                count_faults(&lead, |partner| ["bank", "a"].contains(&partner)).min(MOST_FAULTS)
            );
            faults
        };
        assert_eq!(found(r#"["applied","funded","paid","reversed","bank=funded"]"#), []);
        assert_eq!(found(r#"["approved","bank=declined","declined:low_fico","slow","a=approved"]"#), []);
        let told = found(r#"["slow","fast","bank=declined:bad_hair"]"#);
        let places: Vec<_> = told.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        assert_eq!(places, ["clientTags.sandbox[1]", "clientTags.sandbox[2]"]);
        let message = told[0].message.as_ref().unwrap();
        assert!(message.contains("unreachable") && message.contains("declined:low_fico"), "{message}");
        let told = found(r#"["nobody=slow","nobody=fast"]"#);
        assert!(told[0].message.as_ref().unwrap().contains("an unknown partner"), "{told:?}");
        assert!(told[1].message.as_ref().unwrap().contains("must be one of"), "{told:?}");
        assert_eq!(found(&format!("{:?}", vec!["fast"; 2 * MOST_FAULTS])).len(), MOST_FAULTS);
    }

    #[test]
    fn what_is_said_of_one_partner_goes_before_what_is_said_of_all() {
        assert_eq!(trigger(r#"["timed_out","bank=slow"]"#), Some(Trigger::Slow));
        assert_eq!(trigger(r#"["timed_out","bank=approved"]"#), None);
        assert_eq!(trigger(r#"["lender=slow","timed_out"]"#), Some(Trigger::Silence));
    }

    #[test]
    fn reports_stand_beside_an_answer() {
        let tags = r#"["funded","bank=funded","bank=slow","timed_out","reversed","funded"]"#;
        assert_eq!(trigger(tags), Some(Trigger::Slow));
        let lead = format!(r#"{{"clientTags":{{"sandbox":{tags}}}}}"#);
        let lead = Lead::read(lead.as_bytes()).unwrap();
        let of_first = [RequestedReport::Funded, RequestedReport::Reversed];
        let wanted =
            [(None, of_first.into()), (Some("bank"), [RequestedReport::Funded].into())].into_iter().collect();
        assert_eq!(RequestedReport::all_of(&lead), wanted);
    }
}
