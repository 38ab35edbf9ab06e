//! How much of all endpoints may be kept out at once: when most of a panel fails, the cause is more likely on our side.

use parking_lot::Mutex;

/// Limits of all breakers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PanelRules {
    /// Share of all endpoints that may be ejected at once, in percent, 100 at most. Unless it is 0, one always may: else a small panel had no breakers.
    pub max_ejected_percent: u8,
    /// Breakers count and log, and refuse nothing.
    pub simulate_only: bool,
}

/// All endpoints, and how many of them are ejected.
#[derive(Debug)]
pub(super) struct Panel(Mutex<Count>);

#[derive(Debug)]
struct Count {
    rules: PanelRules,
    endpoints: u64,
    ejected: u64,
}

impl Panel {
    pub(super) fn new(rules: PanelRules) -> Self {
        Self(Mutex::new(Count { rules, endpoints: 0, ejected: 0 }))
    }

    /// Other limits from now on. Endpoints that are ejected stay so, even where fewer may be now.
    pub(super) fn set_rules(&self, rules: PanelRules) {
        self.0.lock().rules = rules;
    }

    /// Whether breakers only count.
    pub(super) fn simulates(&self) -> bool {
        self.0.lock().rules.simulate_only
    }

    /// An endpoint has come.
    pub(super) fn join(&self) {
        self.0.lock().endpoints += 1;
    }

    /// An endpoint has gone.
    pub(super) fn leave(&self, ejected: bool) {
        let mut count = self.0.lock();
        count.endpoints -= 1;
        count.ejected -= u64::from(ejected);
    }

    /// Takes an endpoint out, if there is room.
    pub(super) fn eject(&self) -> bool {
        let mut count = self.0.lock();
        let percent = u64::from(count.rules.max_ejected_percent);
        let most = (count.endpoints * percent / 100).max(percent.min(1));
        let room = count.ejected < most;
        count.ejected += u64::from(room);
        room
    }

    /// An endpoint that was taken out is back.
    pub(super) fn restore(&self) {
        self.0.lock().ejected -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(max_ejected_percent: u8, endpoints: usize) -> Panel {
        let panel = Panel::new(PanelRules { max_ejected_percent, simulate_only: false });
        (0..endpoints).for_each(|_| panel.join());
        panel
    }

    #[test]
    fn no_more_than_the_share_is_ejected() {
        let panel = panel(50, 5);
        assert!(panel.eject());
        assert!(panel.eject());
        assert!(!panel.eject());
        panel.restore();
        assert!(panel.eject());
        panel.leave(true);
        assert!(panel.eject());
    }

    #[test]
    fn other_limits_hold_for_the_lanes_to_come() {
        let panel = panel(25, 4);
        assert!(panel.eject());
        assert!(!panel.eject());
        panel.set_rules(PanelRules { max_ejected_percent: 50, simulate_only: true });
        assert!(panel.eject() && !panel.eject() && panel.simulates());
    }

    #[test]
    fn of_a_small_panel_one_may_go_unless_none_may() {
        assert!(panel(10, 1).eject());
        assert!(!panel(0, 1).eject());
    }
}
