//! Conditions on a lead. A rule is a list of alternatives ([`EligibilityRule`]), each a conjunction. This
//! module walks one rule, which defines its meaning; [`super::index`] gives the same result for all at once.

use std::fmt;
use std::sync::Arc;

use chrono::{Datelike, NaiveDate};
use uuid::Uuid;

use super::facts::{Facts, Subject};
use super::zipcode_prefixes::ZipcodePrefixes;
use offerd_model::{AttributeKind, AttributeValue, Enumeration};

/// One condition on one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct EligibilityCondition {
    /// The subject of the condition.
    pub subject: Subject,
    /// The required value.
    pub test: ConditionTest,
    /// Whether it also holds when the subject is not given.
    pub or_missing: bool,
}

/// A test on a value.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionTest {
    /// Any value.
    Present,
    /// A category whose bit is set.
    Category(u64),
    /// A flag with this value.
    Flag(bool),
    /// A number or date (in days) within inclusive bounds.
    Range {
        /// Lower bound.
        min: f64,
        /// Upper bound.
        max: f64,
    },
    /// One of these texts, in lower case; for several texts, at least one.
    Text(Vec<String>),
    /// An array that contains one of these.
    AnyOf(u64),
    /// One of these uuids.
    Uuid(Vec<Uuid>),
    /// A zipcode that begins with one of these.
    Zipcode(Arc<ZipcodePrefixes>),
    /// A value that fails this test.
    Not(Box<ConditionTest>),
}

/// Alternatives, of which one must hold; each is a list of conditions that must all hold.
#[derive(Debug, Clone, PartialEq)]
pub struct EligibilityRule {
    /// The alternatives.
    pub alternatives: Vec<Vec<EligibilityCondition>>,
}

/// Maximum number of alternatives that a rule may expand to; files with more are refused.
pub const MAX_ALTERNATIVES: usize = 64;

/// A bit for each value, by ordinal.
pub(super) fn bits<E: Enumeration>(values: impl IntoIterator<Item = E>) -> u64 {
    values.into_iter().fold(0, |bits, value| bits | 1 << value.ordinal())
}

pub(super) fn too_many(alternatives: usize) -> String {
    format!("expands to {alternatives} alternatives; at most {MAX_ALTERNATIVES} are allowed")
}

impl EligibilityRule {
    /// A rule that holds for every lead.
    pub fn always() -> Self {
        Self { alternatives: vec![Vec::new()] }
    }

    /// This rule and all `conditions`.
    #[must_use]
    pub fn and_all(mut self, conditions: &[EligibilityCondition]) -> Self {
        for alternative in &mut self.alternatives {
            alternative.extend_from_slice(conditions);
        }
        self
    }

    /// Both rules.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let pairs = self.alternatives.iter().flat_map(|one| {
            other.alternatives.iter().map(move |two| one.iter().chain(two).cloned().collect())
        });
        Self { alternatives: pairs.collect() }
    }

    /// Any of several rules.
    pub fn any(rules: Vec<Self>) -> Self {
        Self { alternatives: rules.into_iter().flat_map(|rule| rule.alternatives).collect() }
    }

    /// Whether the rule holds.
    pub fn holds(&self, facts: &Facts) -> bool {
        self.holds_where(|condition| condition.met_by(facts))
    }

    /// Whether the rule holds if conditions are met as `is_met` says.
    pub(super) fn holds_where(&self, is_met: impl Fn(&EligibilityCondition) -> bool) -> bool {
        self.alternatives.iter().any(|conditions| conditions.iter().all(&is_met))
    }

    /// Whether the rule could hold if the lead gave more attributes: missing ones count as met.
    pub fn could_hold(&self, facts: &Facts) -> bool {
        self.holds_where(|one| facts.get(&one.subject).is_none_or(|value| one.test.accepts(value)))
    }

    /// The failing conditions of the nearest alternative; empty when the rule holds.
    pub fn failures(&self, facts: &Facts) -> Vec<&EligibilityCondition> {
        let fails = |condition: &&EligibilityCondition| !condition.met_by(facts);
        let nearest = self.alternatives.iter().min_by_key(|all| all.iter().filter(fails).count());
        nearest.into_iter().flatten().filter(fails).collect()
    }
}

impl EligibilityCondition {
    /// A condition that fails when the subject is not given.
    pub fn new(subject: Subject, test: ConditionTest) -> Self {
        Self { subject, test, or_missing: false }
    }

    /// A condition that holds when the subject is not given.
    pub fn or_missing(subject: Subject, test: ConditionTest) -> Self {
        Self { subject, test, or_missing: true }
    }

    /// Whether the lead meets it.
    pub fn met_by(&self, facts: &Facts) -> bool {
        self.accepts(facts.get(&self.subject))
    }

    /// Whether a value, or its absence, meets the condition.
    pub fn accepts(&self, value: Option<AttributeValue>) -> bool {
        value.map_or(self.or_missing, |value| self.test.accepts(value))
    }

    /// The actual value in words, with personal values masked.
    pub fn found(&self, facts: &Facts) -> String {
        match facts.get(&self.subject) {
            None => "not given".to_owned(),
            Some(_) if self.subject.is_masked() => "given (personal)".to_owned(),
            Some(value) => shown(value, self.subject.kind()),
        }
    }
}

