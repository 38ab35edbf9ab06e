//! Every figure that a partner may answer for an offer, and what names it.

use super::kind::{DOLLARS, FEE_RATE, Fields, Kind, PERCENT};
use super::{card, policy};
use crate::model::{
    AprType, CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, MortgageAdjustmentType,
    MortgageLoanType, ProductSubType, ProductType, TermUnit,
};

/// A figure that a partner may answer.
#[derive(Debug)]
pub(super) struct Row {
    name: &'static str,
    kind: Kind,
    /// Whether offers of a product type have it.
    of: fn(ProductType) -> bool,
    place: Place,
}

/// What becomes of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It stands in the quote, or chooses the offer.
    Quote,
    /// It stands in place of what the file says under the same key of an offer.
    Offer,
}

/// A figure by its name: of the table, or an attribute of an object of it, as in `card.lateFee`.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    row: &'static Row,
    attribute: Option<(&'static str, &'static Kind)>,
}

const ALL: fn(ProductType) -> bool = |_| true;
const LOAN: fn(ProductType) -> bool = |of| of == ProductType::Loan;
const MORTGAGE: fn(ProductType) -> bool = |of| of == ProductType::Mortgage;
const SAVINGS: fn(ProductType) -> bool = |of| of == ProductType::Savings;
const CARD: fn(ProductType) -> bool = |of| of == ProductType::CreditCard;
const LIFE: fn(ProductType) -> bool = |of| of == ProductType::LifeInsurance;
const LENT: fn(ProductType) -> bool = |of| LOAN(of) || MORTGAGE(of);
const FIRM: fn(ProductType) -> bool = |of| LOAN(of) || CARD(of);
const RATED: fn(ProductType) -> bool = |of| MORTGAGE(of) || SAVINGS(of);
const UNLENT: fn(ProductType) -> bool = |of| !LOAN(of);
const UNNAMED: fn(ProductType) -> bool = |of| !of.is_special();
const NAMED: fn(ProductType) -> bool = |of| SAVINGS(of) || of.is_special();

/// Something that is given for opening an account.
const INCENTIVE: Kind = Kind::Object(
    "IncentiveDetails",
    Fields(&[
        (DOLLARS, &["amount"]),
        (Kind::Word(IncentiveUnit::WIRE), &["unit"]),
        (Kind::Text, &["display"]),
        (Kind::Word(IncentiveType::WIRE), &["type"]),
    ]),
);

/// Who makes the offer.
const INSTITUTION: Fields = Fields(&[
    (Kind::Uuid, &["uuid"]),
    (Kind::Text, &["name", "description", "disclaimer"]),
    (Kind::Url, &["imageUrl"]),
]);

