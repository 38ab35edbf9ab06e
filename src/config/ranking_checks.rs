//! What is checked of the rankings.

use std::collections::BTreeMap;
use std::time::Duration;

use super::raw::{RawNamedRanking, RawRanking};
use super::settings::{NamedRanking, RankingSettings};
use super::values::{CENTURY, DAY, Found, SECOND, count, duration, fault};
use crate::declaration::quoted;

/// The greatest weight: a part that is raised further decides alone.
const WEIGHT_MAX: f64 = 4.0;

/// The least weight but for 0: a part that is raised less changes no score that anybody could tell from another.
const WEIGHT_MIN: f64 = 0.001;

pub(super) fn ranking(raw: RawRanking, found: &mut Found) -> RankingSettings {
    let least = figure("ranking.least", raw.least, (1e-6, 1.0), found);
    let half_life = Duration::from(raw.half_life);
    if !half_life.is_zero() {
        duration("ranking.half_life", raw.half_life, DAY, CENTURY, found);
    }
    let mut named: BTreeMap<String, NamedRanking> =
        raw.named.into_iter().map(|(name, raw)| named(name, raw, found)).collect();
    named_twice(&named, found);
    if let Some(default) = Some(&raw.default).filter(|name| !name.is_empty() && !named.contains_key(*name)) {
        if default == RankingSettings::EXPECTED_VALUE {
            named.insert(default.clone(), NamedRanking::expected_value());
        } else {
            let there_are: Vec<String> = named.keys().map(|name| format!("`{name}`")).collect();
            let there_are = if there_are.is_empty() { "none".to_owned() } else { there_are.join(", ") };
            let built_in = RankingSettings::EXPECTED_VALUE;
            let message = format!(
                "must be empty, `{built_in}` or a ranking of `ranking.named`, of which there are: {there_are}; got `{default}`"
            );
            fault("ranking.default", message, found);
        }
    }
    let matures_after =
        duration("ranking.matures_after", raw.matures_after, Duration::ZERO, 365 * DAY, found);
    let window = duration("ranking.window", raw.window, DAY, 5 * 365 * DAY, found);
    if window <= matures_after {
        let message =
            format!("must be more than `ranking.matures_after` ({matures_after:?}), or no click ever counts");
        fault("ranking.window", format!("{message}; got {window:?}"), found);
    }
    RankingSettings {
        default: Some(raw.default).filter(|name| !name.is_empty()),
        named,
        prior_rate: figure("ranking.prior_rate", raw.prior_rate, (1e-6, 0.999_999), found),
        prior_strength: figure("ranking.prior_strength", raw.prior_strength, (1.0, 100_000.0), found),
        least,
        most: figure("ranking.most", raw.most, (least, 1.0), found),
        unrated: figure("ranking.unrated", raw.unrated, (0.0, 100.0), found),
        matures_after,
        half_life: Some(half_life).filter(|time| !time.is_zero()),
        window,
        refresh: duration("ranking.refresh", raw.refresh, SECOND, DAY, found),
        cohorts: count("ranking.cohorts", raw.cohorts, 1_000, 100_000_000, found),
    }
}

/// A ranking, whose weights are in bounds and not all 0.
fn named(name: String, raw: RawNamedRanking, found: &mut Found) -> (String, NamedRanking) {
    let place = format!("ranking.named.{}", quoted(&name));
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        let message = "must be a name of letters, digits, `_` and `-`, 64 at most";
        fault(&place, format!("{message}, got `{name}`"), found);
    }
    if name == RankingSettings::EXPECTED_VALUE {
        let message = "is built in, and always means the same: give this ranking another name";
        fault(&place, message.to_owned(), found);
    }
    let mut weight = |key: &str, weight: f64| {
        if weight != 0.0 && !(WEIGHT_MIN..=WEIGHT_MAX).contains(&weight) {
            let message = format!("must be 0, or from {WEIGHT_MIN} to {WEIGHT_MAX}, got {weight:?}");
            fault(&format!("{place}.{key}"), message, found);
        }
        weight
    };
    let ranking = NamedRanking {
        interest: weight("interest", raw.interest),
        conversion: weight("conversion", raw.conversion),
        payout: weight("payout", raw.payout),
        consumer_rating: weight("consumer_rating", raw.consumer_rating),
        companies: raw.companies,
    };
    if [ranking.interest, ranking.conversion, ranking.payout, ranking.consumer_rating] == [0.0; 4] {
        fault(&place, "must have a weight above 0, or every offer has the same score".to_owned(), found);
    }
    (name, ranking)
}

/// A company's offers are ranked by one ranking.
fn named_twice(named: &BTreeMap<String, NamedRanking>, found: &mut Found) {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, ranking) in named {
        for company in &ranking.companies {
            if let Some(other) = taken.insert(company, name) {
                let key = format!("ranking.named.{}.companies", quoted(name));
                fault(&key, format!("names `{company}`, which `ranking.named.{other}` names too"), found);
            }
        }
    }
}

fn figure(key: &str, figure: f64, (least, most): (f64, f64), found: &mut Found) -> f64 {
    if !(least..=most).contains(&figure) {
        fault(key, format!("must be from {least} to {most}, got {figure}"), found);
        return least;
    }
    figure
}
