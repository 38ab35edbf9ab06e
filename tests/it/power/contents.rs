//! What a file holds on a disk: what was synced for sure, and what was not yet in any part.

use std::ops::Range;

use bytes::Bytes;
use fastrand::Rng;

use super::loss::Loss;

/// What a file system writes at once.
const PAGE: usize = 4096;

/// What a disk writes at once.
const SECTOR: usize = 512;

/// A file's contents with its changes since it was last synced.
#[derive(Debug, Default)]
pub struct Contents {
    durable: Vec<u8>,
    pending: Vec<Pending>,
}

/// A change that no sync has followed.
#[derive(Debug)]
struct Pending {
    /// Its place in the recording.
    at: usize,
    change: Change,
}

#[derive(Debug, Clone)]
pub enum Change {
    Write {
        offset: usize,
        data: Bytes,
    },
    Resize {
        length: usize,
    },
    /// At least as long as this.
    Grow {
        length: usize,
    },
    Zero {
        range: Range<usize>,
    },
}

impl Contents {
    /// Of a file that was synced.
    pub fn durable(durable: Vec<u8>) -> Self {
        Self { durable, pending: Vec::new() }
    }

    pub fn change(&mut self, at: usize, change: Change) {
        self.pending.push(Pending { at, change });
    }

    /// What stood before this place of the recording is durable.
    pub fn synced(&mut self, before: usize) {
        let durable = self.pending.partition_point(|pending| pending.at < before);
        for pending in self.pending.drain(..durable) {
            pending.change.apply(&mut self.durable);
        }
    }

    /// What the program sees.
    pub fn whole(&self) -> Vec<u8> {
        let mut whole = self.durable.clone();
        self.pending.iter().for_each(|pending| pending.change.apply(&mut whole));
        whole
    }

    /// What may be found after a power cut. Of each page, or sector, what some of the changes have left that concern it, in
    /// their order; the length of some moment, whether or not what is in it was written.
    pub fn cut(&self, loss: Loss, rng: &mut Rng) -> Vec<u8> {
        let count = self.pending.len();
        let unit = if loss.is_torn() { SECTOR } else { PAGE };
        let resized = loss.version(count, rng);
        let lengths = self.lengths();
        let length = lengths[resized];
        let mut found = self.durable.clone();
        found.resize(length, 0);
        for (start, touching) in self.touched(unit) {
            if start >= length {
                continue;
            }
            let chosen = loss.version(touching.len(), rng);
            let kept = within_length(start, &touching, chosen, resized, &lengths);
            let mut page = self.durable.get(start..).unwrap_or_default().to_vec();
            page.truncate(unit);
            page.resize(unit, 0);
            for nth in &touching[..kept] {
                self.pending[*nth].change.apply_within(&mut page, start);
            }
            let end = (start + unit).min(length);
            found[start..end].copy_from_slice(&page[..end - start]);
        }
        found
    }

    /// The file's length after none, one, and so on, of the pending changes.
    fn lengths(&self) -> Vec<usize> {
        let mut length = self.durable.len();
        let after = self.pending.iter().map(|pending| {
            length = pending.change.length_after(length);
            length
        });
        let after: Vec<usize> = after.collect();
        [self.durable.len()].into_iter().chain(after).collect()
    }

    /// The units that pending changes concern, each with those in their order.
    fn touched(&self, unit: usize) -> Vec<(usize, Vec<usize>)> {
        let lengths = self.lengths();
        let longest = lengths.iter().copied().max().unwrap_or_default();
        let mut touched = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for (nth, pending) in self.pending.iter().enumerate() {
            let range = match &pending.change {
                Change::Write { offset, data } => *offset..offset + data.len(),
                Change::Zero { range } => range.clone(),
                Change::Resize { length } => *length..longest,
                Change::Grow { .. } => continue,
            };
            for start in (range.start / unit * unit..range.end.min(longest)).step_by(unit) {
                touched.entry(start).or_default().push(nth);
            }
        }
        touched.into_iter().collect()
    }
}

/// How many of the changes of a unit may have been kept when this many were chosen and the length is that after `resized`
/// changes: a file that was cut off has given its blocks away, so what stood in them before is not found in it again, and
/// what was written after it would have needed blocks that it has not.
fn within_length(
    start: usize,
    touching: &[usize],
    chosen: usize,
    resized: usize,
    lengths: &[usize],
) -> usize {
    let is_cut_off = |nth: usize| lengths[nth + 1] <= start && lengths[nth] > start;
    let done =
        touching.iter().rposition(|nth| *nth < resized && is_cut_off(*nth)).map_or(0, |place| place + 1);
    let not_done =
        touching.iter().position(|nth| *nth >= resized && is_cut_off(*nth)).unwrap_or(touching.len());
    chosen.clamp(done, not_done.max(done))
}

impl Change {
    fn length_after(&self, length: usize) -> usize {
        match self {
            Self::Write { offset, data } => length.max(offset + data.len()),
            Self::Resize { length } => *length,
            Self::Grow { length: least } => length.max(*least),
            Self::Zero { .. } => length,
        }
    }

    fn apply(&self, contents: &mut Vec<u8>) {
        contents.resize(self.length_after(contents.len()), 0);
        self.apply_within(contents, 0);
    }

    /// Changes the part of a file that begins at `start`.
    fn apply_within(&self, part: &mut [u8], start: usize) {
        let within = |range: Range<usize>| {
            let from = range.start.clamp(start, start + part.len());
            from..range.end.clamp(from, start + part.len())
        };
        match self {
            Self::Write { offset, data } => {
                let range = within(*offset..offset + data.len());
                if !range.is_empty() {
                    let written = &data[range.start - offset..range.end - offset];
                    part[range.start - start..range.end - start].copy_from_slice(written);
                }
            }
            Self::Zero { range } => {
                let range = within(range.clone());
                part[range.start - start..range.end - start].fill(0);
            }
            Self::Resize { length } => {
                let range = within(*length..usize::MAX);
                part[range.start - start..range.end - start].fill(0);
            }
            Self::Grow { .. } => {}
        }
    }
}
