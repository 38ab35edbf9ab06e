//! The funnel: whatever happens, in whatever order, and wherever the fold is stopped, the tallies are what the records say.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDate};

use super::*;
use crate::conversions::click::{Click, click};
use crate::conversions::partner_events::report;
use crate::hindsight::funnel::{Fold, Grain, Scope, Span, Tally, behind, series, total};
use crate::model::{EventType, PartnerEvent, PartnerEventType, PartnerReport, ProductType, Reference};
use crate::rate_table::record::TableHead;
use crate::records::following::Step;
use crate::records::reading;
use crate::store::entities::{Happening, LeadRecord, Payout};
use crate::store::{Commit, CommitError, FeedKey, codec};

const COMPANIES: [Uuid; 2] = [COMPANY, Uuid::from_u128(8)];

/// What happens.
#[derive(Debug, Clone)]
enum Deed {
    /// A lead comes in.
    Submit { company: usize, test: bool, products: Vec<&'static str> },
    /// Somebody opens an offer.
    Click { table: usize, number: u16 },
    /// A partner reports on an offer.
    Report { table: usize, number: u16, funded: bool, payout: Option<u32> },
    /// The partner takes a report back.
    Revoke { report: usize },
    /// Time passes, and tables complete.
    Wait,
    /// The fold goes on.
    Fold,
    /// Two folds go on at once.
    FoldTwice,
    /// The disk fails in the middle of a step, and the daemon starts again.
    FailInFold,
    /// The daemon stops, and starts again.
    Restart,
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let products = prop::sample::subsequence(vec!["loan", "savings", "other"], 0..=3);
    let submit = (0..2_usize, prop::bool::weighted(0.2), products)
        .prop_map(|(company, test, products)| Deed::Submit { company, test, products });
    let offer = || (any::<usize>(), 1..4_u16);
    prop_oneof![
        4 => submit,
        3 => offer().prop_map(|(table, number)| Deed::Click { table, number }),
        3 => (offer(), any::<bool>(), prop::option::of(1..10_000_u32)).prop_map(
            |((table, number), funded, payout)| Deed::Report { table, number, funded, payout }
        ),
        1 => any::<usize>().prop_map(|report| Deed::Revoke { report }),
        2 => Just(Deed::Wait),
        3 => Just(Deed::Fold),
        1 => Just(Deed::FoldTwice),
        1 => Just(Deed::FailInFold),
        1 => Just(Deed::Restart),
    ]
}

fn partners() -> Vec<PartnerFile> {
    vec![
        partner("bank").loan("").savings(""),
        partner("slow").loan(&simulate("2s")),
        partner("second").second_look(1.5, &simulate("1s")),
    ]
}

/// A world in which deeds are done.
struct Story {
    world: World,
    tables: Vec<Uuid>,
    reports: Vec<(String, String)>,
}

impl Story {
    async fn begin() -> Self {
        Self { world: World::of(&partners()).await, tables: Vec::new(), reports: Vec::new() }
    }

    fn fold(&self) -> Fold {
        let engine = self.world.matchmaker.engine();
        Fold::in_steps_of(engine.records.clone(), 3)
    }

    fn store(&self) -> &Store {
        &self.world.matchmaker.engine().records.store
    }

    async fn restart(self) -> Self {
        self.world.matchmaker.drain().await;
        // The actors are gone before the store is opened again.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let world = self.world.crash(&partners()).await;
        recover(&world.matchmaker).await;
        Self { world, ..self }
    }

