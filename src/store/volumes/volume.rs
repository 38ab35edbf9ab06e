//! A volume that is open: its files, and the index that finds a record in them.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::super::changes::Change;
use super::super::damage::{Damage, DamageKind, Neighbour};
use super::super::damages::Damages;
use super::super::disk::{DiskError, DiskResult};
use super::super::index::{Index, IndexOptions};
use super::super::record_file::{Entry, FileNumber, Locator, Met, RecordFile};
use super::super::trees::Tree;
use super::super::volume_number::{Number, directory_name};
use super::{files::Files, time_ms, unreadable::Unreadable};

/// How many entries are put into a new index at once, in the order of their keys.
const AT_ONCE: usize = 128 * 1024;

/// A volume that is open.
pub(crate) struct Volume {
    /// The files.
    pub(crate) files: Files,
    /// What finds records in them. Nobody may write while it is read.
    pub(crate) index: Index,
    /// Whether anybody has asked for it lately.
    pub(super) used: AtomicBool,
    /// Whether all that the index finds survives a power cut, and nothing follows.
    settled: AtomicBool,
    /// Whether the index may not find all that the files hold: it is not kept then.
    distrusted: AtomicBool,
    /// Whether the index was made while something of the files was damaged. Where that comes back it would not be found: it is not
    /// kept either.
    partial: bool,
    /// The file and the place in it up to which the index knows what lies there.
    found_until: Mutex<(FileNumber, u64)>,
    /// What the disk could not read just now.
    unread: Unreadable,
}

impl Volume {
    /// Opens a volume on its files: with the index that was closed last, or a new one made of the files. What of them is damaged is
    /// noted then.
    pub(crate) fn open(files: Files, options: IndexOptions<'_>, damages: &Damages) -> DiskResult<Self> {
        let kept = Index::open_closed(options).unwrap_or_else(|DiskError(why)| {
            tracing::warn!(volume = files.volume, %why, "an index of the store is made anew");
            None
        });
        let (index, partial) = match kept {
            Some(index) => (index, false),
            None => {
                let index = made(&files, options, damages)?;
                (index, damages.cost_records_of(files.volume))
            }
        };
        let (settled, distrusted) = Default::default();
        let last = files.last();
        let found_until = Mutex::new((last.number, last.len()));
        let unread = Unreadable::new(damages.clone());
        let used = AtomicBool::new(true);
        let opened = Self { files, index, used, settled, distrusted, partial, found_until, unread };
        if damages.are_unreadable(opened.files.volume) {
            // The index may have been made without what could not be read.
            opened.distrust();
            let number = opened.files.volume;
            damages.note_of(Some(number), directory_name(number), DamageKind::Partial);
        }
        Ok(opened)
    }

    /// The raw value under a key, or that the disk cannot read it; the outer error is the index's. Nobody may write meanwhile.
    pub(crate) fn get(&self, key: &[u8]) -> DiskResult<DiskResult<Option<Vec<u8>>>> {
        let Some(locator) = self.index.get(key)? else { return Ok(Ok(None)) };
        let read = self.files.read(locator, key);
        Ok(read.map(Some).map_err(|error| {
            self.unread.note(&self.files, locator, &error);
            error.into()
        }))
    }

    /// Where the record of a key lies, if what lies there is no whole entry any more.
    pub(crate) fn damaged_at(&self, key: &[u8]) -> Option<Locator> {
        let locator = self.index.get(key).ok()??;
        let file = self.files.all().into_iter().find(|file| file.number == locator.file)?;
        let is_damaged = match file.walk(locator.at).next() {
            Some(Ok(Met::Entry(entry))) => entry.locator != locator,
            // What the disk cannot read may be sound.
            Some(Ok(Met::Damage { unread, .. })) => unread.is_none(),
            Some(Err(_)) => false,
            None => true,
        };
        is_damaged.then_some(locator)
    }

    /// Has the index find changes where they were appended.
    pub(crate) fn find(&self, changes: &[Change], locators: &[Locator]) -> DiskResult<()> {
        for (change, locator) in changes.iter().zip(locators) {
            match change.value {
                Some(_) => self.index.put(&change.key, *locator)?,
                None => self.index.remove(&change.key)?,
            }
        }
        if let Some(Locator { file, at, length }) = locators.last() {
            *self.found_until.lock() = (*file, at + u64::from(*length));
        }
        Ok(())
    }

