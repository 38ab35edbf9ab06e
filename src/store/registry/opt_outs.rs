//! Opt-outs: the daemon's own suppression list, which applies to every partner.
//!
//! An opt-out outlives the erasure of its lead, so only the HMAC of each digest is stored, under a key in a
//! file outside of store and backup. While that key is missing, no partner is asked about anyone.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::DateTime;
use ring::hmac;

use super::suppressions::{NotAdded, SuppressionList, SuppressionLists};
use crate::sealing::{MasterKeyError, kept_beside};
use crate::{CommitError, MasterKey, ReadResult, Store, suppression_key_file};
use offerd_model::{SuppressionDigest, SuppressionKind};

/// The name of the list on the command line.
pub const EVERYWHERE: &str = "everywhere";

/// Prefix of the daemon's own list names; no other list has it.
pub(super) const OURS: char = '_';

/// The list that identifies the right key.
const CHECK: &str = "_key";

/// The list that a salvage leaves if it could not verify the lists, complete until its update time, and that a
/// restore leaves, with the negated time of its backup.
pub(crate) const SALVAGED: &str = "_salvaged";

/// Stands for the time of a backup in the mark of a new store beside a suppression key.
pub(crate) const NEW_STORE: i64 = i64::MIN;

const CHECKED: &[u8] = b"offerd suppression key";

/// The opt-outs of a store.
#[derive(Debug, Default)]
pub enum OptOuts {
    /// There are none.
    #[default]
    Nobody,
    /// The opt-outs, readable with this key.
    Known(OptOutKey, Vec<(SuppressionList, Vec<SuppressionDigest>)>),
    /// There are some, but the key is missing or wrong; a sentence.
    Locked(String),
}

/// The HMAC key of the opt-outs. Its debug form names the algorithm only.
#[derive(Debug)]
pub struct OptOutKey(hmac::Key);

impl OptOutKey {
    fn of(key: &MasterKey) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key.key.bytes()))
    }

    /// The stored form of a digest.
    pub fn kept(&self, digest: &[u8]) -> SuppressionDigest {
        let mut kept = SuppressionDigest::default();
        kept.copy_from_slice(hmac::sign(&self.0, digest).as_ref());
        kept
    }
}

impl OptOuts {
    /// Reads all opt-outs of a store, with the key in `file`.
    pub fn read(store: &Store, file: &Path) -> ReadResult<Self> {
        let read = Self::of(SuppressionLists::of(store.clone()).read_ours()?, file);
        // Without any opt-out there is no key file.
        let may_lack = !matches!(read, Self::Locked(_)) && store.is_base_damaged() && file.exists();
        Ok(if may_lack { Self::Locked(MAY_LACK.to_owned()) } else { read })
    }

    fn of(lists: OwnLists, file: &Path) -> Self {
        let check = match lists.get(CHECK) {
            Some((_, check)) if !check.is_empty() => check,
            _ if lists.keys().all(|name| name == SALVAGED) => return Self::Nobody,
            _ => return Self::Locked(unmarked(&format!("`{}`", file.display()))),
        };
        let key = match MasterKey::read(file) {
            Ok(key) => OptOutKey::of(&key),
            Err(error) => {
                return Self::Locked(match error {
                    MasterKeyError::Io { place, error } => locked(&format!("{place}: {error}")),
                    MasterKeyError::Malformed { place, length } => {
                        locked(&format!("{place} must have 64 hexadecimal digits, got {length} characters"))
                    }
                    error => error.to_string(),
                });
            }
        };
        if !check.contains(&key.kept(CHECKED)) {
            return Self::Locked(locked(&format!("`{}` belongs to another key", file.display())));
        }
        let kinds = lists.into_iter().filter(|(name, _)| name != CHECK && name != SALVAGED);
        Self::Known(key, kinds.map(|(_, list)| list).collect())
    }

    /// Whether the key in `file` matches these opt-outs. True if there are none.
    pub fn is_known_by(&self, file: &Path) -> bool {
        let Self::Known(key, _) = self else { return true };
        MasterKey::read(file).is_ok_and(|found| OptOutKey::of(&found).kept(CHECKED) == key.kept(CHECKED))
    }

    /// Whether any of these digests has opted out.
    pub fn has_any<'d>(
        &self,
        kind: SuppressionKind,
        digests: impl IntoIterator<Item = &'d SuppressionDigest>,
    ) -> bool {
        let Self::Known(key, kinds) = self else { return false };
        let Some((_, kept)) = kinds.iter().find(|(list, _)| list.kind == kind) else { return false };
        digests.into_iter().any(|digest| kept.binary_search(&key.kept(digest)).is_ok())
    }

    /// The lists, with the number of digests on each.
    pub fn all(&self) -> impl Iterator<Item = (&SuppressionList, usize)> {
        let kinds = if let Self::Known(_, kinds) = self { &kinds[..] } else { &[] };
        kinds.iter().map(|(list, digests)| (list, digests.len()))
    }
}

