//! Reads and verifies a backup file as it arrives.

use super::super::manifest::FORMAT;
use super::super::sealing::key::{KEY_LEN, SEAL_LEN, SealKey};
use super::block::{self, BODY_BYTES_MAX, BlockHeader, BlockKind, HEAD_LEN, MAGIC, VERSION};
use super::fault::{BackupFault, BlockDamage};
use crate::{MasterKey, TREES, Tree};

/// Longest first line: the version has at most ten digits.
const FIRST_LINE_MAX: usize = MAGIC.len() + 11;

const ID: usize = 8;

/// Length of the heading before the sealed key.
const HEADING_CLEAR: usize = ID + 4 + 8 + 8;

const HEADING: usize = HEADING_CLEAR + KEY_LEN + SEAL_LEN;

/// A summary of the part of a backup read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupSummary {
    /// The id of the master key that seals it.
    pub sealed_with: String,
    /// The format of the store in it.
    pub format: u32,
    /// When it was begun, Unix milliseconds.
    pub begun_at: i64,
    /// The size of the store's files; the backup is hardly larger.
    pub store_bytes: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Records read, by tree, in the order of [`TREES`].
    pub records: Vec<(Tree, u64)>,
    /// Changes made while it was taken.
    pub changes: u64,
    /// Records that were unreadable when it was taken, by tree; empty if there were none.
    pub broken: Vec<(Tree, u64)>,
    /// Damaged places in the store's files at that time.
    pub damages: u64,
    /// The damage in sentences; empty without a master key, since the sentences are sealed.
    pub damaged: Vec<String>,
    /// Whether the seals were verified, or only the checksums.
    pub seals_checked: bool,
}

pub(super) struct BackupBlock {
    number: u64,
    at: u64,
    pub(super) kind: BlockKind,
    /// Its body, unsealed; `None` without a master key.
    pub(super) text: Option<Vec<u8>>,
}

impl BackupBlock {
    /// The fault of a block whose unsealed body is malformed.
    pub(super) fn malformed(&self) -> BackupFault {
        let holds = Some(self.kind.name());
        BackupFault::Damaged { block: self.number, at: self.at, holds, damage: BlockDamage::Content }
    }
}

/// Reads and verifies a backup as it arrives.
pub struct Scanner {
    master: Option<MasterKey>,
    key: Option<SealKey>,
    arrived: Vec<u8>,
    begun: bool,
    ended: bool,
    summary: BackupSummary,
}

impl Scanner {
    /// Reads a backup with the master key; without one, verifies checksums only.
    pub fn new(master: Option<MasterKey>) -> Self {
        let records = TREES.iter().map(|row| (row.tree, 0)).collect();
        let summary = BackupSummary { records, seals_checked: master.is_some(), ..BackupSummary::default() };
        Self { master, key: None, arrived: Vec::new(), begun: false, ended: false, summary }
    }

    /// The summary so far.
    pub fn summary(&self) -> &BackupSummary {
        &self.summary
    }

