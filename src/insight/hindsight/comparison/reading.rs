//! Reads the outcomes of a rule's leads from the feeds of their companies.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::outcome::{LeadOutcomes, VariantStatistics};
use super::{Comparison, SameDefaults, compared};
use offerd_engine::experiments::CONTROL;
use offerd_engine::records::projection::{FEEDS, companies, next};
use offerd_engine::records::{Records, reading};
use offerd_model::EventType;
use offerd_store::Tree;
use offerd_store::entities::{Happening, PayoutRecord};

const STEP: usize = 512;

/// A comparison in progress.
#[derive(Debug)]
pub struct RunningComparison {
    records: Records,
    rule: String,
    test: bool,
    most: usize,
    /// For each company the events, then the payouts, each with its next arrival in microseconds.
    ahead: VecDeque<(Tree, Uuid, u64)>,
    variants: Vec<String>,
    leads: HashMap<Uuid, (usize, LeadOutcomes)>,
    /// The defaults that each lead came under, by digest, and when.
    came: HashMap<Uuid, (Option<String>, i64)>,
    cut: bool,
}

impl RunningComparison {
    /// Starts with the arrivals since `since_ms` (Unix milliseconds). Lists all of `variants`.
    pub fn begin<'v>(
        records: &Records,
        rule: &str,
        variants: impl Iterator<Item = &'v str>,
        (since_ms, test): (i64, bool),
        most: usize,
    ) -> Self {
        let since_us = u64::try_from(since_ms).unwrap_or(0) * 1000;
        let feeds = companies(&records.store).into_iter();
        let ahead = feeds.flat_map(|company| FEEDS.map(|feed| (feed, company, since_us)));
        let mut all = vec![CONTROL.to_owned()];
        all.extend(variants.filter(|name| *name != CONTROL).map(str::to_owned));
        let (records, rule, ahead) = (records.clone(), rule.to_owned(), ahead.collect());
        Self {
            records,
            rule,
            test,
            most,
            ahead,
            variants: all,
            leads: HashMap::new(),
            came: HashMap::new(),
            cut: false,
        }
    }

    /// Reads the next records; `false` at the end. Unreadable records are logged and skipped.
    pub fn step(&mut self) -> bool {
        let Some((feed, company, from_us)) = self.ahead.pop_front() else { return false };
        let place = (feed, company, from_us);
        let more = match feed {
            Tree::LeadEvents => self.read(place, Self::happened),
            _ => self.read(place, Self::paid),
        };
        if let Some(next_us) = more {
            self.ahead.push_front((feed, company, next_us));
        }
        !self.ahead.is_empty()
    }

    /// Reads the next records of a feed; returns where to continue, if there may be more.
    fn read<T: DeserializeOwned>(&mut self, place: (Tree, Uuid, u64), add: fn(&mut Self, &T)) -> Option<u64> {
        let next = next::<T>(&self.records.store, place, STEP).ok()?;
        next.listed.iter().for_each(|(_, one)| add(self, one));
        (next.records == STEP).then_some(next.next_us)
    }

    fn paid(&mut self, payout: &PayoutRecord) {
        if let Some((_, lead)) = self.leads.get_mut(&payout.lead).filter(|_| !payout.test) {
            lead.cents += payout.cents;
        }
    }

    fn happened(&mut self, happening: &Happening) {
        if happening.event_type == EventType::LeadCreated {
            return self.created(happening);
        }
        let Some((_, lead)) = self.leads.get_mut(&happening.lead) else { return };
        let one = if happening.taken_back_at.is_some() { -1 } else { 1 };
        match happening.event_type {
            EventType::AppSubmitted if !lead.has_offers => {
                let tables = happening.cause.into_iter();
                let answers = tables.flat_map(|table| reading::answers(&self.records.store, table));
                let mut answers = answers.filter_map(Result::ok).flatten();
                lead.has_offers = answers.any(|answer| !answer.outcome.quotes().is_empty());
            }
            EventType::OfferClicked => lead.clicks += 1,
            EventType::Applied => lead.applied += one,
            EventType::Funded => lead.funded += one,
            _ => {}
        }
    }

    /// Takes in a lead that drew a variant. An erased lead has none.
    fn created(&mut self, happening: &Happening) {
        if happening.test != self.test {
            return;
        }
        let Ok(Some(mut record)) = reading::lead(&self.records.store, happening.lead) else { return };
        let Some(variant) = record.experiments.remove(&self.rule) else { return };
        if self.leads.len() >= self.most {
            self.cut = true;
            return;
        }
        let known = self.variants.iter().position(|name| *name == variant);
        let place = known.unwrap_or_else(|| {
            self.variants.push(variant);
            self.variants.len() - 1
        });
        self.leads.insert(happening.lead, (place, LeadOutcomes::default()));
        self.came.insert(happening.lead, (record.defaults.take(), record.created_at));
    }

    /// The comparison of what was read so far.
    pub fn comparison(self) -> Comparison {
        let none = || (0, vec![VariantStatistics::default(); self.variants.len()]);
        let mut by_defaults: BTreeMap<_, (i64, Vec<VariantStatistics>)> = BTreeMap::new();
        // In a fixed order, so that sums agree to the last digit.
        let mut leads: Vec<_> = self.leads.into_iter().collect();
        leads.sort_unstable_by_key(|(uuid, _)| *uuid);
        for (uuid, (place, lead)) in &leads {
            let (defaults, at) = &self.came[uuid];
            let (last, tallies) = by_defaults.entry(defaults).or_insert_with(none);
            *last = (*last).max(*at);
            tallies[*place] = tallies[*place].with(lead);
        }
        let named =
            |tallies: Vec<_>| -> SameDefaults { self.variants.iter().cloned().zip(tallies).collect() };
        let mut periods: Vec<_> = by_defaults.into_values().collect();
        periods.sort_unstable_by_key(|(last, _)| *last);
        let (_, present) = periods.pop().unwrap_or_else(none);
        let earlier: Vec<_> =
            periods.into_iter().rev().map(|(last, tallies)| (last, named(tallies))).collect();
        compared(&self.rule, (self.test, self.cut), &named(present), &earlier)
    }
}
