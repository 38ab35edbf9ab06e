//! Reloads: all files or none, while tables are being built.

use std::path::Path;
use std::process::Output;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Daemon, sample, signal};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn reload(daemon: &Daemon) -> String {
    let output = daemon.command(&["reload"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

async fn savings_offers(daemon: &Daemon) -> usize {
    daemon.submit("{}").await.json()["savingsOffers"].as_array().unwrap().len()
}

#[tokio::test]
async fn new_leads_meet_the_changed_files_and_the_report_says_what_changed() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    assert_eq!(savings_offers(&daemon).await, 2);
    assert!(
        reload(&daemon).starts_with("reloaded; nothing has changed\n2 partners, 2 offers, partner files ")
    );

    std::fs::remove_file(daemon.partners().join("prompt_0.toml")).unwrap();
    let slower = partner("prompt_1").savings("").replaced("\"10s\"", "\"9s\"");
    slower.write(daemon.partners());
    partner("added").savings("").loan("").write(daemon.partners());
    let told = reload(&daemon);
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    assert_eq!(
        lines[..5],
        [
            "reloaded",
            "+ added: loan (1 offer), savings (1 offer)",
            "- prompt_0: savings (1 offer)",
            "~ prompt_1",
            "savings: timeout \"10s\" → \"9s\"",
        ]
    );
    let table = daemon.submit("{}").await.json();
    let offers = table["savingsOffers"].to_string();
    let of = ["added", "prompt_0", "prompt_1"].map(|key| offers.contains(&format!("Account of {key}")));
    assert_eq!(of, [true, false, true], "{offers}");
}

#[tokio::test]
async fn a_reload_takes_not_all_partners_out() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    for file in ["prompt_0.toml", "prompt_1.toml"] {
        std::fs::remove_file(daemon.partners().join(file)).unwrap();
    }
    let refused = daemon.command(&["reload"]);
    let told = stderr(&refused);
    assert!(refused.status.code() == Some(64) && told.contains("never removes all 2 partners"), "{told}");
    assert_eq!(savings_offers(&daemon).await, 2);

    let empty = Daemon::with_partners(Vec::new()).start().await;
    assert!(reload(&empty).contains("? no partner files found, so no lead gets an offer"));
    partner("added").savings("").write(empty.partners());
    assert!(reload(&empty).contains("+ added"));
}

/// The partner that is held for second look is gone from the files when it is asked, and so is the way to it.
#[tokio::test]
async fn a_table_in_flight_is_finished_under_the_book_it_was_begun_with() {
    let far = FarSide::start(|_| Deed::Json(200, json!({"offers": [{}]}).to_string())).await;
    let again = partner("again").second_look(5.0, "").and(&format!(
        r#"
[products.other.http]
url = "{url}"
sandbox_url = "{url}"
json = {{ id = "lead_uuid" }}
wire = {{ allow_addresses = ["127.0.0.1"] }}
answer = {{ offer = {{ key = "'instead'" }} }}
"#,
        url = far.url("/again")
    ));
    let fails_late = r#"simulate = { delay = "2s", failure_rate = 1.0, failure = "error" }"#;
    let daemon = Daemon::with_partners(vec![partner("late").loan(fails_late), again]).start().await;
    let lead = sample("personal_loan").replace("\"loan\"", "\"loan\",\"other\"");
    let submit = async || daemon.submit(&lead).await.json()["uuid"].as_str().unwrap().to_owned();
    let specials = async |uuid: &str| daemon.complete(uuid).await["specialOffers"].as_array().unwrap().len();

    let in_flight = submit().await;
    std::fs::remove_file(daemon.partners().join("again.toml")).unwrap();
    assert!(reload(&daemon).contains("- again: other (1 offer)"));
    let later = submit().await;
    assert_eq!((specials(&in_flight).await, specials(&later).await), (1, 0), "{}", daemon.log());
    assert_eq!(far.received().len(), 1);
}

#[tokio::test]
async fn one_fault_anywhere_keeps_everything_as_it_was() {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("matching.deadline", "15s");
    plan.write_settings("[matching]\nsubmit_wait = '10s'\n");
    let daemon = plan.start().await;
    let before = reload(&daemon);

    partner("added").savings("").write(daemon.partners());
    std::fs::write(daemon.partners().join("broken.toml"), "[partner]\nname = 7\n").unwrap();
    daemon.write_settings("[matching]\nsubmit_wait = '10s'\npartners_per_lead = 0\noffers_per_partner = 1\n");
    let refused = daemon.command(&["reload"]);
    assert_eq!(refused.status.code(), Some(64));
    let told = stderr(&refused);
    for fault in [
        "offerd.toml:3: `matching.partners_per_lead` must be from 1 to 10000, got 0",
        "broken.toml:2: `partner.name`",
        "nothing was started or changed",
    ] {
        assert!(told.contains(fault), "{fault} is not in: {told}");
    }
    let refused = daemon.command(&["reload", "--json"]);
    assert_eq!(refused.status.code(), Some(64));
    let told: Value = serde_json::from_str(&stdout(&refused)).unwrap();
    let fault = &told["faults"][0];
    assert_eq!((&told["outcome"], &fault["line"]), (&json!("refused"), &json!(3)), "{told}");
    assert_eq!(fault["key"], "matching.partners_per_lead");

    assert_eq!(savings_offers(&daemon).await, 1);
    daemon.logged("settings and partners not reloaded; still running the previous ones").await;
    let metrics = daemon.metrics().await;
    for line in [
        "offerd_reloads_total{result=\"ok\"} 1",
        "offerd_reloads_total{result=\"refused\"} 2",
        "offerd_reload_refused 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }

    std::fs::remove_file(daemon.partners().join("broken.toml")).unwrap();
    std::fs::remove_file(daemon.partners().join("added.toml")).unwrap();
    daemon.write_settings("[matching]\nsubmit_wait = '10s'\n");
    assert_eq!(reload(&daemon), before, "the same files are the same book");
}

/// `offers_per_partner` is seen in tables, `cors_origins` and `vendor` in headers, and the log tells of its own filter.
#[tokio::test]
async fn reloadable_settings_are_in_force_at_once_and_the_others_are_said_to_wait() {
    let two = partner("two").loan("").replaced("terms = [36]", "terms = [24, 36]");
    let plan = Daemon::with_partners(vec![two]);
    plan.write_settings("[api]\nvendor = 'offerd'\n");
    let daemon = plan.start().await;
    let loans =
        async || daemon.submit(sample("personal_loan")).await.json()["loanOffers"].as_array().unwrap().len();
    let asked_from = async |origin: &str, vendor: &str| {
        let accept = format!("application/vnd.{vendor}.v1+json");
        let headers = [("origin", origin), ("accept", accept.as_str())];
        let url = format!("{}/leads/rateTables", daemon.api);
        let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, "{}").await;
        let allowed = answer.header("access-control-allow-origin").is_some();
        (allowed, answer.header("content-type").unwrap_or_default().to_owned())
    };
    let (_, current) = asked_from("https://shop.example", "acme").await;
    let (_, older) = asked_from("https://shop.example", "offerd").await;
    assert_eq!(loans().await, 2);

    daemon.write_settings(
        "[matching]\noffers_per_partner = 1\n[engine]\nthreads = 3\n\
         [api]\ncors_origins = 'https://shop.example'\nvendor = 'acme'\n[log]\nfilter = 'debug'\n",
    );
    let output = daemon.command(&["reload", "--json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let keys = |list: &str| -> Vec<String> {
        let changes = report["settings"][list].as_array().unwrap().iter();
        changes.map(|change| change["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(report["outcome"], "reloaded");
    assert_eq!(
        keys("changed"),
        ["api.cors_origins", "api.vendor", "log.filter", "matching.offers_per_partner"]
    );
    assert_eq!(keys("waitingForRestart"), ["engine.threads"]);
    let waits = &report["settings"]["waitingForRestart"][0];
    assert_eq!((&waits["before"], &waits["after"]), (&json!("0"), &json!("3")));
    assert!(waits["source"].as_str().unwrap().ends_with("offerd.toml:4"), "{waits}");

    assert_eq!(loans().await, 1);
    assert_eq!(asked_from("https://shop.example", "acme").await, (true, older));
    assert_eq!(asked_from("https://other.example", "offerd").await, (false, current));
    daemon.logged("request answered").await;
    let again = reload(&daemon);
    assert!(again.starts_with("reloaded; nothing has changed\nwaiting for a restart:\n"), "{again}");
}

#[tokio::test]
async fn a_hang_up_signal_does_what_the_command_does() {
    let plan = Daemon::with_partners(prompt_partners(1));
    plan.write_settings("");
    let daemon = plan.start().await;
    partner("added").savings("").write(daemon.partners());
    daemon.write_settings("[matching]\nlinger = '1s'\n[store]\ngroup = 7\n");
    signal(daemon.pid(), "HUP");
    daemon.logged("settings and partners reloaded").await;
    assert_eq!(savings_offers(&daemon).await, 2);
    let log = daemon.log();
    let line = log.lines().find(|line| line.contains("settings and partners reloaded")).unwrap();
    for count in ["added=1", "removed=0", "changed=0", "settings_changed=1", "waiting_for_restart=1"] {
        assert!(line.contains(count), "{count} is not in: {line}");
    }
    assert!(log.contains("a changed setting takes effect at the next restart key=\"store.group\""), "{log}");
    let told = reload(&daemon);
    assert!(
        told.starts_with("reloaded; nothing has changed\nwaiting for a restart:\n  ! store.group 512 → 7"),
        "{told}"
    );
}

/// As many as ask are served, one after the other: of all of them one has changed something.
/// Looks of pages for a company that nobody can ask as.
#[tokio::test]
async fn a_company_with_pages_of_its_own_and_no_token_is_told_at_a_start_at_a_reload_and_by_a_check() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let made = daemon.command(&["token", "create", "--company", "Acme Loans", "--kind", "publishable"]);
    assert!(made.status.success());
    let (_, stopped) = daemon.terminate();
    let companies =
        "[offer_pages.companies.'Acme Loans']\ncolour = '#1d4ed8'\n[offer_pages.companies.'Acme Loan']\n";
    stopped.plan.write_settings(companies);
    let daemon = stopped.start().await;
    let of_it = |text: &str| {
        let told: Vec<_> = text.lines().filter(|line| line.contains("offer_pages.companies")).collect();
        told.len() == 1 && told[0].contains("`Acme Loan`") && told[0].contains("`Acme Loans`, `Sandbox`")
    };
    assert!(of_it(&daemon.log()), "{}", daemon.log());
    let check = daemon.command(&["check"]);
    assert!(check.status.success() && of_it(&stderr(&check)), "{}", stderr(&check));
    let told = reload(&daemon);
    assert!(of_it(&told), "{told}");
    assert_eq!(daemon.log().matches("names `Acme Loan`").count(), 2, "at the start and at the reload");
}

#[tokio::test]
async fn reloads_that_are_asked_for_at_once_come_one_after_the_other() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    partner("added").savings("").write(daemon.partners());
    let asking: Vec<_> = (0..4).map(|_| daemon.spawn(&["reload"])).collect();
    let told: Vec<String> =
        asking.into_iter().map(|child| stdout(&child.wait_with_output().unwrap())).collect();
    let changed = told.iter().filter(|told| told.starts_with("reloaded\n  + added")).count();
    let unchanged = told.iter().filter(|told| told.starts_with("reloaded; nothing has changed")).count();
    assert_eq!((changed, unchanged), (1, 3), "{told:?}");
    assert!(daemon.metrics().await.lines().any(|line| line == "offerd_reloads_total{result=\"ok\"} 4"));
}

#[tokio::test]
async fn metrics_tell_which_book_is_in_force_and_since_when() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let figure = async |name: &str| {
        let metrics = daemon.metrics().await;
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} is not in\n{metrics}")).parse::<f64>().unwrap()
    };
    let began = figure("offerd_last_reload_success_timestamp_seconds").await;
    let book = figure("offerd_book_fingerprint").await;
    let told = reload(&daemon);
    let shown = told.trim_end().rsplit(' ').next().unwrap();
    assert_eq!(u64::from_str_radix(shown, 16).unwrap(), book as u64);
    assert!(figure("offerd_last_reload_success_timestamp_seconds").await > began);
    assert_eq!(figure("offerd_book_fingerprint").await, book);

    partner("added").savings("").write(daemon.partners());
    reload(&daemon);
    let reloaded = figure("offerd_last_reload_success_timestamp_seconds").await;
    assert_ne!(figure("offerd_book_fingerprint").await, book);
    std::fs::write(daemon.partners().join("broken.toml"), "?").unwrap();
    assert_eq!(daemon.command(&["reload"]).status.code(), Some(64));
    assert_eq!(figure("offerd_last_reload_success_timestamp_seconds").await, reloaded);
}

#[test]
fn without_a_daemon_there_is_nothing_to_reload() {
    let output = Daemon::with_partners(prompt_partners(1)).command(&["reload"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains("no daemon is running on the store") && told.contains("nothing to reload"),
        "{told}"
    );
}

#[tokio::test]
async fn who_names_another_settings_file_is_told_which_one_the_daemon_reads() {
    let plan = Daemon::with_partners(prompt_partners(1));
    plan.write_settings("[limits]\n");
    let daemon = plan.start().await;
    let told = |file: &Path| {
        let output = daemon.command(&["--config", file.to_str().unwrap(), "reload"]);
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let other = daemon.file("other.toml");
    std::fs::write(&other, "").unwrap();
    let own = daemon.file("offerd.toml");
    assert_eq!(told(&own), "");
    let named = told(&other);
    assert!(named.contains(&format!("the daemon reads {}", own.display())), "{named}");
}

/// The protocol of `Type=notify-reload`: reloading since when, and ready again, also when it was refused.
#[tokio::test]
async fn the_service_manager_is_told_of_each_reload() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let (daemon, manager) = plan.start_watched().await;
    let next = || {
        let mut message = [0; 256];
        let length = manager.recv(&mut message).expect("the daemon notifies");
        String::from_utf8_lossy(&message[..length]).into_owned()
    };
    for _ in 0..2 {
        signal(daemon.pid(), "HUP");
        let reloading = next();
        let (word, since) = reloading.trim_end().split_once("\nMONOTONIC_USEC=").unwrap();
        assert_eq!(word, "RELOADING=1");
        assert!(since.parse::<u64>().unwrap() > 0);
        assert_eq!(next().trim_end(), "READY=1");
        std::fs::write(daemon.partners().join("broken.toml"), "?").unwrap();
    }
    assert!(daemon.log().contains("not reloaded"));
}
