//! Rate tables: the offers that match a lead.

use uuid::Uuid;

use super::credit_card_offer::CreditCardOffer;
use super::enums::ProductType;
use super::loan_offer::{LoanOffer, Originator};
use super::mortgage_offer::MortgageOffer;
use super::partner::Partner;
use super::savings_offer::SavingsOffer;
use super::special_offer::SpecialOffer;
use super::timestamp::Timestamp;
use crate::record;

record! {
    /// Offers by kind, and pending responses. Every array is always present: clients fail otherwise.
    #[derive(Default)]
    RateTable {
        /// The rate table's id.
        uuid: Uuid,
        /// The lead.
        lead_uuid: Uuid,
        /// When it was created; not in the specification.
        created_at?: Timestamp,
        /// The requested loan amount at that time, in dollars.
        loan_amount?: i32,
        /// The absolute address of a page that shows the offers to a person as they arrive. It opens without
        /// a token, so anyone with the address sees the offers. Not in v1.
        #[schema(format = "uri")]
        partner_page_url?: String,
        /// The same page for an `iframe`, on the origins that the operator allows.
        #[schema(format = "uri")]
        embed_url?: String,
        /// Offers of credit cards.
        credit_card_offers: Vec<CreditCardOffer>,
        /// Offers of loans and lines of credit.
        loan_offers: Vec<LoanOffer>,
        /// Offers of mortgages.
        mortgage_offers: Vec<MortgageOffer>,
        /// Offers of savings products.
        savings_offers: Vec<SavingsOffer>,
        /// Offers of everything else.
        special_offers: Vec<SpecialOffer>,
        /// Loan institutions that have not answered; deprecated, for v1 clients.
        pending_originators: Vec<Originator>,
        /// Partners that have not answered; once empty, no offer is ever added.
        pending_responses: Vec<PendingResponse>,
    }

    /// A partner that has not answered yet.
    PendingResponse {
        /// The partner that was asked.
        partner: Partner,
        /// The product types that it was asked for.
        product_types: Vec<ProductType>,
        /// The product subtypes that it may answer with; not in the specification.
        #[serde(default)]
        offer_catalog_product_types: Vec<String>,
    }
}

impl RateTable {
    /// Whether every partner has answered.
    pub fn is_complete(&self) -> bool {
        self.pending_responses.is_empty()
    }

    /// Counts the offers of all kinds.
    pub fn offer_count(&self) -> usize {
        self.credit_card_offers.len()
            + self.loan_offers.len()
            + self.mortgage_offers.len()
            + self.savings_offers.len()
            + self.special_offers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const UUID: &str = "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8c01";

    fn partner() -> Value {
        json!({
            "uuid": UUID, "name": "Harbor Bank", "description": "A bank.", "disclaimer": "Terms apply.",
            "supportsPreSelect": false, "shouldDisplayPreSelect": false, "supportsPersonalizedOffers": true,
            "imageUrl": "https://harbor.example/logo.png",
        })
    }

    fn offer(product_type: &str, sub_type: &str, details: Value) -> Value {
        json!({
            "uuid": UUID, "partner": partner(), "productType": product_type, "productSubType": sub_type,
            "url": "https://offers.example/c/1", "recommendationScore": 12, "details": details,
        })
    }

    #[test]
    fn an_empty_table_has_every_array() {
        let table = serde_json::to_value(RateTable::default()).unwrap();
        let keys: Vec<_> = table.as_object().unwrap().iter().filter(|(_, value)| value.is_array()).collect();
        assert_eq!(keys.len(), 7);
        assert!(table.get("loanAmount").is_none());
    }

    #[test]
    fn a_table_with_an_offer_of_every_kind_round_trips() {
        let originator = json!({
            "key": "harbor", "name": "Harbor Bank",
            "images": [{"sizeKey": "small", "url": "https://harbor.example/logo.png"}],
        });
        let table = json!({
            "uuid": UUID, "leadUuid": UUID, "loanAmount": 10000,
            "creditCardOffers": [offer("credit_card", "credit_card", json!({
                "cardImageUrl": "https://harbor.example/card.png", "cardType": "visa", "preQualified": false,
                "preApproved": false, "preSelected": true, "cardBenefits": ["Lounge Access", "Acme Sky Club"],
                "maxPurchaseApr": 29.99, "minPurchaseIntroApr": 0, "maxAnnualFee": 95, "introOfferAmount": 50000,
                "foreignTransactionFee": 0.03,
            }))],
            "loanOffers": [{
                "uuid": UUID, "productType": "loan", "productSubType": "personal_loan",
                "originator": originator.clone(), "preQualified": true, "preApproved": false, "secured": false,
                "coApplicant": false, "sponsored": false, "maxAmount": 10000, "termLength": 36,
                "termUnit": "month", "aprType": "fixed", "allowPrepayment": true, "maxApr": 35.99,
                "maxMonthlyPayment": 308.77, "conversionProbability": 0.125, "payout": 300,
            }],
            "mortgageOffers": [offer("mortgage", "purchase", json!({
                "interestRate": 6.125, "loanType": "thirty_year_fixed", "priceAdjustment": -0.25,
                "monthlyPayment": 1822.83, "netClosingCosts": 4200, "apr": 6.31, "loanTerm": 360,
                "adjustmentType": "par",
            }))],
            "savingsOffers": [offer("savings", "savings_account", json!({
                "annualPercentYield": 4.5, "compoundingMethod": "semiAnnually", "minimumDeposit": 100,
                "monthlyFee": 0, "effectiveAsOf": "2026-11-21T00:15:55.887Z",
            }))],
            "specialOffers": [{
                "uuid": UUID, "productSubType": "debt_relief", "name": "Debt relief", "desc": "Pay less.", "url": "https://offers.example/c/2",
                "partnerName": "Relief", "partnerImageUrl": "https://relief.example/logo.png", "payout": 12.5,
            }],
            "pendingOriginators": [originator],
            "pendingResponses": [{"partner": partner(), "productTypes": ["loan"], "offerCatalogProductTypes": []}],
        });
        let read: RateTable = serde_json::from_value(table.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), table);
        assert_eq!((read.offer_count(), read.is_complete()), (5, false));
    }
}
