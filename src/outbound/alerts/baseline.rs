//! The usual number of leads in each hour of the week, and the usual share of leads with offers.
//!
//! Both are measured by completed live rate tables. The usual number for an hour is the lower median of the
//! same hour in the last four weeks, so a single week with a campaign or an outage has no effect. On a shared
//! store each process writes its own counts and evaluates the sum of all; the share of leads with offers is
//! judged by its own counts since its start.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::gauge;
use serde::{Deserialize, Serialize};

use super::ledger::{AlertLedger, HOUR};
use offerd_base::partner_health::{AskHistory, EndingKind, Health};
use offerd_base::telemetry::figures::MetricsSnapshot;
use offerd_base::telemetry::metrics::{LEADS_MISSING, OFFERS_FALL, TABLES_SETTLED};
use offerd_store::{Store, Tree};

const HOUR_MS: i64 = 3_600_000;

const WEEK: i64 = 7 * 24;

/// The weeks that are stored and evaluated.
const WEEKS: i64 = 4;

/// At a start, the hours whose offers are restored into the history, and the most tables restored.
const RECALLED: i64 = 72;
const RECALLED_TABLES: f64 = 2000.0;

/// The interval of writing the current hour, in ms.
const WRITE_EVERY_MS: i64 = 60_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BaselineHour {
    tables: u64,
    with_offers: u64,
    /// When the last one completed, in Unix milliseconds.
    last_ms: i64,
}

#[derive(Debug, Default)]
pub(super) struct AlertBaseline {
    hours: BTreeMap<i64, BaselineHour>,
    own: BTreeMap<i64, BaselineHour>,
    begun: i64,
    /// The last readings of this process's counters: all tables, and those with offers.
    counted: (u64, u64),
    last_ms: i64,
    offers: AskHistory,
    written_ms: i64,
}

impl AlertBaseline {
    pub(super) fn load(store: &Store, now_ms: i64) -> Self {
        let (mut hours, mut own) = (BTreeMap::<i64, BaselineHour>::new(), BTreeMap::new());
        for (number, key, hour) in kept_from(store, 0) {
            hours.entry(number).or_default().add(hour);
            if key == own_key(store, number) && number >= now_ms / HOUR_MS - 1 {
                own.insert(number, hour);
            }
        }
        let last_ms = hours.values().map(|hour: &BaselineHour| hour.last_ms).max().unwrap_or(now_ms);
        let begun = hours.keys().next().copied().unwrap_or(now_ms / HOUR_MS);
        let mut baseline = Self { hours, own, begun, last_ms, ..Self::default() };
        baseline.recall(now_ms / HOUR_MS);
        baseline
    }

    /// Restores the number of tables with offers from before this start into the history.
    fn recall(&mut self, this_hour: i64) {
        let lately = || self.hours.range(this_hour - RECALLED..).map(|(_, hour)| *hour);
        let all: u64 = lately().map(|hour| hour.tables).sum();
        let part = (RECALLED_TABLES / all.max(1) as f64).min(1.0);
        let (mut with, mut without) = (0.0, 0.0);
        for hour in lately() {
            with += hour.with_offers as f64 * part;
            without += (hour.tables - hour.with_offers.min(hour.tables)) as f64 * part;
        }
        (0..with as u64).for_each(|_| self.offers.recall(EndingKind::Offered, Duration::ZERO));
        (0..without as u64).for_each(|_| self.offers.recall(EndingKind::Declined, Duration::ZERO));
    }

    pub(super) fn look(&mut self, store: &Store, figures: &MetricsSnapshot, ledger: &mut AlertLedger) {
        let now_ms = store.now_ms();
        let live = |offers| figures.sum(TABLES_SETTLED, &[("test", "no"), ("offers", offers)]) as u64;
        let (with, without) = (live("yes"), live("no"));
        let all = with + without;
        let (new, new_with) = (all - self.counted.0.min(all), with - self.counted.1.min(with));
        self.counted = (all, with);
        self.note(new, new_with, now_ms);
        if store.is_shared() {
            self.take_in(store, now_ms);
        }
        self.write(store, now_ms, ledger);
        gauge!(LEADS_MISSING).set(self.missing(now_ms));
        let at = Duration::from_millis(now_ms.unsigned_abs());
        match self.offers.judgement(at).health {
            Health::Unknown => {}
            health => gauge!(OFFERS_FALL).set(f64::from(u8::from(health == Health::DecliningMore))),
        }
    }

