//! The way of a lead through the funnel: actions, reasons, events.

use crate::enumeration::enumeration;

enumeration! {
    /// A step of a lead, with one institution or with none.
    LeadActionType {
        Initialized, ApiRejected, ApiApproved, ApiListing, ClickedReferralLink, ClickedSpecialOfferLink,
        SpecialOfferConversion, Applied, Rejected, Approved, Listed, Funded, NotFunded,
        ClickedCreditCardOfferLink, ClickedMortgageOfferLink, ClickedSavingsOfferLink,
    } beyond the specification {
        /// The person has sent the application off.
        Submitted,
        /// The institution takes the person for one that it would lend to.
        LenderQualifiedLead,
    }

    /// Why an institution rejected a lead.
    RejectReason {
        LowFico, NoFico, MajorDerogatory, UnderwritingDecline, DebtToIncomeRatio, NotInActiveState,
        IncorrectDataProvided, Duplicate,
    }

    /// What became of a partner at a rate table (ours).
    PartnerResult {
        /// It answered with offers.
        Offers,
        /// It has not answered yet, or waits for others to answer first.
        Pending,
        /// It has nothing for this lead.
        Declined,
        /// It rejected the person, and said why.
        Rejected,
        /// It did not answer in time.
        TimedOut,
        /// It could not be asked, or failed.
        Unavailable,
        /// Another partner's offers made it needless to ask.
        NotNeeded,
        /// The lead is a test, and the partner takes none.
        NoSandbox,
        /// It takes no more leads of this kind for now.
        Limit,
        /// It takes leads at other hours.
        Schedule,
        /// The lead does not ask for the product type.
        NotAskedFor,
        /// The lead does not meet its conditions.
        ConditionsNotMet,
    }

    /// What became of an offer at a rate table (ours).
    OfferResult {
        /// It is shown.
        Shown,
        /// It is compared with others that are still to come.
        Pending,
        /// Another one of its kind is shown in its place.
        Outbid,
        /// The lead meets its conditions, and the partner did not answer with it.
        NotOffered,
        /// The lead does not meet its conditions.
        ConditionsNotMet,
        /// The partner was not asked.
        PartnerNotAsked,
    }

    /// Where the conversion probability of an offer is from that was ranked (ours).
    ConversionSource {
        /// It was learnt of the company's own clicks.
        Learnt,
        /// Nothing was learnt yet: it is what is believed without.
        Prior,
        /// The click itself earns the payout.
        Click,
        /// The partner has bought the lead.
        Sold,
    }

    /// A step that a partner reports (ours).
    PartnerEventType {
        /// The person applied.
        Applied,
        /// The partner rejected the application.
        Rejected,
        /// The partner approved the application.
        Approved,
        /// The partner showed the person its products.
        Listed,
        /// The person monetised a special offer.
        Opened,
        /// Money was paid out, or an account opened.
        Funded,
        /// The application came to nothing.
        NotFunded = "notFunded",
        /// Means what the partner says it means.
        Conversion,
        /// The person sent the application off.
        Submitted,
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
        Applied, Approved, Listed,
        /// The user monetised a special offer.
        Opened,
        Funded,
        /// Means what the institution says it means.
        Conversion,
    } beyond the specification {
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

impl PartnerEventType {
    /// The lead event of its name; the feeds have none for what came to nothing, nor for an application that was sent off.
    pub fn event_type(self) -> Option<EventType> {
        EventType::from_wire(self.as_str())
    }

    /// The lead action that it becomes; a conversion is one of a special offer, or else no step of the funnel, as contacts and
    /// promises are none.
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
