//! How a partner would have answered with more time, estimated from asks with limited waits.
//!
//! An ask that timed out only shows that its answer takes longer: it is censored. So the time to an answer is
//! estimated by the product limit of Kaplan and Meier (J. Am. Stat. Assoc. 53, 1958). The share that ended
//! with offers by a time is the cumulative incidence of Aalen and Johansen (Scand. J. Stat. 5, 1978). An ask
//! watched beyond its timeout enters from the timeout on (late entry), beside the ask censored there.
//!
//! Intervals are 95 %, by Greenwood's variance (The natural duration of cancer, 1926), extended to several
//! ways to end by the delta method (Marubini and Valsecchi, Analysing Survival Data, 1995, ch. 10), on the
//! log(−log) scale of the remaining share (Kalbfleisch and Prentice, 1980), which keeps them between 0 and 1.
//! Where no ask ended, the interval is the exact one for zero out of n.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use offerd_base::partner_health::EndingKind;

/// Standard deviations on each side of a 95 % interval.
const Z: f64 = 1.959_964;

/// Probability in each tail of a 95 % interval.
const TAIL: f64 = 0.025;

/// A time up to a `SLACK`th beyond the last observation counts as seen, because a watch ends by its clock.
const SLACK: u32 = 100;

/// `count` asks with the same observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Start of the observation, microseconds from the ask; `None` for the ask itself.
    pub from_us: Option<u32>,
    /// End of the observation, microseconds from the ask.
    pub to_us: u32,
    /// How the asks ended then. A timed-out ask has no end: it comes later, or never.
    pub end: EndingKind,
    /// The number of asks.
    pub count: u64,
}

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimated {
    /// The estimate.
    pub share: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// How asks ended over time.
#[derive(Debug, Clone, Default)]
pub struct Survival {
    steps: Vec<SurvivalStep>,
    /// End of the last observation, microseconds.
    pub seen_to_us: u32,
    at_risk: Vec<(u32, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct SurvivalStep {
    at_us: u32,
    at_risk: f64,
    offered: f64,
    other: f64,
    /// Share that did not end; exactly 0 if all ended.
    stays: f64,
    answered: f64,
    /// Share of all asks still pending before.
    pending_before: f64,
    incidence: f64,
    /// Share without an answer so far, disregarding errors.
    unanswered: f64,
}

#[derive(Debug, Default)]
struct Tick {
    entered: u64,
    offered: u64,
    declined: u64,
    failed: u64,
    left: u64,
}

impl FromIterator<Observed> for Survival {
    fn from_iter<O: IntoIterator<Item = Observed>>(observed: O) -> Self {
        let mut ticks: BTreeMap<u32, Tick> = BTreeMap::new();
        let mut at_risk = 0;
        for Observed { from_us, to_us, end, count } in observed {
            match from_us {
                Some(from) => ticks.entry(from.min(to_us)).or_default().entered += count,
                None => at_risk += count,
            }
            let tick = ticks.entry(to_us).or_default();
            let ends = match end {
                EndingKind::Offered => &mut tick.offered,
                EndingKind::Declined => &mut tick.declined,
                EndingKind::Failed => &mut tick.failed,
                EndingKind::TimedOut => &mut tick.left,
            };
            *ends += count;
        }
        Self::by(&ticks, at_risk)
    }
}

impl Survival {
    fn by(ticks: &BTreeMap<u32, Tick>, mut at_risk: u64) -> Self {
        let (mut pending, mut incidence, mut unanswered) = (1.0, 0.0, 1.0);
        let mut survival = Self { at_risk: vec![(0, at_risk)], ..Self::default() };
        for (&at_us, tick) in ticks {
            let ended = tick.offered + tick.declined + tick.failed;
            // An ask that enters at the time at which others end was not under observation before.
            if ended > 0 && at_risk > 0 {
                let of = at_risk as f64;
                let offered = tick.offered as f64 / of;
                let other = (tick.declined + tick.failed) as f64 / of;
                let answered = (tick.offered + tick.declined) as f64 / of;
                let pending_before = pending;
                incidence += pending * offered;
                let stays = at_risk.saturating_sub(ended) as f64 / of;
                pending *= stays;
                unanswered *= 1.0 - answered;
                survival.steps.push(SurvivalStep {
                    at_us,
                    at_risk: of,
                    offered,
                    other,
                    stays,
                    answered,
                    pending_before,
                    incidence,
                    unanswered,
                });
            }
            at_risk = (at_risk + tick.entered).saturating_sub(ended + tick.left);
            survival.at_risk.push((at_us, at_risk));
            survival.seen_to_us = at_us;
        }
        survival
    }

    /// Asks under observation at a time, still pending.
    pub fn at_risk(&self, at_us: u32) -> u64 {
        let before = self.at_risk.partition_point(|(from, _)| *from <= at_us);
        before.checked_sub(1).map_or(0, |last| self.at_risk[last].1)
    }

    /// The microseconds within which a share of the asks is answered; `None` beyond the longest wait. Failed
    /// asks count as if they would have been answered like the others.
    pub fn answered_within(&self, share: f64) -> Option<u32> {
        // Tolerates rounding of the product.
        let reached = |step: &&SurvivalStep| 1.0 - step.unanswered >= share - 1e-12;
        self.steps.iter().filter(|step| step.answered > 0.0).find(reached).map(|step| step.at_us)
    }

    /// The share of asks still pending at a time.
    pub fn pending(&self, at_us: u32) -> f64 {
        self.until(at_us).last().map_or(1.0, |step| step.pending_before * step.stays)
    }

    /// Whether the observations reach a time.
    pub fn reaches(&self, at_us: u32) -> bool {
        let seen = self.seen_to_us.saturating_add(self.seen_to_us / SLACK);
        seen >= at_us || self.pending(self.seen_to_us) <= 0.0
    }

    /// The share of asks that end with offers within a time; `None` beyond the longest wait.
    pub fn offered(&self, within_us: u32) -> Option<Estimated> {
        if !self.reaches(within_us) || self.asks() <= 0.0 {
            return None;
        }
        let share = self.incidence(within_us);
        let (low, high) = self.log_log(within_us, share);
        Some(Estimated { share, low, high })
    }

    /// Offers within one time as a share of those within another: 0.9 where a tenth is lost. `None` beyond
    /// the longest wait, or without any offer.
    pub fn offers_against(&self, within_us: u32, now_us: u32) -> Option<Estimated> {
        let (then, now) = (self.incidence(within_us), self.incidence(now_us));
        if !self.reaches(within_us) || !self.reaches(now_us) || now <= 0.0 {
            return None;
        }
        let share = then / now;
        let shorter = within_us < now_us;
        if then <= 0.0 || (then - now).abs() < f64::EPSILON {
            return Some(self.boundary(share, within_us, now_us));
        }
        let log_error = self.error(|step| {
            let (of_then, of_now) = (self.slope(step, within_us, then), self.slope(step, now_us, now));
            [of_then[0] / then - of_now[0] / now, of_then[1] / then - of_now[1] / now]
        });
        let (low, high) = (share * (-Z * log_error).exp(), share * (Z * log_error).exp());
        // A longer wait loses nothing, and a shorter one gains nothing.
        let (low, high) = if shorter { (low, high.min(1.0)) } else { (low.max(1.0), high) };
        Some(Estimated { share, low, high })
    }

    /// The exact interval where no offer came between the two times, or none before the first.
    fn boundary(&self, share: f64, within_us: u32, now_us: u32) -> Estimated {
        let none_of = |asks: f64| if asks < 1.0 { 1.0 } else { 1.0 - TAIL.powf(1.0 / asks) };
        let now = self.incidence(now_us);
        let offers = now * self.asks();
        let (low, high) = match share {
            _ if within_us == now_us => (share, share),
            none if none <= 0.0 => (0.0, none_of(offers)),
            _ if within_us < now_us => (1.0 - none_of(offers), 1.0),
            _ => {
                let pending = self.pending(now_us);
                let won = if pending > 0.0 { none_of(self.at_risk(within_us) as f64) * pending } else { 0.0 };
                (1.0, 1.0 + won / now)
            }
        };
        Estimated { share, low, high }
    }

    fn log_log(&self, within_us: u32, share: f64) -> (f64, f64) {
        let none = TAIL.powf(1.0 / self.asks());
        if share <= 0.0 {
            return (0.0, 1.0 - none);
        }
        if share >= 1.0 {
            return (none, 1.0);
        }
        let error = self.error(|step| self.slope(step, within_us, share));
        let rest = 1.0 - share;
        let spread = (Z * error / (rest * rest.ln().abs())).exp();
        (1.0 - rest.powf(1.0 / spread), 1.0 - rest.powf(spread))
    }

    fn asks(&self) -> f64 {
        self.at_risk.first().map_or(0.0, |(_, asks)| *asks as f64)
    }

    fn until(&self, at_us: u32) -> &[SurvivalStep] {
        &self.steps[..self.steps.partition_point(|step| step.at_us <= at_us)]
    }

    fn incidence(&self, within_us: u32) -> f64 {
        self.until(within_us).last().map_or(0.0, |step| step.incidence)
    }

    fn slope(&self, step: &SurvivalStep, within_us: u32, incidence: f64) -> [f64; 2] {
        if step.at_us > within_us {
            return [0.0, 0.0];
        }
        let lost = if step.stays > 0.0 { (incidence - step.incidence) / step.stays } else { 0.0 };
        [step.pending_before - lost, -lost]
    }

    fn error(&self, slope: impl Fn(&SurvivalStep) -> [f64; 2]) -> f64 {
        let variance = |step: &SurvivalStep| {
            let [offered, other] = slope(step);
            let own = offered * offered * step.offered * (1.0 - step.offered)
                + other * other * step.other * (1.0 - step.other);
            (own - 2.0 * offered * other * step.offered * step.other) / step.at_risk
        };
        self.steps.iter().map(variance).sum::<f64>().max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn observed(to_us: u32, end: EndingKind) -> Observed {
        Observed { from_us: None, to_us, end, count: 1 }
    }

    /// Weeks in remission of the 21 patients given 6-mercaptopurine (Freireich et al., Blood 21, 1963), the
    /// standard textbook example.
    fn remissions() -> Survival {
        let relapsed = [6, 6, 6, 7, 10, 13, 16, 22, 23].map(|week| observed(week, EndingKind::Offered));
        let left =
            [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35].map(|week| observed(week, EndingKind::TimedOut));
        relapsed.into_iter().chain(left).collect()
    }

    fn near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 0.0006
    }

    #[test]
    fn it_is_the_estimate_of_the_textbooks_with_its_interval() {
        let remissions = remissions();
        for (week, pending) in [(5, 1.0), (6, 0.857), (7, 0.807), (10, 0.753), (16, 0.627), (23, 0.448)] {
            assert!(near(remissions.pending(week), pending), "{week}: {}", remissions.pending(week));
        }
        // From R: `survfit` with `conf.type = "log-log"`.
        for (week, low, high) in [(6, 0.620, 0.952), (23, 0.188, 0.680)] {
            let relapsed = remissions.offered(week).unwrap();
            assert!(near(1.0 - relapsed.high, low) && near(1.0 - relapsed.low, high), "{relapsed:?}");
        }
        assert_eq!((remissions.answered_within(0.5), remissions.answered_within(0.9)), (Some(23), None));
        assert_eq!((remissions.at_risk(6), remissions.at_risk(23), remissions.at_risk(35)), (17, 5, 0));
    }

    #[test]
    fn nothing_is_known_of_times_that_nobody_has_waited() {
        let remissions = remissions();
        assert!(remissions.offered(35).is_some() && remissions.offered(70).is_none());
        assert!(remissions.offers_against(70, 23).is_none());
        assert!(Survival::default().offered(0).is_none(), "no asks");
        let all: Survival = [observed(3, EndingKind::Offered)].into_iter().collect();
        assert!(all.offered(70).is_some(), "once all have ended, all is known");
    }

    #[test]
    fn a_late_answer_that_was_watched_for_is_one_of_those_that_ran_out_of_time() {
        let mut asks = vec![Observed { count: 60, ..observed(10, EndingKind::Offered) }];
        asks.push(Observed { count: 40, ..observed(50, EndingKind::TimedOut) });
        // Of the four that were watched, one ended with offers and one declined.
        let watched = |end, to_us, count| Observed { from_us: Some(50), to_us, end, count };
        asks.extend([
            watched(EndingKind::Declined, 70, 1),
            watched(EndingKind::Offered, 80, 1),
            watched(EndingKind::TimedOut, 100, 2),
        ]);
        let survival: Survival = asks.into_iter().collect();
        let offered = |within| survival.offered(within).unwrap().share;
        assert!((offered(50) - 0.6).abs() < 1e-9 && (offered(100) - 0.7).abs() < 1e-9);
        let won = survival.offers_against(100, 50).unwrap();
        assert!((won.share - 0.7 / 0.6).abs() < 1e-9 && won.low >= 1.0 && won.high > won.share, "{won:?}");
        let lost = survival.offers_against(5, 50).unwrap();
        assert_eq!((lost.share, lost.low), (0.0, 0.0));
        assert!(lost.high > 0.0 && lost.high < 0.1, "none of sixty before that: {lost:?}");
    }

    #[test]
    fn where_none_came_the_interval_tells_of_how_many() {
        let none = |asks| {
            let offered = Observed { count: asks, ..observed(10, EndingKind::Offered) };
            let silent = Observed { count: asks, ..observed(50, EndingKind::TimedOut) };
            let watched = Observed { from_us: Some(50), count: asks, ..observed(100, EndingKind::TimedOut) };
            let survival: Survival = [offered, silent, watched].into_iter().collect();
            // Just before the watches ended.
            (survival.offers_against(40, 50).unwrap(), survival.offers_against(99, 50).unwrap())
        };
        let ((lost_of_few, won_of_few), (lost_of_many, won_of_many)) = (none(10), none(1000));
        assert_eq!((lost_of_few.share, won_of_few.share), (1.0, 1.0));
        assert!(lost_of_few.low < 0.75 && won_of_few.high > 1.25);
        assert!(lost_of_many.low > 0.99 && won_of_many.high < 1.01);
    }

    fn any_asks() -> impl Strategy<Value = Vec<Observed>> {
        let end = prop::sample::select(vec![
            EndingKind::Offered,
            EndingKind::Declined,
            EndingKind::Failed,
            EndingKind::TimedOut,
        ]);
        prop::collection::vec((1_u32..200, end).prop_map(|(to_us, end)| observed(to_us, end)), 1..120)
    }

    proptest! {
        #[test]
        fn where_all_were_waited_for_it_is_the_share_that_came(asks in any_asks(), within in 0_u32..200) {
            let asks: Vec<Observed> = asks.into_iter().filter(|ask| ask.end != EndingKind::TimedOut).collect();
            prop_assume!(!asks.is_empty());
            let came = asks.iter().filter(|ask| ask.end == EndingKind::Offered && ask.to_us <= within).count();
            let (survival, all) = (asks.iter().copied().collect::<Survival>(), asks.len() as f64);
            let offered = survival.offered(within);
            // All have ended after the last of them.
            let offered = offered.expect("all is known");
            let share = came as f64 / all;
            prop_assert!((offered.share - share).abs() < 1e-9);
            let error = survival.error(|step| survival.slope(step, within, share));
            prop_assert!((error * error - share * (1.0 - share) / all).abs() < 1e-9, "the variance of a binomial");
        }

        #[test]
        fn shares_grow_with_the_timeout_and_lie_within_their_intervals(asks in any_asks(), now in 1_u32..200) {
            let survival: Survival = asks.iter().copied().collect();
            let mut before = 0.0;
            for within in (0..200).step_by(7) {
                let Some(offered) = survival.offered(within) else { continue };
                prop_assert!(offered.share >= before);
                prop_assert!(0.0 <= offered.low && offered.low <= offered.share + 1e-12);
                prop_assert!(offered.share <= offered.high + 1e-12 && offered.high <= 1.0);
                before = offered.share;
                if let Some(against) = survival.offers_against(within, now) {
                    prop_assert!(against.low <= against.share + 1e-12 && against.share <= against.high + 1e-12);
                    prop_assert_eq!(against.share > 1.0, within > now && offered.share > survival.incidence(now));
                }
            }
        }
    }
}
