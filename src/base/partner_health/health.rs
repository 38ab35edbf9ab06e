//! The words for how well a partner is.

use serde::{Deserialize, Serialize};

worded! {
    /// How well a partner is, the worst last but for where nothing is known.
    #[derive(Default, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Health;

    /// The word for it in metrics, for other programs, and for people with spaces.
    fn word;

    /// As usual.
    Healthy "healthy";
    /// It was asked too little lately.
    #[default]
    Unknown "unknown";
    /// It is not asked: paused, or outside its schedule.
    NotAsked "not_asked";
    /// It has nothing for more people than usual.
    DecliningMore "declining_more";
    /// More asks than usual run out of time, or its answers take longer.
    Slow "slow";
    /// More asks than usual end with an error, or very many.
    Failing "failing";
    /// It was asked again and again, and has not answered at all.
    Silent "silent";
}

impl Health {
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
