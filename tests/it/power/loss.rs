//! How much a power cut takes of what was not synced.

use fastrand::Rng;

/// What becomes of the changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// A perfect drive: all of them are there.
    Nothing,
    /// None of them is.
    Everything,
    /// Each page of a file for itself is as it was at some moment; with this probability at the last one.
    Pages { kept: f64 },
    /// Each sector for itself.
    Sectors { kept: f64 },
}

impl Loss {
    /// A loss of a state, and whether each file has one of its own.
    pub fn drawn(rng: &mut Rng) -> (Self, bool) {
        let by_file = rng.u8(0..4) == 0;
        (Self::one(rng), by_file)
    }

    /// Any loss.
    pub fn one(rng: &mut Rng) -> Self {
        let kept = rng.f64();
        match rng.u8(0..8) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2..=5 => Self::Pages { kept },
            _ => Self::Sectors { kept },
        }
    }

    /// Whether less than a page may be written.
    pub fn is_torn(self) -> bool {
        matches!(self, Self::Sectors { .. })
    }

    /// How many of so many changes of one thing, in their order, are there.
    pub fn version(self, count: usize, rng: &mut Rng) -> usize {
        match self {
            Self::Nothing => count,
            Self::Everything => 0,
            Self::Pages { kept } | Self::Sectors { kept } if rng.f64() < kept => count,
            Self::Pages { .. } | Self::Sectors { .. } if rng.bool() => 0,
            Self::Pages { .. } | Self::Sectors { .. } => rng.usize(..=count),
        }
    }

    /// Whether a single change is there.
    pub fn keeps(self, rng: &mut Rng) -> bool {
        self.version(1, rng) == 1
    }
}
