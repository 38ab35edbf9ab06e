//! Time budgets, which only shrink as they are passed down.

use std::time::Duration;

use tokio::time::Instant;

use offerd_base::config::MatchingSettings;

/// The time left for one lead.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    deadline: Instant,
    rules: MatchingSettings,
}

impl Budget {
    /// A budget that ends at `deadline`, divided by these rules.
    pub fn until(deadline: Instant, rules: MatchingSettings) -> Self {
        Self { deadline, rules }
    }

    /// A partner's timeout, or less if too little time remains; `None` when that is too little for an ask.
    pub fn for_partner(&self, timeout: Duration, second_look_to_come: bool) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // First look always gets at least half of the time.
        let reserve = self.rules.second_look_reserve.min(self.rules.deadline / 2);
        let reserve = if second_look_to_come { reserve } else { Duration::ZERO };
        let budget = timeout.min(left.saturating_sub(self.rules.margin()).saturating_sub(reserve));
        (budget >= self.rules.least_budget).then_some(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> MatchingSettings {
        crate::matching::tests::world::rules().matching
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_deadline_loses_a_tenth_to_our_own_work() {
        for (deadline_ms, budget_ms) in [(15_000, 14_900), (1_000, 900), (300, 270), (60, 54)] {
            let deadline = Duration::from_millis(deadline_ms);
            let budget = Budget::until(Instant::now() + deadline, MatchingSettings { deadline, ..rules() });
            let wanted = Some(Duration::from_millis(budget_ms));
            assert_eq!(budget.for_partner(Duration::from_secs(60), false), wanted, "{deadline:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_partner_gets_its_timeout_or_what_is_left() {
        let budget = Budget::until(Instant::now() + rules().deadline, rules());
        assert_eq!(budget.for_partner(Duration::from_secs(8), false), Some(Duration::from_secs(8)));
        assert_eq!(budget.for_partner(Duration::from_secs(60), false), Some(Duration::from_millis(14_900)));
        assert_eq!(budget.for_partner(Duration::from_secs(60), true), Some(Duration::from_millis(9_900)));

        tokio::time::advance(Duration::from_millis(14_820)).await;
        assert_eq!(budget.for_partner(Duration::from_secs(8), false), Some(Duration::from_millis(80)));
        tokio::time::advance(Duration::from_millis(40)).await;
        assert_eq!(budget.for_partner(Duration::from_secs(8), false), None);
    }
}
