//! Filters by the type of lead events.

use serde::{Deserialize, Serialize};

use offerd_model::EventType;

/// A set of event types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTypes(u32);

/// The unused bits before those of later types, set only in [`EventTypes::ALL`], which keeps its value.
const FIRST: std::ops::Range<u16> = 11..16;

impl EventTypes {
    /// All types, including future ones.
    pub const ALL: Self = Self(u16::MAX as u32);

    /// Whether the set includes a type.
    pub fn contains(self, event_type: EventType) -> bool {
        self.0 & bit(event_type) != 0 || self.0 >> FIRST.start & 1 != 0
    }
}

impl FromIterator<EventType> for EventTypes {
    fn from_iter<I: IntoIterator<Item = EventType>>(event_types: I) -> Self {
        Self(event_types.into_iter().map(bit).fold(0, |bits, bit| bits | bit))
    }
}

/// The ordinal is part of the cursors that clients hold, so a new type goes last.
fn bit(event_type: EventType) -> u32 {
    let ordinal = event_type.ordinal();
    1 << if ordinal < FIRST.start { ordinal } else { ordinal + FIRST.end - FIRST.start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_it_was_made_of() {
        for &event_type in EventType::ALL {
            let one = EventTypes::from_iter([event_type]);
            let holds = |other: &&EventType| one.contains(**other);
            assert_eq!(EventType::ALL.iter().filter(holds).collect::<Vec<_>>(), [&event_type]);
            assert!(EventTypes::ALL.contains(event_type));
        }
        assert!(!EventTypes::from_iter([]).contains(EventType::Funded));
        let each = EventTypes::from_iter(EventType::ALL.iter().copied());
        assert!(EventType::ALL.iter().all(|event_type| each.contains(*event_type)));
        assert_ne!(each, EventTypes::ALL, "there may be more of them one day");
    }
}
