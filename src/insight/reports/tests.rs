//! Whatever happens, in whatever order, and wherever the count is interrupted, reports match the records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use futures_util::FutureExt;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::figures::{Figure, Figures};
use super::query::OfferInForce;
use super::report::{Report, Row};
use super::{Dimension, Rebuild, ReportFault, Reports};
use crate::hindsight::comparison::{Outcome, RunningComparison};
use crate::partner_files::{PartnerFile, partner};
use crate::world::*;
use offerd_base::config::{ReportSettings, Settings};
use offerd_engine::conversions::click::{Click, click};
use offerd_engine::conversions::partner_events::report;
use offerd_engine::experiments::ExperimentRules as Experiments;
use offerd_engine::matching::recovery::recover;
use offerd_engine::matching::{Configuration, Submission, Until};
use offerd_engine::rate_table::record::TableHead;
use offerd_engine::records::{Records, reading};
use offerd_model::{
    CreditBands, EventType, Lead, LeadAction, PartnerEvent, PartnerEventType, PartnerReport, ProductType,
    Reference,
};
use offerd_store::entities::{Happening, HappeningDetails, LeadRecord, PayoutRecord};
use offerd_store::testing::TestNodes;
use offerd_store::{Commit, CommitError, FeedKey, Store, Tree, codec};

const COMPANIES: [Uuid; 2] = [COMPANY, Uuid::from_u128(8)];

