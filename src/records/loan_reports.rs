//! Reports of approval probability, kept so that who asked can read them again.
//!
//! They are of nobody: there is no name in them, and no lead. Their number is bounded by company, the oldest making room for one
//! more, and one is not shown any more when it is older than they are kept; what is then left of it goes with the company's
//! next report, or with the store's retention.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Unavailable;
use crate::ids;
use crate::model::{LoanReport, Viewer};
use crate::store::{Commit, Store, Tree, codec};

/// Most reports that one commit removes, so that a limit that was lowered costs nobody much.
const REMOVED_AT_ONCE: usize = 32;

/// How many reports of a company are kept, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// How long.
    pub time: Duration,
    /// Of one company.
    pub per_company: usize,
}

/// The reports of all companies.
#[derive(Debug)]
pub struct LoanReports {
    store: Store,
    /// The reports of the companies that have asked for one since the start, the oldest first.
    made: Mutex<HashMap<Uuid, VecDeque<Uuid>>>,
}

/// A report as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Whether it was made by a test token.
    test: bool,
    report: LoanReport,
}

impl LoanReports {
    /// Those of a store.
    pub fn of(store: Store) -> Self {
        Self { store, made: Mutex::default() }
    }

    /// An id for a report that is made now.
    pub fn next_uuid(&self) -> Uuid {
        ids::timed_at(self.store.now_ms().cast_unsigned())
    }

    /// Writes a report of a company, and removes those that make room for it. Gives the commit, and how many of the removed could
    /// still be read.
    pub fn keep(&self, viewer: Viewer, report: &LoanReport, kept: Kept) -> (Commit, u64) {
        let Viewer { company, test } = viewer;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let reports = made.entry(company).or_insert_with(|| self.stored(company));
        reports.push_back(report.uuid);
        let record = Record { test, report: report.clone() };
        let mut commit =
            Commit::new().put_new(Tree::LoanReports, key(company, report.uuid), codec::encode_json(&record));
        let mut displaced = 0;
        for _ in 0..REMOVED_AT_ONCE {
            let is_full = reports.len() > kept.per_company;
            let is_old = |oldest: &Uuid| self.is_old(*oldest, kept.time);
            let Some(oldest) = reports.front().copied().filter(|oldest| is_full || is_old(oldest)) else {
                break;
            };
            reports.pop_front();
            displaced += u64::from(!is_old(&oldest));
            commit = commit.remove(Tree::LoanReports, key(company, oldest));
        }
        (commit, displaced)
    }

    /// A report that the viewer sees; `None` when there is none, or it is older than reports are kept.
    ///
    /// # Errors
    /// [`Unavailable`] when it cannot be read.
    pub fn find(
        &self,
        viewer: Viewer,
        uuid: Uuid,
        time: Duration,
    ) -> Result<Option<LoanReport>, Unavailable> {
        let found = self.store.get(Tree::LoanReports, key(viewer.company, uuid)).map_err(|_| Unavailable)?;
        let Some(bytes) = found.filter(|_| !self.is_old(uuid, time)) else { return Ok(None) };
        let record: Record = codec::decode_json(&bytes).map_err(|_| Unavailable)?;
        Ok(viewer.sees_kind(record.test).then_some(record.report))
    }

    /// Those of a company that are in the store, the oldest first.
    fn stored(&self, company: Uuid) -> VecDeque<Uuid> {
        let records = self.store.scan(Tree::LoanReports, company.as_bytes()).filter_map(Result::ok);
        records.filter_map(|(key, _)| Uuid::from_slice(key.get(16..)?).ok()).collect()
    }

    fn is_old(&self, uuid: Uuid, time: Duration) -> bool {
        let made_ms = u64::try_from(uuid.as_u128() >> 80).unwrap_or(0);
        let age_ms = self.store.now_ms().cast_unsigned().saturating_sub(made_ms);
        u128::from(age_ms) > time.as_millis()
    }
}

fn key(company: Uuid, report: Uuid) -> [u8; 32] {
    let mut key = [0; 32];
    key[..16].copy_from_slice(company.as_bytes());
    key[16..].copy_from_slice(report.as_bytes());
    key
}
