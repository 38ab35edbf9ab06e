//! The costs of one lead, inside the process: `cargo bench --bench engine`.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hyper::{HeaderMap, StatusCode};
use offerd::matching::limiter::Limiter;
use offerd::matching::rendering::render;
use offerd::matching::suppressions::{Digests, Suppressions};
use offerd::model::{AttributeKind, BaseUrl, CreditBands, Lead, SuppressionKind};
use offerd::partners::eligibility::{ConditionTest, EligibilityCondition};
use offerd::partners::facts::Subject;
use offerd::partners::http::{Answered, AskContext, AskProgress, MappingInput, Received, Secrets};
use offerd::partners::index::EligibilityIndex;
use offerd::partners::{Book, Facts, Fit, Seat};
use offerd::rate_table::outcome::Outcome;
use offerd::rate_table::record::{SeatOutcome, TableHead};
use offerd::rate_table::table::Table;
use offerd::records::Records;
use offerd::records::templates::Templates;
use offerd::store::suppressions::SuppressionLists;
use offerd::store::{Clock, Commit, Store, StoreOptions, Tree, codec};

const LEAD: &[u8] = include_bytes!("../tests/leads/personal_loan.json");

fn lead() -> Lead {
    Lead::read(LEAD).expect("the sample lead is good")
}

fn facts(lead: &Lead) -> Facts<'_> {
    Facts::new(lead, chrono::Utc::now(), CreditBands::Current)
}

/// Parses the sample lead, and the same bytes into an untyped value for comparison.
fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(LEAD.len() as u64));
    group.bench_function("lead", |bencher| bencher.iter(|| Lead::read(black_box(LEAD))));
    group.bench_function("untyped", |bencher| {
        bencher.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(LEAD)));
    });
    group.finish();
}

/// Conjunctions like those of partner files: product, state, rating, amount, age, income, consent; about 3 %
/// fit.
fn conjunctions(rows: usize) -> Vec<Vec<EligibilityCondition>> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let category = |path: &'static str| Subject::of(path);
    (0..rows)
        .map(|_| {
            let amount_min = draw(40) as f64 * 500.0;
            let income = draw(30) as f64 * 2500.0;
            let mask = |draw: &mut dyn FnMut(u64) -> u64| draw(u64::MAX) | draw(u64::MAX);
            vec![
                EligibilityCondition::or_missing(
                    category("productTypes"),
                    ConditionTest::AnyOf(1 << draw(7)),
                ),
                EligibilityCondition::new(
                    category("personalInformation.state"),
                    ConditionTest::Category(mask(&mut draw)),
                ),
                EligibilityCondition::new(
                    category("creditInformation.providedCreditRating"),
                    ConditionTest::Category(mask(&mut draw) & 63),
                ),
                EligibilityCondition::new(
                    category("loanInformation.loanAmount"),
                    ConditionTest::Range { min: amount_min, max: amount_min + 20_000.0 },
                ),
                EligibilityCondition::new(
                    category("age"),
                    ConditionTest::Range { min: 18.0 + draw(4) as f64, max: f64::INFINITY },
                ),
                EligibilityCondition::new(
                    category("financialInformation.annualIncome"),
                    ConditionTest::Range { min: income, max: f64::INFINITY },
                ),
                EligibilityCondition::new(
                    category("legalInformation.consentsToFcra"),
                    ConditionTest::Flag(true),
                ),
            ]
        })
        .collect()
}

/// One lead against many offers: the index, and a scan of all rules for comparison.
fn eligibility(criterion: &mut Criterion) {
    debug_assert!(matches!(Subject::of("age").kind(), AttributeKind::Number));
    let lead = lead();
    let facts = facts(&lead);
    let mut group = criterion.benchmark_group("eligibility");
    for offers in [1_000, 100_000] {
        let rows = conjunctions(offers);
        let index = EligibilityIndex::build(&rows);
        group.bench_function(format!("index/{offers}"), |bencher| {
            bencher.iter(|| {
                let mut found = 0_usize;
                index.search(black_box(&facts), |_| found += 1);
                found
            });
        });
        group.sample_size(20);
        group.bench_function(format!("walk/{offers}"), |bencher| {
            bencher.iter(|| {
                let fits = |conditions: &&Vec<EligibilityCondition>| {
                    conditions.iter().all(|condition| condition.met_by(&facts))
                };
                rows.iter().filter(fits).count()
            });
        });
    }
    group.finish();
}

