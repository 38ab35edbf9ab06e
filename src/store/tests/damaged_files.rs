//! Damage to the files of a killed store: reported, limited to the damaged records, never a panic.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::volumes::{HOUR_MS, Hourly, submit};
use super::*;
use crate::disk::SyncFault;
use crate::manifest::{Manifest, ManifestLookup, VolumeRow};
use crate::record_file;
use crate::record_file::{FileEntry, FileRow, RecordFile};
use crate::salvage::{Salvaged, salvage};
use crate::volume_number::{BASE, directory_of};

/// The extent of the damage: one in so many bytes of manifests, lists and headings is flipped, and so many
/// seeded places of each other file; each file is cut to so many lengths. `OFFERD_DAMAGE=all` tests all of
/// it, which takes minutes.
struct Extent {
    one_of: usize,
    places: usize,
    lengths: usize,
}

fn extent() -> Extent {
    match std::env::var("OFFERD_DAMAGE").as_deref() {
        Ok("all") => Extent { one_of: 1, places: 500, lengths: 5 },
        _ => Extent { one_of: 127, places: 1, lengths: 1 },
    }
}

/// A first start without room on the disk leaves files in which nothing was stored.
#[test]
fn files_that_were_being_made_when_nothing_was_stored_are_no_damage() {
    fn empty_file(store: &Path, volume: u32) {
        let directory = directory_of(store, volume);
        fs::create_dir_all(&directory).unwrap();
        fs::write(record_file::path_of(&directory, 1), "").unwrap();
    }
    fn heading(store: &Path) {
        let directory = directory_of(store, BASE);
        fs::create_dir_all(&directory).unwrap();
        RecordFile::create(&directory, BASE, 1).unwrap();
    }
    fn manifest(store: &Path) {
        heading(store);
        let mut manifest = Manifest::default();
        manifest.volumes = vec![VolumeRow::undated(BASE, vec![FileRow { number: 1, bytes: 20 }])];
        manifest.write(store, &SyncFault::default()).unwrap();
    }
    type Begin = fn(&Path);
    let begun: [(&str, Begin); 4] = [
        ("an empty file", |store| empty_file(store, BASE)),
        ("a heading", heading),
        ("a manifest without its copy, for the second time", |store| {
            manifest(store);
            let ManifestLookup::Manifest { mut manifest, .. } = Manifest::read(store).unwrap() else {
                panic!("none")
            };
            manifest.write(store, &SyncFault::default()).unwrap();
            fs::remove_file(store.join("manifest.copy")).unwrap();
        }),
        ("an empty file of a volume", |store| {
            manifest(store);
            empty_file(store, 1);
        }),
    ];
    for (what, begin) in begun {
        let directory = directory();
        begin(directory.path());
        for round in ["first", "second"] {
            let store = Store::open_inline(directory.path()).unwrap();
            assert_eq!(store.damages(), [], "{what}, {round}");
            assert!(store.check().unwrap().is_sound(), "{what}, {round}");
            store.commit_now(Commit::new().put(Tree::Pauses, round, "paused")).unwrap();
        }
        let store = Store::open_inline(directory.path()).unwrap();
        assert!(store.get(Tree::Pauses, "first").unwrap().is_some(), "{what}");
    }
}

/// The plain content of a store, by tree and key.
type Contents = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

/// A store with several volumes, killed with much of it in its journal, and its content.
struct Killed {
    directory: Directory,
    files: BTreeMap<PathBuf, Vec<u8>>,
    hourly: Hourly,
    contents: Contents,
}

/// The length of a file without the zeros it was preallocated with.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// The store's own records are tested through their effects.
const OWN: [Tree; 2] = [Tree::LeadKeys, Tree::Meta];

fn contents(store: &Store) -> Contents {
    let mut found = Contents::new();
    let trees = TREES.iter().filter(|row| !OWN.contains(&row.tree));
    for row in trees {
        for record in store.scan(row.tree, []) {
            let (key, payload) = record.unwrap();
            found.insert((row.name, key), payload);
        }
    }
    found
}

