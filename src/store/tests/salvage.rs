//! Salvage of a damaged store, with a backup and without.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use super::backup::{Restore, master, taken};
use super::volumes::{COMPANY, HOUR_MS, Hourly, answers, events, submit};
use super::*;
use crate::audit::{AuditEntry, AuditFilter, AuditGap, AuditLog};
use crate::contacts::{self, LeadContacts};
use crate::opt_outs::{OptOuts, SuppressionDoubt};
use crate::salvage::{SalvageError, Salvaged, salvage};
use offerd_model::SuppressionKind;

/// A store of some hours, with a backup taken in the middle.
struct Drill {
    directory: Directory,
    hourly: Hourly,
    leads: Vec<(Uuid, Uuid)>,
    backup: Vec<u8>,
}

fn drill() -> Drill {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    let mut leads = Vec::new();
    let mut backup = Vec::new();
    for nth in 0..8 {
        if nth == 6 {
            backup = taken(&store, || ());
        }
        leads.push(submit(&store, &hourly, nth));
        hourly.pass(HOUR_MS / 2);
    }
    drop(store);
    Drill { directory, hourly, leads, backup }
}

impl Drill {
    fn new_place(&self) -> PathBuf {
        self.directory.path().with_file_name("salvaged")
    }

    fn salvage(&self, backup: Option<&[u8]>) -> Result<Salvaged, SalvageError> {
        let mut options = self.hourly.options.clone();
        options.master_key_file = Some(self.directory.path().with_file_name("store.key"));
        let mut backup = backup;
        let file = backup.as_mut().map(|bytes| bytes as &mut dyn std::io::Read);
        salvage(&options, &self.new_place(), file, "ada", &mut |_| {})
    }

    fn salvaged(&self) -> Store {
        let mut options = StoreOptions::new(self.new_place());
        options.master_key_file = Some(self.directory.path().with_file_name("store.key"));
        Store::open_inline_with(&options).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The leads that can be read completely.
    fn whole(&self, store: &Store) -> Vec<usize> {
        let is_whole = |nth: &usize| {
            let (lead, table) = self.leads[*nth];
            store.payload(Tree::Leads, lead).is_some() && answers(store, table) == 9_000
        };
        (0..self.leads.len()).filter(is_whole).collect()
    }
}

fn bytes_of(store: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files_of(store).into_iter().map(|file| (file.clone(), fs::read(store.join(file)).unwrap())).collect()
}

#[test]
fn of_a_store_that_is_whole_nothing_is_lost() {
    let drill = drill();
    let before = bytes_of(drill.directory.path());
    let salvaged = drill.salvage(None).unwrap();
    assert!(salvaged.is_all() && salvaged.report.is_sound(), "{salvaged:?}");
    let store = drill.salvaged();
    assert_eq!(drill.whole(&store), Vec::from_iter(0..8));
    assert_eq!(events(&store), Vec::from_iter(0..8));
    assert_eq!(bytes_of(drill.directory.path()), before, "the old one is as it was");
}

#[test]
fn of_a_store_that_was_killed_what_the_journal_alone_has_is_there() {
    let drill = drill();
    let store = drill.hourly.open();
    store.commit_now(Commit::new().put(Tree::Templates, "late", "text")).unwrap();
    let copy = copied(&drill.directory);
    drop(store);
    // As a power cut may leave it.
    let base = fs::read_dir(copy.path().join("base")).unwrap().map(|entry| entry.unwrap().path());
    let last = base.filter(|path| path.extension().is_some_and(|end| end == "records")).max().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() - 9]).unwrap();
    let killed = Drill { hourly: Hourly::of(&copy), directory: copy, ..drill };
    let salvaged = killed.salvage(None).unwrap();
    assert!(salvaged.is_all(), "{salvaged:?}");
    assert_eq!(killed.salvaged().payload(Tree::Templates, "late"), Some(b"text".to_vec()));
}