/// An action in a test story.
#[derive(Debug, Clone)]
enum Deed {
    Submit {
        company: usize,
        test: bool,
        products: Vec<&'static str>,
        state: &'static str,
        tags: Vec<&'static str>,
    },
    Click {
        table: usize,
        number: u16,
    },
    /// A partner reports on an offer, perhaps days later.
    Report {
        table: usize,
        number: u16,
        funded: bool,
        payout: Option<u32>,
        days_ago: i64,
    },
    Revoke {
        report: usize,
    },
    Wait,
    Count,
    Write,
    /// The disk fails during a write, and the daemon restarts.
    FailInWrite,
    /// The daemon restarts; unwritten counts are counted again.
    Restart,
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let products = prop::sample::subsequence(vec!["loan", "savings", "other"], 0..=3);
    let tags = prop::sample::subsequence(vec!["spring", "summer", "autumn"], 0..=2);
    let state = prop::sample::select(vec!["CA", "TX", ""]);
    let submit = (0..2_usize, prop::bool::weighted(0.2), products, state, tags).prop_map(
        |(company, test, products, state, tags)| Deed::Submit { company, test, products, state, tags },
    );
    let offer = || (any::<usize>(), 1..4_u16);
    let report = (offer(), any::<bool>(), prop::option::of(1..10_000_u32), 0..40_i64);
    prop_oneof![
        4 => submit,
        3 => offer().prop_map(|(table, number)| Deed::Click { table, number }),
        3 => report.prop_map(|((table, number), funded, payout, days_ago)| {
            Deed::Report { table, number, funded, payout, days_ago }
        }),
        1 => any::<usize>().prop_map(|report| Deed::Revoke { report }),
        2 => Just(Deed::Wait),
        3 => Just(Deed::Count),
        2 => Just(Deed::Write),
        1 => Just(Deed::FailInWrite),
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

struct Story {
    world: World,
    reports: Reports,
    tables: Vec<Uuid>,
    told: Vec<(String, String)>,
}

fn reports_with(world: &World, tag_values: usize) -> Reports {
    let settings = Settings::from_layers(None, []).unwrap().reports;
    let zones = ["UTC", "Asia/Tokyo"].map(|zone| zone.parse().unwrap()).to_vec();
    let records = world.matchmaker.engine().records.clone();
    Reports::of(records, ReportSettings { zones, tag_values, ..settings }).unwrap()
}

fn reports_of(world: &World) -> Reports {
    reports_with(world, 5000)
}

/// One experiment on all leads, and one on the leads of a campaign.
fn experiment(world: &World) {
    let settings = Settings::from_layers(None, []).unwrap();
    let all =
        "[[variants]]\nname = 'a'\npercent = 40\n[[variants]]\nname = 'b'\npercent = 30\nsecond_look = false";
    let some = "tags = { campaign = ['spring'] }\n[[variants]]\nname = 'c'\npercent = 50\ndeadline = '1s'";
    let rules = Experiments::from_texts(&[("all", all), ("some", some)], &settings).unwrap();
    let engine = world.matchmaker.engine();
    let old = engine.configuration();
    let clients = old.clients.opened(&old.book).unwrap();
    let ids = &engine.records.templates.ids;
    engine.configure(Configuration::new(Arc::clone(&old.book), clients, old.rules.clone(), rules, ids));
}

impl Story {
    async fn begin() -> Self {
        let world = World::of(&partners()).await;
        experiment(&world);
        Self { reports: reports_of(&world), world, tables: Vec::new(), told: Vec::new() }
    }

    fn store(&self) -> &Store {
        &self.world.matchmaker.engine().records.store
    }

    async fn restart(self) -> Self {
        let Self { world, reports, tables, told } = self;
        drop(reports);
        world.matchmaker.stop_all().await;
        // The actors must be gone before the store is opened again.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let world = world.crash(&partners()).await;
        experiment(&world);
        recover(&world.matchmaker).await;
        Self { reports: reports_of(&world), world, tables, told }
    }

    async fn go_on(mut self, deed: Deed) -> Self {
        match deed {
            Deed::Submit { company, test, products, state, tags } => {
                let lead = lead(&products, state, &tags);
                self.submit(COMPANIES[company], test, lead).await;
            }
            Deed::Click { table, number } => self.click(table, number).await,
            Deed::Report { table, number, funded, payout, days_ago } => {
                if let Some(offer) = self.offer(table, number) {
                    let event_type =
                        if funded { PartnerEventType::Funded } else { PartnerEventType::Applied };
                    self.report(offer, event_type, payout, days_ago).await;
                }
            }
            Deed::Revoke { report: nth } => {
                if !self.told.is_empty() {
                    let (partner, transaction) = self.told[nth % self.told.len()].clone();
                    let engine = self.world.matchmaker.engine();
                    report(engine, &partner, &PartnerReport::Revocation(transaction)).await.unwrap();
                }
            }
            Deed::Wait => tokio::time::sleep(Duration::from_millis(1_300)).await,
            Deed::Count => drop(self.reports.round(3).await.unwrap()),
            Deed::Write => self.reports.write().await.unwrap(),
            Deed::FailInWrite => {
                self.world.disk.set(true);
                let _ = self.reports.write().await;
                return self.restart().await;
            }
            Deed::Restart => return self.restart().await,
        }
        self
    }

    async fn submit(&mut self, company: Uuid, test: bool, lead: Lead) {
        let submission = Submission {
            company,
            test,
            look_back_minutes: None,
            bands: CreditBands::Current,
            newer_values: false,
            idempotency_key: None,
            lead,
            trace: None,
            permit: offerd_base::load_shedder::Permit::default(),
        };
        let shown = self.world.matchmaker.submit(submission, Until::Prompt).await.unwrap().answer;
        self.tables.push(uuid(&shown));
    }

    async fn click(&self, table: usize, number: u16) {
        let engine = self.world.matchmaker.engine();
        if let Some(offer) = self.offer(table, number) {
            let Click::Offer(opened) = click(engine, offer).unwrap() else { panic!("it is shown") };
            opened.record(engine).await.unwrap();
        }
    }

    /// An offer of one of the tables, if it shows that many.
    fn offer(&self, nth: usize, number: u16) -> Option<Uuid> {
        let table = *self.tables.get(nth.checked_rem(self.tables.len())?)?;
        let engine = self.world.matchmaker.engine();
        let shown = reading::table(&engine.records, table).unwrap().unwrap();
        shown.offer(number).map(|_| engine.records.templates.ids.offer(table, number))
    }

    async fn report(
        &mut self,
        offer: Uuid,
        event_type: PartnerEventType,
        payout: Option<u32>,
        days_ago: i64,
    ) {
        let engine = self.world.matchmaker.engine();
        let (table, number) = reading::offer(&engine.records, offer).unwrap().unwrap();
        let table = reading::counted_table(&engine.records, table).unwrap().unwrap();
        let partner = table.shown(number).unwrap().0.key.clone();
        let transaction_id = format!("t{}", self.told.len());
        let event = PartnerEvent {
            transaction_id: transaction_id.clone(),
            event_type,
            reference: Reference { offer_uuid: Some(offer), ..Reference::default() },
            occurred_at: Some((Utc::now() - TimeDelta::days(days_ago)).into()),
            amount_in_cents: None,
            payout_in_cents: payout.map(|tenths| f64::from(tenths) / 10.0),
            reject_reason: None,
        };
        report(engine, &partner, &PartnerReport::Event(event)).await.unwrap();
        self.told.push((partner, transaction_id));
    }

    async fn finish(&self) {
        tokio::time::sleep(Duration::from_secs(20)).await;
        while self.reports.round(3).await.unwrap() {}
    }

    fn ask(&self, query: &str) -> Report {
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        self.reports.report(&self.reports.query(&pairs).unwrap()).unwrap()
    }
}

fn lead(products: &[&str], state: &str, campaigns: &[&str]) -> Lead {
    let mut lead = json!({
        "productTypes": products,
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"},
        "clientTags": {"campaign": campaigns, "affiliate": ["north"], "other": ["x"]},
    });
    if !state.is_empty() {
        lead["personalInformation"] = json!({"state": state});
    }
    Lead::read(lead.to_string().as_bytes()).unwrap()
}

/// A countable fact: its values in each dimension by name, and its figure and amount.
#[derive(Debug, Clone)]
struct Fact {
    company: Uuid,
    test: bool,
    at: i64,
    values: BTreeMap<&'static str, BTreeSet<String>>,
    figure: Figure,
    count: i64,
    /// Its identity, so that it counts once even if it appears for several seats.
    id: usize,
    /// Whether it counts in rows by partner or sub-type, or only there.
    by_partner: Option<bool>,
}

/// The facts in the records, each read on its own.
fn facts(story: &Story) -> Vec<Fact> {
    let store = story.store();
    let mut facts = Vec::new();
    let leads: HashMap<Uuid, LeadRecord> = store
        .scan(Tree::Leads, [])
        .map(|record| codec::decode_json(&record.unwrap().1).unwrap())
        .map(|record: LeadRecord| (record.uuid, record))
        .collect();
    of_leads(&leads, &mut facts);
    of_tables(story, &leads, &mut facts);
    of_tables_without(story, &leads, &mut facts);
    of_events(story, &leads, &mut facts);
    facts
}

fn set<T: ToString>(values: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    let set: BTreeSet<String> = values.into_iter().map(|value| value.to_string()).collect();
    if set.is_empty() { BTreeSet::from(["(none)".to_owned()]) } else { set }
}

fn of_lead(record: &LeadRecord) -> BTreeMap<&'static str, BTreeSet<String>> {
    let tags = record.lead.client_tags.as_ref().unwrap();
    let person = record.lead.personal_information.as_ref();
    BTreeMap::from([
        ("rating", set(["good"])),
        ("state", set(person.and_then(|person| person.state))),
        ("campaign", set(&tags.0["campaign"])),
        ("affiliate", set(["north"])),
        // A lead in no experiment is in no row.
        (
            "experiment",
            record.experiments.iter().map(|(rule, variant)| format!("{rule}/{variant}")).collect(),
        ),
    ])
}

fn of_leads(leads: &HashMap<Uuid, LeadRecord>, facts: &mut Vec<Fact>) {
    for record in leads.values() {
        let values = of_asked(record);
        facts.push(Fact {
            company: record.company,
            test: record.test,
            at: record.created_at,
            values,
            figure: Figure::Leads,
            count: 1,
            id: facts.len(),
            by_partner: Some(false),
        });
    }
}

/// Leads whose table shows no offer, and the seats that were asked for.
fn of_tables_without(story: &Story, leads: &HashMap<Uuid, LeadRecord>, facts: &mut Vec<Fact>) {
    let records = &story.world.matchmaker.engine().records;
    for (_, bytes) in story.store().scan(Tree::RateTables, []).map(Result::unwrap) {
        let head: TableHead = codec::decode(&bytes).unwrap();
        let table = reading::table(records, head.uuid).unwrap().unwrap();
        if table.shown().next().is_some() {
            continue;
        }
        let record = &leads[&head.lead];
        let mut fact = Fact {
            company: head.company,
            test: head.test,
            at: record.created_at,
            values: of_asked(record),
            figure: Figure::WithoutOffers,
            count: 1,
            id: facts.len(),
            by_partner: Some(false),
        };
        facts.push(fact.clone());
        for seat in concerned(records, head.uuid) {
            fact.by_partner = Some(true);
            fact.values.insert("product", set([seat.product_type]));
            fact.values.insert("partner", set([&seat.key]));
            fact.values.insert("subType", set(&seat.sub_types));
            facts.push(fact.clone());
        }
    }
}

/// The seats that a table's lead was for: second-look ones only where they were asked.
fn concerned(records: &Records, table: Uuid) -> Vec<Arc<offerd_partners::RecordedSeat>> {
    let answers: Vec<_> = reading::answers(&records.store, table).flat_map(Result::unwrap).collect();
    let was_asked = |at| answers.iter().any(|answer| answer.seat == at && answer.outcome.was_asked());
    let table = reading::table(records, table).unwrap().unwrap();
    let seats = (0..).zip(table.seats());
    seats.filter(|(at, seat)| !seat.second_look || was_asked(*at)).map(|(_, seat)| Arc::clone(seat)).collect()
}

/// What names an offer in reports, by its quote.
fn named(records: &Records, seat: &offerd_partners::RecordedSeat, quote: &offerd_partners::Quote) -> String {
    format!("{}/{}", seat.key, records.templates.offer_name(quote.text).split('/').next().unwrap())
}

fn of_asked(record: &LeadRecord) -> BTreeMap<&'static str, BTreeSet<String>> {
    let products = offerd_model::ProductType::ALL.iter();
    let mut values = of_lead(record);
    values.insert("product", set(products.filter(|product| record.lead.asks_for(**product))));
    values
}

