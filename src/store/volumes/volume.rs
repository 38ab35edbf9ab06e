//! An open volume: its files, and the index that locates records in them.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::super::index::{IndexOptions, VolumeIndex};
use super::super::record_file::{FileEntry, FileNumber, Locator, RecordFile, WalkItem};
use super::super::volume_number::directory_name;
use super::files::VolumeFiles;
use super::unreadable::UnreadableFiles;
use crate::{
    DamageKind, Damages, DiskError, DiskResult, FileDamage, Neighbour, RecordChange, Tree, VolumeNumber,
};

pub(crate) struct Volume {
    pub(crate) files: VolumeFiles,
    /// Locates records in the files. Reads and writes exclude each other.
    pub(crate) index: VolumeIndex,
    pub(super) used: AtomicBool,
    /// Whether all indexed records survive a power cut and no write follows.
    flushed: AtomicBool,
    /// Whether the index may miss records of the files: such an index is not kept.
    distrusted: AtomicBool,
    /// Whether the index was built while files were damaged, and is not kept: the damaged part may come back.
    partial: bool,
    /// The file and offset up to which the index is complete.
    found_until: Mutex<(FileNumber, u64)>,
    unread: UnreadableFiles,
}

impl Volume {
    /// Opens a volume on its files. A rebuild of the index notes the damage it meets.
    pub(crate) fn open(files: VolumeFiles, options: IndexOptions<'_>, damages: &Damages) -> DiskResult<Self> {
        let kept = VolumeIndex::open_closed(options).unwrap_or_else(|DiskError(why)| {
            tracing::warn!(volume = files.volume, %why, "rebuilding an index of the store");
            None
        });
        let (index, partial) = match kept {
            Some(index) => (index, false),
            None => {
                let index = made(&files, options, damages)?;
                (index, damages.cost_records_of(files.volume))
            }
        };
        let (flushed, distrusted) = Default::default();
        let last = files.last();
        let found_until = Mutex::new((last.number, last.len()));
        let unread = UnreadableFiles::new(damages.clone());
        let used = AtomicBool::new(true);
        let opened = Self { files, index, used, flushed, distrusted, partial, found_until, unread };
        if damages.are_unreadable(opened.files.volume) {
            // The index may have been built without the unreadable part.
            opened.distrust();
            let number = opened.files.volume;
            damages.note_of(Some(number), directory_name(number), DamageKind::Partial);
        }
        Ok(opened)
    }

    /// The outer error is the index's. Writes must be excluded meanwhile.
    pub(crate) fn get(&self, key: &[u8]) -> DiskResult<DiskResult<Option<Vec<u8>>>> {
        let Some(locator) = self.index.get(key)? else { return Ok(Ok(None)) };
        let read = self.files.read(locator, key);
        Ok(read.map(Some).map_err(|error| {
            self.unread.note(&self.files, locator, &error);
            error.into()
        }))
    }

    /// The place of a key's record, if it no longer holds a whole entry.
    pub(crate) fn damaged_at(&self, key: &[u8]) -> Option<Locator> {
        let locator = self.index.get(key).ok()??;
        let file = self.files.all().into_iter().find(|file| file.number == locator.file)?;
        let is_damaged = match file.walk(locator.at).next() {
            Some(Ok(WalkItem::Entry(entry))) => entry.locator != locator,
            // Unreadable bytes may be sound.
            Some(Ok(WalkItem::Damage { unread, .. })) => unread.is_none(),
            Some(Err(_)) => false,
            None => true,
        };
        is_damaged.then_some(locator)
    }

    /// The file that ends before the place of a key's record.
    pub(crate) fn cut_before(&self, key: &[u8]) -> Option<String> {
        let locator = self.index.get(key).ok()??;
        let file = self.files.file(locator.file)?;
        (file.len() < locator.at + u64::from(locator.length)).then(|| self.files.name(locator.file))
    }

    /// Enters changes into the index, with the places they were appended to.
    pub(crate) fn find(&self, changes: &[RecordChange], locators: &[Locator]) {
        for (change, locator) in changes.iter().zip(locators) {
            self.index.set(&change.key, change.value.as_ref().map(|_| *locator));
        }
        if let Some(Locator { file, at, length }) = locators.last() {
            *self.found_until.lock() = (*file, at + u64::from(*length));
        }
    }

