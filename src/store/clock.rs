//! Clocks: sources of time for the store.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

/// The first moment that a feed can hold, 2020-08-01: a clock that shows less has not been set.
pub(super) const FIRST_US: u64 = 1_596_240_000_000_000;

/// A source of time for the store.
#[derive(Clone)]
pub struct Clock {
    wall: Hand,
    steady: Hand,
}

type Hand = Arc<dyn Fn() -> u64 + Send + Sync>;

impl Clock {
    /// The machine's clock, with a monotonic time that is independent of how that clock is set.
    pub fn system() -> Self {
        let begun = Instant::now();
        let wall = || {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX).max(FIRST_US)
        };
        Self::with_steady(wall, move || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// A clock for tests: the same source gives the time and the monotonic time.
    pub fn new(now_us: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let wall: Hand = Arc::new(now_us);
        Self { steady: Arc::clone(&wall), wall }
    }

    /// A custom clock that may be stepped. `steady_us` is its monotonic time, which never goes back.
    pub fn with_steady(
        now_us: impl Fn() -> u64 + Send + Sync + 'static,
        steady_us: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { wall: Arc::new(now_us), steady: Arc::new(steady_us) }
    }

    /// The current time, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        (self.wall)()
    }

    pub(super) fn steady_us(&self) -> u64 {
        (self.steady)()
    }
}

/// The time in a UUIDv7, Unix milliseconds; `None` for other versions.
pub(super) fn uuid_ms(uuid: Uuid) -> Option<u64> {
    (uuid.get_version_num() == 7).then(|| (uuid.as_u128() >> 80) as u64)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