fn of_tables(story: &Story, leads: &HashMap<Uuid, LeadRecord>, facts: &mut Vec<Fact>) {
    let records = &story.world.matchmaker.engine().records;
    for (_, bytes) in story.store().scan(Tree::RateTables, []).map(Result::unwrap) {
        let head: TableHead = codec::decode(&bytes).unwrap();
        let table = reading::table(records, head.uuid).unwrap().unwrap();
        let record = &leads[&head.lead];
        let id = facts.len();
        let mut note =
            |seat: &offerd_partners::RecordedSeat, subs: BTreeSet<String>, offer, figure, by_partner| {
                let mut values = of_lead(record);
                values.insert("offer", Option::into_iter(offer).collect());
                values.insert("product", set([seat.product_type]));
                values.insert("partner", set([&seat.key]));
                values.insert("subType", subs);
                let at = if figure == Figure::Leads { record.created_at } else { head.created_at };
                let id = if figure == Figure::Leads { id } else { facts.len() };
                let (company, test) = (head.company, head.test);
                facts.push(Fact { company, test, at, values, figure, count: 1, id, by_partner });
            };
        for seat in concerned(records, head.uuid) {
            note(&seat, set(&seat.sub_types), None, Figure::Leads, Some(true));
        }
        for answer in reading::answers(&records.store, head.uuid).flat_map(Result::unwrap) {
            let seat = &table.seats()[usize::from(answer.seat)];
            if answer.outcome.was_asked() {
                note(seat, set(&seat.sub_types), None, Figure::Asks, None);
            }
            for quote in answer.outcome.quotes() {
                let sub_type = set(records.templates.of(quote).unwrap().sub_type);
                note(seat, sub_type, Some(named(records, seat, quote)), Figure::Offers, None);
            }
        }
        for (seat, quote) in table.shown() {
            let sub_type = set(records.templates.of(quote).unwrap().sub_type);
            note(seat, sub_type, Some(named(records, seat, quote)), Figure::Shown, None);
        }
    }
}

fn offer_named(records: &Records, offer: Uuid) -> String {
    let (table, number) = reading::offer(records, offer).unwrap().unwrap();
    let table = reading::table(records, table).unwrap().unwrap();
    let (seat, quote) = table.offer(number).unwrap();
    named(records, seat, quote)
}

/// The record of the action names its partner; the count goes by the institution.
fn partner_named(store: &Store, lead: Uuid, cause: Uuid) -> BTreeSet<String> {
    let action = store.get(Tree::LeadActions, [&lead.as_bytes()[..], cause.as_bytes()].concat()).unwrap();
    let action: LeadAction = codec::decode_json(&action.unwrap()).unwrap();
    set(action.originator_key)
}

