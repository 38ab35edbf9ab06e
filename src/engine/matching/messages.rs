//! The messages of the rate-table actor.

use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use uuid::Uuid;

use crate::rate_table::outcome::AskResult;

/// A seat has its outcome. Arrives as an item of the [replies](super::replies) stream.
#[derive(Debug)]
pub struct AskEnded {
    /// Position of the seat.
    pub seat: usize,
    /// The result of the ask.
    pub result: AskResult,
    /// When it ended, Unix milliseconds.
    pub at: i64,
    /// Its duration.
    pub elapsed: Duration,
}

/// Requests the table as it is.
#[derive(Debug)]
pub struct GetRateTable;

impl Message for GetRateTable {
    type Result = Option<TableSnapshot>;
}

/// Asks whether the table is still at one of these versions, which the client holds; `None` when it is not.
#[derive(Debug)]
pub struct LookForChange(pub Vec<u32>);

impl Message for LookForChange {
    type Result = Option<Unchanged>;
}

/// Requests the table once it has come this far.
#[derive(Debug)]
pub struct AwaitTable(pub Until);

impl Message for AwaitTable {
    type Result = Option<TableSnapshot>;
}

/// How far a table must come before it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All partners that answer at once have answered.
    Prompt,
    /// All partners have their outcomes, and these are written.
    Complete,
    /// Complete, or as it is after this time; at least that of a prompt one.
    Within(Duration),
    /// The table differs from this version, which the client holds.
    After(u32),
}

/// Stops the actor, because the daemon stops or the lead is erased; pending seats are left to recovery.
#[derive(Debug)]
pub struct Leave;

impl Message for Leave {
    type Result = ();
}

/// A durable rate table, as clients see it.
#[derive(Debug, Clone)]
pub struct TableSnapshot {
    /// The table.
    pub table: Uuid,
    /// Its company.
    pub company: Uuid,
    /// Whether its lead is a test.
    pub test: bool,
    /// The specification's RateTable as JSON.
    pub json: Bytes,
    /// Grows by one with each answer; equal versions mean equal tables.
    pub version: u32,
    /// Whether a partner is still pending.
    pub pending: bool,
    /// The deadline of the table, Unix milliseconds.
    pub deadline: i64,
}

/// Confirms that the client's version is current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unchanged {
    /// The version.
    pub version: u32,
    /// Whether a partner is still pending.
    pub pending: bool,
    /// The deadline of the table, Unix milliseconds.
    pub deadline: i64,
}

/// The result of a poll.
#[derive(Debug, Clone)]
pub enum Polled {
    /// The version that the client holds.
    Unchanged(Unchanged),
    /// Another version.
    Shown(TableSnapshot),
}
