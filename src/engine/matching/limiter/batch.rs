//! Batches of a cap that several nodes share. A node may use its batch without asking the others, because a
//! record that all nodes change under a guard grants it. The grants never exceed the cap.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use offerd_model::ProductType;
use offerd_partners::limits::declared::Period;

/// Batches per node into which the remaining cap is divided: more strand less, but cost more writes.
const BATCHES_PER_NODE: u32 = 4;

/// A seat's cap in one period.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeatCap {
    /// Key of the partner.
    pub partner: String,
    /// The product type of the seat.
    pub product_type: ProductType,
    /// The kind of period.
    pub period: Period,
    /// The period, Unix milliseconds.
    pub span: Range<i64>,
}

impl SeatCap {
    /// The record's key. A partner's key is a file name, so it holds no zero byte.
    pub fn key(&self) -> Vec<u8> {
        let mut key = format!("{}\0{}\0", self.partner, self.product_type.as_str()).into_bytes();
        key.push(self.period.letter());
        key.extend_from_slice(&self.span.start.to_be_bytes());
        key
    }
}

/// The grants of a cap. Stored as JSON under [`SeatCap::key`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapGrants {
    /// End of the period, Unix milliseconds.
    pub until: i64,
    /// Asks by nodes that no longer hold a grant.
    pub asked: u32,
    /// The grants of the nodes.
    #[serde(rename = "held")]
    pub grants: Vec<NodeGrant>,
}

/// A node's grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeGrant {
    /// The node's id on the store.
    pub node: Uuid,
    /// Asks granted in total.
    pub granted: u32,
    /// Asks made when it last wrote this.
    pub asked: u32,
}

/// A node's request for a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantRequest {
    /// The cap across all nodes.
    pub cap: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Whether it needs more soon, or ran out.
    pub wants: bool,
    /// Whether it has made no ask for a while.
    pub is_idle: bool,
}

impl GrantRequest {
    fn batch(self, free: u32) -> u32 {
        match self.nodes {
            // A lone node shares with no one.
            0 | 1 => free,
            nodes => (free / BATCHES_PER_NODE.saturating_mul(nodes)).max(1).min(free),
        }
    }
}

impl CapGrants {
    /// Asks that are used up or granted.
    pub fn total(&self) -> u32 {
        self.grants.iter().fold(self.asked, |total, held| total.saturating_add(held.granted.max(held.asked)))
    }

    /// Asks made by other nodes, as last recorded.
    pub fn asked_by_others(&self, node: Uuid) -> u32 {
        let others = self.grants.iter().filter(|held| held.node != node);
        others.fold(self.asked, |asked, held| asked.saturating_add(held.asked))
    }

    /// Asks granted to a node in total.
    pub fn granted(&self, node: Uuid) -> u32 {
        self.grants.iter().find(|held| held.node == node).map_or(0, |held| held.granted)
    }

    /// Whether any other node holds a grant.
    pub fn is_held_by_others_than(&self, nodes: &BTreeSet<Uuid>) -> bool {
        self.grants.iter().any(|held| !nodes.contains(&held.node))
    }

    /// Records the asks so far of a node with a grant.
    pub fn note(&mut self, node: Uuid, asked: u32) {
        let held = self.grants.iter_mut().filter(|held| held.node == node);
        held.for_each(|held| held.asked = held.asked.max(asked));
    }

    /// Revokes the grants of dead nodes, given the `counted` asks from the records after the nodes stopped.
    pub fn end(&mut self, alive: &BTreeSet<Uuid>, counted: u32) {
        let ended = self.grants.extract_if(.., |held| !alive.contains(&held.node));
        let said = ended.fold(self.asked, |asked, held| asked.saturating_add(held.asked));
        let of_alive = self.grants.iter().fold(0_u32, |asked, held| asked.saturating_add(held.asked));
        self.asked = said.max(counted.saturating_sub(of_alive));
    }

