//! The rate tables that are pending, and whose they are: the process that sees to one is named beside its deadline.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::store::{Commit, ReadError, Store, Tree};

/// Who sees to a pending table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTable {
    /// Its uuid.
    pub uuid: Uuid,
    /// Its deadline, Unix milliseconds.
    deadline: i64,
    /// The process on the store that sees to it.
    pub node: Uuid,
}

impl OpenTable {
    /// One that a process begins.
    pub fn new(uuid: Uuid, deadline: i64, node: Uuid) -> Self {
        Self { uuid, deadline, node }
    }

    /// What is kept of it.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.deadline.to_be_bytes()[..], self.node.as_bytes()].concat()
    }

    fn parse(uuid: Uuid, kept: &[u8]) -> Option<Self> {
        let (deadline, node) = kept.split_first_chunk()?;
        Some(Self { uuid, deadline: i64::from_be_bytes(*deadline), node: Uuid::from_slice(node).ok()? })
    }

    /// Every one that there is.
    pub fn all(store: &Store) -> impl Iterator<Item = Result<Self, ReadError>> + use<> {
        store.scan(Tree::OpenTables, []).filter_map(|record| match record {
            Ok((key, kept)) => Uuid::from_slice(&key).ok().and_then(|uuid| Self::parse(uuid, &kept)).map(Ok),
            Err(error) => Some(Err(error)),
        })
    }

    /// How many of some processes come before one of them when it is to be taken over. Each finds the same, so not all try at once.
    pub fn rank(&self, node: Uuid, among: &BTreeSet<Uuid>) -> usize {
        // The low bits of both are random; the high ones of a table are the time.
        let distance = |node: Uuid| (node.as_u128() ^ self.uuid.as_u128()) as u64;
        among.iter().filter(|other| distance(**other) < distance(node)).count()
    }

    /// Has another process see to it, unless somebody else was quicker, or it is complete by now.
    pub fn taken_over_by(self, node: Uuid) -> Commit {
        let taken = Self { node, ..self };
        let key = self.uuid.as_bytes();
        Commit::new().unchanged(Tree::OpenTables, key, self.to_bytes()).put(
            Tree::OpenTables,
            key,
            taken.to_bytes(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_processes_each_comes_first_for_a_part_of_the_tables_and_one_for_each() {
        let nodes: BTreeSet<Uuid> = (0..20).map(|_| crate::ids::random()).collect();
        let mut firsts = BTreeSet::new();
        for _ in 0..1000 {
            let table = OpenTable::new(crate::ids::timed(), 0, Uuid::nil());
            let ranks: BTreeSet<usize> = nodes.iter().map(|node| table.rank(*node, &nodes)).collect();
            assert!(ranks.into_iter().eq(0..20));
            firsts.extend(nodes.iter().filter(|node| table.rank(**node, &nodes) == 0).copied());
        }
        assert_eq!(firsts, nodes);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let table = OpenTable::new(Uuid::from_u128(1), 77, Uuid::from_u128(2));
        assert_eq!(OpenTable::parse(table.uuid, &table.to_bytes()), Some(table));
        for length in [8, 20] {
            assert_eq!(OpenTable::parse(table.uuid, &table.to_bytes()[..length]), None);
        }
    }
}
