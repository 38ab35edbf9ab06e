//! Attribution of partner reports: the lead, seat and offer behind the ids in a report.

use std::sync::Arc;

use uuid::Uuid;

use super::partner_events::ReportRefused;
use crate::records::{Records, reading};
use offerd_model::{ApiError, ProductSubType, ProductType, Reference};
use offerd_partners::declared::DeclaredPayout;
use offerd_partners::{QuoteTerms, RecordedSeat};
use offerd_store::entities::LeadRecord;

/// What a report refers to.
#[derive(Debug, Clone)]
pub struct Attribution {
    /// The lead.
    pub lead: LeadRecord,
    /// The partner's seat.
    pub seat: Arc<RecordedSeat>,
    /// The offer, if the report names one.
    pub offer: Option<Uuid>,
    /// The product type; `None` when only the lead is named and the partner was asked about several.
    pub product_type: Option<ProductType>,
    /// The offer's product sub-type.
    pub product_sub_type: Option<ProductSubType>,
    /// Whether the report is about a special offer.
    pub special: bool,
    /// The payout of the offer, or of all of the partner's offers to the lead. Excludes its bid.
    pub payout: Option<DeclaredPayout>,
    /// The lead's loan amount at the time of the ask, dollars.
    pub loan_amount: Option<i32>,
}

type Attributed = Result<Attribution, ReportRefused>;

/// Resolves a partner's reference.
///
/// # Errors
/// [`ReportRefused`] when the partner was not asked about it, or the store cannot be read.
pub fn attribute(records: &Records, partner: &str, reference: &Reference) -> Attributed {
    match reference.offer() {
        Some((attribute, offer)) => by_offer(records, partner, attribute, offer, reference.lead_uuid),
        None => by_lead(records, partner, reference.lead_uuid.unwrap_or_default(), reference.product_type),
    }
}

fn by_offer(records: &Records, partner: &str, name: &str, offer: Uuid, lead: Option<Uuid>) -> Attributed {
    let unknown = || not_asked(name, "Offer", offer, "names no offer of this partner");
    let Some((table, Some(number))) = reading::named(records, offer)? else { return Err(unknown()) };
    let (seat, quote) = table.offer(number).filter(|(seat, _)| seat.key == partner).ok_or_else(unknown)?;
    let head = table.head();
    if let Some(other) = lead.filter(|lead| *lead != head.lead) {
        let message = "must be the lead of the offer, when both are given";
        return Err(not_asked("leadUuid", "Lead", other, message));
    }
    let text = records.templates.of(quote).map_err(|_| ReportRefused::Unavailable)?;
    let is_sold = reading::is_sold(&records.store, &table, seat)?;
    Ok(Attribution {
        lead: reading::lead(&records.store, head.lead)?.ok_or_else(unknown)?,
        seat: Arc::clone(seat),
        offer: Some(offer),
        product_type: Some(seat.product_type),
        product_sub_type: text.sub_type,
        special: matches!(quote.terms, QuoteTerms::Special(_)),
        payout: text.click_terms.as_ref().filter(|_| !is_sold).map(|click_terms| click_terms.payout),
        loan_amount: head.loan_amount,
    })
}

/// The refusal of a reference. Whether the uuid names something of others stays unsaid.
fn not_asked(attribute: &str, noun: &str, uuid: Uuid, message: &str) -> ReportRefused {
    let message = Some(message.to_owned());
    ReportRefused::Fault(ApiError { message, ..ApiError::unknown_uuid(attribute, noun, uuid) })
}

fn by_lead(records: &Records, partner: &str, lead: Uuid, product: Option<ProductType>) -> Attributed {
    let of_product = if product.is_some() { " for this product type" } else { "" };
    let unasked = format!("names no lead that this partner was asked about{of_product}");
    let unknown = || not_asked("leadUuid", "Lead", lead, &unasked);
    let is_product = |seat: &RecordedSeat| product.is_none_or(|wanted| wanted == seat.product_type);
    let asked_about = |seat: &RecordedSeat| seat.key == partner && is_product(seat);
    let record = reading::lead(&records.store, lead)?.ok_or_else(unknown)?;

    let mut asked: Vec<Arc<RecordedSeat>> = Vec::new();
    let mut payouts: Vec<DeclaredPayout> = Vec::new();
    let mut loan_amount = None;
    for table in reading::tables_of(&records.store, &record) {
        let Some(table) = reading::table(records, table)? else { continue };
        loan_amount = table.head().loan_amount.or(loan_amount);
        asked.extend(table.seats().iter().filter(|seat| asked_about(seat)).cloned());
        for (seat, quote) in table.shown().filter(|(seat, _)| asked_about(seat)) {
            if !reading::is_sold(&records.store, &table, seat)? {
                let text = records.templates.of(quote).map_err(|_| ReportRefused::Unavailable)?;
                payouts.extend(text.click_terms.as_ref().map(|click_terms| click_terms.payout));
            }
        }
    }

    let seat = asked.first().cloned().ok_or_else(unknown)?;
    let one_product = asked.iter().all(|other| other.product_type == seat.product_type);
    let one_payout = payouts.first().filter(|first| payouts.iter().all(|payout| payout == *first));
    Ok(Attribution {
        lead: record,
        offer: None,
        product_type: one_product.then_some(seat.product_type),
        product_sub_type: None,
        special: one_product && seat.product_type.is_special(),
        payout: one_payout.copied(),
        loan_amount,
        seat,
    })
}