    /// Sets a node's grant by its wish, given its asks so far, and frees the rest.
    pub fn hold(&mut self, node: Uuid, asked: u32, wish: GrantRequest) {
        let granted = self.granted(node).max(asked);
        self.grants.retain(|held| held.node != node);
        let left = granted - asked;
        let out = self.total().saturating_add(granted);
        let (rest, excess) = (wish.cap.saturating_sub(out), out.saturating_sub(wish.cap));
        let batch = wish.batch(rest.saturating_add(left));
        let left = if excess > 0 {
            left.saturating_sub(excess)
        } else if wish.is_idle && rest == 0 && wish.nodes > 1 {
            // Leave the last ones to other nodes.
            0
        } else {
            let is_short = wish.wants && left <= batch / 2;
            let has_too_many = left > batch && (wish.is_idle || left / 2 > batch);
            if is_short || has_too_many { batch } else { left }
        };
        self.grants.push(NodeGrant { node, granted: asked.saturating_add(left), asked });
    }

    /// Returns a node's whole grant, given its asks so far.
    pub fn give_back(&mut self, node: Uuid, asked: u32) {
        self.grants.retain(|held| held.node != node);
        self.asked = self.asked.saturating_add(asked);
    }
}

/// This node's share of a cap.
#[derive(Debug, Clone)]
pub struct CapBatch {
    /// The kind of period.
    pub period: Period,
    /// The period, Unix milliseconds.
    pub span: Range<i64>,
    /// Asks granted here in total.
    pub granted: u32,
    /// Asks made here.
    pub asked: u32,
    /// Asks made by others, as of the last read.
    pub by_others: u32,
    /// Whether more is needed soon, or was.
    pub is_wanted: bool,
    /// Time of the last ask, Unix milliseconds.
    pub asked_at: i64,
    /// The state at the last read of the record.
    pub read: Option<CapRead>,
}

/// The state when a record was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapRead {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The cap.
    pub cap: u32,
    /// The number of nodes.
    pub nodes: u32,
    /// Asks made here, by the record.
    pub asked: u32,
    /// Asks left here.
    pub left: u32,
}

/// After this time without an ask a node is idle; other nodes' counts may be this old. Milliseconds.
const SOON: i64 = 10_000;

const IN_VAIN: i64 = 1_000;

impl CapBatch {
    /// An empty batch of a cap.
    pub fn empty(capped: &SeatCap, asked_at: i64) -> Self {
        let (period, span) = (capped.period, capped.span.clone());
        Self { period, span, granted: 0, asked: 0, by_others: 0, is_wanted: true, asked_at, read: None }
    }

    /// Asks left.
    pub fn left(&self) -> u32 {
        self.granted.saturating_sub(self.asked)
    }

    /// Whether this is the batch of a period at a time.
    pub fn is_of(&self, period: Period, at: i64) -> bool {
        self.period == period && self.span.contains(&at)
    }

    /// Counts asks at a time; a negative number returns some.
    pub fn count(&mut self, at: i64, asks: i64) {
        let asked = i64::from(self.asked).saturating_add(asks).max(0);
        (self.asked, self.asked_at) = (u32::try_from(asked).unwrap_or(u32::MAX), at);
        self.is_wanted |= self.read.is_none_or(|read| self.left() <= read.left / 2);
    }

    /// Whether to request more at once.
    pub fn is_short(&self) -> bool {
        self.is_wanted && self.read.is_none_or(|read| read.left > 0)
    }

    /// The wish to send, if the record is due to be read.
    pub fn wish(&self, at: i64, cap: u32, nodes: u32) -> Option<GrantRequest> {
        let first = GrantRequest { cap, nodes, wants: true, is_idle: false };
        let Some(read) = self.read else { return Some(first) };
        let wish = GrantRequest { wants: self.is_wanted, is_idle: at - self.asked_at >= SOON, ..first };
        let age = at - read.at;
        let is_due = (read.cap, read.nodes) != (cap, nodes)
            || self.is_short()
            || self.is_wanted && age >= IN_VAIN
            || self.asked != read.asked && age >= SOON
            || wish.is_idle && self.left() > 0 && nodes > 1 && age >= SOON;
        is_due.then_some(wish)
    }
}

#[cfg(test)]
mod tests;
