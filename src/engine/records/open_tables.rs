//! The pending rate tables, each with its deadline and the node that owns it.

use std::collections::BTreeSet;

use uuid::Uuid;

use offerd_store::{Commit, ReadError, Store, Tree, codec};

/// A pending table and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTable {
    /// The table's UUID.
    pub uuid: Uuid,
    /// The table's deadline, Unix milliseconds.
    deadline: i64,
    /// The node that owns it.
    pub node: Uuid,
}

impl OpenTable {
    /// A table that a node starts.
    pub fn new(uuid: Uuid, deadline: i64, node: Uuid) -> Self {
        Self { uuid, deadline, node }
    }

    /// The stored form.
    pub fn to_bytes(self) -> Vec<u8> {
        codec::encode(&(self.deadline, self.node))
    }

    /// Every pending table. Skips records that do not decode, which the store logs.
    pub fn all(store: &Store) -> impl Iterator<Item = Result<Self, ReadError>> + use<> {
        let reader = store.clone();
        store.scan(Tree::OpenTables, []).read_by(move |key, kept| {
            let (deadline, node) = reader.decode(Tree::OpenTables, &key, &kept).ok()?;
            Some(Self { uuid: Uuid::from_slice(&key).ok()?, deadline, node })
        })
    }

    /// The turn of `node` among others for taking this table over. All compute the same, so not all try.
    pub fn turn(&self, node: Uuid, among: &BTreeSet<Uuid>) -> usize {
        // The low bits of both are random; the high bits of a table's UUID are its time.
        let distance = |node: Uuid| (node.as_u128() ^ self.uuid.as_u128()) as u64;
        among.iter().filter(|other| distance(**other) < distance(node)).count()
    }

    /// The commit by which another node takes over, unless the table was taken over or completed first.
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
            let ranks: BTreeSet<usize> = nodes.iter().map(|node| table.turn(*node, &nodes)).collect();
            assert!(ranks.into_iter().eq(0..20));
            firsts.extend(nodes.iter().filter(|node| table.turn(**node, &nodes) == 0).copied());
        }
        assert_eq!(firsts, nodes);
    }
}
