//! What the disk cannot read just now: noted as damage while it lasts, and no longer. The record itself may be sound.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{io, thread};

use parking_lot::Mutex;

use super::super::damage::DamageKind;
use super::super::damages::Damages;
use super::super::record_file::{FileNumber, Locator, RecordFile};
use super::files::Files;

/// How often it is tried again.
const TRIED_EVERY: Duration = Duration::from_secs(1);

/// The files of a volume of which a read has failed, each with the first place where one has.
pub(super) struct Unreadable {
    damages: Damages,
    files: Arc<Mutex<BTreeSet<FileNumber>>>,
}

impl Unreadable {
    pub(super) fn new(damages: Damages) -> Self {
        Self { damages, files: Arc::default() }
    }

    /// Takes note that a record could not be read, and has its file be tried until it can be. One place of a file stands for all.
    pub(super) fn note(&self, files: &Files, locator: Locator, error: &io::Error) {
        let (Some(file), true) = (files.file(locator.file), self.files.lock().insert(locator.file)) else {
            return;
        };
        let (name, why) = (files.name(locator.file), error.to_string());
        let what = DamageKind::Unreadable { at: locator.at, bytes: locator.length.into(), why };
        self.damages.note_of(Some(files.volume), &*name, what);
        let (file, damages, failing) = (Arc::downgrade(&file), self.damages.clone(), Arc::clone(&self.files));
        let until_it_can_be_read = move || {
            while is_unreadable(&file, locator) {
                thread::park_timeout(TRIED_EVERY);
            }
            damages.can_be_read(&name, locator.at);
            failing.lock().remove(&locator.file);
        };
        // Without a thread it stays noted until the file is read through.
        let _ = thread::Builder::new().name("store-unreadable".to_owned()).spawn(until_it_can_be_read);
    }
}

/// Whether the disk cannot read what lies there; one that is not open any more is not tried.
fn is_unreadable(file: &Weak<RecordFile>, locator: Locator) -> bool {
    file.upgrade().is_some_and(|file| !file.can_be_read(locator.at, locator.length.into()))
}
