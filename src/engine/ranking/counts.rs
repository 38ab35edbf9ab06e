//! The counts in memory: for each day, the clicks on each offer and how many converted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use metrics::{counter, gauge};
use tracing::warn;

use super::day::{Day, OfferRatingKey};
use super::key::{self, ClickOwner, DAY_MS, day_of};
use offerd_base::config::RankingSettings;
use offerd_base::telemetry::metrics::{RANKING_COHORTS, RANKING_COHORTS_DROPPED};
use offerd_partners::ranking::{Conversions, ObservedClicks};
use offerd_store::{CommitError, Store, Tree};

/// The counts of a store.
#[derive(Debug, Default)]
pub struct ClickCounts {
    days: BTreeMap<u32, HashMap<ClickOwner, Vec<Cohort>>>,
    /// Numbers of (partner, offer, rating) keys, so that each text is held once.
    names: BTreeMap<OfferRatingKey, u32>,
    cohorts: usize,
    /// The first day that is kept; earlier ones were evicted.
    first: u32,
    /// Evicted days and their owners: the store keeps them until they expire.
    dropped: BTreeMap<u32, BTreeSet<ClickOwner>>,
    changed: BTreeSet<ClickOwner>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cohort {
    at: u32,
    clicks: u32,
    conversions: u32,
}

impl ClickCounts {
    /// Loads the counts from a store.
    pub fn load(store: &Store, most: usize) -> Result<Self, CommitError> {
        let mut counts = Self::default();
        for record in store.scan(Tree::Ranking, []) {
            let (key, bytes) = record.map_err(super::unreadable)?;
            let Some((whose, day)) = key::read(&key) else { continue };
            let now = store.decode(Tree::Ranking, &key, &bytes).map_err(super::unreadable)?;
            counts.put(whose, day, &now, most);
        }
        Ok(counts)
    }

    /// Sets a day's counts. Evicts the oldest days beyond `most` cohorts.
    pub fn put(&mut self, whose: ClickOwner, day: u32, now: &Day, most: usize) {
        if day < self.first {
            self.dropped.entry(day).or_default().insert(whose);
            return;
        }
        let cohorts = now.cells.iter().map(|cell| {
            let (clicks, conversions) = (cell.clicked.len() as u32, cell.converted.len() as u32);
            Cohort { at: self.number(&cell.at), clicks, conversions }
        });
        let cohorts: Vec<Cohort> = cohorts.collect();
        self.cohorts += cohorts.len();
        let before = self.days.entry(day).or_default().insert(whose, cohorts);
        self.cohorts -= before.map_or(0, |before| before.len());
        self.changed.insert(whose);
        while self.cohorts > most && self.days.len() > 1 {
            self.drop_first();
        }
        gauge!(RANKING_COHORTS).set(self.cohorts as f64);
    }

    fn drop_first(&mut self) {
        let Some((day, of_day)) = self.days.pop_first() else { return };
        let dropped: usize = of_day.values().map(Vec::len).sum();
        self.cohorts -= dropped;
        self.first = day + 1;
        self.changed.extend(of_day.keys());
        self.dropped.entry(day).or_default().extend(of_day.into_keys());
        counter!(RANKING_COHORTS_DROPPED).increment(dropped as u64);
        warn!(
            dropped,
            "the clicks of the oldest day no longer count, since the counts have reached `ranking.cohorts`"
        );
    }

    /// Drops the days before `day`; returns the keys of their records.
    pub fn forget_before(&mut self, day: u32) -> Vec<Vec<u8>> {
        let kept = self.days.split_off(&day);
        let old = std::mem::replace(&mut self.days, kept);
        self.cohorts -= old.values().flat_map(HashMap::values).map(Vec::len).sum::<usize>();
        let dropped = self.dropped.split_off(&day);
        let gone = std::mem::replace(&mut self.dropped, dropped);
        let old = old.into_iter().map(|(day, of_day)| (day, of_day.into_keys().collect())).chain(gone);
        old.flat_map(|(day, whose)| whose.into_iter().map(move |whose| key::day(whose, day))).collect()
    }

    /// The owners with counts.
    pub fn whose(&self) -> BTreeSet<ClickOwner> {
        self.days.values().flat_map(HashMap::keys).copied().collect()
    }

    /// The owners whose counts changed since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<ClickOwner> {
        std::mem::take(&mut self.changed)
    }

    /// The sum of an owner's counts as of a time in Unix milliseconds.
    pub fn sum(&self, whose: ClickOwner, rules: &RankingSettings, now: i64) -> Conversions {
        let mut sums: BTreeMap<u32, ObservedClicks> = BTreeMap::new();
        let today = day_of(now);
        for (day, of_day) in self.days.range(..=today).filter(|(day, _)| counts(**day, today, rules)) {
            let weight = weight(*day, today, rules);
            for cohort in of_day.get(&whose).into_iter().flatten() {
                let sum = sums.entry(cohort.at).or_default();
                sum.clicks += f64::from(cohort.clicks) * weight;
                sum.conversions += f64::from(cohort.conversions) * weight;
            }
        }
        let mut conversions = Conversions::nothing_seen(super::prior(rules));
        // In the order of names, so that equal counts give bit-identical sums.
        for (at, number) in &self.names {
            if let Some(seen) = sums.get(number) {
                conversions.add(&at.place(), at.band, *seen);
            }
        }
        conversions
    }

    fn number(&mut self, at: &OfferRatingKey) -> u32 {
        if let Some(number) = self.names.get(at) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.insert(at.clone(), number);
        number
    }
}

fn counts(day: u32, today: u32, rules: &RankingSettings) -> bool {
    let age = u128::from(today - day) * u128::from(DAY_MS.unsigned_abs());
    age >= rules.matures_after.as_millis() && age <= rules.window.as_millis()
}

fn weight(day: u32, today: u32, rules: &RankingSettings) -> f64 {
    let age = f64::from(today - day) * 86_400.0;
    rules.half_life.map_or(1.0, |half_life| (-age / half_life.as_secs_f64()).exp2())
}
