//! Guessing ids: public data reveals nothing of the uuids of leads and rate tables.

use hyper::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon};

/// Leads that are sent, more than there are public bits beside each, so that a relation among them cannot be chance.
const LEADS: usize = 700;

/// Bits of each uuid that have to stay unknown.
const UNKNOWN: usize = 60;

/// One lead: what is secret of it, and what anybody may be shown beside it.
struct Sample {
    secrets: [u128; 2],
    public: Vec<u128>,
}

fn uuid(value: &Value) -> u128 {
    value.as_str().unwrap().parse::<Uuid>().unwrap().as_u128()
}

/// What the address of a table's page has in the place of the table's uuid.
fn page(table: &Value) -> u128 {
    let address = table["partnerPageUrl"].as_str().unwrap();
    uuid(&json!(address.rsplit('/').next().unwrap()))
}

fn request_id(answer: &Answer) -> u128 {
    answer.header("request-id").unwrap().parse::<Uuid>().unwrap().as_u128()
}

/// Sends a lead, and notes the ids of everything around it.
async fn sample(daemon: &Daemon) -> Sample {
    let session = daemon.post("/uiEvent/sessionInits", "{}").await;
    let answer = daemon.submit("{}").await;
    let table = answer.json();
    let offers = table["savingsOffers"].as_array().unwrap();
    let public = vec![
        request_id(&session),
        uuid(&session.json()["sessionUuid"]),
        request_id(&answer),
        uuid(&offers[0]["uuid"]),
        uuid(&offers[1]["uuid"]),
        page(&table),
    ];
    Sample { secrets: [uuid(&table["leadUuid"]), uuid(&table["uuid"])], public }
}

/// The bits of one position, of all values.
fn column(values: &[u128], bit: usize) -> Vec<u64> {
    let bits = |part: &[u128]| part.iter().fold(0, |bits, value| bits << 1 | (value >> bit & 1) as u64);
    values.chunks(64).map(bits).collect()
}

/// Which bits of a secret follow from one that is public: as it is, or one more, or one less, as a counter's.
fn told_by_one(secrets: &[u128], clues: &[Vec<u128>]) -> u128 {
    let steps = clues.iter().flat_map(|clue| [0, 1, u128::MAX].map(|step| (clue, step)));
    let stepped: Vec<Vec<u128>> =
        steps.map(|(clue, step)| clue.iter().map(|clue| clue.wrapping_add(step)).collect()).collect();
    let clues: Vec<Vec<u64>> =
        stepped.iter().flat_map(|clue| (0..128).map(|bit| column(clue, bit))).collect();
    // Fair bits agree half of the time; this is eight standard deviations to either side.
    let leads = secrets.len();
    let tells = |secret: &[u64], clue: &[u64]| {
        let differ: u32 = secret.iter().zip(clue).map(|(one, other)| (one ^ other).count_ones()).sum();
        (differ as usize).abs_diff(leads / 2) > 4 * leads.isqrt()
    };
    let told = |bit: &usize| {
        let secret = column(secrets, *bit);
        clues.iter().any(|clue| tells(&secret, clue))
    };
    (0..128).filter(told).fold(0, |told, bit| told | 1 << bit)
}

/// Which bits of a secret are a sum of public bits (modulo two), of all of them together.
fn told_by_all(secrets: &[u128], clues: &[Vec<u128>]) -> u128 {
    // A row a lead: its public bits and a one, then the secret. Rows are added up until no public bit is left in one.
    let mut rows: Vec<(Vec<u128>, u128)> = secrets
        .iter()
        .enumerate()
        .map(|(nth, secret)| (clues.iter().map(|clue| clue[nth]).chain([1]).collect(), *secret))
        .collect();
    let (words, mut done) = (clues.len() + 1, 0);
    for word in 0..words {
        for bit in 0..128 {
            let Some(pivot) = (done..rows.len()).find(|row| rows[*row].0[word] >> bit & 1 == 1) else {
                continue;
            };
            rows.swap(done, pivot);
            let (clue, secret) = rows[done].clone();
            for row in &mut rows[done + 1..] {
                if row.0[word] >> bit & 1 == 1 {
                    row.0.iter_mut().zip(&clue).for_each(|(one, other)| *one ^= other);
                    row.1 ^= secret;
                }
            }
            done += 1;
        }
    }
    let left = &rows[done..];
    assert!(left.len() > 40, "{} leads are too few for so many public bits", rows.len());
    // A bit that is such a sum is none in every row that is left; any other is so by chance once in 2^40.
    !left.iter().fold(0, |any, (_, secret)| any | secret)
}