/// Every figure there is.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Which offer of the catalog it is; the only one where there is one.
    Row { name: "key", kind: Kind::Text, of: ALL, place: Place::Quote },
    // Which of its terms; of a mortgage how many months.
    Row { name: "term", kind: Kind::Whole(0, 600), of: LENT, place: Place::Quote },
    // Where a click leads, in place of the offer's `landing_url`.
    Row { name: "landing_url", kind: Kind::Text, of: ALL, place: Place::Quote },
    // Until when it stands, where that is not as long as others do.
    Row { name: "expires_at", kind: Kind::Instant, of: ALL, place: Place::Quote },
    Row { name: "pre_approved", kind: Kind::Flag, of: FIRM, place: Place::Quote },
    Row { name: "pre_qualified", kind: Kind::Flag, of: FIRM, place: Place::Quote },
    Row { name: "pre_selected", kind: Kind::Flag, of: CARD, place: Place::Quote },
    // Dollars that are lent; what the lead asks for where only one or none is given.
    Row { name: "min_amount", kind: DOLLARS, of: LOAN, place: Place::Quote },
    Row { name: "max_amount", kind: DOLLARS, of: LOAN, place: Place::Quote },
    // APR in percent: one figure, or its ends.
    Row { name: "apr", kind: PERCENT, of: LENT, place: Place::Quote },
    Row { name: "min_apr", kind: PERCENT, of: LOAN, place: Place::Quote },
    Row { name: "max_apr", kind: PERCENT, of: LOAN, place: Place::Quote },
    // Origination fee, percent of the amount, and dollars: one figure, or its ends.
    Row { name: "fee_rate", kind: FEE_RATE, of: LOAN, place: Place::Quote },
    Row { name: "min_fee_rate", kind: FEE_RATE, of: LOAN, place: Place::Quote },
    Row { name: "max_fee_rate", kind: FEE_RATE, of: LOAN, place: Place::Quote },
    Row { name: "fee_fixed", kind: DOLLARS, of: LOAN, place: Place::Quote },
    Row { name: "min_fee_fixed", kind: DOLLARS, of: LOAN, place: Place::Quote },
    Row { name: "max_fee_fixed", kind: DOLLARS, of: LOAN, place: Place::Quote },
    // Dollars a month; computed where it is not given.
    Row { name: "monthly_payment", kind: DOLLARS, of: LENT, place: Place::Quote },
    Row { name: "min_monthly_payment", kind: DOLLARS, of: LOAN, place: Place::Quote },
    Row { name: "max_monthly_payment", kind: DOLLARS, of: LOAN, place: Place::Quote },
    // Dollars altogether; likewise.
    Row { name: "total_payment", kind: DOLLARS, of: LOAN, place: Place::Quote },
    Row { name: "min_total_payment", kind: DOLLARS, of: LOAN, place: Place::Quote },
    Row { name: "max_total_payment", kind: DOLLARS, of: LOAN, place: Place::Quote },
    // Percent a year.
    Row { name: "interest_rate", kind: PERCENT, of: MORTGAGE, place: Place::Quote },
    Row { name: "price_adjustment", kind: Kind::Number(-10.0, 10.0), of: MORTGAGE, place: Place::Quote },
    Row { name: "adjustment_type", kind: Kind::Word(MortgageAdjustmentType::WIRE), of: MORTGAGE, place: Place::Quote },
    Row { name: "net_closing_costs", kind: Kind::Number(-10_000_000.0, 10_000_000.0), of: MORTGAGE, place: Place::Quote },
    Row { name: "rate", kind: PERCENT, of: SAVINGS, place: Place::Quote },
    Row { name: "annual_percent_yield", kind: PERCENT, of: SAVINGS, place: Place::Quote },

    // Who makes it, where the partner is a marketplace.
    Row { name: "institution", kind: Kind::Object("who makes an offer", INSTITUTION), of: ALL, place: Place::Offer },
    Row { name: "sub_type", kind: Kind::Word(ProductSubType::WIRE), of: ALL, place: Place::Offer },
    Row { name: "disclaimer", kind: Kind::Text, of: UNLENT, place: Place::Offer },
    Row { name: "sub_type_disclaimer", kind: Kind::Text, of: UNNAMED, place: Place::Offer },
    Row { name: "consumer_rating", kind: Kind::Number(0.0, 100.0), of: RATED, place: Place::Offer },
    Row { name: "name", kind: Kind::Text, of: NAMED, place: Place::Offer },
    Row { name: "description", kind: Kind::Text, of: NAMED, place: Place::Offer },
    // What is earned at the step that the file says, in place of its `payout`: dollars.
    Row { name: "payout", kind: Kind::Number(0.0, 1_000_000.0), of: ALL, place: Place::Offer },
    Row { name: "conversion_probability", kind: Kind::Number(0.0, 1.0), of: ALL, place: Place::Offer },

    Row { name: "term_unit", kind: Kind::Word(TermUnit::WIRE), of: LOAN, place: Place::Offer },
    Row { name: "apr_type", kind: Kind::Word(AprType::WIRE), of: LOAN, place: Place::Offer },
    Row { name: "allow_prepayment", kind: Kind::Flag, of: LOAN, place: Place::Offer },
    Row { name: "prepayment_fee", kind: DOLLARS, of: LOAN, place: Place::Offer },
    Row { name: "sponsored", kind: Kind::Flag, of: LOAN, place: Place::Offer },
    Row { name: "terms_text", kind: Kind::Text, of: LOAN, place: Place::Offer },
    Row { name: "apr_description", kind: Kind::Text, of: LOAN, place: Place::Offer },
    Row { name: "term_description", kind: Kind::Text, of: LOAN, place: Place::Offer },
    Row { name: "monthly_payment_description", kind: Kind::Text, of: LOAN, place: Place::Offer },
    Row { name: "amount_prefix", kind: Kind::Text, of: LOAN, place: Place::Offer },

    Row { name: "loan_type", kind: Kind::Word(MortgageLoanType::WIRE), of: MORTGAGE, place: Place::Offer },

    Row { name: "compounding", kind: Kind::Word(CompoundingMethod::WIRE), of: SAVINGS, place: Place::Offer },
    Row { name: "minimum_deposit", kind: DOLLARS, of: SAVINGS, place: Place::Offer },
    Row { name: "monthly_fee", kind: Kind::Number(0.0, 1_000_000.0), of: SAVINGS, place: Place::Offer },
    Row { name: "minimum_deposit_with_fees", kind: DOLLARS, of: SAVINGS, place: Place::Offer },
    Row { name: "effective_as_of", kind: Kind::Instant, of: SAVINGS, place: Place::Offer },
    Row { name: "introductory_period_months", kind: Kind::Whole(0, 600), of: SAVINGS, place: Place::Offer },
    Row { name: "introductory_rate", kind: Kind::Number(0.0, 100.0), of: SAVINGS, place: Place::Offer },
    Row { name: "check_writing", kind: Kind::Flag, of: SAVINGS, place: Place::Offer },
    Row { name: "details", kind: Kind::Text, of: SAVINGS, place: Place::Offer },
    Row { name: "federal_insurance_type", kind: Kind::Word(FederalInsuranceType::WIRE), of: SAVINGS, place: Place::Offer },
    Row { name: "incentive_details", kind: Kind::List(&INCENTIVE), of: SAVINGS, place: Place::Offer },
    Row { name: "cd_term_length", kind: Kind::Whole(1, 600), of: SAVINGS, place: Place::Offer },
    Row { name: "cd_term_unit", kind: Kind::Word(TermUnit::WIRE), of: SAVINGS, place: Place::Offer },
    Row { name: "impression_tracking_pixel_urls", kind: Kind::List(&Kind::Url), of: SAVINGS, place: Place::Offer },

    Row { name: "card", kind: Kind::Object(card::NOUN, card::FIELDS), of: CARD, place: Place::Offer },
    Row { name: "policy", kind: Kind::Object(policy::NOUN, policy::FIELDS), of: LIFE, place: Place::Offer },
];

