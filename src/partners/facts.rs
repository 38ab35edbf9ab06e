//! The facts that rules evaluate: the attributes of a lead, and values derived from them.

use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Datelike, Utc};
use uuid::Uuid;

use self::Derived::Number;
use super::ranking::Scorer;
use super::{state_zones, zip_state};
use offerd_model::{
    Attribute, AttributeKind, AttributeValue, CreditBands, Lead, LeadFinancialInformation, MortgageType,
    ProvidedCreditRating, State, VehicleInformation,
};

/// The subject of a condition: an attribute of the lead, a derived value, a client tag, or the company.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(Place);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    Attribute(u16),
    /// The first five digits of a zipcode attribute, by number.
    Zipcode(u16),
    Derived(u16),
    Company,
    /// Client tag by path.
    Tag(Arc<str>),
}

#[derive(Debug)]
enum Derived {
    Number(fn(&Facts<'_>) -> Option<f64>),
    Flag(fn(&Facts<'_>) -> bool),
}

/// The derived attributes by name. Ratios are in percent.
const DERIVED: [(&str, Derived); 12] = [
    ("age", Number(|of| of.age())),
    ("creditScore", Number(|of| of.credit_score().map(f64::from))),
    ("debtToIncome", Number(|of| of.debt_to_income())),
    ("loanToValue", Number(|of| of.loan_to_value())),
    ("mortgageLoanAmount", Number(|of| of.mortgage_loan_amount())),
    ("newerValues", Derived::Flag(|of| of.newer_values)),
    ("combinedLoanToValue", Number(|of| of.combined_loan_to_value())),
    ("loanToIncome", Number(|of| of.of_income(of.loan_amount()))),
    ("mortgageToIncome", Number(|of| of.of_income(of.mortgage_loan_amount()))),
    ("paymentToIncome", Number(|of| of.of_income(of.financial()?.monthly_housing_payment.map(yearly)))),
    ("unsecuredDebtToIncome", Number(|of| of.of_income(of.financial()?.total_unsecured_debt))),
    ("vehiclePaymentToIncome", Number(|of| of.of_income(of.vehicle()?.monthly_payment.map(yearly)))),
];

/// Name of the subject for the submitting company.
pub const COMPANY: &str = "company";

const TAGS: &str = "clientTags.";

const ZIPCODES: [&str; 4] = [
    "personalInformation.zipcode",
    "employmentInformation.employerZip",
    "mortgageInformation.propertyZipcode",
    "coApplicantInformation.zipCode",
];

impl Subject {
    /// The subject with this attribute path or derived name.
    pub fn named(path: &str) -> Option<Self> {
        let attribute = || Attribute::all().iter().position(|attribute| attribute.path == path);
        let derived = || DERIVED.iter().position(|(name, _)| *name == path);
        let place = match path.strip_prefix(TAGS) {
            Some(name) if !name.is_empty() => Place::Tag(path.into()),
            _ if path == COMPANY => Place::Company,
            _ => attribute()
                .map(|nth| Place::Attribute(nth as u16))
                .or_else(|| derived().map(|nth| Place::Derived(nth as u16)))?,
        };
        Some(Self(place))
    }

    /// The subject at a path that this crate names.
    ///
    /// # Panics
    /// If the model has no such attribute; a test walks every call.
    pub fn of(path: &'static str) -> Self {
        Self::named(path).unwrap_or_else(|| panic!("the model has no attribute `{path}`"))
    }

    /// All names except client tags, attributes first.
    pub fn paths() -> impl Iterator<Item = &'static str> {
        let derived = DERIVED.iter().map(|(name, _)| *name).chain([COMPANY]);
        Attribute::all().iter().map(|attribute| attribute.path).chain(derived)
    }

    /// The first five digits of this zipcode as a number; `None` for other attributes.
    pub fn zipcode(&self) -> Option<Self> {
        let Place::Attribute(nth) = self.0 else { return None };
        ZIPCODES.contains(&self.path()).then_some(Self(Place::Zipcode(nth)))
    }

    /// Its attribute path or derived name.
    pub fn path(&self) -> &str {
        match &self.0 {
            Place::Attribute(nth) | Place::Zipcode(nth) => attribute(*nth).path,
            Place::Derived(nth) => DERIVED[usize::from(*nth)].0,
            Place::Company => COMPANY,
            Place::Tag(path) => path,
        }
    }

    /// The kind of its values.
    pub fn kind(&self) -> AttributeKind {
        match &self.0 {
            Place::Attribute(nth) => attribute(*nth).kind,
            Place::Derived(nth) if matches!(derived(*nth), Derived::Flag(_)) => AttributeKind::Flag,
            Place::Derived(_) | Place::Zipcode(_) => AttributeKind::Number,
            Place::Company => AttributeKind::Uuid,
            Place::Tag(_) => AttributeKind::Texts,
        }
    }

    /// Whether its value is personal and must be masked.
    pub fn is_masked(&self) -> bool {
        match &self.0 {
            Place::Attribute(nth) | Place::Zipcode(nth) => attribute(*nth).is_masked(),
            Place::Derived(_) | Place::Company => false,
            Place::Tag(_) => true,
        }
    }
}

fn derived(nth: u16) -> &'static Derived {
    &DERIVED[usize::from(nth)].1
}

fn attribute(nth: u16) -> &'static Attribute {
    &Attribute::all()[usize::from(nth)]
}

/// A lead as the rules see it at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The lead.
    pub lead: &'a Lead,
    /// The moment.
    pub now: DateTime<Utc>,
    bands: CreditBands,
    newer_values: bool,
    company: Option<Uuid>,
    /// The lead's uuid, if it has one, whether assigned by the client or by the daemon.
    pub uuid: Option<Uuid>,
    pub(super) ranked_by: Option<&'a Scorer>,
}