impl Killed {
    fn new() -> Self {
        let living = directory();
        let hourly = Hourly::of(&living);
        let store = hourly.open();
        for nth in 0..9 {
            submit(&store, &hourly, nth);
            // Overwritten again and again: an outdated value is distinguishable from the last one.
            store.commit_now(Commit::new().put(Tree::Pauses, "often", nth.to_be_bytes())).unwrap();
            store.commit_now(Commit::new().put(Tree::Users, "removed", "user")).unwrap();
            store.commit_now(Commit::new().remove(Tree::Users, "removed")).unwrap();
            hourly.pass(HOUR_MS / 3);
        }
        let contents = contents(&store);
        let directory = copied(&living);
        let read = |file: PathBuf| {
            let mut bytes = fs::read(directory.path().join(&file)).unwrap();
            if file.starts_with("journal") {
                // Keeps only a part of the preallocated zeros.
                bytes.truncate(used(&bytes) + 4096);
            }
            (file, bytes)
        };
        let files = files_of(directory.path()).into_iter().map(read).collect();
        let mut hourly = Hourly::of(&directory);
        hourly.options.clock = Clock::new(|| 1_700_020_000_000_000);
        Self { directory, files, hourly, contents }
    }

    /// Restores the store as killed, except one file.
    fn with(&self, file: &Path, bytes: Option<&[u8]>) {
        let store = self.directory.path();
        fs::remove_dir_all(store).unwrap();
        for (name, whole) in &self.files {
            let path = store.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match if name == file { bytes } else { Some(&whole[..]) } {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => assert!(name == file),
            }
        }
    }

    /// Opens the store twice and checks that readable records are unchanged and unreadable ones are reported.
    fn look(&self, what: &str, file: &Path) {
        for round in ["first", "second"] {
            let store = match Store::open_inline_with(&self.hourly.options) {
                Ok(store) => store,
                Err(error) => panic!("{what}: {error}"),
            };
            let report = store.check().unwrap();
            let found = contents(&store);
            for (key, payload) in &found {
                assert_eq!(self.contents.get(key), Some(payload), "{what}, {round}: {key:?}");
            }
            let missing: Vec<_> = self.contents.keys().filter(|key| !found.contains_key(key)).collect();
            assert!(missing.is_empty() || !report.is_sound(), "{what}, {round}: {missing:?} is not told");
            if let Some(number) = file.strip_prefix("volumes").ok().and_then(|rest| rest.iter().next()) {
                self.others_are_whole(what, number.to_str().unwrap().parse().unwrap(), &found);
            } else if !file.starts_with("base") {
                assert!(missing.is_empty(), "{what}, {round}: {missing:?}");
            }
            drop(store);
        }
    }

    /// Records in the base and in other volumes are there.
    fn others_are_whole(&self, what: &str, damaged: u32, found: &Contents) {
        let row = FileRow { number: 1, bytes: 0 };
        for number in crate::volume_number::volumes_in(self.directory.path()).unwrap() {
            if number == damaged {
                continue;
            }
            let (store, unheard) = (self.directory.path(), crate::damages::Damages::default());
            let volume = crate::manifest::VolumeRow::undated(number, vec![row]);
            let files = crate::volumes::files::VolumeFiles::open_to_read(store, &volume, &unheard).unwrap();
            for met in files.last().walk(0) {
                let WalkItem::Entry(entry) = met.unwrap() else {
                    panic!("{what}: volume {number} is damaged too")
                };
                let tree = Tree::of_prefix(entry.key[0]).unwrap();
                assert!(
                    found.contains_key(&(tree.name(), entry.key[1..].to_vec())),
                    "{what}: {}",
                    tree.name()
                );
            }
        }
    }

    fn flip(&self, file: &Path, place: usize, bit: u8) {
        let mut bytes = self.files[file].clone();
        bytes[place] ^= 1 << bit;
        self.with(file, Some(&bytes));
        self.look(&format!("byte {place} of {} flipped", file.display()), file);
    }
}

