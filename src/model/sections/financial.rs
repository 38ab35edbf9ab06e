//! Income, debt, assets and the bank.

use crate::model::enums::{BankAccountType, EmploymentPayFrequency, EmploymentStatus};
use crate::model::section::section;

section! {
    /// What the lead earns, owes and owns. Amounts are dollars.
    LeadFinancialInformation at lead.financial_information = "financialInformation" {
        /// How the lead earns a living.
        employment_status: EmploymentStatus = "employmentStatus",
        /// How often the lead is paid.
        employment_pay_frequency: EmploymentPayFrequency = "employmentPayFrequency",
        /// The kind of bank account; v1 clients misspell the field.
        bank_account_type: BankAccountType = "bankAccountType" | "backAccountType",
        /// How often the additional income comes.
        additional_income_frequency: EmploymentPayFrequency = "additionalIncomeFrequency",
        /// Income of a year before taxes.
        annual_income: i32 = "annualIncome" within DOLLARS,
        /// Income of a month after taxes.
        monthly_net_income: i32 = "monthlyNetIncome" within DOLLARS,
        /// What is owed on credit cards.
        credit_card_debt: i32 = "creditCardDebt" within DOLLARS,
        /// How many months the account has been open.
        months_at_bank: i32 = "monthsAtBank" within COUNT,
        /// What goes to debts each month.
        monthly_debt: i32 = "monthlyDebt" within DOLLARS,
        /// What the lead owns altogether.
        total_assets: i32 = "totalAssets" within DOLLARS,
        /// Rent or mortgage instalment of a month.
        monthly_housing_payment: i32 = "monthlyHousingPayment" within DOLLARS,
        /// What could be turned into cash at once.
        available_assets: i32 = "availableAssets" within DOLLARS,
        /// Income beside the main one.
        additional_income: i32 = "additionalIncome" within DOLLARS,
        /// Name of the bank.
        bank_name: String = "bankName",
        /// Routing number of the bank.
        bank_routing_number: String = "bankRoutingNumber" as personal,
        /// Number of the account.
        bank_account_number: String = "bankAccountNumber" as personal,
        /// Whether any income goes straight to the bank account; not in the specification, as what follows.
        has_direct_deposit: bool = "hasDirectDeposit",
        /// What is owed without anything pledged for it.
        total_unsecured_debt: i32 = "totalUnsecuredDebt" within DOLLARS,
    }
}
