//! The rules in force. No two may change the same thing for the same leads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::DateTime;
use uuid::Uuid;

use super::check;
use super::rule::{ExperimentRule, RuleState};
use crate::rate_table::treatment::{Treatment, TreatmentChange};
use offerd_base::config::Settings;
use offerd_base::declaration::{DeclarationsDiff, Fault, FileEdit, Source, declared_in};
use offerd_model::ClientTags;
use offerd_partners::Book;

/// All rules, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExperimentRules(Vec<ExperimentRule>);

impl ExperimentRules {
    /// Reads every `*.toml` in `experiments.path`, if it exists. Checks partner names against a valid book.
    /// `edit` changes a file, if any.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(
        settings: &Settings,
        book: Option<&Book>,
        edit: Option<&FileEdit>,
    ) -> Result<Self, Vec<Fault>> {
        let read = |name: &str, source: &Source| check::rule(name, source, settings, book);
        let (all, faults) = declared_in(&settings.experiments.path, "experiments.path", edit, read);
        Self::of(all, faults)
    }

    /// Parses these named texts, like the files of a directory.
    ///
    /// # Errors
    /// Every fault of every text.
    pub fn from_texts(texts: &[(&str, &str)], settings: &Settings) -> Result<Self, Vec<Fault>> {
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        for (name, text) in texts {
            let source =
                Source::parse(&Path::new(name).with_extension("toml"), text).map_err(|one| vec![one]);
            match source.and_then(|source| check::rule(name, &source, settings, None)) {
                Ok(rule) => all.push(rule),
                Err(found) => faults.extend(found),
            }
        }
        Self::of(all, faults)
    }

    fn of(all: Vec<ExperimentRule>, mut faults: Vec<Fault>) -> Result<Self, Vec<Fault>> {
        faults.extend(overlaps(&all));
        if faults.is_empty() { Ok(Self(all)) } else { Err(faults) }
    }

    /// The differences to `after`.
    pub fn diff(&self, after: &Self) -> DeclarationsDiff {
        DeclarationsDiff::between(&self.0, &after.0, |rule| &rule.name)
    }

    /// A canonical text: equal for equal rules, wherever their files are.
    pub fn text(&self) -> String {
        let rules = self.0.iter().map(|rule| ExperimentRule { file: PathBuf::new(), ..rule.clone() });
        format!("{:?}", rules.collect::<Vec<_>>())
    }

    /// All rules.
    pub fn all(&self) -> &[ExperimentRule] {
        &self.0
    }

    /// The rule with this name.
    pub fn named(&self, name: &str) -> Option<&ExperimentRule> {
        self.0.iter().find(|rule| rule.name == name)
    }

    /// The variants drawn by a lead accepted at a time: one for each running rule that covers it.
    pub fn draw(
        &self,
        lead: Uuid,
        company: Uuid,
        tags: Option<&ClientTags>,
        at_ms: i64,
    ) -> BTreeMap<String, String> {
        let drawn = self.running(at_ms).filter(|rule| rule.holds_for(company, tags));
        drawn.map(|rule| (rule.name.clone(), rule.draw(lead).to_owned())).collect()
    }

    /// The treatments of a table made at a time, given its lead's variants: those of rules that still run.
    pub fn treatments(&self, variants: &BTreeMap<String, String>, at_ms: i64) -> Vec<Treatment> {
        if variants.is_empty() {
            return Vec::new();
        }
        let treatment = |rule: &ExperimentRule| {
            let variant = variants.get(&rule.name)?;
            let changes = rule.changes(variant)?.to_vec();
            Some(Treatment { rule: rule.name.clone(), variant: variant.clone(), changes })
        };
        self.running(at_ms).filter_map(treatment).collect()
    }

    fn running(&self, at_ms: i64) -> impl Iterator<Item = &ExperimentRule> {
        let at = DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
        self.0.iter().filter(move |rule| rule.state(at) == RuleState::Running)
    }

    /// Files that name a company without a token, a sentence each: no lead will be drawn for it.
    pub fn without_token(&self, holders: &BTreeSet<String>) -> Vec<String> {
        let named = self.0.iter().flat_map(|rule| rule.companies.values().map(move |name| (rule, name)));
        let told = named.filter(|(_, company)| !holders.contains(*company)).map(|(rule, company)| {
            format!("{}: `companies` names `{company}`, which has no token", rule.file.display())
        });
        told.collect()
    }
}

fn overlaps(rules: &[ExperimentRule]) -> Vec<Fault> {
    let numbered = rules.iter().enumerate();
    numbered.flat_map(|(nth, one)| rules[..nth].iter().filter_map(move |other| overlap(one, other))).collect()
}

fn overlap(one: &ExperimentRule, other: &ExperimentRule) -> Option<Fault> {
    let changes = |rule: &'_ ExperimentRule| -> BTreeSet<&'static str> {
        rule.variants.iter().flat_map(|variant| &variant.changes).map(TreatmentChange::subject).collect()
    };
    let same = changes(one).intersection(&changes(other)).next().copied()?;
    let ends_before = |first: &ExperimentRule, second: &ExperimentRule| {
        first.ends.zip(second.starts).is_some_and(|(ends, starts)| ends <= starts)
    };
    let of_one_company = one.companies.is_empty()
        || other.companies.is_empty()
        || one.companies.keys().any(|company| other.companies.contains_key(company));
    if ends_before(one, other) || ends_before(other, one) || !of_one_company {
        return None;
    }
    // Tags cannot separate two rules: a lead may have those of both.
    let advice = "end one before the other starts, or give them different `companies`";
    let message = format!("changes {same} of leads that `{}` may change too: {advice}", other.name);
    Some(Fault { file: Some(one.file.clone()), line: None, key: "variants".to_owned(), message })
}
