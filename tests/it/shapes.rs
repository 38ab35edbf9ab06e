//! Twelve invented partners of known shapes, declared by files alone (`tests/shapes`): their cases hold, give the
//! same over sockets, and each fault has the right word.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{Daemon, sample};
use crate::sandbox::Sandbox;

/// What every secret is, and what the simulator signs with.
const SECRET: &str = "for-the-sandbox";

fn shapes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shapes")
}

/// The names of what lies in a directory, without their endings, in order.
fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// A case of a partner, as its file has it.
#[derive(Clone)]
struct Case {
    partner: String,
    name: String,
    told: Value,
}

impl Case {
    fn of(partner: &str, name: &str) -> Self {
        let file = shapes().join("cases").join(partner).join(format!("{name}.json"));
        let told = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        Self { partner: partner.to_owned(), name: name.to_owned(), told }
    }

    fn all() -> Vec<Self> {
        let cases = shapes().join("cases");
        let of = |partner: &String| {
            names(&cases.join(partner)).into_iter().map(|name| Self::of(partner, &name)).collect()
        };
        names(&cases).iter().flat_map::<Vec<Self>, _>(of).collect()
    }

    /// The same with another value at a place of its file.
    fn with(mut self, place: &str, value: Value) -> Self {
        *self.told.pointer_mut(place).unwrap_or_else(|| panic!("{}/{}: {place}", self.partner, self.name)) =
            value;
        self
    }

    /// How an ask that is answered so ends.
    fn outcome(&self) -> &'static str {
        let expected = &self.told["expect"];
        match (&expected["offers"], &expected["declined"], &expected["failed"]) {
            (Value::Array(offers), _, _) if offers.is_empty() => "declined",
            (Value::Array(_), _, _) => "offers",
            (_, Value::String(_), _) => "rejected",
            (_, Value::Bool(true), _) => "declined",
            (_, _, Value::String(_)) => "bad_answer",
            _ => panic!("{}/{} expects nothing", self.partner, self.name),
        }
    }
}

impl Case {
    /// Whether a call of the partner's in it cannot be read: then it is asked, or calls again, which the case does not tell.
    fn is_heard_again(&self) -> bool {
        let calls = self.told["calls"].as_array().map_or(&[][..], Vec::as_slice);
        calls.iter().any(|turn| turn["callback"]["expect"] == "unreadable")
    }
}

/// A daemon with the twelve partners.
struct Twelve {
    daemon: Daemon,
    rounds: usize,
}

impl Twelve {
    async fn start() -> Self {
        let mut plan = Daemon::with_partners(Vec::new()).setting("wire.breakers_only_log", "true");
        for key in names(&shapes().join("partners")) {
            let text = file(&key, "http://127.0.0.1:1");
            for name in text.split("{ env = \"").skip(1) {
                plan = plan.variable(name.split('"').next().unwrap(), SECRET);
            }
            fs::write(plan.partners().join(format!("{key}.toml")), text).unwrap();
        }
        let twelve = Self { daemon: plan.start().await, rounds: 0 };
        twelve.suppress("somebody.else@example.com");
        twelve
    }

    /// A simulator that answers so, one case a partner, and is where all of them live from now on; `replaced` are words of
    /// their files in other words.
    fn answered(&mut self, cases: &[Case], replaced: &[(&str, &str, &str)]) -> Sandbox {
        self.rounds += 1;
        let directory = self.daemon.file(&format!("round_{}", self.rounds));
        for case in cases {
            let of_partner = directory.join(&case.partner);
            fs::create_dir_all(&of_partner).unwrap();
            fs::write(of_partner.join("offers.json"), case.told.to_string()).unwrap();
        }
        let sandbox = Sandbox::of(&directory, &[]);
        for key in names(&shapes().join("partners")) {
            let mut text = file(&key, &sandbox.url);
            for (_, part, with) in replaced.iter().filter(|(of, _, _)| *of == key) {
                assert!(text.contains(part), "{key}: {part}");
                text = text.replace(part, with);
            }
            fs::write(self.daemon.partners().join(format!("{key}.toml")), text).unwrap();
        }
        let reloaded = self.daemon.command(&["reload"]);
        assert!(reloaded.status.success(), "{}", String::from_utf8_lossy(&reloaded.stderr));
        sandbox
    }

    fn suppress(&self, email: &str) {
        let file = self.daemon.file("optouts.txt");
        fs::write(&file, email).unwrap();
        let add = [
            "suppressions",
            "add",
            "pennygate_optouts",
            file.to_str().unwrap(),
            "--kind",
            "email",
            "--plain",
        ];
        let added = self.daemon.command(&add);
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    }

