//! Sealing: sealed records are hidden without the key, readable with it, and lost for good once erased.

use std::collections::BTreeMap;
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::raw::RawValues;
use crate::sealing::data_key;
use crate::sealing::slots::Slots;

/// A text that is searched for where it must not be.
const CANARY: &[u8] = b"078-05-1120 wren.canary@example.com";

const LEAD: Uuid = Uuid::from_u128(0x11);
const OTHER: Uuid = Uuid::from_u128(0x22);

fn about(lead: Uuid) -> Commit {
    Commit::new().about(lead).put(Tree::Leads, lead, CANARY)
}

fn options(directory: &Directory, key: Option<&str>) -> StoreOptions {
    let file = key.map(|name| directory.path().with_file_name(name));
    StoreOptions { master_key_file: file, ..StoreOptions::new(directory.path()) }
}

fn refusal(options: &StoreOptions) -> String {
    Store::open_inline_with(options).expect_err("the store does not open").to_string()
}

fn raw(directory: &Directory) -> Vec<u8> {
    fn under(path: &Path) -> Vec<u8> {
        match path.is_dir() {
            true => fs::read_dir(path).unwrap().flat_map(|entry| under(&entry.unwrap().path())).collect(),
            false => fs::read(path).unwrap(),
        }
    }
    under(directory.path())
}

fn holds(raw: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(raw, text).is_some()
}

/// The raw value under a key, in a closed store.
fn raw_record(directory: &Directory, tree: Tree, key: impl AsRef<[u8]>) -> Vec<u8> {
    let mut found = Vec::new();
    tamper(directory.path(), &tree.tree_key(key.as_ref()), |raw| found = raw.clone());
    found
}

