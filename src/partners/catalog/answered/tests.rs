//! Offers completed by answers: shown, dropped, and diagnosed.

use std::path::PathBuf;

use chrono::{TimeZone, Utc};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::catalog::Unfit;
use crate::http::{AnswerReading, Answered, AskContext, AskProgress, MappingInput, Received};
use crate::offer_json::{OfferPlace, write_offer};
use crate::{Book, Facts};
use offerd_model::{
    CreditBands, CreditCardOffer, Lead, LoanOffer, MortgageOffer, SavingsOffer, SpecialOffer,
};

const PARTNER: &str = r#"[partner]
uuid = "3f0c1a52-6d5e-4b8e-9f43-7a1d0a2b3c4d"
name = "Lender"
description = "One."
disclaimer = "None."
image_url = "https://lender.example/logo.png"
sub_account_id = 1
"#;

/// A catalog loan with answered terms.
const CATALOG: &str = r#"
[[products.loan.offers]]
key = "personal"
sub_type = "personal_loan"
landing_url = "{baseUrl}/samples/lender/personal"
amount = { min = 1000, max = 50000 }
terms = [24, 36]
apr_type = "fixed"
terms_text = "As of the file."
payout = { on = "funded", percent = 2.0 }
conversion_probability = 0.1
"#;

fn file(product: &str, answer: &str, offers: &str) -> String {
    format!(
        "{PARTNER}[products.{product}]\ntimeout = \"5s\"\n[products.{product}.http]\nurl = \"https://lender.example/\"\n\
         [products.{product}.http.answer]\n{answer}\n{offers}"
    )
}

/// A file with offers of the partner's own, mapped by `offer`.
fn own(product: &str, own: &str, offer: &str) -> String {
    let own =
        format!("own = {{ payout = {{ on = 'click', fixed = 5.0 }}, conversion_probability = 0.5, {own} }}");
    file(product, &format!("{own}\n[products.{product}.http.answer.offer]\n{offer}"), "")
}

