//! Takes a backup, one piece at a time.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use chrono::Utc;

use super::super::engine::StoreBackend;
use super::super::manifest::FORMAT;
use super::super::records::StoredRecords;
use super::super::sealing::key::SealKey;
use super::super::sealing::master_key::MasterKey;
use super::super::write_observer::BackupError;
use super::block::{self, BLOCK_BYTES, BlockKind, MAGIC, VERSION};
use crate::{BrokenRecord, DiskError, RecordChange, Tree, VolumeNumber, changes, unframed};

/// A backup in progress: call [`step`](Self::step) until it returns `None`. Otherwise the file is incomplete.
pub struct Backup {
    records: Arc<StoredRecords>,
    master: MasterKey,
    key: SealKey,
    /// The volumes still to copy; the first is in progress.
    volumes: VecDeque<VolumeNumber>,
    /// Where to continue in that volume.
    from: Bound<Vec<u8>>,
    is_whole: bool,
    /// The number of unreadable places; known at the end.
    missed: u64,
    broken: BTreeMap<Tree, u32>,
    /// Blocks written so far.
    blocks_written: u64,
}

impl Backup {
    /// Begins a backup, which includes everything acknowledged so far.
    pub(crate) fn begin(records: Arc<StoredRecords>) -> Result<Self, BackupError> {
        records.still(|| records.observer.begin())?;
        let master = records.sealing().master_key();
        let (volumes, key) = (records.volumes().numbers().into(), SealKey::random());
        let (is_whole, missed, broken, blocks_written) = Default::default();
        Ok(Self {
            records,
            master,
            key,
            volumes,
            from: Bound::Unbounded,
            is_whole,
            missed,
            broken,
            blocks_written,
        })
    }

    /// The next bytes of the file; `None` when it is complete. An error is final.
    pub fn step(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        if self.is_whole {
            return Ok(None);
        }
        if self.blocks_written == 0 {
            return self.heading().map(Some);
        }
        if let Some(bytes) = self.next_records()? {
            return Ok(Some(bytes));
        }
        self.is_whole = true;
        self.last_blocks().map(Some)
    }

    /// The number of unreadable records and damaged places, once complete.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    fn heading(&mut self) -> Result<Vec<u8>, BackupError> {
        let bytes = self.records.volumes().bytes_on_disk().to_be_bytes();
        let (id, now) = (self.master.id(), Utc::now().timestamp_millis().to_be_bytes());
        let clear = [id.as_bytes(), &FORMAT.to_be_bytes(), &now, &bytes].concat();
        let sealed = self.master.key.seal(&clear, self.key.bytes());
        self.blocks_written += 1;
        let block = block::framed(BlockKind::Heading, 0, &[clear, sealed].concat());
        Ok([format!("{MAGIC}{VERSION}\n").as_bytes(), &block].concat())
    }

    /// A block of records, then the changes made so far; `None` after the last record. Each block starts a
    /// new walk: an iterator could return values older than the changes already written.
    fn next_records(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        let mut text = Vec::with_capacity(BLOCK_BYTES);
        let mut records = 0;
        let mut block_kind = None;
        while let Some(volume) = self.volumes.front().copied() {
            let usable = self.records.volumes().usable(volume);
            let walk = usable.map(|_| self.records.walk_volume(volume, &self.from)).transpose();
            for entry in walk.map_err(disk)?.into_iter().flatten() {
                let (key, value) = entry.map_err(disk)?;
                // A record of no tree goes as a change.
                let kind = Tree::split(&key).map_or(BlockKind::Changes, |(tree, _)| BlockKind::Records(tree));
                let is_of_block = *block_kind.get_or_insert(kind) == kind;
                if !is_of_block || text.len() >= BLOCK_BYTES {
                    // A later write past the end of a tree is among the changes.
                    if !is_of_block {
                        self.from = Bound::Included(key);
                    }
                    return self.copied_block(block_kind.unwrap_or(kind), records, &text).map(Some);
                }
                if let (BlockKind::Records(tree), Err(reason)) = (kind, unframed(&value)) {
                    self.records.report(&BrokenRecord::new(tree, &key[1..], reason));
                    *self.broken.entry(tree).or_default() += 1;
                }
                changes::push(&mut text, volume, &key, Some(&value));
                records += 1;
                self.from = Bound::Excluded(key);
            }
            self.volumes.pop_front();
            self.from = Bound::Unbounded;
            if let Some(kind) = block_kind {
                return self.copied_block(kind, records, &text).map(Some);
            }
        }
        Ok(None)
    }

    fn copied_block(&mut self, kind: BlockKind, records: u32, text: &[u8]) -> Result<Vec<u8>, BackupError> {
        let block = self.block(kind, records, text);
        Ok([block, self.changes()?].concat())
    }

    /// The last changes, and the keys of the same instant.
    fn last_blocks(&mut self) -> Result<Vec<u8>, BackupError> {
        let records = Arc::clone(&self.records);
        let (changes, volumes, keys) = records.still(|| {
            let changes = self.changes();
            records.observer.end();
            (changes, records.volumes().begins(), records.sealing().key_file_text(&self.master))
        });
        if let Some(failure) = self.records.latch().failure() {
            return Err(BackupError::Disk(failure.reason.clone()));
        }
        let mut bytes = changes?;
        bytes.extend(self.damage_blocks());
        let volumes = serde_json::to_vec(&volumes).expect("numbers are written in any case");
        bytes.extend(self.block(BlockKind::Volumes, 0, &volumes));
        bytes.extend(self.block(BlockKind::Keys, 0, &keys));
        let blocks = self.blocks_written.to_be_bytes();
        bytes.extend(self.block(BlockKind::End, 0, &blocks));
        Ok(bytes)
    }

    /// The blocks about unreadable records and damage; empty if there is none.
    fn damage_blocks(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (tree, records) in std::mem::take(&mut self.broken) {
            self.missed += u64::from(records);
            bytes.extend(self.block(BlockKind::Broken(tree), records, &[]));
        }
        let damages = self.records.volumes().damages.all();
        let told: Vec<String> =
            damages.iter().filter(|damage| damage.costs_records()).map(ToString::to_string).collect();
        self.missed += told.len() as u64;
        if !told.is_empty() {
            let text = serde_json::to_vec(&told).expect("sentences are written in any case");
            bytes.extend(self.block(BlockKind::Damages, told.len() as u32, &text));
        }
        bytes
    }

    fn changes(&mut self) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        let mut changes = self.records.observer.take()?.into_iter().peekable();
        while changes.peek().is_some() {
            let mut text = Vec::new();
            let mut records = 0;
            while text.len() < BLOCK_BYTES
                && let Some(RecordChange { volume, key, value }) = changes.next()
            {
                changes::push(&mut text, volume, &key, value.as_deref());
                records += 1;
            }
            bytes.extend(self.block(BlockKind::Changes, records, &text));
        }
        Ok(bytes)
    }

    fn block(&mut self, kind: BlockKind, records: u32, text: &[u8]) -> Vec<u8> {
        let block = block::sealed(&self.key, self.blocks_written, kind, records, text);
        self.blocks_written += 1;
        block
    }
}

fn disk(error: DiskError) -> BackupError {
    BackupError::Disk(error.to_string())
}

impl Drop for Backup {
    fn drop(&mut self) {
        if !self.is_whole {
            self.records.observer.end();
        }
    }
}