#[test]
fn every_sealed_tree_is_read_as_it_was_written_and_told_by_no_file() {
    let directory = directory();
    // Only the store writes identities, and ephemeral records have no lead; both have tests of their own.
    let is_put = |tree| tree != Tree::Identities && tree != Tree::Prefills;
    let sealed =
        || TREES.iter().filter(|row| row.seal != Seal::Open).map(|row| row.tree).filter(|tree| is_put(*tree));
    let store = inline(&directory);
    let commit = Commit::new().about(LEAD).put(Tree::Templates, "open", "there it is");
    let feed = Tree::LeadClientTags;
    let commit =
        sealed().fold(commit, |commit, tree| commit.put(tree, "key", CANARY)).append(feed, LEAD, CANARY);
    store.commit_now(commit).unwrap();
    drop(store);

    let files = raw(&directory);
    assert!(!holds(&files, CANARY));
    assert!(holds(&files, b"there it is"), "what is not sealed is found, so the search finds");
    let store = inline(&directory);
    assert_eq!(sealed().count(), 20);
    for tree in sealed() {
        assert_eq!(store.payload(tree, "key").as_deref(), Some(CANARY), "{}", tree.name());
        assert!(store.scan(tree, "").all(|record| record.unwrap().1 == CANARY), "{}", tree.name());
    }
    assert_eq!(store.scan(feed, LEAD).count(), 1);
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn a_record_of_a_sealed_tree_that_is_about_no_lead_is_refused() {
    let directory = directory();
    let store = inline(&directory);
    for row in TREES.iter().filter(|row| row.seal == Seal::Lead) {
        let refused = store.commit_now(Commit::new().put(row.tree, "key", CANARY));
        assert!(matches!(refused, Err(CommitError::Failed(_))), "{}", row.name);
        assert_eq!(store.payload(row.tree, "key"), None);
    }
    let refused = store.commit_now(Commit::new().put(Tree::LeadKeys, "key", "mine"));
    assert!(matches!(refused, Err(CommitError::Failed(_))));
}

#[test]
fn guards_see_through_the_seal() {
    let directory = directory();
    let store = inline(&directory);
    store.commit_now(about(LEAD)).unwrap();
    let grow = |from: &[u8]| about(LEAD).unchanged(Tree::Leads, LEAD, from).put(Tree::Leads, LEAD, "grown");
    let found = Err(CommitError::Guard { index: 0, found: CANARY.to_vec() });
    assert_eq!(store.commit_now(grow(b"another")), found);
    assert_eq!(store.commit_now(about(LEAD).absent(Tree::Leads, LEAD)), found);
    // Within one group too: the second commit sees the records that the first has sealed.
    let outcomes = store.commit_group(&[grow(CANARY), grow(CANARY)]);
    assert_eq!(outcomes, [Ok(()), Err(CommitError::Guard { index: 0, found: b"grown".to_vec() })]);
}

#[test]
fn a_sealed_record_is_nobody_elses_and_stands_nowhere_else() {
    let directory = directory();
    inline(&directory).commit_group(&[about(LEAD), about(OTHER)]);
    let others = raw_record(&directory, Tree::Leads, OTHER);
    tamper(directory.path(), &Tree::Leads.tree_key(LEAD.as_bytes()), |raw| *raw = others);

    let store = inline(&directory);
    let key = const_hex::encode(LEAD.as_bytes());
    let broken = BrokenRecord { tree: Tree::Leads, key, reason: BrokenReason::Seal };
    assert_eq!(store.get(Tree::Leads, LEAD), Err(ReadError::Broken(broken.clone())));
    assert_eq!(store.check().unwrap().broken, [broken]);
    assert_eq!(store.payload(Tree::Leads, OTHER).as_deref(), Some(CANARY));
}

#[test]
fn a_lead_whose_data_key_is_lost_is_broken_and_not_erased() {
    let directory = directory();
    let slots = slots(&directory);
    inline(&directory).commit_group(&[about(LEAD), about(OTHER)]);
    let place = Tree::LeadKeys.tree_key(&slots.key_of(LEAD));
    tamper(directory.path(), &place, |raw| raw[20] ^= 1);
    let reason = |store: &Store| match store.get(Tree::Leads, LEAD) {
        Err(ReadError::Broken(broken)) => broken.reason,
        read => panic!("{read:?}"),
    };
    let store = inline(&directory);
    assert_eq!(reason(&store), BrokenReason::DataKey);
    let refused = store.commit_now(about(LEAD));
    assert!(matches!(refused, Err(CommitError::Failed(_))), "what is lost is not written over");
    drop(store);

    tamper_with(directory.path(), &place, |_| None);
    let store = inline(&directory);
    assert_eq!((reason(&store), store.is_erased(LEAD)), (BrokenReason::DataKey, Ok(false)));
    assert_eq!(store.payload(Tree::Leads, OTHER).as_deref(), Some(CANARY));
}

/// A lead in the slot of [`LEAD`].
fn neighbour(slots: &Slots) -> Uuid {
    neighbours(slots)[0]
}

/// The slots of a store, which is created if missing.
fn slots(directory: &Directory) -> Slots {
    inline(directory).shared.records().sealing().slots.clone()
}

/// Four of them.
fn neighbours(slots: &Slots) -> Vec<Uuid> {
    let slot = slots.slot_of(LEAD);
    (1000..).map(Uuid::from_u128).filter(|lead| slots.slot_of(*lead) == slot).take(4).collect()
}

#[test]
fn an_erased_lead_is_read_no_more_and_its_neighbours_are() {
    let directory = directory();
    let slots = slots(&directory);
    inline(&directory).commit_group(&[about(LEAD), about(OTHER), about(neighbour(&slots))]);
    for _ in 0..2 {
        let store = inline(&directory);
        // The second erasure changes nothing.
        assert_eq!(store.commit_now(Commit::new().erase(LEAD, 5)), Ok(()));
        assert_eq!((store.payload(Tree::Leads, LEAD), store.is_erased(LEAD)), (None, Ok(true)));
        assert_eq!(store.commit_now(about(LEAD)), Err(CommitError::Erased));
        let left: Vec<Vec<u8>> = store.scan(Tree::Leads, "").map(|record| record.unwrap().0).collect();
        assert_eq!(left, [OTHER.as_bytes(), neighbour(&slots).as_bytes()]);
        assert_eq!(store.payload(Tree::Leads, neighbour(&slots)).as_deref(), Some(CANARY));
        assert!(store.check().unwrap().is_sound());
    }
}

#[test]
fn leads_of_one_slot_are_erased_in_one_commit_and_those_of_others_are_refused() {
    let directory = directory();
    let store = inline(&directory);
    let slots = store.shared.engine.sealing().slots.clone();
    let of_slot = neighbours(&slots);
    store.commit_group(&[&of_slot[..], &[LEAD, OTHER]].concat().into_iter().map(about).collect::<Vec<_>>());
    let generation = || store.shared.engine.sealing().generation(LEAD);
    let before = generation();
    let gone = [LEAD, of_slot[0], of_slot[1]];
    let mut by_slot = store.by_slot([&gone[..], &[OTHER]].concat());
    by_slot.sort_by_key(Vec::len);
    assert!(by_slot.len() == 2 && by_slot[0] == [OTHER] && by_slot[1] == gone);
    assert!(matches!(
        store.commit_now(Commit::new().erase_all([LEAD, OTHER], 5)),
        Err(CommitError::Failed(reason)) if reason.contains("one slot")
    ));
    assert_eq!(store.payload(Tree::Leads, LEAD).as_deref(), Some(CANARY), "nothing of it was done");
    assert_eq!(store.commit_now(Commit::new().erase_all(gone, 5)), Ok(()));
    assert!(generation() <= before + 1, "the others of the slot were sealed anew once");
    for lead in gone {
        assert_eq!((store.payload(Tree::Leads, lead), store.is_erased(lead)), (None, Ok(true)));
    }
    for lead in [OTHER, of_slot[2], of_slot[3]] {
        assert_eq!(store.payload(Tree::Leads, lead).as_deref(), Some(CANARY));
    }
    assert_eq!(store.commit_now(Commit::new().erase_all([], 5)), Ok(()));
    assert_eq!(store.broken_records(), 0);
}

#[test]
fn not_even_a_data_key_that_is_dug_up_opens_what_is_erased() {
    let directory = directory();
    let slots = slots(&directory);
    inline(&directory).commit_group(&[about(LEAD), about(neighbour(&slots))]);
    let place = slots.key_of(LEAD);
    let dug_up = raw_record(&directory, Tree::LeadKeys, &place);
    inline(&directory).commit_now(Commit::new().erase(LEAD, 5)).unwrap();
    tamper(directory.path(), &Tree::LeadKeys.tree_key(&place), |raw| *raw = dug_up);
    let store = inline(&directory);
    assert!(
        matches!(store.get(Tree::Leads, LEAD), Err(ReadError::Broken(broken)) if broken.reason == BrokenReason::DataKey)
    );
    assert_eq!(store.payload(Tree::Leads, neighbour(&slots)).as_deref(), Some(CANARY));
}

/// Returns the value that a slow reader has read before it was replaced, then the current one.
struct Slow<'a> {
    before: std::cell::Cell<Option<Vec<u8>>>,
    now: &'a records::StoredRecords,
}