fn load(file: &str) -> Result<Book, String> {
    let loaded = Book::from_texts([(PathBuf::from("lender.toml"), file.to_owned())]);
    loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The reading of an answer with these offers, and each offer as a client sees it.
fn answered(file: &str, offers: &Value, lead: &Value) -> (AnswerReading, Vec<Value>) {
    let book = load(file).unwrap_or_else(|faults| panic!("{faults}"));
    let lead = Lead::read(lead.to_string().as_bytes()).unwrap_or_else(|_| panic!("it is a lead"));
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let facts = Facts::new(&lead, now, CreditBands::Current);
    let asked = AskContext { lead: Uuid::nil(), rate_table: Uuid::nil(), test: false, now };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let body = json!({ "offers": offers }).to_string();
    let received = Received { status: StatusCode::OK, headers: &headers, body: body.as_bytes() };
    let seat = &book.seats()[0];
    let fitting: Vec<_> = seat.offers.iter().filter(|offer| offer.rule.holds(&facts)).collect();
    let given = MappingInput::of(&facts, &asked);
    let source = seat.http.as_ref().unwrap();
    let reading = source.read_answer(&AskProgress::default(), received, &given, &facts, &fitting).unwrap();
    // If none can be shown, the answer has failed.
    let quotes = if let Answered::Offers(quotes) = &reading.answered { &quotes[..] } else { &[] };
    let shown = quotes.iter().map(|quote| {
        let of_file = seat.offers.iter().find(|offer| offer.text.fingerprint == quote.text).unwrap();
        let mut json = Vec::new();
        let place = OfferPlace { uuid: Uuid::nil(), url: "https://a.example/", rank: 1, made_at: 0 };
        write_offer(&mut json, quote.own.as_deref().unwrap_or(&of_file.text), quote, place);
        serde_json::from_slice(&json).unwrap()
    });
    let shown = shown.collect();
    (reading, shown)
}

fn ten_thousand() -> Value {
    json!({"loanInformation": {"loanAmount": 10000}, "personalInformation": {"state": "NY"}})
}

/// The reason for which the only offer is not shown.
fn dropped(file: &str, offer: Value) -> String {
    let (reading, shown) = answered(file, &json!([offer, {"good": true}]), &ten_thousand());
    let [Unfit { position: 0, reason, detail, .. }, ..] = &reading.dropped[..] else {
        panic!("{shown:?} {:?}", reading.dropped)
    };
    assert!(!reason.contains("canary"), "{reason}");
    assert!(detail.len() >= reason.len().min(20), "{detail}");
    reason.clone()
}

#[test]
fn an_offer_of_the_file_is_shown_in_the_partners_words_where_it_has_any() {
    let mapped = "offer = { term = 'offer.term', apr = 'offer.apr', terms_text = 'offer.small_print', sponsored = 'offer.paid', \
                  payout = 'offer.bid' }";
    let file = file("loan", mapped, CATALOG);
    let offers = json!([
        {"term": 36, "apr": 9.5, "small_print": "As of the partner.", "paid": true, "bid": 12.5},
        {"term": 24, "apr": 9.5},
        {"term": 24, "apr": 9.5, "small_print": "As of the file."},
    ]);
    let (reading, shown) = answered(&file, &offers, &ten_thousand());
    let Answered::Offers(quotes) = &reading.answered else { panic!("{reading:?}") };
    let own: Vec<bool> = quotes.iter().map(|quote| quote.own.is_some()).collect();
    assert_eq!(own, [true, false, false], "{:?}", reading.dropped);
    let terms: Vec<&Value> = shown.iter().map(|offer| &offer["terms"]).collect();
    assert_eq!(terms, ["As of the partner.", "As of the file.", "As of the file."]);
    assert_eq!((&shown[0]["sponsored"], &shown[0]["termLength"]), (&json!(true), &json!(36)));
    assert_eq!((&shown[0]["payout"], &shown[1]["payout"]), (&json!(12.5), &json!(200)));
    let click_terms = quotes[0].own.as_ref().unwrap().click_terms.as_ref().unwrap();
    assert_eq!((click_terms.name.as_str(), click_terms.payout.fixed), ("personal/36", Some(12.5)));
    assert_eq!(click_terms.landing_url, "{baseUrl}/samples/lender/personal");
    assert!(serde_json::from_value::<LoanOffer>(shown[0].clone()).is_ok(), "{}", shown[0]);
}

#[test]
fn a_partner_has_loans_of_its_own() {
    let file = own(
        "loan",
        "sub_type = 'personal_loan'",
        "term = 'offer.months'\napr = 'offer.apr'\napr_type = \"'fixed'\"\nlanding_url = 'offer.link'\nfee_rate = 'offer.fee'\n\
         conversion_probability = 'offer.odds'",
    );
    let offers =
        json!([{"months": "48", "apr": "11.2", "link": "https://l.example/1", "fee": 3, "odds": 0.25}]);
    let (reading, shown) = answered(&file, &offers, &ten_thousand());
    let [shown] = &shown[..] else { panic!("{:?}", reading.dropped) };
    let loan: LoanOffer = serde_json::from_value(shown.clone()).unwrap();
    assert_eq!((loan.term_length, loan.max_amount, loan.min_amount), (48, 10_000, Some(10_000)));
    let (reading, _) = answered(&file, &offers, &json!({}));
    assert_eq!(reading.dropped[0].reason, "it has no `max_amount`, and the lead names no amount");
    assert_eq!(
        (&shown["recommendationScore"], &shown["conversionProbability"]),
        (&json!(0.625), &json!(0.25))
    );
}

#[test]
fn a_partner_has_cards_of_its_own_by_attribute_or_as_a_whole() {
    let dotted = "'card.cardImageUrl' = 'offer.image'\n'card.cardType' = 'offer.network'\n'card.maxAnnualFee' = 'offer.fee'\n\
                  'card.cardBenefits' = 'offer.perks'\nlanding_url = 'offer.link'";
    let whole = "card = 'offer.card'\nlanding_url = 'offer.link'\n'card.cardName' = \"'Named by the file'\"";
    let by_attribute = json!([{"image": "https://l.example/c.png", "network": "visa", "fee": "95", "perks": ["Lounge Access"],
        "link": "https://l.example/"}]);
    let card = json!({"cardImageUrl": "https://l.example/c.png", "cardType": "visa", "cardName": "x", "maxAnnualFee": 95,
        "cardBenefits": ["Lounge Access"], "previewDetails": [{"description": "Points."}], "earningProgram": {"a": [1]}});
    let as_a_whole = json!([{"card": card, "link": "https://l.example/"}]);
    for (offer, offers) in [(dotted, by_attribute), (whole, as_a_whole)] {
        let file = own("credit_card", "sub_type = 'credit_card'", offer);
        let (reading, shown) = answered(&file, &offers, &json!({}));
        let [shown] = &shown[..] else { panic!("{:?}", reading.dropped) };
        let card: CreditCardOffer = serde_json::from_value(shown.clone()).unwrap();
        assert_eq!(card.details.max_annual_fee.map(|fee| fee.to_f64()), Some(95.0));
        assert_eq!(card.details.card_benefits.unwrap()[0].as_str(), "Lounge Access");
    }
}

#[test]
fn a_marketplace_says_who_makes_each_offer() {
    let institution = json!({"name": "Bank", "imageUrl": "https://b.example/b.png", "uuid": "7e57d004-2b97-44e7-8f4d-5b1e2d3c4a5b"});
    let card = "card = 'offer.card'\nlanding_url = 'offer.link'\ninstitution = 'offer.bank'";
    let card = own("credit_card", "sub_type = 'credit_card'", card);
    let details = json!({"cardImageUrl": "https://l.example/c.png", "cardType": "visa"});
    let offers = json!([{"card": details, "link": "https://l.example/", "bank": institution}]);
    let (reading, shown) = answered(&card, &offers, &json!({}));
    let [shown] = &shown[..] else { panic!("{:?}", reading.dropped) };
    let card: CreditCardOffer = serde_json::from_value(shown.clone()).unwrap();
    assert_eq!((card.partner.name.as_str(), card.partner.disclaimer.as_str()), ("Bank", "None."));
    assert_eq!(card.marketplace.map(|market| market.name).as_deref(), Some("Lender"));

    let mapped = "offer = { term = '36', apr = '9', 'institution.name' = 'offer.lender', 'institution.imageUrl' = 'offer.logo' }";
    let loan = file("loan", mapped, CATALOG);
    let offers =
        json!([{"lender": "Bank", "logo": "https://b.example/b.png"}, {"lender": "Bank", "logo": "canary"}]);
    let (reading, shown) = answered(&loan, &offers, &ten_thousand());
    let originator = &shown[0]["originator"];
    assert_eq!((&originator["name"], &originator["key"]), (&json!("Bank"), &json!("lender")));
    assert_eq!(originator["images"], json!([{"sizeKey": "default", "url": "https://b.example/b.png"}]));
    assert_eq!(reading.dropped.len(), 1);
}

#[test]
fn a_partner_has_savings_mortgages_and_policies_of_its_own() {
    let link = "landing_url = \"'https://l.example/'\"";
    let savings = own(
        "savings",
        "sub_type = 'certificate_of_deposit', disclaimer = 'Member FDIC.'",
        &format!(
            "{link}\nrate = 'offer.rate'\nname = 'offer.name'\ncompounding = \"'daily'\"\nminimum_deposit = 'offer.least'\n\
             effective_as_of = 'now'\ncd_term_length = 'offer.months'\ncd_term_unit = \"'month'\"\nfederal_insurance_type = \"'fdic'\"\n\
             incentive_details = 'offer.gifts'"
        ),
    );
    let gift = json!({"amount": 150, "unit": "usd", "display": "$150", "type": "cash_back"});
    let offers = json!([{"rate": 4.2, "name": "CD", "least": 500, "months": 12, "gifts": gift}]);
    let (reading, shown) = answered(&savings, &offers, &json!({}));
    let [shown] = &shown[..] else { panic!("{:?}", reading.dropped) };
    let read: SavingsOffer = serde_json::from_value(shown.clone()).unwrap();
    assert_eq!((read.disclaimer.as_deref(), read.details.cd_term_length), (Some("Member FDIC."), Some(12)));
    assert_eq!(read.details.incentive_details.unwrap()[0].display, "$150");

    let mortgage = own(
        "mortgage",
        "sub_type = 'purchase'",
        &format!(
            "{link}\ninterest_rate = 'offer.note'\nloan_type = 'offer.kind'\nterm = 'offer.months'\nconsumer_rating = '91'"
        ),
    );
    let offers = json!([{"note": 6.25, "kind": "thirty_year_fixed", "months": 300}]);
    let lead = json!({"mortgageInformation": {"mortgageAmount": 250000, "mortgageType": "purchase"}});
    let (reading, shown) = answered(&mortgage, &offers, &lead);
    let [shown] = &shown[..] else { panic!("{:?}", reading.dropped) };
    let read: MortgageOffer = serde_json::from_value(shown.clone()).unwrap();
    assert_eq!((read.details.loan_term, read.consumer_rating), (300, Some(91.0)));
    let (reading, _) = answered(&mortgage, &offers, &json!({}));
    assert!(reading.dropped[0].reason.contains("names no amount"), "{:?}", reading.dropped);

    let policy = own(
        "life_insurance",
        "sub_type = 'term_life'",
        &format!("{link}\nname = 'offer.title'\ndescription = 'offer.about'\npolicy = 'offer.policy'"),
    );
    let terms =
        json!({"policyAmount": 250000, "monthlyPremiumAmount": 21.5, "termLength": 20, "termUnit": "year"});
    let (reading, shown) =
        answered(&policy, &json!([{"title": "T", "about": "A", "policy": terms}]), &json!({}));
    let [shown] = &shown[..] else { panic!("{:?}", reading.dropped) };
    let read: SpecialOffer = serde_json::from_value(shown.clone()).unwrap();
    assert_eq!((read.name.as_str(), read.details.unwrap().policy_amount), ("T", 250_000));
    let halved = json!([{"title": "T", "about": "A", "policy": {"policyAmount": 1, "monthlyPremiumAmount": 1, "termLength": 20}}]);
    let (reading, _) = answered(&policy, &halved, &json!({}));
    assert!(
        reading.dropped[0].reason.contains("`policy.termLength` must be set together"),
        "{:?}",
        reading.dropped
    );
}

#[test]
fn without_a_key_an_answer_is_the_partners_own_and_with_one_it_is_of_the_file() {
    let answer = "own = { payout = { on = 'click', fixed = 5.0 }, conversion_probability = 0.5, sub_type = 'personal_loan' }\n\
                  offer = { key = 'offer.key', term = 'offer.term', apr = 'offer.apr', apr_type = \"'variable'\", landing_url = 'offer.link' }";
    let file = file("loan", answer, CATALOG);
    let link = "https://l.example/";
    let offers = json!([
        {"key": "personal", "term": 36, "apr": 9.0, "link": link},
        {"term": 18, "apr": 9.0, "link": link},
        {"key": "canary", "term": 18, "apr": 9.0, "link": link},
        {"key": "personal", "term": 18, "apr": 9.0, "link": link},
    ]);
    let (reading, shown) = answered(&file, &offers, &ten_thousand());
    let terms: Vec<&Value> = shown.iter().map(|offer| &offer["termLength"]).collect();
    assert_eq!(terms, [36, 18]);
    let reasons: Vec<&str> = reading.dropped.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "its key is not an offer of the file; there is personal",
            "the file has no such term for the lead; there are 24, 36"
        ]
    );
}

