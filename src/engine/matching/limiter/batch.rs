//! Of a cap that several processes count towards, each has a batch: asks that it may make without asking the others, since they are handed
//! out to it in a record that all of them change under a guard. What is handed out is never more than the cap.
//!
//! Pure: `matching/cap_sharing.rs` reads and writes the records, `Meter` takes from the batches.

use std::collections::BTreeSet;
use std::ops::Range;

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use offerd_model::ProductType;
use offerd_partners::Limits;

/// Into so many batches for each process what is left of a cap is divided: the more, the less one that asks nothing keeps from others, and
/// the more often one that asks much comes back.
const BATCHES_PER_NODE: u32 = 4;

/// Over what a cap counts that is handed out in batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Period {
    /// A local day.
    Day,
    /// A local week.
    Week,
    /// A local month.
    Month,
}

impl Period {
    /// Every period.
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// Most asks in one.
    pub fn cap(self, limits: &Limits) -> Option<u32> {
        match self {
            Self::Day => limits.per_day,
            Self::Week => limits.per_week,
            Self::Month => limits.per_month,
        }
    }

    /// The one of a time, all in Unix milliseconds.
    pub fn span(self, limits: &Limits, at: i64) -> Range<i64> {
        let at = DateTime::from_timestamp_millis(at).unwrap_or_default();
        match self {
            Self::Day => limits.day_of(at),
            Self::Week => limits.week_of(at),
            Self::Month => limits.month_of(at),
        }
    }

    fn letter(self) -> u8 {
        match self {
            Self::Day => b'd',
            Self::Week => b'w',
            Self::Month => b'm',
        }
    }
}

/// A cap of a seat in one period.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Capped {
    /// Key of the partner.
    pub partner: String,
    /// What it is asked about.
    pub product_type: ProductType,
    /// Over what it counts.
    pub period: Period,
    /// From when to when that is, Unix milliseconds.
    pub span: Range<i64>,
}

impl Capped {
    /// The key of its record. A partner's key is the name of a file, so it holds no zero byte.
    pub fn key(&self) -> Vec<u8> {
        let mut key = format!("{}\0{}\0", self.partner, self.product_type.as_str()).into_bytes();
        key.push(self.period.letter());
        key.extend_from_slice(&self.span.start.to_be_bytes());
        key
    }
}

/// What of a cap is handed out. JSON, by what is capped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedOut {
    /// When the period ends, Unix milliseconds.
    pub until: i64,
    /// Asks of processes that hold nothing any more.
    pub asked: u32,
    /// What processes hold.
    pub held: Vec<Holding>,
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holding {
    /// Its id on the store.
    pub node: Uuid,
    /// Asks that it may make in all.
    pub granted: u32,
    /// Asks that it had made when it wrote this.
    pub asked: u32,
}

/// What a process would like to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Most asks of all processes.
    pub cap: u32,
    /// How many processes there are.
    pub nodes: u32,
    /// Whether it needs more soon, or needed more than it had.
    pub wants: bool,
    /// Whether it has asked nothing for a while.
    pub is_idle: bool,
}

impl Wish {
    /// How much of what is free one should hold.
    fn batch(self, free: u32) -> u32 {
        match self.nodes {
            // Who is alone has nobody to leave some to.
            0 | 1 => free,
            nodes => (free / BATCHES_PER_NODE.saturating_mul(nodes)).max(1).min(free),
        }
    }
}

impl HandedOut {
    /// What may be asked no more, since it was asked or is held.
    pub fn total(&self) -> u32 {
        self.held.iter().fold(self.asked, |total, held| total.saturating_add(held.granted.max(held.asked)))
    }

    /// What others than a process have asked, as far as they have said.
    pub fn asked_by_others(&self, node: Uuid) -> u32 {
        let others = self.held.iter().filter(|held| held.node != node);
        others.fold(self.asked, |asked, held| asked.saturating_add(held.asked))
    }

    /// What a process may ask in all.
    pub fn granted(&self, node: Uuid) -> u32 {
        self.held.iter().find(|held| held.node == node).map_or(0, |held| held.granted)
    }

    /// Whether it is held by others than these.
    pub fn is_held_by_others_than(&self, nodes: &BTreeSet<Uuid>) -> bool {
        self.held.iter().any(|held| !nodes.contains(&held.node))
    }

    /// Takes note of how often a process that holds something has asked by now.
    pub fn note(&mut self, node: Uuid, asked: u32) {
        let held = self.held.iter_mut().filter(|held| held.node == node);
        held.for_each(|held| held.asked = held.asked.max(asked));
    }