#[test]
fn a_flipped_byte_costs_no_more_than_its_record_and_is_told() {
    let killed = Killed::new();
    let Extent { one_of, places, .. } = extent();
    let mut rng = Rng::with_seed(16);
    for (file, bytes) in &killed.files {
        let all = match &*file.to_string_lossy() {
            name if name.starts_with("manifest") || name.ends_with(".sum") => bytes.len(),
            name if name.ends_with(".records") => 20,
            name if name.ends_with(".log") => 16,
            _ => 0,
        };
        let used = used(bytes);
        let seeded: Vec<usize> = (0..if used > 0 { places } else { 0 }).map(|_| rng.usize(..used)).collect();
        let first = rng.usize(..one_of);
        for place in (first..all).step_by(one_of).chain(seeded) {
            killed.flip(file, place, rng.u8(..8));
        }
    }
}

/// The entries of the record files of a store, with their files.
fn entries(store: &Path) -> Vec<(PathBuf, Vec<FileEntry>)> {
    let numbers = [BASE].into_iter().chain(crate::volume_number::volumes_in(store).unwrap());
    let of_volume = |number| {
        let (directory, row) = (directory_of(store, number), FileRow { number: 1, bytes: 0 });
        let file = RecordFile::open_to_read(&directory, number, &row).unwrap();
        let entries = file.walk(0).map(|met| match met.unwrap() {
            WalkItem::Entry(entry) => entry,
            WalkItem::Damage { .. } => panic!("volume {number} is damaged"),
        });
        (record_file::path_of(&directory, 1), entries.collect())
    };
    numbers.map(of_volume).collect()
}

/// What a salvage of a store keeps, read from the store that it makes.
fn kept_of(directory: &Directory) -> (Salvaged, Contents) {
    let mut options = StoreOptions::new(directory.path());
    options.master_key_file = Some(directory.path().with_file_name("store.key"));
    let into = directory.path().with_file_name("salvaged");
    let salvaged = salvage(&options, &into, None, "ada", &mut |_| {}).unwrap();
    options.path = into;
    let kept = contents(&Store::open_inline_with(&options).unwrap());
    (salvaged, kept)
}

