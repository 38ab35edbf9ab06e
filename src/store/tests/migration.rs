//! A store of an older format, made of this one's: what becomes of each record, and of a crash in between.

use super::*;
use crate::model::EventType;
use crate::store::changes::Change;
use crate::store::entities::{CompanyRecord, Happening, Tag};
use crate::store::older::Older;
use crate::store::sealing::key::Key;
use crate::store::sealing::key_file::KeyFile;
use crate::store::sealing::slots::Slots;
use crate::store::sealing::{data_key, sealed};

const LEAD: Uuid = Uuid::from_u128(0x11);
const TABLE: Uuid = Uuid::from_u128(0x7000);
const COMPANY: Uuid = Uuid::from_u128(0xC0);

/// The records of a store of format 1.
fn records() -> Vec<(Tree, Vec<u8>, Vec<u8>)> {
    let key = |parts: &[&[u8]]| parts.concat();
    let feed = FeedKey { company: COMPANY, arrival_us: 5, sequence: 0 }.to_bytes().to_vec();
    let tag = Tag { lead: LEAD, key: "campaign".into(), value: "spring".into(), created_at_ms: 1 };
    let created = Happening {
        event_type: EventType::LeadCreated,
        lead: LEAD,
        lead_created_at: 1,
        at: 1,
        institution: None,
        product_type: None,
        amount_in_cents: None,
        test: false,
        cause: None,
    };
    let report = format!(
        r#"{{"partner":"bank","event":{{"transactionId":"T-1"}},"receipt":{{"leadUuid":"{LEAD}"}}}}"#
    );
    vec![
        (Tree::Meta, b"last_arrival".to_vec(), 5_u64.to_be_bytes().to_vec()),
        (Tree::Leads, LEAD.as_bytes().to_vec(), vec![7; 20_000]),
        (Tree::RateTables, TABLE.as_bytes().to_vec(), b"head".to_vec()),
        (Tree::LeadTables, key(&[LEAD.as_bytes(), TABLE.as_bytes()]), Vec::new()),
        (Tree::Answers, key(&[TABLE.as_bytes(), &[0, 0]]), b"answers".to_vec()),
        (Tree::LeadActions, key(&[LEAD.as_bytes(), TABLE.as_bytes()]), b"{}".to_vec()),
        (Tree::PartnerEvents, vec![9; 32], report.into_bytes()),
        (Tree::LeadEvents, feed.clone(), codec::encode(&vec![created])),
        (Tree::LeadClientTags, feed, codec::encode(&vec![tag])),
        (Tree::OfferDisplays, vec![1], format!(r#"{{"leadUuid":"{LEAD}"}}"#).into_bytes()),
        (Tree::Sessions, vec![1], b"visit".to_vec()),
        (Tree::Identities, vec![1], b"identity".to_vec()),
        (Tree::Repeats, vec![1], b"repeat".to_vec()),
    ]
}

/// Writes a store of format 1: frames as they are now, nothing sealed, no keys.
fn write(directory: &Directory) {
    let mut older = Older::begin(&StoreOptions::new(directory.path())).unwrap();
    let format = (Tree::Meta, b"format".to_vec(), 1_u32.to_be_bytes().to_vec());
    let change = |(tree, key, payload): (Tree, Vec<u8>, Vec<u8>)| Change {
        volume: crate::store::volume_number::BASE,
        key: tree.sled_key(&key),
        value: Some(frame::framed(&payload)),
    };
    older.apply(records().into_iter().chain([format]).map(change).collect()).unwrap();
}

fn beside(directory: &Directory, what: &str) -> PathBuf {
    directory.path().with_file_name(format!("store.{what}"))
}

fn assert_migrated(store: &Store) {
    for (tree, key, payload) in records() {
        let (key, expected) = match tree {
            Tree::Identities | Tree::Repeats => (key, None),
            Tree::PartnerEvents => (store.blind("report", b"bank\0T-1").to_vec(), Some(payload)),
            _ => (key, Some(payload)),
        };
        assert_eq!(store.payload(tree, &key), expected, "{}", tree.name());
    }
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn every_record_of_a_store_of_format_1_is_sealed_or_left_out() {
    let directory = directory();
    write(&directory);
    assert_migrated(&inline(&directory));
    assert_migrated(&inline(&directory));
    assert!(beside(&directory, "format-1").exists(), "the old store is left to its operator");
    assert!(!beside(&directory, "next").exists());
    let erased = Commit::new().erase(LEAD, 1);
    let store = inline(&directory);
    store.commit_now(erased).unwrap();
    for tree in [Tree::Leads, Tree::Answers, Tree::LeadActions, Tree::LeadClientTags, Tree::OfferDisplays] {
        assert_eq!(store.scan(tree, []).count(), 0, "{} is sealed by its lead", tree.name());
    }
}

#[test]
fn a_crash_in_a_migration_is_made_good_at_the_next_start() {
    let half_written = directory();
    write(&half_written);
    std::fs::create_dir(beside(&half_written, "next")).unwrap();
    assert_migrated(&inline(&half_written));

    let half_moved = directory();
    write(&half_moved);
    drop(inline(&half_moved));
    std::fs::rename(half_moved.path(), beside(&half_moved, "next")).unwrap();
    assert_migrated(&inline(&half_moved));
}

/// A store of format 3, with a lead in its volume that is known by whom it is about.
fn write_format_3(directory: &Directory) {
    let store = directory.path();
    let mut ring = {
        // Its keys are those of any store, in the file of before.
        let made = super::directory();
        drop(inline(&made));
        let master = MasterKey::find(None, made.path()).unwrap().unwrap();
        KeyFile::of(made.path()).open(&master).unwrap()
    };
    ring.slots = Slots::Plain;
    let mut older = Older::begin(&StoreOptions::new(store)).unwrap();
    let master = MasterKey::create_beside(store).unwrap();
    KeyFile::of(store).write_older(&master, &ring);
    let key = Key::random();
    let kept = data_key::wrap(&ring, LEAD, &key, 1);
    let company =
        CompanyRecord { uuid: COMPANY, name: "Acme".to_owned(), duplicate_look_back_minutes: Some(60) };
    let put = |volume, tree: Tree, key: &[u8], payload: &[u8]| Change {
        volume,
        key: tree.sled_key(key),
        value: Some(frame::framed(payload)),
    };
    let identity = [COMPANY.as_bytes(), &[7; 32][..]].concat();
    let known = [&5_i64.to_be_bytes()[..], LEAD.as_bytes()].concat();
    let lead = sealed(LEAD, &key, Tree::Leads, LEAD.as_bytes(), b"the lead");
    let begins = [0_u64.to_be_bytes(), 3_u64.to_be_bytes()].concat();
    older
        .apply(vec![
            put(0, Tree::Meta, b"format", &3_u32.to_be_bytes()),
            put(0, Tree::Meta, &[&b"volume"[..], &1_u32.to_be_bytes()].concat(), &begins),
            put(0, Tree::Companies, COMPANY.as_bytes(), &codec::encode_json(&company)),
            put(0, Tree::LeadKeys, &Slots::Plain.place(LEAD), &kept),
            put(0, Tree::Identities, &identity, &known),
            put(0, Tree::Repeats, b"key", b"of a day"),
            put(1, Tree::Leads, LEAD.as_bytes(), &lead),
        ])
        .unwrap();
}

#[test]
fn a_store_of_format_3_keeps_every_record_and_whom_its_leads_are_about() {
    let directory = directory();
    write_format_3(&directory);
    for _ in 0..2 {
        let store = inline(&directory);
        assert_eq!(store.payload(Tree::Leads, LEAD).as_deref(), Some(&b"the lead"[..]));
        assert_eq!(store.volumes()[0].number, 1);
        let again = Commit::new().unknown(COMPANY, [7; 32], 5).put(Tree::Templates, "again", "again");
        let found = [&5_i64.to_be_bytes()[..], LEAD.as_bytes()].concat();
        assert_eq!(store.commit_now(again), Err(CommitError::Guard { index: 0, found }));
        let report = store.check().unwrap();
        assert_eq!((report.is_sound(), report.leads_sound, report.count(Tree::Repeats)), (true, 1, 0));
    }
    assert!(beside(&directory, "format-3").exists(), "the old store is left to its operator");
}
