//! Limits of all endpoints together: on ejected ones, since the cause is more likely on our side when most of
//! the group fails, and on the memory of answers. An endpoint is ejected from the first opening of its
//! breaker until it closes.

use std::time::Duration;

use metrics::gauge;
use parking_lot::Mutex;

use offerd_base::telemetry::metrics::WIRE_ANSWER_BYTES;

/// Limits of all endpoints together: their breakers, and the memory of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRules {
    /// Maximum percentage of endpoints that may be ejected at once. Unless 0, one endpoint always may.
    pub max_open_percent: u8,
    /// Whether breakers only count and log, and refuse nothing.
    pub breakers_only_log: bool,
    /// Maximum open time of every breaker, if its own rules allow more.
    pub open_ceiling: Duration,
    /// Maximum bytes of answers under way.
    pub answer_bytes: usize,
}

#[derive(Debug)]
pub(super) struct EndpointGroup(Mutex<EndpointGroupCount>);

#[derive(Debug)]
struct EndpointGroupCount {
    rules: GroupRules,
    endpoints: u64,
    ejected: u64,
    /// Bytes of answers under way.
    held: usize,
}

impl EndpointGroup {
    pub(super) fn new(rules: GroupRules) -> Self {
        Self(Mutex::new(EndpointGroupCount { rules, endpoints: 0, ejected: 0, held: 0 }))
    }

    /// Replaces the limits. Ejected endpoints stay ejected, even beyond a lower limit.
    pub(super) fn set_rules(&self, rules: GroupRules) {
        self.0.lock().rules = rules;
    }

    pub(super) fn rules(&self) -> GroupRules {
        self.0.lock().rules
    }

    pub(super) fn join(&self) {
        self.0.lock().endpoints += 1;
    }

    pub(super) fn leave(&self, ejected: bool) {
        let mut count = self.0.lock();
        count.endpoints -= 1;
        count.ejected -= u64::from(ejected);
    }

    pub(super) fn try_eject(&self) -> bool {
        let mut count = self.0.lock();
        let percent = u64::from(count.rules.max_open_percent);
        let most = (count.endpoints * percent / 100).max(percent.min(1));
        let room = count.ejected < most;
        count.ejected += u64::from(room);
        room
    }

    pub(super) fn restore(&self) {
        self.0.lock().ejected -= 1;
    }

    /// Adds `bytes`. Returns whether `own` is at most what was free; the caller releases the bytes either way.
    pub(super) fn hold(&self, bytes: usize, own: usize) -> bool {
        let mut count = self.0.lock();
        let before = count.held;
        count.held += bytes;
        gauge!(WIRE_ANSWER_BYTES).increment(bytes as f64);
        own <= count.rules.answer_bytes.saturating_sub(before)
    }

    pub(super) fn release(&self, bytes: usize) {
        self.0.lock().held -= bytes;
        gauge!(WIRE_ANSWER_BYTES).decrement(bytes as f64);
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.0.lock().held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(max_open_percent: u8, breakers_only_log: bool) -> GroupRules {
        GroupRules { max_open_percent, breakers_only_log, open_ceiling: Duration::MAX, answer_bytes: 1 }
    }

    fn group(max_open_percent: u8, endpoints: usize) -> EndpointGroup {
        let group = EndpointGroup::new(rules(max_open_percent, false));
        (0..endpoints).for_each(|_| group.join());
        group
    }

    #[test]
    fn no_more_than_the_share_is_ejected() {
        let group = group(50, 5);
        assert!(group.try_eject());
        assert!(group.try_eject());
        assert!(!group.try_eject());
        group.restore();
        assert!(group.try_eject());
        group.leave(true);
        assert!(group.try_eject());
    }

    #[test]
    fn other_limits_hold_for_later_endpoints() {
        let group = group(25, 4);
        assert!(group.try_eject());
        assert!(!group.try_eject());
        group.set_rules(rules(50, true));
        assert!(group.try_eject() && !group.try_eject() && group.rules().breakers_only_log);
    }

    #[test]
    fn of_a_small_group_one_may_go_unless_none_may() {
        assert!(group(10, 1).try_eject());
        assert!(!group(0, 1).try_eject());
    }
}
