//! The promises of the store, in sentences. Most tests use the inline store.

mod backup;
mod clock;
mod commits;
mod damaged_files;
mod durability;
mod ephemeral;
mod identities;
mod large_values;
mod model;
mod record_locks;
mod salvage;
mod sealing;
mod terms;
mod volumes;
mod writer_thread;

use std::fs;
use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use tempfile::TempDir;
use uuid::Uuid;

use super::commit::CommitResult;
use super::record_file::WalkItem;
use super::*;

/// A directory for one store and its master key, removed at the end of the test.
struct Directory {
    store: PathBuf,
    database: Option<PostgresSettings>,
    _both: TempDir,
}

impl Directory {
    fn path(&self) -> &Path {
        &self.store
    }
}

fn directory() -> Directory {
    let both = tempfile::tempdir().expect("a temporary directory");
    Directory { store: both.path().join("store"), database: crate::testing::database(), _both: both }
}

fn inline(directory: &Directory) -> Store {
    let database = directory.database.clone();
    let options = StoreOptions { database, ..StoreOptions::new(directory.path()) };
    Store::open_inline_with(&options).expect("the store opens")
}

impl StoreInner {
    pub(crate) fn records(&self) -> &Arc<StoredRecords> {
        &self.files.as_ref().expect("a store in files").records
    }
}

impl Commit {
    pub(crate) fn erase(self, lead: Uuid, at_ms: i64) -> Self {
        self.erase_all([lead], at_ms)
    }
}

impl Store {
    /// Commits and returns the outcome, which an inline store has at once.
    fn commit_now(&self, commit: Commit) -> CommitResult {
        self.commit(commit).now_or_never().expect("an inline commit is ready at once")
    }

    fn commit_group(&self, commits: &[Commit]) -> Vec<CommitResult> {
        let CommitQueue::Inline(writer) = &self.shared.queue else { panic!("not an inline store") };
        writer.lock().as_mut().expect("open").execute(commits)
    }

    /// Allows the next attempt on a failed disk at once.
    fn tried_long_ago(&self) {
        let CommitQueue::Inline(writer) = &self.shared.queue else { panic!("not an inline store") };
        writer.lock().as_mut().expect("open").tried = None;
    }

    /// The payload under a key, which must be intact.
    fn payload(&self, tree: Tree, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.get(tree, key).expect("a sound record")
    }

    /// The keys of a company's lead events, in feed order.
    fn feed(&self, company: Uuid) -> Vec<FeedKey> {
        let records = self.scan(Tree::LeadEvents, company);
        records.map(|record| FeedKey::parse(&record.unwrap().0).expect("a key of a feed")).collect()
    }
}

/// Every file of a store except its indexes and its lock, relative to its directory.
fn files_of(store: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![store.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with("index") => {}
                true => ahead.push(path),
                false => found.push(path.strip_prefix(store).unwrap().to_owned()),
            }
        }
    }
    found.retain(|file| file != Path::new("lock"));
    found.sort();
    found
}

/// Copies the files of the store as a kill would leave them.
fn copied(directory: &Directory) -> Directory {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &to.join(entry.file_name())),
                false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
            }
        }
    }
    let copy_of = self::directory();
    copy(directory.path(), copy_of.path());
    let key = |store: &Path| store.with_file_name("store.key");
    fs::copy(key(directory.path()), key(copy_of.path())).unwrap();
    copy_of
}

/// The store after a kill, in the place of the killed one.
fn killed(store: Store, directory: &Directory) -> Store {
    killed_with(store, directory, &StoreOptions::new(directory.path()))
}

fn killed_with(store: Store, directory: &Directory, options: &StoreOptions) -> Store {
    let copy = copied(directory);
    drop(store);
    fs::remove_dir_all(directory.path()).unwrap();
    fs::rename(copy.path(), directory.path()).unwrap();
    Store::open_inline_with(options).expect("the store opens")
}

/// Changes the raw value under a key of a closed store, in whichever volume it is.
fn tamper(path: &Path, key: &[u8], change: impl FnOnce(&mut Vec<u8>)) {
    tamper_with(path, key, |mut raw| {
        change(&mut raw);
        Some(raw)
    });
}

/// Like [`tamper`], or removes the record.
fn tamper_with(path: &Path, key: &[u8], change: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) {
    let numbers =
        [crate::volume_number::BASE].into_iter().chain(crate::volume_number::volumes_in(path).unwrap());
    let files = numbers.map(|number| {
        let row = record_file::FileRow { number: 1, bytes: 0 };
        let volume = manifest::VolumeRow::undated(number, vec![row]);
        crate::volumes::files::VolumeFiles::open(path, &volume, &damages::Damages::default()).unwrap()
    });
    let holds = |files: crate::volumes::files::VolumeFiles| {
        let last = |found, met: WalkItem| match met {
            WalkItem::Entry(entry) if entry.key == key => Some(entry),
            _ => found,
        };
        let entry = files.last().walk(0).map(Result::unwrap).fold(None, last)?;
        Some((files, entry.value?))
    };
    let (files, raw) = files.filter_map(holds).next().expect("a record to tamper with");
    let change =
        changes::RecordChange { volume: crate::volume_number::BASE, key: key.to_vec(), value: change(raw) };
    files.append(&[change]).unwrap();
}
