//! Every message of the rate-table actor.

use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use uuid::Uuid;

use crate::rate_table::outcome::AskEnd;

/// To the rate-table actor, as an item of the stream of its [replies](super::replies): a seat has its outcome.
#[derive(Debug)]
pub struct PartnerAnswered {
    /// Position of the seat.
    pub seat: usize,
    /// How the ask ended.
    pub end: AskEnd,
    /// When it ended, Unix milliseconds.
    pub at: i64,
    /// How long it took.
    pub elapsed: Duration,
}

/// To the rate-table actor: show the table as it is.
#[derive(Debug)]
pub struct GetRateTable;

impl Message for GetRateTable {
    type Result = Option<Snapshot>;
}

/// To the rate-table actor: tell that the table is still one of these versions, which the client holds; nothing when it is not.
#[derive(Debug)]
pub struct LookForChange(pub Vec<u32>);

impl Message for LookForChange {
    type Result = Option<Unchanged>;
}

/// To the rate-table actor: show the table once it has come this far.
#[derive(Debug)]
pub struct AwaitTable(pub Until);

impl Message for AwaitTable {
    type Result = Option<Snapshot>;
}

/// How far a table is to come before it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Every partner that answers at once has answered.
    Prompt,
    /// Every partner has its outcome.
    Settled,
    /// It is not the version that the client has any more.
    After(u32),
}

/// To the rate-table actor: the daemon stops, or the lead is erased; leave what is pending to recovery.
#[derive(Debug)]
pub struct Leave;

impl Message for Leave {
    type Result = ();
}

/// A rate table as a client sees it, durable.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The table.
    pub table: Uuid,
    /// Whose it is.
    pub company: Uuid,
    /// Of a test lead.
    pub test: bool,
    /// The specification's RateTable as JSON.
    pub json: Bytes,
    /// Grows by one with each answer; the table is the same while it is.
    pub version: u32,
    /// Whether a partner is still outstanding.
    pub pending: bool,
    /// When the table will be complete at the latest, Unix milliseconds.
    pub deadline: i64,
}

/// A rate table that is what the client holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unchanged {
    /// The version that it holds.
    pub version: u32,
    /// Whether a partner is still outstanding.
    pub pending: bool,
    /// When the table will be complete at the latest, Unix milliseconds.
    pub deadline: i64,
}

/// What a poll finds.
#[derive(Debug, Clone)]
pub enum Polled {
    /// What the client holds.
    Unchanged(Unchanged),
    /// Something else.
    Shown(Snapshot),
}