fn of_events(story: &Story, leads: &HashMap<Uuid, LeadRecord>, facts: &mut Vec<Fact>) {
    let (records, store) = (&story.world.matchmaker.engine().records, story.store());
    let mut sub_types: HashMap<Uuid, BTreeSet<String>> = HashMap::new();
    let mut offers: HashMap<Uuid, BTreeSet<String>> = HashMap::new();
    let offer = |offer: Uuid| offer_named(records, offer);
    let partner = |lead: Uuid, cause: Uuid| partner_named(store, lead, cause);
    for (key, bytes) in store.scan(Tree::LeadEvents, []).map(Result::unwrap) {
        let company = FeedKey::parse(&key).unwrap().company;
        for happening in codec::decode::<Vec<Happening>>(&bytes).unwrap() {
            let figure = match happening.event_type {
                EventType::OfferClicked => Figure::Clicks,
                EventType::Applied => Figure::Applied,
                EventType::Funded => Figure::Funded,
                _ => continue,
            };
            let cause = happening.cause.unwrap();
            sub_types.insert(cause, set(happening.details.product_sub_type));
            offers.insert(cause, set(happening.details.offer.map(offer)));
            let mut values = of_lead(&leads[&happening.lead]);
            values.insert("offer", offers[&cause].clone());
            values.insert("product", set(happening.product_type));
            values.insert("subType", set(happening.details.product_sub_type));
            values.insert("partner", partner(happening.lead, cause));
            let is_taken_back = happening.taken_back_at.is_some();
            let count = if is_taken_back { -1 } else { 1 };
            let at = happening.at.max(happening.lead_created_at);
            let (test, id) = (happening.test, facts.len());
            let fact = Fact { company, test, at, values, figure, count, id, by_partner: None };
            if is_taken_back && figure == Figure::Funded {
                facts.push(Fact { figure: Figure::TakenBack, count: 1, ..fact.clone() });
            }
            facts.push(fact);
        }
    }
    for (key, bytes) in store.scan(Tree::LeadPayouts, []).map(Result::unwrap) {
        let company = FeedKey::parse(&key).unwrap().company;
        for payout in codec::decode::<Vec<PayoutRecord>>(&bytes).unwrap() {
            let at = payout.counts_at();
            let mut values = of_lead(&leads[&payout.lead]);
            values.insert("product", set(payout.product_type));
            values.insert("subType", sub_types[&payout.uuid].clone());
            values.insert("offer", offers[&payout.uuid].clone());
            values.insert("partner", partner(payout.lead, payout.uuid));
            let count = (payout.cents * 1000.0).round() as i64;
            let id = facts.len();
            let fact = Fact {
                company,
                test: false,
                at,
                values,
                figure: Figure::Payouts,
                count,
                id,
                by_partner: None,
            };
            if payout.takes_back.is_some() {
                facts.push(Fact { figure: Figure::PayoutsTakenBack, count: -count, ..fact.clone() });
            }
            facts.push(fact);
        }
    }
}

/// The number of figures that are not ratios.
const COUNTED: usize = 11;

/// The rows that a report should have by the facts, without ratios.
fn recounted(
    facts: &[Fact],
    by: &[&'static str],
    (zone, first, last): (chrono_tz::Tz, NaiveDate, NaiveDate),
) -> BTreeMap<Vec<String>, [i64; COUNTED]> {
    let is_by_partner = by.iter().any(|by| ["partner", "subType"].contains(by));
    let mut rows: BTreeMap<Vec<String>, [i64; COUNTED]> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for fact in facts {
        let day = DateTime::from_timestamp_millis(fact.at).unwrap().with_timezone(&zone).date_naive();
        let is_meant = fact.by_partner.is_none_or(|only| only == is_by_partner);
        if fact.test || !is_meant || day < first || day > last {
            continue;
        }
        let of = |by: &&'static str| match *by {
            "day" => set([day]),
            "week" => set([day.format("%G-W%V")]),
            "month" => set([day.format("%Y-%m")]),
            "company" => set([fact.company]),
            stored => fact.values.get(stored).cloned().unwrap_or_default(),
        };
        let mut keys: Vec<Vec<String>> = vec![Vec::new()];
        for values in by.iter().map(of) {
            let longer = |key: &Vec<String>| {
                values
                    .iter()
                    .map(|value| [&key[..], std::slice::from_ref(value)].concat())
                    .collect::<Vec<_>>()
            };
            keys = keys.iter().flat_map(longer).collect();
        }
        for key in keys {
            if counted.insert((fact.id, fact.figure.name(), key.clone())) {
                rows.entry(key).or_default()[fact.figure as usize] += fact.count;
            }
        }
    }
    rows.retain(|_, figures| *figures != [0; COUNTED]);
    rows
}

fn told(report: &Report) -> BTreeMap<Vec<String>, [i64; COUNTED]> {
    let figures = |row: &super::report::Row| -> [i64; COUNTED] {
        let of = |figure: Figure| row.figures.get(figure).unwrap_or(0.0);
        let mut figures = [0; COUNTED];
        for (nth, figure) in Figure::ALL.into_iter().take(COUNTED).enumerate() {
            let factor = if figure.is_dollars() { 100_000.0 } else { 1.0 };
            figures[nth] = (of(figure) * factor).round() as i64;
        }
        figures
    };
    report.rows.iter().map(|row| (row.by.clone(), figures(row))).collect()
}

const BY: [&[&str]; 19] = [
    &["offer"],
    &["day", "offer"],
    &["offer", "partner"],
    &["product", "offer"],
    &["week", "partner"],
    &["experiment"],
    &["campaign", "experiment"],
    &["company"],
    &["day"],
    &["month", "partner"],
    &["partner"],
    &["product"],
    &["product", "subType"],
    &["partner", "campaign"],
    &["campaign", "state"],
    &["day", "campaign"],
    &["company", "partner"],
    &["rating", "affiliate"],
    &["subType", "state"],
];

/// Every report that is tried matches the records.
fn compared(story: &Story) -> Result<(), TestCaseError> {
    let facts = facts(story);
    let today = Utc::now().date_naive();
    for by in BY {
        for (zone, days) in [("UTC", 0), ("UTC", 12), ("UTC", 70), ("Asia/Tokyo", 45)] {
            // One day more: it may be tomorrow in Tokyo already.
            let (first, last) = (today - TimeDelta::days(days), today + TimeDelta::days(1));
            let report = story.ask(&format!("from={first}&to={last}&by={}&zone={zone}", by.join(",")));
            let expected = recounted(&facts, by, (zone.parse().unwrap(), first, last));
            prop_assert_eq!(told(&report), expected, "{:?} {} {}", by, zone, days);
        }
    }
    ["product", "company", "day", "month"].iter().try_for_each(|by| tables_compared(story, by))
}

