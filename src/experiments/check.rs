//! From a file to a [`Rule`], or to every fault of it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::declared::{Declared, DeclaredVariant};
use super::rule::{CONTROL, Rule, Variant};
use crate::config::{MatchingSettings, Settings};
use crate::declaration::{Fault, FileReading, Source, did_you_mean, nearest, quoted, read};
use crate::partners::{Book, is_key};
use crate::rate_table::treatment::Change;
use crate::store::tokens::company_uuid;

/// The least share in percent, one lead of a million: of less nobody learns anything.
const PERCENT_MIN: f64 = 0.0001;

/// What is wrong with a file, by key, and what it is held against.
struct Checker<'s> {
    source: &'s Source,
    settings: &'s Settings,
    /// The keys of the partners that there are; nothing where their files are faulty.
    partners: Option<BTreeSet<&'s str>>,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    fn fault(&mut self, key: &str, message: impl Into<String>) {
        self.faults.push(self.source.fault(key, message));
    }
}

/// The rule of a file.
///
/// # Errors
/// Every fault of it.
pub(super) fn rule(
    name: &str,
    source: &Source,
    settings: &Settings,
    book: Option<&Book>,
) -> Result<Rule, Vec<Fault>> {
    let FileReading { value, faults, .. } = read::<Declared>(source);
    // Where a key stands in for another, what else is found may only follow from that.
    let Some(declared) = value.filter(|_| faults.is_empty()) else { return Err(faults) };
    let partners = book.map(|book| book.partners().into_iter().map(|partner| partner.key.as_str()).collect());
    let mut checker = Checker { source, settings, partners, faults };
    if !is_key(name) {
        checker.fault("", "must be named by lower-case letters, digits, `-` and `_`, and end in `.toml`");
    }
    leads(&declared, &mut checker);
    shares(&declared.variants, &mut checker);
    let variants = declared.variants.iter().enumerate();
    let variants = variants.map(|(nth, variant)| checked(&format!("variants[{nth}]"), variant, &mut checker));
    let variants = variants.collect();
    let companies = declared.companies.unwrap_or_default();
    let rule = Rule {
        name: name.to_owned(),
        starts: declared.starts.map(|moment| moment.0),
        ends: declared.ends.map(|moment| moment.0),
        companies: companies.into_iter().map(|company| (company_uuid(&company), company)).collect(),
        tags: declared.tags,
        variants,
        file: source.file().to_owned(),
    };
    if checker.faults.is_empty() { Ok(rule) } else { Err(checker.faults) }
}

/// Which leads are drawn.
fn leads(declared: &Declared, checker: &mut Checker<'_>) {
    if let (Some(starts), Some(ends)) = (declared.starts, declared.ends)
        && ends.0 <= starts.0
    {
        checker.fault("ends", format!("must be after `starts` ({}), got {}", starts.0, ends.0));
    }
    let companies = declared.companies.as_deref();
    if companies.is_some_and(|names| names.is_empty() || names.iter().any(|name| name.trim().is_empty())) {
        checker.fault(
            "companies",
            "must be names of companies, as `offerd token list` has them; without the key all are drawn",
        );
    }
    for (tag, values) in &declared.tags {
        if values.is_empty() {
            checker.fault(&format!("tags.{}", quoted(tag)), "must have at least one value");
        }
    }
}

/// What share each variant gets, and how it is called.
fn shares(variants: &[DeclaredVariant], checker: &mut Checker<'_>) {
    let most = checker.settings.experiments.variants_per_rule;
    if variants.len() > most {
        let message =
            format!("must be {most} at most (`experiments.variants_per_rule`), got {}", variants.len());
        checker.fault("variants", message);
    }
    if variants.is_empty() {
        checker.fault(
            "variants",
            "must have at least one, as `[[variants]]`; the leads that get none are the control",
        );
    }
    let mut names = BTreeSet::from([CONTROL]);
    for (nth, DeclaredVariant { name, percent, .. }) in variants.iter().enumerate() {
        if !is_key(name) {
            let wanted = "must be lower-case letters, digits, `-` and `_`";
            checker.fault(&format!("variants[{nth}].name"), format!("{wanted}, got `{name}`"));
        }
        if !names.insert(name) {
            let taken = if name == CONTROL { "the leads that get no variant" } else { "another variant" };
            checker.fault(&format!("variants[{nth}].name"), format!("is that of {taken}: `{name}`"));
        }
        if !(PERCENT_MIN..100.0).contains(percent) {
            let wanted = format!("must be at least {PERCENT_MIN} and below 100, of a hundred leads");
            checker.fault(&format!("variants[{nth}].percent"), format!("{wanted}, got {percent:?}"));
        }
    }
    let given: f64 =
        variants.iter().map(|variant| variant.percent).filter(|percent| percent.is_finite()).sum();
    if given >= 100.0 && !variants.iter().any(|variant| variant.percent >= 100.0) {
        checker.fault(
            "variants",
            format!("must leave leads for the control: together below 100 percent, got {given}"),
        );
    }
}