/// The index of a stopped store finds values whose heads are damaged, and knows what was removed.
#[test]
fn what_a_damaged_store_serves_is_what_a_check_calls_sound_and_what_a_salvage_keeps() {
    let killed = Killed::new();
    killed.with(Path::new("none"), None);
    // Also opens each volume, and so leaves an index of each.
    assert!(Store::open_inline_with(&killed.hourly.options).unwrap().check().unwrap().is_sound());
    let stopped = killed.directory;
    let mut rng = Rng::with_seed(16);
    for (file, entries) in entries(stopped.path()).into_iter().filter(|(_, entries)| !entries.is_empty()) {
        let removing: Vec<_> = entries.iter().filter(|entry| entry.value.is_none()).take(1).collect();
        let seeded = (0..extent().places).map(|_| &entries[rng.usize(..entries.len())]).collect::<Vec<_>>();
        for FileEntry { locator, .. } in removing.into_iter().chain(seeded) {
            let in_the_head = locator.at + rng.u64(..14);
            for place in [in_the_head, locator.at + rng.u64(..u64::from(locator.length))] {
                let what = format!("byte {place} of {} flipped", file.display());
                let damaged = copied(&stopped);
                let path = damaged.path().join(file.strip_prefix(stopped.path()).unwrap());
                let mut bytes = fs::read(&path).unwrap();
                bytes[place as usize] ^= 1 << rng.u8(..8);
                fs::write(&path, bytes).unwrap();

                let (salvaged, kept) = kept_of(&damaged);
                let store = inline(&damaged);
                let (served, report) = (contents(&store), store.check().unwrap());
                for (tree, count) in report.counts.iter().filter(|(tree, _)| !OWN.contains(tree)) {
                    let served = served.keys().filter(|(of, _)| *of == tree.name()).count() as u64;
                    assert_eq!(served, *count, "{what}: {}", tree.name());
                }
                let is_broken = |(tree, key): &(&str, Vec<u8>)| {
                    let key = const_hex::encode(key);
                    report.broken.iter().any(|record| record.tree.name() == *tree && record.key == key)
                };
                let of_the_salvage = [Tree::Audit.name(), Tree::Suppressions.name()];
                for (key, payload) in &served {
                    assert_eq!(kept.get(key), Some(payload), "{what}: {key:?} is served");
                }
                for key in kept.keys().filter(|(tree, _)| !of_the_salvage.contains(tree)) {
                    // Of a broken record, an older state is kept.
                    assert!(served.contains_key(key) || is_broken(key), "{what}: {key:?} is not served");
                }
                let lost: u64 = salvaged.lost.values().sum();
                assert!(lost <= report.broken.len() as u64, "{what}: {salvaged:?} {report:?}");
                assert_eq!(salvaged.leads_lost.len() as u64, report.leads_broken, "{what}");
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_or_gone_costs_no_more_than_itself_and_is_told_at_each_start() {
    let killed = Killed::new();
    let mut rng = Rng::with_seed(16);
    for (file, bytes) in &killed.files {
        killed.with(file, None);
        killed.look(&format!("{} deleted", file.display()), file);
        let lengths = [0, rng.usize(..bytes.len()), bytes.len() - 1, bytes.len() / 2, 7];
        for length in lengths.into_iter().take(extent().lengths) {
            killed.with(file, Some(&bytes[..length]));
            killed.look(&format!("{} cut to {length}", file.display()), file);
        }
    }
}

#[test]
fn both_manifests_or_the_journal_may_be_gone() {
    let killed = Killed::new();
    let store = killed.directory.path();
    for gone in [&["manifest", "manifest.copy"][..], &["journal"]] {
        killed.with(Path::new("none"), None);
        for name in gone {
            let path = store.join(name);
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        assert!(Store::exists(store));
        killed.look(&format!("{gone:?} deleted"), Path::new("none"));
    }
}

#[test]
fn an_open_store_writes_its_keys_and_manifests_again_and_says_so() {
    let directory = directory();
    let store = inline(&directory);
    let lead = Uuid::from_u128(0x1EAD);
    store.commit_now(Commit::new().about(lead).put(Tree::Leads, lead, "sealed")).unwrap();
    for names in [["keys", "keys.copy"], ["manifest", "manifest.copy"]] {
        let paths = names.map(|name| directory.path().join(name));
        for harm in 0..3 {
            assert_eq!(store.check().unwrap().damages.len(), 0, "{names:?}, {harm}");
            for path in &paths {
                match harm {
                    0 => fs::remove_file(path).unwrap(),
                    1 => fs::write(path, "").unwrap(),
                    _ => fs::write(path, [7; 900]).unwrap(),
                }
            }
            let report = store.check().unwrap();
            let told: Vec<String> = report.damages.iter().map(ToString::to_string).collect();
            let wanted = names.map(|name| {
                format!("`{name}` was missing or damaged; nothing is lost, it was written again")
            });
            assert_eq!((told.as_slice(), report.is_sound()), (&wanted[..], true));
            // Until the next start it stays known.
            store.shared.records().volumes().damages.forget(|_| true);
        }
    }
    fs::remove_file(directory.path().join("keys")).unwrap();
    fs::create_dir(directory.path().join("keys")).unwrap();
    let report = store.check().unwrap();
    assert!(!report.is_sound() && report.damages[0].to_string().contains("cannot be written again"));
    fs::remove_dir(directory.path().join("keys")).unwrap();
    assert!(store.check().unwrap().is_sound());
    let store = killed(store, &directory);
    assert_eq!(store.payload(Tree::Leads, lead).as_deref(), Some(&b"sealed"[..]));
}

/// A volume that is lost together with the manifest shows only by the data keys of its leads.
#[test]
fn a_volume_that_is_gone_with_both_manifests_is_told() {
    let killed = Killed::new();
    let store = killed.directory.path();
    killed.with(Path::new("none"), None);
    for name in ["manifest", "manifest.copy"] {
        fs::remove_file(store.join(name)).unwrap();
    }
    fs::remove_dir_all(store.join("volumes/2")).unwrap();
    killed.look("volume 2 and the manifests deleted", Path::new("volumes/2"));
}

/// After a crash and after an orderly stop, when no journal knows the files of the base.
#[test]
fn a_base_that_is_gone_with_both_manifests_is_lost() {
    let killed = Killed::new();
    let store = killed.directory.path();
    for is_closed in [false, true] {
        killed.with(Path::new("none"), None);
        if is_closed {
            drop(Store::open_inline_with(&killed.hourly.options).unwrap());
        }
        for name in ["manifest", "manifest.copy"] {
            fs::remove_file(store.join(name)).unwrap();
        }
        fs::remove_dir_all(store.join("base")).unwrap();
        let lost = Store::open_inline_with(&killed.hourly.options).unwrap().lost_base();
        assert!(lost.is_some_and(|lost| lost.file.starts_with("base/")), "{is_closed}");
    }
}

/// When a store is closed, the files of the journal are removed one by one, and a power cut may keep any of
/// them. Nothing in a file older than the record files may be taken for newer.
#[test]
fn what_the_journal_has_lost_is_not_undone_by_what_it_still_has() {
    let directory = directory();
    let store = inline(&directory);
    for nth in 0..9_u8 {
        store.commit_now(Commit::new().put(Tree::Templates, "often", [nth])).unwrap();
    }
    let copy = copied(&directory);
    drop(store);
    let journal = fs::read_dir(copy.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let segment = journal.into_iter().find(|file| !file.to_string_lossy().contains("spare")).unwrap();
    let bytes = fs::read(&segment).unwrap();
    let used = used(&bytes);
    for lost in [1, used / 3, used / 2] {
        fs::write(&segment, &bytes[..used - lost]).unwrap();
        let again = copied(&copy);
        assert_eq!(inline(&again).payload(Tree::Templates, "often"), Some(vec![8]), "{lost} bytes lost");
    }
}

#[test]
fn a_segment_that_a_cut_off_close_has_left_does_not_bring_old_values_back() {
    let directory = directory();
    let store = inline(&directory);
    store
        .commit_now(Commit::new().put(Tree::Templates, "often", "old").put(Tree::Templates, "gone", "old"))
        .unwrap();
    let copy = copied(&directory);
    store
        .commit_now(Commit::new().put(Tree::Templates, "often", "new").remove(Tree::Templates, "gone"))
        .unwrap();
    drop(store);
    let left = fs::read_dir(copy.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
    for segment in left {
        fs::copy(&segment, directory.path().join("journal").join(segment.file_name().unwrap())).unwrap();
    }
    let store = inline(&directory);
    assert_eq!(store.payload(Tree::Templates, "often"), Some(b"new".to_vec()));
    assert_eq!(store.payload(Tree::Templates, "gone"), None);
}

/// The live records of a base file decide whether it may be emptied; those of a damaged file are unknown.
#[test]
fn a_file_of_the_base_that_is_damaged_is_not_emptied_and_removed() {
    let directory = directory();
    let mut options = StoreOptions::new(directory.path());
    options.volume_bytes = 64 * 1024;
    let fill = |store: &Store, times: u8| {
        for nth in 0..times {
            let commit = Commit::new().put(Tree::Templates, [nth % 3], [nth; 900]);
            store.commit_now(commit).unwrap();
        }
    };
    let compact = |store: &Store| {
        let CommitQueue::Inline(writer) = &store.shared.queue else { panic!("not an inline store") };
        (0..200).for_each(|_| writer.lock().as_mut().expect("open").compact_some());
    };
    let store = Store::open_inline_with(&options).unwrap();
    store.commit_now(Commit::new().put(Tree::Templates, "old", [1; 900])).unwrap();
    fill(&store, 6);
    drop(store);
    let first = directory.path().join("base/00000001.records");
    let mut bytes = fs::read(&first).unwrap();
    let place = bytes.windows(9).position(|window| window == [1; 9]).unwrap();
    bytes[place] ^= 1;
    fs::write(&first, &bytes).unwrap();
    let store = Store::open_inline_with(&options).unwrap();
    fill(&store, 60);
    compact(&store);
    assert!(first.exists() && !store.check().unwrap().is_sound());
    drop(store);

    bytes[place] ^= 1;
    fs::write(&first, &bytes).unwrap();
    let store = Store::open_inline_with(&options).unwrap();
    compact(&store);
    assert!(!first.exists(), "a sound one is");
    assert_eq!(store.payload(Tree::Templates, "old"), Some(vec![1; 900]));
}

#[test]
fn a_volume_that_cannot_be_opened_is_told_and_the_others_go_on() {
    let directory = directory();
    let hourly = Hourly::of(&directory);
    let store = hourly.open();
    for nth in 0..4 {
        submit(&store, &hourly, nth);
        hourly.pass(HOUR_MS);
    }
    drop(store);
    // In the place of an index list is something that can be neither read nor removed as a list.
    let list = directory.path().join("volumes/2/index.sum");
    fs::remove_file(&list).unwrap();
    fs::create_dir_all(list.join("not/empty")).unwrap();

    let store = hourly.open();
    let report = store.check().unwrap();
    let told: Vec<String> = report.damages.iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].starts_with("`volumes/2` cannot be used: "), "{told:?}");
    assert_eq!((report.leads_sound, report.leads_broken, report.is_sound()), (3, 1, false));
    let file = super::backup::taken(&store, || ());
    let mut scanner = crate::backup::Scanner::new(None);
    scanner.push(&file).unwrap();
    let summary = scanner.finish().unwrap();
    let count = |tree: Tree| summary.records[tree as usize].1;
    assert_eq!((count(Tree::Leads), summary.damages), (3, 1));
    drop(store);

    fs::remove_dir_all(&list).unwrap();
    let index = directory.path().join("volumes/2/index");
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "a file").unwrap();
    assert!(hourly.open().check().unwrap().is_sound(), "what is not needed is made anew");
}

#[test]
fn records_that_cannot_be_read_are_counted_in_a_backup() {
    let directory = directory();
    let store = inline(&directory);
    let fill = ["a", "b"].iter().fold(Commit::new(), |commit, key| commit.put(Tree::Templates, key, "text"));
    store.commit_now(fill).unwrap();
    drop(store);
    tamper(directory.path(), &Tree::Templates.tree_key(b"b"), |raw| raw[6] ^= 1);
    let file = super::backup::taken(&inline(&directory), || ());
    let mut scanner = crate::backup::Scanner::new(None);
    scanner.push(&file).unwrap();
    assert_eq!(scanner.finish().unwrap().broken, [(Tree::Templates, 1)]);
}

/// Reading a damaged record locates the damage: it is known at the next start, before anything is read.
#[test]
fn what_a_read_has_found_is_known_at_the_next_start() {
    let directory = directory();
    let open = || Store::open_inline(directory.path()).unwrap();
    let store = open();
    store.commit_now(Commit::new().put(Tree::Pauses, "here", b"what is kept")).unwrap();
    store.close().unwrap();
    drop(store);
    let file = directory.path().join("base/00000001.records");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(12).position(|window| window == b"what is kept").unwrap();
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();

    let store = open();
    assert_eq!(store.damages(), []);
    assert!(store.get(Tree::Pauses, "here").is_err());
    let found = store.damages();
    assert!(
        matches!(found[..], [FileDamage { volume: Some(0), what: DamageKind::Bytes { .. }, .. }]),
        "{found:?}"
    );
    store.close().unwrap();
    drop(store);
    assert_eq!(open().damages(), found);
}

/// An index built from a damaged file is not kept: the bytes may come back with the disk.
#[test]
fn what_was_damaged_is_found_when_it_is_back() {
    let directory = directory();
    let store = inline(&directory);
    let lead = Uuid::from_u128(7);
    store.commit_now(Commit::new().about(lead).put(Tree::Leads, lead, "kept")).unwrap();
    drop(store);
    let file = directory.path().join("volumes/1/00000001.records");
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&file, damaged).unwrap();
    // It is rebuilt from the remaining files.
    fs::remove_file(directory.path().join("volumes/1/index.sum")).unwrap();
    assert!(!inline(&directory).check().unwrap().is_sound());
    fs::write(&file, whole).unwrap();
    let store = inline(&directory);
    assert_eq!(store.get(Tree::Leads, lead), Ok(Some(b"kept".to_vec())));
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn a_file_that_goes_while_the_store_is_open_is_told_by_a_check() {
    for name in ["base/00000001.records", "volumes/1/00000001.records"] {
        let directory = directory();
        let store = inline(&directory);
        if directory.database.is_some() {
            return;
        }
        let file = directory.path().join(name);
        store.commit_now(Commit::new().put(Tree::Templates, "here", "text")).unwrap();
        assert!(store.check().unwrap().is_sound());
        // Another file with the same bytes is not the one that is written to.
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, bytes).unwrap();
        let told = store.check().unwrap().damages.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told, [format!("`{name}` is missing")]);
    }
}

/// Writes to a deleted file are lost at the next start.
#[test]
fn nothing_is_acknowledged_while_a_file_is_gone_and_all_goes_on_when_it_is_back() {
    let commit = |key: &str| Commit::new().put(Tree::Templates, key, "text");
    let find: [fn(&Store); 2] = [|_| {}, |store| drop(store.check().unwrap())];
    for find in find {
        let directory = directory();
        let store = inline(&directory);
        if directory.database.is_some() {
            return;
        }
        let [base, away] = ["base", "away"].map(|name| directory.path().join(name));
        store.commit_now(commit("before")).unwrap();
        fs::rename(&base, &away).unwrap();
        find(&store);
        let refused = store.commit_now(commit("lost")).unwrap_err().to_string();
        assert!(
            refused.contains("`base/00000001.records` is missing, or another file has its name"),
            "{refused}"
        );
        store.tried_long_ago();
        assert!(store.commit_now(commit("lost")).is_err(), "a journal alone is not enough");
        assert!(matches!(store.health(), StoreHealth::Failed(_)) && store.lost_base().is_some());
        assert!(store.payload(Tree::Templates, "before").is_some(), "reads go on");
        fs::rename(&away, &base).unwrap();
        store.tried_long_ago();
        store.commit_now(commit("after")).unwrap();
        assert_eq!((store.health(), store.damages()), (StoreHealth::Sound, Vec::new()));
        let store = killed(store, &directory);
        assert!(["before", "after"].iter().all(|key| store.payload(Tree::Templates, *key).is_some()));
    }
}

/// Files that are lost with both manifests cannot be missed, so the store is not reported as intact.
#[test]
fn a_store_without_manifests_is_whole_for_nobody() {
    let directory = directory();
    let store = inline(&directory);
    if directory.database.is_some() {
        return;
    }
    store.commit_now(Commit::new().put(Tree::Templates, "here", "text")).unwrap();
    drop(store);
    for name in ["manifest", "manifest.copy"] {
        fs::remove_file(directory.path().join(name)).unwrap();
    }
    for round in ["first", "second"] {
        let store = inline(&directory);
        assert!(!store.check().unwrap().is_sound(), "{round}");
        let file = super::backup::taken(&store, || ());
        let mut scanner = crate::backup::Scanner::new(None);
        scanner.push(&file).unwrap();
        assert_eq!(scanner.finish().unwrap().damages, 1, "{round}");
    }
}

#[test]
fn a_journal_that_goes_while_the_store_is_open_is_told_and_nothing_is_acknowledged_without_one() {
    let directory = directory();
    let store = inline(&directory);
    if directory.database.is_some() {
        return;
    }
    store.commit_now(Commit::new().put(Tree::Templates, "before", "text")).unwrap();
    fs::remove_dir_all(directory.path().join("journal")).unwrap();
    let told = store.check().unwrap().damages.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told, ["`journal` is missing"]);
    let refused = store.commit_now(Commit::new().put(Tree::Templates, "lost", "text")).unwrap_err();
    assert!(refused.to_string().contains("it is gone, or another file has its name"), "{refused}");
    store.tried_long_ago();
    store.commit_now(Commit::new().put(Tree::Templates, "after", "text")).unwrap();
    let store = killed(store, &directory);
    let there = ["before", "lost", "after"].map(|key| store.payload(Tree::Templates, key).is_some());
    assert_eq!(there, [true, false, true]);
}

#[test]
fn a_journal_that_is_gone_at_a_start_is_told_and_one_that_was_closed_is_not_missed() {
    let lose: [fn(&Path); 4] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::rename(file, file.with_extension("old")).unwrap(),
        |file| fs::write(file, "").unwrap(),
        |file| fs::write(file, vec![0; fs::metadata(file).unwrap().len() as usize]).unwrap(),
    ];
    for (nth, lose) in lose.into_iter().enumerate() {
        let directory = directory();
        let store = inline(&directory);
        if directory.database.is_some() {
            return;
        }
        store.commit_now(Commit::new().put(Tree::Templates, "here", "text")).unwrap();
        let copy = copied(&directory);
        drop(store);
        assert!(inline(&directory).check().unwrap().is_sound(), "it was closed");
        let is_segment = |file: &PathBuf| !file.to_string_lossy().contains("spare");
        let journal = fs::read_dir(copy.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
        journal.filter(is_segment).for_each(|file| lose(&file));
        let store = inline(&copy);
        let told = store.check().unwrap().damages.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told, ["`journal` is missing"], "{nth}");
        drop(store);
        assert!(inline(&copy).check().unwrap().is_sound(), "what is there is whole from here on");
    }
}