    pub(super) fn found_until(&self) -> (FileNumber, u64) {
        *self.found_until.lock()
    }

    /// Makes the next open rebuild the index.
    pub(crate) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
    }

    pub(crate) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Acquire)
    }

    /// Once this returns, all writes survive a power cut, none may follow, and a reopen keeps the index.
    pub(crate) fn flush_for_close(&self) -> io::Result<()> {
        self.files.sync()?;
        self.flushed.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if !self.flushed.load(Ordering::Acquire) || self.is_distrusted() || self.partial {
            return;
        }
        if let Err(error) = self.index.close() {
            tracing::warn!(%error, "the next start rebuilds an index of the store");
        }
    }
}

fn made(files: &VolumeFiles, options: IndexOptions<'_>, damages: &Damages) -> DiskResult<VolumeIndex> {
    let index = VolumeIndex::make(options)?;
    let mut gathered: Vec<(Box<[u8]>, Option<Locator>)> = Vec::new();
    for_each_entry(files, damages, |FileEntry { locator, key, value }| {
        gathered.push((key.into(), value.map(|_| locator)));
        match gathered.len() < options.built_at_once() {
            true => Ok(()),
            // The last entry of a key counts.
            false => index.merge(&gathered.drain(..).collect()),
        }
    })?;
    index.merge(&gathered.into_iter().collect())?;
    index.hold()?;
    Ok(index)
}

/// Passes each entry of a volume's files to `take`, and notes damage.
pub(crate) fn for_each_entry<E>(
    files: &VolumeFiles,
    damages: &Damages,
    mut take: impl FnMut(FileEntry) -> Result<(), E>,
) -> Result<(), E> {
    for file in files.all() {
        let name = files.name(file.number);
        let walked = note_damage(&file, (files.volume, &name), damages, |entry| match take(entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        });
        if let ControlFlow::Break(error) = walked {
            return Err(error);
        }
    }
    Ok(())
}

/// Passes each entry of a file to `take`. A walk that reaches the end replaces the file's known damage.
pub(crate) fn note_damage<B>(
    file: &RecordFile,
    (volume, name): (VolumeNumber, &str),
    damages: &Damages,
    mut take: impl FnMut(FileEntry) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let known = damages.all();
    let mut before: Option<Vec<u8>> = None;
    let mut damaged: Option<(u64, u64, Option<String>)> = None;
    let mut found = Vec::new();
    let mut note = |(at, bytes, unread), before: Option<&[u8]>, behind: Option<&[u8]>| {
        let between = [before, behind].map(|key| key.map(neighbour));
        let what = match unread {
            Some(why) => DamageKind::Unreadable { at, bytes, why },
            None => DamageKind::Bytes { at, bytes, between },
        };
        found.push(FileDamage { volume: Some(volume), file: name.to_owned(), what });
    };
    let mut walk = file.walk(0);
    while let Some(met) = {
        let at = walk.at;
        walk.next().map(|met| (at, met))
    } {
        match met {
            // The last append may have been undone meanwhile.
            (at, Err(_)) => {
                damaged = Some((at, file.len().saturating_sub(at), None)).filter(|(_, bytes, _)| *bytes > 0)
            }
            (_, Ok(WalkItem::Damage { at, bytes, unread })) => damaged = Some((at, bytes, unread)),
            (_, Ok(WalkItem::Entry(entry))) => {
                if let Some(damaged) = damaged.take() {
                    note(damaged, before.as_deref(), Some(&entry.key));
                }
                before = Some(entry.key.clone());
                take(entry)?;
            }
        }
    }
    if let Some(damaged) = damaged {
        note(damaged, before.as_deref(), None);
    }
    damages.has_read(name, &known, found);
    ControlFlow::Continue(())
}

fn neighbour(key: &[u8]) -> Neighbour {
    let tree = key.first().and_then(|prefix| Tree::of_prefix(*prefix));
    let rest = key.get(1..).unwrap_or_default();
    let (prefix, at_ms) = (tree.map(|tree| tree.row().prefix), tree.and_then(|tree| tree.time_ms(rest)));
    Neighbour { prefix, key: const_hex::encode(rest), at_ms }
}