/// Counts of rate tables, and of those with an offer, match the records: by the product of each of their
/// seats or offers.
fn tables_compared(story: &Story, by: &str) -> Result<(), TestCaseError> {
    let records = &story.world.matchmaker.engine().records;
    let (mut rows, mut all): (BTreeMap<String, [i64; 2]>, i64) = Default::default();
    for (_, bytes) in story.store().scan(Tree::RateTables, []).map(Result::unwrap) {
        let head: TableHead = codec::decode(&bytes).unwrap();
        if head.test {
            continue;
        }
        let table = reading::table(records, head.uuid).unwrap().unwrap();
        let day = DateTime::from_timestamp_millis(head.created_at).unwrap().date_naive();
        let values = |products: BTreeSet<String>| match by {
            "product" => products,
            "company" => set([head.company]),
            "day" => set([day]),
            _ => set([day.format("%Y-%m")]),
        };
        let places = table.seats().iter().map(|seat| seat.product_type.to_string()).collect();
        values(places).into_iter().for_each(|value| rows.entry(value).or_default()[0] += 1);
        let shown: BTreeSet<String> = table.shown().map(|(seat, _)| seat.product_type.to_string()).collect();
        if !shown.is_empty() {
            values(shown).into_iter().for_each(|value| rows.entry(value).or_default()[1] += 1);
        }
        all += 1;
    }
    let report = story.ask(&format!("from=2020-01-01&by={by}"));
    let told =
        |row: &super::report::Row| (row.by[0].clone(), [row.figures.rate_tables, row.figures.with_offers]);
    let told: BTreeMap<_, _> =
        report.rows.iter().map(told).filter(|(_, counted)| *counted != [0, 0]).collect();
    prop_assert_eq!(told, rows, "{}", by);
    prop_assert_eq!(report.total.rate_tables, all);
    Ok(())
}

/// Offers add up to their partners, of which each offer names its own.
fn offers_add_up(story: &Story) -> Result<(), TestCaseError> {
    let sums = |by: &str, place: usize| {
        let mut sums: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for (by, figures) in told(&story.ask(&format!("from=2020-01-01&by={by}"))) {
            let of_offers = Figure::ALL.into_iter().zip(figures).filter(|(figure, _)| figure.is_of_offers());
            let figures: Vec<i64> = of_offers.map(|(_, count)| count).collect();
            let sum = sums.entry(by[place].clone()).or_insert_with(|| vec![0; figures.len()]);
            sum.iter_mut().zip(figures).for_each(|(sum, more)| *sum += more);
        }
        sums.retain(|_, figures| figures.iter().any(|count| *count != 0));
        sums
    };
    let of_partners = sums("partner", 0);
    prop_assert_eq!(&sums("offer,partner", 1), &of_partners);
    let all = |sums: &BTreeMap<String, Vec<i64>>| -> Vec<i64> {
        let columns = sums.values().next().map_or(0, Vec::len);
        (0..columns).map(|nth| sums.values().map(|figures| figures[nth]).sum()).collect()
    };
    let of_offers = sums("offer", 0);
    prop_assert_eq!(all(&of_offers), all(&of_partners));
    let own =
        |(offer, figures): (&String, &Vec<i64>)| Some((offer.split_once('/')?.0.to_owned(), figures.clone()));
    let mut by_name: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (partner, figures) in of_offers.iter().filter_map(own) {
        let sum = by_name.entry(partner).or_insert_with(|| vec![0; figures.len()]);
        sum.iter_mut().zip(figures).for_each(|(sum, more)| *sum += more);
    }
    prop_assert_eq!(by_name, of_partners);
    Ok(())
}

/// A comparison of variants, which reads the records itself, adds up to the report.
fn adds_up(story: &Story) -> Result<(), TestCaseError> {
    let records = &story.world.matchmaker.engine().records;
    let mut reading = RunningComparison::begin(records, "all", ["b", "a"].into_iter(), (0, false), 1_000);
    while reading.step() {}
    let report = story.ask("from=2020-01-01&by=experiment");
    let mut few = RunningComparison::begin(records, "all", [].into_iter(), (0, false), 1);
    while few.step() {}
    let few = few.comparison();
    let read: u64 = few.variants.iter().map(|variant| variant.leads).sum();
    prop_assert_eq!((read, few.cut), (report.total.leads.min(1) as u64, report.total.leads > 1));
    for variant in reading.comparison().variants {
        let label = format!("all/{}", variant.variant);
        let row = report.rows.iter().find(|row| row.by == [label.clone()]);
        let figure = |figure| row.and_then(|row| row.figures.get(figure)).unwrap_or(0.0);
        let total = |of| variant.figures.iter().find(|figure| figure.of == of).unwrap().total;
        prop_assert_eq!(variant.leads as f64, figure(Figure::Leads), "{}", label);
        prop_assert_eq!(total(Outcome::Clicks), figure(Figure::Clicks), "{}", label);
        prop_assert!((total(Outcome::Earnings) - figure(Figure::Payouts)).abs() < 0.006, "{}", label);
        prop_assert!(total(Outcome::Funded) <= figure(Figure::Funded).max(0.0), "{}", label);
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::cases::cases(6))]

    #[test]
    fn reports_equal_what_all_records_say_wherever_the_count_was_stopped(
        deeds in prop::collection::vec(any_deed(), 1..40),
    ) {
        paused(async {
            let mut story = Story::begin().await;
            for deed in deeds {
                story = story.go_on(deed).await;
            }
            story.finish().await;
            prop_assert_eq!(story.ask("").uncounted_from, None);
            compared(&story)?;
            adds_up(&story)?;
            offers_add_up(&story)?;
            story.reports.write().await.unwrap();
            compared(&story)?;
            let story = story.restart().await;
            compared(&story)
        })?;
    }
}

async fn rebuilt(reports: &Reports) {
    let mut rebuild = Rebuild::begin(reports.clone(), false).await.unwrap();
    while rebuild.step().await.unwrap().is_some() {}
}

#[test]
fn a_count_that_is_made_anew_says_the_same() {
    paused(async {
        let mut story = Story::begin().await;
        for nth in 0..12_usize {
            let company = nth % 2;
            let tags = vec![if nth % 3 == 0 { "spring" } else { "summer" }];
            story = story
                .go_on(Deed::Submit { company, test: false, products: vec!["loan"], state: "CA", tags })
                .await
                .go_on(Deed::Click { table: nth, number: 1 })
                .await
                .go_on(Deed::Report { table: nth, number: 1, funded: true, payout: Some(55), days_ago: 35 })
                .await
                .go_on(Deed::Count)
                .await
                .go_on(Deed::Write)
                .await;
        }
        story = story.go_on(Deed::Revoke { report: 3 }).await;
        story.finish().await;
        let all = |story: &Story| -> Vec<Report> {
            let asked = BY.iter().map(|by| format!("from=2020-01-01&by={}&compare=true", by.join(",")));
            asked.map(|query| story.ask(&query)).collect()
        };
        let counted = all(&story);
        assert_eq!(counted[0].total.leads, 12);
        assert_eq!(counted[0].total.funded, Some(11));
        assert_eq!(
            (counted[0].total.taken_back, counted[0].total.payouts_taken_back),
            (Some(1), Some(0.055))
        );
        rebuilt(&story.reports).await;
        assert_eq!(all(&story), counted);
        let story = story.restart().await;
        assert_eq!(all(&story), counted, "it is in force after a start");
    });
}

