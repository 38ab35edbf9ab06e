//! The catalog of figures that a partner may answer for an offer, with their names.

use serde_json::Value;

use super::kind::{DOLLARS, FEE_RATE, FigureKind, LENT_DOLLARS, ObjectFields, PAID, PERCENT, number_of};
use super::{card, policy};
use offerd_model::{
    AprType, CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, MortgageAdjustmentType,
    MortgageLoanType, ProductSubType, ProductType, TermUnit,
};

#[derive(Debug)]
pub(super) struct FigureRow {
    names: &'static [&'static str],
    kind: FigureKind,
    /// Whether offers of a product type have them.
    of: fn(ProductType) -> bool,
    /// Whether it replaces the declared value of the same key; otherwise it is of the quote or selects the
    /// offer.
    is_of_offer: bool,
}

/// A figure by name: a row of the table, or an attribute of one of its objects, as in `card.lateFee`.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredFigure {
    pub(super) name: &'static str,
    row: &'static FigureRow,
    attribute: Option<(&'static str, &'static FigureKind)>,
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

const INCENTIVE: FigureKind = FigureKind::Object(
    "IncentiveDetails",
    ObjectFields(&[
        (DOLLARS, &["amount"]),
        (FigureKind::Word(IncentiveUnit::WIRE), &["unit"]),
        (FigureKind::Text, &["display"]),
        (FigureKind::Word(IncentiveType::WIRE), &["type"]),
    ]),
);

const INSTITUTION: ObjectFields = ObjectFields(&[
    (FigureKind::Uuid, &["uuid"]),
    (FigureKind::Text, &["name", "description", "disclaimer"]),
    (FigureKind::Url, &["imageUrl"]),
]);