    #[expect(clippy::too_many_lines, reason = "a deed a step")]
    async fn go_on(mut self, deed: Deed) -> Self {
        let engine = std::sync::Arc::clone(self.world.matchmaker.engine());
        match deed {
            Deed::Submit { company, test, products } => {
                let lead = serde_json::json!({
                    "productTypes": products,
                    "loanInformation": {"loanAmount": 10000},
                    "creditInformation": {"providedCreditRating": "good"},
                });
                let lead = Lead::read(lead.to_string().as_bytes()).unwrap();
                let (company, bands) = (COMPANIES[company], CreditBands::CURRENT);
                let submission = Submission {
                    company,
                    test,
                    look_back_minutes: None,
                    bands,
                    newer_values: false,
                    idempotency_key: None,
                    lead,
                    trace: None,
                    permit: crate::load_shedder::Permit::default(),
                };
                let shown = self.world.matchmaker.submit(submission, Until::Prompt).await.unwrap();
                self.tables.push(uuid(&shown));
            }
            Deed::Click { table, number } => {
                if let Some(offer) = self.offer(table, number) {
                    let Click::Offer(opened) = click(&engine, offer).unwrap() else { panic!("it is shown") };
                    opened.record(&engine).await.unwrap();
                }
            }
            Deed::Report { table, number, funded, payout } => {
                if let Some(offer) = self.offer(table, number) {
                    self.report(offer, funded, payout).await;
                }
            }
            Deed::Revoke { report: nth } => {
                if !self.reports.is_empty() {
                    let (partner, transaction) = self.reports[nth % self.reports.len()].clone();
                    report(&engine, &partner, &PartnerReport::Revocation(transaction)).await.unwrap();
                }
            }
            Deed::Wait => tokio::time::sleep(Duration::from_millis(1_300)).await,
            Deed::Fold => {
                self.fold().round().await.unwrap();
            }
            Deed::FoldTwice => {
                let (one, two) = (self.fold(), self.fold());
                for result in <[_; 2]>::from(tokio::join!(one.round(), two.round())) {
                    assert!(matches!(result, Ok(_) | Err(CommitError::Guard { .. })), "{result:?}");
                }
            }
            Deed::FailInFold => {
                self.world.disk.set(true);
                let _ = self.fold().round().await;
                drop(engine);
                return self.restart().await;
            }
            Deed::Restart => {
                drop(engine);
                return self.restart().await;
            }
        }
        self
    }

    /// An offer of one of the tables, if it shows that many.
    fn offer(&self, nth: usize, number: u16) -> Option<Uuid> {
        let table = *self.tables.get(nth.checked_rem(self.tables.len())?)?;
        let engine = self.world.matchmaker.engine();
        let shown = reading::table(&engine.records, table).unwrap().unwrap();
        shown.offer(number).map(|_| engine.records.templates.ids.uuid(table, number))
    }

    async fn report(&mut self, offer: Uuid, funded: bool, payout: Option<u32>) {
        let engine = self.world.matchmaker.engine();
        let (table, number) = reading::offer(&engine.records, offer).unwrap().unwrap();
        let table = reading::table(&engine.records, table).unwrap().unwrap();
        let partner = table.offer(number).unwrap().0.key.clone();
        let transaction_id = format!("t{}", self.reports.len());
        let event = PartnerEvent {
            transaction_id: transaction_id.clone(),
            event_type: if funded { PartnerEventType::Funded } else { PartnerEventType::Applied },
            reference: Reference { offer_uuid: Some(offer), ..Reference::default() },
            occurred_at: None,
            amount_in_cents: None,
            payout_in_cents: payout.map(|tenths| f64::from(tenths) / 10.0),
            reject_reason: None,
        };
        report(engine, &partner, &PartnerReport::Event(event)).await.unwrap();
        self.reports.push((partner, transaction_id));
    }

    /// Folds until nothing is left.
    async fn finish(&self) {
        tokio::time::sleep(Duration::from_secs(20)).await;
        while self.fold().round().await.unwrap() != Step::Nothing {}
    }

