//! The subject of a counted record: the lead, and the partner's seat at its rate table.

use uuid::Uuid;

use super::names;
use offerd_engine::rate_table::record::TableHead;
use offerd_engine::records::{Records, reading};
use offerd_model::{ProductSubType, ProductType};
use offerd_partners::RecordedSeat;
use offerd_store::entities::LeadSummary;

/// The attributes of a lead that it is counted by.
#[derive(Debug, Clone)]
pub struct CountedLead {
    /// What is kept of an erased lead too; none if nothing was.
    pub summary: Option<LeadSummary>,
    /// Whether it is erased, so that its rating and state are unknown.
    pub is_erased: bool,
    /// Its credit rating, as given or derived from the score.
    pub rating: Option<&'static str>,
    /// Its state of residence.
    pub state: Option<&'static str>,
}

/// The partner's seat, where it is known.
#[derive(Debug, Clone, Default)]
pub struct PartnerSeat {
    /// The product type.
    pub product_type: Option<ProductType>,
    /// The product sub-types.
    pub sub_types: Vec<ProductSubType>,
    /// The partner's key.
    pub partner: Option<String>,
    /// The offer, as `PARTNER/OFFER`, where one is counted.
    pub offer: Option<String>,
}

impl CountedLead {
    /// Reads a lead, which may be erased or unreadable, with its values of the counted tags.
    pub fn of(records: &Records, lead: Uuid, tags: &[String]) -> Self {
        let record = reading::lead(&records.store, lead).ok().flatten();
        let erased = || reading::erased_lead(&records.store, lead).ok().flatten();
        let summary = record.as_ref().map_or_else(erased, |record| Some(LeadSummary::of(record, tags)));
        let person = record.as_ref().and_then(|record| record.lead.personal_information.as_ref());
        Self {
            summary,
            is_erased: record.is_none(),
            rating: record.as_ref().and_then(reading::rating).map(|rating| rating.as_str()),
            state: person.and_then(|person| person.state).map(|state| state.as_str()),
        }
    }

    /// The experiments it is in, each as `RULE/VARIANT`.
    pub fn experiments(&self) -> Vec<String> {
        let drawn = self.summary.iter().flat_map(|summary| &summary.experiments);
        drawn.map(|(rule, variant)| format!("{rule}/{variant}")).collect()
    }

    /// Whether a table is the lead's first. Those after it are listed, also of an erased lead.
    pub fn is_first(&self, records: &Records, table: &TableHead) -> bool {
        let mut listed = reading::listed_tables(&records.store, table.lead);
        match &self.summary {
            Some(summary) => summary.first_table.or_else(|| listed.next()) == Some(table.uuid),
            None => listed.all(|later| later != table.uuid),
        }
    }

    /// Its tables; of a lead of which nothing was kept, those after the first.
    fn tables(&self, records: &Records, lead: Uuid) -> Vec<Uuid> {
        let first = self.summary.as_ref().and_then(|summary| summary.first_table);
        first.into_iter().chain(reading::listed_tables(&records.store, lead)).collect()
    }
}

impl PartnerSeat {
    /// A seat, with the sub-types of its catalog's offers.
    pub fn of(seat: &RecordedSeat) -> Self {
        let (product_type, partner) = (Some(seat.product_type), Some(seat.key.clone()));
        Self { product_type, sub_types: seat.sub_types.clone(), partner, offer: None }
    }

    /// An offer of a seat.
    pub fn of_offer(seat: &RecordedSeat, key: Option<&str>, sub_type: Option<ProductSubType>) -> Self {
        let sub_types = sub_type.into_iter().collect();
        Self { sub_types, offer: Some(offer_label(seat, key)), ..Self::of(seat) }
    }
}

/// An offer in reports: the keys of its partner and its own.
fn offer_label(seat: &RecordedSeat, key: Option<&str>) -> String {
    key.map_or_else(|| names::named(names::UNKNOWN), |key| names::offer(&seat.key, key))
}

/// The offer of an event in reports, if the event names one.
pub fn offer_of(records: &Records, offer: Option<Uuid>) -> String {
    let Some(offer) = offer else { return names::named(names::NONE) };
    let found = reading::offer(records, offer).ok().flatten();
    let table =
        found.and_then(|(table, number)| Some((reading::counted_table(records, table).ok()??, number)));
    let label = table.and_then(|(table, number)| {
        let (seat, shown) = table.shown(number)?;
        Some(offer_label(seat, shown.key.as_deref()))
    });
    label.unwrap_or_else(|| names::named(names::UNKNOWN))
}

/// The partner whose institution an event names, among the seats at the table of the offer, or else at the
/// lead's tables. Prefers a seat of the product type.
pub fn partner_of(
    records: &Records,
    (lead, person): (Uuid, &CountedLead),
    offer: Option<Uuid>,
    institution: Option<Uuid>,
    product_type: Option<ProductType>,
) -> Option<String> {
    let institution = institution?;
    let of_offer = offer.and_then(|offer| reading::offer(records, offer).ok().flatten());
    let tables = of_offer.map_or_else(|| person.tables(records, lead), |(table, _)| vec![table]);
    let heads = tables.into_iter().filter_map(|table| reading::head(&records.store, table).ok().flatten());
    let seats: Vec<_> = heads.flat_map(|head| records.templates.seats(&head)).collect();
    let mut at_institution = seats.iter().filter(|seat| seat.institution == institution);
    let of_product = at_institution.clone().find(|seat| Some(seat.product_type) == product_type);
    of_product.or_else(|| at_institution.next()).map(|seat| seat.key.clone())
}