#[test]
fn what_a_report_earns_counts_where_it_happened_and_is_taken_back_from_there() {
    paused(async {
        let submit =
            Deed::Submit { company: 0, test: false, products: vec!["loan"], state: "CA", tags: vec![] };
        let mut story = Story::begin().await.go_on(submit).await;
        story.finish().await;
        let offer = story.offer(0, 1).unwrap();
        let steps = [PartnerEventType::Funded, PartnerEventType::Rejected, PartnerEventType::Submitted];
        for (event_type, payout) in steps.into_iter().zip([50, 70, 90]) {
            story.report(offer, event_type, Some(payout), 35).await;
        }
        story.finish().await;
        let paid = |story: &Story, by: &str| -> Vec<(String, Option<i64>, f64)> {
            let rows = story.ask(&format!("from=2020-01-01&by={by}")).rows;
            let figures = rows
                .iter()
                .map(|row| (row.by[0].clone(), row.figures.funded, row.figures.payouts.unwrap_or_default()));
            figures.filter(|(_, funded, payouts)| *payouts != 0.0 || *funded > Some(0)).collect()
        };
        // The partner's clock is wrong: no event counts before its lead was created.
        let created = story.ask("from=2020-01-01&by=day").rows;
        let created = created.iter().find(|row| row.figures.leads > 0).unwrap().by[0].clone();
        assert_eq!(paid(&story, "day"), [(created, Some(1), 0.21)]);
        let of_partner = paid(&story, "partner");
        assert!(of_partner.len() == 1 && of_partner[0].0.starts_with('p'), "{of_partner:?}");

        for report in 0..3 {
            story = story.go_on(Deed::Revoke { report }).await;
        }
        story.finish().await;
        for by in ["day", "partner"] {
            assert_eq!(paid(&story, by), [], "by {by}");
        }
        rebuilt(&story.reports).await;
        assert_eq!(paid(&story, "partner"), []);
    });
}

#[test]
fn what_is_asked_for_is_told() {
    paused(async {
        let mut story = Story::begin().await;
        story.reports = reports_with(&story.world, 2);
        for tags in [vec!["spring"], vec!["summer", "spring"], vec!["autumn"]] {
            let submit = Deed::Submit { company: 0, test: false, products: vec!["loan"], state: "TX", tags };
            story = story.go_on(submit).await;
        }
        story = story.go_on(Deed::Click { table: 0, number: 1 }).await;
        story.finish().await;

        // Two values of a tag count separately, the others together. A lead with two values counts for both,
        // and once in the whole.
        let report = story.ask("by=campaign&sort=campaign");
        let rows: Vec<(&str, i64)> =
            report.rows.iter().map(|row| (row.by[0].as_str(), row.figures.leads)).collect();
        assert_eq!(rows, [("(other)", 1), ("spring", 2), ("summer", 1)]);
        assert_eq!((report.total.leads, report.rows_left_out), (3, 0));

        // No partner has reported anything, which differs from zero.
        let report = story.ask("by=partner&sort=-clicks&limit=1&where=state%3DTX&compare=true");
        assert_eq!((report.rows.len(), report.rows_left_out), (1, 1));
        assert_eq!((report.rows[0].by[0].as_str(), report.rows[0].figures.clicks), ("p0", 1));
        assert_eq!((report.rows[0].figures.applied, report.total.payouts), (None, None));
        assert_eq!(report.total_before.unwrap().leads, 0);
        story.report(story.offer(0, 1).unwrap(), PartnerEventType::Applied, None, 0).await;
        story.finish().await;
        let report = story.ask("by=partner&sort=partner");
        let applied: Vec<_> =
            report.rows.iter().map(|row| (row.by[0].as_str(), row.figures.applied)).collect();
        assert_eq!(applied, [("p0", Some(1)), ("p1", None)]);
        for (filter, known) in [("company%3Dnobody", "known: "), ("state%3DCA", "`CA`; known: TX")] {
            let query = story.reports.query(&[("where".to_owned(), filter.replace("%3D", "="))]).unwrap();
            let Err(ReportFault::Query(faults)) = story.reports.report(&query) else { panic!("{filter}") };
            assert!(faults[0].1.contains(known), "{faults:?}");
        }
    });
}

#[test]
fn a_lead_that_is_erased_before_it_is_counted_counts_by_its_tags_and_in_no_state() {
    paused(async {
        let submit =
            |state| Deed::Submit { company: 0, test: false, products: vec!["loan"], state, tags: vec!["a"] };
        let story = Story::begin().await.go_on(submit("CA")).await.go_on(submit("TX")).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let engine = story.world.matchmaker.engine();
        let head = reading::head(story.store(), story.tables[0]).unwrap().unwrap();
        crate::persons::erasure::erase(engine, head.lead, &story.reports.rules.tags).await.unwrap();
        story.finish().await;
        let rows = story.ask("by=state,campaign&sort=state").rows;
        let rows: Vec<_> = rows.iter().map(|row| (row.by.join(" "), row.figures.leads)).collect();
        assert_eq!(rows, [("(unknown) a".to_owned(), 1), ("TX a".to_owned(), 1)]);
    });
}

