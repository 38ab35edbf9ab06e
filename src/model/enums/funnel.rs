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
        // From here on not in the specification.
        /// The person has sent the application off.
        Submitted = "submitted",
        /// The institution takes the person for one that it would lend to.
        LenderQualifiedLead = "lender_qualified_lead",
    }
}

impl LeadActionType {
    /// Those of the specification; the others are shown only to who asks for the newer form.
    pub const SPECIFIED: &'static [Self] = Self::ALL.split_at(Self::Submitted as usize).0;
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
    /// What became of a partner at a rate table (ours).
    PartnerResult {
        /// It answered with offers.
        Offers = "offers",
        /// It has not answered yet, or waits for others to answer first.
        Pending = "pending",
        /// It has nothing for this lead.
        Declined = "declined",
        /// It rejected the person, and said why.
        Rejected = "rejected",
        /// It did not answer in time.
        TimedOut = "timed_out",
        /// It could not be asked, or failed.
        Unavailable = "unavailable",
        /// Another partner's offers made it needless to ask.
        NotNeeded = "not_needed",
        /// The lead is a test, and the partner takes none.
        NoSandbox = "no_sandbox",
        /// It takes no more leads of this kind for now.
        Limit = "limit",
        /// It takes leads at other hours.
        Schedule = "schedule",
        /// The lead does not ask for the product type.
        NotAskedFor = "not_asked_for",
        /// The lead does not meet its conditions.
        ConditionsNotMet = "conditions_not_met",
    }
}

enumeration! {
    /// What became of an offer at a rate table (ours).
    OfferResult {
        /// It is shown.
        Shown = "shown",
        /// It is compared with others that are still to come.
        Pending = "pending",
        /// Another one of its kind is shown in its place.
        Outbid = "outbid",
        /// The lead meets its conditions, and the partner did not answer with it.
        NotOffered = "not_offered",
        /// The lead does not meet its conditions.
        ConditionsNotMet = "conditions_not_met",
        /// The partner was not asked.
        PartnerNotAsked = "partner_not_asked",
    }
}

enumeration! {
    /// Where the conversion probability of an offer is from that was ranked (ours).
    ConversionSource {
        /// It was learnt of the company's own clicks.
        Learnt = "learnt",
        /// Nothing was learnt yet: it is what is believed without.
        Prior = "prior",
        /// The click itself earns the payout.
        Click = "click",
        /// The partner has bought the lead.
        Sold = "sold",
    }
}

enumeration! {
    /// A step that a partner reports (ours).
    PartnerEventType {
        /// The person applied.
        Applied = "applied",
        /// The partner rejected the application.
        Rejected = "rejected",
        /// The partner approved the application.
        Approved = "approved",
        /// The partner showed the person its products.
        Listed = "listed",
        /// The person monetised a special offer.
        Opened = "opened",
        /// Money was paid out, or an account opened.
        Funded = "funded",
        /// The application came to nothing.
        NotFunded = "notFunded",
        /// Means what the partner says it means.
        Conversion = "conversion",
        /// The person sent the application off.
        Submitted = "submitted",
        /// The partner takes the person for one that it would lend to.
        LenderQualifiedLead = "lenderQualifiedLead",
        /// The person opened an offer of an affiliate of the partner.
        AffiliateOfferClicked = "affiliateOfferClicked",
        /// The person made the first payment.
        FirstPayment = "firstPayment",
        /// The partner has reached the person.
        IsContacted = "isContacted",
        /// The partner's sales take the person for a customer to be.
        SalesQualified = "salesQualified",
        /// The partner wrote to the person, or called, for the first time.
        FirstContact = "firstContact",
        /// The rate is promised to the person.
        RateLocked = "rateLocked",
    }
}

impl PartnerEventType {
    /// The lead event that it becomes; the feeds have none for what came to nothing, nor for an application that was sent off.
    pub const fn event_type(self) -> Option<EventType> {
        match self {
            Self::Applied => Some(EventType::Applied),
            Self::Approved => Some(EventType::Approved),
            Self::Listed => Some(EventType::Listed),
            Self::Opened => Some(EventType::Opened),
            Self::Funded => Some(EventType::Funded),
            Self::Conversion => Some(EventType::Conversion),
            Self::LenderQualifiedLead => Some(EventType::LenderQualifiedLead),
            Self::AffiliateOfferClicked => Some(EventType::AffiliateOfferClicked),
            Self::FirstPayment => Some(EventType::FirstPayment),
            Self::IsContacted => Some(EventType::IsContacted),
            Self::SalesQualified => Some(EventType::SalesQualified),
            Self::FirstContact => Some(EventType::FirstContact),
            Self::RateLocked => Some(EventType::RateLocked),
            Self::Rejected | Self::NotFunded | Self::Submitted => None,
        }
    }

    /// The lead action that it becomes; a conversion is one of a special offer, or else no step of the funnel, as contacts and
    /// promises are none.
    pub const fn action_type(self, of_special_offer: bool) -> Option<LeadActionType> {
        match self {
            Self::Applied => Some(LeadActionType::Applied),
            Self::Rejected => Some(LeadActionType::Rejected),
            Self::Approved => Some(LeadActionType::Approved),
            Self::Listed => Some(LeadActionType::Listed),
            Self::Opened => Some(LeadActionType::SpecialOfferConversion),
            Self::Funded => Some(LeadActionType::Funded),
            Self::NotFunded => Some(LeadActionType::NotFunded),
            Self::Conversion if of_special_offer => Some(LeadActionType::SpecialOfferConversion),
            Self::Submitted => Some(LeadActionType::Submitted),
            Self::LenderQualifiedLead => Some(LeadActionType::LenderQualifiedLead),
            Self::Conversion
            | Self::AffiliateOfferClicked
            | Self::FirstPayment
            | Self::IsContacted
            | Self::SalesQualified
            | Self::FirstContact
            | Self::RateLocked => None,
        }
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
        // From here on not in the specification.
        /// The institution takes the user for one that it would lend to.
        LenderQualifiedLead = "lenderQualifiedLead",
        /// The user opened an offer of an affiliate of the institution.
        AffiliateOfferClicked = "affiliateOfferClicked",
        /// The user made the first payment.
        FirstPayment = "firstPayment",
        /// The institution has reached the user.
        IsContacted = "isContacted",
        /// The institution's sales take the user for a customer to be.
        SalesQualified = "salesQualified",
        /// The institution wrote to the user, or called, for the first time.
        FirstContact = "firstContact",
        /// The rate is promised to the user.
        RateLocked = "rateLocked",
    }
}

impl EventType {
    /// Those of the specification; the others are told by the newer form of the feeds only.
    pub const SPECIFIED: &'static [Self] = Self::ALL.split_at(Self::LenderQualifiedLead as usize).0;
}
