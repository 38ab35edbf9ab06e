//! The catalog of figures that a partner may answer for an offer, with their names.

use super::kind::{DOLLARS, FEE_RATE, Fields, Kind, PERCENT};
use super::{card, policy};
use offerd_model::{
    AprType, CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, MortgageAdjustmentType,
    MortgageLoanType, ProductSubType, ProductType, TermUnit,
};

/// Figures with the same rules.
#[derive(Debug)]
pub(super) struct Row {
    names: &'static [&'static str],
    kind: Kind,
    /// Whether offers of a product type have them.
    of: fn(ProductType) -> bool,
    place: Place,
}

/// Where a figure goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Into the quote, or it selects the offer.
    Quote,
    /// Into the offer, replacing the declared value of the same key.
    Offer,
}

/// A figure by name: a row of the table, or an attribute of one of its objects, as in `card.lateFee`.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Name in the table.
    pub(super) name: &'static str,
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

const INCENTIVE: Kind = Kind::Object(
    "IncentiveDetails",
    Fields(&[
        (DOLLARS, &["amount"]),
        (Kind::Word(IncentiveUnit::WIRE), &["unit"]),
        (Kind::Text, &["display"]),
        (Kind::Word(IncentiveType::WIRE), &["type"]),
    ]),
);

const INSTITUTION: Fields = Fields(&[
    (Kind::Uuid, &["uuid"]),
    (Kind::Text, &["name", "description", "disclaimer"]),
    (Kind::Url, &["imageUrl"]),
]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Selects the catalog offer; not needed if there is only one.
    Row { kind: Kind::Text, of: ALL, place: Place::Quote, names: &["key"] },
    // Selects the term; for a mortgage, the number of months.
    Row { kind: Kind::Whole(0, 600), of: LENT, place: Place::Quote, names: &["term"] },
    // Replaces the offer's `landing_url`.
    Row { kind: Kind::Text, of: ALL, place: Place::Quote, names: &["landing_url"] },
    // Expiry of the offer, if different from the default.
    Row { kind: Kind::Instant, of: ALL, place: Place::Quote, names: &["expires_at"] },
    Row { kind: Kind::Flag, of: FIRM, place: Place::Quote, names: &["pre_approved", "pre_qualified"] },
    Row { kind: Kind::Flag, of: CARD, place: Place::Quote, names: &["pre_selected"] },
    // Lendable amount in dollars; without a maximum, the amount that the lead asks for.
    Row { kind: DOLLARS, of: LOAN, place: Place::Quote, names: &["min_amount", "max_amount"] },
    // APR in percent: one figure, or lowest and highest.
    Row { kind: PERCENT, of: LENT, place: Place::Quote, names: &["apr"] },
    Row { kind: PERCENT, of: LOAN, place: Place::Quote, names: &["min_apr", "max_apr"] },
    // Origination fee in percent of the amount and in dollars: one figure, or lowest and highest.
    Row { kind: FEE_RATE, of: LOAN, place: Place::Quote, names: &["fee_rate", "min_fee_rate", "max_fee_rate"] },
    Row { kind: DOLLARS, of: LOAN, place: Place::Quote, names: &["fee_fixed", "min_fee_fixed", "max_fee_fixed"] },
    // Dollars per month; computed if missing.
    Row { kind: DOLLARS, of: LENT, place: Place::Quote, names: &["monthly_payment"] },
    Row { kind: DOLLARS, of: LOAN, place: Place::Quote, names: &["min_monthly_payment", "max_monthly_payment"] },
    // Total in dollars; computed if missing.
    Row { kind: DOLLARS, of: LOAN, place: Place::Quote, names: &["total_payment", "min_total_payment", "max_total_payment"] },
    // Percent per year.
    Row { kind: PERCENT, of: MORTGAGE, place: Place::Quote, names: &["interest_rate"] },
    Row { kind: Kind::Number(-10.0, 10.0), of: MORTGAGE, place: Place::Quote, names: &["price_adjustment"] },
    Row { kind: Kind::Word(MortgageAdjustmentType::WIRE), of: MORTGAGE, place: Place::Quote, names: &["adjustment_type"] },
    Row { kind: Kind::Number(-10_000_000.0, 10_000_000.0), of: MORTGAGE, place: Place::Quote, names: &["net_closing_costs"] },
    Row { kind: PERCENT, of: SAVINGS, place: Place::Quote, names: &["rate", "annual_percent_yield"] },

    // The institution behind the offer, for a partner that is a marketplace.
    Row { kind: Kind::Object("who makes an offer", INSTITUTION), of: ALL, place: Place::Offer, names: &["institution"] },
    Row { kind: Kind::Word(ProductSubType::WIRE), of: ALL, place: Place::Offer, names: &["sub_type"] },
    Row { kind: Kind::Text, of: UNLENT, place: Place::Offer, names: &["disclaimer"] },
    Row { kind: Kind::Text, of: UNNAMED, place: Place::Offer, names: &["sub_type_disclaimer"] },
    Row { kind: Kind::Number(0.0, 100.0), of: RATED, place: Place::Offer, names: &["consumer_rating"] },
    Row { kind: Kind::Text, of: NAMED, place: Place::Offer, names: &["name", "description"] },
    // Dollars earned at the declared step, replacing the amount of `payout`.
    Row { kind: Kind::Number(0.0, 1_000_000.0), of: ALL, place: Place::Offer, names: &["payout"] },
    Row { kind: Kind::Number(0.0, 1.0), of: ALL, place: Place::Offer, names: &["conversion_probability"] },

    Row { kind: Kind::Word(TermUnit::WIRE), of: LOAN, place: Place::Offer, names: &["term_unit"] },
    Row { kind: Kind::Word(AprType::WIRE), of: LOAN, place: Place::Offer, names: &["apr_type"] },
    Row { kind: Kind::Flag, of: LOAN, place: Place::Offer, names: &["allow_prepayment"] },
    Row { kind: DOLLARS, of: LOAN, place: Place::Offer, names: &["prepayment_fee"] },
    Row { kind: Kind::Flag, of: LOAN, place: Place::Offer, names: &["sponsored"] },
    Row { kind: Kind::Text, of: LOAN, place: Place::Offer, names: &[
        "terms_text", "apr_description", "term_description",
        "monthly_payment_description", "amount_prefix",
    ] },

    Row { kind: Kind::Word(MortgageLoanType::WIRE), of: MORTGAGE, place: Place::Offer, names: &["loan_type"] },

    Row { kind: Kind::Word(CompoundingMethod::WIRE), of: SAVINGS, place: Place::Offer, names: &["compounding"] },
    Row { kind: DOLLARS, of: SAVINGS, place: Place::Offer, names: &["minimum_deposit"] },
    Row { kind: Kind::Number(0.0, 1_000_000.0), of: SAVINGS, place: Place::Offer, names: &["monthly_fee"] },
    Row { kind: DOLLARS, of: SAVINGS, place: Place::Offer, names: &["minimum_deposit_with_fees"] },
    Row { kind: Kind::Instant, of: SAVINGS, place: Place::Offer, names: &["effective_as_of"] },
    Row { kind: Kind::Whole(0, 600), of: SAVINGS, place: Place::Offer, names: &["introductory_period_months"] },
    Row { kind: Kind::Number(0.0, 100.0), of: SAVINGS, place: Place::Offer, names: &["introductory_rate"] },
    Row { kind: Kind::Flag, of: SAVINGS, place: Place::Offer, names: &["check_writing"] },
    Row { kind: Kind::Text, of: SAVINGS, place: Place::Offer, names: &["details"] },
    Row { kind: Kind::Word(FederalInsuranceType::WIRE), of: SAVINGS, place: Place::Offer, names: &["federal_insurance_type"] },
    Row { kind: Kind::List(&INCENTIVE), of: SAVINGS, place: Place::Offer, names: &["incentive_details"] },
    Row { kind: Kind::Whole(1, 600), of: SAVINGS, place: Place::Offer, names: &["cd_term_length"] },
    Row { kind: Kind::Word(TermUnit::WIRE), of: SAVINGS, place: Place::Offer, names: &["cd_term_unit"] },
    Row { kind: Kind::List(&Kind::Url), of: SAVINGS, place: Place::Offer, names: &["impression_tracking_pixel_urls"] },

    Row { kind: Kind::Object(card::NOUN, card::FIELDS), of: CARD, place: Place::Offer, names: &["card"] },
    Row { kind: Kind::Object(policy::NOUN, policy::FIELDS), of: LIFE, place: Place::Offer, names: &["policy"] },
];