#[rustfmt::skip]
const ROWS: &[FigureRow] = &[
    // Selects the catalog offer; not needed if there is only one.
    FigureRow { kind: FigureKind::Text, of: ALL, is_of_offer: false, names: &["key"] },
    // Selects the term, 0 of an open loan; for a mortgage, the number of months.
    FigureRow { kind: FigureKind::Whole(0, 600), of: LOAN, is_of_offer: false, names: &["term"] },
    FigureRow { kind: FigureKind::Whole(1, 600), of: MORTGAGE, is_of_offer: false, names: &["term"] },
    // Replaces the offer's `landing_url`.
    FigureRow { kind: FigureKind::Text, of: ALL, is_of_offer: false, names: &["landing_url"] },
    // Expiry of the offer, if different from the default.
    FigureRow { kind: FigureKind::Instant, of: ALL, is_of_offer: false, names: &["expires_at"] },
    FigureRow { kind: FigureKind::Flag, of: FIRM, is_of_offer: false, names: &["pre_approved", "pre_qualified"] },
    FigureRow { kind: FigureKind::Flag, of: CARD, is_of_offer: false, names: &["pre_selected"] },
    // Lendable amount in dollars; without a maximum, the amount that the lead asks for.
    FigureRow { kind: DOLLARS, of: LOAN, is_of_offer: false, names: &["min_amount"] },
    FigureRow { kind: LENT_DOLLARS, of: LOAN, is_of_offer: false, names: &["max_amount"] },
    // APR in percent: one figure, or lowest and highest.
    FigureRow { kind: PERCENT, of: LENT, is_of_offer: false, names: &["apr"] },
    FigureRow { kind: PERCENT, of: LOAN, is_of_offer: false, names: &["min_apr", "max_apr"] },
    // Origination fee in percent of the amount and in dollars: one figure, or lowest and highest.
    FigureRow { kind: FEE_RATE, of: LOAN, is_of_offer: false, names: &["fee_rate", "min_fee_rate", "max_fee_rate"] },
    FigureRow { kind: DOLLARS, of: LOAN, is_of_offer: false, names: &["fee_fixed", "min_fee_fixed", "max_fee_fixed"] },
    // Dollars per month; computed if missing.
    FigureRow { kind: PAID, of: LENT, is_of_offer: false, names: &["monthly_payment"] },
    FigureRow { kind: PAID, of: LOAN, is_of_offer: false, names: &["min_monthly_payment", "max_monthly_payment"] },
    // Total in dollars; computed if missing.
    FigureRow { kind: PAID, of: LOAN, is_of_offer: false, names: &["total_payment", "min_total_payment", "max_total_payment"] },
    // Percent per year.
    FigureRow { kind: PERCENT, of: MORTGAGE, is_of_offer: false, names: &["interest_rate"] },
    FigureRow { kind: FigureKind::Number(-10.0, 10.0), of: MORTGAGE, is_of_offer: false, names: &["price_adjustment"] },
    FigureRow { kind: FigureKind::Word(MortgageAdjustmentType::WIRE), of: MORTGAGE, is_of_offer: false, names: &["adjustment_type"] },
    FigureRow { kind: FigureKind::Number(-10_000_000.0, 10_000_000.0), of: MORTGAGE, is_of_offer: false, names: &["net_closing_costs"] },
    FigureRow { kind: PERCENT, of: SAVINGS, is_of_offer: false, names: &["rate", "annual_percent_yield"] },

    // The institution behind the offer, for a partner that is a marketplace.
    FigureRow { kind: FigureKind::Object("who makes an offer", INSTITUTION), of: ALL, is_of_offer: true, names: &["institution"] },
    FigureRow { kind: FigureKind::Word(ProductSubType::WIRE), of: ALL, is_of_offer: true, names: &["sub_type"] },
    FigureRow { kind: FigureKind::Text, of: UNLENT, is_of_offer: true, names: &["disclaimer"] },
    FigureRow { kind: FigureKind::Text, of: UNNAMED, is_of_offer: true, names: &["sub_type_disclaimer"] },
    FigureRow { kind: FigureKind::Number(0.0, 100.0), of: RATED, is_of_offer: true, names: &["consumer_rating"] },
    FigureRow { kind: FigureKind::Text, of: NAMED, is_of_offer: true, names: &["name", "description"] },
    // Dollars earned at the declared step, replacing the amount of `payout`.
    FigureRow { kind: FigureKind::Number(0.0, 1_000_000.0), of: ALL, is_of_offer: true, names: &["payout"] },
    FigureRow { kind: FigureKind::Number(0.0, 1.0), of: ALL, is_of_offer: true, names: &["conversion_probability"] },

    FigureRow { kind: FigureKind::Word(TermUnit::WIRE), of: LOAN, is_of_offer: true, names: &["term_unit"] },
    FigureRow { kind: FigureKind::Word(AprType::WIRE), of: LOAN, is_of_offer: true, names: &["apr_type"] },
    FigureRow { kind: FigureKind::Flag, of: LOAN, is_of_offer: true, names: &["allow_prepayment"] },
    FigureRow { kind: DOLLARS, of: LOAN, is_of_offer: true, names: &["prepayment_fee"] },
    FigureRow { kind: FigureKind::Flag, of: LOAN, is_of_offer: true, names: &["sponsored"] },
    FigureRow { kind: FigureKind::Text, of: LOAN, is_of_offer: true, names: &[
        "terms_text", "apr_description", "term_description",
        "monthly_payment_description", "amount_prefix",
    ] },

    FigureRow { kind: FigureKind::Word(MortgageLoanType::WIRE), of: MORTGAGE, is_of_offer: true, names: &["loan_type"] },

    FigureRow { kind: FigureKind::Word(CompoundingMethod::WIRE), of: SAVINGS, is_of_offer: true, names: &["compounding"] },
    FigureRow { kind: DOLLARS, of: SAVINGS, is_of_offer: true, names: &["minimum_deposit"] },
    FigureRow { kind: FigureKind::Number(0.0, 1_000_000.0), of: SAVINGS, is_of_offer: true, names: &["monthly_fee"] },
    FigureRow { kind: DOLLARS, of: SAVINGS, is_of_offer: true, names: &["minimum_deposit_with_fees"] },
    FigureRow { kind: FigureKind::Instant, of: SAVINGS, is_of_offer: true, names: &["effective_as_of"] },
    FigureRow { kind: FigureKind::Whole(0, 600), of: SAVINGS, is_of_offer: true, names: &["introductory_period_months"] },
    FigureRow { kind: FigureKind::Number(0.0, 100.0), of: SAVINGS, is_of_offer: true, names: &["introductory_rate"] },
    FigureRow { kind: FigureKind::Flag, of: SAVINGS, is_of_offer: true, names: &["check_writing"] },
    FigureRow { kind: FigureKind::Text, of: SAVINGS, is_of_offer: true, names: &["details"] },
    FigureRow { kind: FigureKind::Word(FederalInsuranceType::WIRE), of: SAVINGS, is_of_offer: true, names: &["federal_insurance_type"] },
    FigureRow { kind: FigureKind::List(&INCENTIVE), of: SAVINGS, is_of_offer: true, names: &["incentive_details"] },
    FigureRow { kind: FigureKind::Whole(1, 600), of: SAVINGS, is_of_offer: true, names: &["cd_term_length"] },
    FigureRow { kind: FigureKind::Word(TermUnit::WIRE), of: SAVINGS, is_of_offer: true, names: &["cd_term_unit"] },
    FigureRow { kind: FigureKind::List(&FigureKind::Url), of: SAVINGS, is_of_offer: true, names: &["impression_tracking_pixel_urls"] },

    FigureRow { kind: FigureKind::Object(card::NOUN, card::FIELDS), of: CARD, is_of_offer: true, names: &["card"] },
    FigureRow { kind: FigureKind::Object(policy::NOUN, policy::FIELDS), of: LIFE, is_of_offer: true, names: &["policy"] },
];

