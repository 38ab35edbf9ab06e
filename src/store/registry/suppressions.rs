//! Suppression lists: digests of people about whom partners are not asked. An entry outlives the erasure of a
//! lead, since an opt-out stays in force; the whole tree is therefore sealed.

use std::collections::BTreeSet;

use chrono::Utc;
use serde::{Deserialize, Serialize};

use super::opt_outs::{self, OURS, OwnLists};
use crate::{Commit, CommitError, ReadError, ReadResult, Store, Tree, codec};
use offerd_base::ids;
use offerd_model::{SuppressionDigest, SuppressionKind};

const AT_ONCE: usize = 1024;

/// A suppression list, without its digests. JSON, keyed by its name and a zero byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuppressionList {
    /// Its name.
    pub name: String,
    /// What its digests are made of.
    pub kind: SuppressionKind,
    /// When it was created, Unix milliseconds.
    pub created_at: i64,
    /// When digests were last added, Unix milliseconds.
    pub updated_at: i64,
}

/// Why nothing was added to a list.
#[derive(Debug)]
pub enum NotAdded {
    /// The list holds digests of another kind.
    OtherKind(SuppressionKind),
    /// The list does not exist and there are no digests to create it from. An empty list suppresses nobody.
    Empty,
    /// The store did not take the commit.
    Store(CommitError),
}

/// The suppression lists of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SuppressionLists {
    store: Store,
}

impl SuppressionLists {
    /// The suppression lists of `store`.
    pub fn of(store: Store) -> Self {
        Self { store }
    }

    /// Adds digests to a list, which is created if necessary. An error may come midway.
    pub async fn add(
        &self,
        name: &str,
        kind: SuppressionKind,
        digests: &[SuppressionDigest],
    ) -> Result<(), NotAdded> {
        loop {
            let kept = self.store.get(Tree::Suppressions, key(name));
            let kept = kept.map_err(|failure| NotAdded::Store(failure.into()))?;
            let list = |bytes: &Vec<u8>| self.store.decode_json(Tree::Suppressions, &key(name), bytes).ok();
            if kept.is_none() && digests.is_empty() {
                return Err(NotAdded::Empty);
            }
            let known: Option<SuppressionList> = kept.as_ref().and_then(list);
            if let Some(other) = known.as_ref().map(|list| list.kind).filter(|known| *known != kind) {
                return Err(NotAdded::OtherKind(other));
            }
            let commit = Commit::new().as_found(Tree::Suppressions, key(name), kept);
            let created_at = known.map(|list| list.created_at);
            match self.store.commit(added(commit, (name, kind, created_at), digests)).await {
                // The list was changed or removed meanwhile.
                Err(CommitError::Guard { .. }) => {}
                added => return added.map_err(NotAdded::Store),
            }
        }
    }

    /// Creates a list with these digests, unless the name is taken. Returns whether it was created.
    pub(super) async fn begin(
        &self,
        name: &str,
        kind: SuppressionKind,
        digests: &[SuppressionDigest],
    ) -> Result<bool, CommitError> {
        let commit = Commit::new().absent(Tree::Suppressions, key(name));
        match self.store.commit(added(commit, (name, kind, None), digests)).await {
            Err(CommitError::Guard { .. }) => Ok(false),
            made => made.map(|()| true),
        }
    }

    /// Removes a list with all of its digests. Returns whether it existed. An error may come midway.
    pub async fn remove(&self, name: &str) -> Result<bool, CommitError> {
        let mut was_there = false;
        loop {
            let mut keys = self.store.keys(Tree::Suppressions, key(name))?;
            // Repeats for digests that were added during the removal.
            if keys.is_empty() {
                return Ok(was_there);
            }
            was_there = true;
            // The head of the list goes last, so that a failed removal can be retried.
            keys.reverse();
            self.store.remove_all(Tree::Suppressions, &keys).await?;
        }
    }

    /// Removes a digest from a list. Returns whether it was on it.
    pub async fn take_off(&self, name: &str, digest: &SuppressionDigest) -> Result<bool, CommitError> {
        loop {
            let Some(commit) = self.without(name, digest)? else { return Ok(false) };
            match self.store.commit(commit).await {
                // Another digest of the same record was removed meanwhile.
                Err(CommitError::Guard { .. }) => {}
                taken_off => return taken_off.map(|()| true),
            }
        }
    }

