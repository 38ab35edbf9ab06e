//! Identities: recognised for a look-back, and after an erasure gone from every byte that a thief may have.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;

use super::*;
use crate::contacts::LeadContacts;
use crate::identities::{LeadIdentity, RetiredIdentities};
use crate::sealing::data_key;
use crate::sealing::key_file::KeyFile;
use crate::sealing::key_place::KeyPlace as _;
use crate::sealing::key_ring::KeyRing;

const COMPANY: Uuid = Uuid::from_u128(0xC0);
const HOUR_MS: i64 = 3_600_000;

fn lead(nth: u8) -> Uuid {
    Uuid::from_u128(0xEE00 + u128::from(nth))
}

/// A lead about the person of this number, in a company with a look-back of a day.
fn about(nth: u8, at_ms: i64) -> Commit {
    let (person, look_back_ms) = ([nth; 32], 24 * HOUR_MS);
    Commit::new()
        .about(lead(nth))
        .unknown(COMPANY, person, at_ms - look_back_ms)
        .put(Tree::Leads, lead(nth), [nth; 40])
        .identify(COMPANY, person, at_ms, look_back_ms)
}

fn files(directory: &Path, found: &mut Vec<u8>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.extend(fs::read(path).unwrap()),
        }
    }
}

/// The loot of a thief with the disk and the master key: every byte, old and new, and the current keys.
struct Thief {
    bytes: Vec<u8>,
    ring: KeyRing,
}

impl Thief {
    fn of(directories: &[&Directory]) -> Self {
        let mut bytes = Vec::new();
        directories.iter().for_each(|directory| files(directory.path(), &mut bytes));
        let last = directories.last().unwrap().path();
        let master = MasterKey::find(None, last).unwrap().unwrap();
        Self { bytes, ring: KeyFile::of(last).open(&master).unwrap() }
    }

    /// Whether anything on the disk reveals that this person was here: a hash under any key, or its input.
    fn finds(&self, nth: u8) -> bool {
        let hashes = self.ring.identities.iter().map(|key| key.place(&[nth; 32])[24..].to_vec());
        hashes.chain([vec![nth; 32]]).any(|hash| memmem::find(&self.bytes, &hash).is_some())
    }

    /// Whether any data key of a lead that was ever on the disk can be opened.
    fn opens(&self, store: &Store, nth: u8) -> bool {
        let lead = lead(nth);
        let place = store.shared.records().sealing().slots.key_of(lead);
        let key = Tree::LeadKeys.tree_key(&place);
        let places = self.bytes.windows(key.len()).enumerate().filter(|(_, window)| *window == key);
        let frames: BTreeSet<&[u8]> = places
            .filter_map(|(at, _)| self.bytes.get(at + key.len() + 5..at + key.len() + 5 + 68))
            .collect();
        assert!(!frames.is_empty(), "the key of every lead was here once");
        frames
            .into_iter()
            .any(|kept| matches!(data_key::unwrap(&self.ring, lead, kept), Some(data_key::DataKey::Kept(_))))
    }
}

/// Forgets at once and returns the number of hashes by lead.
async fn forget_identities(store: &Store, of: &[LeadIdentity]) -> BTreeMap<Uuid, u64> {
    forget(store, store.begin_forgetting_identities(of, false).unwrap(), of.iter().map(|of| of.lead)).await
}

async fn forget_contacts(store: &Store, of: &[LeadContacts]) -> BTreeMap<Uuid, u64> {
    forget(store, store.begin_forgetting_contacts(of).unwrap(), of.iter().map(|of| of.lead)).await
}

async fn forget(
    store: &Store,
    forgetting: RetiredIdentities,
    leads: impl Iterator<Item = Uuid>,
) -> BTreeMap<Uuid, u64> {
    let hashes = forgetting.hashes.clone();
    store.finish_forgetting(forgetting, &leads.collect()).await.unwrap();
    hashes
}

