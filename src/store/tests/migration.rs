//! A store of an older format, made of this one's: what becomes of each record, and of a crash in between.

use super::*;
use crate::model::EventType;
use crate::store::entities::{Happening, Tag};
use crate::store::{changes::Change, older::Older};

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
        volume: crate::store::volumes::BASE,
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