    /// What the records say, each looked at by itself.
    fn told(&self) -> BTreeMap<(Scope, NaiveDate), Tally> {
        let mut told = Told::default();
        for (key, bytes) in self.store().scan(Tree::Leads, []).map(Result::unwrap) {
            let record: LeadRecord = codec::decode_json(&bytes).unwrap();
            assert_eq!(key, record.uuid.as_bytes());
            let all = ProductType::ALL.iter().filter(|product| record.lead.asks_for(**product));
            let one = Tally { leads: 1, ..Tally::default() };
            told.note(record.company, record.test, record.created_at, all.copied(), one);
        }
        for (_, bytes) in self.store().scan(Tree::RateTables, []).map(Result::unwrap) {
            let head: TableHead = codec::decode(&bytes).unwrap();
            let table = reading::table(&self.world.matchmaker.engine().records, head.uuid).unwrap().unwrap();
            let seats: std::collections::BTreeSet<_> =
                table.seats().iter().map(|seat| seat.product_type).collect();
            let note = |told: &mut Told, products: Vec<ProductType>, tally| {
                told.note(head.company, head.test, head.created_at, products, tally);
            };
            note(&mut told, seats.iter().copied().collect(), Tally { rate_tables: 1, ..Tally::default() });
            let mut products = Vec::new();
            for (seat, _) in table.shown() {
                note(&mut told, vec![seat.product_type], Tally { offers: 1, ..Tally::default() });
                products.push(seat.product_type);
            }
            products.sort_unstable();
            products.dedup();
            if !products.is_empty() {
                note(&mut told, products, Tally { with_offers: 1, ..Tally::default() });
            }
        }
        for (key, bytes) in self.store().scan(Tree::LeadEvents, []).map(Result::unwrap) {
            let company = FeedKey::parse(&key).unwrap().company;
            for happening in codec::decode::<Vec<Happening>>(&bytes).unwrap() {
                let one = if happening.taken_back_at.is_some() { -1 } else { 1 };
                let tally = match happening.event_type {
                    EventType::OfferClicked => Tally { clicks: 1, ..Tally::default() },
                    EventType::Applied => Tally { applied: one, ..Tally::default() },
                    EventType::Funded => Tally { funded: one, ..Tally::default() },
                    _ => continue,
                };
                let at = happening.at.max(happening.lead_created_at);
                told.note(company, happening.test, at, happening.product_type, tally);
            }
        }
        for (key, bytes) in self.store().scan(Tree::LeadPayouts, []).map(Result::unwrap) {
            let company = FeedKey::parse(&key).unwrap().company;
            for payout in codec::decode::<Vec<Payout>>(&bytes).unwrap() {
                assert!(payout.product_type.is_some());
                let tally = Tally::of_payout(payout.cents);
                told.note(company, false, payout.counts_at(), payout.product_type, tally);
            }
        }
        told.0
    }

    /// What the tallies say, of the days that the records are of.
    fn tallied(&self, grain: Grain, days: &[NaiveDate]) -> BTreeMap<(Scope, NaiveDate), Tally> {
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return BTreeMap::new() };
        let span = Span { grain, first: *first, last: *last };
        let mut tallied = BTreeMap::new();
        for scope in scopes() {
            for (day, tally) in
                series(self.store(), scope, span).into_iter().filter(|(_, one)| !one.is_empty())
            {
                tallied.insert((scope, day), tally);
            }
        }
        tallied
    }
}

#[derive(Default)]
struct Told(BTreeMap<(Scope, NaiveDate), Tally>);

impl Told {
    fn note(
        &mut self,
        company: Uuid,
        test: bool,
        at: i64,
        products: impl IntoIterator<Item = ProductType>,
        tally: Tally,
    ) {
        let day = DateTime::from_timestamp_millis(at).unwrap().date_naive();
        let products = std::iter::once(None).chain(products.into_iter().map(Some));
        for product_type in products {
            for company in [None, Some(company)] {
                let sum = self.0.entry((Scope { test, company, product_type }, day)).or_default();
                *sum = sum.plus(tally);
            }
        }
    }
}

