//! Whatever is done, in any order and with learning interrupted anywhere, what was learnt matches what was
//! done.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::Rankings;
use super::counts::ClickCounts;
use super::day::{ClickOutcome, Day, OfferRatingKey};
use super::keep::LearningSchedule;
use super::key::{ClickOwner, day_of};
use super::report::RankingFilter;
use crate::conversions::click::{Click, click};
use crate::conversions::partner_events::report;
use crate::matching::recovery::recover;
use crate::matching::tests::world::*;
use crate::matching::{Submission, Until};
use crate::partner_files::{PartnerFile, partner};
use crate::records::reading;
use offerd_base::config::{RankingSettings, Settings};
use offerd_model::{
    CreditBands, Lead, PartnerEvent, PartnerEventType, PartnerReport, ProductType, Reference,
};
use offerd_partners::ranking::{ConversionFrom, OfferKey};

const COMPANIES: [Uuid; 2] = [COMPANY, Uuid::from_u128(8)];

#[derive(Debug, Clone)]
enum Deed {
    /// A lead is submitted.
    Submit { company: usize, test: bool, rating: &'static str },
    /// An offer is clicked.
    Click { table: usize, number: u16 },
    /// A partner reports on an offer.
    Report { table: usize, number: u16, event_type: PartnerEventType },
    /// The partner revokes a report.
    Revoke { report: usize },
    /// Learning continues.
    Learn,
    /// Two nodes learn at once.
    LearnTwice,
    /// The disk fails during a write, and the daemon restarts.
    FailInLearning,
    /// The daemon restarts.
    Restart,
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let rating = prop::sample::select(vec!["good", "fair", "excellent"]);
    let submit = (0..2_usize, prop::bool::weighted(0.2), rating)
        .prop_map(|(company, test, rating)| Deed::Submit { company, test, rating });
    let offer = || (any::<usize>(), 1..4_u16);
    let types = [PartnerEventType::Funded, PartnerEventType::Applied, PartnerEventType::Approved];
    let report = (offer(), prop::sample::select(types.to_vec()))
        .prop_map(|((table, number), event_type)| Deed::Report { table, number, event_type });
    prop_oneof![
        4 => submit,
        6 => offer().prop_map(|(table, number)| Deed::Click { table, number }),
        4 => report,
        1 => any::<usize>().prop_map(|report| Deed::Revoke { report }),
        3 => Just(Deed::Learn),
        1 => Just(Deed::LearnTwice),
        1 => Just(Deed::FailInLearning),
        1 => Just(Deed::Restart),
    ]
}

/// The partners that pay for applications and for clicks (which teach nothing). A world names partners by
/// number.
const BROKER: &str = "p1";
const SHOP: &str = "p2";

/// One partner pays for fundings, one for applications and one for clicks.
fn partners() -> Vec<PartnerFile> {
    let paid_for = |key: &str, step: &str| {
        partner(key).loan("").replaced("on = \"funded\"", &format!("on = \"{step}\""))
    };
    vec![paid_for("p0", "funded").savings(""), paid_for(BROKER, "applied"), paid_for(SHOP, "click")]
}

/// Settings that learn at once and never forget.
fn rules() -> RankingSettings {
    let rules = Settings::from_layers(None, [("OFFERD__RANKING__DEFAULT".into(), "expected_value".into())]);
    RankingSettings { matures_after: Duration::ZERO, half_life: None, ..rules.unwrap().ranking }
}

/// Company, test flag, partner, offer and rating.
type Counted = (Uuid, bool, String, String, String);

/// The clicked offers by where they count, with whether they converted.
type Truth = BTreeMap<Counted, BTreeMap<Uuid, bool>>;

struct Story {
    world: World,
    rankings: Rankings,
    tables: Vec<(Uuid, usize, bool, &'static str)>,
    reports: Vec<(String, String, Uuid, PartnerEventType)>,
    transactions: usize,
    truth: Truth,
}

fn rankings_of(world: &World) -> Rankings {
    Rankings::of(world.matchmaker.engine().records.clone(), rules()).unwrap()
}

impl Story {
    async fn begin() -> Self {
        let world = World::of(&partners()).await;
        let (tables, reports, transactions, truth) = Default::default();
        Self { rankings: rankings_of(&world), world, tables, reports, transactions, truth }
    }

    async fn restart(self) -> Self {
        let Self { world, rankings, .. } = self;
        drop(rankings);
        world.matchmaker.stop_all().await;
        // The actors must be gone before the store is reopened.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let world = world.crash(&partners()).await;
        recover(&world.matchmaker).await;
        Self { rankings: rankings_of(&world), world, ..self }
    }

    async fn go_on(mut self, deed: Deed) -> Self {
        match deed {
            Deed::Submit { company, test, rating } => self.submit(company, test, rating).await,
            Deed::Click { table, number } => self.click(table, number).await,
            Deed::Report { table, number, event_type } => self.report(table, number, event_type).await,
            Deed::Revoke { report: nth } => self.revoke(nth).await,
            Deed::Learn => drop(self.rankings.round(3).await.unwrap()),
            Deed::LearnTwice => {
                let other = rankings_of(&self.world);
                let _ = tokio::join!(self.rankings.round(3), other.round(3));
                // Of two concurrent writers, only one has counted what both read.
                self.rankings = rankings_of(&self.world);
            }
            Deed::FailInLearning => {
                self.world.disk.set(true);
                let _ = self.rankings.round(3).await;
                return self.restart().await;
            }
            Deed::Restart => return self.restart().await,
        }
        self
    }

