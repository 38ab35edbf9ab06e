//! The queue of due deliveries: decides which is next, per lead the oldest. Pure: the caller passes the time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use super::record::{EventPosition, PostbackDelivery};

#[derive(Debug, Default)]
pub(super) struct DueDeliveries {
    deliveries: BTreeMap<EventPosition, PostbackDelivery>,
    by_lead: HashMap<Uuid, BTreeSet<EventPosition>>,
    /// The oldest delivery of each lead without one in progress, by due time.
    waiting: BTreeSet<(i64, EventPosition)>,
    under_way: HashSet<Uuid>,
}

impl DueDeliveries {
    /// Adds a delivery. A requeued one may be older than others of its lead.
    pub(super) fn add(&mut self, place: EventPosition, delivery: PostbackDelivery) {
        let lead = delivery.lead;
        if let Some(entry) = self.head(lead) {
            self.waiting.remove(&entry);
        }
        self.by_lead.entry(lead).or_default().insert(place);
        self.deliveries.insert(place, delivery);
        self.line_up(lead);
    }

    pub(super) fn next(&mut self, now_ms: i64) -> Option<(EventPosition, PostbackDelivery)> {
        let (due_ms, place) = *self.waiting.first()?;
        if due_ms > now_ms {
            return None;
        }
        let delivery = self.deliveries.get(&place)?.clone();
        self.waiting.remove(&(due_ms, place));
        self.under_way.insert(delivery.lead);
        Some((place, delivery))
    }

    pub(super) fn again(&mut self, place: EventPosition, delivery: PostbackDelivery) {
        let lead = delivery.lead;
        self.under_way.remove(&lead);
        self.deliveries.insert(place, delivery);
        self.line_up(lead);
    }

    pub(super) fn done(&mut self, place: EventPosition) {
        let Some(PostbackDelivery { lead, .. }) = self.deliveries.remove(&place) else { return };
        self.under_way.remove(&lead);
        if let Some(places) = self.by_lead.get_mut(&lead) {
            places.remove(&place);
            if places.is_empty() {
                self.by_lead.remove(&lead);
            }
        }
        self.line_up(lead);
    }

    pub(super) fn due_ms(&self) -> Option<i64> {
        self.waiting.first().map(|(due_ms, _)| *due_ms)
    }

    pub(super) fn oldest_ms(&self) -> Option<i64> {
        self.deliveries.values().map(|delivery| delivery.taken_ms).min()
    }

    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }

    fn line_up(&mut self, lead: Uuid) {
        if !self.under_way.contains(&lead)
            && let Some(entry) = self.head(lead)
        {
            self.waiting.insert(entry);
        }
    }

    fn head(&self, lead: Uuid) -> Option<(i64, EventPosition)> {
        let place = self.by_lead.get(&lead)?.first()?;
        self.deliveries.get(place).map(|delivery| (delivery.next_ms, *place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use offerd_model::EventType;

    fn place(arrival_us: u64) -> EventPosition {
        EventPosition { arrival_us, sequence: 0, nth: 0 }
    }

    fn delivery(lead: u128, next_ms: i64) -> PostbackDelivery {
        PostbackDelivery {
            lead: Uuid::from_u128(lead),
            event_type: EventType::Applied,
            taken_ms: 0,
            attempts: 0,
            next_ms,
            last: None,
        }
    }

    #[test]
    fn a_lead_waits_for_its_oldest_and_no_other_lead_does() {
        let mut due = DueDeliveries::default();
        due.add(place(1), delivery(7, 0));
        due.add(place(2), delivery(7, 0));
        due.add(place(3), delivery(8, 0));
        assert_eq!(due.next(0).unwrap().0, place(1));
        assert_eq!(due.next(0).unwrap().0, place(3));
        assert!(due.next(0).is_none(), "the second of a lead waits for the first");
        due.again(place(1), delivery(7, 50));
        assert!(due.next(49).is_none());
        assert_eq!((due.due_ms(), due.next(50).unwrap().0), (Some(50), place(1)));
        due.done(place(1));
        assert_eq!(due.next(50).unwrap().0, place(2));
    }

    #[test]
    fn what_is_put_back_goes_before_what_is_younger() {
        let mut due = DueDeliveries::default();
        due.add(place(2), delivery(7, 0));
        due.add(place(3), delivery(7, 0));
        assert_eq!(due.next(0).unwrap().0, place(2));
        due.add(place(1), delivery(7, 0));
        assert!(due.next(0).is_none(), "one at a time");
        due.done(place(2));
        assert_eq!(due.next(0).unwrap().0, place(1));
        due.done(place(1));
        assert_eq!(due.next(0).unwrap().0, place(3));
        assert_eq!(due.len(), 1);
    }

    proptest! {
        /// However attempts end, each lead's events are delivered in order and completely.
        #[test]
        fn whatever_fails_each_lead_is_told_in_order(
            leads in prop::collection::vec(0..4_u128, 1..40),
            ends in prop::collection::vec(prop::bool::ANY, 0..200),
        ) {
            let mut due = DueDeliveries::default();
            for (nth, lead) in leads.iter().enumerate() {
                due.add(place(nth as u64), delivery(*lead, 0));
            }
            let (mut ends, mut now_ms) = (ends.into_iter(), 0);
            let mut told: BTreeMap<Uuid, Vec<EventPosition>> = BTreeMap::new();
            while due.len() > 0 {
                let mut under_way = Vec::new();
                while under_way.len() < 3 && let Some(next) = due.next(now_ms) {
                    under_way.push(next);
                }
                prop_assert!(!under_way.is_empty() || due.due_ms().is_some());
                for (place, delivery) in under_way {
                    if ends.next().unwrap_or(true) {
                        told.entry(delivery.lead).or_default().push(place);
                        due.done(place);
                    } else {
                        due.again(place, PostbackDelivery { next_ms: now_ms + 5, ..delivery });
                    }
                }
                now_ms = due.due_ms().unwrap_or(now_ms).max(now_ms);
            }
            prop_assert!(told.values().all(|places| places.is_sorted()));
            prop_assert_eq!(told.values().map(Vec::len).sum::<usize>(), leads.len());
        }
    }
}
