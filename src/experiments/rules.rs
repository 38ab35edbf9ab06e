//! The rules in force.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::rule::{Rule, RuleState};
use super::{check, overlap};
use crate::config::Settings;
use crate::declaration::{Fault, Source, files_if_any, text_of};
use crate::model::ClientTags;
use crate::partners::Book;
use crate::rate_table::treatment::Treatment;

/// Every rule, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Reads every `*.toml` of `experiments.path`. A directory that is not there has none. Names of partners are looked up in a book,
    /// where there is a good one.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(settings: &Settings, book: Option<&Book>) -> Result<Self, Vec<Fault>> {
        let fault = |file: &Path, key: &str, message: String| Fault {
            file: Some(std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
            line: None,
            key: key.to_owned(),
            message,
        };
        let unread = |error| format!("cannot be read: {error}");
        let directory = &settings.experiments.path;
        let files = files_if_any(directory)
            .map_err(|error| vec![fault(directory, "experiments.path", unread(error))])?;
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        for file in files {
            let text = text_of(&file).map_err(|error| vec![fault(&file, "", unread(error))]);
            let source = text.and_then(|text| Source::parse(&file, &text).map_err(|fault| vec![fault]));
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            match source.and_then(|source| check::rule(&name, &source, settings, book)) {
                Ok(rule) => all.push(rule),
                Err(found) => faults.extend(found),
            }
        }
        faults.extend(overlap::faults(&all));
        if faults.is_empty() { Ok(Self(all)) } else { Err(faults) }
    }

    /// These rules, for tests.
    #[cfg(test)]
    pub(crate) fn of(texts: &[(&str, &str)], settings: &Settings) -> Self {
        let rule = |(name, text): &(&str, &str)| {
            let source = Source::parse(Path::new(name), text).expect("TOML");
            check::rule(name, &source, settings, None).expect("a good rule")
        };
        Self(texts.iter().map(rule).collect())
    }

    /// All of them.
    pub fn all(&self) -> &[Rule] {
        &self.0
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.name == name)
    }

    /// The variants of a lead that is taken in at a moment, Unix milliseconds: one of each rule that runs and holds for it.
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

    /// What the variants of a lead change at a table that is made at a moment, Unix milliseconds: those of rules that still run.
    pub fn treatments(&self, variants: &BTreeMap<String, String>, at_ms: i64) -> Vec<Treatment> {
        if variants.is_empty() {
            return Vec::new();
        }
        let treatment = |rule: &Rule| {
            let variant = variants.get(&rule.name)?;
            let changes = rule.changes(variant)?.to_vec();
            Some(Treatment { rule: rule.name.clone(), variant: variant.clone(), changes })
        };
        self.running(at_ms).filter_map(treatment).collect()
    }

    fn running(&self, at_ms: i64) -> impl Iterator<Item = &Rule> {
        let at = DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
        self.0.iter().filter(move |rule| rule.state(at) == RuleState::Running)
    }

    /// Files that name a company which has no token, a sentence each: no lead will be drawn for it.
    pub fn without_token(&self, holders: &BTreeSet<String>) -> Vec<String> {
        let named =
            self.0.iter().flat_map(|rule| rule.companies.values().map(move |company| (rule, company)));
        let strange = named.filter(|(_, company)| !holders.contains(*company));
        let told = strange.map(|(rule, company)| {
            format!("{}: `companies` names `{company}`, which has no token", rule.file.display())
        });
        told.collect()
    }
}

/// Which rules came, went, and are not as they were, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesDiff {
    /// Those that came.
    pub added: Vec<String>,
    /// Those that went.
    pub removed: Vec<String>,
    /// Those whose files say something else.
    pub changed: Vec<String>,
}

impl RulesDiff {
    /// What is different in `after`.
    pub fn between(before: &Rules, after: &Rules) -> Self {
        let names = |these: &Rules, fits: &dyn Fn(&Rule) -> bool| -> Vec<String> {
            these.0.iter().filter(|one| fits(one)).map(|one| one.name.clone()).collect()
        };
        Self {
            added: names(after, &|one| before.named(&one.name).is_none()),
            removed: names(before, &|one| after.named(&one.name).is_none()),
            changed: names(after, &|one| before.named(&one.name).is_some_and(|known| known != one)),
        }
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
