//! Experiments: the variant of a lead, which never changes, its explanation, and the comparison of variants.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, Plan};

/// Longest wait for leads to be counted.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon with two banks, and with these rules.
fn plan(rules: &[(&str, String)]) -> Plan {
    let plan = Daemon::with_partners(vec![partner("bank").savings(""), partner("other").savings("")]);
    rules.iter().for_each(|(name, text)| rule(plan.directory(), name, text));
    plan
}

fn rule(directory: &Path, name: &str, text: &str) {
    let experiments = directory.join("config/experiments");
    std::fs::create_dir_all(&experiments).unwrap();
    std::fs::write(experiments.join(format!("{name}.toml")), text).unwrap();
}

/// Half of the leads do without a bank.
fn without_bank() -> String {
    "[[variants]]\nname = 'alone'\npercent = 50\nwithout_partners = ['bank']\n".to_owned()
}

/// Submits a lead; its rate table.
async fn lead(daemon: &Daemon) -> Value {
    let table = daemon.submit_blocking(r#"{"productTypes":["savings"]}"#).await;
    assert_eq!(table.status, 200, "{}", String::from_utf8_lossy(&table.body));
    table.json()
}

/// Who made the offers of a table.
fn offered(daemon: &Daemon, table: &Value) -> Vec<String> {
    let explained = told(daemon, &["explain", table["uuid"].as_str().unwrap(), "--json"]);
    let seats = explained["rateTables"][0]["seats"].as_array().unwrap().clone();
    let offered = seats.iter().filter(|seat| seat["why"] == "offers");
    offered.map(|seat| seat["partner"].as_str().unwrap().to_owned()).collect()
}

fn told(daemon: &Daemon, words: &[&str]) -> Value {
    let output = daemon.command(words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is told of the first rate table of a lead.
fn explained(daemon: &Daemon, table: &Value) -> Value {
    told(daemon, &["explain", table["leadUuid"].as_str().unwrap(), "--json"])["rateTables"][0].clone()
}

/// The variant that a table's lead has of a rule, as it is explained.
fn variant(daemon: &Daemon, table: &Value, rule: &str) -> String {
    let explained = explained(daemon, table);
    let experiments = explained["experiments"].as_array().cloned().unwrap_or_default();
    let found = experiments.iter().find(|one| one["rule"] == rule);
    found.map_or_else(|| "none".to_owned(), |one| one["variant"].as_str().unwrap().to_owned())
}

/// Submits leads until there is one of each of these variants.
async fn one_of_each<const N: usize>(daemon: &Daemon, rule: &str, variants: [&str; N]) -> [Value; N] {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    while !variants.iter().all(|wanted| found.contains_key(*wanted)) {
        let table = lead(daemon).await;
        found.insert(variant(daemon, &table, rule), table);
    }
    variants.map(|wanted| found[wanted].clone())
}

#[tokio::test]
async fn a_share_of_leads_gets_the_variant_and_who_asks_why_is_told() {
    let daemon = plan(&[("narrow", without_bank())]).start().await.with_live_company();
    let [control, alone] = one_of_each(&daemon, "narrow", ["control", "alone"]).await;
    assert_eq!(offered(&daemon, &control), ["bank", "other"]);
    assert_eq!(offered(&daemon, &alone), ["other"]);

    let explained = explained(&daemon, &alone);
    let named = json!([{ "rule": "narrow", "variant": "alone", "about": "without bank" }]);
    assert_eq!(explained["experiments"], named);
    let seats = explained["seats"].as_array().unwrap();
    let bank = seats.iter().find(|seat| seat["partner"] == "bank").unwrap();
    assert_eq!((&bank["why"], &bank["refusals"][0]["found"]), (&json!("experiment"), &json!("narrow/alone")));
    let text = daemon.command(&["explain", alone["leadUuid"].as_str().unwrap()]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("experiment narrow: variant alone, without bank"), "{text}");
    let page = format!("{}/console/rateTables/{}", daemon.admin, alone["uuid"].as_str().unwrap());
    let page = daemon.request_with(Method::GET, &page, "", &[("cookie", daemon.signed_in().await)], "").await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("variant alone, without bank"), "{page}");

    let metrics = daemon.metrics().await;
    assert!(
        metrics.contains("offerd_experiment_leads_total{rule=\"narrow\",variant=\"alone\"}"),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_lead_keeps_its_variant_at_its_next_table_and_over_a_kill() {
    let daemon = plan(&[("narrow", without_bank())]).start().await.with_live_company();
    let [alone] = one_of_each(&daemon, "narrow", ["alone"]).await;
    let again = async |daemon: &Daemon| {
        let path = format!("/leads/{}/rateTables", alone["leadUuid"].as_str().unwrap());
        let table = daemon.post(&path, "").await.json();
        daemon.complete(table["uuid"].as_str().unwrap()).await
    };
    assert_eq!(offered(&daemon, &again(&daemon).await), ["other"]);
    let before = explained(&daemon, &alone);
    let daemon = daemon.kill().start().await;
    assert_eq!(explained(&daemon, &alone), before);
    // What is drawn is kept, whatever shares the file has by now.
    rule(daemon.partners().parent().unwrap(), "narrow", &without_bank().replace("50", "0.0001"));
    let reloaded = daemon.command(&["reload"]);
    let reloaded = String::from_utf8(reloaded.stdout).unwrap();
    assert!(reloaded.contains("~ experiment narrow"), "{reloaded}");
    assert_eq!(offered(&daemon, &again(&daemon).await), ["other"]);
}

#[tokio::test]
async fn a_rule_draws_between_its_start_and_its_end_of_its_companies_and_tags_only() {
    let time = |hours| (Utc::now() + TimeDelta::hours(hours)).to_rfc3339();
    let more = |line: String| format!("{line}\n{}", without_bank());
    let rules = [
        ("early", more(format!("starts = {}", time(1)))),
        ("late", more(format!("ends = '{}'", time(-1)))),
        (
            "strange",
            "companies = ['Somebody Else']\n[[variants]]\nname = 'once'\npercent = 50\nsecond_look = false\n"
                .to_owned(),
        ),
    ];
    let daemon = plan(&rules).start().await.with_live_company();
    let table = lead(&daemon).await;
    assert_eq!(explained(&daemon, &table)["experiments"], Value::Null);
    let all = told(&daemon, &["experiment", "list", "--json"]);
    let states: Vec<_> = all.as_array().unwrap().iter().map(|one| (&one["rule"], &one["state"])).collect();
    let wanted = [("early", "notStarted"), ("late", "ended"), ("strange", "running")]
        .map(|(rule, state)| (json!(rule), json!(state)));
    assert_eq!(states, wanted.iter().map(|(rule, state)| (rule, state)).collect::<Vec<_>>());

    let tagged = format!("companies = ['Live']\ntags = {{ campaign = ['spring'] }}\n{}", without_bank());
    for (name, _) in rules {
        std::fs::remove_file(daemon.file(&format!("config/experiments/{name}.toml"))).unwrap();
    }
    rule(daemon.partners().parent().unwrap(), "tagged", &tagged);
    assert!(daemon.command(&["reload"]).status.success());
    let spring =
        daemon.submit_blocking(r#"{"productTypes":["savings"],"clientTags":{"campaign":["spring"]}}"#).await;
    assert_ne!(variant(&daemon, &spring.json(), "tagged"), "none");
    assert_eq!(variant(&daemon, &lead(&daemon).await, "tagged"), "none");
}

#[tokio::test]
async fn another_deadline_holds_from_the_submit_on_and_after_a_kill() {
    let far = FarSide::start(|_| Deed::Silence).await;
    let partners = vec![far_lender("far", &far.url("/ask"), "")];
    let plan = Daemon::with_partners(partners).setting("matching.deadline", "30s");
    rule(plan.directory(), "quick", "[[variants]]\nname = 'quick'\npercent = 99.999\ndeadline = '2s'\n");
    let daemon = plan.start().await.with_live_company();
    let lead = json!({
        "productTypes": ["loan"],
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"},
    });
    let table = daemon.submit(lead.to_string()).await.json();
    let daemon = daemon.kill().start().await;
    let done = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(done["loanOffers"], json!([]));
    let explained = explained(&daemon, &table);
    let time = |key: &str| explained[key].as_str().unwrap().parse::<chrono::DateTime<Utc>>().unwrap();
    assert_eq!(time("deadline") - time("createdAt"), TimeDelta::seconds(2));
    assert_eq!(explained["experiments"][0]["about"], "a deadline of 2s");
}

#[tokio::test]
async fn second_look_can_be_left_out() {
    let partners = vec![partner("lender").loan(""), partner("second").second_look(2.0, "")];
    let plan = Daemon::with_partners(partners);
    rule(plan.directory(), "once", "[[variants]]\nname = 'once'\npercent = 99.999\nsecond_look = false\n");
    let daemon = plan.start().await.with_live_company();
    let lead = r#"{"productTypes":["loan","other"],"loanInformation":{"loanAmount":100},"creditInformation":{"providedCreditRating":"good"}}"#;
    let table = daemon.submit_blocking(lead).await.json();
    assert_eq!((&table["specialOffers"], &table["pendingResponses"]), (&json!([]), &json!([])));
    let alone = daemon.submit_blocking(r#"{"productTypes":["other"]}"#).await.json();
    assert_eq!(alone["specialOffers"].as_array().unwrap().len(), 1, "that is no second look");
}

#[tokio::test]
async fn another_ranking_scores_the_offers_of_the_variant() {
    let lenders = vec![
        partner("dearer").loan(""),
        partner("lender").loan("").replaced("fixed = 100.0", "fixed = 80.0"),
    ];
    let plan = Daemon::with_partners(lenders);
    plan.write_settings(
        "[ranking.named.even]\ninterest = 1.0\nconversion = 0.0\npayout = 0.0\nconsumer_rating = 0.0\n",
    );
    rule(plan.directory(), "order", "[[variants]]\nname = 'even'\npercent = 50\nranking = 'even'\n");
    let daemon = plan.start().await.with_live_company();
    let lead = json!({
        "productTypes": ["loan"],
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"},
    });
    let mut scores: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    while scores.len() < 2 {
        let table = daemon.submit_blocking(lead.to_string()).await.json();
        let offers = table["loanOffers"].as_array().unwrap();
        let of_table = offers.iter().map(|offer| offer["recommendationScore"].as_f64().unwrap()).collect();
        scores.insert(variant(&daemon, &table, "order"), of_table);
    }
    assert!(scores["control"][0] > scores["control"][1], "{scores:?}");
    assert_eq!(scores["even"][0], scores["even"][1], "{scores:?}");
}

#[tokio::test]
async fn test_leads_draw_too_and_of_a_lead_in_a_file_is_told_what_such_leads_draw() {
    let daemon = plan(&[("narrow", without_bank())]).start().await;
    let drawn = variant(&daemon, &lead(&daemon).await, "narrow");
    let listed = until_counted(&daemon, "narrow", ("testLeads", 1)).await;
    let variants = listed["variants"].as_array().unwrap();
    let of = variants.iter().find(|one| one["variant"] == drawn.as_str()).unwrap();
    assert_eq!((&of["testLeads"], &of["leads"]), (&json!(1), &json!(0)));

    let file = daemon.file("lead.json");
    std::fs::write(&file, r#"{"productTypes":["savings"]}"#).unwrap();
    let told = daemon.command(&["explain", file.to_str().unwrap()]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("experiment narrow: of such leads draw alone (without bank) 50 %"), "{told}");
}

/// Waits until so many leads of a rule are counted.
async fn until_counted(daemon: &Daemon, rule: &str, (which, leads): (&str, i64)) -> Value {
    let looking = async {
        loop {
            let all = told(daemon, &["experiment", "list", "--json"]);
            let found = all.as_array().unwrap().iter().find(|one| one["rule"] == rule).cloned().unwrap();
            let counted =
                found["variants"].as_array().unwrap().iter().map(|one| one[which].as_i64().unwrap());
            if counted.sum::<i64>() == leads {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap()
}

/// Leads of the tests that compare.
const LEADS: i64 = 30;

/// How many leads drew each variant, and how often those were clicked.
#[derive(Default)]
struct Drawn {
    leads: BTreeMap<String, i64>,
    clicks: BTreeMap<String, i64>,
}

/// Submits leads, clicks on an offer of each third, and waits until they are counted.
async fn drawn(daemon: &Daemon) -> Drawn {
    let mut drawn = Drawn::default();
    for nth in 0..LEADS {
        let table = lead(daemon).await;
        let variant = variant(daemon, &table, "narrow");
        *drawn.leads.entry(variant.clone()).or_default() += 1;
        *drawn.clicks.entry(variant).or_default() += i64::from(nth % 3 == 0);
        if nth % 3 == 0 {
            let url = format!("{}/click/{}", daemon.api, table["savingsOffers"][0]["uuid"].as_str().unwrap());
            assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 302);
        }
    }
    let listed = until_counted(daemon, "narrow", ("leads", LEADS)).await;
    for variant in listed["variants"].as_array().unwrap() {
        assert_eq!(variant["leads"], drawn.leads[variant["variant"].as_str().unwrap()], "{listed}");
        assert_eq!(variant["percent"], 50.0);
    }
    drawn
}

const COMPARE: [&str; 5] = ["experiment", "compare", "narrow", "--format", "json"];

#[tokio::test]
async fn variants_are_reported_and_compared() {
    let daemon = plan(&[("narrow", without_bank())]).start().await.with_live_company();
    let Drawn { leads, clicks } = drawn(&daemon).await;
    let report = told(&daemon, &["report", "--by", "experiment", "--format", "json"]);
    let rows = report["rows"].as_array().unwrap();
    let alone = rows.iter().find(|row| row["by"][0] == "narrow/alone").unwrap();
    assert_eq!(alone["leads"], leads["alone"]);

    let compared = told(&daemon, &COMPARE);
    let variants = compared["variants"].as_array().unwrap();
    assert_eq!((&variants[0]["variant"], variants.len()), (&json!("control"), 2), "{compared}");
    for variant in variants {
        let name = variant["variant"].as_str().unwrap();
        let figures = variant["figures"].as_array().unwrap();
        let figure = |of: &str| figures.iter().find(|one| one["of"] == of).unwrap();
        assert_eq!((&variant["leads"], &figure("withOffers")["value"]), (&json!(leads[name]), &json!(1.0)));
        assert_eq!(figure("clicks")["total"], clicks[name] as f64);
    }
    let clicked = &variants[1]["figures"][1]["difference"];
    assert_eq!(clicked["differs"], false, "thirty leads are too few: {compared}");
    assert!(clicked["leadsMissing"].as_u64().is_some_and(|leads| leads >= 70), "{compared}");
}

#[tokio::test]
async fn leads_before_the_defaults_changed_stand_apart_with_their_own_control() {
    let daemon = plan(&[("narrow", without_bank())]).start().await.with_live_company();
    drawn(&daemon).await;
    let before = told(&daemon, &COMPARE);
    let (_, stopped) = daemon.terminate();
    let daemon = stopped.setting("matching.offers_per_partner", "7").start().await;
    for _ in 0..4 {
        lead(&daemon).await;
    }
    let compared = told(&daemon, &COMPARE);
    let leads = |compared: &Value, is_earlier: bool| -> Vec<Value> {
        let variants = compared["variants"].as_array().unwrap();
        let of_time = variants.iter().filter(|variant| variant.get("until").is_some() == is_earlier);
        of_time.map(|variant| json!([variant["variant"], variant["leads"]])).collect()
    };
    assert_eq!(leads(&compared, true), leads(&before, false), "{compared}");
    let now: i64 = leads(&compared, false).iter().map(|variant| variant[1].as_i64().unwrap()).sum();
    assert_eq!(now, 4, "{compared}");
    let table = String::from_utf8(daemon.command(&COMPARE[..3]).stdout).unwrap();
    assert!(table.contains("control, until 20") && table.contains("ranking or settings changed"), "{table}");
}

#[tokio::test]
async fn with_enough_leads_what_differs_is_said_to() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    rule(plan.directory(), "narrow", &without_bank());
    let daemon = plan.start().await.with_live_company();
    for _ in 0..300 {
        lead(&daemon).await;
    }
    let compared = told(&daemon, &COMPARE);
    let alone = &compared["variants"][1];
    assert_eq!((&alone["variant"], &alone["figures"][0]["of"]), (&json!("alone"), &json!("withOffers")));
    let difference = &alone["figures"][0]["difference"];
    assert_eq!((&difference["value"], &difference["differs"]), (&json!(-1.0), &json!(true)), "{compared}");
    assert!(difference["high"].as_f64().unwrap() < -0.9, "{compared}");
    assert_eq!(alone["figures"][3]["difference"]["differs"], false, "nobody was funded: {compared}");
}

#[tokio::test]
async fn a_comparison_is_a_table_a_file_for_spreadsheets_or_a_page() {
    let daemon = plan(&[("narrow", without_bank())]).start().await.with_live_company();
    drawn(&daemon).await;
    let text = |words: &[&str]| String::from_utf8(daemon.command(words).stdout).unwrap();
    let table = text(&["experiment", "compare", "narrow"]);
    assert!(table.contains("more leads per variant"), "{table}");
    let csv = text(&["experiment", "compare", "narrow", "--format", "csv"]);
    let heading = "variant,until,leads,figure,total,value,difference,low,high,differs,leadsMissing\ncontrol,";
    assert!(csv.starts_with(heading), "{csv}");
    let page = format!("{}/console/experiments?rule=narrow", daemon.admin);
    let page = daemon.request_with(Method::GET, &page, "", &[("cookie", daemon.signed_in().await)], "").await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("against its control") && page.contains("more leads per variant"), "{page}");

    let url = format!("{}/experiments/narrow", daemon.admin);
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 401);
    let answer = daemon.request(Method::GET, &format!("{url}?format=csv"), &daemon.admin_key, "").await;
    assert_eq!((answer.status, String::from_utf8_lossy(&answer.body).trim()), (200, csv.trim()));
    let wrong = daemon.request(Method::GET, &format!("{url}?format=xml"), &daemon.admin_key, "").await;
    assert_eq!((wrong.status, wrong.attributes()), (400, vec!["format".to_owned()]));
    let missing = format!("{}/experiments/nothing", daemon.admin);
    assert_eq!(daemon.request(Method::GET, &missing, &daemon.admin_key, "").await.status, 404);
    assert!(!daemon.command(&["experiment", "compare", "nothing"]).status.success());
}

#[tokio::test]
async fn what_was_drawn_is_compared_after_a_kill_when_the_rule_is_gone_and_of_a_stopped_daemon() {
    let daemon = plan(&[("narrow", without_bank())]).start().await.with_live_company();
    drawn(&daemon).await;
    let compared = told(&daemon, &COMPARE);
    let daemon = daemon.kill().start().await;
    assert_eq!(told(&daemon, &COMPARE), compared);
    std::fs::remove_file(daemon.file("config/experiments/narrow.toml")).unwrap();
    assert!(daemon.command(&["reload"]).status.success());
    let listed = until_counted(&daemon, "narrow", ("leads", LEADS)).await;
    assert_eq!(listed["state"], "removed");
    assert_eq!(told(&daemon, &COMPARE), compared);
    let (_, stopped) = daemon.terminate();
    let output = stopped.plan.command(&COMPARE).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), compared);
}

#[tokio::test]
async fn every_fault_of_every_file_is_told_at_once() {
    let files = [
        ("Loud", "[[variants]]\nname = 'a'\npercent = 10\n"),
        ("faulty", "starts = 2026-02-01T00:00:00Z\nends = 'tomorrow'\nvariants = []\ncolour = 1\n"),
        (
            "odd",
            "starts = 2026-02-01T00:00:00Z\nends = 2026-01-01T00:00:00Z\ncompanies = []\n[tags]\ncampaign = []\n\
             [[variants]]\nname = 'control'\npercent = 60\ndeadline = '1h'\n\
             [[variants]]\nname = 'B'\npercent = 60\nranking = 'best'\npartners = ['bnak']\nwithout_partners = ['bank']\n\
             [[variants]]\nname = 'none'\npercent = 0\n\
             [[variants]]\nname = 'odd'\npercent = nan\n",
        ),
    ];
    let plan = plan(&files.map(|(name, text)| (name, text.to_owned())));
    let told = plan.command(&["check"]).output().unwrap();
    assert_eq!(told.status.code(), Some(64));
    let told = String::from_utf8(told.stderr).unwrap();
    for fault in [
        "must be named by lower-case letters",
        "faulty.toml:2: `ends` must be a moment with its offset",
        "faulty.toml:4: `colour`",
        "odd.toml:2: `ends` must be after `starts`",
        "`companies` must be names of companies",
        "`tags.campaign` must have at least one value",
        "`variants[0].name` is that of the leads that get no variant",
        "`variants[0].deadline` must be",
        "`variants[1].name` must be lower-case letters",
        "`variants[1].ranking` must be a ranking of the settings",
        "`variants[1].partners[0]` names `bnak`, which is not a partner; did you mean `bank`?",
        "`variants[1].without_partners` conflicts with `partners`",
        "`variants[2].percent` must be at least 0.0001",
        "`variants[3].percent` must be at least 0.0001 and below 100, of a hundred leads, got NaN",
        "`variants` must leave leads for the control",
    ] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
}

/// However many are declared: each lead of the rule would be held against them.
#[tokio::test]
async fn a_rule_has_so_many_variants_at_most_and_others_are_told_the_limit() {
    let variant = |nth: usize| format!("[[variants]]\nname = 'v{nth}'\npercent = 0.01\nsecond_look = true\n");
    let rule = |count: usize| (0..count).map(variant).collect::<String>();
    let plan =
        plan(&[("many", rule(5_000)), ("few", rule(100).replace("second_look = true", "deadline = '5s'"))]);
    let told = plan.command(&["check"]).output().unwrap();
    let text = String::from_utf8(told.stderr).unwrap();
    let wanted = "many.toml:1: `variants` must be 100 at most (`experiments.variants_per_rule`), got 5000";
    assert!(told.status.code() == Some(64) && text.contains(wanted), "{text}");
    assert!(!text.contains("few.toml"), "{text}");
}

#[tokio::test]
async fn rules_that_change_the_same_thing_of_the_same_leads_are_refused() {
    let companies = |name: &str| format!("companies = ['{name}']\n{}", without_bank());
    let overlapping = plan(&[("one", without_bank()), ("two", companies("Live"))]);
    let told = overlapping.command(&["check"]).output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("changes the partners of leads that `one` may change too"), "{told}");
    let apart = plan(&[("one", companies("One")), ("two", companies("Live"))]);
    let told = apart.command(&["check"]).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}