impl raw::RawValues for Slow<'_> {
    fn raw(&self, tree_key: &[u8]) -> disk::DiskResult<Option<Vec<u8>>> {
        self.before.take().map_or_else(|| self.now.raw(tree_key), |before| Ok(Some(before)))
    }
}

#[test]
fn a_reader_that_an_erasure_overtakes_reads_again() {
    let directory = directory();
    let slots = slots(&directory);
    let store = inline(&directory);
    store.commit_group(&[about(LEAD), about(neighbour(&slots))]);
    let records = &store.shared.records();
    let before = records.raw(&Tree::LeadKeys.tree_key(&slots.key_of(LEAD))).unwrap();
    store.commit_now(Commit::new().erase(neighbour(&slots), 5)).unwrap();
    let slow = Slow { before: std::cell::Cell::new(before), now: records };
    let read = records.sealing().data_key(&slow, LEAD).unwrap();
    assert!(matches!(read, Ok(Some(data_key::DataKey::Kept(_)))));
}

#[test]
fn an_erasure_that_a_crash_interrupts_is_finished_at_the_next_start() {
    let directory = directory();
    let slots = slots(&directory);
    let store = inline(&directory);
    store.commit_group(&[about(LEAD), about(neighbour(&slots))]);
    let slot = u16::from_be_bytes(*slots.key_of(LEAD).first_chunk().unwrap());
    // The state after a crash before the group is on the disk.
    store.shared.records().sealing().renew(&[slot].into()).unwrap();
    assert_eq!(store.shared.records().sealing().unfinished(), [slot]);
    let late = neighbours(&slots)[3];
    store.commit_now(about(late)).unwrap();
    drop(store);
    let old = raw_record(&directory, Tree::LeadKeys, slots.key_of(LEAD));

    let store = inline(&directory);
    assert!(store.shared.records().sealing().unfinished().is_empty());
    for lead in [LEAD, neighbour(&slots), late] {
        assert_eq!(store.payload(Tree::Leads, lead).as_deref(), Some(CANARY), "it was not acknowledged");
    }
    drop(store);
    assert_ne!(raw_record(&directory, Tree::LeadKeys, slots.key_of(LEAD)), old, "sealed anew");
}