/// Message: damage may have cost entries of suppression lists, and the remedy.
pub const MAY_LACK: &str = "the store is damaged where its suppression lists are, so some opt-outs may be \
    lost. Until that is repaired, no partner is asked; `offerd store check` names the damage, and `offerd \
    store salvage` makes a whole store";

fn locked(why: &str) -> String {
    format!(
        "the suppression key cannot be used: {why}; put the file back, or name it as \
            `store.suppression_key_file`; nodes that share a database each need the same file. Until then \
            no partner is asked; `offerd suppressions remove {EVERYWHERE}` ends the list"
    )
}

fn unmarked(file: &str) -> String {
    format!(
        "the store is damaged: the record that identifies the suppression key is lost, so {file} \
            may be the right key or not. Until that is settled, no partner is asked; `offerd store salvage` \
            takes the record from a backup, or `offerd suppressions confirm` accepts that key as the right \
            one"
    )
}

/// What a salvage or restore could not verify of the suppression lists, until an operator [confirms](confirm) them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum SuppressionDoubt {
    /// Entries may be lost, so no partner is asked about anyone.
    MayBeLost(String),
    /// The store was restored, or is new beside an earlier one's suppression key, so later entries are missing and no partner is asked about anyone.
    Restored(String),
    /// The lists come from a backup, so later entries may be lost.
    OfBackup(String),
}

impl SuppressionDoubt {
    /// Reads the doubt that a salvage or restore has recorded, if any.
    pub fn read(store: &Store) -> ReadResult<Option<Self>> {
        let lists = SuppressionLists::of(store.clone()).read_ours()?;
        Ok(lists.get(SALVAGED).map(|(list, _)| Self::of_stored(list.updated_at)))
    }

    /// The doubt of a store restored from a backup of this time, Unix milliseconds.
    pub(crate) fn of_restore(begun_at_ms: i64) -> Self {
        Self::of_stored(-begun_at_ms)
    }

    /// The doubt of a salvage that had complete lists until this time, Unix milliseconds; 0 if none.
    pub(crate) fn of_salvage(until_ms: i64) -> Self {
        Self::of_stored(until_ms)
    }

    /// The doubt by its stored time: [`NEW_STORE`], negative after a restore, else that of a salvage.
    fn of_stored(until_ms: i64) -> Self {
        if until_ms == NEW_STORE {
            return Self::Restored(
                "the store is new, and the suppression key of an earlier one stands beside it: its opt-outs are \
                    missing. Until that is settled, no partner is asked; put the earlier store back or restore its \
                    backup, or accept that nobody has opted out with `offerd suppressions confirm`"
                    .to_owned(),
            );
        }
        if until_ms < 0 {
            let of = DateTime::from_timestamp_millis(-until_ms).unwrap_or_default();
            return Self::Restored(format!(
                "the store was restored from the backup of {}: opt-outs and other entries of suppression \
                    lists added later are missing. Until that is settled, no partner is asked; add the people \
                    you know of, then accept the lists with `offerd suppressions confirm`",
                of.format("%Y-%m-%dT%H:%M:%SZ")
            ));
        }
        match DateTime::from_timestamp_millis(until_ms).filter(|_| until_ms > 0) {
            None => Self::MayBeLost(
                "a salvage could not prove that the suppression lists are complete: some opt-outs may be \
                    lost. Until that is settled, no partner is asked; salvage the damaged store again with \
                    `--backup FILE`, or add the people you know of, then accept the lists with `offerd \
                    suppressions confirm`"
                    .to_owned(),
            ),
            Some(since) => Self::OfBackup(format!(
                "the suppression lists were salvaged with those of the backup of {}: people added later may \
                    be missing; add those you know of, then run `offerd suppressions confirm`",
                since.format("%Y-%m-%dT%H:%M:%SZ")
            )),
        }
    }
}

/// The damage to the opt-out lists that shows without the key, as a sentence.
pub fn damage(store: &Store) -> ReadResult<Option<String>> {
    let lists = SuppressionLists::of(store.clone()).read_ours()?;
    let is_marked = lists.get(CHECK).is_some_and(|(_, check)| !check.is_empty());
    Ok((!is_marked && lists.keys().any(|name| name != SALVAGED)).then(|| unmarked("the one that is there")))
}

