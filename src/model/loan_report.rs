//! How likely partners are to lend to somebody like this: asked for, and answered. Newer editions have it, as an experiment.

use uuid::Uuid;

use super::enums::{LoanPurpose, ProductSubType, ProvidedCreditRating, State};
use super::fixed_point::Percent;
use super::input::{self, Unreadable};
use super::section::section;
use super::timestamp::Timestamp;
use crate::record;

section! {
    /// The fields of [`LoanReportCreateData`] before it is known that those that must be are there.
    LoanReportFields {
        /// Income of a year before taxes.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// How good the credit is.
        credit_rating: ProvidedCreditRating = "creditRating",
        /// What is owed altogether.
        total_debt: i32 = "totalDebt" within DOLLARS,
        /// How many derogatory marks there are.
        count_of_derogatories: i32 = "countOfDerogatories" within COUNT,
        /// Where the person lives.
        state: State = "state",
        /// What the money is for.
        loan_purpose: LoanPurpose = "loanPurpose",
        /// How many dollars to borrow.
        loan_amount: i32 = "loanAmount" within DOLLARS,
    }
}

record! {
    /// Somebody of whom nothing is known but this: no name, no document, no credit file. Amounts are dollars.
    LoanReportCreateData {
        /// Income of a year before taxes.
        #[schema(minimum = 0)]
        annual_income: i32,
        /// How good the credit is.
        credit_rating: ProvidedCreditRating,
        /// What is owed altogether.
        #[schema(minimum = 0)]
        total_debt?: i32,
        /// How many derogatory marks there are: late payments, collections, bankruptcies.
        #[schema(minimum = 0)]
        count_of_derogatories?: i32,
        /// Where the person lives.
        state?: State,
        /// What the money is for.
        loan_purpose?: LoanPurpose,
        /// How many dollars to borrow.
        #[schema(minimum = 0)]
        loan_amount?: i32,
    }
}

impl LoanReportCreateData {
    /// Reads a request body; income and rating must be there.
    ///
    /// # Errors
    /// Every fault.
    pub fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let fields: LoanReportFields = input::read(body)?;
        let (income, rating) = (fields.annual_income, fields.credit_rating);
        let (Some(annual_income), Some(credit_rating)) = (income, rating) else {
            let given = [("annualIncome", income.is_some()), ("creditRating", rating.is_some())];
            return Err(Unreadable::missing(given));
        };
        Ok(Self {
            annual_income,
            credit_rating,
            total_debt: fields.total_debt,
            count_of_derogatories: fields.count_of_derogatories,
            state: fields.state,
            loan_purpose: fields.loan_purpose,
            loan_amount: fields.loan_amount,
        })
    }
}

record! {
    /// How likely a loan is, and what it would cost.
    LoanProbability {
        /// Between 0 and 1.
        #[schema(minimum = 0, maximum = 1)]
        #[serde(serialize_with = "super::plain_number::required")]
        probability: f64,
        /// The lowest APR, in percent.
        #[schema(value_type = f64)]
        apr_percent_min: Percent,
        /// The highest APR, in percent.
        #[schema(value_type = f64)]
        apr_percent_max: Percent,
        /// The shortest term, in months; 0 for one without an end.
        #[schema(minimum = 0)]
        term_months_min: i64,
        /// The longest term, in months; 0 for one without an end.
        #[schema(minimum = 0)]
        term_months_max: i64,
        /// The kind of loan.
        product_sub_type?: ProductSubType,
    }

    /// How likely an institution is to lend.
    FinancialInstitutionLoanReport {
        /// The institution, as lead events name it.
        uuid: Uuid,
        /// Its name.
        name: String,
        /// One for each kind of loan that it may make.
        probabilities: Vec<LoanProbability>,
        /// Its logo.
        logo_url?: String,
    }

    /// What a report was asked for, and what was found. An estimate by the rules of the catalogue, not a decision of anybody.
    LoanReport {
        /// The report's id, by which it can be read again.
        uuid: Uuid,
        /// Income of a year before taxes, as it was sent.
        annual_income: i32,
        /// How good the credit is, as it was sent.
        credit_rating: ProvidedCreditRating,
        /// Over all institutions, one for each kind of loan: what the likeliest of them gives.
        network_probabilities: Vec<LoanProbability>,
        /// Each institution that may lend, the likeliest first.
        financial_insitutions: Vec<FinancialInstitutionLoanReport>,
        /// When the report was made.
        created_at: Timestamp,
        /// What is owed altogether, as it was sent.
        total_debt?: i32,
        /// How many derogatory marks there are, as it was sent.
        count_of_derogatories?: i32,
        /// Where the person lives, as it was sent.
        state?: State,
        /// What the money is for, as it was sent.
        loan_purpose?: LoanPurpose,
        /// How many dollars to borrow, as it was sent.
        loan_amount?: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_field_is_named() {
        let Err(Unreadable::Faults(faults)) = LoanReportCreateData::read(b"{\"state\":\"WA\"}") else {
            panic!("read");
        };
        let attributes: Vec<_> = faults.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        assert_eq!(attributes, ["annualIncome", "creditRating"]);
    }
}
