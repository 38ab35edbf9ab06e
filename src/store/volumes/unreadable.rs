//! Transient read failures of the disk: noted as damage only while they last. The record itself may be sound.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{io, thread};

use parking_lot::Mutex;

use super::super::record_file::{FileNumber, Locator, RecordFile};
use super::files::VolumeFiles;
use crate::{DamageKind, Damages};

/// Interval between attempts to read again.
const TRIED_EVERY: Duration = Duration::from_secs(1);

/// The files of a volume with a failed read, one place for each.
pub(super) struct UnreadableFiles {
    damages: Damages,
    files: Arc<Mutex<BTreeSet<FileNumber>>>,
}

impl UnreadableFiles {
    pub(super) fn new(damages: Damages) -> Self {
        Self { damages, files: Arc::default() }
    }

    /// Notes an unreadable record, and retries until it can be read. One place of a file stands for all.
    pub(super) fn note(&self, files: &VolumeFiles, locator: Locator, error: &io::Error) {
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
        // Without a thread the damage stays noted until the file is read through.
        let _ = thread::Builder::new().name("store-unreadable".to_owned()).spawn(until_it_can_be_read);
    }
}

/// Whether the disk still cannot read a place; `false` once the file is closed.
fn is_unreadable(file: &Weak<RecordFile>, locator: Locator) -> bool {
    file.upgrade().is_some_and(|file| !file.can_be_read(locator.at, locator.length.into()))
}