impl Figure {
    /// The figure of a name that offers of a product type have.
    pub fn named(name: &str, product_type: ProductType) -> Option<Self> {
        let (name, attribute) = name.split_once('.').map_or((name, None), |(row, name)| (row, Some(name)));
        let row = rows(product_type).find(|row| row.name == name)?;
        let Some(attribute) = attribute else { return Some(Self { row, attribute: None }) };
        let found = row.attributes().find(|(name, _)| *name == attribute)?;
        Some(Self { row, attribute: Some(found) })
    }

    /// The names of the figures that offers of a product type have; those of attributes stand for themselves alone.
    pub fn names(product_type: ProductType) -> impl Iterator<Item = &'static str> {
        rows(product_type).map(|row| row.name)
    }

    /// The names of the attributes of those that are objects.
    pub fn dotted_names(product_type: ProductType) -> impl Iterator<Item = String> {
        rows(product_type)
            .flat_map(|row| row.attributes().map(move |(name, _)| format!("{}.{name}", row.name)))
    }

    /// Its name in the table.
    pub(super) fn row_name(self) -> &'static str {
        self.row.name
    }

    /// Its name within the object that it is an attribute of.
    pub(super) fn attribute(self) -> Option<&'static str> {
        self.attribute.map(|(name, _)| name)
    }

    /// What a value of it must be.
    pub(super) fn kind(self) -> &'static Kind {
        self.attribute.map_or(&self.row.kind, |(_, kind)| kind)
    }

    /// Whether it stands in place of what the file says of an offer.
    pub(super) fn is_of_offer(self) -> bool {
        self.row.place == Place::Offer
    }

    /// Whether it is a number, which bounds can be set to.
    pub fn is_number(self) -> bool {
        matches!(self.kind(), Kind::Number(..) | Kind::Whole(..))
    }
}

impl Row {
    fn attributes(&self) -> impl Iterator<Item = (&'static str, &'static Kind)> {
        let fields = if let Kind::Object(_, fields) = self.kind { fields } else { Fields(&[]) };
        fields.each()
    }
}

fn rows(product_type: ProductType) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| (row.of)(product_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CreditCardOfferDetails, KnownKeys, LifeInsuranceOfferDetails};

    #[test]
    fn a_figure_is_named_alone_or_within_its_object() {
        let figure = Figure::named("card.lateFee", ProductType::CreditCard).unwrap();
        assert_eq!((figure.row_name(), figure.attribute()), ("card", Some("lateFee")));
        assert!(figure.is_number() && figure.is_of_offer());
        assert!(Figure::named("apr", ProductType::Loan).is_some_and(|apr| !apr.is_of_offer()));
        for (name, of) in [
            ("card.lateFee", ProductType::Loan),
            ("card.preApproved", ProductType::CreditCard),
            ("card.lateFee.x", ProductType::CreditCard),
            ("apr.x", ProductType::Loan),
            ("apr", ProductType::Savings),
        ] {
            assert!(Figure::named(name, of).is_none(), "{name}");
        }
    }

    #[test]
    fn attributes_of_objects_are_those_of_the_model() {
        let known = [KnownKeys::of::<CreditCardOfferDetails>(), KnownKeys::of::<LifeInsuranceOfferDetails>()];
        for (known, fields) in known.iter().zip([card::FIELDS, policy::FIELDS]) {
            let keys = fields.each().map(|(name, _)| (name.to_owned(), serde_json::Value::Null));
            let body = serde_json::Value::Object(keys.collect()).to_string();
            assert_eq!(known.unknown(body.as_bytes()), []);
        }
    }
}
