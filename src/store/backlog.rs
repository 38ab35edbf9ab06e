//! How far the writer is behind: how long commits wait for it because of the work that is before them, not because of the disk.
//!
//! A group takes in all that is queued, so a slow disk makes groups larger, which then take longer to work off as well, and
//! the writer keeps up all the same. It is behind where the work on a group takes longer than the disk does: only what goes
//! beyond that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Groups of which the least wait counts: a short peak keeps one waiting, a standing queue each.
const REMEMBERED: usize = 3;

/// Kept by the writer's thread, group by group.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    last: [Duration; REMEMBERED],
    nth: usize,
    shown: Arc<AtomicU64>,
}

/// What [`Backlog`] tells, for whoever wants to look.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown(Arc<AtomicU64>);

impl Backlog {
    /// What it tells.
    pub(super) fn shown(&self) -> Shown {
        Shown(Arc::clone(&self.shown))
    }

    /// The first commit of a group has waited so long; for the group before, the disk took so long. Work that lasts as long as
    /// that again is how a writer keeps up.
    pub(super) fn waited(&mut self, wait: Duration, disk: Duration) {
        self.last[self.nth] = wait.saturating_sub(disk * 2);
        self.nth = (self.nth + 1) % REMEMBERED;
        let least = self.last.iter().min().copied().unwrap_or_default();
        self.shown.store(least.as_micros() as u64, Ordering::Relaxed);
    }

    /// Nothing waits.
    pub(super) fn none(&mut self) {
        self.waited(Duration::ZERO, Duration::ZERO);
    }
}

impl Shown {
    /// Least of what the last few groups have waited for the writer; it stays while one is being written.
    pub(super) fn wait(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn only_what_each_group_has_waited_counts() {
        let mut backlog = Backlog::default();
        let shown = backlog.shown();
        for _ in 0..REMEMBERED - 1 {
            backlog.waited(9 * MS, 2 * MS);
        }
        assert_eq!(shown.wait(), Duration::ZERO, "a peak is no backlog");
        backlog.waited(7 * MS, 2 * MS);
        assert_eq!(shown.wait(), 3 * MS);
        backlog.none();
        assert_eq!(shown.wait(), Duration::ZERO);
    }

    #[test]
    fn a_slow_disk_is_none_of_it_nor_are_the_large_groups_that_it_makes() {
        for (wait, disk) in [(100 * MS, 101 * MS), (7 * MS, 5 * MS), (90 * MS, 60 * MS)] {
            let mut backlog = Backlog::default();
            (0..REMEMBERED).for_each(|_| backlog.waited(wait, disk));
            assert_eq!(backlog.shown().wait(), Duration::ZERO, "{wait:?} with a disk of {disk:?}");
        }
    }
}