#[test]
fn what_is_answered_is_checked_and_never_repeated() {
    let file = own(
        "credit_card",
        "sub_type = 'credit_card', landing_url = 'https://l.example/'",
        "card = 'offer.card'\ndisclaimer = 'offer.words'\nsub_type = 'offer.kind'",
    );
    let good = json!({"cardImageUrl": "https://l.example/c.png", "cardType": "visa"});
    let with = |key: &str, value: Value| {
        let mut card = good.clone();
        card[key] = value;
        json!({ "card": card })
    };
    for (offer, reason) in [
        (json!({}), "its `card` is missing"),
        (with("cardType", json!("canary")), ".cardType must be one of `visa`, `mastercard`"),
        (with("cardImageUrl", json!("/canary.png")), ".cardImageUrl must be an absolute http or https URL"),
        (with("cardImageUrl", json!("https://u:canary@l.example/")), "must not hold a user or a password"),
        (with("lateFee", json!("canary")), ".lateFee must be a number from 0 to 100000000"),
        (with("canary", json!(1)), "has an attribute unknown to CreditCardOfferDetails"),
        (json!({"card": good, "words": "canary".repeat(1000)}), "must be at most 4096 bytes"),
        (json!({"card": good, "kind": "personal_loan"}), "its `sub_type` must be one of credit_card, "),
        (json!({"card": good, "kind": "student_card"}), "its kind is only for leads with `newerValues`"),
        (json!({"card": {"cardType": "visa"}}), "its `card` does not fit the rest of the offer"),
    ] {
        let file = file.clone();
        let (reading, _) = answered(&file, &json!([offer, {"card": good}]), &json!({}));
        let found = &reading.dropped.first().unwrap_or_else(|| panic!("{reason}")).reason;
        assert!(found.contains(reason) && !found.contains("canary"), "{reason}: {found}");
    }
    let short = file.replace(
        "[products.credit_card.http.answer]\n",
        "[products.credit_card.http.answer]\nmax_text_bytes = 1024\n",
    );
    let details: Vec<String> = (0..4).map(|_| "x".repeat(400)).collect();
    let (reading, _) = answered(&short, &json!([with("details", json!(details))]), &json!({}));
    assert!(reading.dropped[0].reason.contains("`answer.max_text_bytes` is 1024"), "{:?}", reading.dropped);
}

