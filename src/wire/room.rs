//! Bounds the memory of answers under way. A pool may hold as much as is left for all: one that stalls takes
//! half at most, and several never all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::endpoint_group::EndpointGroup;
use super::error::CallError;

/// The bytes of answers that one pool holds.
pub(super) struct AnswerRoom {
    group: Arc<EndpointGroup>,
    held: AtomicUsize,
}

/// The bytes of one answer, given back on drop.
pub(super) struct HeldBytes {
    room: Arc<AnswerRoom>,
    bytes: usize,
}

impl AnswerRoom {
    pub(super) fn new(group: Arc<EndpointGroup>) -> Arc<Self> {
        Arc::new(Self { group, held: AtomicUsize::new(0) })
    }

    pub(super) fn answer(self: &Arc<Self>) -> HeldBytes {
        HeldBytes { room: Arc::clone(self), bytes: 0 }
    }
}

impl HeldBytes {
    /// Takes room for further bytes.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), CallError> {
        let own = self.room.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes += bytes;
        if self.room.group.hold(bytes, own) { Ok(()) } else { Err(CallError::NoRoom) }
    }

    /// The body, which gives its room back with its last clone.
    pub(super) fn keep(self, body: Bytes) -> Bytes {
        if body.is_empty() { body } else { Bytes::from_owner(HeldBody { body, _held: self }) }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.room.held.fetch_sub(self.bytes, Ordering::Relaxed);
        self.room.group.release(self.bytes);
    }
}

struct HeldBody {
    body: Bytes,
    _held: HeldBytes,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::GroupRules;

    #[test]
    fn a_pool_that_stalls_leaves_room_for_others() {
        let open_ceiling = Duration::MAX;
        let rules =
            GroupRules { max_open_percent: 50, breakers_only_log: false, open_ceiling, answer_bytes: 1000 };
        let group = Arc::new(EndpointGroup::new(rules));
        let [one, other, third] = [(); 3].map(|()| AnswerRoom::new(Arc::clone(&group)));
        let answer = |room: &Arc<AnswerRoom>, bytes: usize| {
            let mut held = room.answer();
            held.grow(bytes).map(|()| held)
        };
        let stalled: Vec<_> = (0..100).map_while(|_| answer(&one, 100).ok()).collect();
        assert_eq!(stalled.len(), 5);
        let also: Vec<_> = (0..100).map_while(|_| answer(&other, 50).ok()).collect();
        assert_eq!(also.len(), 5);
        let body = answer(&third, 100).ok().unwrap().keep(Bytes::from_static(b"{}"));
        assert_eq!(answer(&third, 200).err(), Some(CallError::NoRoom));
        drop((stalled, body.clone()));
        assert_eq!(group.held(), 350);
        drop((also, body));
        assert_eq!(group.held(), 0);
    }
}
