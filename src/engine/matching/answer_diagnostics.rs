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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use metrics_exporter_prometheus::PrometheusBuilder;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;
    use crate::matching::tests::world::book;
    use crate::partner_files::partner;

    #[derive(Clone, Default)]
    struct Lines(Arc<AtomicUsize>);

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// However many offers an answer has, the log gets one line, and the metric their number.
    #[test]
    fn an_answer_is_one_line_of_the_log() {
        let book = book(&[partner("bank").savings("")]);
        for (count, lines) in [(0, 0), (1, 1), (1_001, 1)] {
            let unfit = |position| Unfit { position, ..Unfit::from("it has no APR") };
            let dropped = (0..count).map(unfit).collect();
            let reading = AnswerReading { dropped, ..Answered::Offers(Vec::new()).into() };
            let (log, recorder) = (Lines::default(), PrometheusBuilder::new().build_recorder());
            let report =
                || tracing::subscriber::with_default(log.clone(), || report(&book.seats()[0], &reading));
            let said = metrics::with_local_recorder(&recorder, report);
            let wanted = format!("{count} of its offers not shown: it has no APR");
            assert_eq!(said, (count > 0).then_some(wanted));
            assert_eq!(log.0.load(Ordering::Relaxed), lines, "{count}");
            let rendered = recorder.handle().render();
            let is_counted = rendered.contains(&format!("product_type=\"savings\"}} {count}\n"));
            assert_eq!(is_counted, count > 0, "{rendered}");
        }
    }
}