/// Accepts the lists as they are after a restore, or a salvage that could not verify them. Returns whether any needed it.
pub async fn confirm(store: &Store, file: &Path) -> Result<bool, OptOutError> {
    let lists = SuppressionLists::of(store.clone());
    let is_unmarked = damage(store)?.is_some();
    if is_unmarked {
        let key = MasterKey::read(file).map_err(|error| OptOutError::Locked(locked(&error.to_string())))?;
        let check = [OptOutKey::of(&key).kept(CHECKED)];
        lists.add(CHECK, SuppressionKind::Person, &check).await.map_err(OptOutError::by)?;
    }
    Ok(lists.remove(SALVAGED).await? || is_unmarked)
}

/// Adds opt-outs. The first one creates the key. After an error, some digests may have been added.
pub async fn add(
    store: &Store,
    file: &Path,
    kind: SuppressionKind,
    digests: &[SuppressionDigest],
) -> Result<(), OptOutError> {
    let lists = SuppressionLists::of(store.clone());
    let key = loop {
        match OptOuts::read(store, file)? {
            OptOuts::Known(key, _) => break key,
            OptOuts::Locked(told) => return Err(OptOutError::Locked(told)),
            OptOuts::Nobody => begin(&lists, store.path(), file).await?,
        }
    };
    let kept: Vec<SuppressionDigest> = digests.iter().map(|digest| key.kept(digest)).collect();
    lists.add(&name(kind), kind, &kept).await.map_err(OptOutError::by)
}