fn assert_unknown(name: &str, secrets: &[u128], clues: &[Vec<u128>]) {
    let told = told_by_one(secrets, clues) | told_by_all(secrets, clues);
    let unknown = (!told).count_ones() as usize;
    assert!(unknown >= UNKNOWN, "of a {name}'s uuid only {unknown} bits are unknown: {told:032x} are told");
    // Time, version and variant are no secret; that they are told shows that telling is seen.
    assert!(told >> 76 & 0xf == 0xf && told >> 62 & 3 == 3, "version and variant are seen to be told");
}

#[tokio::test]
async fn what_is_public_leaves_leads_and_tables_unknown() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let mut samples = Vec::with_capacity(LEADS + 1);
    for _ in 0..=LEADS {
        samples.push(sample(&daemon).await);
    }
    // What was sent just before is known whole to whoever sent it.
    let clues_beside = |nth: usize| -> Vec<u128> {
        let (before, now) = (&samples[nth - 1], &samples[nth]);
        now.public.iter().chain(&before.public[2..4]).chain(&before.secrets[..1]).copied().collect()
    };
    let beside: Vec<Vec<u128>> = (1..=LEADS).map(clues_beside).collect();
    // Four at a time, so that there are more leads than bits.
    for part in [0..4, 3..7, 5..9] {
        let clues: Vec<Vec<u128>> =
            part.map(|clue| beside.iter().map(|clues| clues[clue]).collect()).collect();
        for (nth, name) in ["lead", "rate table"].into_iter().enumerate() {
            let secrets: Vec<u128> = samples[1..].iter().map(|sample| sample.secrets[nth]).collect();
            assert_unknown(name, &secrets, &clues);
        }
    }
}

/// The same arithmetic finds what ids of a counter tell, so that its silence means something.
#[test]
fn ids_of_one_counter_are_told() {
    let ids: Vec<u128> =
        (0..LEADS as u128).map(|nth| 7 << 76 | 2 << 62 | (nth * 0x9e37_79b9 % 0xffff_fffb)).collect();
    let next: Vec<u128> = ids.iter().map(|id| id + 1).collect();
    let clues = [next];
    let told = told_by_one(&ids, &clues) | told_by_all(&ids, &clues);
    assert!((!told).count_ones() < 8, "{told:032x}");
}

#[tokio::test]
async fn an_offer_tells_neither_its_table_nor_the_next_offer() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let answer = daemon.submit("{}").await.json();
    let (lead, table) = (uuid(&answer["leadUuid"]), uuid(&answer["uuid"]));
    let offers: Vec<u128> =
        answer["savingsOffers"].as_array().unwrap().iter().map(|offer| uuid(&offer["uuid"])).collect();
    for (one, other) in [(table, lead), (offers[0], table), (offers[0], offers[1]), (offers[1], table)] {
        assert!((one ^ other).count_ones() > 16, "{one:032x} and {other:032x} are alike");
    }
    for guess in [offers[0] & !0xfff, offers[0] ^ 1, offers[0] + 1, table, table & !0xfff | 1, table ^ 1] {
        let guess = Uuid::from_u128(guess);
        assert_eq!(
            daemon.get(&format!("/originator/rateTables/{guess}")).await.status == 200,
            guess.as_u128() == table
        );
        assert_eq!(daemon.get(&format!("/click/{guess}")).await.status, 404, "{guess}");
    }
}

