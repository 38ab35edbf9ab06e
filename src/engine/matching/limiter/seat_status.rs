//! The state of every seat of the book, as shown by `offerd partners list`.

use chrono::{DateTime, Utc};
use metrics::gauge;
use offerd_base::worded;
use serde::{Deserialize, Serialize};

use super::meter::MINUTE;
use super::{Denied, Limiter, LimiterRound};
use crate::matching::undeclared_reasons::UndeclaredReason;
use offerd_base::partner_health::Judgement;
use offerd_base::telemetry::metrics::LIMIT_USED;
use offerd_model::{ProductType, record};
use offerd_partners::limits::declared::Period;
use offerd_partners::{Book, Seat};

record! {
    plain

    /// A seat with its state and usage.
    SeatStatus {
        /// The partner's key.
        partner: String,
        /// The seat's product type.
        product_type: ProductType,
        /// Whether it is asked, or why not.
        state: State,
        /// The seat's health, where a daemon runs.
        #[serde(default)]
        health: Judgement,
        /// Since when an operator has paused it or its circuit breaker is open.
        since?: DateTime<Utc>,
        /// The operator that has paused it.
        paused_by?: String,
        /// The reason that this operator gave.
        pause_reason?: String,
        /// When it will be asked again; for an active seat, when its schedule closes. Unset if unknown.
        until?: DateTime<Utc>,
        /// State of its breaker, when it asks again and the last failure, while its breaker keeps it out.
        breaker?: String,
        /// Asks in the current minute.
        asked_this_minute: u32,
        /// Cap of asks per minute.
        per_minute?: u32,
        /// Asks today, in the seat's time zone.
        asked_today: u32,
        /// Cap of asks per day.
        per_day?: u32,
        /// Asks this week, from Monday in the seat's time zone, if capped.
        asked_this_week?: u32,
        /// Cap of asks per week.
        per_week?: u32,
        /// Asks this month, in the seat's time zone, if capped.
        asked_this_month?: u32,
        /// Cap of asks per month.
        per_month?: u32,
        /// Share of leads about which the seat is asked, if not all.
        share?: f64,
        /// Payouts of today, dollars.
        owed_today: f64,
        /// Daily payout budget, dollars; at or above it the seat is not asked.
        per_day_budget?: f64,
        /// Decline reasons that the partner file does not declare, where a daemon runs.
        #[serde(default, rename = "undeclaredWords", skip_serializing_if = "Vec::is_empty")]
        undeclared_reasons: Vec<UndeclaredReason>,
    }
}

/// The use of a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitUse {
    /// Its word in the metric.
    pub limit: &'static str,
    /// What is counted, and when.
    pub name: String,
    /// How much is used.
    pub used: f64,
    /// The limit.
    pub most: f64,
    /// The used share.
    pub share: f64,
    /// Whether it is in dollars rather than asks.
    pub dollars: bool,
}

worded! {
    /// Whether a seat is asked, or why not.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum State;

    /// The state in words.
    fn words;

    /// The seat is asked.
    Active "active";
    /// Paused in the partner file.
    PausedByFile "paused by file";
    /// Paused by a command or in the console.
    PausedByOperator "paused by an operator";
    /// Outside its schedule.
    OutsideSchedule "outside its schedule";
    /// At one of its caps.
    Capped "capped";
    /// At its payout budget.
    OverBudget "over budget";
    /// Its circuit breaker is open.
    BreakerOpen "behind an open breaker";
    /// Before its first day or after its last.
    OutsideDays "outside its days";
    /// A suppression list that the seat names is missing.
    ListMissing "without its suppression list";
}

impl Limiter {
    /// The current state of every seat of a book.
    pub fn statuses(&self, book: &Book) -> Vec<SeatStatus> {
        book.seats().iter().map(|seat| self.status(seat)).collect()
    }

