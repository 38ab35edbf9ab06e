//! Loan reports: how likely partners are to lend to a person with these data. An experiment of newer
//! editions.

use uuid::Uuid;

use super::enums::{LoanPurpose, ProductSubType, ProvidedCreditRating, State};
use super::fault::Arrival;
use super::fixed_point::Percent;
use super::input::{self, UnreadableBody};
use super::leniency::Leniency;
use super::section::section;
use super::timestamp::Timestamp;
use crate::record;

section! {
    /// The fields of [`LoanReportCreateData`], not yet checked for completeness.
    LoanReportFields {
        /// Annual income before taxes.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// The credit rating.
        credit_rating: ProvidedCreditRating = "creditRating",
        /// Total debt.
        total_debt: i32 = "totalDebt" within DOLLARS,
        /// The number of derogatory marks.
        count_of_derogatories: i32 = "countOfDerogatories" within COUNT,
        /// The state of residence.
        state: State = "state",
        /// The purpose of the loan.
        loan_purpose: LoanPurpose = "loanPurpose",
        /// The requested amount, in dollars.
        loan_amount: i32 = "loanAmount" within DOLLARS,
    }
}

record! {
    /// An anonymous person: no name, no document, no credit file. Amounts are in dollars.
    LoanReportCreateData {
        /// Annual income before taxes.
        #[schema(minimum = 0)]
        annual_income: i32,
        /// The credit rating.
        credit_rating: ProvidedCreditRating,
        /// Total debt.
        #[schema(minimum = 0)]
        total_debt?: i32,
        /// The number of derogatory marks: late payments, collections, bankruptcies.
        #[schema(minimum = 0)]
        count_of_derogatories?: i32,
        /// The state of residence.
        state?: State,
        /// The purpose of the loan.
        loan_purpose?: LoanPurpose,
        /// The requested amount, in dollars.
        #[schema(minimum = 0)]
        loan_amount?: i32,
    }
}

impl LoanReportCreateData {
    /// Reads a request body; income and rating are required.
    ///
    /// # Errors
    /// Every fault.
    pub fn read(body: &[u8], leniency: Leniency) -> Result<(Self, usize), UnreadableBody> {
        let (fields, changed): (LoanReportFields, _) = input::read_leniently(Arrival::ANY, leniency, body)?;
        let (income, rating) = (fields.annual_income, fields.credit_rating);
        let (Some(annual_income), Some(credit_rating)) = (income, rating) else {
            let given = [("annualIncome", income.is_some()), ("creditRating", rating.is_some())];
            return Err(UnreadableBody::missing(given));
        };
        let read = Self {
            annual_income,
            credit_rating,
            total_debt: fields.total_debt,
            count_of_derogatories: fields.count_of_derogatories,
            state: fields.state,
            loan_purpose: fields.loan_purpose,
            loan_amount: fields.loan_amount,
        };
        Ok((read, changed))
    }
}

record! {
    /// The probability of a loan, and its likely terms.
    LoanProbability {
        /// The probability, from 0 to 1.
        #[schema(minimum = 0, maximum = 1)]
        #[serde(serialize_with = "super::plain_number::required")]
        probability: f64,
        /// The lowest APR, in percent.
        #[schema(value_type = f64)]
        apr_percent_min: Percent,
        /// The highest APR, in percent.
        #[schema(value_type = f64)]
        apr_percent_max: Percent,
        /// The shortest term, in months; 0 for an open term.
        #[schema(minimum = 0)]
        term_months_min: i64,
        /// The longest term, in months; 0 for an open term.
        #[schema(minimum = 0)]
        term_months_max: i64,
        /// The product subtype of the loan.
        product_sub_type?: ProductSubType,
    }

    /// How likely an institution is to lend.
    FinancialInstitutionLoanReport {
        /// The institution's id, as in lead events.
        uuid: Uuid,
        /// Its name.
        name: String,
        /// One for each subtype of loan that it may offer.
        probabilities: Vec<LoanProbability>,
        /// The address of its logo.
        logo_url?: String,
    }

    /// The data of a request and the probabilities found. An estimate from the catalog's rules, not a
    /// decision by an institution.
    LoanReport {
        /// The report's id, for later reads.
        uuid: Uuid,
        /// Annual income before taxes, as sent.
        annual_income: i32,
        /// The credit rating, as sent.
        credit_rating: ProvidedCreditRating,
        /// Over all institutions, one for each subtype of loan: that of the likeliest institution.
        network_probabilities: Vec<LoanProbability>,
        /// Each institution that may lend, the likeliest first.
        financial_insitutions: Vec<FinancialInstitutionLoanReport>,
        /// When the report was created.
        created_at: Timestamp,
        /// Total debt, as sent.
        total_debt?: i32,
        /// The number of derogatory marks, as sent.
        count_of_derogatories?: i32,
        /// The state of residence, as sent.
        state?: State,
        /// The purpose of the loan, as sent.
        loan_purpose?: LoanPurpose,
        /// The requested amount, in dollars, as sent.
        loan_amount?: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_field_is_named() {
        let Err(UnreadableBody::Faults(faults)) =
            LoanReportCreateData::read(b"{\"state\":\"WA\"}", Leniency::Usual)
        else {
            panic!("read");
        };
        let attributes: Vec<_> = faults.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        assert_eq!(attributes, ["annualIncome", "creditRating"]);
    }
}
