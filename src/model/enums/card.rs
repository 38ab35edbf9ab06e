//! Credit cards: purposes, networks, introductory offers.

use crate::model::enumeration::enumeration;

enumeration! {
    /// What a credit card is wanted for, or good for.
    CardPurpose {
        BalanceTransfer = "balance_transfer",
        CashBack = "cash_back",
        EarningRewards = "earning_rewards",
        ImproveCredit = "improve_credit",
        LowInterest = "low_interest",
        NewToCredit = "new_to_credit",
        Student = "student",
        TravelIncentives = "travel_incentives",
    }
}

enumeration! {
    /// The network that a credit card belongs to.
    CardType {
        Visa = "visa",
        Mastercard = "mastercard",
        AmericanExpress = "american_express",
        Discover = "discover",
    }
}

enumeration! {
    /// The currency of a welcome bonus.
    IntroOfferType {
        Miles = "miles",
        Points = "points",
        StatementCredit = "statement_credit",
    }
}
