//! Reading records from the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::vec;

use tokio_postgres::types::FromSqlOwned;
use uuid::Uuid;

use super::client::Client;
use super::nodes::LeasedNode;
use super::statements::{COUNT, GET, WALK};
use crate::broken::Reported;
use crate::engine::{EntryWalk, StoreBackend};
use crate::raw::RawValues;
use crate::sealing::Sealing;
use crate::{BASE, DiskError, DiskResult, ReadResult, Tree, VolumeNumber};

/// Page sizes: the first page is small, since most walks are short.
const FIRST: i64 = 32;
const MORE: i64 = 1024;

pub(crate) struct Database {
    pub(super) client: Arc<Client>,
    pub(super) node: LeasedNode,
    /// The version of the keys that the sealing has loaded.
    pub(super) keys: Arc<AtomicI64>,
    sealing: Sealing,
    pub(super) reported: Arc<Reported>,
    /// The arrival time of the group being written, in seconds since 1970: the time of its leads.
    time_s: AtomicU32,
}

impl Database {
    pub(super) fn new(client: Arc<Client>, node: LeasedNode, keys: Arc<AtomicI64>, sealing: Sealing) -> Self {
        Self { client, node, keys, sealing, reported: Arc::default(), time_s: AtomicU32::new(u32::MAX) }
    }

    pub(super) fn note_time(&self, seconds: u64) {
        self.time_s.store(u32::try_from(seconds).unwrap_or(u32::MAX), Ordering::Release);
    }

    /// The number beside the data key of a lead, in place of a volume: its arrival in seconds since 1970.
    pub(super) fn time(&self) -> VolumeNumber {
        self.time_s.load(Ordering::Acquire).max(BASE + 1)
    }

    pub(crate) fn directory_id(&self) -> Uuid {
        self.node.directory_id
    }
}

impl RawValues for Database {
    fn raw(&self, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        let key = tree_key.to_vec();
        let found = self.client.ask(|connection| async move { connection.row(GET, &[&key]).await });
        let found = found.inspect_err(|failure| self.node.cluster.note_unread(&failure.to_string()));
        Ok(found?.map(|row| row.get(0)))
    }
}

impl StoreBackend for Database {
    fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    fn reported(&self) -> &Reported {
        &self.reported
    }

    fn walk(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> EntryWalk {
        let prefix = tree.tree_key(prefix);
        let from = tree.tree_key(start).max(prefix.clone());
        let (client, until) = (Arc::clone(&self.client), end_of(prefix));
        Box::new(Pages::<Vec<u8>> { most: FIRST, ..Pages::between(client, WALK, from, until) })
    }

    fn count(&self, tree: Tree, prefix: &[u8]) -> ReadResult<u64> {
        let from = tree.tree_key(prefix);
        let until = end_of(from.clone());
        let counted = self.client.ask(|connection| async move {
            Ok(connection.one(COUNT, &[&from, &until]).await?.get::<_, i64>(0))
        });
        Ok(counted.map_err(DiskError::from)?.unsigned_abs())
    }
}

/// A paged walk over keys, each with the other column of the statement.
pub(super) struct Pages<T> {
    client: Arc<Client>,
    sql: &'static str,
    from: Option<Vec<u8>>,
    until: Vec<u8>,
    most: i64,
    read: vec::IntoIter<(Vec<u8>, T)>,
}

impl<T> Pages<T> {
    pub(super) fn between(client: Arc<Client>, sql: &'static str, from: Vec<u8>, until: Vec<u8>) -> Self {
        Self { client, sql, from: Some(from), until, most: MORE, read: Vec::new().into_iter() }
    }
}

impl<T: FromSqlOwned + Send + 'static> Iterator for Pages<T> {
    type Item = DiskResult<(Vec<u8>, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.read.next() {
                return Some(Ok(entry));
            }
            let (from, until, most) = (self.from.take()?, self.until.clone(), self.most);
            let sql = self.sql;
            let page = self.client.ask(move |connection| async move {
                let rows = connection.rows(sql, &[&from, &until, &most]).await?;
                Ok(rows.into_iter().map(|row| (row.get(0), row.get(1))).collect::<Vec<(Vec<u8>, T)>>())
            });
            match page {
                Ok(page) => {
                    let is_full = page.len() as i64 == most;
                    self.from = page.last().filter(|_| is_full).map(|(last, _)| [&last[..], &[0]].concat());
                    (self.most, self.read) = (MORE, page.into_iter());
                }
                Err(failure) => return Some(Err(failure.into())),
            }
        }
    }
}

/// The first key after all keys with a prefix. A prefix begins with the byte of a tree, so there is one.
pub(super) fn end_of(mut prefix: Vec<u8>) -> Vec<u8> {
    while prefix.last() == Some(&u8::MAX) {
        prefix.pop();
    }
    if let Some(last) = prefix.last_mut() {
        *last += 1;
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_one() {
        assert_eq!(end_of(vec![b'a', 7]), [b'a', 8]);
        assert_eq!(end_of(vec![b'a', u8::MAX, u8::MAX]), [b'b']);
    }
}