#[test]
fn an_offer_without_a_link_names_the_mapping_of_it() {
    let savings = own(
        "savings",
        "sub_type = 'savings_account', disclaimer = 'Member FDIC.'",
        "rate = 'offer.rate'\nname = 'offer.name'\ncompounding = \"'daily'\"\nminimum_deposit = '5'\n\
         effective_as_of = 'now'\nlanding_url = 'offer.link'",
    );
    let offer = |link: Value| json!([{"rate": 4.2, "name": "Savings", "link": link}]);
    for (link, wanted) in [
        (Value::Null, "no landing URL: `answer.offer.landing_url` finds none"),
        (json!("https://u:canary@l.example/"), "landing_url` must not hold a user or a password"),
        (json!("https://l.example/?n=\u{fffd}"), "landing_url` must not hold half a character"),
    ] {
        let (reading, _) = answered(&savings, &offer(link), &json!({}));
        let found = &reading.dropped[0].reason;
        assert!(found.contains(wanted) && !found.contains("canary"), "{found}");
    }
}

#[test]
fn what_offers_of_ones_own_lack_is_a_fault_of_the_file() {
    let told = load(&own("loan", "", "apr = 'offer.apr'")).unwrap_err();
    for missing in [
        "`sub_type`",
        "`apr_type`",
        "`term`, or an open `term_unit`",
        "`landing_url`, here or in `answer.own`",
    ] {
        assert!(told.contains(&format!("must have {missing}: no offer of the file supplies it")), "{told}");
    }
    assert!(told.contains("lender.toml:") && !told.contains("bands"), "{told}");
    let told =
        load(&own("credit_card", "sub_type = 'personal_loan', landing_url = 'x'", "'card.lateFee' = '1'"))
            .unwrap_err();
    for fault in [
        "answer.own.sub_type` must be one of credit_card, ",
        "answer.own.landing_url` must be an absolute",
        "must have `\"card.cardImageUrl\"`",
        "must have `\"card.cardType\"`",
    ] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
    let told = load(&own("savings", "", "card = '1'\nrate = '4'\nratee = '4'")).unwrap_err();
    assert!(told.contains("did you mean `rate`?") && told.contains("must have `compounding`"), "{told}");
}