#[test]
fn a_volume_that_is_gone_is_told_lead_by_lead_and_comes_back_from_the_backup_as_far_as_it_has_it() {
    let drill = drill();
    for volume in ["volumes/2", "volumes/4"] {
        fs::remove_dir_all(drill.file(volume)).unwrap();
    }
    let without = drill.salvage(None).unwrap();
    assert!(!without.is_all() && without.report.is_sound(), "{without:?}");
    let lost = |of: &[usize]| of.iter().map(|nth| drill.leads[*nth].0).collect::<BTreeSet<_>>();
    assert_eq!(without.leads_lost, lost(&[2, 3, 6, 7]));
    assert_eq!(drill.whole(&drill.salvaged()), [0, 1, 4, 5]);
    fs::remove_dir_all(drill.new_place()).unwrap();

    let with = drill.salvage(Some(&drill.backup)).unwrap();
    assert_eq!((with.leads_from_backup, &with.leads_lost), (2, &lost(&[6, 7])), "{with:?}");
    assert!(with.report.is_sound() && with.held_back.is_empty());
    let store = drill.salvaged();
    assert_eq!(drill.whole(&store), [0, 1, 2, 3, 4, 5]);
    assert_eq!(events(&store), [0, 1, 2, 3, 4, 5], "the feed too");
    assert!(!drill.new_place().with_file_name("salvaged.backup").exists(), "nothing is left beside it");
}

#[test]
fn a_salvage_counts_as_lost_what_a_check_counts_as_broken_behind_the_end_of_a_file() {
    let drill = drill();
    let file = drill.file("volumes/2/00000001.records");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..100]).unwrap();
    let salvaged = drill.salvage(None).unwrap();
    assert!(fs::read_dir(drill.new_place()).unwrap().all(|entry| entry.unwrap().file_name() != "indexes"));
    let report = drill.hourly.open().check().unwrap();
    let mut broken = BTreeMap::new();
    report.broken.iter().for_each(|record| *broken.entry(record.tree).or_default() += 1);
    assert_eq!((&salvaged.lost, broken.len() > 2), (&broken, true), "{report:?}");
    assert!(
        report.broken.iter().all(|record| record.reason == crate::frame::BrokenReason::CutOff),
        "{report:?}"
    );
    let of_file = report.damages.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (wanted, records) = (bytes.len(), report.broken.len());
    let cut =
        format!("is cut off at byte 100 of at least {wanted}; its index names {records} records behind");
    assert!(of_file.len() <= 2 && of_file[0].contains(&cut), "{of_file:?}");
}

#[test]
fn the_counts_of_a_table_come_back_with_it() {
    let drill = drill();
    let store = drill.hourly.open();
    let (lead, table) = drill.leads[2];
    let place = ((table.as_u128() & !0xfff) | 3).to_be_bytes();
    for tree in [Tree::Clicks, Tree::Displays] {
        store.commit_now(Commit::new().about(lead).put(tree, place, 7_u64.to_be_bytes())).unwrap();
    }
    let backup = taken(&store, || ());
    drop(store);
    fs::remove_dir_all(drill.file("volumes/2")).unwrap();
    let salvaged = drill.salvage(Some(&backup)).unwrap();
    let store = drill.salvaged();
    for tree in [Tree::Clicks, Tree::Displays] {
        assert_eq!(store.payload(tree, place), Some(7_u64.to_be_bytes().to_vec()), "{tree:?}");
        assert_eq!(salvaged.from_backup.get(&tree), Some(&1), "{tree:?}");
    }
}

#[test]
fn who_was_erased_since_the_backup_does_not_come_back() {
    let drill = drill();
    let (erased, _) = drill.leads[2];
    let (other, _) = drill.leads[3];
    let store = drill.hourly.open();
    store.commit_now(Commit::new().erase(erased, 5)).unwrap();
    drop(store);
    fs::remove_dir_all(drill.file("volumes/2")).unwrap();
    let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
    assert_eq!(salvaged.leads_from_backup, 1, "{salvaged:?}");
    let store = drill.salvaged();
    assert!(store.is_erased(erased).unwrap());
    assert_eq!(store.payload(Tree::Leads, erased), None);
    assert!(store.payload(Tree::Leads, other).is_some());
    fs::remove_dir_all(drill.new_place()).unwrap();

    // Nor when no record names the erased lead any longer.
    drop(store);
    fs::remove_dir_all(drill.file("base")).unwrap();
    let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
    assert!(salvaged.held_back.contains(&erased), "{salvaged:?}");
    let store = drill.salvaged();
    assert_eq!(store.payload(Tree::Leads, erased), None);
    assert!(store.payload(Tree::Leads, other).is_some(), "of another slot");
    let (since, _) = drill.leads[7];
    assert!(salvaged.leads_lost.contains(&since), "its data key is in no backup");
    assert!(salvaged.report.is_sound());
}