/// The sample catalog's answers to the sample lead.
struct Answers {
    texts: Templates,
    head: Arc<TableHead>,
    fits: Vec<Fit>,
    answers: Vec<SeatOutcome>,
    _directory: tempfile::TempDir,
}

fn answers() -> Answers {
    let book = Book::load(Path::new("partners")).expect("the sample catalog is good");
    let lead = Lead { product_types: None, ..lead() };
    let facts = facts(&lead);
    let fits = book.fitting(&facts);
    let answers = fits.iter().enumerate().map(|(seat, fit)| {
        let quotes =
            fit.offers.iter().filter_map(|offer| fit.seat.offers[*offer].quote(&facts, true)).collect();
        SeatOutcome { seat: seat as u16, at: 0, outcome: Outcome::Offers(quotes), cause: None }
    });
    let head = TableHead {
        uuid: offerd::ids::timed_at(1_800_000_000_000),
        lead: offerd::ids::timed(),
        company: offerd::ids::timed(),
        test: false,
        loan_amount: Some(10_000),
        wants_loans: false,
        created_at: 0,
        deadline: 0,
        seats: fits.iter().map(|fit| fit.seat.recorded_text.fingerprint).collect(),
        book: book.fingerprint,
        treatments: Vec::new(),
        not_seated: Vec::new(),
    };
    let directory = tempfile::tempdir().expect("a directory for the store");
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).expect("a store");
    let texts = Templates::new(store);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(texts.store(&book)).expect("texts are stored");
    Answers { texts, answers: answers.collect(), head: Arc::new(head), fits, _directory: directory }
}

/// Prices all offers of the catalog that fit, folds and ranks them, and serialises the rate table.
fn rate_table(criterion: &mut Criterion) {
    let answers = answers();
    let lead = Lead { product_types: None, ..lead() };
    let facts = facts(&lead);
    let seats = || answers.head.seats.iter().map(|seat| answers.texts.seat(*seat).expect("stored")).collect();
    let empty = Table::new(Arc::clone(&answers.head), seats());
    let fold = |mut table: Table| {
        for answer in &answers.answers {
            table.apply(answer).expect("each seat answers once");
        }
        table
    };
    let full = fold(empty.clone());
    println!("rate table of {} seats and {} offers", answers.fits.len(), full.offers());

    let mut group = criterion.benchmark_group("rate_table");
    group.throughput(Throughput::Elements(full.offers() as u64));
    group.bench_function("price", |bencher| {
        bencher.iter(|| {
            let offers =
                answers.fits.iter().flat_map(|fit| fit.offers.iter().map(|offer| &fit.seat.offers[*offer]));
            offers
                .filter_map(|offer| offer.quote(black_box(&facts), true))
                .map(|quote| quote.score)
                .sum::<f64>()
        });
    });
    group.bench_function("fold_and_rank", |bencher| {
        bencher.iter_batched(|| empty.clone(), fold, BatchSize::SmallInput);
    });
    let base_url = BaseUrl::from("http://127.0.0.1:8080".to_owned());
    group.bench_function("show", |bencher| {
        bencher.iter(|| render(&full, &base_url, &answers.texts).expect("texts are there"));
    });
    group.finish();
}

