//! What the rules of a partner can ask of a lead: its attributes, read as the facts say, and those derived from them.

use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate};

use crate::model::{
    Attribute, AttributeKind, AttributeValue, CreditBands, Lead, MortgageType, ProvidedCreditRating,
};

/// Something a condition can be about: an attribute of the lead or a derived one. A small number, made from its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(u16);

/// A derived attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Derived {
    /// Years since `personalInformation.dateOfBirth`.
    Age,
    /// Credit score: as given, or the lowest of the given rating's band.
    CreditScore,
    /// Monthly debt and housing payment over monthly income, in percent.
    DebtToIncome,
    /// Mortgage amount over property value, in percent.
    LoanToValue,
    /// Dollars to borrow against property: as given, or from value and down payment, or from what is refinanced.
    MortgageLoanAmount,
    /// Whether who sent the lead knows values of enumerations that the specification lacks.
    NewerValues,
}

/// The derived attributes, by name.
const DERIVED: [(&str, Derived); 6] = [
    ("age", Derived::Age),
    ("creditScore", Derived::CreditScore),
    ("debtToIncome", Derived::DebtToIncome),
    ("loanToValue", Derived::LoanToValue),
    ("mortgageLoanAmount", Derived::MortgageLoanAmount),
    ("newerValues", Derived::NewerValues),
];

impl Subject {
    /// The subject at an attribute path or of a derived name.
    pub fn named(path: &str) -> Option<Self> {
        Self::paths().position(|known| known == path).map(|position| Self(position as u16))
    }

    /// The subject at a path that this crate itself names.
    ///
    /// # Panics
    /// When the model has no such attribute; a test walks every call.
    pub fn of(path: &'static str) -> Self {
        Self::named(path).unwrap_or_else(|| panic!("the model has no attribute `{path}`"))
    }

    /// Every name, attributes first.
    pub fn paths() -> impl Iterator<Item = &'static str> {
        Attribute::all().iter().map(|attribute| attribute.path).chain(DERIVED.iter().map(|(name, _)| *name))
    }

    /// Its attribute path or derived name.
    pub fn path(self) -> &'static str {
        match self.derived() {
            Some((name, _)) => name,
            None => Attribute::all()[usize::from(self.0)].path,
        }
    }

    /// What values it can have.
    pub fn kind(self) -> AttributeKind {
        match self.derived() {
            Some((_, Derived::NewerValues)) => AttributeKind::Flag,
            Some(_) => AttributeKind::Number,
            None => Attribute::all()[usize::from(self.0)].kind,
        }
    }

    /// Whether its value must not be shown.
    pub fn is_masked(self) -> bool {
        self.derived().is_none() && Attribute::all()[usize::from(self.0)].is_masked()
    }

    fn derived(self) -> Option<(&'static str, Derived)> {
        usize::from(self.0).checked_sub(Attribute::all().len()).map(|position| DERIVED[position])
    }
}

/// The lead as the rules see it, on one day.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    lead: &'a Lead,
    today: NaiveDate,
    bands: CreditBands,
    newer_values: bool,
}

impl<'a> Facts<'a> {
    /// Reads `lead` as of `today`, rating scores by `bands` (v1 has bands of its own).
    pub fn new(lead: &'a Lead, today: NaiveDate, bands: CreditBands) -> Self {
        Self { lead, today, bands, newer_values: lead.has_newer_values() }
    }

    /// The same of a lead whose sender may have said to know values that the specification lacks.
    #[must_use]
    pub fn with_newer_values(self, known: bool) -> Self {
        Self { newer_values: self.newer_values || known, ..self }
    }

    /// The lead itself.
    pub fn lead(&self) -> &'a Lead {
        self.lead
    }

    /// The value of a subject, or `None` when it is not given.
    ///
    /// A rating that is not given follows from the score and the other way round (facts, Credit rating and score).
    pub fn get(&self, subject: Subject) -> Option<AttributeValue<'a>> {
        if let Some((_, derived)) = subject.derived() {
            return self.derive(derived);
        }
        if subject == *RATING {
            self.rating().map(|rating| AttributeValue::Category(rating.ordinal()))
        } else if subject == *SCORE {
            self.credit_score().map(|score| AttributeValue::Number(f64::from(score)))
        } else {
            Attribute::all()[usize::from(subject.0)].read(self.lead)
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

    /// Dollars that the lead wants to borrow against property: as given, or what is refinanced with the cash taken out,
    /// or the value less the down payment. An amount of 0 counts as not given.
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
        let given = dollars(mortgage.mortgage_amount);
        if mortgage.mortgage_type == Some(MortgageType::Purchase) {
            given.or_else(purchase)
        } else {
            given.or_else(refinance).or_else(purchase)
        }
    }

    /// Dollars of the loan that the lead asks for.
    pub fn loan_amount(&self) -> Option<f64> {
        self.lead.loan_information.as_ref()?.loan_amount.filter(|amount| *amount > 0).map(f64::from)
    }

    fn derive(&self, derived: Derived) -> Option<AttributeValue<'a>> {
        let number = match derived {
            Derived::Age => self.age(),
            Derived::CreditScore => self.credit_score().map(f64::from),
            Derived::DebtToIncome => self.debt_to_income(),
            Derived::LoanToValue => self.loan_to_value(),
            Derived::MortgageLoanAmount => self.mortgage_loan_amount(),
            Derived::NewerValues => return Some(AttributeValue::Flag(self.newer_values)),
        };
        number.map(AttributeValue::Number)
    }

    /// Years since the date of birth.
    pub fn age(&self) -> Option<f64> {
        let born = self.lead.personal_information.as_ref()?.date_of_birth?;
        let had_birthday = (self.today.month(), self.today.day()) >= (born.month(), born.day());
        Some(f64::from(self.today.year() - born.year() - i32::from(!had_birthday)))
    }

    fn debt_to_income(&self) -> Option<f64> {
        let financial = self.lead.financial_information.as_ref()?;
        let monthly_income = f64::from(financial.annual_income.filter(|income| *income > 0)?) / 12.0;
        let debt = f64::from(financial.monthly_debt?);
        let housing = f64::from(financial.monthly_housing_payment.unwrap_or(0));
        Some((debt + housing) / monthly_income * 100.0)
    }

    /// Mortgage amount over property value, in percent.
    pub fn loan_to_value(&self) -> Option<f64> {
        let value = self.lead.mortgage_information.as_ref()?.property_value.filter(|value| *value > 0)?;
        Some(self.mortgage_loan_amount()? / f64::from(value) * 100.0)
    }
}

/// The credit rating, which may follow from the score.
static RATING: LazyLock<Subject> = LazyLock::new(|| Subject::of("creditInformation.providedCreditRating"));
/// The credit score, which may follow from the rating.
static SCORE: LazyLock<Subject> =
    LazyLock::new(|| Subject::of("creditInformation.providedNumericCreditScore"));