#[test]
fn money_that_cannot_be_right_is_not_shown() {
    let mapped = "offer = { term = 'offer.term|default(36)', apr = 'offer.apr|default(9)', monthly_payment = 'offer.payment', fee_rate = 'offer.fee' }";
    let plain = file("loan", mapped, CATALOG);
    let found = dropped(&plain, json!({"apr": 0.0999}));
    assert!(
        found.contains("above 0 and below 1 percent") && found.contains("`answer.low_apr = true`"),
        "{found}"
    );
    assert!(dropped(&plain, json!({"payment": 360})).contains("more than 10 % off the one"));
    // 10,000 at 9 % over 36 months is 318.00 per month.
    for (payment, doubted) in [(318.0, false), (322.0, false), (330.0, true), (300.0, true)] {
        let (reading, _) = answered(&plain, &json!([{"payment": payment}]), &ten_thousand());
        let Answered::Offers(quotes) = &reading.answered else { panic!("{reading:?}") };
        assert_eq!(quotes[0].doubt.is_some(), doubted, "{payment}");
    }
    // With a fee of 5 % withheld, 302.10 has the same APR.
    let (reading, _) = answered(&plain, &json!([{"payment": 302.1, "fee": 5}, {"apr": 0}]), &ten_thousand());
    let Answered::Offers(quotes) = &reading.answered else { panic!("{reading:?}") };
    assert_eq!(
        quotes.iter().map(|quote| quote.doubt).collect::<Vec<_>>(),
        [None, None],
        "nothing costs nothing"
    );

    let ruled = file(
        "loan",
        &format!(
            "low_apr = true\nbounds = {{ apr = {{ min = 0.5, max = 20 }}, monthly_payment = {{ min = 10 }} }}\nrate_caps = {{ NY = 16.0 }}\n{mapped}"
        ),
        CATALOG,
    );
    let (reading, _) = answered(&ruled, &json!([{"apr": 0.9}, {"apr": 15.9}]), &ten_thousand());
    assert_eq!(reading.dropped, []);
    assert!(dropped(&ruled, json!({"apr": 21})).contains("its `apr` is outside `answer.bounds`, 0.5 to 20"));
    let found = dropped(&ruled, json!({"apr": 17}));
    assert!(found.contains("above that of `answer.rate_caps`") && !found.contains("NY"), "{found}");
    let elsewhere =
        json!({"loanInformation": {"loanAmount": 10000}, "personalInformation": {"zipcode": "80202"}});
    assert_eq!(answered(&ruled, &json!([{"apr": 17}]), &elsewhere).0.dropped, []);
}

