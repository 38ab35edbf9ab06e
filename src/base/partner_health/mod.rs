//! How well a partner is: one judgement of how its asks end now, against how they have ended before.
//!
//! Whoever asks notes each end in an [`AskHistory`], one for each seat. It keeps the last half hour in steps of ten seconds, and what
//! is older as one sum that fades by half in a day. Now is the last minute, or as many asks before it as make ten; of how many
//! are declined, which is told by more asks and less urgent, the last ten minutes. Usual is what was before the half hour, or, as long
//! as that is little, before now. A share of asks is more than usual where a partner that is as usual would show it once in a million looks
//! (the tail of a binomial, `tail`), and it matters: so a rare error is none, a partner that always errs a little is as
//! always, and of one that begins to fail half its asks eight of them are enough to know.
//!
//! Pure: no clock, no metric, no name of a partner. Times are told to it, from whatever beginning.

mod health;
mod history;
mod judgement;
mod tail;
#[cfg(test)]
mod tests;

pub use self::health::Health;
pub use self::history::{AskHistory, Ending};
pub use self::judgement::Judgement;