#[test]
fn a_record_file_or_a_journal_of_another_format_is_told_as_that() {
    let directory = directory();
    let store = inline(&directory);
    if directory.database.is_some() {
        return;
    }
    store.commit_now(Commit::new().put(Tree::Templates, "here", "text")).unwrap();
    let copy = copied(&directory);
    drop(store);
    let other = |file: &Path| {
        let mut bytes = fs::read(file).unwrap();
        bytes[7] = b'2';
        fs::write(file, bytes).unwrap();
    };
    other(&copy.path().join("base/00000001.records"));
    let journal = fs::read_dir(copy.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
    journal.filter(|file| !file.to_string_lossy().contains("spare")).for_each(|file| other(&file));
    let report = inline(&copy).check().unwrap();
    let told = report.damages.iter().map(ToString::to_string).collect::<Vec<_>>();
    let wanted = "`base/00000001.records` has format `offerdr2`, this offerd reads `offerdr1`";
    assert!(told.iter().any(|line| line.starts_with(wanted)) && report.set_aside.len() == 1, "{told:?}");
}

#[test]
fn a_pause_that_cannot_be_read_holds() {
    use crate::pauses::{Pause, Pauses};
    use offerd_model::ProductType;
    let directory = directory();
    let store = inline(&directory);
    if directory.database.is_some() {
        return;
    }
    let pauses = Pauses::of(store.clone());
    let commit = async |commit: Commit| store.commit_now(commit);
    let product = Some(ProductType::Savings);
    pauses.pause(Pause::now("bank", product, "test", None), commit).now_or_never().unwrap().unwrap();
    drop((pauses, store));
    tamper(directory.path(), b"zbank\0savings", |raw| raw[9] ^= 1);
    let store = inline(&directory);
    let pauses = Pauses::of(store.clone());
    let held = Pause { since: Pause::UNKNOWN, by: None, ..Pause::now("bank", product, "", None) };
    assert_eq!((pauses.list(), pauses.read().unwrap()), (vec![held.clone()], vec![held]));
    let commit = async |commit: Commit| store.commit_now(commit);
    pauses.resume("bank", None, commit).now_or_never().unwrap().unwrap();
    assert!(pauses.list().is_empty());
}

#[test]
fn a_link_that_leads_nowhere_is_told_as_a_file_that_is_missing() {
    let directory = directory();
    drop(inline(&directory));
    if directory.database.is_some() {
        return;
    }
    let name = "volumes/1/00000001.records";
    let file = directory.path().join(name);
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    let told =
        inline(&directory).check().unwrap().damages.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told, [format!("`{name}` is missing")]);
}
