//! A tally: what was counted of one scope in one day or month.

use serde::{Deserialize, Serialize};

use crate::store::codec::{self, CodecError};

/// Thousandths in a cent: payouts are kept in whole numbers, so that sums do not depend on their order.
const THOUSANDTHS: f64 = 1000.0;

/// How many there were of each stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Leads that were taken in.
    pub leads: u64,
    /// Rate tables that were made.
    pub rate_tables: u64,
    /// Complete rate tables that show at least one offer.
    pub with_offers: u64,
    /// Offers that complete rate tables show.
    pub offers: u64,
    /// Clicks on offers.
    pub clicks: u64,
    /// Applications that partners reported and did not take back; in what is added to a tally less than nothing where some are.
    #[serde(with = "whole")]
    pub applied: i64,
    /// Fundings, likewise.
    #[serde(with = "whole")]
    pub funded: i64,
    /// Payouts, less those taken back, in thousandths of a cent.
    pub payout_thousandths: i64,
    /// Seats that fit a lead and were left out because of their suppression lists. Records of earlier builds end before it.
    pub suppressed: u64,
}

/// A tally as it ended before it told of suppressed seats.
type TallyWithoutSuppressed = (u64, u64, u64, u64, u64, u64, u64, i64);

impl Tally {
    /// A tally as it is stored.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(bytes: &[u8]) -> Result<Self, CodecError> {
        codec::decode(bytes).or_else(|_| {
            let before: TallyWithoutSuppressed = codec::decode(bytes)?;
            let (leads, rate_tables, with_offers, offers, clicks, applied, funded, payout_thousandths) =
                before;
            let rest = Self::default();
            Ok(Self {
                leads,
                rate_tables,
                with_offers,
                offers,
                clicks,
                applied: applied.cast_signed(),
                funded: funded.cast_signed(),
                payout_thousandths,
                ..rest
            })
        })
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            leads: self.leads + other.leads,
            rate_tables: self.rate_tables + other.rate_tables,
            with_offers: self.with_offers + other.with_offers,
            offers: self.offers + other.offers,
            clicks: self.clicks + other.clicks,
            applied: self.applied + other.applied,
            funded: self.funded + other.funded,
            payout_thousandths: self.payout_thousandths + other.payout_thousandths,
            suppressed: self.suppressed + other.suppressed,
        }
    }

    /// Payouts in dollars.
    pub fn payout_dollars(&self) -> f64 {
        self.payout_thousandths as f64 / THOUSANDTHS / 100.0
    }

    /// A tally of one payout.
    pub fn of_payout(cents: f64) -> Self {
        Self { payout_thousandths: (cents * THOUSANDTHS).round() as i64, ..Self::default() }
    }

    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Counts that are stored as those of earlier builds, which took nothing back.
mod whole {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(count: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64((*count).max(0).cast_unsigned())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        u64::deserialize(from).map(u64::cast_signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_of_an_earlier_build_is_read() {
        let before: TallyWithoutSuppressed = (1, 2, 3, 4, 5, 6, 7, -8);
        let read = Tally::read(&codec::encode(&before)).unwrap();
        assert_eq!((read.leads, read.funded, read.payout_thousandths, read.suppressed), (1, 7, -8, 0));
        let now = Tally { suppressed: 3, ..read };
        assert_eq!(Tally::read(&codec::encode(&now)), Ok(now));
    }
}
