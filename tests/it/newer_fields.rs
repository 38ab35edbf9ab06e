//! Fields beside the specification: those in every answer of the current edition, and values only for clients that
//! know them.

use chrono::{DateTime, Duration, Utc};
use hyper::Method;
use serde_json::{Value, json};

use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon, PartnerFile};

const V1: &str = "application/vnd.offerd.v1+json";

/// A bank that says all there is to say of a savings product, and a lender and a card beside it.
const BANK: &str = r#"
[products.savings]
timeout = "2s"

[[products.savings.offers]]
key = "cd"
sub_type = "certificate_of_deposit"
name = "CD"
landing_url = "https://bank.example/cd?click={clickId}"
payout = { on = "funded", fixed = 60.0 }
conversion_probability = 0.2
compounding = "daily"
minimum_deposit = 0
effective_as_of = "2026-11-01T00:00:00Z"
valid_for = "14days"
federal_insurance_type = "ncua"
incentive_details = [{ amount = 150.5, unit = "usd", display = "$150.50", type = "cash_back" }]
cd_term_length = 12
cd_term_unit = "month"
impression_tracking_pixel_urls = ["https://bank.example/seen.gif"]
bands = [{ rate = 4.0 }]

[[products.savings.offers]]
key = "account"
sub_type = "savings_account"
landing_url = "https://bank.example/account?click={clickId}"
payout = { on = "funded", fixed = 50.0 }
conversion_probability = 0.1
compounding = "daily"
minimum_deposit = 0
effective_as_of = "2026-11-01T00:00:00Z"
bands = [{ rate = 3.0 }]

[products.loan]
timeout = "2s"

[[products.loan.offers]]
key = "loan"
sub_type = "personal_loan"
landing_url = "https://bank.example/loan?click={clickId}"
payout = { on = "funded", fixed = 100.0 }
conversion_probability = 0.1
amount = { min = 1000, max = 50000 }
amount_prefix = "Up to"
terms = [36]
apr_type = "fixed"
bands = [{ rate = 7.0 }]

[products.credit_card]
timeout = "2s"

[[products.credit_card.offers]]
key = "card"
sub_type = "credit_card"
landing_url = "https://bank.example/card?click={clickId}"
payout = { on = "approved", fixed = 70.0 }
conversion_probability = 0.1

[products.credit_card.offers.card]
cardType = "visa"
cardImageUrl = "https://bank.example/card.png"
purchaseAprDisclaimer = "Variable."
regularIntroAprCombinedText = "0% for a year, then 20%"
balanceTransferFeeDisclaimer = "At least $5."
annualFeeDisclaimer = "Waived at first."
annualFeeText = "$95"
introOfferDisclaimer = "Once."
introOfferTitle = "$200"
previewDetails = [{ description = "2% back" }, { description = "No fee", disclaimer = "Abroad." }]
aprType = "variable"
recommendedCreditRatingsDisclaimer = "Not a promise."
recommendedCreditRatingsText = "Good to excellent"
earningProgram = { base = 2, tiers = [{ at = "fuel", rate = 3.5 }] }
rewardsDescription = "2% on everything."
rewardsDisclaimer = "Not on fees."
rewardsTitle = "2%"
minDepositAmount = 200.5
minDepositDisclaimer = "Refundable."
isITA = true
badges = ["Best of 2026"]

[products.life_insurance]
timeout = "2s"

[[products.life_insurance.offers]]
key = "term"
sub_type = "term_life"
name = "Term"
description = "Twenty years."
landing_url = "https://bank.example/term?click={clickId}"
payout = { on = "applied", fixed = 60.0 }
conversion_probability = 0.1

[products.life_insurance.offers.policy]
policyAmount = 500000
termLength = 20
termUnit = "year"
monthlyPremiumAmount = 31.5
annualPremiumAmount = 367
semiAnnualPremiumAmount = 185.25
onlineAppAvailable = true
noMedicalTest = false
packageType = "essential"
recommended = true
medicalExam = "no_exam_if_qualified"
policyName = "Term 20"
carrierDecisionType = "non_instant"
partnerQuoteId = "Q-7"
convertToPermanent = true
childRider = "$10,000"
acceleratedDeathBenefit = true
waiverOfPremium = "On disability"
isOnlineApplication = true
deliveryMethod = "e-mail"
examRequired = "At home"
"#;

