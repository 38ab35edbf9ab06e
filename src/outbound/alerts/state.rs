//! The state of an alert, and the pure machine that advances it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::condition::Labels;

/// An alert: a rule with its labels, and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// The name of its rule.
    pub name: String,
    /// The subject, by label.
    pub labels: Vec<(String, String)>,
    /// What happened, in words, at the last evaluation at which its condition held.
    pub summary: String,
    /// When its condition began to hold, in Unix milliseconds.
    pub since_ms: i64,
    /// When it fired, if it has.
    pub fired_ms: Option<i64>,
    /// When it ended, if it has.
    pub ended_ms: Option<i64>,
    /// When its condition last held.
    pub held_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AlertChange {
    Fired,
    Ended,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ConditionEvaluation<'l> {
    /// Whether the condition holds; `None` if unknown.
    pub holds: Option<bool>,
    /// What happened, in words.
    pub summary: &'l str,
    /// The time, in Unix milliseconds.
    pub now_ms: i64,
    /// How long it must hold before it fires.
    pub wait: Duration,
    /// How long it keeps firing afterwards.
    pub keep_firing: Duration,
}

impl Alert {
    pub(super) fn begun(name: &str, labels: Labels, summary: &str, now_ms: i64) -> Self {
        let (name, summary) = (name.to_owned(), summary.to_owned());
        Self { name, labels, summary, since_ms: now_ms, fired_ms: None, ended_ms: None, held_ms: now_ms }
    }

    pub(super) fn fingerprint(&self) -> String {
        fingerprint(&self.name, &self.labels)
    }

    /// Whether it has fired and not ended.
    pub fn is_firing(&self) -> bool {
        self.fired_ms.is_some() && self.ended_ms.is_none()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended_ms.is_some()
    }
}

/// The unique id of an alert, in 16 digits like Alertmanager's.
pub(super) fn fingerprint(name: &str, labels: &Labels) -> String {
    let mut digest = Sha256::new();
    digest.update(name);
    for (label, value) in labels {
        digest.update(format!("\0{label}\u{1}{value}"));
    }
    const_hex::encode(&digest.finalize()[..8])
}

pub(super) fn next(
    known: Option<Alert>,
    name: &str,
    labels: &Labels,
    evaluation: &ConditionEvaluation<'_>,
) -> (Option<Alert>, Option<AlertChange>) {
    let going_on = known.as_ref().is_some_and(|alert| !alert.has_ended());
    match (evaluation.holds, going_on) {
        (Some(true), _) => {
            let begun = || Alert::begun(name, labels.clone(), evaluation.summary, evaluation.now_ms);
            let mut alert = known.filter(|_| going_on).unwrap_or_else(begun);
            (alert.held_ms, alert.summary) = (evaluation.now_ms, evaluation.summary.to_owned());
            let fires = alert.fired_ms.is_none() && passed(alert.since_ms, evaluation) >= evaluation.wait;
            if fires {
                alert.fired_ms = Some(evaluation.now_ms);
            }
            (Some(alert), fires.then_some(AlertChange::Fired))
        }
        // An unknown condition changes nothing, nor does an absent one end a finished alert again.
        (None, _) | (_, false) => (known, None),
        (Some(false), true) => {
            let Some(mut alert) = known else { return (None, None) };
            if !alert.is_firing() {
                return (None, None);
            }
            let over = passed(alert.held_ms, evaluation) >= evaluation.keep_firing;
            if over {
                alert.ended_ms = Some(evaluation.now_ms);
            }
            (Some(alert), over.then_some(AlertChange::Ended))
        }
    }
}

/// The time since `at_ms`; zero if the clock was set back.
fn passed(at_ms: i64, evaluation: &ConditionEvaluation<'_>) -> Duration {
    Duration::from_millis(u64::try_from(evaluation.now_ms - at_ms).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates these conditions, each at its second; returns the changes with their times.
    fn run(looks: &[(i64, Option<bool>)], wait: u64, keep: u64) -> Vec<(i64, AlertChange)> {
        let mut alert = None;
        let mut changes = Vec::new();
        for (second, holds) in looks {
            let evaluation = ConditionEvaluation {
                holds: *holds,
                summary: "",
                now_ms: second * 1000,
                wait: Duration::from_secs(wait),
                keep_firing: Duration::from_secs(keep),
            };
            let (after, change) = next(alert, "x", &Vec::new(), &evaluation);
            alert = after;
            changes.extend(change.map(|change| (*second, change)));
        }
        changes
    }

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    #[test]
    fn it_fires_once_when_its_condition_has_held_long_enough_and_ends_once() {
        let looks = [(0, YES), (30, YES), (60, YES), (90, YES), (120, NO), (150, NO)];
        assert_eq!(run(&looks, 60, 0), [(60, AlertChange::Fired), (120, AlertChange::Ended)]);
    }

    #[test]
    fn what_holds_for_a_moment_only_is_not_told() {
        assert_eq!(run(&[(0, YES), (30, NO), (45, YES), (90, YES)], 60, 0), []);
    }

    #[test]
    fn what_is_not_known_changes_nothing() {
        assert_eq!(run(&[(0, YES), (30, None), (60, YES), (90, None)], 60, 0), [(60, AlertChange::Fired)]);
    }

    #[test]
    fn it_goes_on_for_a_while_where_it_is_to_be_kept() {
        let looks = [(0, YES), (10, NO), (20, YES), (30, NO), (319, NO), (320, NO)];
        assert_eq!(run(&looks, 0, 300), [(0, AlertChange::Fired), (320, AlertChange::Ended)]);
    }

    #[test]
    fn one_that_has_ended_begins_anew() {
        let looks = [(0, YES), (10, NO), (20, YES)];
        assert_eq!(
            run(&looks, 0, 0),
            [(0, AlertChange::Fired), (10, AlertChange::Ended), (20, AlertChange::Fired)]
        );
    }
}
