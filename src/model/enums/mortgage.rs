//! Mortgages and the property behind them.

use crate::model::enumeration::enumeration;

enumeration! {
    /// What a mortgage pays for.
    MortgageType {
        Purchase = "purchase",
        Refinance = "refinance",
    }
}

enumeration! {
    /// Term and rate behaviour of a mortgage.
    MortgageLoanType {
        FifteenYearFixed = "fifteen_year_fixed",
        ThirtyYearFixed = "thirty_year_fixed",
        FiveOneAdjustable = "five_one_adjustable",
        SevenOneAdjustable = "seven_one_adjustable",
        TenOneAdjustable = "ten_one_adjustable",
        // From here on not in the specification.
        TenYearFixed = "ten_year_fixed",
        TwentyYearFixed = "twenty_year_fixed",
        FortyYearFixed = "forty_year_fixed",
        ThreeYearIntro = "three_year_intro_30_year_adjustable",
        FiveYearIntro = "five_year_intro_30_year_adjustable",
        SevenYearIntro = "seven_year_intro_30_year_adjustable",
        TenYearIntro = "ten_year_intro_30_year_adjustable",
    }
}

impl MortgageLoanType {
    /// Whether the specification has it.
    pub const fn is_specified(self) -> bool {
        self as u16 <= Self::TenOneAdjustable as u16
    }
}

enumeration! {
    /// Whether closing costs are shifted into or out of the rate.
    MortgageAdjustmentType {
        /// The lender pays part of the closing costs for a higher rate.
        Credits = "credits",
        /// Nothing, or nearly nothing, is shifted.
        Par = "par",
        /// The borrower pays points for a lower rate.
        Points = "points",
    }
}

enumeration! {
    /// How the borrower uses the property.
    OccupancyType {
        Primary = "primary",
        Secondary = "secondary",
        Investment = "investment",
    }
}

enumeration! {
    /// How far the search for a property has come.
    PropertySearchStatus {
        Found = "found",
        NotFound = "not_found",
    }
}

enumeration! {
    /// How the lead holds the home they live in.
    PropertyStatus {
        OwnOutright = "own_outright",
        OwnWithMortgage = "own_with_mortgage",
        Rent = "rent",
    }
}

enumeration! {
    /// The kind of building.
    PropertyType {
        Rent = "rent",
        Condo = "condo",
        MultiUnit = "multi_unit",
        SingleFamily = "single_family",
        Townhouse = "townhouse",
    }
}

enumeration! {
    /// How far the purchase of a found property has come.
    PurchaseStatus {
        NoOffer = "no_offer",
        OfferAccepted = "offer_accepted",
        OfferPending = "offer_pending",
        UnderContract = "under_contract",
    }
}

enumeration! {
    /// What a mortgage refinance is after: cash, or better terms.
    RefinanceType {
        CashOut = "cash_out",
        RateTerm = "rate_term",
    }
}

enumeration! {
    /// Credit in the bands of a pricing engine for mortgages; not in the specification.
    MortechCreditRating {
        From780 = "Excellent (780-850)",
        From760 = "Excellent (760-779)",
        From740 = "Excellent (740-759)",
        From720 = "Good (720-739)",
        From700 = "Good (700-719)",
        From680 = "Fair (680-699)",
        From660 = "Fair (660-679)",
        From640 = "Poor (640-659)",
        From620 = "Poor (620-639)",
        From580 = "Poor (580-619)",
        Under580 = "Poor (Under 580)",
    }
}
