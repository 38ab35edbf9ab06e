//! Time as a budget that is handed down and only shrinks.

use std::time::Duration;

use tokio::time::Instant;

/// How the time of a lead is divided; from `matching.*` in the settings.
#[derive(Debug, Clone, Copy)]
pub struct TimeRules {
    /// From the lead's arrival to the complete rate table.
    pub deadline: Duration,
    /// Kept back for our own work at the end.
    pub response_margin: Duration,
    /// Least time that an ask is worth.
    pub least_budget: Duration,
    /// Kept back for second look while it may still be needed.
    pub second_look_reserve: Duration,
}

/// The time left for one lead.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    deadline: Instant,
    rules: TimeRules,
}

impl Budget {
    /// A budget that ends at `deadline`.
    pub fn until(deadline: Instant, rules: TimeRules) -> Self {
        Self { deadline, rules }
    }

    /// When the table must be complete.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What a partner gets: the smaller of its own timeout and what is left less what is kept back; `None` when that is
    /// less than an ask is worth.
    pub fn for_partner(&self, timeout: Duration, second_look_to_come: bool) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // First look always has at least half of the time.
        let reserve = self.rules.second_look_reserve.min(self.rules.deadline / 2);
        let reserve = if second_look_to_come { reserve } else { Duration::ZERO };
        let budget = timeout.min(left.saturating_sub(self.rules.response_margin).saturating_sub(reserve));
        (budget >= self.rules.least_budget).then_some(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> TimeRules {
        TimeRules {
            deadline: Duration::from_secs(15),
            response_margin: Duration::from_millis(100),
            least_budget: Duration::from_millis(50),
            second_look_reserve: Duration::from_secs(5),
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