/// A rate that nobody answered, marks of thousands, amounts that the file does not lend, and shares.
#[test]
fn a_figure_that_is_made_up_or_misread_is_not_shown() {
    let mapped = "offer = { term = '36', apr = 'RATE', max_amount = 'offer.most', \
                  fee_rate = 'offer.fee|default(0)', monthly_payment = 'offer.payment' }";
    let made_up = "makes a rate of 0 from an answer that has no 0 there";
    let nothing = json!({});
    for (rate, offer, wanted) in [
        ("offer.apr|float(0)", &nothing, made_up),
        ("offer.apr|float(0)", &json!({"apr": "soon"}), made_up),
        ("offer.apr|default(0)", &nothing, made_up),
        ("offer.apr or 0", &nothing, made_up),
        ("offer.cut|default(0) * 0", &json!({"cut": 3}), made_up),
        ("offer.apr|float(0)", &json!({"apr": "0.00"}), ""),
        ("offer.apr", &json!({"apr": 0}), ""),
        ("0 if offer.promotion else offer.apr", &json!({"promotion": true}), ""),
        ("offer.apr|default(9)", &nothing, ""),
        (
            "offer.apr|default(9)",
            &json!({"most": "10.000"}),
            "max_amount`: must be dollars, got a text with a mark of thousands",
        ),
        (
            "offer.apr|default(9)",
            &json!({"most": "9.500"}),
            "max_amount`: must be dollars, got a text with a mark of thousands",
        ),
        ("offer.apr|default(9)", &json!({"most": "10000.00"}), ""),
        ("offer.apr|default(9)", &json!({"payment": "318.004"}), ""),
        ("offer.apr|default(9)", &json!({"apr": "7.125"}), ""),
        (
            "offer.apr|default(9)",
            &json!({"most": 50_001}),
            "`max_amount` is outside the file's `amount`, 1000 to 50000",
        ),
        (
            "offer.apr|default(9)",
            &json!({"most": 10}),
            "`max_amount` is outside the file's `amount`, 1000 to 50000",
        ),
        ("offer.apr|default(9)", &json!({"most": 50_000}), ""),
        (
            "offer.apr|default(9)",
            &json!({"fee": 0.05}),
            "`fee_rate` is above 0 and below 0.2 percent, like a fraction",
        ),
        ("offer.apr|default(9)", &json!({"fee": 0.5}), ""),
    ] {
        let loan = file("loan", &mapped.replace("RATE", rate), CATALOG);
        let (reading, shown) = answered(&loan, &json!([offer, {"apr": 9, "cut": 0}]), &ten_thousand());
        let found = reading.dropped.first().map_or("", |one| one.reason.as_str());
        assert!(found.contains(wanted) && found.is_empty() == wanted.is_empty(), "{rate} {offer}: {found}");
        assert_eq!(shown.len(), 1 + usize::from(wanted.is_empty()), "{rate} {offer}");
    }
    let allowed = format!("bounds = {{ fee_rate = {{ max = 5 }} }}\n{}", mapped.replace("RATE", "9"));
    let shown = answered(&file("loan", &allowed, CATALOG), &json!([{"fee": 0.05}]), &ten_thousand()).1;
    assert_eq!(shown.len(), 1);
}