    /// The commit that removes a digest from a list, if it is on it. Guarded on the records changed.
    fn without(&self, name: &str, digest: &SuppressionDigest) -> ReadResult<Option<Commit>> {
        let mut commit = Commit::new();
        let mut was_on = false;
        for found in self.store.scan(Tree::Suppressions, key(name)) {
            let (part, bytes) = found?;
            let digests = bytes.as_chunks::<32>().0;
            // The head of a list holds no digests.
            if part.len() == key(name).len() || !digests.contains(digest) {
                continue;
            }
            was_on = true;
            let others: Vec<u8> = digests.iter().filter(|kept| *kept != digest).flatten().copied().collect();
            commit = commit.unchanged(Tree::Suppressions, &part, &*bytes);
            commit = match others.is_empty() {
                true => commit.remove(Tree::Suppressions, part),
                false => commit.put(Tree::Suppressions, part, others),
            };
        }
        Ok(was_on.then_some(commit))
    }

    /// Every list that partner files can name, with its digests, sorted and deduplicated. Reads all of them.
    /// A list that cannot be read completely is left out, so partners that name it are not asked at all.
    pub fn read(&self) -> ReadResult<OwnLists> {
        Ok(self.read_all()?.into_iter().filter(|(name, _)| !name.starts_with(OURS)).collect())
    }

    /// The daemon's own lists, whose names start with [`OURS`].
    pub(super) fn read_ours(&self) -> ReadResult<OwnLists> {
        Ok(self.read_all()?.into_iter().filter(|(name, _)| name.starts_with(OURS)).collect())
    }

    fn read_all(&self) -> ReadResult<OwnLists> {
        let (mut found, mut broken) = (OwnLists::new(), BTreeSet::new());
        for record in self.store.scan_all(Tree::Suppressions, []) {
            let read = record.and_then(|(key, bytes)| {
                match parsed(&key) {
                    // The head of a list sorts before its parts.
                    Some((name, true)) => {
                        // The head of one of our own lists holds nothing that is not in its key.
                        if let Some(kind) = opt_outs::kind_of(&name) {
                            found.entry(name.clone()).or_insert_with(|| (unnamed(&name, kind), Vec::new()));
                        }
                        found.entry(name).and_modify(|(_, all)| all.extend_from_slice(bytes.as_chunks().0));
                    }
                    Some((name, false)) => {
                        let list = self.store.decode_json(Tree::Suppressions, &key, &bytes)?;
                        found.insert(name, (list, Vec::new()));
                    }
                    None => {}
                }
                Ok(())
            });
            match read {
                Err(ReadError::Broken(record)) => match parsed(&record.key_bytes()) {
                    Some((name, _)) if !name.starts_with(OURS) => drop(broken.insert(name)),
                    _ => return Err(ReadError::Broken(record)),
                },
                read => read?,
            }
        }
        for name in broken {
            tracing::error!(name, "a suppression list is damaged: partners that name it are not asked");
            found.remove(&name);
        }
        for (_, digests) in found.values_mut() {
            digests.sort_unstable();
            digests.dedup();
            digests.shrink_to_fit();
        }
        Ok(found)
    }
}

fn unnamed(name: &str, kind: SuppressionKind) -> SuppressionList {
    SuppressionList { name: name.to_owned(), kind, created_at: 0, updated_at: 0 }
}

/// The record that a salvage leaves when it could not verify the lists, or only up to a time.
pub(crate) fn salvaged(now_ms: i64, whole_until_ms: Option<i64>) -> (Vec<u8>, Vec<u8>) {
    let list = unnamed(opt_outs::SALVAGED, SuppressionKind::Person);
    let list = SuppressionList { created_at: now_ms, updated_at: whole_until_ms.unwrap_or(0), ..list };
    (key(opt_outs::SALVAGED), codec::encode_json(&list))
}

/// The record of a new store beside a suppression key: an earlier store had lists.
pub(crate) fn new_beside_key(now_ms: i64) -> (Vec<u8>, Vec<u8>) {
    salvaged(now_ms, Some(opt_outs::NEW_STORE))
}

/// The record that a restore leaves: the lists are those of a backup begun at this time.
pub(crate) fn restored(now_ms: i64, begun_at_ms: i64) -> (Vec<u8>, Vec<u8>) {
    salvaged(now_ms, Some(-begun_at_ms))
}

/// The name of the list in a key, and whether the key is that of a part.
fn parsed(key: &[u8]) -> Option<(String, bool)> {
    let end = key.iter().position(|byte| *byte == 0)?;
    Some((String::from_utf8_lossy(&key[..end]).into_owned(), end + 1 < key.len()))
}

