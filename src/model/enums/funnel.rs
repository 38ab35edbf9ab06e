//! The way of a lead through the funnel: actions, reasons, events.

use crate::model::enumeration::enumeration;

enumeration! {
    /// A step of a lead, with one institution or with none.
    LeadActionType {
        Initialized = "initialized",
        ApiRejected = "api_rejected",
        ApiApproved = "api_approved",
        ApiListing = "api_listing",
        ClickedReferralLink = "clicked_referral_link",
        ClickedSpecialOfferLink = "clicked_special_offer_link",
        SpecialOfferConversion = "special_offer_conversion",
        Applied = "applied",
        Rejected = "rejected",
        Approved = "approved",
        Listed = "listed",
        Funded = "funded",
        NotFunded = "not_funded",
        ClickedCreditCardOfferLink = "clicked_credit_card_offer_link",
        ClickedMortgageOfferLink = "clicked_mortgage_offer_link",
        ClickedSavingsOfferLink = "clicked_savings_offer_link",
    }
}

enumeration! {
    /// Why an institution rejected a lead.
    RejectReason {
        LowFico = "low_fico",
        NoFico = "no_fico",
        MajorDerogatory = "major_derogatory",
        UnderwritingDecline = "underwriting_decline",
        DebtToIncomeRatio = "debt_to_income_ratio",
        NotInActiveState = "not_in_active_state",
        IncorrectDataProvided = "incorrect_data_provided",
        Duplicate = "duplicate",
    }
}

enumeration! {
    /// What happened, in the feed of lead events.
    EventType {
        /// A user enters the funnel.
        LeadCreated = "leadCreated",
        /// A rate table was created.
        AppSubmitted = "appSubmitted",
        /// An institution answered with a pre-approved or pre-qualified offer.
        ApiApproved = "apiApproved",
        /// An institution answered without one.
        ApiRejected = "apiRejected",
        /// The user opened an offer's url.
        OfferClicked = "offerClicked",
        Applied = "applied",
        Approved = "approved",
        Listed = "listed",
        /// The user monetised a special offer.
        Opened = "opened",
        Funded = "funded",
        /// Means what the institution says it means.
        Conversion = "conversion",
    }
}