/// The one offer is refused by name, and the others are shown.
#[test]
fn an_offer_that_cannot_be_right_is_not_shown() {
    let mapped = "offer = { term = '36', apr = '9', max_amount = 'offer.most', expires_at = 'offer.until', fee_fixed = 'offer.fee', \
                  monthly_payment = 'offer.payment', total_payment = 'offer.total' }";
    let loan = file("loan", mapped, CATALOG);
    for (offer, wanted) in [
        (json!({"most": 0}), "max_amount`: must be a number from 1 to 100000000, got 0"),
        (json!({"most": "0.00"}), "max_amount`: must be a number from 1"),
        (json!({"payment": 0}), "monthly_payment`: must be a number from 0.01 to 100000000, got 0"),
        (json!({"payment": -318}), "monthly_payment`: must be a number from 0.01"),
        (json!({"total": 0}), "total_payment`: must be a number from 0.01"),
        (json!({"fee": 10_000, "payment": 318}), "its fees are at least as high as its amount"),
        // It is noon in UTC.
        (json!({"until": "2026-11-21T12:00:00Z"}), "its `expires_at` is in the past"),
        (json!({"until": "2026-11-21T13:00:00+02:00"}), "its `expires_at` is in the past"),
        (json!({"until": "2026-11-21T05:59:59-06:00"}), "its `expires_at` is in the past"),
        (json!({"until": "1970-01-01T00:00:00Z"}), "its `expires_at` is in the past"),
    ] {
        let (reading, shown) = answered(&loan, &json!([offer, {}]), &ten_thousand());
        let found: Vec<_> = reading.dropped.iter().map(|one| (one.position, one.reason.as_str())).collect();
        assert!(matches!(found[..], [(0, reason)] if reason.contains(wanted)), "{offer}: {found:?}");
        assert_eq!(shown.len(), 1, "{offer}");
    }
    let until = json!([{"until": "2026-11-21T06:00:01-06:00"}, {"until": "2026-11-21T11:00:00-06:00"}]);
    assert_eq!(answered(&loan, &until, &ten_thousand()).1.len(), 2);
    let policy = own(
        "life_insurance",
        "sub_type = 'term_life', landing_url = 'https://l.example/'",
        "name = \"'T'\"\ndescription = \"'A'\"\npolicy = 'offer.policy'",
    );
    let of = |premium: f64| json!({"policy": {"policyAmount": 1000, "monthlyPremiumAmount": premium}});
    let (reading, shown) = answered(&policy, &json!([of(0.0), of(9.5)]), &json!({}));
    assert!(
        reading.dropped[0].reason.contains(".monthlyPremiumAmount must be a number from 0.01"),
        "{reading:?}"
    );
    assert_eq!(shown.len(), 1);
}

