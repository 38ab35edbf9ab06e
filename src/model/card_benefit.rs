//! What a credit card brings besides credit.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// A card benefit by its display text.
///
/// The set is open: beside the generic texts of `CardBenefit::GENERIC` stand those that name the programme of
/// one company. Generic texts are not copied, since every card offer carries many of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String)]
pub struct CardBenefit(Cow<'static, str>);

impl CardBenefit {
    /// The texts that belong to no company, in the order of the specification.
    pub const GENERIC: &'static [&'static str] = GENERIC;

    /// Names a benefit.
    pub fn named(text: &str) -> Self {
        let generic = Self::GENERIC.iter().find(|&&known| known == text);
        Self(generic.map_or_else(|| Cow::Owned(text.to_owned()), |&known| Cow::Borrowed(known)))
    }

    /// The display text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the benefit belongs to no company.
    pub fn is_generic(&self) -> bool {
        Self::GENERIC.contains(&self.as_str())
    }
}

impl fmt::Display for CardBenefit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for CardBenefit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for CardBenefit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::named(&text))
    }
}

#[rustfmt::skip]
const GENERIC: &[&str] = &[
    "No Foreign Transaction Fees",
    "Purchase Protection",
    "Return Protection",
    "Price Protection",
    "Fraud Protection",
    "Extended Warranty",
    "Travel Accident Insurance",
    "Trip Interruption Insurance",
    "Car Rental Insurance",
    "Baggage Insurance",
    "Baggage Delay Insurance",
    "Hotel Burglary Insurance",
    "Travel & Emergency Assistance",
    "Roadside Assistance",
    "Concierge Service",
    "Lounge Access",
    "Identity Theft Assistance",
    "In-Flight Savings",
    "Free Checked Bag",
    "2 Free Checked Bags",
    "Priority Boarding",
    "No Blackout Dates",
    "Free Companion Ticket",
    "Discount Companion Ticket",
    "Global Entry or TSA PreCheck",
    "Private Jet Perks",
    "Lounge Access Discount",
    "2 Lounge Passes",
    "24/7 Cardholder Support",
    "Authorized User",
    "Entertainment Access",
    "Airline Fee Credit",
    "Late Fee Pass",
    "Credit Score Reporting",
    "No Flight Change Fees",
    "24/7 Account Monitoring",
    "Free Hotel Stay",
    "Extended Hotel Stay",
    "Dining Concierge",
    "Auto Discounts",
    "WiFi Access",
    "Missed Event Ticket Protection",
    "Account Freezing",
    "Cell Phone Protection",
    "GPA Rewards",
    "In-Flight WiFi Credit",
    "Annual Travel Credit",
    "Employee Spending Limits",
    "No Pre-Set Spending Limit",
    "Purchase Financing",
    "Expense Report Features",
    "Business Cell Phone Protection",
    "30 Extra Days for Returns",
    "Personal shopping",
    "Online Subscription Credit",
    "Airline Benefits",
    "Hotel Benefits",
    "Other Travel Benefits",
    "Emergency Assistance",
    "Experiences",
    "Shopping Benefits",
    "Cardholder Benefits",
    "Enhanced Security",
    "Business Benefits",
    "Other Benefits",
    "In-Flight Discounts",
    "Fee Coverage",
    "Flight Credits & Discounts",
    "Hotel Membership Status",
    "Hotel Credit & Free Stays",
    "Travel Credit",
    "Travel Experiences Programs",
    "Car Rental Membership Status",
    "Extra Gas Rewards",
    "Shopping Protection",
    "Shopping Discounts",
    "Free Shipping",
    "Ride Share Benefits",
    "Daily Breakfast",
    "Early Check-in & Late Check-out",
    "Room Upgrades",
    "Complementary WiFi",
    "Temporary Account Numbers",
    "Airline Travel Credit",
    "Chip Technology",
    "Free Birthday Gift",
    "Monthly Dining Credit",
    "Car Rental VIP Perks",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_a_round_trip_and_none_stands_twice() {
        let mut texts = CardBenefit::GENERIC.to_vec();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), CardBenefit::GENERIC.len());
        for text in texts {
            let json = serde_json::to_string(&CardBenefit::named(text)).unwrap();
            let benefit: CardBenefit = serde_json::from_str(&json).unwrap();
            assert!(benefit.is_generic() && benefit.as_str() == text);
        }
    }

    #[test]
    fn the_programme_of_one_company_is_kept() {
        let benefit: CardBenefit = serde_json::from_str("\"Acme Sky Club\"").unwrap();
        assert!(!benefit.is_generic());
        assert_eq!(benefit.to_string(), "Acme Sky Club");
    }
}