    async fn submit(&mut self, company: usize, test: bool, rating: &'static str) {
        let lead = json!({
            "productTypes": ["loan", "savings"],
            "loanInformation": {"loanAmount": 10000},
            "creditInformation": {"providedCreditRating": rating},
        });
        let submission = Submission {
            company: COMPANIES[company],
            test,
            look_back_minutes: None,
            bands: CreditBands::Current,
            newer_values: false,
            idempotency_key: None,
            lead: Lead::read(lead.to_string().as_bytes()).unwrap(),
            trace: None,
            permit: offerd_base::load_shedder::Permit::default(),
        };
        let shown = self.world.matchmaker.submit(submission, Until::Prompt).await.unwrap().answer;
        self.tables.push((uuid(&shown), company, test, rating));
    }

    /// An offer of a table and where it counts, if the table shows that many.
    fn offer(&self, nth: usize, number: u16) -> Option<(Uuid, String, Counted)> {
        let (table, company, test, rating) = *self.tables.get(nth.checked_rem(self.tables.len())?)?;
        let engine = self.world.matchmaker.engine();
        let shown = reading::table(&engine.records, table).unwrap().unwrap();
        let (seat, quote) = shown.offer(number)?;
        let name = engine.records.templates.offer_name(quote.text);
        let name = name.split('/').next().unwrap().to_owned();
        let at = (COMPANIES[company], test, seat.key.clone(), name, rating.to_owned());
        Some((engine.records.templates.ids.offer(table, number), seat.key.clone(), at))
    }

    async fn click(&mut self, table: usize, number: u16) {
        let Some((offer, partner, at)) = self.offer(table, number) else { return };
        let engine = self.world.matchmaker.engine();
        let Click::Offer(opened) = click(engine, offer).unwrap() else { panic!("it is shown") };
        opened.record(engine).await.unwrap();
        if partner != SHOP {
            self.truth.entry(at).or_default().entry(offer).or_insert(false);
        }
    }

    async fn report(&mut self, table: usize, number: u16, event_type: PartnerEventType) {
        let Some((offer, partner, _)) = self.offer(table, number) else { return };
        self.transactions += 1;
        let transaction_id = format!("t{}", self.transactions);
        let event = PartnerEvent {
            transaction_id: transaction_id.clone(),
            event_type,
            reference: Reference { offer_uuid: Some(offer), ..Reference::default() },
            occurred_at: None,
            amount_in_cents: None,
            payout_in_cents: None,
            reject_reason: None,
        };
        report(self.world.matchmaker.engine(), &partner, &PartnerReport::Event(event)).await.unwrap();
        self.note(&partner, offer, event_type, true);
        self.reports.push((partner, transaction_id, offer, event_type));
    }

    async fn revoke(&mut self, nth: usize) {
        let Some(place) = nth.checked_rem(self.reports.len()) else { return };
        let (partner, transaction, offer, event_type) = self.reports.remove(place);
        let engine = self.world.matchmaker.engine();
        report(engine, &partner, &PartnerReport::Revocation(transaction)).await.unwrap();
        self.note(&partner, offer, event_type, false);
    }

    fn note(&mut self, partner: &str, offer: Uuid, event_type: PartnerEventType, converted: bool) {
        let pays = if partner == BROKER { PartnerEventType::Applied } else { PartnerEventType::Funded };
        for offers in self.truth.values_mut().filter(|_| event_type == pays) {
            offers.entry(offer).and_modify(|known| *known = converted);
        }
    }