/// A mortgage of a kind that the specification lacks, a loan of one, and products that it lacks.
const NEWER: &str = r#"
[products.mortgage]
timeout = "2s"

[[products.mortgage.offers]]
key = "forty"
sub_type = "purchase"
loan_type = "forty_year_fixed"
landing_url = "https://newer.example/forty?click={clickId}"
payout = { on = "funded", fixed = 100.0 }
conversion_probability = 0.1
amount = { min = 1000, max = 5000000 }
reference_amount = 300000
bands = [{ rate = 6.0 }]

[products.loan]
timeout = "2s"

[[products.loan.offers]]
key = "refinance"
sub_type = "automobile_refinance"
sub_type_disclaimer = "The loan is secured by the car."
landing_url = "https://newer.example/car?click={clickId}"
payout = { on = "funded", fixed = 100.0 }
conversion_probability = 0.1
amount = { min = 1000, max = 50000 }
terms = [36]
apr_type = "fixed"
bands = [{ rate = 7.0 }]

[products.auto_insurance]
timeout = "2s"

[[products.auto_insurance.offers]]
key = "car"
sub_type = "auto_insurance"
name = "Car"
description = "By the mile."
landing_url = "https://newer.example/insured?click={clickId}"
payout = { on = "click", fixed = 3.0 }
conversion_probability = 0.5

[products.insurance]
timeout = "2s"

[[products.insurance.offers]]
key = "home"
sub_type = "home_owners_insurance"
name = "Home"
description = "Rebuilt as it was."
landing_url = "https://newer.example/home?click={clickId}"
payout = { on = "click", fixed = 9.0 }
conversion_probability = 0.5

[[products.insurance.offers]]
key = "else"
sub_type = "financial_wellness"
name = "Else"
description = "Ask us."
landing_url = "https://newer.example/else?click={clickId}"
payout = { on = "click", fixed = 5.0 }
conversion_probability = 0.5

[products.generic]
timeout = "2s"

[[products.generic.offers]]
key = "any"
name = "Any"
description = "Anything."
landing_url = "https://newer.example/any?click={clickId}"
payout = { on = "click", fixed = 2.0 }
conversion_probability = 0.5
"#;

/// Who stands behind the bank's name.
const BEHIND: &str = r#"headquarters = "Duluth"
assets = "$3 billion"
brand_name = "Bank and Trust"
brand_uuid = "6e0f7b52-9d0c-4c37-8f0b-5b1d1c3c7a60"
"#;

