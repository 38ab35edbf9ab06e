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
    /// Term and rate behaviour of an offered mortgage.
    MortgageLoanType {
        FifteenYearFixed = "fifteen_year_fixed",
        ThirtyYearFixed = "thirty_year_fixed",
        FiveOneAdjustable = "five_one_adjustable",
        SevenOneAdjustable = "seven_one_adjustable",
        TenOneAdjustable = "ten_one_adjustable",
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
