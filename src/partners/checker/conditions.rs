//! Checks of needs and eligibility tables: from attribute paths and words to conditions.

use chrono::NaiveDate;

use super::Checker;
use crate::declaration::{did_you_mean, nearest};
use crate::model::AttributeKind;
use crate::partners::declared::{self, Eligibility};
use crate::partners::eligibility::{Condition, MAX_ALTERNATIVES, Rule, Test, days};
use crate::partners::facts::Subject;
use crate::planted::{Planted, planted};

impl Checker<'_> {
    /// Checks the attributes that a lead must have.
    pub fn needs(&mut self, needs: &[String]) -> Rule {
        let mut conditions = Vec::new();
        for (nth, path) in needs.iter().enumerate() {
            if let Some(subject) = self.subject(&format!("needs[{nth}]"), path) {
                conditions.push(Condition::new(subject, Test::Present));
            }
        }
        Rule::always().and_all(&conditions)
    }

    /// Checks an eligibility table standing under `eligibility`; `None` when it has faults.
    pub fn rule(&mut self, eligibility: &Eligibility) -> Option<Rule> {
        let before = self.faults.len();
        let rule = self.within("eligibility", |check| check.conjunction(eligibility));
        (self.faults.len() == before).then_some(rule)
    }

    fn conjunction(&mut self, eligibility: &Eligibility) -> Rule {
        let mut conditions = Vec::new();
        for (path, condition) in &eligibility.all {
            let key = format!("\"{path}\"");
            let key = if path.contains('.') { key.as_str() } else { path.as_str() };
            if let Some(subject) = self.subject(key, path) {
                conditions.extend(self.within(key, |check| check.condition(subject, condition)));
            }
        }
        let mut rule = Rule::always().and_all(&conditions);
        let mut either = Vec::new();
        for (nth, one) in eligibility.any.iter().enumerate() {
            either.push(self.within(&format!("any[{nth}]"), |check| check.conjunction(one)));
        }
        if !either.is_empty() {
            let either = Rule::any(either);
            let unfolded = rule.alternatives().len() * either.alternatives().len();
            if unfolded > MAX_ALTERNATIVES {
                self.at(
                    "any",
                    format!("unfolds to {unfolded} alternatives, at most {MAX_ALTERNATIVES} are kept"),
                );
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
            self.at(key, format!("`{path}` is no attribute of a lead{hint}"));
        }
        subject
    }

    /// The tests of one declared condition.
    fn condition(&mut self, subject: Subject, declared: &declared::Condition) -> Vec<Condition> {
        let mut tests = Vec::new();
        let kind = subject.kind();
        if declared.present {
            tests.push(Test::Present);
        }
        match kind {
            AttributeKind::Category(names) => {
                tests.extend(self.mask("in", declared.r#in.as_ref(), names).map(Test::Category));
                tests.extend(
                    self.mask("not_in", declared.not_in.as_ref(), names)
                        .map(|mask| Test::Category(!mask & every(names))),
                );
            }
            AttributeKind::Text => {
                tests.extend(self.texts("in", declared.r#in.as_ref()).map(Test::Text));
                tests.extend(self.texts("not_in", declared.not_in.as_ref()).map(Test::NotText));
            }
            AttributeKind::Set(names) => {
                tests.extend(self.mask("any_of", declared.any_of.as_ref(), names).map(Test::AnyOf));
                tests.extend(self.mask("none_of", declared.none_of.as_ref(), names).map(Test::NoneOf));
            }
            AttributeKind::Flag => tests.extend(declared.is.map(Test::Flag)),
            AttributeKind::Number | AttributeKind::Date => {
                let min = self.bound("min", declared.min.as_ref(), kind);
                let max = self.bound("max", declared.max.as_ref(), kind);
                if min.is_some() || max.is_some() {
                    let (min, max) = (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
                    let max = if planted(Planted::RangeWithoutEnd) { max.next_down() } else { max };
                    if min > max {
                        self.at("min", "is greater than `max`, so no value fits");
                    }
                    tests.push(Test::Range { min, max });
                }
            }
        }
        self.wrong_words(kind, declared);
        if tests.is_empty() {
            self.at("", format!("must have a condition: {}", words_for(kind).join(", ")));
        }
        tests.into_iter().map(|test| Condition { subject, test, or_missing: declared.or_missing }).collect()
    }

    /// Faults for words that do not go with the kind of attribute.
    fn wrong_words(&mut self, kind: AttributeKind, declared: &declared::Condition) {
        let given = [
            ("in", declared.r#in.is_some()),
            ("not_in", declared.not_in.is_some()),
            ("any_of", declared.any_of.is_some()),
            ("none_of", declared.none_of.is_some()),
            ("is", declared.is.is_some()),
            ("min", declared.min.is_some()),
            ("max", declared.max.is_some()),
        ];
        let wanted = words_for(kind);
        for (word, _) in given.iter().filter(|(word, given)| *given && !wanted.contains(word)) {
            self.at(word, format!("does not go with this attribute; wanted: {}", wanted.join(", ")));
        }
    }

    fn mask(&mut self, key: &str, values: Option<&Vec<String>>, names: &[&str]) -> Option<u64> {
        let values = values?;
        let mut mask = 0;
        for (nth, value) in values.iter().enumerate() {
            match names.iter().position(|name| name == value) {
                Some(ordinal) => mask |= 1_u64 << ordinal,
                None => self.at(
                    &format!("{key}[{nth}]"),
                    format!("must be one of {}, got `{value}`", names.join(", ")),
                ),
            }
        }
        if values.is_empty() {
            self.at(key, "is empty, so it means nothing");
        }
        Some(mask)
    }

    fn texts(&mut self, key: &str, values: Option<&Vec<String>>) -> Option<Vec<String>> {
        let values = values?;
        if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
            self.at(key, "must be texts that are not empty");
        }
        Some(values.iter().map(|value| value.to_lowercase()).collect())
    }

    fn bound(&mut self, key: &str, value: Option<&toml::Value>, kind: AttributeKind) -> Option<f64> {
        let value = value?;
        let number = match (kind, value) {
            (AttributeKind::Number, toml::Value::Integer(number)) => Some(*number as f64),
            (AttributeKind::Number, toml::Value::Float(number)) if number.is_finite() => Some(*number),
            (AttributeKind::Date, value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.parse::<NaiveDate>().ok().map(days)
            }
            _ => None,
        };
        if number.is_none() {
            let wanted = if matches!(kind, AttributeKind::Date) { "a date `YYYY-MM-DD`" } else { "a number" };
            self.at(key, format!("must be {wanted}, got `{value}`"));
        }
        number
    }
}

fn every(names: &[&str]) -> u64 {
    u64::MAX >> (64 - names.len())
}

fn words_for(kind: AttributeKind) -> &'static [&'static str] {
    match kind {
        AttributeKind::Category(_) | AttributeKind::Text => &["in", "not_in", "present"],
        AttributeKind::Set(_) => &["any_of", "none_of", "present"],
        AttributeKind::Flag => &["is", "present"],
        AttributeKind::Number | AttributeKind::Date => &["min", "max", "present"],
    }
}