    /// Submits a lead; its table, and how every seat ended.
    async fn submit(&self, lead: &Value) -> (Value, Vec<Value>) {
        let table = self.daemon.submit_blocking(lead.to_string()).await.json();
        let told = self.daemon.command(&["explain", table["leadUuid"].as_str().unwrap(), "--json"]);
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        let seats = told["rateTables"][0]["seats"].as_array().unwrap().clone();
        (table, seats)
    }

    /// What the simulator was asked so far of a partner, by method and path.
    async fn asked(&self, sandbox: &mut Sandbox, partner: &str) -> Vec<String> {
        let list = self.daemon.request(Method::GET, &sandbox.url, "", "").await;
        assert_eq!(list.status, 200);
        let mut asked = Vec::new();
        loop {
            let line = sandbox.line();
            if line.ends_with(" listed") {
                return asked;
            }
            let request: Vec<&str> = line.splitn(3, ' ').take(2).collect();
            if let Some(path) = request[1].strip_prefix(&format!("/{partner}")) {
                asked.push(format!("{} {path}", request[0]));
            }
        }
    }
}

/// The file of a partner that is not paused and whose sandbox is the simulator at `url`.
fn file(key: &str, url: &str) -> String {
    let text = fs::read_to_string(shapes().join("partners").join(format!("{key}.toml"))).unwrap();
    text.replace("paused = true\n", "")
        .replace(&format!("https://sandbox.{}.example/", key.replace('_', "-")), &format!("{url}/{key}/"))
        .replace("wire = { ", r#"wire = { allow_addresses = ["127.0.0.1"], "#)
}

fn lead(name: &str) -> Value {
    serde_json::from_str(&sample(name)).unwrap()
}

/// Puts what a case adds to its lead over it.
fn merge(into: &mut Value, added: &Value) {
    match added {
        Value::Object(entries) => {
            for (name, value) in entries {
                merge(&mut into[name], value);
            }
        }
        _ => *into = added.clone(),
    }
}

/// The seat of a partner for a product type.
fn seat<'s>(seats: &'s [Value], partner: &str, product: &str) -> &'s Value {
    let mine = |seat: &&Value| seat["partner"] == partner && seat["productType"] == product;
    seats.iter().find(mine).unwrap_or_else(|| panic!("{partner} has no seat for {product}: {seats:?}"))
}

/// How a case did not come to what it expects.
fn difference(case: &Case, seats: &[Value]) -> Option<String> {
    let seat = seat(seats, &case.partner, case.told["product"].as_str().unwrap());
    let shown = seat["offers"].as_array().unwrap().iter().filter(|offer| offer["why"] == "shown").count();
    let expected = &case.told["expect"];
    let cause = expected["failed"].as_str().unwrap_or_default();
    let as_expected = seat["why"] == case.outcome()
        && shown == expected["offers"].as_array().map_or(0, Vec::len)
        && seat["cause"].as_str().unwrap_or_default().contains(cause);
    (!as_expected).then(|| format!("{}/{}: {expected} expected, {seat} found", case.partner, case.name))
}

#[test]
fn each_of_the_twelve_has_cases_with_offers_a_refusal_and_failures() {
    let partners = names(&shapes().join("partners"));
    assert_eq!(partners.len(), 12, "{partners:?}");
    let mut outcomes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for case in Case::all() {
        outcomes.entry(case.partner.clone()).or_default().push(case.outcome());
    }
    assert_eq!(outcomes.keys().cloned().collect::<BTreeSet<_>>(), partners);
    for (partner, outcomes) in outcomes {
        let count = |wanted: &[&str]| outcomes.iter().filter(|outcome| wanted.contains(outcome)).count();
        let counts = (count(&["offers"]), count(&["declined", "rejected"]), count(&["bad_answer"]));
        assert!(counts.0 >= 1 && counts.1 >= 1 && counts.2 >= 2, "{partner}: {counts:?}");
    }
}

