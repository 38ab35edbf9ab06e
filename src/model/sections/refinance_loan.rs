//! A loan to be refinanced or put together with others.

use chrono::NaiveDate;

use crate::model::attribute_value::{AttributeKind, AttributeValue};
use crate::model::enums::RefinanceLoanType;
use crate::model::input_kinds::Element;
use crate::model::section::section;

section! {
    /// One present loan of the lead.
    RefinanceLoanInformation {
        /// Number of the loan account.
        account_number: String = "accountNumber" as personal,
        /// Whether instalments follow the income.
        income_based_repayment: bool = "incomeBasedRepayment",
        /// Present interest rate, in percent.
        interest_rate: f64 = "interestRate" within RATE,
        /// How many dollars are still owed.
        loan_amount: i32 = "loanAmount" within DOLLARS,
        /// Who collects the instalments.
        loan_servicer: String = "loanServicer",
        /// Who stands behind the loan.
        loan_type: RefinanceLoanType = "loanType",
        /// The next instalment, in dollars.
        next_payment_amount: f64 = "nextPaymentAmount" within DOLLARS_AND_CENTS,
        /// When it is due.
        next_payment_date: NaiveDate = "nextPaymentDate",
    }
}

impl Element for RefinanceLoanInformation {
    const ARRAY_KIND: Option<AttributeKind> = Some(AttributeKind::Number);

    /// Partner rules see how many loans there are.
    fn array_value(loans: &[Self]) -> Option<AttributeValue<'_>> {
        (!loans.is_empty()).then_some(AttributeValue::Number(loans.len() as f64))
    }
}