impl Figure {
    /// The figure with this name for a product type.
    pub fn named(name: &str, product_type: ProductType) -> Option<Self> {
        let (name, attribute) = name.split_once('.').map_or((name, None), |(row, name)| (row, Some(name)));
        let (name, row) = rows(product_type).find(|(known, _)| *known == name)?;
        let Some(attribute) = attribute else { return Some(Self { name, row, attribute: None }) };
        let found = row.attributes().find(|(name, _)| *name == attribute)?;
        Some(Self { name, row, attribute: Some(found) })
    }

    /// Names of the figures of a product type, without attributes of objects.
    pub fn names(product_type: ProductType) -> impl Iterator<Item = &'static str> {
        rows(product_type).map(|(name, _)| name)
    }

    /// Dotted names of the attributes of those figures that are objects.
    pub fn dotted_names(product_type: ProductType) -> impl Iterator<Item = String> {
        rows(product_type)
            .flat_map(|(name, row)| row.attributes().map(move |(attribute, _)| format!("{name}.{attribute}")))
    }

    /// Name of the attribute within its object, if it is one.
    pub(super) fn attribute(self) -> Option<&'static str> {
        self.attribute.map(|(name, _)| name)
    }

    /// The kind of its values.
    pub(super) fn kind(self) -> &'static Kind {
        self.attribute.map_or(&self.row.kind, |(_, kind)| kind)
    }

    /// Whether it replaces a declared value of the offer.
    pub(super) fn is_of_offer(self) -> bool {
        self.row.place == Place::Offer
    }

    /// Whether it is a number and can have bounds.
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

fn rows(product_type: ProductType) -> impl Iterator<Item = (&'static str, &'static Row)> {
    let of_product = ROWS.iter().filter(move |row| (row.of)(product_type));
    of_product.flat_map(|row| row.names.iter().map(move |name| (*name, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::{CreditCardOfferDetails, KnownKeys, LifeInsuranceOfferDetails};

    #[test]
    fn a_figure_is_named_alone_or_within_its_object() {
        let figure = Figure::named("card.lateFee", ProductType::CreditCard).unwrap();
        assert_eq!((figure.name, figure.attribute()), ("card", Some("lateFee")));
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