    /// The counts once everything is learnt.
    async fn learnt(&self) -> BTreeMap<Counted, (usize, usize)> {
        while self.rankings.round(3).await.unwrap() {}
        self.rankings.learn_again().unwrap();
        let mut learnt = BTreeMap::new();
        for test in [false, true] {
            let rows =
                self.rankings.report(&RankingFilter { test, ..RankingFilter::default() }).rows.into_iter();
            for row in rows.filter(|row| row.rating.is_some()) {
                let place = (
                    row.company.parse().unwrap(),
                    test,
                    row.partner,
                    row.offer.unwrap(),
                    row.rating.unwrap(),
                );
                learnt.insert(place, (row.clicks as usize, row.conversions as usize));
            }
        }
        learnt
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    #[test]
    fn what_is_learnt_is_a_recount_of_what_was_done(deeds in prop::collection::vec(any_deed(), 1..40)) {
        paused(async {
            let mut story = Story::begin().await;
            for deed in deeds {
                story = story.go_on(deed).await;
            }
            let counted = story.truth.iter().map(|(place, offers)| {
                (place.clone(), (offers.len(), offers.values().filter(|converted| **converted).count()))
            });
            assert_eq!(story.learnt().await, counted.collect());
            // And again, from the records alone.
            let (truth, again) = (story.learnt().await, story.restart().await);
            assert_eq!(again.learnt().await, truth);
        });
    }
}

#[test]
fn what_one_process_has_learnt_another_sums_up_without_learning_itself() {
    paused(async {
        let story = Story::begin().await;
        let other = rankings_of(&story.world);
        let story = story.go_on(Deed::Submit { company: 0, test: false, rating: "good" }).await;
        let story = story.go_on(Deed::Click { table: 0, number: 1 }).await;
        while story.rankings.round(64).await.unwrap() {}
        story.rankings.learn_again().unwrap();
        let rows = |rankings: &Rankings| rankings.report(&RankingFilter::default()).rows;
        assert!(!rows(&story.rankings).is_empty() && rows(&other).is_empty());
        other.drop_counts();
        other.refresh(&mut LearningSchedule::now()).await.unwrap();
        assert_eq!(rows(&other), rows(&story.rankings));
    });
}

fn at(offer: &str) -> OfferRatingKey {
    let (product_type, band) = (ProductType::Loan, None);
    OfferRatingKey { product_type, partner: "bank".to_owned(), offer: offer.to_owned(), band }
}

fn day(offer: &str, clicks: u32, conversions: u32) -> Day {
    let mut day = Day::default();
    add(&mut day, offer, clicks, conversions);
    day
}

fn add(day: &mut Day, offer: &str, clicks: u32, conversions: u32) {
    for nth in 0..clicks {
        day.note(&at(offer), nth, ClickOutcome::Clicked);
    }
    for nth in 0..conversions.min(clicks) {
        day.note(&at(offer), nth, ClickOutcome::Converted);
    }
}

const WHOSE: ClickOwner = ClickOwner { company: Uuid::nil(), test: false };

#[test]
fn clicks_count_when_they_are_old_enough_then_less_and_then_not_at_all() {
    let days = |count: u64| Duration::from_secs(count * 86_400);
    let rules =
        RankingSettings { matures_after: days(30), half_life: Some(days(10)), window: days(60), ..rules() };
    let now = 1_800_000_000_000;
    let today = day_of(now);
    let seen = |age: u32| {
        let mut counts = ClickCounts::default();
        counts.put(WHOSE, today - age, &day("loan", 80, 40), 1_000);
        let estimate = counts
            .sum(WHOSE, &rules, now)
            .estimate(&OfferKey { product_type: ProductType::Loan, partner: "bank", offer: "loan" }, None);
        (estimate.from, estimate.seen.clicks)
    };
    assert_eq!(seen(29), (ConversionFrom::Prior, 0.0));
    assert_eq!(seen(30), (ConversionFrom::Band, 10.0), "80 clicks, three half-lives ago");
    assert_eq!(seen(60), (ConversionFrom::Band, 1.25));
    assert_eq!(seen(61), (ConversionFrom::Prior, 0.0));
}

#[test]
fn beyond_the_limit_the_oldest_days_make_room() {
    let mut counts = ClickCounts::default();
    for age in [3, 1, 2, 0] {
        counts.put(WHOSE, 100 - age, &day("loan", 1, 0), 2);
    }
    // An evicted day does not return.
    counts.put(WHOSE, 97, &day("loan", 5, 0), 2);
    let sum = counts.sum(WHOSE, &rules(), 101 * 86_400_000 - 1);
    assert_eq!(sum.known().last().unwrap().estimate.seen.clicks, 2.0);
    assert_eq!(
        counts.forget_before(100).len(),
        3,
        "and what is too old is forgotten, whether it counted or not"
    );
}

#[test]
fn what_was_not_clicked_on_does_not_convert_and_what_is_taken_back_has_not() {
    let mut day = day("loan", 1, 0);
    assert!(!day.note(&at("loan"), 7, ClickOutcome::Converted), "nobody has clicked on it");
    assert!(!day.note(&at("loan"), 0, ClickOutcome::Clicked), "it was clicked on before");
    assert!(day.note(&at("loan"), 0, ClickOutcome::Converted));
    assert!(day.note(&at("loan"), 0, ClickOutcome::TakenBack));
    assert_eq!((day.cells[0].clicked.len(), day.cells[0].converted.len()), (1, 0));
}

proptest! {
    #[test]
    fn the_same_clicks_teach_the_same_in_whatever_order_they_came(
        days in prop::collection::vec((0..20_u32, prop::sample::select(vec!["a", "b", "c"]), 1..30_u32, 0..30_u32), 1..12),
    ) {
        let sum = |days: &mut dyn Iterator<Item = &(u32, &str, u32, u32)>| {
            let mut by_day: BTreeMap<u32, Day> = BTreeMap::new();
            let mut counts = ClickCounts::default();
            for (age, offer, clicks, conversions) in days {
                let now = by_day.entry(100 - age).or_default();
                add(now, offer, *clicks, *conversions);
                counts.put(WHOSE, 100 - age, now, 1_000);
            }
            counts.sum(WHOSE, &rules(), 101 * 86_400_000 - 1)
        };
        prop_assert_eq!(sum(&mut days.iter()), sum(&mut days.iter().rev()));
    }
}
