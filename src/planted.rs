//! Deliberate bugs, each of the kind that a change could bring in, so that the tests can show that they would notice it.
//!
//! `OFFERD_PLANTED` names one. Only builds with the feature `planted` look, and with debug assertions: whatever cargo builds for
//! tests, where the crate is a dependency of its own. What `cargo build` makes has none of them, nor asks.

#[cfg(all(feature = "planted", debug_assertions))]
use std::sync::LazyLock;

/// A bug that can be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// Commits are acknowledged before they are written.
    AckBeforeWrite,
    /// Commits are acknowledged without a sync of the disk.
    AckWithoutSync,
    /// A second outcome of a partner is taken in.
    LateOffers,
    /// A partner is waited for long beyond its time.
    NoDeadline,
    /// A page of a feed begins one microsecond too late.
    CursorOffByOne,
    /// A partner is asked once more than its cap allows.
    CapOffByOne,
    /// A breaker never opens.
    BreakerStuck,
    /// Access tokens are logged.
    TokenInLog,
    /// A company reads the rate tables of others.
    ForeignRecords,
    /// Of two equal submits both win.
    DuplicatesWin,
    /// The blocking endpoint answers at once.
    BlockingTooEarly,
    /// A revoked token goes on working.
    RevokedTokens,
    /// Test leads reach a partner's live side.
    TestsGoLive,
    /// Partners may be at private addresses.
    PrivateAddresses,
    /// What was pending before a restart is forgotten.
    ForgottenTables,
    /// A lead comes without its event.
    MissingEvents,
    /// The upper end of a range that a partner file names does not belong to it.
    RangeWithoutEnd,
}

#[cfg(all(feature = "planted", debug_assertions))]
static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("OFFERD_PLANTED").ok());

/// Whether a bug is planted.
#[cfg(all(feature = "planted", debug_assertions))]
pub fn planted(bug: Planted) -> bool {
    CHOSEN.as_ref().is_some_and(|chosen| *chosen == format!("{bug:?}"))
}

/// No bug is planted.
#[cfg(not(all(feature = "planted", debug_assertions)))]
#[inline]
pub const fn planted(_: Planted) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::Planted::{self, *};
    use crate::planted_runs::assert_found;

    /// Each bug, and the test of this crate that finds it.
    const FOUND_BY: [(Planted, &str); 7] = [
        (
            AckWithoutSync,
            "store::tests::durability::a_failing_sync_fails_the_group_and_the_store_until_the_disk_works_again",
        ),
        (LateOffers, "rate_table::progress::tests::a_second_outcome_is_refused"),
        (NoDeadline, "matching::tests::a_silent_partner_is_given_its_own_timeout"),
        (
            CursorOffByOne,
            "analytics::tests::following_next_url_delivers_every_record_once_and_none_too_young",
        ),
        (CapOffByOne, "matching::tests::limits::no_window_ever_holds_more_asks_than_its_cap"),
        (BreakerStuck, "wire::tests::breaker::it_opens_at_the_share_but_not_before_the_minimum"),
        (ForgottenTables, "matching::tests::a_restart_goes_on_with_what_was_pending"),
    ];

    #[test]
    fn tests_find_what_is_planted() {
        for (bug, test) in FOUND_BY {
            assert_found(&format!("{bug:?}"), test);
        }
    }
}