    fn note(&mut self, new: u64, new_with: u64, now_ms: i64) {
        let counted =
            BaselineHour { tables: new, with_offers: new_with, last_ms: if new > 0 { now_ms } else { 0 } };
        for hours in [&mut self.hours, &mut self.own] {
            hours.entry(now_ms / HOUR_MS).or_default().add(counted);
        }
        self.last_ms = self.last_ms.max(counted.last_ms);
        let at = Duration::from_millis(now_ms.unsigned_abs());
        for nth in 0..new {
            let ending = if nth < new_with { EndingKind::Offered } else { EndingKind::Declined };
            self.offers.note(at, ending, Duration::ZERO);
        }
    }

    fn take_in(&mut self, store: &Store, now_ms: i64) {
        let first = now_ms / HOUR_MS - 1;
        let mut lately: BTreeMap<_, _> = self.own.range(first..).map(|(at, hour)| (*at, *hour)).collect();
        for (number, key, hour) in kept_from(store, first) {
            if key != own_key(store, number) {
                lately.entry(number).or_default().add(hour);
            }
        }
        self.last_ms = lately.values().map(|hour| hour.last_ms).fold(self.last_ms, i64::max);
        self.hours.extend(lately);
    }

    fn write(&mut self, store: &Store, now_ms: i64, ledger: &mut AlertLedger) {
        if now_ms - self.written_ms < WRITE_EVERY_MS {
            return;
        }
        self.written_ms = now_ms;
        let this = now_ms / HOUR_MS;
        self.own = self.own.split_off(&(this - 1));
        for (number, hour) in &self.own {
            ledger.write(own_key(store, *number), hour);
        }
        // One hour more, since the oldest is the same hour of the week as this one.
        let first = this - WEEK * WEEKS;
        self.hours = self.hours.split_off(&first);
        // The keys are ordered by hour, then by process.
        let old = kept_from(store, 0).take_while(|(number, ..)| *number < first);
        old.for_each(|(_, key, _)| ledger.remove(key));
    }

    fn missing(&self, now_ms: i64) -> f64 {
        let first = (self.last_ms / HOUR_MS).max(now_ms / HOUR_MS - WEEK * WEEKS);
        let part = |hour: i64| {
            let begins = self.last_ms.max(hour * HOUR_MS);
            let ends = now_ms.min((hour + 1) * HOUR_MS);
            (ends - begins).max(0) as f64 / HOUR_MS as f64
        };
        (first..=now_ms / HOUR_MS).map(|hour| self.usual_in(hour) * part(hour)).sum()
    }

    /// The usual number of leads in an hour; 0 if it was never seen.
    fn usual_in(&self, hour: i64) -> f64 {
        let weeks = (1..=WEEKS).map(|weeks| hour - weeks * WEEK).filter(|before| *before >= self.begun);
        let mut counts: Vec<u64> = weeks.map(|at| self.hours.get(&at).map_or(0, |of| of.tables)).collect();
        counts.sort_unstable();
        counts.get(counts.len().saturating_sub(1) / 2).map_or(0.0, |count| *count as f64)
    }
}

impl BaselineHour {
    fn add(&mut self, other: Self) {
        self.tables += other.tables;
        self.with_offers += other.with_offers;
        self.last_ms = self.last_ms.max(other.last_ms);
    }
}

fn kept_from(store: &Store, hour: i64) -> impl Iterator<Item = (i64, Vec<u8>, BaselineHour)> + use<> {
    let kept = store.scan_from(Tree::Alerts, key(hour), [HOUR]).filter_map(Result::ok);
    let store = store.clone();
    kept.filter_map(move |(key, bytes)| {
        let number = u32::from_be_bytes(*key.get(1..)?.first_chunk()?);
        let hour = store.decode(Tree::Alerts, &key, &bytes).ok()?;
        Some((i64::from(number), key, hour))
    })
}

