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
//! Unknown outcomes and partners are counted, and refused under strict handling. Live leads ignore the tag.

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

/// Unknown values of the `sandbox` tag, each with the valid ones.
pub fn faults(lead: &Lead, is_partner: impl Fn(&str) -> bool) -> Vec<ApiError> {
    let reasons = RejectReason::ALL.iter().map(|reason| format!("declined:{reason}")).collect::<Vec<_>>();
    let words = [APPROVED, "declined", "slow", "timed_out", "unreachable", "malformed"];
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
    let values = lead.client_tags.as_ref().and_then(|tags| tags.0.get(TAG)).map_or(&[][..], Vec::as_slice);
    values.iter().enumerate().filter_map(move |(nth, value)| {
        let (partner, outcome) =
            value.split_once('=').map_or((None, value.as_str()), |(one, outcome)| (Some(one), outcome));
        let is_unknown = outcome != APPROVED && Trigger::named(outcome).is_none();
        (is_unknown || partner.is_some_and(|partner| !is_partner(partner))).then_some((nth, is_unknown))
    })
}

impl Trigger {
    /// The answer that a lead requests of a partner, if any. A value for one partner overrides one for all.
    pub fn of(lead: &Lead, partner: &str) -> Option<Self> {
        let tags = lead.client_tags.as_ref()?;
        let values = || tags.pairs().filter(|(key, _)| *key == TAG).map(|(_, value)| value);
        match values().filter_map(|value| value.split_once('=')).find(|(key, _)| *key == partner) {
            Some((_, outcome)) => Self::named(outcome),
            None => values().filter(|value| !value.contains('=')).find_map(Self::named),
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
}