fn scopes() -> impl Iterator<Item = Scope> {
    let products = || std::iter::once(None).chain(ProductType::ALL.iter().copied().map(Some));
    let companies = || [None, Some(COMPANIES[0]), Some(COMPANIES[1])];
    [false, true].into_iter().flat_map(move |test| {
        companies().into_iter().flat_map(move |company| {
            products().map(move |product_type| Scope { test, company, product_type })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn totals_equal_what_all_records_say_wherever_the_fold_was_stopped(
        deeds in prop::collection::vec(any_deed(), 1..40),
    ) {
        paused(async {
            let mut story = Story::begin().await;
            for deed in deeds {
                story = story.go_on(deed).await;
            }
            story.finish().await;
            prop_assert_eq!(behind(story.store()), None);

            let told = story.told();
            let mut days: Vec<NaiveDate> = told.keys().map(|(_, day)| *day).collect();
            days.sort_unstable();
            days.dedup();
            let kept = told.iter().filter(|(_, tally)| !tally.is_empty());
            let kept: BTreeMap<_, _> = kept.map(|(place, tally)| (*place, *tally)).collect();
            prop_assert_eq!(story.tallied(Grain::Day, &days), kept);

            // The months hold the same sums.
            let mut months: BTreeMap<(Scope, NaiveDate), Tally> = BTreeMap::new();
            for ((scope, day), tally) in told {
                let sum = months.entry((scope, day.with_day(1).unwrap())).or_default();
                *sum = sum.plus(tally);
            }
            months.retain(|_, tally| !tally.is_empty());
            let firsts: Vec<NaiveDate> = days.iter().map(|day| day.with_day(1).unwrap()).collect();
            prop_assert_eq!(story.tallied(Grain::Month, &firsts), months);
            Ok(())
        })?;
    }
}

#[test]
fn a_store_that_was_never_counted_is_counted_from_its_beginning() {
    paused(async {
        let mut story = Story::begin().await;
        for company in [0, 1, 0, 0, 1] {
            let products = vec!["loan", "savings"];
            story = story.go_on(Deed::Submit { company, test: false, products }).await;
        }
        let today = chrono::Utc::now().date_naive();
        let all = Scope { test: false, company: None, product_type: None };
        let span = Span::days(30, today);
        assert!(total(story.store(), all, span).is_empty());
        assert!(behind(story.store()).is_some());

        story.finish().await;
        let tally = total(story.store(), all, span);
        assert_eq!((tally.leads, tally.rate_tables, tally.with_offers), (5, 5, 5));
        // The bank's loan and savings account, and the slow lender's loan.
        assert_eq!(tally.offers, 15);
        let savings = Scope { product_type: Some(ProductType::Savings), company: Some(COMPANIES[0]), ..all };
        let tally = total(story.store(), savings, Span::months(12, today));
        assert_eq!((tally.leads, tally.rate_tables, tally.offers), (3, 3, 3));
    });
}

/// Of all live leads.
const ALL: Scope = Scope { test: false, company: None, product_type: None };

#[test]
fn what_is_reported_late_earns_on_the_day_on_which_it_happened_and_is_taken_back_from_there() {
    paused(async {
        let submit = Deed::Submit { company: 0, test: false, products: vec!["savings"] };
        let story = Story::begin().await.go_on(submit).await;
        let now_ms = chrono::Utc::now().timestamp_millis();
        let earned_ms = now_ms - 40 * 86_400_000;
        let earned = DateTime::from_timestamp_millis(earned_ms).unwrap().date_naive();
        let paid = |story: &Story| {
            let that_day = Span { grain: Grain::Day, first: earned, last: earned };
            let since = Span::days(30, DateTime::from_timestamp_millis(now_ms).unwrap().date_naive());
            [that_day, since].map(|span| total(story.store(), ALL, span).payout_thousandths)
        };
        for (takes_back, cents, wanted) in [(None, 5.0, [5_000, 0]), (Some(now_ms), -5.0, [0, 0])] {
            let payout = Payout {
                uuid: Uuid::from_u128(2),
                lead: Uuid::from_u128(1),
                booked_at_ms: now_ms,
                cents,
                product_type: Some(ProductType::Savings),
                institution: None,
                takes_back,
                earned_at: Some(earned_ms),
            };
            let booked = Commit::new().append(Tree::LeadPayouts, COMPANY, codec::encode(&vec![payout]));
            story.store().commit(booked).await.unwrap();
            story.finish().await;
            assert_eq!(paid(&story), wanted);
        }
    });
}