impl AnsweredFigure {
    /// The figure with this name for a product type.
    pub fn named(name: &str, product_type: ProductType) -> Option<Self> {
        let (name, attribute) = name.split_once('.').map_or((name, None), |(row, name)| (row, Some(name)));
        let (name, row) = rows(product_type).find(|(known, _)| *known == name)?;
        let Some(attribute) = attribute else { return Some(Self { name, row, attribute: None }) };
        Some(Self { name, row, attribute: Some(row.attributes().find(|(name, _)| *name == attribute)?) })
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

    pub(super) fn kind(self) -> &'static FigureKind {
        self.attribute.map_or(&self.row.kind, |(_, kind)| kind)
    }

    /// Whether it replaces a declared value of the offer.
    pub(super) fn is_of_offer(self) -> bool {
        self.row.is_of_offer
    }

    /// The number that a value is for it; `None` if it is of another kind.
    ///
    /// # Errors
    /// What is wanted, worded to follow the key.
    pub fn number_in(self, value: &Value) -> Result<Option<f64>, String> {
        self.kind().read(value).map(|read| number_of(&read)).map_err(|unfit| unfit.reason)
    }

    /// Whether it is a rate that people pay or earn, and the value is 0.
    pub fn is_rate_of_zero(self, value: &Value) -> bool {
        let rates = ["apr", "min_apr", "max_apr", "interest_rate", "rate", "annual_percent_yield"];
        rates.contains(&self.name) && self.number_in(value) == Ok(Some(0.0))
    }

    /// Whether it is a number and can have bounds.
    pub fn is_number(self) -> bool {
        matches!(self.kind(), FigureKind::Number(..) | FigureKind::Whole(..))
    }
}

impl FigureRow {
    fn attributes(&self) -> impl Iterator<Item = (&'static str, &'static FigureKind)> {
        let fields = if let FigureKind::Object(_, fields) = self.kind { fields } else { ObjectFields(&[]) };
        fields.each()
    }
}

fn rows(product_type: ProductType) -> impl Iterator<Item = (&'static str, &'static FigureRow)> {
    let of_product = ROWS.iter().filter(move |row| (row.of)(product_type));
    of_product.flat_map(|row| row.names.iter().map(move |name| (*name, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::{CreditCardOfferDetails, KnownKeys, LifeInsuranceOfferDetails};

    #[test]
    fn a_figure_is_named_alone_or_within_its_object() {
        let figure = AnsweredFigure::named("card.lateFee", ProductType::CreditCard).unwrap();
        assert_eq!((figure.name, figure.attribute()), ("card", Some("lateFee")));
        assert!(figure.is_number() && figure.is_of_offer());
        assert!(AnsweredFigure::named("apr", ProductType::Loan).is_some_and(|apr| !apr.is_of_offer()));
        for (name, of) in [
            ("card.lateFee", ProductType::Loan),
            ("card.preApproved", ProductType::CreditCard),
            ("card.lateFee.x", ProductType::CreditCard),
            ("apr.x", ProductType::Loan),
            ("apr", ProductType::Savings),
        ] {
            assert!(AnsweredFigure::named(name, of).is_none(), "{name}");
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
