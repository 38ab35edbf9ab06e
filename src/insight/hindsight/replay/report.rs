//! The result of a replay: offers won and lost per partner, and the leads that gain or lose all of theirs.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use offerd_model::{ProductType, record};
use offerd_partners::Quote;

/// The most leads listed among those that gain or lose every offer; all are counted.
const MOST_NAMED: usize = 20;

/// A partner and product type.
pub type ReplayedSeat = (String, ProductType);

/// A rate table as it was, or as it would be.
#[derive(Debug, Default)]
pub struct TableOutcome {
    /// The seats asked.
    pub asked: BTreeSet<ReplayedSeat>,
    /// The offers shown: the seat, the name in the partner's file, and the quote.
    pub offers: Vec<(ReplayedSeat, String, Quote)>,
}

record! { plain
    /// The result of a replay.
    #[derive(Default, Eq)]
    ReplayReport {
        /// The number of rate tables compared.
        rate_tables: u64,
        /// The rate tables that were not compared.
        skipped: Skipped,
        /// All offers.
        offers: OfferCount,
        /// Leads without an offer that would have one.
        gain_all: Named,
        /// Leads with an offer that would have none.
        lose_all: Named,
        /// The result per seat.
        seats: Vec<SeatReplay>,
    }

    /// The rate tables that were not compared, by reason.
    #[derive(Copy, Default, Eq)]
    Skipped {
        /// An answer was outstanding.
        pending: u64,
        /// The lead has changed since it was matched.
        grown: u64,
        /// The lead, or a part of the table, is no longer stored.
        gone: u64,
    }

    /// A number of leads, and some of their uuids.
    #[derive(Default, Eq)]
    Named {
        /// The number of leads.
        count: u64,
        /// The first of them.
        leads: Vec<Uuid>,
    }

    /// Offers before and after, compared.
    #[derive(Copy, Default, Eq)]
    OfferCount {
        /// Shown before and after, changed or not.
        kept: u64,
        /// The kept offers whose terms would differ.
        changed: u64,
        /// Shown only after.
        won: u64,
        /// Shown only before.
        lost: u64,
    }

    /// The result of a seat.
    #[derive(Eq)]
    SeatReplay {
        /// The partner's key.
        partner: String,
        /// The seat's product type.
        product_type: ProductType,
        /// Whether it is asked over HTTP; then only asks can be won, not offers.
        over_http: bool,
        /// Leads that it was asked about.
        asked_then: u64,
        /// Leads that it would be asked about.
        asked_now: u64,
        /// Leads that it would be asked about and was not.
        newly_asked: u64,
        /// Leads that it was asked about and would not be.
        no_longer_asked: u64,
        /// Its offers.
        offers: OfferCount,
        /// Its offers by name.
        by_offer: BTreeMap<String, OfferCount>,
    }
}

/// Counts the compared tables.
#[derive(Debug, Default)]
pub struct ReplayTally {
    report: ReplayReport,
    seats: BTreeMap<ReplayedSeat, SeatReplay>,
}

impl ReplayTally {
    /// Counts the table of a lead.
    pub fn add(&mut self, lead: Uuid, then: &TableOutcome, now: &TableOutcome) {
        self.report.rate_tables += 1;
        match (then.offers.is_empty(), now.offers.is_empty()) {
            (true, false) => self.report.gain_all.add(lead),
            (false, true) => self.report.lose_all.add(lead),
            _ => {}
        }
        for place in then.asked.union(&now.asked) {
            let seat = self.seat(place);
            let (asked_then, asked_now) = (then.asked.contains(place), now.asked.contains(place));
            seat.asked_then += u64::from(asked_then);
            seat.asked_now += u64::from(asked_now);
            seat.newly_asked += u64::from(asked_now && !asked_then);
            seat.no_longer_asked += u64::from(asked_then && !asked_now);
        }
        for ((place, name), (then, now)) in side_by_side(then, now) {
            let count = OfferCount::of(&then, &now);
            self.report.offers.add(count);
            let seat = self.seat(place);
            seat.offers.add(count);
            seat.by_offer.entry(name.to_owned()).or_default().add(count);
        }
    }

    /// Counts a table that is not compared.
    pub fn skip(&mut self, why: impl FnOnce(&mut Skipped) -> &mut u64) {
        *why(&mut self.report.skipped) += 1;
    }

    /// The report. `over_http` states whether a seat is asked over HTTP.
    pub fn report(&self, over_http: impl Fn(&ReplayedSeat) -> bool) -> ReplayReport {
        let seats = self.seats.iter();
        let seats = seats.map(|(place, seat)| SeatReplay { over_http: over_http(place), ..seat.clone() });
        ReplayReport { seats: seats.collect(), ..self.report.clone() }
    }

    fn seat(&mut self, place: &ReplayedSeat) -> &mut SeatReplay {
        self.seats.entry(place.clone()).or_insert_with(|| SeatReplay {
            partner: place.0.clone(),
            product_type: place.1,
            over_http: false,
            asked_then: 0,
            asked_now: 0,
            newly_asked: 0,
            no_longer_asked: 0,
            offers: OfferCount::default(),
            by_offer: BTreeMap::new(),
        })
    }
}

/// The quotes of each offer before and after; a partner asked over HTTP may answer with several of one name.
type Sides<'t> = BTreeMap<(&'t ReplayedSeat, &'t str), (Vec<&'t Quote>, Vec<&'t Quote>)>;

