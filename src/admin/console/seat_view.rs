//! States of seats, in the words and colours of the console.

use super::prelude::*;
use offerd_base::partner_health::Health;
use offerd_engine::matching::late_asks::LateAsk;
use offerd_engine::matching::limiter::{LimitUse, SeatStatus, State};
use offerd_engine::matching::partner_clients::{BreakerState, EndpointState};
use offerd_partners::Seat;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Pill {
    /// CSS class: `good`, `warn`, `bad` or `idle`.
    pub(super) class: &'static str,
    pub(super) words: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct BreakerView {
    pub(super) state: Pill,
    /// Severity; higher is worse.
    #[serde(skip)]
    pub(super) rank: u8,
    pub(super) calls: u32,
    pub(super) failed: u32,
    pub(super) in_flight: usize,
    /// When it asks again and the last failure, unless it is closed.
    pub(super) detail: Option<String>,
}

pub(super) struct SeatView {
    pub(super) seat: Arc<Seat>,
    pub(super) status: SeatStatus,
    pub(super) state: Pill,
    pub(super) health: Pill,
    pub(super) breaker: Option<BreakerView>,
    pub(super) caps: Vec<LimitUse>,
    /// The last requests that timed out and whose late answers were still awaited.
    pub(super) late: Vec<LateAsk>,
}

pub(super) fn of_seats(engine: &MatchingEngine) -> Vec<SeatView> {
    let configuration = engine.configuration();
    let statuses = engine.statuses();
    // Skips seats that a concurrent reload has added or removed.
    let seats = configuration.book.seats().iter().zip(statuses);
    let seats = seats.filter(|(seat, status)| seat.is_of(&status.partner, status.product_type));
    let look = |(seat, status): (&Arc<Seat>, SeatStatus)| {
        let line = configuration.clients.of(seat);
        SeatView {
            state: pill(status.state),
            health: health(status.health.health),
            breaker: line.as_ref().map(|line| BreakerView::from(line.state())),
            caps: status.uses(),
            late: line.map(|line| line.late()).unwrap_or_default(),
            seat: Arc::clone(seat),
            status,
        }
    };
    seats.map(look).collect()
}

fn pill(state: State) -> Pill {
    let class = match state {
        State::Active => "good",
        State::PausedByFile | State::PausedByOperator | State::OutsideSchedule | State::OutsideDays => "idle",
        State::Capped | State::OverBudget | State::ListMissing => "warn",
        State::BreakerOpen => "bad",
    };
    Pill { class, words: state.words() }
}

fn health(health: Health) -> Pill {
    let class = match health {
        Health::Healthy => "good",
        Health::Unknown | Health::NotAsked => "idle",
        Health::DecliningMore | Health::Slow => "warn",
        Health::Failing | Health::Silent => "bad",
    };
    Pill { class, words: health.words() }
}

impl From<EndpointState> for BreakerView {
    fn from(endpoint: EndpointState) -> Self {
        let detail = endpoint.detail();
        let EndpointState { breaker, only_logged, in_flight, calls, failed, .. } = endpoint;
        let (rank, class, words) = match (breaker, only_logged) {
            (BreakerState::Closed, _) => (0, "good", "closed"),
            (BreakerState::HalfOpen, _) => (1, "warn", "half open"),
            (BreakerState::Open, true) => (2, "warn", "open, only counting"),
            (BreakerState::Open, false) => (3, "bad", "open"),
        };
        Self { state: Pill { class, words }, rank, calls, failed, in_flight, detail }
    }
}
