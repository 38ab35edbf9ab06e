//! Partner health: compares how a partner's asks end now with how they ended before.
//!
//! The caller notes each ending in an [`AskHistory`], one per seat. It keeps the last half hour in steps of
//! ten seconds, and everything older as one sum with a half-life of a day.
//!
//! - "Now" is the last minute, extended back to at least ten asks; for declines the last ten minutes.
//! - "Usual" is everything before the half hour and, while that is little, all asks before those ten minutes.
//!
//! A share of asks is more than usual if a partner in its usual state would show it once in a million looks
//! (the tail of a binomial), and only if it matters. When a partner begins to fail half of its asks, eight
//! asks suffice. Pure: the caller passes times, relative to any start.

mod health;
mod history;
mod judgement;
#[cfg(test)]
mod tests;

pub use self::health::Health;
pub use self::history::{AskHistory, EndingKind};
pub use self::judgement::Judgement;
