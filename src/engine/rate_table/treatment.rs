//! What experiments change of a rate table: written with its head, and in force to its end, whatever becomes of the rules.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use offerd_partners::SeatTemplate;

/// The variant that a table's lead has of a rule which ran when the table was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// The rule, by name.
    pub rule: String,
    /// The variant, by name.
    pub variant: String,
    /// What it changes; nothing of the control.
    pub changes: Vec<Change>,
}

/// One thing that a variant changes. Stored by position: a new one goes behind the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// How long the table may take.
    Deadline {
        /// Milliseconds.
        ms: u64,
    },
    /// Nobody is asked but these partners, by key.
    OnlyPartners(Vec<String>),
    /// These partners are not asked, by key.
    WithoutPartners(Vec<String>),
    /// Whether partners with second look are asked when no other had a loan offer.
    SecondLook(bool),
    /// By which ranking of the settings offers have their scores.
    Ranking(String),
}

impl Change {
    /// What it is about: two rules that change the same cannot be told apart.
    pub fn subject(&self) -> &'static str {
        match self {
            Self::Deadline { .. } => "the deadline",
            Self::OnlyPartners(_) | Self::WithoutPartners(_) => "the partners",
            Self::SecondLook(_) => "second look",
            Self::Ranking(_) => "the ranking",
        }
    }

    fn leaves_out(&self, seat: &SeatTemplate, wants_loans: bool) -> bool {
        match self {
            Self::Deadline { .. } | Self::SecondLook(true) | Self::Ranking(_) => false,
            Self::OnlyPartners(partners) => !partners.contains(&seat.key),
            Self::WithoutPartners(partners) => partners.contains(&seat.key),
            // Of a lead that wants no loan everybody is asked at once.
            Self::SecondLook(false) => seat.second_look && wants_loans,
        }
    }
}

impl fmt::Display for Change {
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
    /// The rule with its variant, as reports name it.
    pub fn label(&self) -> String {
        format!("{}/{}", self.rule, self.variant)
    }

    /// What it changes, in words.
    pub fn about(&self) -> String {
        if self.changes.is_empty() {
            return "nothing is different".to_owned();
        }
        self.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// The deadline that a table has by its treatments, if they give one.
pub fn deadline(treatments: &[Treatment]) -> Option<Duration> {
    treatments.iter().flat_map(|treatment| &treatment.changes).find_map(|change| match change {
        Change::Deadline { ms } => Some(Duration::from_millis(*ms)),
        _ => None,
    })
}

/// The name of the ranking that a table has by its treatments, if they give one.
pub fn ranking(treatments: &[Treatment]) -> Option<&str> {
    treatments.iter().flat_map(|treatment| &treatment.changes).find_map(|change| match change {
        Change::Ranking(name) => Some(name.as_str()),
        _ => None,
    })
}

/// The treatment that leaves a seat out, if one does.
pub fn leaving_out<'t>(
    treatments: &'t [Treatment],
    seat: &SeatTemplate,
    wants_loans: bool,
) -> Option<&'t Treatment> {
    let leaves_out =
        |treatment: &&Treatment| treatment.changes.iter().any(|change| change.leaves_out(seat, wants_loans));
    treatments.iter().find(leaves_out)
}
