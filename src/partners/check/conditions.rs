//! Checks needs and eligibility tables, and turns attribute paths and operators into conditions.

use std::sync::Arc;

use uuid::Uuid;

use crate::check::checker::PartnerFileChecker;
use crate::declared::{DeclaredCondition, Eligibility, RequiredConsent};
use crate::eligibility::{
    ConditionTest, EligibilityCondition, EligibilityRule, MAX_ALTERNATIVES, days, too_many,
};
use crate::facts::Subject;
use crate::limits::declared::date;
use crate::zipcode_prefixes::ZipcodePrefixes;
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_model::AttributeKind;

/// The fault of an unknown attribute path.
pub(super) const NO_ATTRIBUTE: &str = "is not an attribute of a lead";

const SCORE: &str = "creditInformation.providedNumericCreditScore";

const IS_EMPTY: &str = "is empty, so it means nothing";

/// A fraction in percent, to two decimals.
pub(super) fn in_percent(fraction: f64) -> f64 {
    (fraction * 10_000.0).round() / 100.0
}

/// The values of an operator.
type Listed = Option<Vec<String>>;

impl PartnerFileChecker<'_> {
    /// Checks the required attributes.
    pub fn needs(&mut self, needs: &[String]) -> EligibilityRule {
        let subjects = needs.iter().enumerate();
        let subjects = subjects.filter_map(|(nth, path)| self.subject(&format!("needs[{nth}]"), path));
        let given: Vec<_> =
            subjects.map(|subject| EligibilityCondition::new(subject, ConditionTest::Present)).collect();
        EligibilityRule::always().and_all(&given)
    }

    /// The conditions that the required consents are given.
    pub fn consents(&mut self, required: &[RequiredConsent]) -> Vec<EligibilityCondition> {
        let given = |subject| EligibilityCondition::new(subject, ConditionTest::Flag(true));
        required.iter().filter_map(|consent| Some(given(self.subject("consents", consent.path())?))).collect()
    }

    /// Checks the table under `eligibility`; `None` when it has faults.
    pub fn rule(&mut self, eligibility: &Eligibility) -> Option<EligibilityRule> {
        let before = self.count();
        let rule = self.within("eligibility", |check| check.conjunction(eligibility));
        (self.count() == before).then_some(rule)
    }

    fn conjunction(&mut self, eligibility: &Eligibility) -> EligibilityRule {
        let mut conditions = Vec::new();
        for (path, condition) in &eligibility.all {
            let key = format!("\"{path}\"");
            let key = if path.contains('.') { key.as_str() } else { path.as_str() };
            if let Some(subject) = self.subject(key, path) {
                conditions.extend(self.within(key, |check| check.condition(subject, condition)));
            }
        }
        let mut rule = EligibilityRule::always().and_all(&conditions);
        if let Some(any) = &eligibility.any {
            if any.is_empty() {
                self.at("any", IS_EMPTY);
                return rule;
            }
            let either = any.iter().enumerate().map(|(nth, one)| {
                self.within(&format!("any[{nth}]"), |check| {
                    if one.all.is_empty() && one.any.is_none() {
                        check.at("", "has no condition, so every lead meets `any`");
                    }
                    check.conjunction(one)
                })
            });
            let either = EligibilityRule::any(either.collect());
            let unfolded = rule.alternatives.len() * either.alternatives.len();
            if unfolded > MAX_ALTERNATIVES {
                self.at("any", too_many(unfolded));
                return rule;
            }
            rule = rule.and(&either);
        }
        rule
    }

    fn subject(&mut self, key: &str, path: &str) -> Option<Subject> {
        let subject = Subject::named(path);
        if subject.is_none() {
            let hint = did_you_mean(nearest(path, Subject::paths()));
            self.at(key, format!("`{path}` {NO_ATTRIBUTE}{hint}"));
        }
        subject
    }

    fn condition(&mut self, subject: Subject, declared: &DeclaredCondition) -> Vec<EligibilityCondition> {
        let (kind, zipcode) = (subject.kind(), subject.zipcode());
        let wanted: Vec<&str> = words_for(kind, zipcode.is_some()).collect();
        let before = self.count();
        let tests = self.tests(&subject, declared);
        self.contradictions(&tests, declared);
        let begins = if zipcode.is_some() { self.prefixes(declared) } else { Vec::new() };
        self.wrong_words(&wanted, declared);
        if tests.is_empty() && begins.is_empty() && self.count() == before {
            self.at("", format!("must have a condition: {}", wanted.join(", ")));
        }
        let or_missing = declared.or_missing;
        let tests = tests.into_iter().map(|test| (subject.clone(), test));
        let begins = begins.into_iter().filter_map(|test| Some((zipcode.clone()?, test)));
        let tests = tests.chain(begins);
        tests.map(|(subject, test)| EligibilityCondition { subject, test, or_missing }).collect()
    }

    /// The tests of a declared condition on the value as a whole.
    fn tests(&mut self, subject: &Subject, declared: &DeclaredCondition) -> Vec<ConditionTest> {
        let kind = subject.kind();
        let DeclaredCondition { r#in, not_in, any_of, none_of, .. } = declared;
        let mut tests = Vec::from_iter(declared.present.then_some(ConditionTest::Present));
        match kind {
            AttributeKind::Category(_) | AttributeKind::Text | AttributeKind::Uuid => {
                tests.extend(self.one_of("in", r#in, kind));
                // For categories, refusing some equals requiring the others.
                tests.extend(self.one_of("not_in", not_in, kind).map(|refused| match (refused, kind) {
                    (ConditionTest::Category(mask), AttributeKind::Category(names)) => {
                        ConditionTest::Category(!mask & (u64::MAX >> (64 - names.len())))
                    }
                    (refused, _) => refused.refused(),
                }));
            }
            AttributeKind::Set(_) | AttributeKind::Texts => {
                tests.extend(self.one_of("any_of", any_of, kind));
                tests.extend(self.one_of("none_of", none_of, kind).map(ConditionTest::refused));
            }
            AttributeKind::Flag => tests.extend(declared.is.map(ConditionTest::Flag)),
            AttributeKind::Number | AttributeKind::Date => {
                let min = self.bound("min", &declared.min, kind);
                let max = self.bound("max", &declared.max, kind);
                for (key, bound) in [("min", min), ("max", max)] {
                    match subject.path() {
                        "creditScore" | SCORE => self.between(key, bound, 300.0, 850.0),
                        path if path.ends_with("ToIncome") || path.ends_with("ToValue") => {
                            self.percentage(key, bound);
                        }
                        _ => {}
                    }
                }
                if min.is_some() || max.is_some() {
                    let (min, max) = (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
                    if min > max {
                        self.at("min", "is greater than `max`, so no value fits");
                    }
                    tests.push(ConditionTest::Range { min, max });
                }
            }
        }
        tests
    }

    /// Reports a condition that no lead meets, or that every lead meets.
    fn contradictions(&mut self, tests: &[ConditionTest], declared: &DeclaredCondition) {
        let of = declared;
        for (wanted, values, refused, others) in [
            ("in", &of.r#in, "not_in", &of.not_in),
            ("any_of", &of.any_of, "none_of", &of.none_of),
            ("prefix_in", &of.prefix_in, "prefix_not_in", &of.prefix_not_in),
        ] {
            let is_in = |one: &&String| values.iter().flatten().any(|value| same_text(value, one));
            if let Some(both) = others.iter().flatten().find(is_in) {
                self.at(refused, format!("has `{both}`, which `{wanted}` has too; leave it out of one"));
            } else if tests.contains(&ConditionTest::Category(0)) && others.is_some() {
                self.at(refused, "has every value, so no lead fits");
            }
        }
        if declared.present && declared.or_missing {
            self.at("or_missing", "undoes `present`, so every lead fits; leave one out");
        }
    }

    /// Checks that a ratio is in percent.
    pub(super) fn percentage(&mut self, key: &str, ratio: Option<f64>) {
        if let Some(share) = ratio.filter(|ratio| *ratio > 0.0 && *ratio <= 1.0) {
            let percent = in_percent(share);
            self.at(key, format!("is in percent, and {share} is like a fraction: write {percent}"));
        }
    }

    /// The tests of a declared condition on the prefix of a zipcode.
    fn prefixes(&mut self, declared: &DeclaredCondition) -> Vec<ConditionTest> {
        let mut read = |key: &str, prefixes: &Listed| {
            let prefixes = prefixes.as_ref()?;
            let known = self.each(key, prefixes, |prefix| {
                let known = ZipcodePrefixes::is_prefix(prefix).then(|| prefix.to_owned());
                known.ok_or_else(|| format!("must be one to five digits, got `{prefix}`"))
            });
            ZipcodePrefixes::new(&known).map(Arc::new)
        };
        let wanted = read("prefix_in", &declared.prefix_in).map(ConditionTest::Zipcode);
        let refused = read("prefix_not_in", &declared.prefix_not_in).map(ConditionTest::Zipcode);
        wanted.into_iter().chain(refused.map(ConditionTest::refused)).collect()
    }

    /// Reports operators that do not apply to the kind of attribute.
    fn wrong_words(&mut self, wanted: &[&str], declared: &DeclaredCondition) {
        let given = [
            ("in", declared.r#in.is_some()),
            ("not_in", declared.not_in.is_some()),
            ("any_of", declared.any_of.is_some()),
            ("none_of", declared.none_of.is_some()),
            ("prefix_in", declared.prefix_in.is_some()),
            ("prefix_not_in", declared.prefix_not_in.is_some()),
            ("is", declared.is.is_some()),
            ("min", declared.min.is_some()),
            ("max", declared.max.is_some()),
        ];
        for (word, _) in given.iter().filter(|(word, given)| *given && !wanted.contains(word)) {
            self.at(word, format!("does not fit this attribute; wanted: {}", wanted.join(", ")));
        }
    }

    /// The test for one of the listed values.
    fn one_of(&mut self, word: &str, values: &Listed, kind: AttributeKind) -> Option<ConditionTest> {
        let values = values.as_ref()?;
        Some(match kind {
            AttributeKind::Category(names) => ConditionTest::Category(self.mask(word, values, names)),
            AttributeKind::Set(names) => ConditionTest::AnyOf(self.mask(word, values, names)),
            AttributeKind::Uuid => ConditionTest::Uuid(self.each(word, values, |value| {
                let uuid = value.parse::<Uuid>().ok().filter(|uuid| !uuid.is_nil());
                uuid.ok_or_else(|| format!("must be a uuid, got `{value}`"))
            })),
            _ => {
                if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
                    self.at(word, "must be non-empty texts");
                }
                ConditionTest::Text(values.iter().map(|value| value.to_lowercase()).collect())
            }
        })
    }

    fn mask(&mut self, key: &str, values: &[String], names: &[&str]) -> u64 {
        let ordinals = self.each(key, values, |value| {
            let ordinal = names.iter().position(|name| *name == value);
            ordinal.ok_or_else(|| format!("must be one of {}, got `{value}`", names.join(", ")))
        });
        ordinals.into_iter().fold(0, |mask, ordinal| mask | 1_u64 << ordinal)
    }

    /// Parses each value, and reports those that fail.
    fn each<T>(&mut self, key: &str, values: &[String], read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let mut known = Vec::new();
        for (nth, value) in values.iter().enumerate() {
            match read(value) {
                Ok(value) => known.push(value),
                Err(fault) => self.at(&format!("{key}[{nth}]"), fault),
            }
        }
        if values.is_empty() {
            self.at(key, IS_EMPTY);
        }
        known
    }

    fn bound(&mut self, key: &str, value: &Option<toml::Value>, kind: AttributeKind) -> Option<f64> {
        let value = value.as_ref()?;
        let number = match (kind, value) {
            (AttributeKind::Number, toml::Value::Integer(number)) => Some(*number as f64),
            (AttributeKind::Number, toml::Value::Float(number)) if number.is_finite() => Some(*number),
            (AttributeKind::Date, value) => date(value).map(days),
            _ => None,
        };
        if number.is_none() {
            let wanted = if matches!(kind, AttributeKind::Date) { "a date `YYYY-MM-DD`" } else { "a number" };
            self.at(key, format!("must be {wanted}, got `{value}`"));
        }
        number
    }
}

fn same_text(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn words_for(kind: AttributeKind, is_zipcode: bool) -> impl Iterator<Item = &'static str> {
    let words: &[&str] = match kind {
        AttributeKind::Category(_) | AttributeKind::Text | AttributeKind::Uuid => {
            &["in", "not_in", "present"]
        }
        AttributeKind::Set(_) | AttributeKind::Texts => &["any_of", "none_of", "present"],
        AttributeKind::Flag => &["is", "present"],
        AttributeKind::Number | AttributeKind::Date => &["min", "max", "present"],
    };
    let of_zipcodes: &[&str] = if is_zipcode { &["prefix_in", "prefix_not_in"] } else { &[] };
    words.iter().chain(of_zipcodes).copied()
}
