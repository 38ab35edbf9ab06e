//! What the store keeps of a rate table: its head, written with the lead, and its answers, in the order of arrival.
//!
//! Folding the answers over the head gives the table again, byte for byte ([`super::table`]).

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::cause::Cause;
use super::denied::Denied;
use super::outcome::Outcome;
use crate::partners::Fingerprint;

/// Written once, with the lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableHead {
    /// The table.
    pub uuid: Uuid,
    /// The lead it belongs to.
    pub lead: Uuid,
    /// The company it belongs to.
    pub company: Uuid,
    /// Made with a test token.
    pub test: bool,
    /// The lead's loan amount when the table was made, dollars.
    pub loan_amount: Option<i32>,
    /// Whether the lead wants loans, so that second look waits.
    pub wants_loans: bool,
    /// When it was made, Unix milliseconds.
    pub created_at: i64,
    /// When it must be complete, Unix milliseconds.
    pub deadline: i64,
    /// The seats asked or held, each by the fingerprint of its template.
    pub seats: Vec<Fingerprint>,
    /// The partner files that it was made with.
    pub book: Fingerprint,
    /// The seats that the lead fits and that limits kept from being asked, at most [`MAX_KEPT_OUT`].
    pub kept_out: Vec<KeptOut>,
}

/// A seat that has no place at a table although the lead fits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOut {
    /// The seat, by the fingerprint of its template.
    pub seat: Fingerprint,
    /// What kept it out; `None` when as many others were asked as may be.
    pub by: Option<Denied>,
}

/// One seat's outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Position of the seat in the head.
    pub seat: u16,
    /// When it was recorded, Unix milliseconds.
    pub at: i64,
    /// How the ask ended.
    pub outcome: Outcome,
    /// Why it ended so, where that is known in words.
    pub cause: Option<Cause>,
}

/// Answers that were written together, and how each was asked for. Records of earlier builds end after the answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// In the order of arrival.
    pub answers: Vec<Answer>,
    /// Of each answer, in the same order, how it was asked for; `None` when nobody was asked.
    pub asked: Vec<Option<Ask>>,
}

/// When an ask began, and how long it could take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Milliseconds from the making of the table.
    pub after_ms: u32,
    /// Its budget, milliseconds.
    pub budget_ms: u32,
}

impl AnswerRecord {
    /// Each answer, with how it was asked for where that is recorded.
    pub fn each(self) -> impl Iterator<Item = (Answer, Option<Ask>)> {
        let asked = self.asked.into_iter().chain(std::iter::repeat(None));
        self.answers.into_iter().zip(asked)
    }
}

/// Seats that were kept out of a table and are recorded, at most.
pub const MAX_KEPT_OUT: usize = 1_000;

/// Bits of an offer's number in its uuid, which `records::offer_ids` makes.
pub const NUMBER_BITS: u32 = 12;

/// Offers that a table numbers at most; what comes after is cut and counted.
pub const MAX_OFFERS: u16 = (1 << NUMBER_BITS) - 1;
