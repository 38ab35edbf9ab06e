//! Experiment treatments of a rate table: stored in its head and in force until it is complete.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use offerd_partners::RecordedSeat;

/// The variant of an experiment rule that a table's lead drew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// Name of the rule.
    pub rule: String,
    /// Name of the variant.
    pub variant: String,
    /// The changes; empty for the control.
    pub changes: Vec<TreatmentChange>,
}

/// A change that a variant makes. Stored by position: append new variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TreatmentChange {
    /// The time limit of the table.
    Deadline {
        /// Milliseconds.
        ms: u64,
    },
    /// Only these partners are asked, by key.
    OnlyPartners(Vec<String>),
    /// These partners are not asked, by key.
    WithoutPartners(Vec<String>),
    /// Whether second look runs when no first-look partner had a loan offer.
    SecondLook(bool),
    /// The ranking, from the settings, that scores the offers.
    Ranking(String),
}

impl TreatmentChange {
    /// What it changes: the effects of two rules with the same subject cannot be separated.
    pub fn subject(&self) -> &'static str {
        match self {
            Self::Deadline { .. } => "the deadline",
            Self::OnlyPartners(_) | Self::WithoutPartners(_) => "the partners",
            Self::SecondLook(_) => "second look",
            Self::Ranking(_) => "the ranking",
        }
    }

    fn leaves_out(&self, seat: &RecordedSeat, wants_loans: bool) -> bool {
        match self {
            Self::Deadline { .. } | Self::SecondLook(true) | Self::Ranking(_) => false,
            Self::OnlyPartners(partners) => !partners.contains(&seat.key),
            Self::WithoutPartners(partners) => partners.contains(&seat.key),
            // A lead that wants no loan has no second look: all seats are asked at once.
            Self::SecondLook(false) => seat.second_look && wants_loans,
        }
    }
}

impl fmt::Display for TreatmentChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline { ms } => {
                write!(f, "a deadline of {}", humantime::format_duration(Duration::from_millis(*ms)))
            }
            Self::OnlyPartners(partners) => write!(f, "only {}", partners.join(", ")),
            Self::WithoutPartners(partners) => write!(f, "without {}", partners.join(", ")),
            Self::SecondLook(true) => f.write_str("with second look"),
            Self::SecondLook(false) => f.write_str("without second look"),
            Self::Ranking(name) => write!(f, "ranked by {name}"),
        }
    }
}

impl Treatment {
    /// The rule and variant, as named in reports.
    pub fn label(&self) -> String {
        format!("{}/{}", self.rule, self.variant)
    }

    /// The changes in words.
    pub fn about(&self) -> String {
        let changes: Vec<_> = self.changes.iter().map(ToString::to_string).collect();
        if changes.is_empty() { "nothing is different".to_owned() } else { changes.join("; ") }
    }
}

/// The deadline set by the treatments, if any.
pub fn time_limit(treatments: &[Treatment]) -> Option<Duration> {
    treatments.iter().flat_map(|treatment| &treatment.changes).find_map(|change| match change {
        TreatmentChange::Deadline { ms } => Some(Duration::from_millis(*ms)),
        _ => None,
    })
}

/// The name of the ranking set by the treatments, if any.
pub fn ranking(treatments: &[Treatment]) -> Option<&str> {
    treatments.iter().flat_map(|treatment| &treatment.changes).find_map(|change| match change {
        TreatmentChange::Ranking(name) => Some(name.as_str()),
        _ => None,
    })
}

/// The treatment that leaves a seat out, if any.
pub fn leaving_out<'t>(
    treatments: &'t [Treatment],
    seat: &RecordedSeat,
    wants_loans: bool,
) -> Option<&'t Treatment> {
    treatments.iter().find(|one| one.changes.iter().any(|change| change.leaves_out(seat, wants_loans)))
}