    fn status(&self, seat: &Seat) -> SeatStatus {
        use Denied::{Exclusive, Experiment, ListMissing, Share, Suppressed};
        let limits = &seat.limits;
        let mut counts = self.counts.lock();
        let at = self.now();
        let denial = counts.denial(seat, LimiterRound { at, test: false });
        let partner = counts.partner(&seat.identity.key);
        let pause = partner.pause(seat.product_type).cloned();
        let meter = &mut partner.meters[usize::from(seat.product_type.ordinal())];
        let asked_this_minute = meter.asked_in_minute(at);
        let asked_today = meter.asked(Period::Day, limits, at);
        let owed_today = meter.owed_today(limits, at) / 100.0;
        let asked_this_week = limits.per_week.map(|_| meter.asked(Period::Week, limits, at));
        let asked_this_month = limits.per_month.map(|_| meter.asked(Period::Month, limits, at));
        drop(counts);

        let moment = DateTime::from_timestamp_millis;
        let now = moment(at).unwrap_or_default();
        let (state, until) = match denial {
            _ if seat.paused => (State::PausedByFile, None),
            Some(Denied::Paused) => (State::PausedByOperator, None),
            Some(Denied::Schedule) => (State::OutsideSchedule, limits.next_change(now)),
            Some(Denied::Dates) => (State::OutsideDays, limits.starts_after(now).and_then(moment)),
            Some(Denied::PerMinute) => (State::Capped, moment((at.div_euclid(MINUTE) + 1) * MINUTE)),
            Some(Denied::Budget) => (State::OverBudget, moment(Period::Day.span(limits, at).end)),
            Some(by @ (Denied::PerDay | Denied::PerWeek | Denied::PerMonth)) => {
                let period = Period::ALL.into_iter().find(|period| Denied::at_cap(*period) == by);
                (State::Capped, period.and_then(|period| moment(period.span(limits, at).end)))
            }
            Some(Exclusive | Share | Suppressed | ListMissing | Experiment) | None => {
                (State::Active, limits.next_change(now))
            }
        };
        SeatStatus {
            partner: seat.identity.key.clone(),
            product_type: seat.product_type,
            state,
            health: Judgement::default(),
            since: pause.as_ref().and_then(|pause| moment(pause.since)),
            paused_by: pause.as_ref().and_then(|pause| pause.by.clone()),
            pause_reason: pause.and_then(|pause| pause.reason),
            until,
            breaker: None,
            asked_this_minute,
            per_minute: limits.per_minute,
            asked_today,
            per_day: limits.per_day,
            asked_this_week,
            per_week: limits.per_week,
            asked_this_month,
            per_month: limits.per_month,
            share: limits.share,
            owed_today,
            per_day_budget: limits.per_day_budget.map(|cents| cents / 100.0),
            undeclared_reasons: Vec::new(),
        }
    }
}

impl SeatStatus {
    /// The use of each of its limits, shortest first.
    pub fn uses(&self) -> Vec<LimitUse> {
        let asked_in = |period| match period {
            Period::Day => (Some(self.asked_today), self.per_day),
            Period::Week => (self.asked_this_week, self.per_week),
            Period::Month => (self.asked_this_month, self.per_month),
        };
        let minute = ("per_minute", "this minute", (Some(self.asked_this_minute), self.per_minute));
        let periods = Period::ALL.map(|period| (period.key(), period.words(), asked_in(period)));
        let asks = [minute].into_iter().chain(periods).filter_map(|(limit, when, (asked, cap))| {
            let (used, most) = (f64::from(asked?), f64::from(cap?));
            Some(LimitUse {
                limit,
                name: format!("asks {when}"),
                used,
                most,
                share: used / most,
                dollars: false,
            })
        });
        let budget = self.per_day_budget.map(|most| {
            let (used, name) = (self.owed_today, "payouts today".to_owned());
            LimitUse { limit: "budget", name, used, most, share: used / most, dollars: true }
        });
        asks.chain(budget).collect()
    }

    /// Exports the use of every limit as a metric.
    pub fn measure(&self) {
        for LimitUse { limit, share, .. } in self.uses() {
            let (partner, product) = (self.partner.clone(), self.product_type.as_str());
            gauge!(LIMIT_USED, "partner" => partner, "product_type" => product, "limit" => limit).set(share);
        }
    }

    /// The state in words, with its time.
    pub fn description(&self) -> String {
        let words = self.state.words();
        let moment = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC");
        match (self.state, self.since, self.until) {
            (State::PausedByOperator | State::BreakerOpen, Some(since), _) => {
                let by = self.paused_by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
                let why = self.breaker.as_ref().or(self.pause_reason.as_ref());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                format!("{words} since {}{by}{why}", moment(since))
            }
            (State::Active, _, Some(until)) => format!("{words}, closes {}", moment(until)),
            (_, _, Some(until)) => format!("{words} until {}", moment(until)),
            (_, _, None) => words.to_owned(),
        }
    }
}
