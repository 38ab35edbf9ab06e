//! The asks of a table that its head does not record, written with the answers that cause them.

use serde::{Deserialize, Serialize};

use super::denied::Denied;

/// Keyed by rate table; absent where the head records everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    /// When second look began, Unix milliseconds.
    pub second_look_at: Option<i64>,
    /// The seats asked by second look.
    pub released: Vec<u16>,
    /// The seats that were skipped for lack of time.
    pub spared: Vec<u16>,
    /// The seats left out of second look, with what kept each out; `None` when the table was full.
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

    /// Whether a seat was skipped for lack of time.
    pub fn is_spared(&self, seat: usize) -> bool {
        self.spared.iter().any(|spared| usize::from(*spared) == seat)
    }
}
