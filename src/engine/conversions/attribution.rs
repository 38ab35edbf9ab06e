//! Attribution of partner reports: the lead, seat and offer behind the ids in a report.

use std::sync::Arc;

use uuid::Uuid;

use super::partner_events::ReportRefused;
use crate::matching::trigger::RequestedReport;
use crate::rate_table::summary::{CountedTable, ShownOffer};
use crate::records::public_ids::place;
use crate::records::{Found, Records, reading};
use offerd_model::{ApiError, ProductSubType, ProductType, Reference};
use offerd_partners::RecordedSeat;
use offerd_partners::declared::{DeclaredPayout, PayoutStep};
use offerd_store::Tree;
use offerd_store::entities::LeadSummary;

/// What a report refers to.
#[derive(Debug, Clone)]
pub struct Attribution {
    /// The lead.
    pub lead: Uuid,
    /// Its company and time.
    pub summary: LeadSummary,
    /// Whether it is erased.
    pub is_erased: bool,
    /// Whether reports book payouts: not for a test lead, unless it requests reports itself.
    pub earns: bool,
    /// The partner's seat.
    pub seat: Arc<RecordedSeat>,
    /// The offer that the report names, or the only one of the partner that the lead clicked.
    pub offer: Option<Uuid>,
    /// The product type; `None` when only the lead is named and the partner was asked about several.
    pub product_type: Option<ProductType>,
    /// The offer's product sub-type.
    pub product_sub_type: Option<ProductSubType>,
    /// Whether the report is about a special offer.
    pub special: bool,
    /// The payout of the offer, or of all of the partner's offers to the lead. Excludes its bid.
    pub payout: Option<DeclaredPayout>,
    /// Why there is no such payout.
    pub unpaid: Option<Unpaid>,
    /// The lead's loan amount at the time of the ask, dollars.
    pub loan_amount: Option<i32>,
}

/// Why a report names no payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpaid {
    /// The partner pays its bid.
    Sold,
    /// The lead was shown no offer of the partner.
    NoOffer,
    /// The partner's offers to the lead pay differently at these steps, and not exactly one was clicked.
    Several(Vec<PayoutStep>),
}

/// An offer of the partner that a lead was shown.
struct OwnOffer {
    uuid: Uuid,
    seat: Arc<RecordedSeat>,
    shown: ShownOffer,
    is_clicked: bool,
}

/// What a partner was asked about a lead, in all its tables.
#[derive(Default)]
struct AskedSeats {
    seats: Vec<Arc<RecordedSeat>>,
    /// The offers shown, except those of seats that pay their bid.
    offers: Vec<OwnOffer>,
    is_sold: bool,
    loan_amount: Option<i32>,
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
    let Some((table, number)) = reading::offer(records, offer)? else { return Err(unknown()) };
    let table = reading::counted_table(records, table)?.ok_or_else(unknown)?;
    let (seat, shown) = table.shown(number).filter(|(seat, _)| seat.key == partner).ok_or_else(unknown)?;
    let head = &table.head;
    if let Some(other) = lead.filter(|lead| *lead != head.lead) {
        let message = "must be the lead of the offer, when both are given";
        return Err(not_asked("leadUuid", "Lead", other, message));
    }
    let is_sold = reading::is_sold(&records.store, table.asked(), seat)?;
    let payout = shown.payout.filter(|_| !is_sold);
    let (summary, is_erased, earns) = lead_of(records, head.lead)?.ok_or_else(unknown)?;
    Ok(Attribution {
        lead: head.lead,
        summary,
        is_erased,
        earns,
        seat: Arc::clone(seat),
        offer: Some(offer),
        product_type: Some(seat.product_type),
        product_sub_type: shown.product_sub_type,
        special: shown.special,
        payout,
        unpaid: payout.is_none().then_some(Unpaid::Sold),
        loan_amount: head.loan_amount,
    })
}

