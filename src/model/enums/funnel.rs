//! The funnel: actions, reasons, results and events of a lead.

use crate::enumeration::enumeration;

enumeration! {
    /// A step of a lead, with or without an institution.
    LeadActionType {
        Initialized, ApiRejected, ApiApproved, ApiListing, ClickedReferralLink, ClickedSpecialOfferLink,
        SpecialOfferConversion, Applied, Rejected, Approved, Listed, Funded, NotFunded,
        ClickedCreditCardOfferLink, ClickedMortgageOfferLink, ClickedSavingsOfferLink,
    } beyond the specification {
        /// The person submitted the application.
        Submitted,
        /// The institution considers the person someone it would lend to.
        LenderQualifiedLead,
    }

    /// Why an institution rejected a lead.
    RejectReason {
        LowFico, NoFico, MajorDerogatory, UnderwritingDecline, DebtToIncomeRatio, NotInActiveState,
        IncorrectDataProvided, Duplicate,
    }

    /// The result of a partner at a rate table:
    ///
    /// - `offers`: It answered with offers.
    /// - `pending`: It has not answered yet, or waits for others to answer first.
    /// - `declined`: It has no offer for this lead.
    /// - `rejected`: It rejected the person and gave a reason.
    /// - `timed_out`: It did not answer in time.
    /// - `unavailable`: It could not be asked, or its answer was a failure.
    /// - `not_needed`: It was not asked because of other partners' offers.
    /// - `no_sandbox`: The lead is a test, and the partner takes no test leads.
    /// - `limit`: It takes no more leads of this kind for the time being.
    /// - `schedule`: It takes leads at other hours only.
    /// - `not_asked_for`: The lead does not ask for the product type.
    /// - `conditions_not_met`: The lead does not meet its conditions.
    PartnerResult {
        Offers, Pending, Declined, Rejected, TimedOut, Unavailable, NotNeeded, NoSandbox, Limit,
        Schedule, NotAskedFor, ConditionsNotMet,
    }

    /// The result of an offer at a rate table:
    ///
    /// - `shown`: The offer is shown.
    /// - `pending`: The offer waits for comparison with offers that are still pending.
    /// - `outbid`: Another offer of its kind is shown instead.
    /// - `not_offered`: The lead meets the conditions, but the partner did not answer with the offer.
    /// - `conditions_not_met`: The lead does not meet the conditions.
    /// - `partner_not_asked`: The partner was not asked.
    OfferResult {
        Shown, Pending, Outbid, NotOffered, ConditionsNotMet, PartnerNotAsked,
    }

    /// The source of the conversion probability of a ranked offer:
    ///
    /// - `learnt`: Learnt from the company's own clicks.
    /// - `prior`: Nothing was learnt yet: the prior.
    /// - `click`: The click itself earns the payout.
    /// - `sold`: The partner has bought the lead.
    ConversionSource {
        Learnt, Prior, Click, Sold,
    }

    /// An event that a partner reports.
    PartnerEventType {
        /// The person applied.
        Applied,
        /// The partner rejected the application.
        Rejected,
        /// The partner approved the application.
        Approved,
        /// The partner showed the person its products.
        Listed,
        /// The person earned the payout of a special offer for the company.
        Opened,
        /// Money was paid out, or an account opened.
        Funded,
        /// The application was not funded.
        NotFunded = "notFunded",
        /// The partner defines its meaning.
        Conversion,
        /// The person submitted the application.
        Submitted,
        /// The partner considers the person someone it would lend to.
        LenderQualifiedLead = "lenderQualifiedLead",
        /// The person clicked an offer of an affiliate of the partner.
        AffiliateOfferClicked = "affiliateOfferClicked",
        /// The person made the first payment.
        FirstPayment = "firstPayment",
        /// The partner reached the person.
        IsContacted = "isContacted",
        /// The partner's sales team considers the person a prospective customer.
        SalesQualified = "salesQualified",
        /// The partner wrote to or called the person for the first time.
        FirstContact = "firstContact",
        /// The person's rate was locked.
        RateLocked = "rateLocked",
    }

    /// The type of a lead event.
    EventType {
        /// A lead was created.
        LeadCreated = "leadCreated",
        /// A rate table was created.
        AppSubmitted = "appSubmitted",
        /// An institution answered with a pre-approved or pre-qualified offer.
        ApiApproved = "apiApproved",
        /// An institution answered without such an offer.
        ApiRejected = "apiRejected",
        /// The person opened an offer's url.
        OfferClicked = "offerClicked",
        Applied, Approved, Listed,
        /// The person earned the payout of a special offer for the company.
        Opened,
        Funded,
        /// The institution defines its meaning.
        Conversion,
    } beyond the specification {
        /// The institution considers the person someone it would lend to.
        LenderQualifiedLead = "lenderQualifiedLead",
        /// The person clicked an offer of an affiliate of the institution.
        AffiliateOfferClicked = "affiliateOfferClicked",
        /// The person made the first payment.
        FirstPayment = "firstPayment",
        /// The institution reached the person.
        IsContacted = "isContacted",
        /// The institution's sales team considers the person a prospective customer.
        SalesQualified = "salesQualified",
        /// The institution wrote to or called the person for the first time.
        FirstContact = "firstContact",
        /// The person's rate was locked.
        RateLocked = "rateLocked",
    }
}

impl PartnerEventType {
    /// The lead event of the same name; `None` for an application that was not funded, or was submitted.
    pub fn event_type(self) -> Option<EventType> {
        EventType::from_wire(self.as_str())
    }

    /// The lead action of the event. A conversion is one only for a special offer; contacts and rate locks
    /// are none.
    pub fn action_type(self, of_special_offer: bool) -> Option<LeadActionType> {
        match self {
            Self::Opened => Some(LeadActionType::SpecialOfferConversion),
            Self::Conversion => of_special_offer.then_some(LeadActionType::SpecialOfferConversion),
            Self::NotFunded => Some(LeadActionType::NotFunded),
            Self::LenderQualifiedLead => Some(LeadActionType::LenderQualifiedLead),
            of_the_same_name => LeadActionType::from_wire(of_the_same_name.as_str()),
        }
    }
}
