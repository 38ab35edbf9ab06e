//! The words for how well a partner is.

use serde::{Deserialize, Serialize};

/// How well a partner is, the worst last but for where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As usual.
    Healthy,
    /// It was asked too little lately.
    #[default]
    Unknown,
    /// It is not asked: paused, or outside its schedule.
    NotAsked,
    /// It has nothing for more people than usual.
    DecliningMore,
    /// More asks than usual run out of time, or its answers take longer.
    Slow,
    /// More asks than usual end with an error, or very many.
    Failing,
    /// It was asked again and again, and has not answered at all.
    Silent,
}

impl Health {
    /// The word for it in metrics, for other programs, and for people with spaces.
    pub fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Unknown => "unknown",
            Self::NotAsked => "not_asked",
            Self::DecliningMore => "declining_more",
            Self::Slow => "slow",
            Self::Failing => "failing",
            Self::Silent => "silent",
        }
    }

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAsked => "not asked",
            Self::DecliningMore => "declining more",
            other => other.word(),
        }
    }

    /// The word of a partner that is unwell, by how bad that is.
    pub fn unwell(badness: f64) -> Option<Self> {
        let unwell = [Self::DecliningMore, Self::Slow, Self::Failing, Self::Silent];
        unwell.into_iter().find(|health| f64::from(health.badness()) == badness)
    }

    /// How bad it is: 0 where nothing is to be done, and the worse the higher.
    pub fn badness(self) -> u8 {
        match self {
            Self::Healthy | Self::Unknown | Self::NotAsked => 0,
            Self::DecliningMore => 1,
            Self::Slow => 2,
            Self::Failing => 3,
            Self::Silent => 4,
        }
    }
}