#[test]
fn keys_that_are_lost_are_taken_from_the_backup() {
    for harm in 0..2 {
        let drill = drill();
        for file in ["keys", "keys.copy"] {
            match harm {
                0 => fs::remove_file(drill.file(file)).unwrap(),
                _ => fs::write(drill.file(file), "no keys").unwrap(),
            }
        }
        assert!(matches!(drill.salvage(None), Err(SalvageError::KeysLost { .. })));
        assert!(!drill.new_place().exists());
        let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
        assert!(salvaged.keys_of_backup && salvaged.leads_lost.is_empty(), "{salvaged:?}");
        assert_eq!(drill.whole(&drill.salvaged()), Vec::from_iter(0..8), "nothing was erased since");
    }
}

#[test]
fn persons_are_found_after_an_erasure_and_a_salvage_with_the_keys_of_the_backup() {
    let drill = drill();
    let ([(erased, _), (other, _)], (later, _)) = ([drill.leads[2], drill.leads[3]], drill.leads[7]);
    let store = drill.hourly.open();
    for (lead, contact) in [(erased, [1; 32]), (other, [2; 32])] {
        store.commit_now(Commit::new().about(lead).found_by(contact, 5)).unwrap();
    }
    let backup = taken(&store, || ());
    // Of a later day, so under a key of its own.
    store.commit_now(Commit::new().about(later).found_by([3; 32], 5 + 2 * 24 * HOUR_MS as i64)).unwrap();
    let of = LeadContacts { lead: erased, contacts: vec![[1; 32]], from_ms: 5, until_ms: 5 };
    let forgetting = store.begin_forgetting_contacts(&[of]).unwrap();
    store.commit_now(Commit::new().erase(erased, 6)).unwrap();
    block_on(store.finish_forgetting(forgetting, &BTreeSet::from([erased]))).unwrap();
    drop(store);
    ["keys", "keys.copy"].iter().for_each(|name| fs::remove_file(drill.file(name)).unwrap());
    let salvaged = drill.salvage(Some(&backup)).unwrap();
    assert!(salvaged.keys_of_backup && salvaged.is_all(), "{salvaged:?}");
    let found_by = |contact: u8| drill.salvaged().found_by(&[contact; 32]).unwrap();
    assert_eq!([1, 2, 3].map(found_by), [vec![], vec![other], vec![later]]);
    assert!(drill.salvaged().check().unwrap().is_sound());
}

#[test]
fn where_contacts_may_be_lost_the_next_start_indexes_every_lead_again() {
    let (drill, _) = of_no_lead();
    let store = drill.hourly.open();
    let position = [contacts::PROJECTION.as_bytes(), COMPANY.as_bytes()].concat();
    store.commit_now(Commit::new().put(Tree::Followers, &position, "far")).unwrap();
    store.commit_now(Commit::new().put(Tree::Followers, "other", "far")).unwrap();
    drop(store);
    drill.salvage(None).unwrap();
    assert!(drill.salvaged().payload(Tree::Followers, &position).is_some(), "nothing was lost");
    fs::remove_dir_all(drill.new_place()).unwrap();

    let store = drill.hourly.open();
    let identity = store.keys(Tree::Identities, []).unwrap().remove(0);
    drop(store);
    tamper(drill.directory.path(), &Tree::Identities.tree_key(&identity), |raw| raw[20] ^= 1);
    drill.salvage(None).unwrap();
    let store = drill.salvaged();
    assert_eq!(store.payload(Tree::Followers, &position), None);
    assert!(store.payload(Tree::Followers, "other").is_some());
}