impl<'a> Facts<'a> {
    /// Facts of `lead` as of `now`. `bands` map scores to ratings (v1 has bands of its own).
    pub fn new(lead: &'a Lead, now: DateTime<Utc>, bands: CreditBands) -> Self {
        let newer_values = lead.has_newer_values();
        Self { lead, now, bands, newer_values, company: None, uuid: lead.uuid, ranked_by: None }
    }

    /// Sets whether the client accepts values beyond the specification; using them in the lead implies it.
    #[must_use]
    pub fn with_newer_values(self, known: bool) -> Self {
        Self { newer_values: self.newer_values || known, ..self }
    }

    /// Sets the submitting company.
    #[must_use]
    pub fn submitted_by(self, company: Uuid) -> Self {
        Self { company: Some(company), ..self }
    }

    /// Sets the ranking of the lead's offers.
    #[must_use]
    pub fn ranked_by(self, ranked_by: Option<&'a Scorer>) -> Self {
        Self { ranked_by, ..self }
    }

    /// The value of a subject; `None` when it is not given.
    ///
    /// A missing rating follows from the score and vice versa.
    pub fn get(&self, subject: &Subject) -> Option<AttributeValue<'a>> {
        match &subject.0 {
            Place::Attribute(_) if *subject == *RATING => {
                self.rating().map(|rating| AttributeValue::Category(rating.ordinal()))
            }
            Place::Attribute(_) if *subject == *SCORE => {
                self.credit_score().map(|score| AttributeValue::Number(f64::from(score)))
            }
            Place::Attribute(nth) => attribute(*nth).read(self.lead),
            Place::Zipcode(nth) => match attribute(*nth).read(self.lead)? {
                AttributeValue::Text(zipcode) => zipcode.get(..5)?.parse().ok().map(AttributeValue::Number),
                _ => None,
            },
            Place::Derived(nth) => match derived(*nth) {
                Number(read) => read(self).map(AttributeValue::Number),
                Derived::Flag(read) => Some(AttributeValue::Flag(read(self))),
            },
            Place::Company => self.company.map(AttributeValue::Uuid),
            Place::Tag(path) => {
                let values = self.lead.client_tags.as_ref()?.0.get(&path[TAGS.len()..])?;
                (!values.is_empty()).then_some(AttributeValue::Texts(values))
            }
        }
    }

    /// Credit rating: as given, or the band of the given score.
    pub fn rating(&self) -> Option<ProvidedCreditRating> {
        let credit = self.lead.credit_information.as_ref()?;
        let by_score = || credit.provided_numeric_credit_score.map(|score| self.bands.rating(score));
        credit.provided_credit_rating.or_else(by_score)
    }

    /// Credit score: as given, or the lowest of the given rating's band.
    pub fn credit_score(&self) -> Option<i32> {
        let credit = self.lead.credit_information.as_ref()?;
        let by_rating = || credit.provided_credit_rating.and_then(|rating| self.bands.lowest_score(rating));
        credit.provided_numeric_credit_score.or_else(by_rating)
    }

    /// Dollars to be borrowed against property: as given, or the refinanced amount plus cash out, or the
    /// property value less the down payment. An amount of 0 counts as not given.
    pub fn mortgage_loan_amount(&self) -> Option<f64> {
        let mortgage = self.lead.mortgage_information.as_ref()?;
        let dollars = |amount: Option<i32>| amount.filter(|amount| *amount > 0).map(f64::from);
        let refinance = || {
            let owed = dollars(mortgage.refinance_amount).or_else(|| dollars(mortgage.mortgage_balance))?;
            Some(owed + dollars(mortgage.cash_out_amount).unwrap_or(0.0))
        };
        let purchase = || {
            let borrowed = dollars(mortgage.property_value)? - f64::from(mortgage.down_payment_amount?);
            Some(borrowed).filter(|borrowed| *borrowed > 0.0)
        };
        let is_purchase = mortgage.mortgage_type == Some(MortgageType::Purchase);
        let refinanced = || if is_purchase { None } else { refinance() };
        dollars(mortgage.mortgage_amount).or_else(refinanced).or_else(purchase)
    }

    /// Requested loan amount in dollars.
    pub fn loan_amount(&self) -> Option<f64> {
        self.lead.loan_information.as_ref()?.loan_amount.filter(|amount| *amount > 0).map(f64::from)
    }

    fn financial(&self) -> Option<&'a LeadFinancialInformation> {
        self.lead.financial_information.as_ref()
    }

    fn vehicle(&self) -> Option<&'a VehicleInformation> {
        self.lead.vehicle_information.as_deref()
    }

    /// The lead's state of residence: as given, or that of the zipcode.
    pub fn state(&self) -> Option<State> {
        let person = self.lead.personal_information.as_ref()?;
        person.state.or_else(|| zip_state::state_of(person.zipcode.as_ref()?))
    }

    /// Completed years since the date of birth. A birthday counts once it has begun everywhere in the lead's
    /// state, so nobody comes of age the evening before.
    pub fn age(&self) -> Option<f64> {
        let born = self.lead.personal_information.as_ref()?.date_of_birth?;
        let today = self.now.with_timezone(&state_zones::westernmost(self.state())).date_naive();
        let had_birthday = (today.month(), today.day()) >= (born.month(), born.day());
        Some(f64::from(today.year() - born.year() - i32::from(!had_birthday)))
    }

    /// Dollars as a percentage of annual income.
    fn of_income(&self, dollars: Option<impl Into<f64>>) -> Option<f64> {
        let income = self.financial()?.annual_income.filter(|income| *income > 0)?;
        Some(dollars?.into() / f64::from(income) * 100.0)
    }

    /// Mortgage balance plus requested loan, as a percentage of the property value. A missing balance is 0.
    fn combined_loan_to_value(&self) -> Option<f64> {
        let mortgage = self.lead.mortgage_information.as_ref()?;
        let value = mortgage.property_value.filter(|value| *value > 0)?;
        let owed = f64::from(mortgage.mortgage_balance.unwrap_or(0)) + self.loan_amount()?;
        Some(owed / f64::from(value) * 100.0)
    }

    fn debt_to_income(&self) -> Option<f64> {
        let financial = self.financial()?;
        let monthly_income = f64::from(financial.annual_income.filter(|income| *income > 0)?) / 12.0;
        let debt = f64::from(financial.monthly_debt?);
        Some((debt + f64::from(financial.monthly_housing_payment.unwrap_or(0))) / monthly_income * 100.0)
    }

    /// Mortgage amount as a percentage of the property value.
    pub fn loan_to_value(&self) -> Option<f64> {
        let value = self.lead.mortgage_information.as_ref()?.property_value.filter(|value| *value > 0)?;
        Some(self.mortgage_loan_amount()? / f64::from(value) * 100.0)
    }
}

