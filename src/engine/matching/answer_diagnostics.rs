//! Diagnostics of an answer: offers that are not shown or may be wrong, and declines without a reason.

use metrics::counter;
use tracing::warn;

use offerd_base::telemetry::metrics::{OFFERS_DOUBTED, OFFERS_NOT_SHOWN};
use offerd_partners::Seat;
use offerd_partners::catalog::Unfit;
use offerd_partners::http::{AnswerReading, Answered};

/// Logs and counts them, in one line each, and summarises them in a sentence.
pub(super) fn report(seat: &Seat, reading: &AnswerReading) -> Option<String> {
    let (partner, product_type) = (&seat.identity.key, seat.product_type.as_str());
    if let [Unfit { position, reason, .. }, ..] = &reading.dropped[..] {
        let offers = reading.dropped.len();
        warn!(partner, product_type, offers, position, reason, "offers of a partner are not shown");
        let count = counter!(OFFERS_NOT_SHOWN, "partner" => partner.clone(), "product_type" => product_type);
        count.increment(offers as u64);
    }
    let quotes = if let Answered::Offers(quotes) = &reading.answered { &quotes[..] } else { &[] };
    let doubts: Vec<&str> = quotes.iter().filter_map(|quote| quote.doubt).collect();
    if let [doubt, ..] = doubts[..] {
        let offers = doubts.len();
        warn!(partner, product_type, offers, doubt, "offers of a partner may be wrong, and are shown");
        let count = counter!(OFFERS_DOUBTED, "partner" => partner.clone(), "product_type" => product_type);
        count.increment(offers as u64);
    }
    let (dropped, count) = (reading.dropped.first(), reading.dropped.len());
    let dropped = dropped.map(|first| format!("{count} of its offers not shown: {}", first.reason));
    let doubted = || Some(format!("{} of its offers in doubt: {}", doubts.len(), doubts.first()?));
    dropped.or_else(doubted).or_else(|| reading.why.map(str::to_owned))
}
