//! Reports of approval probability, kept to be read again. They contain no name and no lead. A company has a
//! maximum number, of which a new report displaces the oldest, and each report a retention.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::writing::key_under;
use super::{Found, RecordUnavailable};
use offerd_base::config::ApprovalSettings;
use offerd_base::ids;
use offerd_model::{LoanReport, Viewer};
use offerd_store::{Commit, Store, Tree, codec};

/// Most reports that one commit removes, so that lowering the limit makes no single commit expensive.
const REMOVED_AT_ONCE: usize = 32;

/// The reports of all companies.
#[derive(Debug)]
pub struct LoanReports {
    store: Store,
    /// The reports since the start by company, oldest first; `None` where other processes share the store.
    made: Option<Mutex<HashMap<Uuid, VecDeque<Uuid>>>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LoanReportRecord {
    test: bool,
    report: LoanReport,
}

impl LoanReports {
    /// The reports of a store.
    pub fn of(store: Store) -> Self {
        let made = (!store.is_shared()).then(Mutex::default);
        Self { store, made }
    }

    /// An id for a new report.
    pub fn next_uuid(&self) -> Uuid {
        ids::timed_at(self.store.now_ms().cast_unsigned())
    }

    /// Writes a company's report and removes those that it displaces; returns how many of them were readable.
    pub fn keep(&self, viewer: Viewer, report: &LoanReport, kept: ApprovalSettings) -> (Commit, u64) {
        let Viewer { company, test } = viewer;
        let record = LoanReportRecord { test, report: report.clone() };
        let key = key_under(company, report.uuid);
        let mut commit = Commit::new().put(Tree::LoanReports, key, codec::encode_json(&record));
        let mut displaced = 0;
        for oldest in self.in_the_way(company, report.uuid, kept) {
            displaced += u64::from(!self.is_old(oldest, kept.reports_kept));
            commit = commit.remove(Tree::LoanReports, key_under(company, oldest));
        }
        (commit, displaced)
    }

    fn in_the_way(&self, company: Uuid, new: Uuid, kept: ApprovalSettings) -> Vec<Uuid> {
        let take_out = |reports: &mut VecDeque<Uuid>| {
            reports.push_back(new);
            let is_over = |reports: &VecDeque<Uuid>| {
                let is_full = reports.len() > kept.reports_per_company;
                reports.front().is_some_and(|oldest| is_full || self.is_old(*oldest, kept.reports_kept))
            };
            let mut out = Vec::new();
            while out.len() < REMOVED_AT_ONCE && is_over(reports) {
                out.extend(reports.pop_front());
            }
            out
        };
        let Some(made) = &self.made else {
            return take_out(
                &mut self.stored(company, kept.reports_per_company.saturating_add(REMOVED_AT_ONCE)),
            );
        };
        let mut made = made.lock();
        take_out(made.entry(company).or_insert_with(|| self.stored(company, usize::MAX)))
    }

    /// A report that the viewer may see; `None` when it does not exist or is past its retention.
    pub fn find(&self, viewer: Viewer, uuid: Uuid, time: Duration) -> Found<Option<LoanReport>> {
        let found =
            self.store.read_json::<LoanReportRecord>(Tree::LoanReports, key_under(viewer.company, uuid));
        let found = found.map_err(|_| RecordUnavailable)?.filter(|_| !self.is_old(uuid, time));
        let Some(record) = found else { return Ok(None) };
        Ok(viewer.sees_kind(record.test).then_some(record.report))
    }

    fn stored(&self, company: Uuid, most: usize) -> VecDeque<Uuid> {
        let records = self.store.scan(Tree::LoanReports, company.as_bytes()).filter_map(Result::ok);
        records.filter_map(|(key, _)| Uuid::from_slice(key.get(16..)?).ok()).take(most).collect()
    }

    fn is_old(&self, uuid: Uuid, time: Duration) -> bool {
        let made_ms = u64::try_from(uuid.as_u128() >> 80).unwrap_or(0);
        u128::from(self.store.now_ms().cast_unsigned().saturating_sub(made_ms)) > time.as_millis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::{ProvidedCreditRating, Timestamp};

    #[tokio::test]
    async fn of_what_several_processes_make_no_more_is_kept_than_may_be() {
        let Some((stores, _directory)) = offerd_store::testing::two_nodes() else { return };
        let reports = stores.each_ref().map(|store| LoanReports::of(store.clone()));
        let viewer = Viewer::of_all(Uuid::from_u128(7));
        let kept = ApprovalSettings { reports_kept: Duration::from_secs(3600), reports_per_company: 3 };
        let mut made = Vec::new();
        for nth in 0..10_u64 {
            let uuid = ids::timed_at(stores[0].now_ms().cast_unsigned() + nth);
            let report = LoanReport {
                uuid,
                annual_income: 50_000,
                credit_rating: ProvidedCreditRating::Good,
                network_probabilities: Vec::new(),
                financial_insitutions: Vec::new(),
                created_at: Timestamp::default(),
                total_debt: None,
                count_of_derogatories: None,
                state: None,
                loan_purpose: None,
                loan_amount: None,
            };
            let (commit, displaced) = reports[usize::from(nth % 3 == 0)].keep(viewer, &report, kept);
            stores[0].commit(commit).await.unwrap();
            assert_eq!(displaced, u64::from(nth >= 3));
            made.push(uuid);
        }
        assert_eq!(reports[0].stored(viewer.company, usize::MAX), &made[7..]);
    }
}
