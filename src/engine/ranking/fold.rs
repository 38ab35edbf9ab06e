//! Folds a company's lead events into days of clicked and converted offers.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::day::{ClickOutcome, Day, OfferRatingKey, fingerprint};
use super::key::{self, ClickOwner, day_of};
use super::unreadable;
use crate::rate_table::table::Table;
use crate::records::{Records, reading};
use offerd_model::{EventType, PartnerEventType};
use offerd_partners::declared::PayoutStep;
use offerd_partners::ranking::estimate::RatingBand;
use offerd_partners::{Quote, RecordedSeat};
use offerd_store::entities::Happening;
use offerd_store::{CommitError, Tree};

/// Days by owner and date.
pub type DaysByOwner = BTreeMap<(ClickOwner, u32), Day>;

/// Folds feed entries.
pub struct ClickFold<'r> {
    records: &'r Records,
    days: DaysByOwner,
    changed: Vec<(ClickOwner, u32)>,
}

struct NamedOffer {
    whose: ClickOwner,
    day: u32,
    at: OfferRatingKey,
    fingerprint: u32,
    on: PayoutStep,
}

impl<'r> ClickFold<'r> {
    /// The days that these events change, in their new state.
    pub fn changed(records: &'r Records, happenings: &[Happening]) -> Result<DaysByOwner, CommitError> {
        let mut fold = Self { records, days: DaysByOwner::new(), changed: Vec::new() };
        happenings.iter().try_for_each(|happening| fold.happened(happening))?;
        let Self { mut days, changed, .. } = fold;
        days.retain(|place, _| changed.contains(place));
        Ok(days)
    }

    fn happened(&mut self, happening: &Happening) -> Result<(), CommitError> {
        let Some(step) = step_of(happening.event_type) else { return Ok(()) };
        let became = match (step, happening.taken_back_at) {
            (PayoutStep::Click, _) => ClickOutcome::Clicked,
            (_, None) => ClickOutcome::Converted,
            (_, Some(_)) => ClickOutcome::TakenBack,
        };
        for named in self.named(happening)? {
            // An offer that is paid per click has no conversions to learn.
            if named.on != PayoutStep::Click && (step == PayoutStep::Click || named.on == step) {
                let NamedOffer { whose, day, at, fingerprint, .. } = named;
                if self.day(whose, day)?.note(&at, fingerprint, became) {
                    self.changed.push((whose, day));
                }
            }
        }
        Ok(())
    }

    /// The named offer of an event, or all clicked offers of the institution if only the lead is named.
    fn named(&mut self, happening: &Happening) -> Result<Vec<NamedOffer>, CommitError> {
        let records = self.records;
        let lead = reading::lead(&records.store, happening.lead).ok().flatten();
        let Some(lead) = lead else { return Ok(Vec::new()) };
        let band = reading::rating(&lead);
        let read = |table: Uuid| reading::table(records, table).ok().flatten();
        let (tables, number) = match happening.details.offer {
            Some(offer) => match reading::named(self.records, offer) {
                Ok(Some((table, Some(number)))) => (vec![table], Some(number)),
                _ => return Ok(Vec::new()),
            },
            None => (reading::tables_of(&records.store, &lead).into_iter().filter_map(read).collect(), None),
        };
        let institution = happening.institution.as_ref().map(|(uuid, _)| *uuid);
        let is_meant = |seat: &RecordedSeat| {
            Some(seat.institution) == institution
                && happening.product_type.is_none_or(|wanted| wanted == seat.product_type)
        };
        let mut named = Vec::new();
        for table in &tables {
            for offer in table.numbers() {
                let Some((seat, quote)) = table.offer(offer) else { continue };
                if number.map_or(!is_meant(seat), |number| number != offer) {
                    continue;
                }
                let Some(found) = self.of(table, (offer, seat, quote), band) else { continue };
                if number.is_some() || self.day(found.whose, found.day)?.has(&found.at, found.fingerprint) {
                    named.push(found);
                }
            }
        }
        Ok(named)
    }

    fn of(
        &self,
        table: &Table,
        (number, seat, quote): (u16, &Arc<RecordedSeat>, &Quote),
        band: RatingBand,
    ) -> Option<NamedOffer> {
        let head = table.head();
        let text = self.records.templates.of(quote).ok()?;
        let click_terms = text.click_terms.as_ref()?;
        let offer = click_terms.name.split('/').next().unwrap_or_default().to_owned();
        Some(NamedOffer {
            whose: ClickOwner { company: head.company, test: head.test },
            day: day_of(head.created_at),
            at: OfferRatingKey { product_type: seat.product_type, partner: seat.key.clone(), offer, band },
            fingerprint: fingerprint(self.records.templates.ids.offer(head.uuid, number)),
            on: click_terms.payout.on,
        })
    }

    fn day(&mut self, whose: ClickOwner, day: u32) -> Result<&mut Day, CommitError> {
        if !self.days.contains_key(&(whose, day)) {
            let found = self.records.store.read(Tree::Ranking, key::day(whose, day)).map_err(unreadable)?;
            self.days.insert((whose, day), found.unwrap_or_default());
        }
        Ok(self.days.get_mut(&(whose, day)).expect("it was put there"))
    }
}

fn step_of(event: EventType) -> Option<PayoutStep> {
    match event {
        EventType::OfferClicked => Some(PayoutStep::Click),
        reported => PartnerEventType::from_wire(reported.as_str()).and_then(PayoutStep::reported),
    }
}