fn side_by_side<'t>(then: &'t TableOutcome, now: &'t TableOutcome) -> Sides<'t> {
    let mut sides = Sides::new();
    for (place, name, quote) in &then.offers {
        sides.entry((place, name)).or_default().0.push(quote);
    }
    for (place, name, quote) in &now.offers {
        sides.entry((place, name)).or_default().1.push(quote);
    }
    sides
}

impl OfferCount {
    /// Counts the offers of one name. Equal quotes are paired first, then the remaining ones.
    fn of(then: &[&Quote], now: &[&Quote]) -> Self {
        let mut left: Vec<&Quote> = now.to_vec();
        let same = then.iter().filter(|quote| {
            let place = left.iter().position(|other| other == *quote);
            place.map(|place| left.swap_remove(place)).is_some()
        });
        let same = same.count() as u64;
        let kept = then.len().min(now.len()) as u64;
        Self { kept, changed: kept - same, won: now.len() as u64 - kept, lost: then.len() as u64 - kept }
    }

    fn add(&mut self, other: Self) {
        self.kept += other.kept;
        self.changed += other.changed;
        self.won += other.won;
        self.lost += other.lost;
    }
}

impl Named {
    fn add(&mut self, lead: Uuid) {
        self.count += 1;
        if self.leads.len() < MOST_NAMED {
            self.leads.push(lead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_partners::quote::SpecialTerms;
    use offerd_partners::{Fingerprint, QuoteTerms};

    fn place(partner: &str) -> ReplayedSeat {
        (partner.to_owned(), ProductType::Loan)
    }

    fn told(asked: &[&str], offers: &[(&str, &str, f64)]) -> TableOutcome {
        let quote = |score: f64| Quote {
            text: Fingerprint([0; 16]),
            score,
            terms: QuoteTerms::Special(SpecialTerms { payout: 0.0, competes_as: None }),
            landing_url: None,
            expires_at: None,
            own: None,
            doubt: None,
            ranked: None,
        };
        TableOutcome {
            asked: asked.iter().map(|partner| place(partner)).collect(),
            offers: offers
                .iter()
                .map(|(partner, name, score)| (place(partner), (*name).to_owned(), quote(*score)))
                .collect(),
        }
    }

    fn counted(kept: u64, changed: u64, won: u64, lost: u64) -> OfferCount {
        OfferCount { kept, changed, won, lost }
    }

    #[test]
    fn offers_are_won_lost_kept_and_changed_by_name() {
        let mut tally = ReplayTally::default();
        let then = told(&["a", "b"], &[("a", "x", 1.0), ("a", "y", 1.0), ("b", "x", 1.0)]);
        let now = told(&["a", "c"], &[("a", "x", 1.0), ("a", "y", 2.0), ("c", "x", 1.0)]);
        tally.add(Uuid::nil(), &then, &now);
        let report = tally.report(|(partner, _)| partner == "c");
        assert_eq!(report.offers, counted(2, 1, 1, 1));
        let [a, b, c] = &report.seats[..] else { panic!("{report:?}") };
        assert_eq!((a.offers, a.newly_asked, a.no_longer_asked), (counted(2, 1, 0, 0), 0, 0));
        assert_eq!((b.offers, b.asked_then, b.no_longer_asked), (counted(0, 0, 0, 1), 1, 1));
        assert_eq!((c.offers, c.asked_now, c.newly_asked), (counted(0, 0, 1, 0), 1, 1));
        assert_eq!((a.over_http, c.over_http), (false, true));
        assert_eq!(a.by_offer["y"], counted(1, 1, 0, 0));
        assert_eq!((report.gain_all.count, report.lose_all.count), (0, 0));
    }

    #[test]
    fn several_offers_of_one_name_are_matched_by_what_they_say() {
        let mut tally = ReplayTally::default();
        let then = told(&[], &[("a", "x", 1.0), ("a", "x", 2.0), ("a", "x", 3.0)]);
        let now = told(&[], &[("a", "x", 3.0), ("a", "x", 4.0)]);
        tally.add(Uuid::nil(), &then, &now);
        assert_eq!(tally.report(|_| false).offers, counted(2, 1, 0, 1));
    }

    #[test]
    fn leads_that_gain_or_lose_everything_are_counted_and_some_are_named() {
        let mut tally = ReplayTally::default();
        let (nothing, something) = (told(&["a"], &[]), told(&["a"], &[("a", "x", 1.0)]));
        for nth in 0..MOST_NAMED as u128 + 5 {
            tally.add(Uuid::from_u128(nth), &nothing, &something);
        }
        tally.add(Uuid::from_u128(99), &something, &nothing);
        tally.add(Uuid::from_u128(98), &nothing, &nothing);
        let report = tally.report(|_| false);
        assert_eq!((report.gain_all.count, report.gain_all.leads.len()), (25, MOST_NAMED));
        assert_eq!(report.lose_all, Named { count: 1, leads: vec![Uuid::from_u128(99)] });
        assert_eq!(report.rate_tables, 27);
    }

    #[test]
    fn what_is_skipped_is_counted_by_its_reason() {
        let mut tally = ReplayTally::default();
        tally.skip(|skipped| &mut skipped.grown);
        tally.skip(|skipped| &mut skipped.grown);
        tally.skip(|skipped| &mut skipped.pending);
        let report = tally.report(|_| false);
        assert_eq!(report.skipped, Skipped { pending: 1, grown: 2, gone: 0 });
        assert_eq!(report.rate_tables, 0);
    }
}
