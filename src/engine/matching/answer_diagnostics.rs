//! Diagnostics of an answer: offers that are not shown or may be wrong, and declines without a reason.

use metrics::counter;
use tracing::warn;

use offerd_base::telemetry::metrics::{OFFERS_DOUBTED, OFFERS_NOT_SHOWN};
use offerd_partners::Seat;
use offerd_partners::http::{AnswerReading, Answered};

/// Logs and counts them, and summarises them in a sentence.
pub(super) fn report(seat: &Seat, reading: &AnswerReading) -> Option<String> {
    let (partner, product_type) = (&seat.identity.key, seat.product_type.as_str());
    for offer in &reading.dropped {
        let (position, reason) = (offer.position, &offer.reason);
        warn!(partner, product_type, position, reason, "an offer of a partner is not shown");
        counter!(OFFERS_NOT_SHOWN, "partner" => partner.clone(), "product_type" => product_type).increment(1);
    }
    let quotes = if let Answered::Offers(quotes) = &reading.answered { &quotes[..] } else { &[] };
    let doubts: Vec<&str> = quotes.iter().filter_map(|quote| quote.doubt).collect();
    for doubt in &doubts {
        warn!(partner, product_type, doubt, "an offer of a partner may be wrong, and is shown");
        counter!(OFFERS_DOUBTED, "partner" => partner.clone(), "product_type" => product_type).increment(1);
    }
    let (dropped, count) = (reading.dropped.first(), reading.dropped.len());
    let dropped = dropped.map(|first| format!("{count} of its offers not shown: {}", first.reason));
    let doubted = || Some(format!("{} of its offers in doubt: {}", doubts.len(), doubts.first()?));
    dropped.or_else(doubted).or_else(|| reading.why.map(str::to_owned))
}