/// Creates the key, unless another process has done so meanwhile; the key made here is then discarded.
async fn begin(lists: &SuppressionLists, store: &Path, file: &Path) -> Result<(), OptOutError> {
    let is_made_here = !file.exists();
    let kept = || match file == suppression_key_file(None, store) {
        true => kept_beside(store, file.to_owned(), "store.suppression_key_file").map(drop),
        false => Ok(()),
    };
    let made = || kept().and_then(|()| MasterKey::create(file));
    let found = if is_made_here { made() } else { MasterKey::read(file) };
    let key = OptOutKey::of(&found.map_err(|error: MasterKeyError| OptOutError::Locked(error.to_string()))?);
    let begun = lists.begin(CHECK, SuppressionKind::Person, &[key.kept(CHECKED)]).await;
    if !begun? && is_made_here {
        // If this fails, the file is reported as the wrong key.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// Removes an opt-out. Returns whether it was on the list.
pub async fn remove(
    store: &Store,
    file: &Path,
    kind: SuppressionKind,
    digest: &SuppressionDigest,
) -> Result<bool, OptOutError> {
    match OptOuts::read(store, file)? {
        OptOuts::Nobody => Ok(false),
        OptOuts::Locked(told) => Err(OptOutError::Locked(told)),
        OptOuts::Known(key, _) => {
            let lists = SuppressionLists::of(store.clone());
            Ok(lists.take_off(&name(kind), &key.kept(digest)).await?)
        }
    }
}

/// Removes the whole list, even if its key is lost. Returns whether there was one. An error may come midway.
pub async fn end(store: &Store) -> Result<bool, CommitError> {
    let lists = SuppressionLists::of(store.clone());
    for kind in SuppressionKind::ALL {
        lists.remove(&name(kind)).await?;
    }
    // Last, so that a failed removal can be retried.
    lists.remove(CHECK).await
}

pub(super) fn kind_of(list: &str) -> Option<SuppressionKind> {
    let of_kind = SuppressionKind::ALL.into_iter().find(|kind| name(*kind) == list);
    of_kind.or_else(|| (list == CHECK).then_some(SuppressionKind::Person))
}

fn name(kind: SuppressionKind) -> String {
    format!("{OURS}{}", kind.word())
}

/// Why an opt-out was not added or removed.
#[derive(Debug)]
pub enum OptOutError {
    /// The key is missing or wrong; a sentence.
    Locked(String),
    /// The store did not take the commit.
    Store(CommitError),
}

impl<E: Into<CommitError>> From<E> for OptOutError {
    fn from(failure: E) -> Self {
        Self::Store(failure.into())
    }
}

impl OptOutError {
    fn by(failure: NotAdded) -> Self {
        match failure {
            NotAdded::Store(failure) => Self::Store(failure),
            NotAdded::Empty => Self::Store(CommitError::Failed("nobody is named".to_owned())),
            NotAdded::OtherKind(_) => unreachable!("each kind has a list of its own"),
        }
    }
}

/// The daemon's own lists by name, each with its digests.
pub(super) type OwnLists = BTreeMap<String, (SuppressionList, Vec<SuppressionDigest>)>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Commit, StoreOptions, Tree, codec};

    #[tokio::test]
    async fn who_asked_is_known_by_the_key_alone_and_without_it_the_list_is_locked() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::new(directory.path().join("data"))).unwrap();
        let file = suppression_key_file(None, &directory.path().join("data"));
        let (asked, other) = ([7; 32], [8; 32]);
        assert!(matches!(OptOuts::read(&store, &file), Ok(OptOuts::Nobody)));
        add(&store, &file, SuppressionKind::Email, &[asked]).await.unwrap();
        add(&store, &file, SuppressionKind::Phone, &[other]).await.unwrap();
        let read = || OptOuts::read(&store, &file).unwrap();
        assert!(
            read().has_any(SuppressionKind::Email, [&other, &asked])
                && !read().has_any(SuppressionKind::Email, [&other])
        );
        let counted: Vec<_> = read().all().map(|(list, count)| (list.kind, count)).collect();
        assert_eq!(counted, [(SuppressionKind::Email, 1), (SuppressionKind::Phone, 1)]);
        // No stored list can be named by a partner file, and none holds the plain digest.
        let lists = SuppressionLists::of(store.clone());
        assert!(lists.read().unwrap().is_empty());
        assert!(lists.read_ours().unwrap().values().all(|(_, kept)| !kept.contains(&asked)));

        let lent = directory.path().join("lent");
        std::fs::rename(&file, &lent).unwrap();
        assert!(matches!(read(), OptOuts::Locked(_)));
        MasterKey::create(&file).unwrap();
        let OptOuts::Locked(told) = read() else { panic!("it is another key") };
        assert!(
            told.contains("belongs to another key") && told.contains("suppressions remove everywhere"),
            "{told}"
        );
        assert!(add(&store, &file, SuppressionKind::Email, &[other]).await.is_err());
        std::fs::rename(&lent, &file).unwrap();

        // Damage is reported as damage, not as a wrong key.
        let check = SuppressionLists::of(store.clone()).read_ours().unwrap()[CHECK].clone();
        let put = |value: Vec<u8>| Commit::new().put(Tree::Suppressions, format!("{CHECK}\0"), value);
        store.commit(put(b"damaged".to_vec())).await.unwrap();
        let told = OptOuts::read(&store, &file).unwrap_err().to_string();
        assert!(told.contains("tree `suppressions` is broken") && !told.contains("key of"), "{told}");
        store.commit(put(codec::encode_json(&check.0))).await.unwrap();

        // Losing the key's record, in whole or in part, is not reported as a wrong key either.
        for kept in [1, 0] {
            let keys = store.keys(Tree::Suppressions, format!("{CHECK}\0")).unwrap();
            store.remove_all(Tree::Suppressions, &keys[kept..]).await.unwrap();
            let OptOuts::Locked(told) = read() else { panic!("nobody knows whose key it is") };
            assert!(
                told.contains("the store is damaged") && !told.contains("belongs to another key"),
                "{told}"
            );
            assert!(told.contains("suppressions confirm") && damage(&store).unwrap().is_some(), "{told}");
            assert!(confirm(&store, &file).await.unwrap() && !confirm(&store, &file).await.unwrap());
            assert!(read().has_any(SuppressionKind::Email, [&asked]) && damage(&store).unwrap().is_none());
        }
        // The record that names a list holds nothing that its parts do not.
        for name in [CHECK, "_email"] {
            store.commit(Commit::new().remove(Tree::Suppressions, format!("{name}\0"))).await.unwrap();
        }
        assert!(read().has_any(SuppressionKind::Email, [&asked]));

        assert!(remove(&store, &file, SuppressionKind::Email, &asked).await.unwrap());
        assert!(!remove(&store, &file, SuppressionKind::Email, &asked).await.unwrap());
        assert!(!read().has_any(SuppressionKind::Email, [&asked]));
        assert!(end(&store).await.unwrap() && !end(&store).await.unwrap());
        assert!(matches!(read(), OptOuts::Nobody));
    }

    #[test]
    fn of_two_processes_that_would_each_make_the_key_one_does_and_the_other_asks_for_its_file() {
        let Some((stores, directory)) = crate::testing::two_nodes() else { return };
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let files = ["first.key", "second.key"].map(|name| directory.path().join(name));
        let added: Vec<_> = std::thread::scope(|scope| {
            let adding = stores.iter().zip(&files).map(|(store, file)| {
                scope.spawn(move || {
                    let asked = add(store, file, SuppressionKind::Email, &[[7; 32]]);
                    runtime().block_on(asked).is_ok()
                })
            });
            let adding: Vec<_> = adding.collect();
            adding.into_iter().map(|adding| adding.join().unwrap()).collect()
        });
        let made = added.iter().position(|added| *added).expect("one has made it");
        assert_eq!(added.iter().filter(|added| **added).count(), 1);
        let (with, without) = (&files[made], &files[1 - made]);
        assert!(with.exists() && !without.exists());
        let read = |file| OptOuts::read(&stores[1 - made], file).unwrap();
        assert!(matches!(read(without), OptOuts::Locked(_)), "it asks nobody about anybody");
        std::fs::copy(with, without).unwrap();
        assert!(read(without).has_any(SuppressionKind::Email, [&[7; 32]]));
    }
}