/// A lead, whether it is erased, and whether it earns.
fn lead_of(records: &Records, lead: Uuid) -> Found<Option<(LeadSummary, bool, bool)>> {
    if let Some(record) = reading::lead(&records.store, lead)? {
        let earns = !record.test || !RequestedReport::all_of(&record.lead).is_empty();
        return Ok(Some((LeadSummary::of(&record, &[]), false, earns)));
    }
    Ok(reading::erased_lead(&records.store, lead)?.map(|summary| {
        let earns = !summary.test;
        (summary, true, earns)
    }))
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
    let (summary, is_erased, earns) = lead_of(records, lead)?.ok_or_else(unknown)?;

    let asked = AskedSeats::read(records, (lead, summary.first_table), asked_about)?;
    let AskedSeats { seats, offers, is_sold, loan_amount } = asked;
    let seat = seats.first().cloned().ok_or_else(unknown)?;
    let mut clicked = offers.iter().filter(|offer| offer.is_clicked);
    if let (Some(offer), None) = (clicked.next(), clicked.next()) {
        return Ok(Attribution {
            lead,
            summary,
            is_erased,
            earns,
            seat: Arc::clone(&offer.seat),
            offer: Some(offer.uuid),
            product_type: Some(offer.seat.product_type),
            product_sub_type: offer.shown.product_sub_type,
            special: offer.shown.special,
            payout: offer.shown.payout,
            unpaid: None,
            loan_amount,
        });
    }

    let payouts: Vec<DeclaredPayout> = offers.iter().filter_map(|offer| offer.shown.payout).collect();
    let one_product = seats.iter().all(|other| other.product_type == seat.product_type);
    let payout = payouts.first().filter(|first| payouts.iter().all(|payout| payout == *first)).copied();
    let unpaid = match payout {
        Some(_) => None,
        None if is_sold => Some(Unpaid::Sold),
        None if payouts.is_empty() => Some(Unpaid::NoOffer),
        None => Some(Unpaid::Several(payouts.iter().map(|payout| payout.on).collect())),
    };
    Ok(Attribution {
        lead,
        summary,
        is_erased,
        earns,
        offer: None,
        product_type: one_product.then_some(seat.product_type),
        product_sub_type: None,
        special: one_product && seat.product_type.is_special(),
        payout,
        unpaid,
        loan_amount,
        seat,
    })
}

impl AskedSeats {
    fn read(
        records: &Records,
        (lead, first_table): (Uuid, Option<Uuid>),
        is_its: impl Fn(&RecordedSeat) -> bool,
    ) -> Result<Self, ReportRefused> {
        let mut asked = Self::default();
        for table in first_table.into_iter().chain(reading::listed_tables(&records.store, lead)) {
            let Some(table) = reading::counted_table(records, table)? else { continue };
            asked.loan_amount = table.head.loan_amount.or(asked.loan_amount);
            asked.seats.extend(table.seats.iter().filter(|seat| is_its(seat)).cloned());
            for shown in table.summary.shown.iter().filter(|shown| is_its(table.seat(shown))) {
                asked.add_offer(records, &table, shown)?;
            }
        }
        Ok(asked)
    }

    fn add_offer(
        &mut self,
        records: &Records,
        table: &CountedTable,
        shown: &ShownOffer,
    ) -> Result<(), ReportRefused> {
        let (seat, uuid) = (table.seat(shown), table.head.uuid);
        // A seat that paid its bid has no payout in what is kept of an erased lead.
        if shown.payout.is_none() || reading::is_sold(&records.store, table.asked(), seat)? {
            self.is_sold = true;
            return Ok(());
        }
        let clicks = reading::count(&records.store, Tree::Clicks, place(uuid, shown.number))?;
        self.offers.push(OwnOffer {
            uuid: records.templates.ids.offer(uuid, shown.number),
            seat: Arc::clone(seat),
            shown: shown.clone(),
            is_clicked: clicks.is_some_and(|clicks| clicks > 0),
        });
        Ok(())
    }
}