#[test]
fn what_stands_in_the_way_is_told_and_nothing_is_left() {
    let drill = drill();
    let open = drill.hourly.open();
    let refused = drill.salvage(None).unwrap_err();
    assert!(refused.to_string().contains("another offerd is running"), "{refused}");
    drop(open);

    fs::create_dir(drill.new_place()).unwrap();
    fs::write(drill.new_place().join("file"), "").unwrap();
    assert!(matches!(drill.salvage(None), Err(SalvageError::NotEmpty { .. })));
    fs::remove_dir_all(drill.new_place()).unwrap();

    // Directories left by a killed salvage.
    let left = ["salvaged.part", "salvaged.backup", "salvaged.backup.part"];
    let left = left.map(|name| drill.new_place().with_file_name(name));
    left.iter().for_each(|path| fs::create_dir(path).unwrap());
    let refused = drill.salvage(Some(&drill.backup)).unwrap_err().to_string();
    let all = left.each_ref().map(|path| path.display().to_string()).join(" ");
    assert!(refused.contains(&format!("`rm -r {all}`")), "{refused}");
    left.iter().for_each(|path| fs::remove_dir(path).unwrap());

    let key = drill.directory.path().with_file_name("store.key");
    let right = fs::read(&key).unwrap();
    fs::write(&key, "0".repeat(64)).unwrap();
    let refused = drill.salvage(None).unwrap_err();
    assert!(refused.to_string().contains("needs master key"), "{refused}");
    fs::write(&key, right).unwrap();

    let mut cut = drill.backup.clone();
    cut.truncate(cut.len() / 2);
    assert!(matches!(drill.salvage(Some(&cut)), Err(SalvageError::Backup(_))));
    let other = self::drill();
    assert!(drill.salvage(Some(&other.backup)).unwrap_err().to_string().contains("master key"));
    let left: Vec<_> = fs::read_dir(drill.new_place().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("salvaged")), "{left:?}");
}

#[test]
fn the_keys_of_another_store_are_not_taken_from_its_backup() {
    let drill = drill();
    let store = drill.hourly.open();
    store.commit_now(Commit::new().put(Tree::Reports, "own", "sealed with the store's own key")).unwrap();
    drop(store);
    for name in ["keys", "keys.copy"] {
        fs::remove_file(drill.file(name)).unwrap();
    }
    let other = directory();
    fs::copy(drill.directory.path().with_file_name("store.key"), other.path().with_file_name("store.key"))
        .unwrap();
    let store = Hourly::of(&other).open();
    let refused = drill.salvage(Some(&taken(&store, || ())));
    assert!(matches!(refused, Err(SalvageError::OtherStore)), "{refused:?}");
    assert!(!drill.new_place().exists());
    let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
    assert!(salvaged.keys_of_backup, "{salvaged:?}");
}

/// A store with records without a lead, of which a backup was taken, and its suppression key file.
fn of_no_lead() -> (Drill, PathBuf) {
    let drill = drill();
    let store = drill.hourly.open();
    let key = crate::suppression_key_file(None, drill.directory.path());
    block_on(opt_outs::add(&store, &key, SuppressionKind::Email, &[ASKED])).unwrap();
    let put = |tree, key: &str| store.commit_now(Commit::new().put(tree, key, "kept")).unwrap();
    put(Tree::Users, "ada");
    put(Tree::Pauses, "g3\0loan");
    for _ in 0..3 {
        block_on(AuditLog::of(store.clone()).commit(Commit::new(), reload())).unwrap();
    }
    let backup = taken(&store, || ());
    drop(store);
    (Drill { backup, ..drill }, key)
}

/// The digest of an opted-out person.
const ASKED: [u8; 32] = [7; 32];

