//! Clocks: where the store reads the time.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

/// The first moment that a feed can hold, 2020-08-01: a clock that shows less has not been set.
const FIRST_US: u64 = 1_596_240_000_000_000;

/// Where the store reads the time.
#[derive(Clone)]
pub struct Clock {
    wall: Hand,
    steady: Hand,
}

type Hand = Arc<dyn Fn() -> u64 + Send + Sync>;

impl Clock {
    /// The time of the machine, and beside it how long this has run, however the machine's clock is set.
    pub fn system() -> Self {
        let begun = Instant::now();
        let wall = || {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX).max(FIRST_US)
        };
        Self::with_steady(wall, move || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// A clock of one's own, for tests: as much time passes as it shows.
    pub fn new(now_us: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let wall: Hand = Arc::new(now_us);
        Self { steady: Arc::clone(&wall), wall }
    }

    /// A clock of one's own that may be stepped: as much time passes as `steady_us` shows, which never goes back.
    pub fn with_steady(
        now_us: impl Fn() -> u64 + Send + Sync + 'static,
        steady_us: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { wall: Arc::new(now_us), steady: Arc::new(steady_us) }
    }

    /// What the clock shows, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        (self.wall)()
    }

    /// How long something has run, in microseconds: only the differences mean anything.
    pub(super) fn steady_us(&self) -> u64 {
        (self.steady)()
    }
}

/// The time in a UUIDv7, Unix milliseconds; nothing in one of another version.
pub(super) fn uuid_ms(uuid: Uuid) -> Option<u64> {
    (uuid.get_version_num() == 7).then(|| (uuid.as_u128() >> 80) as u64)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