/// A variant with what it changes.
fn checked(key: &str, declared: &DeclaredVariant, checker: &mut Checker<'_>) -> Variant {
    let mut changes = Vec::new();
    if let Some(deadline) = declared.deadline {
        let deadline = deadline_of(&format!("{key}.deadline"), deadline.0, checker);
        changes.push(Change::Deadline { ms: deadline.as_millis() as u64 });
    }
    if let Some(ranking) = &declared.ranking {
        ranking_of(&format!("{key}.ranking"), ranking, checker);
        changes.push(Change::Ranking(ranking.clone()));
    }
    if let Some(partners) = &declared.partners {
        known(&format!("{key}.partners"), partners, checker);
        changes.push(Change::OnlyPartners(partners.clone()));
    }
    if let Some(partners) = &declared.without_partners {
        known(&format!("{key}.without_partners"), partners, checker);
        if declared.partners.is_some() {
            checker.fault(
                &format!("{key}.without_partners"),
                "does not go with `partners`, which says who is asked",
            );
        }
        changes.push(Change::WithoutPartners(partners.clone()));
    }
    changes.extend(declared.second_look.map(Change::SecondLook));
    Variant { name: declared.name.clone(), percent: declared.percent, changes }
}

/// A deadline that a table can have.
fn deadline_of(key: &str, deadline: Duration, checker: &mut Checker<'_>) -> Duration {
    let MatchingSettings { response_margin, least_budget, .. } = checker.settings.matching;
    let (least, most) = (response_margin + least_budget, MatchingSettings::DEADLINE_MAX);
    if deadline < least.max(MatchingSettings::DEADLINE_MIN) || deadline > most {
        let [least, most, deadline] = [least, most, deadline].map(humantime::format_duration);
        checker.fault(
            key,
            format!(
                "must be {least} (`matching.response_margin` and `matching.least_budget`) to {most}, got {deadline}"
            ),
        );
    }
    deadline
}

/// A ranking that the settings name.
fn ranking_of(key: &str, ranking: &str, checker: &mut Checker<'_>) {
    let named = &checker.settings.ranking.named;
    if named.contains_key(ranking) {
        return;
    }
    let there_are: Vec<String> = named.keys().map(|name| format!("`{name}`")).collect();
    let there_are = if there_are.is_empty() { "none".to_owned() } else { there_are.join(", ") };
    let near = did_you_mean(nearest(ranking, named.keys().map(String::as_str)));
    let wanted = "must be a ranking of the settings (`ranking.named`, `ranking.default`)";
    checker.fault(key, format!("{wanted}, of which there are: {there_are}; got `{ranking}`{near}"));
}

/// Partners that have files.
fn known(key: &str, partners: &[String], checker: &mut Checker<'_>) {
    if partners.is_empty() {
        checker.fault(key, "must name at least one partner, by the name of its file");
    }
    let Some(keys) = &checker.partners else { return };
    let strange = partners.iter().enumerate().filter(|(_, name)| !keys.contains(name.as_str()));
    let told = strange.map(|(nth, partner)| {
        let near = did_you_mean(nearest(partner, keys.iter().copied()));
        (format!("{key}[{nth}]"), format!("names `{partner}`, which is no partner{near}"))
    });
    for (key, message) in told.collect::<Vec<_>>() {
        checker.fault(&key, message);
    }
}