fn yearly(monthly: i32) -> f64 {
    f64::from(monthly) * 12.0
}

static RATING: LazyLock<Subject> = LazyLock::new(|| Subject::of("creditInformation.providedCreditRating"));
static SCORE: LazyLock<Subject> =
    LazyLock::new(|| Subject::of("creditInformation.providedNumericCreditScore"));

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_zipcode_of_a_lead_is_known_as_one() {
        let lead = Lead::read(include_bytes!("../model/testdata/full_lead.json")).unwrap();
        let facts = Facts::new(&lead, DateTime::default(), CreditBands::Current);
        let is_zipcode = |path: &&str| {
            let name = path.rsplit('.').next().unwrap_or_default().to_lowercase();
            name.contains("zip")
        };
        let known: Vec<&str> = Subject::paths().filter(is_zipcode).collect();
        assert_eq!(known.len(), ZIPCODES.len(), "{known:?}");
        for path in known {
            let digits = Subject::of(path).zipcode().and_then(|subject| facts.get(&subject));
            assert!(matches!(digits, Some(AttributeValue::Number(_))), "{path}");
        }
    }

    #[test]
    fn a_lead_without_a_date_of_birth_has_no_age() {
        let lead =
            Lead::read(json!({"personalInformation": {"state": "CA"}}).to_string().as_bytes()).unwrap();
        assert_eq!(Facts::new(&lead, DateTime::default(), CreditBands::Current).age(), None);
    }
}
