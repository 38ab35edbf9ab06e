//! The bounds that figures have in common.

use super::kind::Kind;

/// An amount of money.
pub(super) const DOLLARS: Kind = Kind::Number(0.0, 100_000_000.0);

/// A rate: percents are percents, 12.5 and not 0.125.
pub(super) const PERCENT: Kind = Kind::Number(0.0, 400.0);

/// An origination fee, percent of the amount.
pub(super) const FEE_RATE: Kind = Kind::Number(0.0, 50.0);

/// Several texts.
pub(super) const TEXTS: Kind = Kind::List(&Kind::Text);
