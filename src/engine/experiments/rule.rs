//! A rule: which leads it covers, and what each variant changes.

use offerd_base::worded;
use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::rate_table::treatment::TreatmentChange;
use offerd_model::ClientTags;
use offerd_partners::drawn;

/// The variant of leads that draw no other.
pub const CONTROL: &str = "control";

/// A rule, as its file declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentRule {
    /// The name of its file.
    pub name: String,
    /// When drawing starts.
    pub starts: Option<DateTime<Utc>>,
    /// When drawing ends, exclusive.
    pub ends: Option<DateTime<Utc>>,
    /// The companies whose leads are drawn, with their names; empty for all.
    pub companies: BTreeMap<Uuid, String>,
    /// Client tags that the lead must have, each with one of these values.
    pub tags: BTreeMap<String, Vec<String>>,
    /// The variants in the order of the file; the rest is the control.
    pub variants: Vec<Variant>,
    pub(super) file: PathBuf,
}

/// A variant of a share of the leads.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The variant's name.
    pub name: String,
    /// Its share, in percent.
    pub percent: f64,
    /// Its changes.
    pub changes: Vec<TreatmentChange>,
}

worded! {
    /// Whether a rule draws leads.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum RuleState;

    /// The state in words.
    fn words;

    /// Before its start.
    NotStarted "not started";
    /// Draws leads.
    Running "running";
    /// After its end.
    Ended "ended";
    /// Its file is gone; earlier draws are kept.
    Removed "removed";
}

impl ExperimentRule {
    /// The state at a time.
    pub fn state(&self, at: DateTime<Utc>) -> RuleState {
        match (self.starts, self.ends) {
            (_, Some(ends)) if at >= ends => RuleState::Ended,
            (Some(starts), _) if at < starts => RuleState::NotStarted,
            _ => RuleState::Running,
        }
    }

    /// Whether the rule covers leads of a company with these tags.
    pub fn holds_for(&self, company: Uuid, tags: Option<&ClientTags>) -> bool {
        let has = |(key, wanted): (&String, &Vec<String>)| {
            tags.and_then(|tags| tags.0.get(key)).into_iter().flatten().any(|value| wanted.contains(value))
        };
        (self.companies.is_empty() || self.companies.contains_key(&company)) && self.tags.iter().all(has)
    }

    /// The variant of a lead, by the rule's name, the shares and the UUID alone: the same in every build.
    pub fn draw(&self, lead: Uuid) -> &str {
        let mut left = drawn(&["experiment", &self.name], lead) * 100.0;
        for variant in &self.variants {
            if left < variant.percent {
                return &variant.name;
            }
            left -= variant.percent;
        }
        CONTROL
    }

    /// The changes of a variant; empty for the control, `None` for an unknown variant.
    pub fn changes(&self, variant: &str) -> Option<&[TreatmentChange]> {
        if variant == CONTROL {
            return Some(&[]);
        }
        self.variants.iter().find(|known| known.name == variant).map(|known| known.changes.as_slice())
    }

    /// Every variant with its share in percent, control first.
    pub fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        let given: f64 = self.variants.iter().map(|variant| variant.percent).sum();
        let others = self.variants.iter().map(|variant| (variant.name.as_str(), variant.percent));
        std::iter::once((CONTROL, 100.0 - given)).chain(others)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn rule(name: &str, percents: &[f64]) -> ExperimentRule {
        let variant = |(nth, percent): (usize, &f64)| Variant {
            name: format!("v{nth}"),
            percent: *percent,
            changes: Vec::new(),
        };
        ExperimentRule {
            name: name.to_owned(),
            starts: None,
            ends: None,
            companies: BTreeMap::new(),
            tags: BTreeMap::new(),
            variants: percents.iter().enumerate().map(variant).collect(),
            file: PathBuf::new(),
        }
    }

    /// Six standard deviations of a count with this chance, plus slack for small expectations.
    fn bound(leads: f64, chance: f64) -> f64 {
        6.0 * (leads * chance * (1.0 - chance)).sqrt() + 10.0
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn each_variant_gets_its_share_and_rules_draw_apart(
            names in ("[a-z]{1,12}", "[A-Z]{1,12}"),
            seed in any::<u64>(),
            percents in (0.0..50.0_f64, 0.0..50.0_f64),
        ) {
            const LEADS: usize = 4000;
            let (first, second) = (rule(&names.0, &[percents.0, percents.1]), rule(&names.1, &[percents.0]));
            let leads = (0..LEADS as u128).map(|nth| Uuid::from_u128((u128::from(seed) << 64) | nth));
            let drawn: Vec<(&str, &str)> = leads.map(|lead| (first.draw(lead), second.draw(lead))).collect();
            for (variant, percent) in first.shares() {
                let chance = percent / 100.0;
                let got = drawn.iter().filter(|(of_first, _)| *of_first == variant).count() as f64;
                let wanted = LEADS as f64 * chance;
                prop_assert!((got - wanted).abs() <= bound(LEADS as f64, chance), "{variant}: {got} of {wanted}");
                let both = drawn.iter().filter(|both| **both == (variant, "v0")).count() as f64;
                let chance = chance * percents.0 / 100.0;
                let wanted = LEADS as f64 * chance;
                prop_assert!((both - wanted).abs() <= bound(LEADS as f64, chance), "both: {both} of {wanted}");
            }
        }
    }

    #[test]
    fn a_rule_draws_apart_from_the_share_of_a_partner() {
        let rule = rule("half", &[50.0]);
        let drawn = (0..4000)
            .map(Uuid::from_u128)
            .filter(|lead| rule.draw(*lead) == "v0" && drawn(&["share", "half", "loan"], *lead) < 0.5);
        let both = drawn.count() as f64;
        assert!((both - 1000.0).abs() <= bound(4000.0, 0.25), "{both}");
    }

    #[test]
    fn a_lead_keeps_its_variant_when_the_control_gives_up_a_part_to_a_later_one() {
        let (before, after) = (rule("r", &[20.0]), rule("r", &[20.0, 30.0]));
        for lead in (0..2000).map(Uuid::from_u128) {
            let (was, is) = (before.draw(lead), after.draw(lead));
            assert!(was == is || (was, is) == (CONTROL, "v1"), "{was} became {is}");
        }
    }

    /// A changed draw would give leads other variants from one build to the next.
    #[test]
    fn a_draw_is_the_same_in_every_build() {
        let rule = rule("deadline_5s", &[50.0]);
        let drawn: String =
            (0..24).map(|nth| if rule.draw(Uuid::from_u128(nth)) == CONTROL { 'c' } else { 'v' }).collect();
        assert_eq!(drawn, "cvvcvccvvvcccvcvccccccvc");
    }

    #[test]
    fn a_rule_runs_from_its_start_up_to_its_end() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        let rule = ExperimentRule { starts: Some(at(10)), ends: Some(at(20)), ..rule("r", &[50.0]) };
        let states = [9, 10, 19, 20].map(|seconds| rule.state(at(seconds)));
        use RuleState::{Ended, NotStarted, Running};
        assert_eq!(states, [NotStarted, Running, Running, Ended]);
    }
}
