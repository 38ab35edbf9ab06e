//! The metrics of an endpoint.

use metrics::{Counter, Gauge, counter, gauge};

use super::breaker::BreakerState;
use super::error::CallError;
use offerd_base::telemetry::metrics::{WIRE_BREAKER_STATE, WIRE_ERRORS, WIRE_IN_FLIGHT, WIRE_RETRIES};

pub(super) struct EndpointMetrics {
    labels: [(&'static str, String); 2],
    pub(super) in_flight: Gauge,
    pub(super) retried: Counter,
    breaker_state: Gauge,
}

impl EndpointMetrics {
    pub(super) fn new(pool: &str, endpoint: &str) -> Self {
        let labels = [("pool", pool.to_owned()), ("endpoint", endpoint.to_owned())];
        let (in_flight, breaker_state) =
            (gauge!(WIRE_IN_FLIGHT, &labels), gauge!(WIRE_BREAKER_STATE, &labels));
        Self { in_flight, breaker_state, retried: counter!(WIRE_RETRIES, &labels), labels }
    }

    pub(super) fn breaker(&self, state: BreakerState) {
        self.breaker_state.set(match state {
            BreakerState::Closed => 0.0,
            BreakerState::HalfOpen => 1.0,
            BreakerState::Open => 2.0,
        });
    }

    pub(super) fn error(&self, error: CallError) {
        let [(_, pool), (_, endpoint)] = self.labels.clone();
        counter!(WIRE_ERRORS, "pool" => pool, "endpoint" => endpoint, "cause" => error.label()).increment(1);
    }
}
