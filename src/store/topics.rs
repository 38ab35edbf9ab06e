//! Change notifications between the users of a store, by topic: a reader re-reads its data after a change.
//!
//! A counter grows before a change is acknowledged; in other processes, see [`changes_of`](crate::Store::changes_of).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::sealing::data_key;
use crate::{RecordChange, Tree, unframed};

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Companies and their tokens.
    Access,
    /// Pauses.
    Pauses,
    /// Suppression lists.
    Suppressions,
    /// Users of the console.
    Users,
    /// Erased leads.
    Erasures,
    /// The processes that share the store.
    Nodes,
}

/// Every topic, in the order of their numbers.
pub(super) const TOPICS: [Topic; 6] =
    [Topic::Access, Topic::Pauses, Topic::Suppressions, Topic::Users, Topic::Erasures, Topic::Nodes];

#[derive(Default)]
pub(super) struct Topics {
    counts: [AtomicU64; TOPICS.len()],
    moved: Notify,
}

impl Topics {
    pub(super) fn note(&self, topic: Topic) {
        self.counts[topic as usize].fetch_add(1, Ordering::Release);
        self.moved.notify_waiters();
    }

    pub(super) fn count(&self, topic: Topic) -> u64 {
        self.counts[topic as usize].load(Ordering::Acquire)
    }

    pub(super) async fn until_changed(&self, topic: Topic, seen: u64) -> u64 {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            // From here on no change is missed.
            moved.as_mut().enable();
            let count = self.count(topic);
            if count != seen {
                return count;
            }
            moved.await;
        }
    }
}

pub(super) fn topics_of(changes: &[RecordChange]) -> BTreeSet<Topic> {
    changes.iter().filter_map(topic_of).collect()
}

fn topic_of(change: &RecordChange) -> Option<Topic> {
    match Tree::split(&change.key)?.0 {
        Tree::Companies | Tree::Tokens => Some(Topic::Access),
        Tree::Pauses => Some(Topic::Pauses),
        Tree::Suppressions => Some(Topic::Suppressions),
        Tree::Users => Some(Topic::Users),
        Tree::LeadKeys => {
            let kept = change.value.as_deref().map(unframed);
            matches!(kept, Some(Ok(kept)) if data_key::is_destroyed(kept)).then_some(Topic::Erasures)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::frame::framed;
    use crate::volume_number::BASE;

    fn change(tree: Tree, payload: &[u8]) -> RecordChange {
        RecordChange { volume: BASE, key: tree.tree_key(b"key"), value: Some(framed(payload)) }
    }

    #[test]
    fn topics_are_numbered_in_their_order() {
        assert!(TOPICS.iter().enumerate().all(|(number, topic)| *topic as usize == number));
    }

    #[test]
    fn a_group_is_of_the_topics_of_its_changes_and_a_new_lead_is_of_none() {
        let group = [
            change(Tree::Pauses, b""),
            change(Tree::Tokens, b""),
            change(Tree::Companies, b""),
            change(Tree::Leads, b""),
        ];
        assert_eq!(topics_of(&group), [Topic::Access, Topic::Pauses].into());
        let destroyed = data_key::destroyed(7, BASE);
        assert_eq!(topics_of(&[change(Tree::LeadKeys, &destroyed)]), [Topic::Erasures].into());
        assert_eq!(topics_of(&[change(Tree::LeadKeys, &[1; 60])]), [].into());
    }

    #[test]
    fn who_waits_for_a_change_is_woken_by_it_and_not_by_another() {
        let topics = Topics::default();
        let seen = topics.count(Topic::Pauses);
        let mut waiting = Box::pin(topics.until_changed(Topic::Pauses, seen));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        topics.note(Topic::Users);
        assert_eq!(waiting.as_mut().now_or_never(), None);
        topics.note(Topic::Pauses);
        assert_eq!(waiting.now_or_never(), Some(seen + 1));
    }
}
