//! A volume that is open: its files, and the index that finds a record in them.

use std::{
    io,
    ops::{Bound, ControlFlow},
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
};

use super::super::{
    changes::Change,
    damage::{Damage, DamageKind, Neighbour},
    damages::Damages,
    disk::{DiskError, DiskResult},
    index::{Index, IndexOptions, Range},
    record_file::{Entry, Locator, Met, RecordFile},
    trees::Tree,
};
use super::{Number, files::Files, time_ms};

/// How many entries are put into a new index at once, in the order of their keys.
const AT_ONCE: usize = 128 * 1024;

/// A volume that is open.
pub(in crate::store) struct Volume {
    files: Files,
    index: Index,
    /// How many bytes of the files are records that there are.
    live: AtomicI64,
    /// Whether anybody has asked for it lately.
    pub(super) used: AtomicBool,
    /// Whether all that the index finds survives a power cut, and nothing follows.
    settled: AtomicBool,
}

impl Volume {
    /// Opens a volume on its files: with the index that was closed last, or a new one made of the files. What of them is damaged is
    /// noted then.
    pub(in crate::store) fn open(
        files: Files,
        options: IndexOptions<'_>,
        damages: &Damages,
    ) -> DiskResult<Self> {
        let (index, live) = match Index::open_closed(options) {
            Ok(Some((index, live))) => (index, i64::try_from(live).unwrap_or(i64::MAX)),
            // Whatever sled does not like of it, it can be made anew.
            Ok(None) | Err(_) => made(&files, options, damages)?,
        };
        let (used, settled) = (AtomicBool::new(true), AtomicBool::new(false));
        Ok(Self { files, index, live: AtomicI64::new(live), used, settled })
    }

    /// The files.
    pub(in crate::store) fn files(&self) -> &Files {
        &self.files
    }

    /// The raw value under a key. Nobody may write meanwhile.
    pub(in crate::store) fn get(&self, key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        Ok(self.index.get(key)?.map(|locator| self.files.read(locator, key)))
    }

    /// The keys from one on, each with its raw value. Nobody may write while it is stepped.
    pub(in crate::store) fn range(&self, from: Bound<Vec<u8>>) -> Range {
        self.index.range(from)
    }

    /// The last key that begins with a prefix.
    pub(in crate::store) fn last_key(&self, prefix: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self.index.last(prefix)
    }

    /// Where the record of a key lies, if what lies there is no whole entry any more.
    pub(in crate::store) fn damaged_at(&self, key: &[u8]) -> Option<Locator> {
        let locator = self.index.get(key).ok()??;
        let file = self.files.all().into_iter().find(|file| file.number() == locator.file)?;
        let is_sound =
            matches!(file.walk(locator.at).next(), Some(Ok(Met::Entry(entry))) if entry.locator == locator);
        (!is_sound).then_some(locator)
    }

    /// Whether that is where the record of a key lies.
    pub(in crate::store) fn is_live(&self, key: &[u8], locator: Locator) -> DiskResult<bool> {
        Ok(self.index.get(key)? == Some(locator))
    }

    /// Has the index find changes where they were appended.
    pub(in crate::store) fn find(&self, changes: &[Change], locators: &[Locator]) -> DiskResult<()> {
        let mut live = 0;
        for (change, locator) in changes.iter().zip(locators) {
            let before = match change.value {
                Some(_) => {
                    live += i64::from(locator.length);
                    self.index.put(&change.key, *locator)?
                }
                None => self.index.remove(&change.key)?,
            };
            live -= before.map_or(0, |before| i64::from(before.length));
        }
        self.live.fetch_add(live, Ordering::Relaxed);
        Ok(())
    }

    /// How many bytes of its files are records that there are.
    pub(in crate::store) fn live_bytes(&self) -> u64 {
        u64::try_from(self.live.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Once this returns, what was written survives a power cut, and nothing may be written any more: dropped, the volume can be
    /// opened again without making its index anew.
    pub(in crate::store) fn settle(&self) -> io::Result<()> {
        self.files.sync()?;
        self.settled.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if !self.settled.load(Ordering::Acquire) {
            return;
        }
        let live = self.live_bytes();
        if let Err(error) = self.index.close(live) {
            tracing::warn!(%error, "an index of the store is made anew at the next start");
        }
    }
}

/// A new index of what lies in files, and how many bytes of it are live.
fn made(files: &Files, options: IndexOptions<'_>, damages: &Damages) -> DiskResult<(Index, i64)> {
    let index = Index::make(options)?;
    let mut live = 0;
    let mut gathered: Vec<(Vec<u8>, Option<Locator>)> = Vec::new();
    for_each_entry(files, damages, |Entry { locator, key, value }| {
        gathered.push((key, value.map(|_| locator)));
        if gathered.len() < AT_ONCE {
            return Ok::<_, DiskError>(());
        }
        live += take_in(&index, &mut gathered)?;
        Ok(())
    })?;
    live += take_in(&index, &mut gathered)?;
    Ok((index, live))
}

/// Puts what was gathered into an index, each key once, in the order of the keys, which is what sled is quickest at.
fn take_in(index: &Index, gathered: &mut Vec<(Vec<u8>, Option<Locator>)>) -> DiskResult<i64> {
    let mut live = 0;
    // Stable: of one key the last counts.
    gathered.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut ahead = gathered.drain(..).peekable();
    while let Some((key, locator)) = ahead.next() {
        if ahead.peek().is_some_and(|(next, _)| *next == key) {
            continue;
        }
        let before = match locator {
            Some(locator) => {
                live += i64::from(locator.length);
                index.put(&key, locator)?
            }
            None => index.remove(&key)?,
        };
        live -= before.map_or(0, |before| i64::from(before.length));
    }
    Ok(live)
}

/// Walks through every file of a volume, hands over each entry, and notes what is damaged.
pub(in crate::store) fn for_each_entry<E>(
    files: &Files,
    damages: &Damages,
    mut take: impl FnMut(Entry) -> Result<(), E>,
) -> Result<(), E> {
    for file in files.all() {
        let name = files.name(file.number());
        let walked = note_damage(&file, (files.volume(), &name), damages, |entry| match take(entry) {
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
pub(in crate::store) fn note_damage<B>(
    file: &RecordFile,
    (volume, name): (Number, &str),
    damages: &Damages,
    mut take: impl FnMut(Entry) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut before: Option<Vec<u8>> = None;
    let mut damaged: Option<(u64, u64)> = None;
    let mut found = Vec::new();
    let mut note = |(at, bytes), before: Option<&[u8]>, behind: Option<&[u8]>| {
        let between = [before, behind].map(|key| key.map(neighbour));
        let what = DamageKind::Bytes { at, bytes, between };
        found.push(Damage { volume: Some(volume), file: name.to_owned(), what });
    };
    let mut walk = file.walk(0);
    while let Some(met) = {
        let at = walk.at();
        walk.next().map(|met| (at, met))
    } {
        match met {
            // What was appended last may have been taken back meanwhile.
            (at, Err(_)) => {
                damaged = Some((at, file.len().saturating_sub(at))).filter(|(_, bytes)| *bytes > 0)
            }
            (_, Ok(Met::Damage { at, bytes })) => damaged = Some((at, bytes)),
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
    Neighbour {
        tree,
        key: rest.iter().map(|byte| format!("{byte:02x}")).collect(),
        at_ms: tree.and_then(|tree| time_ms(tree, rest)),
    }
}