/// Also after an erasure partners report what is owed, and take back what is not.
#[test]
fn a_count_that_is_made_anew_has_of_erased_leads_all_but_rating_and_state() {
    paused(async {
        let mut story = Story::begin().await;
        for nth in 0..3 {
            let tags = vec!["spring"];
            story = story
                .go_on(Deed::Submit { company: 0, test: false, products: vec!["loan"], state: "CA", tags })
                .await
                .go_on(Deed::Click { table: nth, number: 1 })
                .await
                .go_on(Deed::Report { table: nth, number: 1, funded: true, payout: Some(55), days_ago: 0 })
                .await;
        }
        story.finish().await;
        let by = ["company", "partner", "day", "product,campaign", "partner,campaign", "subType", "offer"];
        let counted = |story: &Story| by.map(|by| story.ask(&format!("by={by}")).rows);
        let (before, late) = (counted(&story), story.offer(0, 1).unwrap());
        let engine = story.world.matchmaker.engine();
        for nth in 0..2 {
            let head = reading::head(story.store(), story.tables[nth]).unwrap().unwrap();
            let tags = &story.reports.rules.tags;
            crate::persons::erasure::erase(engine, head.lead, tags).await.unwrap();
        }
        assert_eq!(counted(&story), before);
        rebuilt(&story.reports).await;
        assert_eq!(counted(&story), before);
        let states = story.ask("by=state&sort=state").rows;
        let states: Vec<_> = states.iter().map(|row| (&*row.by[0], row.figures.leads)).collect();
        assert_eq!(states, [("(unknown)", 2), ("CA", 1)]);

        story.report(late, PartnerEventType::Applied, Some(7), 0).await;
        story = story.go_on(Deed::Revoke { report: 1 }).await;
        story.finish().await;
        let after = counted(&story);
        let payouts = |rows: &[Row]| rows.iter().map(|row| row.figures.payouts.unwrap_or(0.0)).sum::<f64>();
        let less = payouts(&before[4]) - payouts(&after[4]);
        assert!((less - (0.055 - 0.007)).abs() < 1e-9, "{less}");
        rebuilt(&story.reports).await;
        assert_eq!(counted(&story), after);
    });
}