    /// Reads more of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), BackupFault> {
        self.push_to(bytes, |_| Ok::<_, BackupFault>(()))
    }

    /// Ends the file.
    pub fn finish(self) -> Result<BackupSummary, BackupFault> {
        match self.ended {
            true => Ok(self.summary),
            false if !self.begun => Err(BackupFault::Foreign),
            false => {
                let head = self.arrived.first_chunk().map(BlockHeader::read);
                Err(self.damaged(head.and_then(|head| head.kind), BlockDamage::CutShort))
            }
        }
    }

    pub(super) fn push_to<E: From<BackupFault>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(BackupBlock) -> Result<(), E>,
    ) -> Result<(), E> {
        self.arrived.extend_from_slice(bytes);
        if !self.begun && !self.begin()? {
            return Ok(());
        }
        while let Some(block) = self.next()? {
            take(block)?;
        }
        Ok(())
    }

    /// Reads the first line. Returns whether it has arrived.
    fn begin(&mut self) -> Result<bool, BackupFault> {
        let magic = MAGIC.as_bytes();
        let shared = magic.len().min(self.arrived.len());
        if self.arrived[..shared] != magic[..shared] {
            return Err(BackupFault::Foreign);
        }
        let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') else {
            return if self.arrived.len() < FIRST_LINE_MAX { Ok(false) } else { Err(BackupFault::Foreign) };
        };
        let version = self.arrived.get(magic.len()..end).and_then(|text| std::str::from_utf8(text).ok());
        match version.and_then(|version| version.parse::<u32>().ok()) {
            Some(VERSION) => self.begun = true,
            Some(found) => return Err(BackupFault::Version(found)),
            None => return Err(BackupFault::Foreign),
        }
        self.arrived.drain(..=end);
        self.summary.bytes = end as u64 + 1;
        Ok(true)
    }

    fn next(&mut self) -> Result<Option<BackupBlock>, BackupFault> {
        if self.ended && !self.arrived.is_empty() {
            return Err(self.damaged(None, BlockDamage::Trailing));
        }
        let Some(bytes) = self.arrived.first_chunk::<HEAD_LEN>() else { return Ok(None) };
        let head = BlockHeader::read(bytes);
        if head.length > BODY_BYTES_MAX {
            return Err(self.damaged(head.kind, BlockDamage::Length));
        }
        let Some(body) = self.arrived.get(HEAD_LEN..HEAD_LEN + head.length) else { return Ok(None) };
        if !head.describes(body) {
            return Err(self.damaged(head.kind, BlockDamage::Checksum));
        }
        let Some(kind) = head.kind else { return Err(self.damaged(None, BlockDamage::Content)) };
        if (kind == BlockKind::Heading) != (self.summary.blocks == 0) {
            return Err(self.damaged(head.kind, BlockDamage::Content));
        }
        let body = body.to_vec();
        let text = if kind == BlockKind::Heading {
            self.open(&body)?
        } else {
            self.unsealed(kind, head.records, &body)?
        };
        let block = BackupBlock { number: self.summary.blocks, at: self.summary.bytes, kind, text };
        if let (BlockKind::Damages, Some(text)) = (kind, &block.text) {
            self.summary.damaged = serde_json::from_slice(text).map_err(|_| block.malformed())?;
        }
        self.count(kind, head.records);
        self.arrived.drain(..HEAD_LEN + body.len());
        self.summary.bytes += (HEAD_LEN + body.len()) as u64;
        Ok(Some(block))
    }

    fn open(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, BackupFault> {
        let damaged = |scanner: &Self| scanner.damaged(Some(BlockKind::Heading), BlockDamage::Content);
        let body: &[u8; HEADING] = body.try_into().map_err(|_| damaged(self))?;
        let (clear, sealed) = body.split_at(HEADING_CLEAR);
        let (id, rest) = clear.split_at(ID);
        let (format, rest) = rest.split_first_chunk().ok_or_else(|| damaged(self))?;
        let (begun_at, rest) = rest.split_first_chunk().ok_or_else(|| damaged(self))?;
        let store_bytes = rest.first_chunk().ok_or_else(|| damaged(self))?;
        let sealed_with = std::str::from_utf8(id).map_err(|_| damaged(self))?.to_owned();
        let format = u32::from_be_bytes(*format);
        if format != FORMAT {
            return Err(BackupFault::Format(format));
        }
        if let Some(master) = &self.master {
            let Some(key) = master.open(clear, sealed) else {
                return Err(match master.id() == sealed_with {
                    true => self.damaged(Some(BlockKind::Heading), BlockDamage::Seal),
                    false => BackupFault::WrongMasterKey(master.instead_of(sealed_with)),
                });
            };
            self.key = Some(key);
        }
        self.summary.sealed_with = sealed_with;
        self.summary.format = format;
        self.summary.begun_at = i64::from_be_bytes(*begun_at);
        self.summary.store_bytes = u64::from_be_bytes(*store_bytes);
        Ok(None)
    }

    fn unsealed(&self, kind: BlockKind, records: u32, body: &[u8]) -> Result<Option<Vec<u8>>, BackupFault> {
        let Some(key) = &self.key else { return Ok(None) };
        let text = key.open(&block::context(self.summary.blocks, kind, records), body);
        let text = text.ok_or_else(|| self.damaged(Some(kind), BlockDamage::Seal))?;
        if kind == BlockKind::End && text != self.summary.blocks.to_be_bytes() {
            return Err(self.damaged(Some(kind), BlockDamage::Content));
        }
        Ok(Some(text))
    }

    fn count(&mut self, kind: BlockKind, records: u32) {
        self.summary.blocks += 1;
        match kind {
            BlockKind::Records(tree) => self.summary.records[tree as usize].1 += u64::from(records),
            BlockKind::Changes => self.summary.changes += u64::from(records),
            BlockKind::Broken(tree) => self.summary.broken.push((tree, u64::from(records))),
            BlockKind::Damages => self.summary.damages = u64::from(records),
            BlockKind::End => self.ended = true,
            BlockKind::Heading | BlockKind::Volumes | BlockKind::Keys => {}
        }
    }

    fn damaged(&self, kind: Option<BlockKind>, damage: BlockDamage) -> BackupFault {
        let BackupSummary { blocks, bytes, .. } = self.summary;
        BackupFault::Damaged { block: blocks, at: bytes, holds: kind.map(BlockKind::name), damage }
    }
}