    /// The file and the place in it up to which the index knows what lies there.
    pub(super) fn found_until(&self) -> (FileNumber, u64) {
        *self.found_until.lock()
    }

    /// Has the index be made anew when the volume is opened again.
    pub(crate) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
    }

    /// Whether the index may not find all that the files hold.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Acquire)
    }

    /// Once this returns, what was written survives a power cut, and nothing may be written any more: dropped, the volume can be
    /// opened again without making its index anew.
    pub(crate) fn settle(&self) -> io::Result<()> {
        self.files.sync()?;
        self.settled.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if !self.settled.load(Ordering::Acquire) || self.is_distrusted() || self.partial {
            return;
        }
        if let Err(error) = self.index.close() {
            tracing::warn!(%error, "an index of the store is made anew at the next start");
        }
    }
}

/// A new index of what lies in files.
fn made(files: &Files, options: IndexOptions<'_>, damages: &Damages) -> DiskResult<Index> {
    let index = Index::make(options)?;
    let mut gathered: Vec<(Vec<u8>, Option<Locator>)> = Vec::new();
    for_each_entry(files, damages, |Entry { locator, key, value }| {
        gathered.push((key, value.map(|_| locator)));
        match gathered.len() < AT_ONCE {
            true => Ok(()),
            false => take_in(&index, &mut gathered),
        }
    })?;
    take_in(&index, &mut gathered)?;
    index.hold()?;
    Ok(index)
}

/// Puts what was gathered into an index, each key once, in the order of the keys, which is what sled is quickest at.
fn take_in(index: &Index, gathered: &mut Vec<(Vec<u8>, Option<Locator>)>) -> DiskResult<()> {
    // Stable: of one key the last counts.
    gathered.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut ahead = gathered.drain(..).peekable();
    while let Some((key, locator)) = ahead.next() {
        if ahead.peek().is_some_and(|(next, _)| *next == key) {
            continue;
        }
        match locator {
            Some(locator) => index.put(&key, locator)?,
            None => index.remove(&key)?,
        }
    }
    Ok(())
}

/// Walks through every file of a volume, hands over each entry, and notes what is damaged.
pub(crate) fn for_each_entry<E>(
    files: &Files,
    damages: &Damages,
    mut take: impl FnMut(Entry) -> Result<(), E>,
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

/// Walks through a file, hands over each entry, and notes what is damaged, under the file's volume and name: all there is, if it
/// gets to the end.
pub(crate) fn note_damage<B>(
    file: &RecordFile,
    (volume, name): (Number, &str),
    damages: &Damages,
    mut take: impl FnMut(Entry) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut before: Option<Vec<u8>> = None;
    let mut damaged: Option<(u64, u64, Option<String>)> = None;
    let mut found = Vec::new();
    let mut note = |(at, bytes, unread), before: Option<&[u8]>, behind: Option<&[u8]>| {
        let between = [before, behind].map(|key| key.map(neighbour));
        let what = match unread {
            Some(why) => DamageKind::Unreadable { at, bytes, why },
            None => DamageKind::Bytes { at, bytes, between },
        };
        found.push(Damage { volume: Some(volume), file: name.to_owned(), what });
    };
    let mut walk = file.walk(0);
    while let Some(met) = {
        let at = walk.at;
        walk.next().map(|met| (at, met))
    } {
        match met {
            // What was appended last may have been taken back meanwhile.
            (at, Err(_)) => {
                damaged = Some((at, file.len().saturating_sub(at), None)).filter(|(_, bytes, _)| *bytes > 0)
            }
            (_, Ok(Met::Damage { at, bytes, unread })) => damaged = Some((at, bytes, unread)),
            (_, Ok(Met::Entry(entry))) => {
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
    damages.has_read(name, found);
    ControlFlow::Continue(())
}

fn neighbour(key: &[u8]) -> Neighbour {
    let tree = key.first().and_then(|prefix| Tree::of_prefix(*prefix));
    let rest = key.get(1..).unwrap_or_default();
    Neighbour { tree, key: const_hex::encode(rest), at_ms: tree.and_then(|tree| time_ms(tree, rest)) }
}