#[test]
fn their_files_are_good_and_their_cases_hold() {
    let plan = Daemon::with_partners(Vec::new());
    for key in names(&shapes().join("partners")) {
        let name = format!("{key}.toml");
        fs::copy(shapes().join("partners").join(&name), plan.partners().join(&name)).unwrap();
    }
    let run = |arguments: &[&str]| {
        let output = plan.command(arguments).output().unwrap();
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{shown}");
        shown
    };
    assert!(run(&["check"]).contains("12 partners"));
    let (cases, leads) = (shapes().join("cases"), shapes().with_file_name("leads"));
    let shown =
        run(&["partners", "cases", "--cases", cases.to_str().unwrap(), "--leads", leads.to_str().unwrap()]);
    assert!(shown.contains(&format!("{} cases, all as expected", Case::all().len())), "{shown}");
}

#[tokio::test]
async fn every_case_comes_to_the_same_over_sockets() {
    let mut rounds: Vec<Vec<Case>> = Vec::new();
    for case in Case::all().into_iter().filter(|case| !case.is_heard_again()) {
        match rounds.iter_mut().find(|round| round.iter().all(|other| other.partner != case.partner)) {
            Some(round) => round.push(case),
            None => rounds.push(vec![case]),
        }
    }
    let mut twelve = Twelve::start().await;
    let mut differences = Vec::new();
    for round in rounds {
        let _sandbox = twelve.answered(&round, &[]);
        let mut leads: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
        for case in &round {
            leads.entry(case.told["lead"].as_str().unwrap()).or_default().push(case);
        }
        for (name, cases) in leads {
            let mut lead = lead(name);
            cases.iter().filter_map(|case| case.told.get("with")).for_each(|added| merge(&mut lead, added));
            let (_, seats) = twelve.submit(&lead).await;
            differences.extend(cases.iter().filter_map(|case| difference(case, &seats)));
        }
    }
    assert!(differences.is_empty(), "{}\n{}", differences.join("\n"), twelve.daemon.log());
}

#[tokio::test]
async fn an_answer_that_comes_later_is_asked_for_until_it_is_there_or_time_is_up() {
    let mut twelve = Twelve::start().await;
    let grows = Case::of("teasel_agency", "offers");
    let never =
        Case::of("corriebeck_leads", "offers").with("/calls/2/response/json/payout", json!("Pending"));
    let hurried = ("corriebeck_leads", r#"timeout = "9s""#, r#"timeout = "1s""#);
    let mut sandbox = twelve.answered(&[grows, never], &[hurried]);
    let (table, seats) = twelve.submit(&lead("everything")).await;
    let carriers: Vec<&Value> =
        table["specialOffers"].as_array().unwrap().iter().map(|offer| &offer["name"]).collect();
    assert!(
        carriers.contains(&&json!("Teal Mutual")) && carriers.contains(&&json!("Gadwall Home")),
        "{table}"
    );
    assert_eq!(seat(&seats, "corriebeck_leads", "other")["why"], "timed_out");
    let asked = twelve.asked(&mut sandbox, "corriebeck_leads").await;
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("GET /submit")).count(), 1, "{asked:?}");
    assert!(asked.iter().filter(|asked| asked.starts_with("GET /queue")).count() > 1, "{asked:?}");
}