#[tokio::test]
async fn of_a_person_who_is_erased_no_byte_tells_anything_and_the_others_are_still_known() {
    let directory = directory();
    let store = inline(&directory);
    for nth in 1..40 {
        store.commit_now(about(nth, i64::from(nth))).unwrap();
    }
    let before = copied(&directory);
    let of = |nth, identity| [LeadIdentity { lead: lead(nth), company: COMPANY, identity }];
    let one = |nth| BTreeMap::from([(lead(nth), 1)]);
    assert_eq!(forget_identities(&store, &of(7, Some([7; 32]))).await, one(7));
    // The given identity of a lead may be outdated; its record is found all the same.
    assert_eq!(forget_identities(&store, &of(8, Some([99; 32]))).await, one(8));
    assert_eq!(forget_identities(&store, &of(9, None)).await, one(9));
    for nth in 7..10 {
        store.commit_now(Commit::new().erase(lead(nth), 50)).unwrap();
    }
    let after = copied(&directory);
    let thief = Thief::of(&[&before, &after]);
    assert!([7, 8, 9].iter().all(|nth| !thief.finds(*nth) && !thief.opens(&store, *nth)));
    assert!(thief.finds(10) && thief.opens(&store, 10), "who is not erased is found, so the search finds");

    let again = |nth: u8| {
        let commit = Commit::new().about(lead(nth + 100)).unknown(COMPANY, [nth; 32], 0);
        store.commit_now(commit.put(Tree::Leads, lead(nth + 100), "again"))
    };
    assert!((7..10).all(|nth| again(nth) == Ok(())), "nobody knows them");
    for nth in (1..7).chain(10..40) {
        let found = [&i64::from(nth).to_be_bytes()[..], lead(nth).as_bytes()].concat();
        assert_eq!(again(nth), Err(CommitError::Guard { index: 0, found }));
    }
    assert!(store.check().unwrap().is_sound());
}

#[tokio::test]
async fn an_identity_is_known_for_its_look_back_and_then_its_key_is_destroyed() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(about(1, 0)).unwrap();
    let late = about(1, 24 * HOUR_MS);
    assert!(matches!(store.commit_now(late), Err(CommitError::Guard { index: 0, .. })), "to the millisecond");
    assert_eq!(store.forget_passed_identities(24 * HOUR_MS).await.unwrap(), 0);
    assert!(Thief::of(&[&copied(&directory)]).finds(1));
    assert_eq!(store.forget_passed_identities(40 * HOUR_MS).await.unwrap(), 1);
    assert!(!Thief::of(&[&copied(&directory)]).finds(1));
    assert_eq!(store.scan(Tree::Identities, COMPANY).count(), 0);
    assert_eq!(store.payload(Tree::Leads, lead(1)), Some(vec![1; 40]), "the lead stays");
}

#[tokio::test]
async fn a_crash_between_two_keys_is_made_good_later() {
    let directory = directory();
    let store = inline(&directory);
    for nth in 1..20 {
        store.commit_now(about(nth, 5)).unwrap();
    }
    let key = store.shared.records().sealing().identity_keys(COMPANY, 0).remove(0);
    store.shared.records().sealing().change(|ring| ring.retire_identities(key.id)).unwrap();
    store.commit_now(about(20, 6)).unwrap();
    let store = killed(store, &directory);
    let known = |nth| matches!(store.commit_now(about(nth, 7)), Err(CommitError::Guard { .. }));
    assert!((1..21).all(known), "under either key");
    assert_eq!(store.forget_passed_identities(8).await.unwrap(), 1);
    assert!((1..21).all(known));
    let left = store.shared.records().sealing().all_identity_keys();
    assert!(left.len() == 1 && left[0].id != key.id);
}

const SHARED: [u8; 32] = [200; 32];

/// A retry after the crash must find the rest.
#[tokio::test]
async fn an_erasure_that_a_crash_cuts_short_leaves_who_is_not_erased_yet_to_be_found_and_of_the_others_nothing()
 {
    let directory = directory();
    let store = inline(&directory);
    for nth in 1..30 {
        store.commit_now(about(nth, 5)).unwrap();
        store.commit_now(Commit::new().about(lead(nth)).found_by(SHARED, 5)).unwrap();
    }
    let before = copied(&directory);
    let gone: Vec<LeadContacts> =
        (1..21).map(|nth| LeadContacts { contacts: vec![SHARED], ..contacts(nth, 5, 5) }).collect();
    let identities: Vec<LeadIdentity> = (1..21)
        .map(|nth| LeadIdentity { lead: lead(nth), company: COMPANY, identity: Some([nth; 32]) })
        .collect();
    store.begin_forgetting_contacts(&gone).unwrap();
    store.begin_forgetting_identities(&identities, false).unwrap();
    for nth in 1..8 {
        store.commit_now(Commit::new().erase(lead(nth), 50)).unwrap();
    }
    let store = killed(store, &directory);
    assert_eq!(store.forget_passed_identities(8).await.unwrap(), 2);
    assert_eq!(store.found_by(&SHARED).unwrap(), (8..30).map(lead).collect::<Vec<_>>());
    let thief = Thief::of(&[&before, &copied(&directory)]);
    assert!((1..8).all(|nth| !thief.finds(nth)) && (8..30).all(|nth| thief.finds(nth)));
}

/// A lead with a contact of its own and one that many leads share.
fn found_by(nth: u8, at_ms: i64) -> Commit {
    let commit = Commit::new().about(lead(nth)).put(Tree::Leads, lead(nth), [nth; 40]);
    commit.found_by([nth; 32], at_ms).found_by(SHARED, at_ms)
}