fn key(hour: i64) -> Vec<u8> {
    [&[HOUR][..], &u32::try_from(hour).unwrap_or(0).to_be_bytes()].concat()
}

fn own_key(store: &Store, hour: i64) -> Vec<u8> {
    store.own_key(&key(hour))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Monday at midnight.
    const MONDAY: i64 = 1_767_571_200_000 / HOUR_MS;

    /// A shop that was open for this many weeks, in these hours of each day, with this many leads per hour.
    fn shop(weeks: i64, open: std::ops::Range<i64>, leads: u64) -> AlertBaseline {
        let begun = MONDAY - weeks * WEEK;
        let hours = (begun..MONDAY).filter(|hour| open.contains(&(hour % 24)));
        let hours = hours
            .map(|hour| (hour, BaselineHour { tables: leads, with_offers: leads, last_ms: hour * HOUR_MS }));
        AlertBaseline {
            hours: hours.collect(),
            begun,
            last_ms: (MONDAY - 24 + open.end) * HOUR_MS,
            ..AlertBaseline::default()
        }
    }

    #[test]
    fn what_each_process_counts_counts_for_all_of_them() {
        use futures_util::FutureExt;

        let Some(nodes) = offerd_store::testing::TestNodes::new() else { return };
        let stores = [nodes.first(), nodes.beside("second")];
        let mut counts = stores.each_ref().map(|store| AlertBaseline::load(store, store.now_ms()));
        let count = |nth: usize, baseline: &mut AlertBaseline, tables: u64| {
            let told = format!("offerd_rate_tables_settled_total{{test=\"no\",offers=\"yes\"}} {tables}\n");
            let mut ledger = AlertLedger::default();
            baseline.look(&stores[nth], &MetricsSnapshot::parse(&told), &mut ledger);
            if let Some((commit, _)) = ledger.unwritten() {
                stores[nth].commit(commit).now_or_never().unwrap().unwrap();
            }
            baseline.hours.values().map(|hour| hour.tables).sum::<u64>()
        };
        let [one, other] = &mut counts;
        assert_eq!(count(0, one, 5), 5);
        assert_eq!(count(1, other, 3), 8);
        assert_eq!(count(0, one, 5), 8);
        assert_eq!(count(1, other, 4), 9, "each of its own is counted once");
        let after = AlertBaseline::load(&stores[1], stores[1].now_ms());
        assert_eq!(after.hours.values().map(|hour| hour.tables).sum::<u64>(), 8, "what was written");
    }

    #[test]
    fn nobody_is_missed_at_night() {
        let baseline = shop(4, 8..20, 50);
        assert_eq!(baseline.missing((MONDAY + 8) * HOUR_MS), 0.0, "twelve hours without anybody");
        assert_eq!(baseline.missing((MONDAY + 9) * HOUR_MS), 50.0);
        assert_eq!(baseline.missing((MONDAY + 8) * HOUR_MS + HOUR_MS / 2), 25.0);
    }

    #[test]
    fn in_the_first_week_nothing_is_usual() {
        let mut baseline = shop(1, 0..24, 100);
        baseline.begun = MONDAY - WEEK + 1;
        assert_eq!(baseline.usual_in(MONDAY), 0.0);
        assert_eq!(baseline.usual_in(MONDAY + 1), 100.0);
    }

    #[test]
    fn one_week_unlike_the_others_makes_no_rule() {
        let mut baseline = shop(4, 0..24, 10);
        for (hours, hour) in baseline.hours.range_mut(MONDAY - WEEK..) {
            hour.tables = if hours % 2 == 0 { 0 } else { 5000 };
        }
        assert_eq!((baseline.usual_in(MONDAY), baseline.usual_in(MONDAY + 1)), (10.0, 10.0));
    }
}