    /// Takes back what ended processes held. Of what they have asked there is a count of the records, after which they asked nothing.
    pub fn end(&mut self, alive: &BTreeSet<Uuid>, counted: u32) {
        let ended = self.held.extract_if(.., |held| !alive.contains(&held.node));
        let said = ended.fold(self.asked, |asked, held| asked.saturating_add(held.asked));
        let of_alive = self.held.iter().fold(0_u32, |asked, held| asked.saturating_add(held.asked));
        self.asked = said.max(counted.saturating_sub(of_alive));
    }

    /// Gives a process what it should hold that has asked so often by now, and takes the rest back.
    pub fn hold(&mut self, node: Uuid, asked: u32, wish: Wish) {
        let granted = self.granted(node).max(asked);
        self.held.retain(|held| held.node != node);
        let left = granted - asked;
        let out = self.total().saturating_add(granted);
        let (rest, excess) = (wish.cap.saturating_sub(out), out.saturating_sub(wish.cap));
        let batch = wish.batch(rest.saturating_add(left));
        let left = if excess > 0 {
            left.saturating_sub(excess)
        } else if wish.is_idle && rest == 0 && wish.nodes > 1 {
            // Somebody else may need the last ones.
            0
        } else {
            let is_short = wish.wants && left <= batch / 2;
            let has_too_many = left > batch && (wish.is_idle || left / 2 > batch);
            if is_short || has_too_many { batch } else { left }
        };
        self.held.push(Holding { node, granted: asked.saturating_add(left), asked });
    }

    /// Takes back all that a process holds that has asked so often.
    pub fn give_back(&mut self, node: Uuid, asked: u32) {
        self.held.retain(|held| held.node != node);
        self.asked = self.asked.saturating_add(asked);
    }
}

/// What this process holds of a cap.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Over what the cap counts.
    pub period: Period,
    /// From when to when that is, Unix milliseconds.
    pub span: Range<i64>,
    /// Asks that may be made here in all.
    pub granted: u32,
    /// Asks that were made here.
    pub asked: u32,
    /// Asks that others had made when their word was read last.
    pub by_others: u32,
    /// Whether more is needed soon, or was needed.
    pub is_wanted: bool,
    /// When something was asked last, Unix milliseconds.
    pub asked_at: i64,
    /// As of when the record was read last.
    pub read: Option<Read>,
}

/// As of when a record was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The cap then.
    pub cap: u32,
    /// How many processes there were.
    pub nodes: u32,
    /// Asks that had been made here, by the record.
    pub asked: u32,
    /// What was left here then.
    pub left: u32,
}

/// How long nothing is asked by who is idle, and how long what others do not know of may be old, in ms.
const SOON: i64 = 10_000;

/// How long nothing is looked for by who has found nothing, in ms.
const IN_VAIN: i64 = 1_000;

impl Batch {
    /// Nothing held yet of what is capped.
    pub fn empty(capped: &Capped, at: i64) -> Self {
        let Capped { period, ref span, .. } = *capped;
        let (granted, asked, by_others) = (0, 0, 0);
        Self {
            period,
            span: span.clone(),
            granted,
            asked,
            by_others,
            is_wanted: true,
            asked_at: at,
            read: None,
        }
    }

    /// Asks that may still be made.
    pub fn left(&self) -> u32 {
        self.granted.saturating_sub(self.asked)
    }

    /// Whether it holds what may be asked at a time.
    pub fn is_of(&self, period: Period, at: i64) -> bool {
        self.period == period && self.span.contains(&at)
    }

    /// Counts asks of a time; less than none are given back.
    pub fn count(&mut self, at: i64, asks: i64) {
        let asked = i64::from(self.asked).saturating_add(asks).max(0);
        (self.asked, self.asked_at) = (u32::try_from(asked).unwrap_or(u32::MAX), at);
        self.is_wanted |= self.read.is_none_or(|read| self.left() <= read.left / 2);
    }

    /// Whether there is to be looked for more at once.
    pub fn is_short(&self) -> bool {
        self.is_wanted && self.read.is_none_or(|read| read.left > 0)
    }

    /// What it should hold, if the record is to be read at a time.
    pub fn wish(&self, at: i64, cap: u32, nodes: u32) -> Option<Wish> {
        let Some(read) = self.read else { return Some(Wish { cap, nodes, wants: true, is_idle: false }) };
        let wish = Wish { cap, nodes, wants: self.is_wanted, is_idle: at - self.asked_at >= SOON };
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