impl ConditionTest {
    /// The negated test.
    #[must_use]
    pub fn refused(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// The test without negation.
    pub fn named(&self) -> &Self {
        if let Self::Not(refused) = self { refused } else { self }
    }

    /// Whether a value passes. A value of another kind than the test's never does.
    pub fn accepts(&self, value: AttributeValue) -> bool {
        match (self, value) {
            (Self::Present, _) => true,
            (Self::Category(wanted), AttributeValue::Category(ordinal)) => wanted >> ordinal & 1 == 1,
            (Self::Flag(wanted), AttributeValue::Flag(flag)) => *wanted == flag,
            (Self::Range { min, max }, AttributeValue::Number(number)) => *min <= number && number <= *max,
            (Self::Range { min, max }, AttributeValue::Date(date)) => (*min..=*max).contains(&days(date)),
            (Self::Text(words), AttributeValue::Text(text)) => has_text(words, text),
            (Self::Text(words), AttributeValue::Texts(texts)) => texts.iter().any(|one| has_text(words, one)),
            (Self::AnyOf(wanted), AttributeValue::Set(set)) => wanted & set != 0,
            (Self::Uuid(wanted), AttributeValue::Uuid(uuid)) => wanted.contains(&uuid),
            (Self::Zipcode(wanted), AttributeValue::Number(zipcode)) => wanted.contains(zipcode),
            (Self::Not(refused), value) => !refused.accepts(value),
            _ => false,
        }
    }
}

fn has_text(texts: &[String], text: &str) -> bool {
    texts.contains(&text.to_lowercase())
}

/// A date as a number for range comparisons.
pub fn days(date: NaiveDate) -> f64 {
    f64::from(date.num_days_from_ce())
}

/// A value as `explain` displays it.
fn shown(value: AttributeValue, kind: AttributeKind) -> String {
    match (value, kind) {
        (AttributeValue::Category(nth), AttributeKind::Category(names)) => names[usize::from(nth)].into(),
        (AttributeValue::Set(set), AttributeKind::Set(names)) => listed(set, names),
        (AttributeValue::Flag(flag), _) => flag.to_string(),
        (AttributeValue::Number(number), _) => figure(number),
        (AttributeValue::Date(date), _) => date.to_string(),
        (AttributeValue::Text(text), _) => text.to_owned(),
        (AttributeValue::Texts(texts), _) => texts.join(", "),
        (AttributeValue::Uuid(uuid), _) => uuid.to_string(),
        (AttributeValue::Category(_) | AttributeValue::Set(_), _) => "given".to_owned(),
    }
}

fn listed(set: u64, names: &[&str]) -> String {
    let chosen = names.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, name)| *name);
    chosen.collect::<Vec<_>>().join(", ")
}

fn figure(number: f64) -> String {
    format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for EligibilityCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.subject.kind();
        let names: &[&str] = match kind {
            AttributeKind::Category(names) | AttributeKind::Set(names) => names,
            _ => &[],
        };
        let is_refused = matches!(self.test, ConditionTest::Not(_));
        let word = match kind {
            AttributeKind::Set(_) | AttributeKind::Texts if is_refused => "has none of",
            AttributeKind::Set(_) | AttributeKind::Texts => "has one of",
            _ if is_refused => "not in",
            _ => "in",
        };
        write!(f, "`{}` ", self.subject.path())?;
        match self.test.named() {
            ConditionTest::Category(wanted) if wanted.count_ones() * 2 > names.len() as u32 => {
                write!(f, "not in {}", listed(!wanted, names))?;
            }
            ConditionTest::Category(set) | ConditionTest::AnyOf(set) => {
                write!(f, "{word} {}", listed(*set, names))?
            }
            ConditionTest::Text(texts) => write!(f, "{word} {}", texts.join(", "))?,
            ConditionTest::Uuid(uuids) => {
                let uuids: Vec<String> = uuids.iter().map(Uuid::to_string).collect();
                write!(f, "{word} {}", uuids.join(", "))?;
            }
            ConditionTest::Zipcode(refused) if is_refused => write!(f, "does not begin with {refused}")?,
            ConditionTest::Zipcode(wanted) => write!(f, "begins with {wanted}")?,
            ConditionTest::Flag(wanted) => write!(f, "is {wanted}")?,
            ConditionTest::Range { min, max } => f.write_str(&range(*min, *max, kind))?,
            ConditionTest::Present | ConditionTest::Not(_) => f.write_str("given")?,
        }
        if self.or_missing { f.write_str(" (or not given)") } else { Ok(()) }
    }
}

fn range(min: f64, max: f64, kind: AttributeKind) -> String {
    let bound = |number: f64| match kind {
        AttributeKind::Date => NaiveDate::from_num_days_from_ce_opt(number as i32)
            .map_or_else(|| figure(number), |date| date.to_string()),
        _ => figure(number),
    };
    match (min.is_finite(), max.is_finite()) {
        (true, true) => format!("from {} to {}", bound(min), bound(max)),
        (true, false) => format!("at least {}", bound(min)),
        (false, true) => format!("at most {}", bound(max)),
        (false, false) => "any number".to_owned(),
    }
}
