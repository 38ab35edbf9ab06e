//! `POST /store/check` for `offerd store check`.

use super::erasing::unfinished;
use super::prelude::*;
use offerd_store::audit::{AuditGap, AuditLog, AuditVerdict};
use offerd_store::opt_outs::{self, SuppressionDoubt};
use offerd_store::{CheckReport, ReadError, Store};

/// Result of a check of every record of the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreReport {
    /// Whether everything is intact.
    pub sound: bool,
    /// Intact records, by tree.
    pub trees: Vec<TreeCount>,
    /// Leads that were accepted, are not erased and cannot be read.
    pub leads_broken: u64,
    /// Damaged places in the store's files, one sentence each.
    #[serde(default)]
    pub damaged: Vec<String>,
    /// Losses that a salvage or restore has recorded, and erasures that were cut off, one sentence each; they
    /// do not make the store unsound.
    #[serde(default)]
    pub known: Vec<String>,
    /// Indexes that lack records of their volume's files, one sentence each.
    #[serde(default)]
    pub unfound: Vec<String>,
    /// Records that cannot be read.
    pub broken: Vec<Broken>,
    /// Number of keys that belong to no tree.
    pub unknown_keys: u64,
    /// Damaged journal files, moved to the store's directory `damaged`.
    pub set_aside: Vec<String>,
}

/// Intact records of a tree.
#[derive(Debug, Serialize, Deserialize)]
pub struct TreeCount {
    /// Name of the tree.
    pub tree: String,
    /// Number of records.
    pub records: u64,
}

/// A record that cannot be read.
#[derive(Debug, Serialize, Deserialize)]
pub struct Broken {
    /// Its tree.
    pub tree: String,
    /// Its key, in hexadecimal.
    pub key: String,
    /// The fault.
    pub reason: String,
}

/// Runs on a blocking thread: it reads the whole store.
pub(super) async fn check(context: Context) -> Result<Reply> {
    let read = |app: &AdminState| StoreReport::of(&app.store);
    let report = context.app.reading("the store could not be checked", read).await?.map_err(|error| {
        error!(%error, "the store could not be checked");
        unavailable(format!("The store could not be checked: {error}"))
    })?;
    context.app.last_store_check.check_ended(Ok(&report));
    Reply::json(&report)
}

impl StoreReport {
    /// Reads every record, verifies the audit chain, and checks that the opt-outs are complete.
    pub(super) fn of(store: &Store) -> Result<Self, ReadError> {
        let mut report = Self::of_check(store.check()?);
        let AuditVerdict { broken, gaps, .. } = AuditLog::of(store.clone()).verify()?;
        let broken = broken.map(|broken| format!("the chain of the audit is broken: {broken}"));
        let gap = |gap: AuditGap| format!("the chain of the audit has a gap that a salvage recorded: {gap}");
        report.known.extend(gaps.into_iter().map(gap));
        report.known.extend(unfinished(store)?);
        let unmarked = unless_broken(opt_outs::damage(store))?.flatten();
        let doubt = match unless_broken(SuppressionDoubt::read(store))?.flatten() {
            Some(SuppressionDoubt::MayBeLost(told)) => Some(told),
            Some(SuppressionDoubt::OfBackup(told) | SuppressionDoubt::Restored(told)) => {
                report.known.push(told);
                None
            }
            None => None,
        };
        report
            .damaged
            .extend([broken, unmarked, doubt].into_iter().flatten().inspect(|_| report.sound = false));
        Ok(report)
    }

    fn of_check(report: CheckReport) -> Self {
        let trees = report.counts.iter();
        let broken = report.broken.iter().map(|record| Broken {
            tree: record.tree.name().to_owned(),
            key: record.key.clone(),
            reason: record.reason.to_string(),
        });
        Self {
            sound: report.is_sound(),
            trees: trees.map(|&(tree, records)| TreeCount { tree: tree.name().into(), records }).collect(),
            leads_broken: report.leads_broken,
            damaged: report.damages.iter().map(ToString::to_string).collect(),
            known: Vec::new(),
            unfound: report.unfound.iter().map(unfound).collect(),
            broken: broken.collect(),
            unknown_keys: report.unknown_keys,
            set_aside: report.set_aside,
        }
    }
}

fn unless_broken<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Err(ReadError::Broken(_)) => Ok(None),
        read => read.map(Some),
    }
}

fn unfound((volume, records): &(u32, u64)) -> String {
    let of = if *volume == 0 { "the base".to_owned() } else { format!("volume {volume}") };
    format!(
        "the index of {of} lacks {records} records that its files hold; the next opening of the store \
            rebuilds it"
    )
}