/// A page is given to a person, its table to nobody, and its offers to partners: none of them leads to another.
#[tokio::test]
async fn a_page_tells_neither_its_table_nor_follows_from_its_offers() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let answer = daemon.submit("{}").await.json();
    let (lead, table, page) = (uuid(&answer["leadUuid"]), uuid(&answer["uuid"]), page(&answer));
    let offers: Vec<u128> =
        answer["savingsOffers"].as_array().unwrap().iter().map(|offer| uuid(&offer["uuid"])).collect();
    for other in [lead, table, offers[0], offers[1]] {
        assert!((page ^ other).count_ones() > 16, "{page:032x} and {other:032x} are alike");
    }
    let near = [page ^ 1, page + 1, page & !0xfff, page ^ 1 << 100];
    for guess in [lead, table, offers[0], offers[1]].into_iter().chain(near) {
        let guess = Uuid::from_u128(guess);
        for path in ["", "/embed", "/events"] {
            let url = format!("{}/offers/{guess}{path}", daemon.api);
            assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 404, "{guess}{path}");
        }
    }
    let page = Uuid::from_u128(page);
    assert_eq!(daemon.get(&format!("/originator/rateTables/{page}")).await.status, 404);
    assert_eq!(daemon.get(&format!("/click/{page}")).await.status, 404);
}

/// Who tries addresses of pages out is slowed down as who tries those of clicks.
#[tokio::test]
async fn pages_of_one_address_are_limited_as_clicks_are() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let plan = plan.setting("limits.requests_per_second_per_address", "1");
    let daemon = plan.setting("limits.burst_per_address", "5").start().await;
    let mut statuses = Vec::new();
    for nth in 0..40 {
        let path = ["", "/embed", "/events"][nth % 3];
        let stranger = format!("{}/offers/0193a7b2-1c7e-8d5a-9c11-2f6c5a0e4b77{path}", daemon.api);
        statuses.push(daemon.request(Method::GET, &stranger, "", "").await.status);
    }
    assert_eq!(statuses[..5], [404; 5]);
    assert!(statuses.iter().filter(|status| **status == 429).count() > 20, "{statuses:?}");
    assert!(daemon.metrics().await.contains(r#"{reason="click_address_rate"}"#));
}

/// Nobody learns by asking without opening which offers there are.
#[tokio::test]
async fn head_tells_known_and_unknown_offers_alike() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let known = table["savingsOffers"][0]["uuid"].as_str().unwrap().to_owned();
    for id in
        [known, Uuid::nil().to_string(), "0193a7b2-1c7e-8d5a-9c11-2f6c5a0e4b77".to_owned(), "x".to_owned()]
    {
        let url = format!("{}/click/{id}", daemon.api);
        let answer = daemon.request(Method::HEAD, &url, "", "").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, OPTIONS")), "{id}");
        let wrong = daemon.request(Method::POST, &url, "", "").await;
        assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET, OPTIONS")), "{id}");
    }
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!(lead["status"], "api_listing", "no click was recorded");
}

/// Who tries addresses out is slowed down, on the daemon's own machine too.
#[tokio::test]
async fn clicks_of_one_address_are_limited_also_where_no_other_rate_holds() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let plan = plan.setting("limits.requests_per_second_per_address", "1");
    let daemon = plan.setting("limits.burst_per_address", "5").start().await;
    let offer = daemon.submit("{}").await.json()["savingsOffers"][0]["url"].as_str().unwrap().to_owned();
    let stranger = format!("{}/click/0193a7b2-1c7e-8d5a-9c11-2f6c5a0e4b77", daemon.api);
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(daemon.request(Method::GET, &stranger, "", "").await.status);
    }
    assert_eq!(statuses[..5], [404; 5]);
    assert!(statuses.iter().filter(|status| **status == 429).count() > 20, "{statuses:?}");
    let answer = daemon.request(Method::GET, &offer, "", "").await;
    if answer.status == 429 {
        assert!(answer.header("retry-after").is_some());
        assert!(daemon.metrics().await.contains(r#"{reason="click_address_rate"}"#));
    }
    // Everything else that this address asks is as free as before.
    for _ in 0..20 {
        assert_eq!(daemon.post("/uiEvent/sessionInits", json!({}).to_string()).await.status, 201);
    }
}
