//! Credit cards: purposes, networks, introductory offers.

use crate::model::enumeration::enumeration;

enumeration! {
    /// What a credit card is wanted for, or good for.
    CardPurpose {
        BalanceTransfer, CashBack, EarningRewards, ImproveCredit, LowInterest, NewToCredit, Student,
        TravelIncentives,
    }

    /// The network that a credit card belongs to.
    CardType {
        Visa, Mastercard, AmericanExpress, Discover,
    }

    /// The currency of a welcome bonus.
    IntroOfferType {
        Miles, Points, StatementCredit,
    }
}
