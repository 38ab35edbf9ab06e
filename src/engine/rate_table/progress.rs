//! The states of a rate table's seats, and their legal transitions.
//!
//! ```text
//!            no loan offer                an outcome
//!   Held ───────────────────────▶ Asked ──────────────▶ Ended
//!     └───────────── a loan offer, or an outcome ──────────▲
//! ```
//!
//! In a lead that also wants loans, a second-look seat starts held ([`HeldDecision`]). It counts as pending like
//! any other, so the list of pending seats only ever shrinks.

use offerd_model::ProductType;

/// The state of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatPhase {
    /// Waits for the first-look loan partners.
    Held,
    /// Is being asked.
    Asked,
    /// Has its outcome.
    Ended,
}

impl SeatPhase {
    /// The initial state of a seat.
    pub fn at_start(second_look: bool, wants_loans: bool) -> Self {
        if second_look && wants_loans { Self::Held } else { Self::Asked }
    }
}

/// An event at a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatEvent {
    /// A held seat is released to be asked.
    Released {
        /// Position of the seat.
        seat: usize,
    },
    /// A seat got its outcome.
    Ended {
        /// Position of the seat.
        seat: usize,
        /// Whether the outcome has offers.
        offers: bool,
    },
}

/// The decision on the held seats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldDecision {
    /// Nothing: none is held, or first-look loan partners are still pending.
    Nothing,
    /// Ask them: no first-look partner had a loan offer.
    Release(Vec<usize>),
    /// Drop them: a first-look partner had a loan offer.
    Drop(Vec<usize>),
}

/// An event that is illegal in the seat's state, such as a second outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IllegalTransition {
    /// The seat's state; `None` for an unknown seat.
    pub phase: Option<SeatPhase>,
    /// The rejected event.
    pub event: SeatEvent,
}

/// The state of every seat of a rate table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProgress {
    seats: Vec<SeatProgress>,
    loan_offers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeatProgress {
    phase: SeatPhase,
    /// Whether held seats wait for this one.
    first_look_loan: bool,
}

impl TableProgress {
    /// The initial state: (product type, second look) of each seat, and whether the lead wants loans.
    pub fn start(seats: impl IntoIterator<Item = (ProductType, bool)>, wants_loans: bool) -> Self {
        let seat = |(product_type, second_look): (ProductType, bool)| SeatProgress {
            phase: SeatPhase::at_start(second_look, wants_loans),
            first_look_loan: product_type == ProductType::Loan && !second_look,
        };
        Self { seats: seats.into_iter().map(seat).collect(), loan_offers: false }
    }

    /// Applies an event.
    ///
    /// # Errors
    /// [`IllegalTransition`], with nothing changed: an ended seat stays ended, whatever arrives late.
    pub fn apply(&mut self, event: SeatEvent) -> Result<(), IllegalTransition> {
        let (SeatEvent::Released { seat } | SeatEvent::Ended { seat, .. }) = event;
        let state = self.seats.get_mut(seat).ok_or(IllegalTransition { phase: None, event })?;
        state.phase = match (state.phase, event) {
            (SeatPhase::Held, SeatEvent::Released { .. }) => SeatPhase::Asked,
            (SeatPhase::Held | SeatPhase::Asked, SeatEvent::Ended { offers, .. }) => {
                self.loan_offers |= offers && state.first_look_loan;
                SeatPhase::Ended
            }
            (phase, _) => return Err(IllegalTransition { phase: Some(phase), event }),
        };
        Ok(())
    }

    /// The decision on the held seats.
    pub fn held_decision(&self) -> HeldDecision {
        let waiting = self.seats.iter().any(|one| one.first_look_loan && one.phase != SeatPhase::Ended);
        let held: Vec<usize> = self.seats_in(SeatPhase::Held).collect();
        match (held.is_empty(), waiting, self.loan_offers) {
            (true, _, _) | (false, true, false) => HeldDecision::Nothing,
            (false, _, true) => HeldDecision::Drop(held),
            (false, false, false) => HeldDecision::Release(held),
        }
    }

    /// The seats in a state.
    pub fn seats_in(&self, phase: SeatPhase) -> impl Iterator<Item = usize> {
        self.seats_where(move |at| at == phase)
    }

    /// Seats without an outcome: exactly the pending responses.
    pub fn pending(&self) -> impl Iterator<Item = usize> {
        self.seats_where(|at| at != SeatPhase::Ended)
    }

    fn seats_where(&self, is_wanted: impl Fn(SeatPhase) -> bool) -> impl Iterator<Item = usize> {
        let seats = self.seats.iter().enumerate();
        seats.filter(move |(_, state)| is_wanted(state.phase)).map(|(seat, _)| seat)
    }

    /// The state of a seat; `None` for an unknown seat.
    pub fn at(&self, seat: usize) -> Option<SeatPhase> {
        self.seats.get(seat).map(|state| state.phase)
    }

    /// Whether a seat has no outcome yet.
    pub fn is_pending(&self, seat: usize) -> bool {
        self.at(seat).is_some_and(|phase| phase != SeatPhase::Ended)
    }

