//! Parses a file into a [`ExperimentRule`], or lists its faults.

use std::collections::BTreeSet;
use std::time::Duration;

use super::declared::{Declared, DeclaredVariant};
use super::rule::{CONTROL, ExperimentRule, Variant};
use crate::rate_table::treatment::TreatmentChange;
use offerd_base::config::{MatchingSettings, Settings};
use offerd_base::declaration::{Checker, Fault, Source, did_you_mean, nearest};
use offerd_partners::Book;
use offerd_store::tokens::company_uuid;

/// The smallest share in percent, one lead in a million: a smaller one teaches nothing.
const PERCENT_MIN: f64 = 0.0001;

pub(super) fn rule(
    name: &str,
    source: &Source,
    settings: &Settings,
    book: Option<&Book>,
) -> Result<ExperimentRule, Vec<Fault>> {
    let (declared, mut checker) = Checker::begin::<Declared>(name, source)?;
    // Partners cannot be checked while their files are faulty.
    let partners: Option<BTreeSet<&str>> =
        book.map(|book| book.partners().into_iter().map(|partner| partner.key.as_str()).collect());
    leads(&declared, &mut checker);
    shares(&declared.variants, settings.experiments.variants_per_rule, &mut checker);
    let mut variants = Vec::new();
    for (nth, variant) in declared.variants.iter().enumerate() {
        let checked = |check: &mut Checker<'_>| checked(variant, settings, partners.as_ref(), check);
        variants.push(checker.within(&format!("variants[{nth}]"), checked));
    }
    let companies = declared.companies.unwrap_or_default();
    let rule = ExperimentRule {
        name: name.to_owned(),
        starts: declared.starts,
        ends: declared.ends,
        companies: companies.into_iter().map(|company| (company_uuid(&company), company)).collect(),
        tags: declared.tags,
        variants,
        file: source.file().to_owned(),
    };
    checker.end(rule)
}

fn leads(declared: &Declared, checker: &mut Checker<'_>) {
    if let (Some(starts), Some(ends)) = (declared.starts, declared.ends)
        && ends <= starts
    {
        checker.at("ends", format!("must be after `starts` ({}), got {}", starts, ends));
    }
    let companies = declared.companies.as_deref();
    if companies.is_some_and(|names| names.is_empty() || names.iter().any(|name| name.trim().is_empty())) {
        checker.at(
            "companies",
            "must be names of companies, as `offerd token list` shows them; without the key all take part",
        );
    }
    checker.tags(&declared.tags);
}

fn shares(variants: &[DeclaredVariant], most: usize, checker: &mut Checker<'_>) {
    if variants.len() > most {
        let message =
            format!("must be {most} at most (`experiments.variants_per_rule`), got {}", variants.len());
        checker.at("variants", message);
    }
    if variants.is_empty() {
        let message = "must have at least one, as `[[variants]]`; leads without a variant are the control";
        checker.at("variants", message);
    }
    let mut names = BTreeSet::from([CONTROL]);
    for (nth, DeclaredVariant { name, percent, .. }) in variants.iter().enumerate() {
        checker.key(&format!("variants[{nth}].name"), name);
        if !names.insert(name) {
            let taken = if name == CONTROL { "the leads that get no variant" } else { "another variant" };
            checker.at(&format!("variants[{nth}].name"), format!("is that of {taken}: `{name}`"));
        }
        if !(PERCENT_MIN..100.0).contains(percent) {
            let wanted = format!("must be at least {PERCENT_MIN} and below 100, of a hundred leads");
            checker.at(&format!("variants[{nth}].percent"), format!("{wanted}, got {percent:?}"));
        }
    }
    let given: f64 = variants.iter().map(|one| one.percent).filter(|percent| percent.is_finite()).sum();
    if given >= 100.0 && !variants.iter().any(|variant| variant.percent >= 100.0) {
        let message = format!("must leave leads for the control: together below 100 percent, got {given}");
        checker.at("variants", message);
    }
}

fn checked(
    declared: &DeclaredVariant,
    settings: &Settings,
    partners: Option<&BTreeSet<&str>>,
    checker: &mut Checker<'_>,
) -> Variant {
    let mut changes = Vec::new();
    if let Some(deadline) = declared.deadline {
        let deadline = deadline_of(deadline.0, &settings.matching, checker);
        changes.push(TreatmentChange::Deadline { ms: deadline.as_millis() as u64 });
    }
    if let Some(ranking) = &declared.ranking {
        ranking_of(ranking, settings, checker);
        changes.push(TreatmentChange::Ranking(ranking.clone()));
    }
    if let Some(only) = &declared.partners {
        known("partners", only, partners, checker);
        changes.push(TreatmentChange::OnlyPartners(only.clone()));
    }
    if let Some(without) = &declared.without_partners {
        known("without_partners", without, partners, checker);
        if declared.partners.is_some() {
            checker.at("without_partners", "conflicts with `partners`, which decides the partners asked");
        }
        changes.push(TreatmentChange::WithoutPartners(without.clone()));
    }
    changes.extend(declared.second_look.map(TreatmentChange::SecondLook));
    Variant { name: declared.name.clone(), percent: declared.percent, changes }
}

fn deadline_of(deadline: Duration, settings: &MatchingSettings, checker: &mut Checker<'_>) -> Duration {
    let (least, most) = (settings.least_deadline(), MatchingSettings::DEADLINE_MAX);
    if deadline < least.max(MatchingSettings::DEADLINE_MIN) || deadline > most {
        let [least, most, deadline] = [least, most, deadline].map(humantime::format_duration);
        let sum = "`matching.response_margin` and `matching.least_budget`";
        checker.at("deadline", format!("must be {least} ({sum}) to {most}, got {deadline}"));
    }
    deadline
}

fn ranking_of(ranking: &str, settings: &Settings, checker: &mut Checker<'_>) {
    let named = &settings.ranking.named;
    if named.contains_key(ranking) {
        return;
    }
    let there_are: Vec<String> = named.keys().map(|name| format!("`{name}`")).collect();
    let there_are = if there_are.is_empty() { "none".to_owned() } else { there_are.join(", ") };
    let near = did_you_mean(nearest(ranking, named.keys().map(String::as_str)));
    let wanted = "must be a ranking of the settings (`ranking.named`, `ranking.default`)";
    checker.at("ranking", format!("{wanted}: {there_are}; got `{ranking}`{near}"));
}

fn known(key: &str, named: &[String], partners: Option<&BTreeSet<&str>>, checker: &mut Checker<'_>) {
    if named.is_empty() {
        checker.at(key, "must name at least one partner, by the name of its file");
    }
    let Some(keys) = partners else { return };
    for (nth, partner) in named.iter().enumerate().filter(|(_, name)| !keys.contains(name.as_str())) {
        let near = did_you_mean(nearest(partner, keys.iter().copied()));
        checker.at(&format!("{key}[{nth}]"), format!("names `{partner}`, which is not a partner{near}"));
    }
}
