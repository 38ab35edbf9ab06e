//! The subject of a counted record: the lead, and the partner's seat at its rate table.

use std::collections::BTreeSet;

use uuid::Uuid;

use offerd_engine::rate_table::record::TableHead;
use offerd_engine::records::{Records, reading};
use offerd_model::{ProductSubType, ProductType};
use offerd_partners::RecordedSeat;
use offerd_store::entities::LeadRecord;

/// The attributes of a lead that it is counted by.
#[derive(Debug, Clone)]
pub struct CountedLead {
    /// The lead, unless it is erased.
    pub record: Option<LeadRecord>,
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
}

impl CountedLead {
    /// Reads a lead, which may be unreadable.
    pub fn of(records: &Records, lead: Uuid) -> Self {
        Self { record: reading::lead(&records.store, lead).ok().flatten() }
    }

    /// The product types it asks for; empty for an erased lead.
    pub fn asks_for(&self) -> BTreeSet<ProductType> {
        let all = ProductType::ALL.iter().copied();
        all.filter(|product| self.record.as_ref().is_some_and(|record| record.lead.asks_for(*product)))
            .collect()
    }

    /// Its credit rating, as given or derived from the score.
    pub fn rating(&self) -> Option<&'static str> {
        reading::rating(self.record.as_ref()?).map(|rating| rating.as_str())
    }

    /// Its state of residence.
    pub fn state(&self) -> Option<&'static str> {
        let person = self.record.as_ref()?.lead.personal_information.as_ref()?;
        person.state.map(|state| state.as_str())
    }

    /// The distinct values of one of its tags.
    pub fn tag(&self, name: &str) -> BTreeSet<&str> {
        let tags = self.record.as_ref().and_then(|record| record.lead.client_tags.as_ref());
        let values = tags.and_then(|tags| tags.0.get(name));
        values.into_iter().flatten().map(String::as_str).filter(|value| !value.is_empty()).collect()
    }

    /// The experiments it is in, each as `RULE/VARIANT`.
    pub fn experiments(&self) -> Vec<String> {
        let drawn = self.record.iter().flat_map(|record| &record.experiments);
        drawn.map(|(rule, variant)| format!("{rule}/{variant}")).collect()
    }

    /// Whether a table is the lead's first. Those after it are listed, also of an erased lead.
    pub fn is_first(&self, records: &Records, table: &TableHead) -> bool {
        let mut listed = reading::listed_tables(&records.store, table.lead);
        match &self.record {
            Some(record) => record.first_table.or_else(|| listed.next()) == Some(table.uuid),
            None => listed.all(|later| later != table.uuid),
        }
    }
}

impl PartnerSeat {
    /// A seat, with the sub-types of its catalog's offers.
    pub fn of(seat: &RecordedSeat) -> Self {
        let (product_type, partner) = (Some(seat.product_type), Some(seat.key.clone()));
        Self { product_type, sub_types: seat.sub_types.clone(), partner }
    }

    /// The same seat with one sub-type.
    pub fn with(self, sub_type: Option<ProductSubType>) -> Self {
        Self { sub_types: sub_type.into_iter().collect(), ..self }
    }
}

/// The partner whose institution an event names, among the seats at the table of the offer, or else at the
/// lead's tables. Prefers a seat of the product type.
pub fn partner_of(
    records: &Records,
    person: &CountedLead,
    offer: Option<Uuid>,
    institution: Option<Uuid>,
    product_type: Option<ProductType>,
) -> Option<String> {
    let institution = institution?;
    let of_offer = offer.and_then(|offer| reading::offer(records, offer).ok().flatten());
    let tables = match (of_offer, &person.record) {
        (Some((table, _)), _) => vec![table],
        (None, Some(record)) => reading::tables_of(&records.store, record),
        (None, None) => Vec::new(),
    };
    let heads = tables.into_iter().filter_map(|table| reading::head(&records.store, table).ok().flatten());
    let seats: Vec<_> = heads.flat_map(|head| records.templates.seats(&head)).collect();
    let mut at_institution = seats.iter().filter(|seat| seat.institution == institution);
    let of_product = at_institution.clone().find(|seat| Some(seat.product_type) == product_type);
    of_product.or_else(|| at_institution.next()).map(|seat| seat.key.clone())
}
