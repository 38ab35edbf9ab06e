//! Failures of partners in the log: the first at once, then at most one line per minute and partner, with
//! counts by outcome word and the last cause. No line quotes what was sent or answered.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{debug, warn};
use uuid::Uuid;

use crate::rate_table::outcome::Cause;
use offerd_model::ProductType;
use offerd_partners::RecordedSeat;

const EVERY: Duration = Duration::from_secs(60);

const LOOKED_AFTER: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq)]
struct FailureLine {
    partner: String,
    failed: u64,
    outcomes: String,
    product_type: ProductType,
    rate_table: Uuid,
    cause: Option<Cause>,
}

/// Recent failures by partner.
#[derive(Debug, Default)]
pub struct FailureLog(Mutex<BTreeMap<String, RecentFailures>>);

#[derive(Debug, Default)]
struct RecentFailures {
    logged_at: Option<Instant>,
    counts: BTreeMap<&'static str, u64>,
    last: Option<Last>,
}

type Last = (ProductType, Uuid, Option<Cause>);

impl FailureLog {
    /// Records a failed ask, and logs it unless the partner had a line within the last minute.
    pub fn note(&self, seat: &RecordedSeat, rate_table: Uuid, word: &'static str, cause: Option<&Cause>) {
        let RecordedSeat { key: partner, product_type, .. } = seat;
        debug!(
            partner,
            product_type = product_type.as_str(),
            %rate_table,
            outcome = word,
            cause = cause.map(tracing::field::display),
            "an ask of a partner failed"
        );
        let last = (*product_type, rate_table, cause.cloned());
        self.count(partner, word, last).into_iter().for_each(FailureLine::tell);
    }

    /// Logs due lines for ever.
    pub async fn run(&self) {
        let mut ticks = interval(LOOKED_AFTER);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.lines(RecentFailures::is_due).into_iter().for_each(FailureLine::tell);
        }
    }

    /// Logs everything pending.
    pub fn flush(&self) {
        self.lines(|_| true).into_iter().for_each(FailureLine::tell);
    }

    fn count(&self, partner: &str, word: &'static str, last: Last) -> Option<FailureLine> {
        let mut partners = self.0.lock();
        if !partners.contains_key(partner) {
            partners.insert(partner.to_owned(), RecentFailures::default());
        }
        let lately = partners.get_mut(partner)?;
        *lately.counts.entry(word).or_default() += 1;
        lately.last = Some(last);
        lately.is_due().then(|| lately.line(partner)).flatten()
    }

    fn lines(&self, wanted: impl Fn(&RecentFailures) -> bool) -> Vec<FailureLine> {
        let mut partners = self.0.lock();
        let wanted = partners.iter_mut().filter(|(_, lately)| wanted(lately));
        wanted.filter_map(|(partner, lately)| lately.line(partner)).collect()
    }
}

impl RecentFailures {
    fn is_due(&self) -> bool {
        self.logged_at.is_none_or(|logged_at| logged_at.elapsed() >= EVERY)
    }

    fn line(&mut self, partner: &str) -> Option<FailureLine> {
        let (product_type, rate_table, cause) = self.last.take()?;
        let counts = std::mem::take(&mut self.counts);
        let outcomes = counts.iter().map(|(word, count)| format!("{word}={count}"));
        let outcomes = outcomes.collect::<Vec<_>>().join(" ");
        self.logged_at = Some(Instant::now());
        let (partner, failed) = (partner.to_owned(), counts.values().sum());
        Some(FailureLine { partner, failed, outcomes, product_type, rate_table, cause })
    }
}

impl FailureLine {
    fn tell(self) {
        warn!(
            partner = self.partner,
            failed = self.failed,
            outcomes = self.outcomes,
            product_type = self.product_type.as_str(),
            rate_table = %self.rate_table,
            cause = self.cause.map(tracing::field::display),
            "asks of this partner failed; the table and cause are of the last one"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(log: &FailureLog, partner: &str, word: &'static str, cause: &str) -> Option<FailureLine> {
        log.count(partner, word, (ProductType::Loan, Uuid::nil(), Some(Cause::new(cause))))
    }

    fn line(partner: &str, failed: u64, outcomes: &str, cause: &str) -> FailureLine {
        let (product_type, cause) = (ProductType::Loan, Some(Cause::new(cause)));
        let (partner, outcomes) = (partner.to_owned(), outcomes.to_owned());
        FailureLine { partner, failed, outcomes, product_type, rate_table: Uuid::nil(), cause }
    }

    #[tokio::test(start_paused = true)]
    async fn a_partner_has_a_line_a_minute_with_counts_and_the_last_cause() {
        let log = FailureLog::default();
        let first = fail(&log, "bank", "unreachable", "refused");
        assert_eq!(first, Some(line("bank", 1, "unreachable=1", "refused")), "the first is told at once");
        assert!((0..500).all(|_| fail(&log, "bank", "timed_out", "no answer").is_none()));
        assert_eq!(fail(&log, "bank", "unreachable", "refused again"), None);
        assert!(fail(&log, "lender", "bad_answer", "no JSON").is_some(), "each partner has its own");
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(log.lines(RecentFailures::is_due), []);
        tokio::time::advance(Duration::from_secs(1)).await;
        let minute = line("bank", 501, "timed_out=500 unreachable=1", "refused again");
        assert_eq!(log.lines(RecentFailures::is_due), [minute], "the lender has failed no more");
        assert_eq!(fail(&log, "bank", "timed_out", "no answer"), None);
        tokio::time::advance(Duration::from_secs(61)).await;
        let next = fail(&log, "bank", "timed_out", "late again");
        assert_eq!(next, Some(line("bank", 2, "timed_out=2", "late again")), "without waiting for who looks");
        assert_eq!(fail(&log, "bank", "timed_out", "no answer"), None);
        assert_eq!(
            log.lines(|_| true),
            [line("bank", 1, "timed_out=1", "no answer")],
            "what is left at the end"
        );
    }
}
