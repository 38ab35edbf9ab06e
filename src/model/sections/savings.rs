//! What the lead would save.

use crate::model::section::section;

section! {
    /// What the lead looks for in a savings product.
    LeadSavingsInformation at lead.savings_information = "savingsInformation" {
        /// The least number of dollars that the lead would deposit.
        min_deposit_amount: i64 = "minDepositAmount" within SAVINGS,
        /// The greatest number of them; not in the specification.
        max_deposit_amount: i64 = "maxDepositAmount" within SAVINGS,
    }
}