#[test]
fn offers_in_force_have_a_row_each_and_a_position_where_they_are_shown() {
    paused(async {
        let mut story = Story::begin().await;
        for products in [vec!["loan"], vec!["loan", "savings"]] {
            let submit =
                Deed::Submit { company: 0, test: false, products, state: "TX", tags: vec!["spring"] };
            story = story.go_on(submit).await;
        }
        story = story.go_on(Deed::Click { table: 0, number: 1 }).await;
        story.finish().await;
        let (records, mut places) = (&story.world.matchmaker.engine().records, BTreeMap::new());
        for table in &story.tables {
            for (_, offers) in reading::table(records, *table).unwrap().unwrap().arrays() {
                for (place, offer) in (1..).zip(offers) {
                    let table = reading::counted_table(records, *table).unwrap().unwrap();
                    let label = named(records, table.shown(offer.number).unwrap().0, &offer.quote);
                    places.entry(label).or_insert_with(Vec::new).push(f64::from(place));
                }
            }
        }
        let pairs =
            [("by", "offer"), ("sort", "-shown")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut query = story.reports.query(&pairs).unwrap();
        query
            .in_force
            .extend(["p0", "p9"].map(|partner| OfferInForce::of(partner, "never", ProductType::Loan, None)));
        let report = story.reports.report(&query).unwrap();
        let shown: BTreeMap<String, (i64, Option<f64>)> = report
            .rows
            .iter()
            .map(|row| (row.by[0].clone(), (row.figures.shown, row.figures.position)))
            .collect();
        let mut expected: BTreeMap<String, (i64, Option<f64>)> = BTreeMap::new();
        for (label, places) in places {
            let average = places.iter().sum::<f64>() / places.len() as f64;
            expected.insert(label, (places.len() as i64, Some(average)));
        }
        expected.extend(["p0/never", "p9/never"].map(|offer| (offer.to_owned(), (0, None))));
        assert_eq!(shown, expected);
        query.filters.push((Dimension::named("partner", &[]).unwrap(), "p0".to_owned()));
        let of_one = story.reports.report(&query).unwrap();
        assert!(of_one.rows.iter().any(|row| row.by == ["p0/never"]), "{of_one:?}");
        assert!(of_one.rows.iter().all(|row| row.by[0].starts_with("p0/")), "{of_one:?}");

        // An average needs positions, which are counted by what an offer says and by time only.
        let average = |by: &str| story.ask(&format!("by={by}")).rows[0].figures.position;
        assert_eq!(["partner", "day", "company"].map(average).map(|at| at.is_some()), [true; 3]);
        assert_eq!(average("campaign"), None);
    });
}

/// One count lost its state record, in the other the record is damaged.
#[test]
fn a_count_that_has_lost_how_far_it_had_come_is_made_anew() {
    use offerd_store::Commit;
    let removed = |commit: Commit, key: Vec<u8>| commit.remove(Tree::Reports, key);
    let broken = |commit: Commit, key: Vec<u8>| commit.put(Tree::Reports, key, *b"\xff");
    for (begins, spoil) in [
        (&b"c"[..], &removed as &dyn Fn(Commit, Vec<u8>) -> Commit),
        (&b"c"[..], &broken),
        (&b""[..], &broken),
    ] {
        paused(async {
            let submit = Deed::Submit {
                company: 0,
                test: false,
                products: vec!["loan"],
                state: "CA",
                tags: vec!["a"],
            };
            let mut story = Story::begin().await.go_on(submit.clone()).await;
            story.finish().await;
            story.reports.write().await.unwrap();
            for (key, _) in story.store().scan(Tree::Reports, begins).map(Result::unwrap).collect::<Vec<_>>()
            {
                story.store().commit(spoil(Commit::new(), key)).await.unwrap();
            }
            for _ in 0..2 {
                story = story.restart().await.go_on(submit.clone()).await;
                story.finish().await;
                story.reports.write().await.unwrap();
            }
            assert_eq!(story.ask("by=campaign").rows[0].figures.leads, 3);
        });
    }
}

#[test]
fn parts_are_merged_and_a_second_writer_counts_nothing_twice() {
    paused(async {
        let mut story = Story::begin().await;
        let other = reports_of(&story.world);
        for nth in 0..20 {
            let submit = Deed::Submit {
                company: 0,
                test: false,
                products: vec!["loan"],
                state: "CA",
                tags: vec!["a"],
            };
            story = story.go_on(submit).await.go_on(Deed::Count).await.go_on(Deed::Write).await;
            if nth == 9 {
                while other.round(3).await.unwrap() {}
                assert!(matches!(other.write().await, Err(CommitError::Guard { .. })));
            }
        }
        story.finish().await;
        story.reports.write().await.unwrap();
        assert_eq!(story.ask("by=campaign").rows[0].figures.leads, 20);
        let parts = story.store().scan(Tree::Reports, b"b").count();
        // Days and months of two zones.
        assert!(parts <= 4 * 8, "{parts}");
    });
}

fn happened(store: &Store, times: usize) {
    let now = Utc::now().timestamp_millis();
    for _ in 0..times {
        let happening = Happening {
            event_type: EventType::LeadCreated,
            lead: offerd_base::ids::random(),
            lead_created_at: now,
            at: now,
            institution: None,
            product_type: None,
            amount_in_cents: None,
            test: false,
            cause: None,
            taken_back_at: None,
            details: HappeningDetails::default(),
        };
        let payload = codec::encode(&vec![happening]);
        store
            .commit(Commit::new().append(Tree::LeadEvents, COMPANY, payload))
            .now_or_never()
            .unwrap()
            .unwrap();
    }
}

#[test]
fn after_a_crash_totals_are_told_when_all_is_counted_again() {
    paused(async {
        let mut story = Story::begin().await;
        story.submit(COMPANIES[0], false, lead(&["loan"], "CA", &[])).await;
        story.finish().await;
        let totals = |story: &Story| {
            let total = story.reports.totals(&story.reports.query(&[]).unwrap());
            total.and_then(|total| total.get(Figure::Leads))
        };
        assert_eq!(totals(&story), Some(1.0));
        let story = story.restart().await;
        assert_eq!(totals(&story), None, "nothing was written, so none of it is counted yet");
        story.finish().await;
        assert_eq!(totals(&story), Some(1.0));
    });
}

#[tokio::test]
async fn of_several_processes_the_one_that_leads_counts_and_all_tell_the_same() {
    let Some(nodes) = TestNodes::new() else { return };
    let stores = [nodes.first(), nodes.beside("second")];
    let settings = Settings::from_layers(None, []).unwrap().reports;
    let [leads, other] =
        stores.clone().map(|store| Reports::of(Records::of(store), settings.clone()).unwrap());
    let counted = |reports: &Reports| {
        let pairs = [("from".to_owned(), "2020-01-01".to_owned())];
        reports.report(&reports.query(&pairs).unwrap()).unwrap().total.leads
    };
    happened(&stores[0], 3);
    happened(&stores[1], 2);
    leads.until_it_counts().await;
    leads.round(64).await.unwrap();
    assert_eq!((counted(&leads), counted(&other)), (5, 0), "the other goes by what is written");
    leads.write().await.unwrap();
    other.write().await.unwrap();
    assert_eq!((counted(&leads), counted(&other)), (5, 5));

    happened(&stores[1], 1);
    leads.round(64).await.unwrap();
    rebuilt(&leads).await;
    assert_eq!((counted(&leads), counted(&other)), (6, 6), "counted anew it is another count");

    happened(&stores[1], 1);
    leads.round(64).await.unwrap();
    // It ends before it has written.
    stores[0].close().unwrap();
    TestNodes::lead(&stores[1]);
    other.until_it_counts().await;
    other.round(64).await.unwrap();
    assert_eq!(counted(&other), 7, "each lead once");
    assert!(leads.write().await.is_err());
}

fn made_up(rows: &[&str], before: Option<Figures>) -> Report {
    let day = NaiveDate::default();
    let figures = Figures { leads: 3, payouts: Some(1.5), ..Figures::default() };
    let row = |name: &&str| Row { by: vec![(*name).to_owned()], figures, before };
    Report {
        from: day,
        to: day,
        before: before.map(|_| (day, day)),
        zone: "UTC".to_owned(),
        test: false,
        by: vec!["campaign".to_owned()],
        filters: Vec::new(),
        rows: rows.iter().map(row).collect(),
        total: figures,
        total_before: None,
        rows_left_out: 0,
        uncounted_from: None,
    }
}

#[test]
fn what_is_missing_is_empty_and_no_value_is_a_formula() {
    let lines = "campaign,leads,withoutOffers,asks,offers,shown,clicks,applied,funded,takenBack,payouts,payoutsTakenBack,\
                 earningsPerClick,earningsPerLead,position\n\"'=1+1, \"\"x\"\"\",3,0,0,0,0,0,,,,1.5,,,,\n";
    assert_eq!(made_up(&["=1+1, \"x\""], None).sheet().csv().unwrap(), lines);
}

#[test]
fn a_file_is_read_by_column_with_nulls_where_figures_are_missing() {
    let sheet = made_up(&["a", "b"], Some(Figures::default())).sheet();
    let file = Bytes::from(sheet.parquet("report").unwrap());
    let reader = SerializedFileReader::new(file).unwrap();
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
    assert_eq!(names, sheet.columns.iter().map(|column| &column.name).collect::<Vec<_>>());
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!((rows.len(), rows[1].get_string(0).unwrap().as_str()), (2, "b"));
    assert_eq!((rows[0].get_long(1).unwrap(), rows[0].get_double(10).unwrap()), (3, 1.5));
    assert_eq!(rows[0].get_long(1 + 2 * Figure::ALL.len()).unwrap(), 3, "there are three more");
    assert!(rows[0].get_long(7).is_err(), "what was not reported is null");
}

#[test]
fn the_help_of_the_command_names_every_figure_in_order() {
    let help = include_str!("../../cli/help.txt").split_once("Figures are ").unwrap().1;
    let words: Vec<&str> = help.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let places = Figure::ALL.map(|figure| {
        let place = words.iter().position(|word| *word == figure.name());
        place.unwrap_or_else(|| panic!("`offerd report --help` does not name {}", figure.name()))
    });
    assert!(places.is_sorted(), "{places:?}");
}
