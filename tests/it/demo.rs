//! `GET /demo`: the page that tries a lead by hand.

use hyper::Method;
use serde_json::Value;

use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon, Plan};

async fn get(daemon: &Daemon, path: &str) -> Answer {
    daemon.request(Method::GET, &format!("{}{path}", daemon.api), "", "").await
}

fn plan() -> Plan {
    Daemon::with_partners(prompt_partners(1))
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

#[tokio::test]
async fn a_sandbox_has_the_page_and_nothing_of_it_comes_from_elsewhere() {
    let daemon = plan().start().await;
    let page = get(&daemon, "/demo").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");

    let page = text(&page);
    assert!(
        !page.contains("style=") && !page.contains("onclick") && !page.contains("<style"),
        "the policy forbids it"
    );
    let loaded: Vec<&str> = page.split(['"']).filter(|part| part.starts_with("demo/")).collect();
    assert_eq!(loaded, ["demo/demo.css", "demo/offers.css", "demo/offers.js", "demo/demo.js"]);
    for file in loaded {
        let kind =
            if file.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
        let answer = get(&daemon, &format!("/{file}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)));
        assert!(!text(&answer).contains("://"), "{file} names no other host");
    }
    assert_eq!(get(&daemon, "/demo/page.html").await.status, 404);
}

#[tokio::test]
async fn who_is_no_sandbox_or_wants_none_has_no_page() {
    let without = plan().setting("api.demo", "false").start().await;
    assert_eq!(get(&without, "/demo").await.status, 404);
    assert_eq!(get(&without, "/demo/demo.js").await.status, 404);
    let (_, stopped) = without.terminate();
    let live = stopped.setting("api.demo", "true").setting("tokens.bootstrap", "false").start().await;
    assert_eq!(get(&live, "/demo").await.status, 404);
}

/// The offers of both have one look: the demo has the offer page's controls, style and script.
#[tokio::test]
async fn the_offers_are_shown_as_on_the_offer_page() {
    let daemon = plan().start().await;
    let table = daemon.submit("{}").await.json();
    let offers = text(&daemon.request(Method::GET, table["partnerPageUrl"].as_str().unwrap(), "", "").await);
    let [demo, style, script] =
        ["/demo", "/demo/offers.css", "/demo/offers.js"].map(|path| get(&daemon, path));
    let sorting = offers.find("<div id=\"sorting\"").zip(offers.find("<div id=\"offers\""));
    let sorting = &offers[sorting.unwrap().0..sorting.unwrap().1];
    assert!(text(&demo.await).contains(sorting.trim()), "{sorting}");
    for part in [style, script] {
        let part = text(&part.await);
        assert!(offers.contains(part.trim()), "{part}");
    }
}

/// What the script does, step by step: the paths and the names that it takes from answers are there.
#[tokio::test]
async fn the_leads_that_the_page_can_send_are_good() {
    let daemon = Daemon::with_sample_partners().start().await;
    let script = text(&get(&daemon, "/demo/demo.js").await);
    let person =
        script.split("const PERSON = {").nth(1).and_then(|rest| rest.split("\n};\n").next()).unwrap();
    let person = json_of(person);
    for (product, wish) in [
        (
            r#"loan","credit_card","savings","mortgage"#,
            r#""loanInformation":{"purpose":"debt_consolidation","loanAmount":10000},
               "savingsInformation":{"minDepositAmount":5000},
               "mortgageInformation":{"mortgageType":"purchase","propertyType":"single_family","propertyStatus":"rent",
               "occupancyType":"primary","propertyValue":565000,"mortgageAmount":452000,"downPaymentAmount":113000,
               "numUnits":1,"propertyState":"WA"}"#,
        ),
        ("loan", r#""loanInformation":{"purpose":"home_improvement","loanAmount":12500}"#),
        ("credit_card", r#""mortgageInformation":{"propertyStatus":"rent"}"#),
        ("savings", r#""mortgageInformation":{}"#),
        (
            "mortgage",
            r#""mortgageInformation":{"mortgageType":"purchase","propertyType":"single_family","propertyStatus":"rent",
               "occupancyType":"primary","propertyValue":565000,"mortgageAmount":452000,"downPaymentAmount":113000,
               "numUnits":1,"propertyState":"WA"}"#,
        ),
    ] {
        let lead = format!(
            r#"{{"productTypes":["{product}"],{wish},"personalInformation":{{"state":"WA"}},
                "creditInformation":{{"providedCreditRating":"good"}}}}"#
        );
        let mut lead: Value = serde_json::from_str(&lead).unwrap();
        for (section, attributes) in person.as_object().unwrap() {
            for (name, value) in attributes.as_object().unwrap() {
                let told = lead[section].get(name).is_some();
                (!told).then(|| lead[section][name] = value.clone());
            }
        }
        let answer = daemon.submit(lead.to_string()).await;
        assert_eq!(answer.status, 200, "{product}: {}", text(&answer));
        let table = daemon.complete(answer.json()["uuid"].as_str().unwrap()).await;
        let arrays = ["loanOffers", "creditCardOffers", "savingsOffers", "mortgageOffers", "specialOffers"];
        let offers: usize = arrays.iter().map(|array| table[array].as_array().unwrap().len()).sum();
        assert!(offers > 0, "{product} has offers to show");
        let kinds = arrays.iter().filter(|array| !table[**array].as_array().unwrap().is_empty()).count();
        assert!(kinds >= product.split(',').count(), "{product}: {kinds} kinds of offers");
    }
}

#[tokio::test]
async fn the_first_start_tells_where_it_is() {
    let plan = plan();
    let mut child = plan.command(&["serve"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(stdout).map_while(Result::ok);
    let publishable =
        lines.find_map(|line| line.trim().strip_prefix("publishable").map(|rest| rest.trim().to_owned()));
    let address = lines.find(|line| line.contains("/demo#"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(address.unwrap().ends_with(&format!("/demo#{}", publishable.unwrap())));
}

/// An object of the script, which writes its names without quotes and ends its lists with commas.
fn json_of(inside: &str) -> Value {
    let words = inside.split_whitespace().map(|word| match word.strip_suffix(':') {
        Some(name) => format!("\"{name}\":"),
        None => word.to_owned(),
    });
    let text = words.collect::<Vec<_>>().join(" ").replace(", }", " }");
    let text = format!("{{{}}}", text.trim_end_matches(','));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