/// A file that lends for some terms and amounts.
#[test]
fn a_figure_that_the_file_does_not_lend_is_a_fault_of_the_file() {
    for (answer, wanted) in [
        (
            "offer = { apr = 'offer.apr' }",
            "http.answer.offer` must have `term`: offer `personal` has several `terms`, [24, 36]",
        ),
        (
            "offer = { term = '48', apr = 'offer.apr' }",
            "http.answer.offer.term` must be within `terms`, 24, or 36, got 48",
        ),
        (
            "offer = { term = '36', apr = '9', max_amount = '60000' }",
            "http.answer.offer.max_amount` must be within `amount`, 1000 to 50000, got 60000",
        ),
        (
            "offer = { term = '36', apr = '9', min_amount = '500 + 1' }",
            "http.answer.offer.min_amount` must be within `amount`, 1000 to 50000, got 501",
        ),
        (
            "bounds = { apr = { min = 5.99, max = 35.99 } }\noffer = { term = '36', apr = '40' }",
            "http.answer.offer.apr` must be within `answer.bounds`, 5.99 to 35.99, got 40",
        ),
        (
            "bounds = { apr = { min = 5.99 } }\noffer = { term = '36', max_apr = '4', apr = '9' }",
            "http.answer.offer.max_apr` must be within `answer.bounds`, at least 5.99, got 4",
        ),
        (
            "offer = { term = '36', apr = \"'soon'\" }",
            "http.answer.offer.apr` must be a number from 0 to 400, got a text",
        ),
        ("offer = { term = '36', apr = '9', apr_type = \"'fixd'\" }", "did you mean `fixed`?"),
    ] {
        let told = load(&file("loan", answer, CATALOG)).unwrap_err();
        assert!(
            told.lines().count() == 1 && told.contains(wanted) && told.contains("lender.toml:"),
            "{told}"
        );
    }
    let one_term = CATALOG.replace("[24, 36]", "[36]");
    assert!(load(&file("loan", "offer = { apr = 'offer.apr' }", &one_term)).is_ok());
    assert!(load(&file("loan", "offer = { term = '36', apr = '9', max_amount = '50000' }", CATALOG)).is_ok());
}

#[test]
fn the_file_says_by_which_rate_a_payment_is_computed() {
    let mapped = "offer = { term = '36', apr = '9', fee_rate = '5' }";
    for (payment, expected) in [("", 318.0), ("payment = 'apr'\n", 318.0), ("payment = 'note_rate'\n", 302.1)]
    {
        let file = file("loan", &format!("{payment}{mapped}"), CATALOG);
        let (_, shown) = answered(&file, &json!([{}]), &ten_thousand());
        assert_eq!(shown[0]["monthlyPayment"].as_f64(), Some(expected), "{payment}");
        let told = shown[0]["monthlyPaymentDescription"].as_str().unwrap_or_default();
        let wanted =
            [("", ""), ("payment = 'apr'\n", "fees inside"), ("payment = 'note_rate'\n", "fees added")];
        let wanted = wanted.iter().find(|(rule, _)| *rule == payment).unwrap().1;
        assert!(told.contains(wanted) && told.is_empty() == payment.is_empty(), "{payment}: {told}");
    }
    let all = file(
        "loan",
        "payment = 'note_rate'\noffer = { term = '36', apr = '9', fee_fixed = '10000' }",
        CATALOG,
    );
    assert!(dropped(&all, json!({})).contains("its fees are at least as high as its amount"));
}

#[test]
fn bounds_and_caps_are_checked_with_the_file() {
    let mapped = "offer = { term = '36', apr = '9' }";
    let rules = "bounds = { aprr = { min = 1 }, sponsored = { min = 1 }, apr = { min = 9, max = 3 } }\nrate_caps = { NY = 0.25 }\nmax_text_bytes = 5";
    let told = load(&file("loan", &format!("{rules}\n{mapped}"), CATALOG)).unwrap_err();
    for fault in [
        "bounds.aprr` is not a figure of such an offer",
        "did you mean `apr`?",
        "bounds.sponsored` is not a number",
        "bounds.apr` must have its lowest at or below its highest, got 9 and 3",
        "rate_caps.NY` must be from 1 to 400, got 0.25",
        "max_text_bytes` must be from 1024 to 65536, got 5",
    ] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
}