fn reload() -> AuditEntry {
    AuditEntry::of_machine("ada".to_owned(), "command", "reload")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn is_opted_out(store: &Store, key: &Path) -> bool {
    OptOuts::read(store, key).unwrap().has_any(SuppressionKind::Email, [&ASKED])
}

fn audit_key(number: u64) -> Vec<u8> {
    [audit::RECORDS, &number.to_be_bytes()].concat()
}

#[test]
fn without_the_base_lists_and_audit_come_from_the_backup_and_the_rest_of_it_counts_as_lost() {
    let (drill, key) = of_no_lead();
    fs::remove_file(drill.file("base/00000001.records")).unwrap();
    let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
    assert!(!salvaged.is_all() && !salvaged.may_lack_unknown && salvaged.audit_gaps.is_empty());
    for tree in [Tree::Users, Tree::Pauses] {
        assert_eq!(salvaged.lost.get(&tree), Some(&1), "{tree:?} {salvaged:?}");
    }
    assert_eq!(salvaged.lost_names[&Tree::Users], ["ada"]);
    assert_eq!(salvaged.lost_names[&Tree::Pauses], ["g3 loan"]);
    for tree in [Tree::Suppressions, Tree::Audit] {
        assert_eq!(salvaged.lost.get(&tree), None, "{tree:?} {salvaged:?}");
    }
    let Some(SuppressionDoubt::OfBackup(told)) = &salvaged.doubt else { panic!("{:?}", salvaged.doubt) };
    assert!(told.contains("those of the backup of 20") && told.contains("suppressions confirm"), "{told}");
    let store = drill.salvaged();
    assert!(is_opted_out(&store, &key));
    assert_eq!(SuppressionDoubt::read(&store).unwrap(), salvaged.doubt);
    let audit = AuditLog::of(store.clone());
    let verdict = audit.verify().unwrap();
    assert_eq!((verdict.records, verdict.broken, verdict.gaps.len()), (4, None, 0));
    let (last, _) = audit.after(3, &AuditFilter::default(), 9, 9).unwrap();
    assert_eq!((&*last[0].action, &*last[0].who), ("store.salvage", "ada"));
    assert!(block_on(opt_outs::confirm(&store, &key)).unwrap());
    assert_eq!(SuppressionDoubt::read(&store).unwrap(), None);
    assert!(is_opted_out(&store, &key));
}

#[test]
fn lists_that_nobody_can_show_to_be_whole_keep_everybody_from_being_asked_about_until_that_is_confirmed() {
    let (drill, key) = of_no_lead();
    fs::remove_file(drill.file("base/00000001.records")).unwrap();
    let salvaged = drill.salvage(None).unwrap();
    assert!(
        salvaged.may_lack_unknown && matches!(salvaged.doubt, Some(SuppressionDoubt::MayBeLost(_))),
        "{salvaged:?}"
    );
    let store = drill.salvaged();
    let Some(SuppressionDoubt::MayBeLost(doubt)) = SuppressionDoubt::read(&store).unwrap() else {
        panic!("the lists seem whole")
    };
    assert!(doubt.contains("--backup FILE") && doubt.contains("suppressions confirm"), "{doubt}");
    block_on(opt_outs::add(&store, &key, SuppressionKind::Email, &[ASKED])).unwrap();
    assert!(block_on(opt_outs::confirm(&store, &key)).unwrap());
    assert!(!block_on(opt_outs::confirm(&store, &key)).unwrap());
    assert_eq!((SuppressionDoubt::read(&store).unwrap(), is_opted_out(&store, &key)), (None, true));
}

#[test]
fn a_base_that_is_gone_with_the_list_of_its_files_is_missed_all_the_same_also_after_a_start() {
    for starts in [false, true] {
        let (drill, key) = of_no_lead();
        fs::remove_dir_all(drill.file("base")).unwrap();
        for name in ["manifest", "manifest.copy"] {
            fs::remove_file(drill.file(name)).unwrap();
        }
        if starts {
            drop(drill.hourly.open());
        }
        let without = drill.salvage(None).unwrap();
        assert!(
            matches!(without.doubt, Some(SuppressionDoubt::MayBeLost(_))) && !without.is_all(),
            "{without:?}"
        );
        fs::remove_dir_all(drill.new_place()).unwrap();
        let with = drill.salvage(Some(&drill.backup)).unwrap();
        assert!(matches!(with.doubt, Some(SuppressionDoubt::OfBackup(_))), "{with:?}");
        assert!(is_opted_out(&drill.salvaged(), &key));
    }
}

#[test]
fn a_restored_store_asks_about_nobody_until_its_lists_are_confirmed() {
    let restored = |drill: &Drill, has_opt_out_key: bool| {
        let _ = fs::remove_dir_all(drill.new_place());
        let mut restore = Restore::begin(&drill.new_place(), master(&drill.directory)).unwrap();
        restore.push(&drill.backup).unwrap();
        restore.finish_to_use(has_opt_out_key).unwrap().2
    };
    let without = drill();
    assert_eq!(restored(&without, false), None, "neither the backup nor a key tells of any opt-out");
    assert_eq!(SuppressionDoubt::read(&without.salvaged()).unwrap(), None);
    let doubt = restored(&without, true);
    let Some(SuppressionDoubt::Restored(told)) = &doubt else { panic!("{doubt:?}") };
    assert!(told.contains("the backup of 20") && told.contains("suppressions confirm"), "{told}");
    assert_eq!(SuppressionDoubt::read(&without.salvaged()).unwrap(), doubt);

    let (drill, key) = of_no_lead();
    assert!(restored(&drill, false).is_some());
    let store = drill.salvaged();
    assert!(is_opted_out(&store, &key) && SuppressionDoubt::read(&store).unwrap().is_some());
    assert!(block_on(opt_outs::confirm(&store, &key)).unwrap());
    assert_eq!(SuppressionDoubt::read(&store).unwrap(), None);
}

#[test]
fn a_list_of_which_a_record_is_broken_comes_from_the_backup_or_is_in_doubt() {
    let (drill, key) = of_no_lead();
    let lists = || {
        let store = drill.hourly.open();
        let keys = store.keys(Tree::Suppressions, "_email\0").unwrap();
        keys.into_iter().max().unwrap()
    };
    tamper(drill.directory.path(), &Tree::Suppressions.tree_key(&lists()), |raw| raw[9] ^= 1);
    let without = drill.salvage(None).unwrap();
    assert!(matches!(without.doubt, Some(SuppressionDoubt::MayBeLost(_))), "{without:?}");
    assert_eq!(without.lost.get(&Tree::Suppressions), Some(&1));
    fs::remove_dir_all(drill.new_place()).unwrap();
    let with = drill.salvage(Some(&drill.backup)).unwrap();
    assert!(matches!(with.doubt, Some(SuppressionDoubt::OfBackup(_))), "{with:?}");
    assert_eq!((with.lost.len(), with.from_backup.get(&Tree::Suppressions)), (0, Some(&1)));
    assert!(is_opted_out(&drill.salvaged(), &key));
}

#[test]
fn a_gap_in_the_audit_is_recorded_and_the_chain_goes_on_behind_it() {
    let (drill, _) = of_no_lead();
    tamper(drill.directory.path(), &Tree::Audit.tree_key(&audit_key(2)), |raw| raw[9] ^= 1);
    let salvaged = drill.salvage(None).unwrap();
    let gap = AuditGap { after: 1, next: 3 };
    assert_eq!((&*salvaged.audit_gaps, salvaged.lost.get(&Tree::Audit)), (&[gap][..], Some(&1)));
    let store = drill.salvaged();
    let audit = AuditLog::of(store.clone());
    block_on(audit.commit(Commit::new(), reload())).unwrap();
    let verdict = audit.verify().unwrap();
    assert_eq!((verdict.records, verdict.broken, &*verdict.gaps), (4, None, &[gap][..]));
    assert_eq!((gap.to_string(), verdict.head.number), ("record 2 is lost".to_owned(), 5));
    // A gap that no salvage has recorded still shows.
    store.commit_now(Commit::new().remove(Tree::Audit, audit_key(3))).unwrap();
    let broken = audit.verify().unwrap().broken.expect("it shows");
    assert!(broken.starts_with("record 2 is missing"), "{broken}");
    drop((store, audit));
    fs::remove_dir_all(drill.new_place()).unwrap();

    let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
    assert_eq!((salvaged.audit_gaps.len(), salvaged.from_backup.get(&Tree::Audit)), (0, Some(&1)));
    let verdict = AuditLog::of(drill.salvaged()).verify().unwrap();
    assert_eq!((verdict.records, verdict.broken), (3, None));
}

#[test]
fn an_audit_that_was_begun_anew_is_not_mixed_with_that_of_the_backup() {
    let (drill, _) = of_no_lead();
    let store = drill.hourly.open();
    for number in 1..=3 {
        store.commit_now(Commit::new().remove(Tree::Audit, audit_key(number))).unwrap();
    }
    let other = AuditEntry { who: "grace".to_owned(), ..reload() };
    block_on(AuditLog::of(store.clone()).commit(Commit::new(), other)).unwrap();
    drop(store);
    let salvaged = drill.salvage(Some(&drill.backup)).unwrap();
    assert_eq!(salvaged.lost.get(&Tree::Audit), Some(&1), "{salvaged:?}");
    let verdict = AuditLog::of(drill.salvaged()).verify().unwrap();
    assert_eq!((verdict.records, verdict.broken), (1, None));
}