#[test]
fn a_store_opens_with_its_own_master_key_only() {
    let directory = directory();
    let file = |name| directory.path().with_file_name(name);
    let right = MasterKey::create(&file("right")).unwrap();
    let wrong = MasterKey::create(&file("wrong")).unwrap();
    Store::open_inline_with(&options(&directory, Some("right"))).unwrap().commit_now(about(LEAD)).unwrap();

    let told = refusal(&options(&directory, Some("wrong")));
    assert!(
        told.contains(&right.id()) && told.contains(&wrong.id()) && told.contains("store.master_key_file"),
        "{told}"
    );
    let told = refusal(&options(&directory, None));
    assert!(told.contains(&right.id()) && told.contains("none is given"), "{told}");
    let told = refusal(&options(&directory, Some("nowhere")));
    assert!(told.contains("nowhere"), "{told}");
    fs::write(file("short"), "c0ffee").unwrap();
    let told = refusal(&options(&directory, Some("short")));
    assert!(told.contains("64 hexadecimal digits") && !told.contains("c0ffee"), "{told}");

    let kept = |name: &str| directory.path().join(name);
    fs::rename(kept("keys"), file("keys")).unwrap();
    let store = Store::open_inline_with(&options(&directory, Some("right"))).unwrap();
    assert_eq!(store.payload(Tree::Leads, LEAD).as_deref(), Some(CANARY), "there is a copy");
    let told_of: Vec<String> = store.damages().iter().map(ToString::to_string).collect();
    assert!(told_of.iter().any(|damage| damage.starts_with("`keys` is damaged")), "{told_of:?}");
    drop(store);
    let _ = ["keys", "keys.copy"].map(|name| fs::rename(kept(name), file(name)).unwrap());
    let told = refusal(&options(&directory, Some("right")));
    assert!(told.contains("is missing"), "{told}");
    let _ = ["keys", "keys.copy"].map(|name| fs::rename(file(name), kept(name)).unwrap());
    let store = Store::open_inline_with(&options(&directory, Some("right"))).unwrap();
    assert_eq!(store.payload(Tree::Leads, LEAD).as_deref(), Some(CANARY));
}

#[test]
fn exchanging_the_master_key_changes_no_record() {
    let directory = directory();
    let file = |name| directory.path().with_file_name(name);
    let [_, new] = ["old", "new"].map(|name| MasterKey::create(&file(name)).unwrap());
    let store = Store::open_inline_with(&options(&directory, Some("old"))).unwrap();
    store.commit_now(about(LEAD)).unwrap();
    let blind = store.blind("identity", CANARY);
    let new_id = new.id();
    store.exchange_master_key(new).unwrap();
    assert_eq!(Store::sealed_with(directory.path()), Some(new_id));
    // Later erasures use the new key.
    store.commit_now(about(OTHER)).unwrap();
    store.commit_now(Commit::new().erase(OTHER, 1)).unwrap();
    drop(store);
    refusal(&options(&directory, Some("old")));
    let store = Store::open_inline_with(&options(&directory, Some("new"))).unwrap();
    assert_eq!(store.payload(Tree::Leads, LEAD).as_deref(), Some(CANARY));
    assert_eq!((store.blind("identity", CANARY), store.is_erased(OTHER)), (blind, Ok(true)));
}