fn contacts(nth: u8, from_ms: i64, until_ms: i64) -> LeadContacts {
    LeadContacts { lead: lead(nth), contacts: vec![[nth; 32], SHARED], from_ms, until_ms }
}

#[tokio::test]
async fn leads_are_found_by_their_contacts_and_of_who_is_erased_no_byte_tells_anything() {
    let directory = directory();
    let store = inline(&directory);
    // Over three days, each with a key of its own.
    let at_ms = |nth: u8| i64::from(nth) * 2 * HOUR_MS;
    for nth in 1..36 {
        store.commit_now(found_by(nth, at_ms(nth))).unwrap();
        // A repeated step.
        store.commit_now(Commit::new().about(lead(nth)).found_by([nth; 32], at_ms(nth))).unwrap();
    }
    assert_eq!(store.found_by(&[9; 32]).unwrap(), [lead(9)]);
    assert_eq!(store.found_by(&SHARED).unwrap(), (1..36).map(lead).collect::<Vec<_>>());
    let before = copied(&directory);
    let of = |nth: u8| contacts(nth, at_ms(nth), at_ms(nth));
    let two = |nth| BTreeMap::from([(lead(nth), 2)]);
    assert_eq!(forget_contacts(&store, &[of(9)]).await, two(9));
    // A changed lead had another address before.
    let grown = LeadContacts { contacts: vec![SHARED], ..contacts(20, at_ms(20), at_ms(30)) };
    assert_eq!(forget_contacts(&store, &[grown]).await, two(20));
    assert_eq!(forget_contacts(&store, &[of(9)]).await, BTreeMap::new());
    for nth in [9, 20] {
        store.commit_now(Commit::new().erase(lead(nth), 50)).unwrap();
    }
    let thief = Thief::of(&[&before, &copied(&directory)]);
    assert!(!thief.finds(9) && !thief.finds(20));
    assert!(thief.finds(10) && thief.finds(35), "who is not erased is found, so the search finds");
    let others = (1..36).filter(|nth| ![9, 20].contains(nth)).map(lead);
    assert_eq!(store.found_by(&SHARED).unwrap(), others.collect::<Vec<_>>());
    assert!(store.found_by(&[9; 32]).unwrap().is_empty());
    let store = killed(store, &directory);
    assert_eq!(store.found_by(&[10; 32]).unwrap(), [lead(10)]);
    assert!(store.check().unwrap().is_sound());
}

#[tokio::test]
async fn however_many_leads_go_at_once_each_key_is_hashed_anew_once() {
    let directory = directory();
    let store = inline(&directory);
    for nth in 1..30 {
        store.commit_now(about(nth, 5)).unwrap();
        store.commit_now(Commit::new().about(lead(nth)).found_by([nth; 32], 5).found_by(SHARED, 5)).unwrap();
    }
    let keys = || {
        let mut ids: Vec<u64> =
            store.shared.engine.sealing().all_identity_keys().iter().map(|key| key.id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(keys(), [1, 2], "one of the company, one of contacts");
    let gone: Vec<u8> = (1..21).collect();
    let identities: Vec<LeadIdentity> = gone
        .iter()
        // Leads with an unknown identity are found all the same.
        .map(|nth| LeadIdentity {
            lead: lead(*nth),
            company: COMPANY,
            identity: (nth % 3 > 0).then_some([*nth; 32]),
        })
        .collect();
    let forgotten = forget_identities(&store, &identities).await;
    assert_eq!(forgotten, gone.iter().map(|nth| (lead(*nth), 1)).collect());
    assert_eq!(keys(), [2, 3]);
    let of: Vec<LeadContacts> = gone.iter().map(|nth| contacts(*nth, 5, 5 + i64::from(nth % 2))).collect();
    let forgotten = forget_contacts(&store, &of).await;
    assert_eq!(forgotten, gone.iter().map(|nth| (lead(*nth), 2)).collect());
    assert_eq!(keys(), [3, 4]);
    assert_eq!(store.found_by(&SHARED).unwrap(), (21..30).map(lead).collect::<Vec<_>>());
    for leads in store.by_slot(gone.iter().map(|nth| lead(*nth))) {
        store.commit_now(Commit::new().erase_all(leads, 50)).unwrap();
    }
    assert!(gone.iter().all(|nth| store.is_erased(lead(*nth)).unwrap()));
    let known = |nth: u8| {
        let again = Commit::new().about(lead(nth + 100)).unknown(COMPANY, [nth; 32], 0);
        store.commit_now(again.put(Tree::Leads, lead(nth + 100), "again")).is_err()
    };
    assert!((21..30).all(known) && !gone.iter().any(|nth| known(*nth)));
}