/// Adds digests to a list that was created at `created_at`, or is created now.
fn added(
    commit: Commit,
    (name, kind, created_at): (&str, SuppressionKind, Option<i64>),
    digests: &[SuppressionDigest],
) -> Commit {
    let now = Utc::now().timestamp_millis();
    let created_at = created_at.unwrap_or(now);
    let list = SuppressionList { name: name.to_owned(), kind, created_at, updated_at: now };
    let commit = commit.put(Tree::Suppressions, key(name), codec::encode_json(&list));
    digests.chunks(AT_ONCE).fold(commit, |commit, some| {
        let part = [key(name).as_slice(), ids::timed().as_bytes()].concat();
        commit.put(Tree::Suppressions, part, some.concat())
    })
}

/// The name of a list consists of letters, so it has no zero byte.
fn key(name: &str) -> Vec<u8> {
    format!("{name}\0").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreOptions;

    fn digests(of: std::ops::Range<u32>) -> Vec<SuppressionDigest> {
        of.map(|nth| {
            let mut digest = [7; 32];
            digest[..4].copy_from_slice(&nth.to_be_bytes());
            digest
        })
        .collect()
    }

    #[tokio::test]
    async fn a_list_of_which_a_part_is_damaged_is_no_list_and_can_be_removed() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::new(directory.path())).unwrap();
        let lists = SuppressionLists::of(store.clone());
        for name in ["one", "other"] {
            lists.add(name, SuppressionKind::Email, &digests(0..9)).await.unwrap();
        }
        store.commit(Commit::new().put(Tree::Suppressions, key("one"), "no list")).await.unwrap();
        assert_eq!(lists.read().unwrap().into_keys().collect::<Vec<_>>(), ["other"]);
        assert!(lists.remove("one").await.unwrap() && !lists.remove("one").await.unwrap());
    }

    #[tokio::test]
    async fn what_is_added_is_there_once_and_goes_with_its_list_alone() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::new(directory.path())).unwrap();
        let lists = SuppressionLists::of(store);
        lists.add("one", SuppressionKind::Email, &digests(0..3000)).await.unwrap();
        lists.add("one", SuppressionKind::Email, &digests(2000..3500)).await.unwrap();
        lists.add("one_more", SuppressionKind::Phone, &digests(0..5)).await.unwrap();
        let refused = lists.add("one", SuppressionKind::Phone, &digests(0..1)).await;
        assert!(matches!(refused, Err(NotAdded::OtherKind(SuppressionKind::Email))));
        let names = || {
            let read = lists.read().unwrap().into_values();
            read.map(|(list, _)| (list.name, list.kind)).collect::<Vec<_>>()
        };
        let (one, more) = ("one".to_owned(), "one_more".to_owned());
        assert_eq!(names(), [(one, SuppressionKind::Email), (more.clone(), SuppressionKind::Phone)]);
        assert_eq!(lists.read().unwrap()["one"].1, digests(0..3500));

        assert!(lists.remove("one").await.unwrap() && !lists.remove("one").await.unwrap());
        assert_eq!(names(), [(more, SuppressionKind::Phone)]);
        assert_eq!(lists.read().unwrap()["one_more"].1, digests(0..5));
    }

    #[test]
    fn what_several_processes_take_off_and_add_at_once_is_all_done() {
        let Some((stores, _directory)) = crate::testing::two_nodes() else { return };
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let first = SuppressionLists::of(stores[0].clone());
        runtime().block_on(first.add("one", SuppressionKind::Email, &digests(0..40))).unwrap();
        std::thread::scope(|scope| {
            for (store, nth) in stores.iter().zip(0_u32..) {
                let lists = SuppressionLists::of(store.clone());
                scope.spawn(move || {
                    let runtime = runtime();
                    for off in digests(nth * 20..nth * 20 + 10) {
                        assert!(runtime.block_on(lists.take_off("one", &off)).unwrap());
                    }
                    let more = digests(100 + nth..101 + nth);
                    runtime.block_on(lists.add("one", SuppressionKind::Email, &more)).unwrap();
                });
            }
        });
        let left = [digests(10..20), digests(30..40), digests(100..102)].concat();
        let mut read = first.read().unwrap()["one"].1.clone();
        read.sort_unstable();
        let mut left = left;
        left.sort_unstable();
        assert_eq!(read, left);
    }
}