#[test]
fn what_a_blind_hash_says_depends_on_the_store_the_purpose_and_the_text() {
    let (one, other) = (directory(), directory());
    let (store, foreign) = (inline(&one), inline(&other));
    let hash = store.blind("identity", CANARY);
    assert_eq!(store.blind("identity", CANARY), hash);
    assert!(
        [store.blind("report", CANARY), store.blind("identity", b"x"), foreign.blind("identity", CANARY)]
            .iter()
            .all(|different| *different != hash)
    );
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u8),
    Erase(u8),
}

/// A few leads, some of which share a slot.
fn leads(slots: &Slots) -> Vec<Uuid> {
    let neighbours = neighbours(slots);
    let lead = |number: u8| match number % 2 {
        0 => Uuid::from_u128(number.into()),
        _ => neighbours[usize::from(number / 2)],
    };
    (0..8).map(lead).collect()
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![3 => (0..8_u8, any::<u8>()).prop_map(|(lead, payload)| Step::Put(lead, payload)),
                1 => (0..8_u8).prop_map(Step::Erase)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(6) })]

    /// Leads are created and erased in any groups: only those not erased can be read, also after a restart.
    #[test]
    fn erasing_takes_those_who_are_erased_and_nobody_else(groups in vec(vec(step(), 1..8), 1..6)) {
        let directory = directory();
        let leads = leads(&slots(&directory));
        let lead = |number: u8| leads[usize::from(number)];
        let mut kept: BTreeMap<u8, Option<u8>> = BTreeMap::new();
        let store = inline(&directory);
        for group in &groups {
            let commits: Vec<Commit> = group.iter().map(|step| match *step {
                Step::Put(number, payload) => {
                    Commit::new().about(lead(number)).put(Tree::Leads, lead(number), [payload; 50])
                }
                Step::Erase(number) => Commit::new().erase(lead(number), 1),
            }).collect();
            let expected: Vec<CommitResult> = group.iter().map(|step| match *step {
                Step::Put(number, _) if kept.get(&number) == Some(&None) => Err(CommitError::Erased),
                Step::Put(number, payload) => { kept.insert(number, Some(payload)); Ok(()) }
                Step::Erase(number) => { kept.entry(number).and_modify(|kept| *kept = None); Ok(()) }
            }).collect();
            prop_assert_eq!(store.commit_group(&commits), expected);
        }
        drop(store);
        let store = inline(&directory);
        for number in 0..8 {
            let expected = kept.get(&number).copied().flatten().map(|payload| vec![payload; 50]);
            prop_assert_eq!(store.payload(Tree::Leads, lead(number)), expected);
            prop_assert_eq!(store.is_erased(lead(number)), Ok(kept.get(&number) == Some(&None)));
        }
        prop_assert!(store.check().unwrap().is_sound());
    }
}

/// Two leads in different slots, and one in the slot of the first.
fn in_slots(slots: &Slots) -> [Uuid; 3] {
    let slot = |lead| slots.slot_of(lead);
    let first = Uuid::from_u128(1);
    let others = || (2..).map(Uuid::from_u128);
    let neighbour = others().find(|lead| slot(*lead) == slot(first)).unwrap();
    let stranger = others().find(|lead| slot(*lead) != slot(first)).unwrap();
    [first, neighbour, stranger]
}

#[test]
fn an_erasure_that_a_failing_disk_interrupts_costs_its_neighbours_nothing() {
    let directory = directory();
    let slots = slots(&directory);
    let mut options = StoreOptions::new(directory.path());
    options.mend_interval = std::time::Duration::ZERO;
    let store = Store::open_inline_with(&options).unwrap();
    let [first, neighbour, stranger] = in_slots(&slots);
    store.commit_group(&[first, neighbour, stranger].map(about));
    options.sync_fault.set(true);
    store.commit_now(Commit::new().erase(first, 1)).unwrap_err();
    options.sync_fault.set(false);

    // The next erasure destroys all old wrapping keys.
    store.commit_now(Commit::new().erase(stranger, 2)).unwrap();
    let check = |store: &Store| {
        assert_eq!(store.payload(Tree::Leads, neighbour).as_deref(), Some(CANARY));
        assert_eq!(store.payload(Tree::Leads, first).as_deref(), Some(CANARY), "it was not erased");
        assert_eq!(store.payload(Tree::Leads, stranger), None);
    };
    check(&store);
    drop(store);
    check(&inline(&directory));
}
