//! Leaves out what rate tables, previews and leads have that v1 cannot express.

use super::{Object, known, list, object, objects};
use offerd_model::{MortgageLoanType, ProductSubType};

/// Attributes beyond v1, separated by blanks.
const OF_LEADS: &str = "deviceId partnerUserId fcraLanguage autoInsuranceInformation vehicleInformation";

const OF_SECTIONS: [(&str, &str); 6] = [
    ("mortgageInformation", "includeFhaLoans includeVaLoans requestedLoanTerms mortechCreditRating"),
    ("savingsInformation", "maxDepositAmount"),
    ("financialInformation", "hasDirectDeposit totalUnsecuredDebt"),
    (
        "legalInformation",
        "fcraLanguage batchConsentVersion batchConsentLanguage trustedFormCertUrl jornayaLeadId",
    ),
    ("educationInformation", "universityOpeId graduateUniversityOpeId undergraduateUniversityOpeId"),
    ("sessionInformation", "browserFingerprint"),
];

const OF_TABLES: &str = "createdAt partnerPageUrl embedUrl";

const OFFERS: [&str; 4] = ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers"];

const OF_OFFERS: &str = "rank expiresAt amountPrefix";

const OF_PARTNERS: &str = "headquarters assets brandName brandUuid";

const OF_PENDING: &str = "offerCatalogProductTypes";

const OF_DETAILS: &str = "purchaseAprDisclaimer regularIntroAprCombinedText balanceTransferFeeDisclaimer \
    annualFeeDisclaimer annualFeeText introOfferDisclaimer introOfferTitle previewDetails aprType \
    recommendedCreditRatingsDisclaimer recommendedCreditRatingsText earningProgram rewardsDescription rewardsDisclaimer \
    rewardsTitle minDepositAmount minDepositDisclaimer isITA badges federalInsuranceType incentiveDetails cdTermUnit \
    cdTermLength impressionTrackingPixelUrls";

/// Removes from a lead what v1 never had.
pub fn leave_out_of_lead(lead: &mut Object) {
    remove(lead, OF_LEADS);
    for (section, names) in OF_SECTIONS {
        remove_within(lead, section, names);
    }
}

/// Removes from a rate table what v1 never had.
pub fn leave_out(table: &mut Object) {
    remove(table, OF_TABLES);
    for array in OFFERS {
        if let Some(offers) = list(table, array) {
            offers.retain_mut(|offer| offer.as_object_mut().is_none_or(is_of_v1));
        }
    }
    for response in objects(table, "pendingResponses") {
        remove(response, OF_PENDING);
        remove_within(response, "partner", OF_PARTNERS);
    }
}

/// Removes from an offer what v1 never had; returns whether v1 can express the rest.
pub fn is_of_v1(offer: &mut Object) -> bool {
    remove(offer, OF_OFFERS);
    remove_within(offer, "partner", OF_PARTNERS);
    remove_within(offer, "details", OF_DETAILS);
    let loan_type = offer.get("details").and_then(|details| details.get("loanType"));
    known(offer.get("productSubType")).is_none_or(ProductSubType::is_specified)
        && known(loan_type).is_none_or(MortgageLoanType::is_specified)
}

fn remove_within(of: &mut Object, name: &str, names: &str) {
    if let Some(within) = object(of, name) {
        remove(within, names);
    }
}

fn remove(object: &mut Object, names: &str) {
    names.split_whitespace().for_each(|name| drop(object.remove(name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn offers_of_kinds_that_v1_has_no_word_for_are_left_out() {
        let offer = |sub_type: &str, loan_type: &str| json!({"productSubType": sub_type, "details": {"loanType": loan_type}});
        let kept = offer("purchase", "thirty_year_fixed");
        let mut table = json!({
            "mortgageOffers": [kept, offer("purchase", "forty_year_fixed")],
            "loanOffers": [{"productSubType": "personal_loan"}, {"productSubType": "automobile_refinance"}],
        });
        leave_out(table.as_object_mut().unwrap());
        let expected = json!({"mortgageOffers": [kept], "loanOffers": [{"productSubType": "personal_loan"}]});
        assert_eq!(table, expected);
    }
}
