//! The states of partner health.

use serde::{Deserialize, Serialize};

worded! {
    /// The health of a partner, in ascending order of badness, apart from the states without a judgement.
    #[derive(Default, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Health;

    /// The name in metrics and for other programs.
    fn word;

    /// As usual.
    Healthy "healthy";
    /// Too few recent asks.
    #[default]
    Unknown "unknown";
    /// It is not asked: paused, or outside its schedule.
    NotAsked "not_asked";
    /// It declines more asks than usual.
    DecliningMore "declining_more";
    /// More asks than usual time out, or its answers take longer.
    Slow "slow";
    /// More asks than usual fail, or very many.
    Failing "failing";
    /// It has not answered any of many asks.
    Silent "silent";
}

impl Health {
    /// The name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAsked => "not asked",
            Self::Unknown => "too few calls",
            Self::DecliningMore => "declining more",
            other => other.word(),
        }
    }

    /// The unhealthy state with this badness.
    pub fn unwell(badness: f64) -> Option<Self> {
        let unwell = [Self::DecliningMore, Self::Slow, Self::Failing, Self::Silent];
        unwell.into_iter().find(|health| f64::from(health.badness()) == badness)
    }

    /// Its badness: 0 if no action is needed, and higher for worse states.
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
