//! The rate tables that are pending, and whose they are: the process that sees to one is named beside its deadline.

use std::collections::BTreeSet;

use uuid::Uuid;

use offerd_store::{Commit, ReadError, Store, Tree, codec};

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
        codec::encode(&(self.deadline, self.node))
    }

    /// Every pending table. A record that does not decode is reported and left out.
    pub fn all(store: &Store) -> impl Iterator<Item = Result<Self, ReadError>> + use<> {
        let reader = store.clone();
        store.scan(Tree::OpenTables, []).read_by(move |key, kept| {
            let (deadline, node) = reader.decode(Tree::OpenTables, &key, &kept).ok()?;
            Some(Self { uuid: Uuid::from_slice(&key).ok()?, deadline, node })
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
        let guarded = Commit::new().unchanged(Tree::OpenTables, self.uuid, self.to_bytes());
        guarded.put(Tree::OpenTables, self.uuid, taken.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_processes_each_comes_first_for_a_part_of_the_tables_and_one_for_each() {
        let nodes: BTreeSet<Uuid> = (0..20).map(|_| offerd_base::ids::random()).collect();
        let mut firsts = BTreeSet::new();
        for _ in 0..1000 {
            let table = OpenTable::new(offerd_base::ids::timed(), 0, Uuid::nil());
            let ranks: BTreeSet<usize> = nodes.iter().map(|node| table.rank(*node, &nodes)).collect();
            assert!(ranks.into_iter().eq(0..20));
            firsts.extend(nodes.iter().filter(|node| table.rank(**node, &nodes) == 0).copied());
        }
        assert_eq!(firsts, nodes);
    }
}