/// A daemon with that bank, and the path of the complete table of a lead that asks for everything.
async fn bank() -> (Daemon, Value, String) {
    let plan = Daemon::with_partners(Vec::new());
    let text = partner("bank").and(BANK).text().replacen("[partner]\n", &format!("[partner]\n{BEHIND}"), 1);
    std::fs::write(plan.partners().join("bank.toml"), text).unwrap();
    let daemon = plan.start().await;
    let table = daemon.submit_blocking(r#"{"loanInformation":{"loanAmount":9000}}"#).await.json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    (daemon, table, path)
}

async fn in_v1(daemon: &Daemon, path: &str) -> Value {
    let url = format!("{}{path}", daemon.api);
    daemon.request_with(Method::GET, &url, &daemon.confidential, &[("accept", V1)], "").await.json()
}

fn instant(text: &Value) -> DateTime<Utc> {
    text.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_a_partner_file_declares_is_shown_as_it_stands_there() {
    let (_daemon, table, _) = bank().await;
    assert_conforms(Edition::Current, "RateTable", &table);
    let savings = &table["savingsOffers"][0];
    let behind = [
        ("headquarters", json!("Duluth")),
        ("assets", json!("$3 billion")),
        ("brandName", json!("Bank and Trust")),
        ("brandUuid", json!("6e0f7b52-9d0c-4c37-8f0b-5b1d1c3c7a60")),
    ];
    behind.iter().for_each(|(name, value)| assert_eq!(savings["partner"][name], *value, "{name}"));
    for (name, value) in [
        ("federalInsuranceType", json!("ncua")),
        ("cdTermUnit", json!("month")),
        ("cdTermLength", json!(12)),
        ("impressionTrackingPixelUrls", json!(["https://bank.example/seen.gif"])),
        (
            "incentiveDetails",
            json!([{"amount": 150.5, "unit": "usd", "display": "$150.50", "type": "cash_back"}]),
        ),
    ] {
        assert_eq!(savings["details"][name], value, "{name}");
    }
    assert_eq!(table["loanOffers"][0]["amountPrefix"], "Up to");

    let declared = |from: &str| -> Value {
        let (_, rest) = BANK.split_once(from).unwrap();
        let part = rest.split("\n[").next().unwrap();
        serde_json::to_value(toml::from_str::<toml::Table>(part).unwrap()).unwrap()
    };
    let card = declared("[products.credit_card.offers.card]");
    let policy = declared("[products.life_insurance.offers.policy]");
    let special = &table["specialOffers"][0];
    assert!(special["financialInstitutionUuid"].is_string());
    for (of, declared) in [(&table["creditCardOffers"][0], card), (special, policy)] {
        for (name, value) in declared.as_object().unwrap() {
            let shown = &of["details"][name];
            let same_number = shown.as_f64().is_some() && shown.as_f64() == value.as_f64();
            assert!(same_number || shown == value, "{name}: {value} became {shown}");
        }
    }
}

#[tokio::test]
async fn a_table_tells_when_it_was_made_and_its_offers_how_they_rank_and_until_when_they_stand() {
    let before = Utc::now() - Duration::milliseconds(1);
    let (daemon, table, path) = bank().await;
    let made = instant(&table["createdAt"]);
    assert!(before <= made && made <= Utc::now(), "{made}");
    for array in ["creditCardOffers", "savingsOffers"] {
        for (nth, offer) in table[array].as_array().unwrap().iter().enumerate() {
            assert_eq!(offer["rank"], nth + 1, "{array}");
        }
    }
    let stands = |pointer: &str| instant(table.pointer(pointer).unwrap()) - made;
    assert_eq!(stands("/savingsOffers/0/expiresAt"), Duration::days(14), "its partner says so");
    assert_eq!(stands("/savingsOffers/1/expiresAt"), Duration::days(31));
    assert_eq!(stands("/creditCardOffers/0/expiresAt"), Duration::days(31));

    let shown = daemon.get(&path).await;
    let daemon = daemon.terminate().1.setting("limits.shown_bytes", "0").start().await;
    let again = daemon.get(&path).await;
    // Where it listens has changed, and with it the addresses of clicks and of the table's page.
    let without_urls = |answer: &Answer| {
        let mut table = answer.json();
        for page in ["partnerPageUrl", "embedUrl"] {
            assert!(table.as_object_mut().unwrap().remove(page).is_some());
        }
        for array in ["creditCardOffers", "loanOffers", "savingsOffers", "specialOffers"] {
            let offers = table[array].as_array_mut().unwrap();
            offers.iter_mut().for_each(|offer| drop(offer.as_object_mut().unwrap().remove("url")));
        }
        table
    };
    assert_eq!(without_urls(&again), without_urls(&shown), "whenever it is read");
}

#[tokio::test]
async fn previews_rank_and_end_as_offers_of_tables_do() {
    let (daemon, ..) = bank().await;
    let offers = daemon.get("/offerPreview/savingsOffers").await.json();
    for (nth, offer) in offers.as_array().unwrap().iter().enumerate() {
        assert_conforms(Edition::Current, "SavingsOffer", offer);
        assert_eq!(offer["rank"], nth + 1);
    }
    let ends = [0, 1].map(|nth: usize| instant(&offers[nth]["expiresAt"]));
    assert_eq!(ends[1] - ends[0], Duration::days(31 - 14));
    let of_v1 = in_v1(&daemon, "/offerPreview/savingsOffers").await;
    of_v1.as_array().unwrap().iter().for_each(|offer| assert_conforms(Edition::V1, "SavingsOffer", offer));
}

#[tokio::test]
async fn v1_is_as_it_was() {
    let (daemon, _, path) = bank().await;
    assert_conforms(Edition::V1, "RateTable", &in_v1(&daemon, &path).await);
    let cards = in_v1(&daemon, "/offerPreview/creditCardOffers").await;
    assert_conforms(Edition::V1, "CreditCardOffer", &cards[0]);
    let loans = in_v1(&daemon, "/offerPreview/loanOffers").await;
    assert_eq!((loans[0]["termLength"].clone(), loans[0].get("amountPrefix")), (json!(36), None));
}

#[tokio::test]
async fn a_partner_that_has_not_answered_is_told_with_what_it_may_answer() {
    let slow = partner("slow").loan(r#"simulate = { delay = "30s" }"#).second_look(2.0, "");
    let plan = Daemon::with_partners(vec![slow]).setting("matching.submit_wait", "50ms");
    let daemon = plan.setting("matching.deadline", "60s").start().await;
    let lead = json!({"productTypes": ["loan"], "loanInformation": {"loanAmount": 9000},
        "creditInformation": {"providedCreditRating": "good"}});
    let table = daemon.submit(lead.to_string()).await.json();
    assert_conforms(Edition::Current, "RateTable", &table);
    let pending = &table["pendingResponses"][0];
    assert_eq!(pending["productTypes"], json!(["loan"]));
    assert_eq!(pending["offerCatalogProductTypes"], json!(["personal_loan"]));
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
    assert_conforms(Edition::V1, "RateTable", &in_v1(&daemon, &path).await);
}

/// A bank that answers over HTTP until when its offer stands.
fn answering_bank(url: &str) -> PartnerFile {
    partner("far").savings("").replaced("bands = [ { rate = 4.0 } ]", "").and(&format!(
        r#"
[products.savings.http]
url = "{url}"
sandbox_url = "{url}"
json = {{ zip = "lead.personalInformation.zipcode" }}
wire = {{ allow_addresses = ["127.0.0.1"], connect_timeout = "1s" }}
answer = {{ offers = "response.offers", offer = {{ rate = "offer.rate", expires_at = "offer.until" }} }}
"#
    ))
}

#[tokio::test]
async fn an_answer_may_tell_until_when_its_offer_stands() {
    let soon = (Utc::now() + Duration::days(2)).format("%Y-%m-%dT%H:%M:%S.000Z").to_string();
    let late = "2999-01-01T00:00:00Z".to_owned();
    for (until, own) in [(soon.clone(), true), (late, false)] {
        let answer = json!({"offers": [{"rate": 4.5, "until": until}]}).to_string();
        let far = FarSide::start(move |_| Deed::Json(200, answer.clone())).await;
        let daemon = Daemon::with_partners(vec![answering_bank(&far.url("/"))]).start().await;
        let lead = r#"{"productTypes":["savings"],"personalInformation":{"zipcode":"99203"}}"#;
        let table = daemon.submit_blocking(lead).await.json();
        let offer = &table["savingsOffers"][0];
        let expected = match own {
            true => instant(&json!(soon)),
            false => instant(&table["createdAt"]) + Duration::days(31),
        };
        assert_eq!(instant(&offer["expiresAt"]), expected, "{table} {}", daemon.log());

        // The record of the answer keeps it.
        let daemon = daemon.kill().start().await;
        let read = daemon.rate_table(table["uuid"].as_str().unwrap()).await.json();
        assert_eq!(read["savingsOffers"][0]["expiresAt"], offer["expiresAt"]);
    }
}

/// Asks with the newer header, or without.
async fn submit(daemon: &Daemon, lead: &Value, version: bool) -> Value {
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let header = [("api-version", "2025-04-01")];
    let headers = if version { &header[..] } else { &[] };
    let answer =
        daemon.request_with(Method::POST, &url, &daemon.publishable, headers, lead.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn count(table: &Value, array: &str) -> usize {
    table[array].as_array().unwrap().len()
}

#[tokio::test]
async fn values_that_the_specification_lacks_are_shown_to_who_knows_them() {
    let daemon = Daemon::with_partners(vec![partner("newer").and(NEWER)]).start().await;
    let loan_terms = |term: &str| json!({"mortgageInformation": {"requestedLoanTerms": [term]}});
    for (lead, version, shown) in [
        (json!({}), false, false),
        (json!({"productTypes": []}), false, false),
        (json!({"productTypes": ["mortgage", "loan"]}), false, false),
        (loan_terms("thirty_year_fixed"), false, false),
        (loan_terms("ten_year_fixed"), false, true),
        (json!({"productTypes": ["mortgage", "loan", "unknown"]}), false, true),
        (json!({}), true, true),
    ] {
        let table = submit(&daemon, &lead, version).await;
        let newer = usize::from(shown);
        assert_eq!((count(&table, "mortgageOffers"), count(&table, "loanOffers")), (newer, newer), "{lead}");
        let special: Vec<&Value> = table["specialOffers"].as_array().unwrap().iter().collect();
        let named = special.iter().any(|offer| ["Car", "Any"].iter().any(|name| offer["name"] == *name));
        assert!(!named, "{lead} names neither: {table}");
        if shown {
            assert_eq!(table["mortgageOffers"][0]["details"]["loanType"], "forty_year_fixed");
            let path = format!("/originator/rateTables/{}", table["uuid"].as_str().unwrap());
            assert_eq!(daemon.get(&path).await.json(), table, "the table is one, whoever reads it");
            let of_v1 = in_v1(&daemon, &path).await;
            assert_eq!((count(&of_v1, "mortgageOffers"), count(&of_v1, "loanOffers")), (0, 0));
        }
    }
    // Special offers too, but for those of the first version that had them.
    let special = json!({"productTypes": ["insurance"]});
    for (version, shown) in [(false, &["Else"][..]), (true, &["Home", "Else"])] {
        let table = submit(&daemon, &special, version).await;
        let names =
            table["specialOffers"].as_array().unwrap().iter().map(|offer| offer["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), shown);
    }
    for (name, offer) in [("auto_insurance", "Car"), ("generic", "Any")] {
        let table = submit(&daemon, &json!({"productTypes": [name]}), false).await;
        assert_eq!(table["specialOffers"][0]["name"], offer);
        assert_eq!(count(&table, "specialOffers"), 1, "{table}");
    }
    let preview = async |headers: &[(&str, &str)]| {
        let url = format!("{}/offerPreview/loanOffers", daemon.api);
        daemon.request_with(Method::GET, &url, &daemon.publishable, headers, "").await.json()
    };
    assert_eq!(preview(&[]).await, json!([]));
    assert_eq!(preview(&[("api-version", "2025-04-01")]).await[0]["productSubType"], "automobile_refinance");
}

/// A version is a day or two numbers; anything else is passed over, unless the client is strict.
#[tokio::test]
async fn only_what_is_a_version_says_that_they_are_known() {
    let daemon = Daemon::with_partners(vec![partner("newer").and(NEWER)]).start().await;
    let tables = format!("{}/leads/rateTables", daemon.api);
    let preview = format!("{}/offerPreview/loanOffers", daemon.api);
    let send = async |method, url: &str, headers: &[(&str, &str)], body: &str| {
        daemon.request_with(method, url, &daemon.publishable, headers, body.to_owned()).await
    };
    for (version, newer) in [
        ("2025-04-01", 1),
        ("1.106", 1),
        ("1.58", 1),
        ("nonsense", 0),
        ("1", 0),
        ("2025-13-01", 0),
        ("v1.58", 0),
    ] {
        let headers = [("api-version", version)];
        let table = send(Method::POST, &tables, &headers, "{}").await;
        assert_eq!((table.status, count(&table.json(), "loanOffers")), (200, newer), "{version}");
        let offers = send(Method::GET, &preview, &headers, "").await;
        assert_eq!((offers.status, offers.json().as_array().unwrap().len()), (200, newer), "{version}");

        let strict = [("api-version", version), ("prefer", "handling=strict")];
        for (method, url, body) in [
            (Method::POST, &tables, r#"{"productTypes":["loan"]}"#),
            (Method::GET, &preview, ""),
            (Method::POST, &format!("{}/leads", daemon.api), ""),
        ] {
            let answer = send(method, url, &strict, body).await;
            assert_eq!(answer.status < 300, newer == 1, "{version}: {answer:?}");
            if newer == 0 {
                assert_eq!((answer.status, answer.attributes()), (422, vec!["API-Version".to_owned()]));
                let message = answer.json()[0]["message"].to_string();
                assert!(message.contains("2025-04-01") && message.contains("1.106"), "{message}");
            }
        }
    }
    let both = [("api-version", "nonsense"), ("prefer", "handling=strict")];
    let refused = send(Method::POST, &tables, &both, r#"{"xyzzy":1}"#).await;
    assert_eq!(refused.attributes(), ["API-Version", "xyzzy"], "all faults at once");

    let feed = format!("{}/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z", daemon.api);
    let read = async |headers: &[(&str, &str)]| {
        daemon.request_with(Method::GET, &feed, &daemon.confidential, headers, "").await
    };
    let passed_over = read(&both[..1]).await;
    assert_eq!(passed_over.status, 200, "{passed_over:?}");
    assert!(passed_over.json()["nextUrl"].as_str().unwrap().contains("?timestamp="), "{passed_over:?}");
    assert_eq!(read(&both).await.status, 422);
}

#[tokio::test]
async fn a_lead_is_shown_them_in_those_of_its_tables_that_were_asked_for_by_who_knows_them() {
    let daemon = Daemon::with_partners(vec![partner("newer").and(NEWER)]).start().await;
    let table = submit(&daemon, &json!({}), false).await;
    let again = format!("{}/leads/{}/rateTables", daemon.api, table["leadUuid"].as_str().unwrap());
    for (headers, shown) in [(&[][..], 0), (&[("api-version", "2025-04-01")], 1), (&[], 0)] {
        let table = daemon.request_with(Method::POST, &again, &daemon.publishable, headers, "").await.json();
        assert_eq!(count(&table, "mortgageOffers"), shown, "{headers:?}");
    }
}

#[test]
fn every_fault_of_what_is_declared_is_told_with_its_line() {
    let plan = Daemon::with_partners(Vec::new());
    let wrong = [
        (r#"valid_for = "14days""#, r#"valid_for = "32days""#),
        (r#"federal_insurance_type = "ncua""#, r#"federal_insurance_type = "ncus""#),
        ("amount = 150.5", "amount = -1"),
        (r#"cd_term_unit = "month""#, ""),
        ("https://bank.example/seen.gif", "seen.gif"),
        (
            "previewDetails = [{ description = \"2% back\" }",
            "previewDetails = [{ description = \"2% back\", small = 1 }",
        ),
        ("policyAmount = 500000", "policyAmount = 0"),
        (r#"termUnit = "year""#, ""),
    ];
    let text = wrong.iter().fold(BANK.to_owned(), |text, (right, wrong)| {
        assert!(text.contains(right), "{right}");
        text.replacen(right, wrong, 1)
    });
    partner("bank")
        .and(&text)
        .and("\n[products.unknown]\ntimeout = \"2s\"\noffers = []\n")
        .write(plan.partners());
    let checked = plan.command(&["check"]).output().unwrap();
    assert!(!checked.status.success());
    let told = [checked.stdout, checked.stderr].map(|out| String::from_utf8(out).unwrap()).concat();
    for (key, message) in [
        ("products.savings.offers[0].valid_for", "must be more than 0s and at most 31 days"),
        ("products.savings.offers[0].federal_insurance_type", "must be one of"),
        ("products.savings.offers[0].incentive_details[0].amount", "must be from 0"),
        ("products.savings.offers[0].cd_term_length", "must be set together with `cd_term_unit`"),
        (
            "products.savings.offers[0].impression_tracking_pixel_urls[0]",
            "must be an absolute http or https URL",
        ),
        (
            "products.credit_card.offers[0].card.previewDetails[0].small",
            "is not an attribute of CreditCardOfferDetails",
        ),
        ("products.life_insurance.offers[0].policy.policyAmount", "must be from 1"),
        (
            "products.life_insurance.offers[0].policy.termLength",
            "must be set together with `policy.termUnit`",
        ),
        ("products.unknown", "is not a product that a partner can offer"),
    ] {
        let line = told.lines().find(|line| line.contains(&format!("`{key}`")));
        let line = line.unwrap_or_else(|| panic!("{key} is missing in:\n{told}"));
        assert!(line.contains(message), "{line}");
        let number = line.split("bank.toml:").nth(1).and_then(|rest| rest.split(':').next());
        assert!(number.is_some_and(|number| number.parse::<usize>().is_ok()), "{line}");
    }
}
