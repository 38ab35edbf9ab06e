//! Rules that change the same thing of the same leads: what either does could not be told from what the other does.

use std::collections::BTreeSet;

use super::rule::Rule;
use crate::declaration::Fault;
use crate::rate_table::treatment::Change;

/// A fault for each two rules that overlap.
pub(super) fn faults(rules: &[Rule]) -> Vec<Fault> {
    let pairs =
        rules.iter().enumerate().flat_map(|(nth, one)| rules[..nth].iter().map(move |other| (one, other)));
    pairs.filter_map(|(one, other)| fault(one, other)).collect()
}

fn fault(one: &Rule, other: &Rule) -> Option<Fault> {
    let same = shared(one, other)?;
    // Whatever tags two rules want, a lead may have them all.
    let message = format!(
        "changes {same} of leads of which `{}` may change it too: let one end before the other starts, or give them other `companies`",
        other.name
    );
    let meets = at_one_time(one, other) && of_one_company(one, other);
    meets.then(|| Fault { file: Some(one.file.clone()), line: None, key: "variants".to_owned(), message })
}

/// What both change.
fn shared(one: &Rule, other: &Rule) -> Option<&'static str> {
    let changes = |rule: &'_ Rule| -> BTreeSet<&'static str> {
        rule.variants.iter().flat_map(|variant| &variant.changes).map(Change::subject).collect()
    };
    changes(one).intersection(&changes(other)).next().copied()
}

fn at_one_time(one: &Rule, other: &Rule) -> bool {
    let is_before = |first: &Rule, second: &Rule| {
        first.ends.zip(second.starts).is_some_and(|(ends, starts)| ends <= starts)
    };
    !is_before(one, other) && !is_before(other, one)
}

fn of_one_company(one: &Rule, other: &Rule) -> bool {
    let of_all = one.companies.is_empty() || other.companies.is_empty();
    of_all || one.companies.keys().any(|company| other.companies.contains_key(company))
}