#[tokio::test]
async fn a_partner_that_calls_back_must_sign_and_be_in_time() {
    let mut twelve = Twelve::start().await;
    let case = || Case::of("merrowfield_finance", "offers");
    let hurried = ("merrowfield_finance", r#"timeout = "10s""#, r#"timeout = "1s""#);
    for (case, answered, ended) in [
        (case(), "204", "offers"),
        (case().with("/calls/1/callback/sign/key", json!("of somebody else")), "403", "timed_out"),
        (case().with("/calls/1/callback/after_ms", json!(1500)), "410", "timed_out"),
    ] {
        let replaced: &[_] = if ended == "offers" { &[] } else { std::slice::from_ref(&hurried) };
        let mut sandbox = twelve.answered(&[case], replaced);
        let (_, seats) = twelve.submit(&lead("everything")).await;
        assert_eq!(seat(&seats, "merrowfield_finance", "loan")["why"], ended, "{answered}: {seats:?}");
        let called =
            std::iter::repeat_with(|| sandbox.line()).find(|line| line.contains(" callback ")).unwrap();
        assert!(called.ends_with(answered), "{called}");
    }
}

#[tokio::test]
async fn a_step_that_fails_or_has_no_secret_to_carry_on_ends_the_ask() {
    let mut twelve = Twelve::start().await;
    for (name, ended, wanted) in [
        ("offers", "offers", &["GET /v2/secret", "POST /v2/price"][..]),
        ("a_key_that_is_wrong", "bad_answer", &["GET /v2/secret"]),
        ("the_secret_has_expired", "bad_answer", &["GET /v2/secret", "POST /v2/price"]),
    ] {
        let mut sandbox = twelve.answered(&[Case::of("lunewell_pricing", name)], &[]);
        let (_, seats) = twelve.submit(&lead("mortgage_purchase")).await;
        assert_eq!(seat(&seats, "lunewell_pricing", "mortgage")["why"], ended, "{name}: {seats:?}");
        assert_eq!(twelve.asked(&mut sandbox, "lunewell_pricing").await, wanted, "{name}");
    }
}

#[tokio::test]
async fn who_bids_too_little_or_less_than_others_is_not_sent_the_person() {
    let mut twelve = Twelve::start().await;
    let highest = || Case::of("sallowmere_exchange", "offers");
    let bids = |dollars: &str| {
        let bid =
            "<Response><Success>true</Success><TransactionId>T 9</TransactionId><Payout>21.00</Payout><Bids>";
        let case = Case::of("pennygate_legs", "offers");
        assert_eq!(case.told["calls"][0]["response"]["xml"][0], bid);
        case.with("/calls/0/response/xml/0", json!(bid.replace("21.00", dollars)))
    };
    for (dollars, ended, called) in
        [("21.00", "offers", 2), ("9.00", "outbid", 1), ("7.99", "below_floor", 1)]
    {
        let one = ("pennygate_legs", "best = 3", "best = 1");
        let mut sandbox = twelve.answered(&[highest(), bids(dollars)], &[one]);
        let (_, seats) = twelve.submit(&lead("everything")).await;
        assert_eq!(seat(&seats, "sallowmere_exchange", "other")["why"], "offers", "{dollars}: {seats:?}");
        assert_eq!(seat(&seats, "pennygate_legs", "other")["why"], ended, "{dollars}: {seats:?}");
        let asked = twelve.asked(&mut sandbox, "pennygate_legs").await;
        assert_eq!(asked, ["POST /lead/ping", "POST /lead/post"][..called], "{dollars}");
    }
}

#[tokio::test]
async fn offers_of_its_own_are_shown_whole_or_not_at_all() {
    let mut twelve = Twelve::start().await;
    let sandbox = twelve.answered(&[Case::of("brackenmoor_panel", "cards")], &[]);
    let (table, _) = twelve.submit(&lead("everything")).await;
    let card = &table["creditCardOffers"][0];
    assert_eq!(
        (&card["partner"]["name"], &card["marketplace"]["name"]),
        (&json!("Smew Bank"), &json!("Brackenmoor Panel"))
    );
    assert_eq!(
        (&card["details"]["cardName"], &card["details"]["cardType"]),
        (&json!("Smew One"), &json!("visa"))
    );
    assert_eq!(card["details"]["purchaseAprText"], "24.9 % representative");
    drop(sandbox);
    let _sandbox = twelve.answered(&[Case::of("brackenmoor_panel", "a_card_of_no_scheme_that_we_know")], &[]);
    let (table, seats) = twelve.submit(&lead("everything")).await;
    assert_eq!(table["creditCardOffers"], json!([]));
    let cause = seat(&seats, "brackenmoor_panel", "credit_card")["cause"].as_str().unwrap();
    assert!(cause.contains("card.cardType") && !cause.contains("STORE"), "{cause}");
}

#[tokio::test]
async fn who_is_not_to_be_asked_about_is_not_told_to_the_partner() {
    let mut twelve = Twelve::start().await;
    let mut sandbox = twelve.answered(&[Case::of("pennygate_legs", "offers")], &[]);
    let of_another = |section: &str, name: &str, value: Value| {
        let mut lead = lead("everything");
        lead["personalInformation"]["email"] = json!("ada@example.com");
        lead[section][name] = value;
        lead
    };
    twelve.suppress("Adaeze.Morlund@example.com");
    for (lead, ended) in [
        (lead("everything"), "suppressed"),
        (of_another("personalInformation", "zipcode", json!("00601")), "unmet"),
        (of_another("financialInformation", "annualIncome", json!(20_000)), "unmet"),
    ] {
        let (_, seats) = twelve.submit(&lead).await;
        assert_eq!(seat(&seats, "pennygate_legs", "other")["why"], ended, "{seats:?}");
        assert_eq!(twelve.asked(&mut sandbox, "pennygate_legs").await, [""; 0]);
    }
    let (_, seats) = twelve.submit(&of_another("personalInformation", "firstName", json!("Ada"))).await;
    assert_eq!(seat(&seats, "pennygate_legs", "other")["why"], "offers", "{seats:?}");
}
