//! Mortgages and the property behind them.

use crate::model::enumeration::enumeration;

enumeration! {
    /// What a mortgage pays for.
    MortgageType {
        Purchase, Refinance,
    }

    /// Term and rate behaviour of a mortgage.
    MortgageLoanType {
        FifteenYearFixed, ThirtyYearFixed, FiveOneAdjustable, SevenOneAdjustable, TenOneAdjustable,
    } beyond the specification {
        TenYearFixed, TwentyYearFixed, FortyYearFixed, ThreeYearIntro = "three_year_intro_30_year_adjustable",
        FiveYearIntro = "five_year_intro_30_year_adjustable",
        SevenYearIntro = "seven_year_intro_30_year_adjustable",
        TenYearIntro = "ten_year_intro_30_year_adjustable",
    }

    /// Whether closing costs are shifted into or out of the rate.
    MortgageAdjustmentType {
        /// The lender pays part of the closing costs for a higher rate.
        Credits,
        /// Nothing, or nearly nothing, is shifted.
        Par,
        /// The borrower pays points for a lower rate.
        Points,
    }

    /// How the borrower uses the property.
    OccupancyType {
        Primary, Secondary, Investment,
    }

    /// How far the search for a property has come.
    PropertySearchStatus {
        Found, NotFound,
    }

    /// How the lead holds the home they live in.
    PropertyStatus {
        OwnOutright, OwnWithMortgage, Rent,
    }

    /// The kind of building.
    PropertyType {
        Rent, Condo, MultiUnit, SingleFamily, Townhouse,
    }

    /// How far the purchase of a found property has come.
    PurchaseStatus {
        NoOffer, OfferAccepted, OfferPending, UnderContract,
    }

    /// What a mortgage refinance is after: cash, or better terms.
    RefinanceType {
        CashOut, RateTerm,
    }

    /// Credit in the bands of a pricing engine for mortgages; not in the specification.
    MortechCreditRating {
        From780 = "Excellent (780-850)", From760 = "Excellent (760-779)", From740 = "Excellent (740-759)",
        From720 = "Good (720-739)", From700 = "Good (700-719)", From680 = "Fair (680-699)",
        From660 = "Fair (660-679)", From640 = "Poor (640-659)", From620 = "Poor (620-639)",
        From580 = "Poor (580-619)", Under580 = "Poor (Under 580)",
    }
}
