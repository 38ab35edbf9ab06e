//! Who of a table's seats was asked, where its head does not say so: second look that began, and seats for which no time
//! was left. Written with the answers that bring it about, so that what is counted of them survives with them.

use serde::{Deserialize, Serialize};

use super::denied::Denied;

/// By rate table. A table of which the head says it all has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    /// When second look began, Unix milliseconds.
    pub second_look_at: Option<i64>,
    /// The seats that second look asks.
    pub released: Vec<u16>,
    /// The seats that were not asked after all, since no time was left.
    pub spared: Vec<u16>,
    /// The seats that second look left out, and what kept each out; `None` when as many others were asked as may be.
    pub held_back: Vec<(u16, Option<Denied>)>,
}

impl Asks {
    /// When second look asked a seat, Unix milliseconds; `None` when it did not.
    pub fn released_at(&self, seat: usize) -> Option<i64> {
        self.second_look_at.filter(|_| self.is_released(seat))
    }

    /// Whether second look asks a seat.
    pub fn is_released(&self, seat: usize) -> bool {
        self.released.iter().any(|released| usize::from(*released) == seat)
    }

    /// Whether a seat was not asked after all.
    pub fn is_spared(&self, seat: usize) -> bool {
        self.spared.iter().any(|spared| usize::from(*spared) == seat)
    }
}