/// Answers with six offers, in the formats of the sample HTTP partners.
fn six_offers() -> [(&'static str, &'static [u8], String); 3] {
    let list = |offer: &str, between| [offer; 6].join(between);
    let json = list(
        r#"{"termMonths":36,"apr":0.1149,"originationFeePercent":2.5,"monthlyPaymentCents":32972,"amountCents":1000000,"firm":true,"applyUrl":"https://apply.hazelmoor-lending.example/o/9f3"}"#,
        ",",
    );
    let form = list(r#"{"months":24,"apr":21.9,"payment":517.31,"link":"https://copper.example/q/1"}"#, ",");
    let xml = list(
        r#"<Rate months="360"><Note>6.125</Note><Apr>6.214</Apr><Points>0.5</Points><Costs>4200</Costs></Rate>"#,
        "",
    );
    [
        ("hazelmoor_lending", LEAD, format!(r#"{{"decision":"APPROVED","offers":[{json}]}}"#)),
        ("copperbrook_finance", LEAD, format!(r#"{{"status":"yes","quotes":[{form}]}}"#)),
        (
            "fairholt_mortgage",
            include_bytes!("../tests/leads/mortgage_purchase.json"),
            format!("<RateReply><Result>OK</Result><Rates>{xml}</Rates></RateReply>"),
        ),
    ]
}

/// Maps a lead to a partner's request, and an answer with six offers to quotes, besides parsing the lead. The
/// samples use JSON, form fields and XML.
fn mapping(criterion: &mut Criterion) {
    let book = Book::load(Path::new("partners")).expect("the sample catalog is good");
    let asked = AskContext {
        lead: offerd::ids::timed(),
        rate_table: offerd::ids::timed(),
        test: false,
        now: chrono::Utc::now(),
    };
    let mut group = criterion.benchmark_group("mapping");
    group.bench_function("read_the_lead", |bencher| bencher.iter(|| Lead::read(black_box(LEAD))));
    for (key, lead, answer) in six_offers() {
        let seat = book.seats().iter().find(|seat| seat.identity.key == key).expect("a sample partner");
        let source = seat.http.as_ref().expect("it is asked over HTTP");
        let lead = Lead::read(lead).expect("the sample lead is good");
        let given = MappingInput::of(&facts(&lead), &asked);
        group.bench_function(format!("given/{key}"), |bencher| {
            bencher.iter(|| MappingInput::of(&facts(black_box(&lead)), &asked));
        });
        group.bench_function(format!("request/{key}"), |bencher| {
            bencher
                .iter(|| source.request(&AskProgress::default(), black_box(&given), Secrets::Masked).is_ok());
        });
        let answered = || {
            let (headers, body) = (HeaderMap::new(), black_box(answer.as_bytes()));
            let offers: Vec<_> = seat.offers.iter().collect();
            let received = Received { status: StatusCode::OK, headers: &headers, body };
            let progress = AskProgress::default();
            let answered = source.read_answer(&progress, received, black_box(&given), &facts(&lead), &offers);
            answered.expect("the answer can be mapped").answered
        };
        assert!(matches!(answered(), Answered::Offers(quotes) if quotes.len() == 6), "{key}");
        group.bench_function(format!("answer/{key}/6_offers"), |bencher| bencher.iter(answered));
    }
    group.finish();
}

/// A partner whose mapping looks each offer up in the whole answer.
const JOINING: &str = r#"[partner]
uuid = "3f0c1a52-6d5e-4b8e-9f43-7a1d0a2b3c4d"
name = "Lender"
description = "One."
disclaimer = "None."
image_url = "https://lender.example/logo.png"
sub_account_id = 1
[products.savings]
timeout = "5s"
[products.savings.http]
url = "https://lender.example/"
[products.savings.http.answer]
own = { payout = { on = "click", fixed = 5.0 }, conversion_probability = 0.5, landing_url = "https://lender.example/" }
[products.savings.http.answer.offer]
rate = "(response.offers|selectattr('id', '==', offer.id)|first).rate"
name = "'One' if response.offers|tojson|sha256"
"#;

/// Reads hostile answers of 64 and of 256 KiB. The time for a byte must not grow with their length.
fn hostile(criterion: &mut Criterion) {
    let book = Book::from_texts([(PathBuf::from("lender.toml"), JOINING.to_owned())]);
    let book = book.expect("the partner is good");
    let source = book.seats()[0].http.as_ref().expect("it is asked over HTTP");
    let asked = AskContext {
        lead: offerd::ids::timed(),
        rate_table: offerd::ids::timed(),
        test: false,
        now: chrono::Utc::now(),
    };
    let lead = lead();
    let given = MappingInput::of(&facts(&lead), &asked);
    let listed = |one: &str, bytes: usize| {
        format!(r#"{{"offers":[{}{one}]}}"#, format!("{one},").repeat(bytes / (one.len() + 1)))
    };
    let element = |of: fn(usize) -> String, bytes: usize| {
        (0..).map(of).scan(0, move |all, one| {
            *all += one.len();
            (*all < bytes).then_some(one)
        })
    };
    let mut group = criterion.benchmark_group("hostile");
    group.sample_size(10);
    for bytes in [64 * 1024, 256 * 1024] {
        let attributes: String = element(|nth| format!(" a{nth}=''"), bytes).collect();
        let scopes: String = element(|nth| format!("<a xmlns:n{nth}='u:{nth}'>"), bytes).collect();
        for (name, body) in [
            ("numbers", listed("9", bytes)),
            ("joined_offers", listed(r#"{"id":1,"rate":4.5}"#, bytes)),
            ("attributes", format!("<a{attributes}/>")),
            ("namespaces", scopes),
            ("deep", "[".repeat(bytes)),
        ] {
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_function(format!("{name}/{bytes}"), |bencher| {
                bencher.iter(|| {
                    let (headers, body) = (HeaderMap::new(), black_box(body.as_bytes()));
                    let received = Received { status: StatusCode::OK, headers: &headers, body };
                    source.read_answer(&AskProgress::default(), received, &given, &facts(&lead), &[]).is_ok()
                });
            });
        }
    }
    group.finish();
}

/// A seat with every kind of limit.
fn limited_partner(nth: usize) -> (PathBuf, String) {
    let text = format!(
        r#"[partner]
uuid = "00000000-0000-8000-8000-{nth:012}"
name = "Partner {nth}"
description = "One of many."
disclaimer = "None."
image_url = "https://partner.example/logo.png"
sub_account_id = 1
[products.other]
timeout = "5s"
[products.other.limits]
per_minute = 4000000000
per_day = 4000000000
per_day_budget = 1e12
time_zone = "America/New_York"
schedule = [ {{ from = "00:00", to = "12:00" }}, {{ from = "12:00", to = "24:00" }} ]
[[products.other.offers]]
key = "one"
name = "One"
description = "One."
landing_url = "https://partner.example/"
payout = {{ on = "click", fixed = 1.0 }}
conversion_probability = 1.0
"#
    );
    (PathBuf::from(format!("partner_{nth}.toml")), text)
}

/// Checks the limits of a lead's seats, with a whole day counted, and recounts that day.
fn limits(criterion: &mut Criterion) {
    const SEATS: usize = 100;
    const TABLES: usize = 10_000;
    let book = Book::from_texts((0..SEATS).map(limited_partner)).expect("the partners are good");
    let directory = tempfile::tempdir().expect("a directory for the store");
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).expect("a store");
    let records = Records::of(store.clone());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(records.templates.store(&book)).expect("texts are stored");
    let now = chrono::Utc::now().timestamp_millis();
    for chunk in 0..TABLES / 1_000 {
        let commit = (0..1_000).fold(Commit::new(), |commit, nth| {
            let head = TableHead {
                uuid: offerd::ids::timed_at(now.cast_unsigned()),
                lead: offerd::ids::timed(),
                company: offerd::ids::timed(),
                test: false,
                loan_amount: None,
                wants_loans: false,
                created_at: now - ((chunk * 1_000 + nth) * 8_640) as i64,
                deadline: now,
                seats: book.seats().iter().map(|seat| seat.recorded_text.fingerprint).collect(),
                book: book.fingerprint,
                treatments: Vec::new(),
                not_seated: Vec::new(),
            };
            commit.put(Tree::RateTables, head.uuid.as_bytes(), codec::encode(&head))
        });
        runtime.block_on(store.commit(commit)).expect("heads are stored");
    }

    let mut group = criterion.benchmark_group("limits");
    let limiter = Limiter::of(&records, &book, Clock::system());
    let seats: Vec<&Seat> = book.seats().iter().map(|seat| &**seat).collect();
    group.throughput(Throughput::Elements(SEATS as u64));
    group.bench_function(format!("admit/{SEATS}_seats"), |bencher| {
        bencher
            .iter(|| limiter.judge_seats(false, uuid::Uuid::nil(), SEATS, black_box(&seats), &[None; SEATS]));
    });
    group.sample_size(10).throughput(Throughput::Elements(TABLES as u64));
    group.bench_function(format!("recount/{TABLES}_tables"), |bencher| {
        bencher.iter(|| Limiter::of(&records, &book, Clock::system()));
    });
    group.finish();
}

/// Reads suppression lists of a million people, and looks up a person that no list has.
fn suppression(criterion: &mut Criterion) {
    const PEOPLE: u64 = 1_000_000;
    let directory = tempfile::tempdir().expect("a directory for the store");
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).expect("a store");
    let lists = SuppressionLists::of(store.clone());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let digest = |nth: u64| -> [u8; 32] {
        std::array::from_fn(|at| (nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (at % 8 * 8)) as u8)
    };
    for first in (0..PEOPLE).step_by(8192) {
        let some: Vec<[u8; 32]> = (first..PEOPLE.min(first + 8192)).map(digest).collect();
        let added = runtime.block_on(lists.add("people", SuppressionKind::Email, &some));
        added.expect("people are stored");
    }
    let (seat, lead) = (named(&["people"]), lead());
    let key_file = directory.path().join("suppression-key");

    let mut group = criterion.benchmark_group("suppression");
    group.sample_size(10);
    group.bench_function("load/1000000", |bencher| {
        bencher.iter(|| Suppressions::of(&store, key_file.clone()));
    });
    let suppressions = Suppressions::of(&store, key_file.clone());
    group.sample_size(100);
    group.bench_function("look_up/1000000", |bencher| {
        bencher.iter(|| suppressions.now().against(&seat.seats()[0], &Digests::new(black_box(&lead))));
    });
    group.finish();
}

/// The book of a partner with suppression lists.
fn named(lists: &[&str]) -> Book {
    let (file, text) = limited_partner(0);
    let text = text.replacen("sub_account_id = 1", &format!("sub_account_id = 1\nsuppress = {lists:?}"), 1);
    Book::from_texts([(file, text)]).expect("the partner is good")
}

/// Reads a sealed lead from the store and, for comparison, the same bytes from an unsealed tree.
fn sealing(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a directory for the store");
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).expect("a store");
    let lead = offerd::ids::timed();
    let commit = Commit::new().about(lead).put(Tree::Leads, lead, LEAD).put(Tree::Templates, lead, LEAD);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(store.commit(commit)).expect("a lead is stored");

    let mut group = criterion.benchmark_group("store");
    group.throughput(Throughput::Bytes(LEAD.len() as u64));
    for (name, tree) in [("sealed", Tree::Leads), ("open", Tree::Templates)] {
        group.bench_function(format!("read/{name}"), |bencher| {
            bencher.iter(|| assert!(store.get(tree, black_box(lead)).is_ok_and(|found| found.is_some())));
        });
    }
    group
        .bench_function("blind", |bencher| bencher.iter(|| store.blind("identity", black_box(b"535772043"))));
    group.finish();
}

criterion_group!(benches, parse, eligibility, rate_table, mapping, hostile, limits, suppression, sealing);
criterion_main!(benches);