    /// Whether every seat has its outcome. After that nothing can change.
    pub fn all_ended(&self) -> bool {
        self.pending().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOAN: (ProductType, bool) = (ProductType::Loan, false);
    const CARD: (ProductType, bool) = (ProductType::CreditCard, false);
    const SECOND: (ProductType, bool) = (ProductType::Other, true);

    fn ended(seat: usize, offers: bool) -> SeatEvent {
        SeatEvent::Ended { seat, offers }
    }

    #[test]
    fn second_look_waits_for_every_first_look_loan_partner() {
        let mut progress = TableProgress::start([LOAN, CARD, LOAN, SECOND], true);
        progress.apply(ended(0, false)).unwrap();
        assert_eq!(progress.held_decision(), HeldDecision::Nothing);
        progress.apply(ended(2, false)).unwrap();
        assert_eq!(progress.held_decision(), HeldDecision::Release(vec![3]));
        assert_eq!(progress.pending().collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn second_look_is_not_needed_once_there_is_a_loan_offer() {
        let mut progress = TableProgress::start([LOAN, LOAN, SECOND], true);
        progress.apply(ended(1, true)).unwrap();
        assert_eq!(progress.held_decision(), HeldDecision::Drop(vec![2]));
    }

    #[test]
    fn a_card_offer_does_not_count_as_a_loan_offer() {
        let mut progress = TableProgress::start([LOAN, CARD, SECOND], true);
        progress.apply(ended(1, true)).unwrap();
        progress.apply(ended(0, false)).unwrap();
        assert_eq!(progress.held_decision(), HeldDecision::Release(vec![2]));
    }

    #[test]
    fn second_look_is_asked_directly_when_no_loan_is_wanted() {
        let progress = TableProgress::start([SECOND], false);
        assert_eq!(progress.seats_in(SeatPhase::Asked).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_second_outcome_is_refused() {
        let mut progress = TableProgress::start([LOAN], true);
        progress.apply(ended(0, false)).unwrap();
        let refused = progress.clone().apply(ended(0, true)).unwrap_err();
        assert_eq!(refused.phase, Some(SeatPhase::Ended));
        assert!(progress.all_ended());
    }

    /// A reference model that keeps every accepted event and derives each answer from scratch.
    struct Story {
        seats: Vec<(ProductType, bool)>,
        wants_loans: bool,
        taken: Vec<SeatEvent>,
    }

    impl Story {
        fn phase(&self, seat: usize) -> Option<SeatPhase> {
            let (_, second_look) = self.seats.get(seat)?;
            let is_released = self.taken.contains(&SeatEvent::Released { seat });
            let is_ended = [true, false].iter().any(|offers| self.taken.contains(&ended(seat, *offers)));
            Some(match (is_ended, *second_look && self.wants_loans && !is_released) {
                (true, _) => SeatPhase::Ended,
                (false, true) => SeatPhase::Held,
                (false, false) => SeatPhase::Asked,
            })
        }

        fn all(&self, phase: SeatPhase) -> Vec<usize> {
            (0..self.seats.len()).filter(|seat| self.phase(*seat) == Some(phase)).collect()
        }

        fn held_decision(&self) -> HeldDecision {
            let lenders = (0..self.seats.len()).filter(|seat| self.seats[*seat] == LOAN);
            let (ended_ones, asked): (Vec<usize>, Vec<usize>) =
                lenders.partition(|seat| self.phase(*seat) == Some(SeatPhase::Ended));
            let held = self.all(SeatPhase::Held);
            if held.is_empty() {
                HeldDecision::Nothing
            } else if ended_ones.iter().any(|seat| self.taken.contains(&ended(*seat, true))) {
                HeldDecision::Drop(held)
            } else if asked.is_empty() {
                HeldDecision::Release(held)
            } else {
                HeldDecision::Nothing
            }
        }
    }

    proptest! {
        /// For every order of events: the pending list only shrinks, nothing changes once it is empty, and a
        /// table whose every seat got an outcome has all ended.
        #[test]
        fn pending_only_shrinks(
            seats in prop::collection::vec(prop::sample::select(vec![LOAN, CARD, SECOND]), 0..12),
            wants_loans: bool,
            events in prop::collection::vec((0_usize..14, any::<bool>(), any::<bool>()), 0..60),
        ) {
            let mut progress = TableProgress::start(seats.iter().copied(), wants_loans);
            for (seat, release, offers) in events {
                let before = progress.clone();
                let event = if release { SeatEvent::Released { seat } } else { ended(seat, offers) };
                let result = progress.apply(event);
                if result.is_err() || before.all_ended() {
                    prop_assert_eq!(&progress, &before);
                }
                let was: Vec<usize> = before.pending().collect();
                prop_assert!(progress.pending().all(|seat| was.contains(&seat)));
            }
            for seat in 0..seats.len() {
                let _ = progress.apply(ended(seat, false));
            }
            prop_assert!(progress.all_ended());
        }

        /// The state always matches the reference model.
        #[test]
        fn it_stands_where_its_story_says(
            seats in prop::collection::vec(prop::sample::select(vec![LOAN, CARD, SECOND]), 0..8),
            wants_loans: bool,
            events in prop::collection::vec((0_usize..9, any::<bool>(), any::<bool>()), 0..40),
        ) {
            let mut progress = TableProgress::start(seats.iter().copied(), wants_loans);
            let mut story = Story { seats, wants_loans, taken: Vec::new() };
            for (seat, release, offers) in events {
                let event = if release { SeatEvent::Released { seat } } else { ended(seat, offers) };
                let phase = story.phase(seat);
                let fits = match event {
                    SeatEvent::Released { .. } => phase == Some(SeatPhase::Held),
                    SeatEvent::Ended { .. } => phase.is_some_and(|phase| phase != SeatPhase::Ended),
                };
                let refused = if fits { Ok(()) } else { Err(IllegalTransition { phase, event }) };
                prop_assert_eq!(progress.apply(event), refused);
                story.taken.extend(fits.then_some(event));
                for phase in [SeatPhase::Held, SeatPhase::Asked, SeatPhase::Ended] {
                    prop_assert_eq!(progress.seats_in(phase).collect::<Vec<_>>(), story.all(phase));
                }
                prop_assert_eq!(progress.held_decision(), story.held_decision());
            }
        }
    }
}
