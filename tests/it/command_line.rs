//! The commands, as an operator types them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use crate::kit::partners::{PartnerFile, partner, prompt_partners};
use crate::kit::{Daemon, sample, signal};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The binary alone, in any directory.
#[test]
fn init_writes_all_that_a_first_start_needs_and_overwrites_nothing() {
    let plan = Daemon::with_partners(Vec::new());
    let init = || plan.command(&["init", "try"]).output().unwrap();
    let made = init();
    assert!(made.status.success(), "{}", stderr(&made));
    let again = init();
    assert!(!again.status.success() && stderr(&again).contains("File exists"), "{}", stderr(&again));

    let directory = plan.directory().join("try");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("partners");
    for entry in std::fs::read_dir(samples).unwrap() {
        let file = entry.unwrap();
        let written = std::fs::read(directory.join("partners").join(file.file_name())).unwrap();
        assert_eq!(written, std::fs::read(file.path()).unwrap(), "{:?}", file.file_name());
    }
    assert_eq!(std::fs::read_to_string(directory.join("lead.json")).unwrap(), sample("personal_loan"));
    let mut check = Command::new(env!("CARGO_BIN_EXE_offerd"));
    check.args(["check", "--json", "--config"]).arg(directory.join("offerd.toml")).current_dir("/");
    let told: Value = serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
    assert_eq!(
        (&told["faults"], told["partners"].as_u64() > Some(20)),
        (&serde_json::json!([]), true),
        "{told}"
    );
}

#[tokio::test]
async fn check_tells_every_fault_of_settings_and_partners_with_file_and_line() {
    let bad = partner("bad")
        .savings("timeot = '3s'")
        .and("\n[products.loan.eligibility]\n\"personalInformation.stat\" = { in = [\"WA\"] }\n");
    let plan = Daemon::with_partners(vec![bad, partner("good").savings("")]);
    let output = plan.command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let told = stderr(&output);
    assert!(
        told.contains("bad.toml:")
            && told.contains("`products.savings.timeot` is not a known key; did you mean `timeout`?"),
        "{told}"
    );
    assert!(told.contains("`products.loan.timeout` is missing"), "{told}");

    let plan = plan.setting("matching.deadline", "1h").setting("api.nonsense", "1");
    let output = plan.command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let told = stderr(&output);
    assert!(
        told.contains("OFFERD__MATCHING__DEADLINE: `matching.deadline` must be from")
            || told.contains("`api.nonsense` is not a known key"),
        "{told}"
    );
    let served = plan.command(&["serve"]).output().unwrap();
    assert_eq!(served.status.code(), Some(64), "a daemon does not start on bad settings");
}

#[test]
fn a_variable_that_is_no_text_is_named_where_it_is_ours_and_of_no_concern_where_not() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let bytes = OsStr::from_bytes(b"a\xff");
    let check = |name: &OsStr, value: &OsStr| plan.command(&["check"]).env(name, value).output().unwrap();
    for (name, value) in [(OsStr::new("OTHER"), bytes), (bytes, OsStr::new("b"))] {
        let output = check(name, value);
        assert_eq!(output.status.code(), Some(0), "{name:?}: {}", stderr(&output));
    }
    let ours = check(OsStr::new("OFFERD__LOG__FILTER"), bytes);
    let told = stderr(&ours);
    assert!(ours.status.code() == Some(64) && told.contains("OFFERD__LOG__FILTER"), "{told}");
    assert!(told.contains("must be UTF-8 text"), "{told}");
}

#[test]
fn what_cannot_be_printed_changes_no_exit_code_but_that_of_what_was_asked_for() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let closed = || std::io::pipe().unwrap().1;
    let ends = |command: &[&str], stdout: Stdio, stderr: Stdio| {
        plan.command(command).stdout(stdout).stderr(stderr).status().unwrap().code()
    };
    let commands: [(&[&str], i32); 4] =
        [(&["check"], 0), (&["token", "list"], 1), (&["--config", "no.toml", "check"], 64), (&["--foo"], 2)];
    for (command, code) in commands {
        for stderr in [Stdio::from(full()), Stdio::from(closed())] {
            assert_eq!(ends(command, Stdio::null(), stderr), Some(code), "{command:?}");
        }
    }
    assert_eq!(ends(&["--help"], full().into(), Stdio::null()), Some(1));
    assert_eq!(ends(&["--help"], closed().into(), Stdio::null()), Some(0), "a reader that has seen enough");
    assert_eq!(ends(&["check", "--help"], Stdio::null(), Stdio::null()), Some(0));
}

#[test]
fn a_key_that_cannot_be_written_leaves_no_file() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let file = plan.directory().join("new-key");
    let create = format!("trap '' XFSZ; ulimit -f 0; exec offerd key create {}", file.display());
    let output = plan.shell(&create).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!file.exists());
}

#[tokio::test]
async fn eligibility_faults_name_the_attribute_and_suggest_one() {
    let rules = r#"
[products.savings.eligibility]
"personalInformation.stat" = { in = ["WA"] }
"personalInformation.state" = { in = ["Washington"] }
"loanInformation.loanAmount" = { min = 10, max = 5 }
"legalInformation.consentsToFcra" = { min = 1 }
"personalInformation.zipcode" = { prefix_in = ["941", "94105-1804"] }
"personalInformation.city" = { prefix_in = ["941"] }
"clientTags.channel" = { in = ["web"] }
company = { in = ["Acme"] }
"#;
    let plan = Daemon::with_partners(vec![partner("strict").savings("").and(rules)]);
    let output = plan.command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let told = stderr(&output);
    for fault in [
        "`personalInformation.stat` is not an attribute of a lead; did you mean `personalInformation.state`?",
        "got `Washington`",
        "is greater than `max`",
        "does not fit this attribute; wanted: is, present",
        "`products.savings.eligibility.\"personalInformation.zipcode\".prefix_in[1]` must be one to five digits, got `94105-1804`",
        "\"personalInformation.city\".prefix_in` does not fit this attribute; wanted: in, not_in, present",
        "\"clientTags.channel\".in` does not fit this attribute; wanted: any_of, none_of, present",
        "`products.savings.eligibility.company.in[0]` must be a uuid, got `Acme`",
    ] {
        assert!(told.contains(fault), "{fault} is not in: {told}");
    }
}

#[tokio::test]
async fn one_mistake_is_one_fault() {
    let wrong = |file: PartnerFile| {
        let told = stderr(&Daemon::with_partners(vec![file]).command(&["check"]).output().unwrap());
        assert!(told.contains("1 fault found"), "{told}");
        told
    };
    let told = wrong(partner("bad").savings("").replaced("timeout", "timout"));
    assert!(told.contains("did you mean `timeout`?"), "{told}");
    let file = partner("bad").savings("").replaced("[products.savings]", "[products.saving]");
    let told = wrong(file.replaced("[[products.savings.offers]]", "[[products.saving.offers]]"));
    assert!(
        told.contains("`products.saving` must be one of") && told.contains("did you mean `savings`?"),
        "{told}"
    );
    let told = wrong(partner("bad").savings("eligibility = { age = { mim = 18 } }"));
    assert!(told.contains("`products.savings.eligibility.age.mim` is not a known key"), "{told}");
    let told = wrong(partner("bad").savings("eligibility = { age = {} }"));
    assert!(told.contains("`products.savings.eligibility.age` must have a condition"), "{told}");
}

#[tokio::test]
async fn the_sample_catalogue_is_good() {
    let output = Daemon::with_sample_partners().command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let words: Vec<String> = stdout(&output).split_whitespace().map(str::to_owned).collect();
    let count = |what: &str| {
        words[words.iter().position(|word| word.starts_with(what)).unwrap() - 1].parse::<usize>().unwrap()
    };
    assert!(count("partners,") >= 16 && count("offers") >= 70, "{words:?}");
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked_while_the_daemon_runs() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let made = daemon.command(&["token", "create", "--company", "Acme", "--kind", "publishable"]);
    let token = stdout(&made).trim().to_owned();
    assert_eq!(token.len(), 73, "the token alone: {token}");
    let create = ["token", "create", "--company", "Acme", "--kind", "confidential", "--json"];
    let created: Value = serde_json::from_str(&stdout(&daemon.command(&create))).unwrap();
    assert_eq!((created["token"].as_str().unwrap().len(), &created["company"]), (73, &Value::from("Acme")));
    assert!(daemon.command(&["token", "revoke", created["id"].as_str().unwrap()]).status.success());
    let url = format!("{}/leads/rateTables", daemon.api);
    assert_eq!(daemon.request(Method::POST, &url, &token, "{}").await.status, 200);

    let listed: Value = serde_json::from_str(&stdout(&daemon.command(&["token", "list", "--json"]))).unwrap();
    let acme = listed.as_array().unwrap().iter().find(|token| token["company"] == "Acme").unwrap();
    assert_eq!((&acme["kind"], &acme["test"]), (&Value::from("publishable"), &Value::from(false)));
    assert!(!listed.to_string().contains(&token));
    let id = acme["id"].as_str().unwrap();
    assert!(daemon.command(&["token", "revoke", id]).status.success());
    assert_eq!(daemon.request(Method::POST, &url, &token, "{}").await.status, 401);
    assert!(!daemon.command(&["token", "revoke", id]).status.success(), "it is gone");
}

/// A script would keep a cut list for a whole one.
#[tokio::test]
async fn a_command_whose_output_cannot_be_written_has_failed() {
    let stopped = Daemon::with_partners(prompt_partners(1)).start().await.terminate().1;
    for command in
        [&["token", "list"][..], &["token", "list", "--json"], &["audit", "list", "--format", "csv"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = stopped.plan.command(command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(
            stderr(&output).contains("standard output cannot be written"),
            "{command:?}: {}",
            stderr(&output)
        );
    }
}

/// What nobody could read is not made, and what was there before still holds.
#[tokio::test]
async fn what_is_shown_only_once_is_not_made_where_standard_output_cannot_be_written() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let lead = table["leadUuid"].as_str().unwrap();
    let standing = || {
        let lists = [["token", "list"], ["user", "list"]];
        let secret = std::fs::read(daemon.store().join("console.secret")).unwrap();
        (secret, lists.map(|list| stdout(&daemon.command(&list))))
    };
    let before = standing();
    for command in [
        "offerd console",
        "offerd console --new-secret",
        "offerd token create --company Acme --kind publishable",
        "offerd user add olga --role operator",
        &format!("offerd lead export {lead}"),
    ] {
        for (to, why) in [(">&-", "it is closed"), (">/dev/full", "No space left")] {
            let output = daemon.shell(&format!("{command} {to}")).output().unwrap();
            let told = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{command} {to}: {told}");
            assert!(
                told.contains(&format!("standard output cannot be written: {why}")),
                "{command} {to}: {told}"
            );
        }
    }
    assert_eq!(standing(), before);
    let audited = stdout(&daemon.command(&["audit", "list", "--action", "lead.export", "--format", "json"]));
    assert!(!audited.contains("lead.export"), "{audited}");
    // It is thrown away on purpose, or prints nothing.
    for line in [
        "offerd token create --company Acme --kind publishable >/dev/null",
        "echo 'a long enough password' | offerd user add olga --role operator --password-stdin >&-",
        &format!("offerd lead export {lead} --out all.json >&-"),
    ] {
        let output = daemon.shell(line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    let help = daemon.shell("offerd token --help >/dev/full").output().unwrap();
    assert_eq!(help.status.code(), Some(1));
    assert!(stderr(&help).contains("standard output cannot be written: No space left"), "{}", stderr(&help));
}

#[tokio::test]
async fn tokens_are_made_while_the_daemon_is_stopped() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let (_, stopped) = daemon.terminate();
    let made =
        stopped.plan.command(&["token", "create", "--company", "Acme", "--kind", "confidential", "--test"]);
    let token = stdout(&{ made }.output().unwrap()).trim().to_owned();
    let daemon = stopped.start().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    let table = daemon.request(Method::POST, &url, &token, "{}").await.json();
    let lead = format!("{}/leads/{}", daemon.api, table["leadUuid"].as_str().unwrap());
    assert_eq!(daemon.request(Method::GET, &lead, &token, "").await.json()["isTest"], true);
}

#[tokio::test]
async fn the_admin_commands_want_the_key_of_the_run_file() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let url = format!("{}/tokens", daemon.admin);
    assert_eq!(daemon.request(Method::GET, &url, &daemon.confidential, "").await.status, 401);
    let run_file = daemon.store().join("daemon.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&run_file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn lead_submit_waits_for_all_partners_and_shows_the_offers() {
    let slow = partner("slow").loan(r#"simulate = { delay = "300ms" }"#);
    let daemon = Daemon::with_partners(vec![slow, partner("prompt").loan("")]).start().await;
    let file = daemon.store().join("lead.json");
    std::fs::write(&file, sample("personal_loan")).unwrap();
    let file = file.to_str().unwrap();
    let output = daemon.command(&["lead", "submit", file, "--token", &daemon.publishable]);
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("slow") && shown.contains("prompt") && shown.contains("pre-qualified"), "{shown}");

    let output = daemon.command(&["lead", "submit", file, "--json", "--token", &daemon.publishable]);
    let table: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2);
    assert_eq!(table["pendingResponses"], serde_json::json!([]));
}

#[tokio::test]
async fn lead_submit_tells_what_is_wrong() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let file = daemon.store().join("lead.json");
    std::fs::write(&file, r#"{"loanInformation":{"loanAmount":"much"},"productTypes":["yacht"]}"#).unwrap();
    let output = daemon.command(&["lead", "submit", file.to_str().unwrap(), "--token", &daemon.publishable]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("`loanInformation.loanAmount`") && told.contains("`productTypes[0]`"), "{told}");

    std::fs::write(&file, r#"{"personalInformation":{"fristName":"Ada"}}"#).unwrap();
    for command in [&["lead", "submit", "--token", &daemon.publishable][..], &["explain"]] {
        let output = daemon.command(&[command, &[file.to_str().unwrap()]].concat());
        let wanted = "`personalInformation.fristName` is not a known key; did you mean `firstName`?";
        assert!(output.status.success() && stderr(&output).contains(wanted), "{}", stderr(&output));
    }

    std::fs::write(&file, "{}").unwrap();
    let output = daemon.command(&["lead", "submit", file.to_str().unwrap(), "--token", "nonsense"]);
    let told = stderr(&output);
    assert!(
        told.contains("does not know this access token") && told.contains("`offerd token create`"),
        "{told}"
    );

    for empty in [&["--token", ""][..], &[]] {
        let output = daemon.command(&[&["lead", "submit", file.to_str().unwrap()], empty].concat());
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1));
        assert!(told.contains("OFFERD_TOKEN and --token are missing or empty"), "{told}");
        assert!(told.contains("`offerd token create`"), "{told}");
    }
}

#[tokio::test]
async fn lead_submit_without_offers_says_where_the_reasons_are() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let file = daemon.store().join("lead.json");
    std::fs::write(&file, sample("mortgage_purchase")).unwrap();
    let submit = ["lead", "submit", file.to_str().unwrap(), "--token", &daemon.publishable];
    let shown = stdout(&daemon.command(&submit));
    let lead = shown.trim_end().rsplit(' ').next().unwrap();
    assert!(shown.starts_with(&format!("no offers; `offerd explain {lead}` says why\n")), "{shown}");
}

#[test]
fn a_command_line_that_is_not_understood_is_told_in_one_line() {
    let output = Daemon::with_partners(vec![]).command(&["lead", "submt"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    let told = stderr(&output);
    assert!(
        told.lines().count() == 1 && told.contains("'submit'") && told.contains("`offerd lead --help`"),
        "{told}"
    );
}

#[test]
fn a_directory_of_partner_files_that_is_not_there_is_named_whole() {
    let plan = Daemon::with_partners(vec![]).setting("partners.path", "no/such/place");
    let output = plan.command(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let told = stderr(&output);
    let named = told.split(": ").next().unwrap();
    assert!(std::path::Path::new(named).is_absolute() && named.ends_with("no/such/place"), "{told}");
    assert!(told.contains("set `partners.path`"), "{told}");
}

#[test]
fn a_listener_that_is_taken_is_told_with_what_to_do() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let plan = Daemon::with_partners(prompt_partners(1)).setting("api.listen", &address);
    let output = plan.command(&["serve"]).output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(
        !output.status.success() && told.contains(&format!("`api.listen` {address} is in use")),
        "{told}"
    );
}

#[tokio::test]
async fn explain_names_the_exact_condition_and_what_was_found_but_nothing_personal() {
    let rules = r#"
[products.savings.eligibility]
"personalInformation.state" = { not_in = ["WV", "IA"] }
age = { min = 99 }
"personalInformation.email" = { in = ["nobody@example.com"] }
"personalInformation.city" = { in = ["Elsewhere"] }
"#;
    let plan =
        Daemon::with_partners(vec![partner("strict").savings("").and(rules), partner("open").savings("")]);
    let lead = r#"{"personalInformation":{"state":"WV","dateOfBirth":"1980-02-03","email":"maria@example.com","city":"Spokane"}}"#;
    let file = plan.store().with_extension("json");
    std::fs::write(&file, lead).unwrap();
    let output = plan.command(&["explain", file.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("`personalInformation.state` not in") && told.contains("WV"), "{told}");
    assert!(told.contains("`age` at least 99"), "{told}");
    assert!(told.contains("matched"), "{told}");
    assert!(!told.contains("maria@example.com") && !told.contains("Spokane"), "{told}");
}

#[tokio::test]
async fn a_daemon_that_is_told_to_stop_drains_and_exits_with_0() {
    let slow = partner("slow").loan(r#"simulate = { delay = "500ms" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let pending = daemon.submit(sample("personal_loan")).await.json();
    let (status, stopped) = daemon.terminate();
    assert_eq!(status.code(), Some(0), "{}", stopped.plan.log());
    let daemon = stopped.start().await;
    let table = daemon.complete(pending["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 1, "what was pending goes on");
}

#[tokio::test]
async fn a_stop_that_is_announced_takes_requests_until_balancers_have_noticed() {
    let plan = Daemon::with_partners(vec![partner("prompt").savings("")]).setting("shutdown.announce", "60s");
    let mut daemon = plan.start().await;
    signal(daemon.pid(), "TERM");
    let url = format!("{}/readyz", daemon.admin);
    let turned = async {
        while daemon.request(Method::GET, &url, "", "").await.status != 503 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::kit::PATIENCE, turned).await.expect("it says that it stops");
    let fresh = std::net::TcpStream::connect(daemon.api.trim_start_matches("http://"));
    assert!(fresh.is_ok() && daemon.submit("{}").await.status == 200, "nobody is refused yet");
    signal(daemon.pid(), "TERM");
    assert_eq!(daemon.ended().await.0.code(), Some(1), "a second signal ends it at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_no_longer_than_the_drain() {
    let silence = r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#;
    let silent = partner("silent").loan(silence).replaced("10s", "4m");
    let plan = Daemon::with_partners(vec![silent]).setting("shutdown.drain", "200ms");
    // Longer than a test may take: who waited for the partner would not come back.
    let daemon = plan.setting("matching.deadline", "5m").start().await;
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let body = sample("personal_loan");
    let waiting = daemon.try_request(hyper::Method::POST, &url, &daemon.publishable, &[], body);
    let stopping = async {
        let metrics = format!("{}/metrics", daemon.admin);
        let live = async || {
            let page = daemon.request(hyper::Method::GET, &metrics, "", "").await;
            String::from_utf8_lossy(&page.body).contains("offerd_rate_tables_in_memory 1")
        };
        while !live().await {}
        signal(daemon.pid(), "TERM");
    };
    let (answer, ()) = tokio::join!(waiting, stopping);
    assert!(answer.is_none_or(|answer| answer.status == 503));
    daemon.logged("stopped").await;
}

#[tokio::test]
async fn a_hang_up_signal_reloads_the_partners_and_keeps_them_when_a_file_is_bad() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let offers = async || daemon.submit("{}").await.json()["savingsOffers"].as_array().unwrap().len();
    assert_eq!(offers().await, 1);

    partner("added").savings("").write(daemon.partners());
    signal(daemon.pid(), "HUP");
    daemon.logged("partners reloaded").await;
    assert_eq!(offers().await, 2);

    std::fs::write(daemon.partners().join("broken.toml"), "[partner]\nname = 7\n").unwrap();
    signal(daemon.pid(), "HUP");
    daemon.logged("partners not reloaded").await;
    assert_eq!(offers().await, 2);
}

#[tokio::test]
async fn a_second_daemon_on_one_store_is_refused() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let second = daemon.command(&["serve"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("another"), "{}", stderr(&second));
    assert_eq!(daemon.submit("{}").await.status, 200);
}

#[tokio::test]
async fn what_is_done_to_a_stopped_daemons_store_is_audited_as_what_a_running_one_does() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let who = |told: &str| {
        let line = told.lines().find(|line| line.contains("audit: ")).unwrap_or_else(|| panic!("{told}"));
        line.split("who=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
    };
    let create = ["token", "create", "--company", "Acme", "--kind", "publishable"];
    assert!(daemon.command(&create).status.success());
    daemon.logged("token.create").await;
    let by_the_daemon = who(&daemon.log());

    let (_, stopped) = daemon.terminate();
    let audited = |arguments: &[&str], action: &str| {
        let output = stopped.plan.command(arguments).output().unwrap();
        let told = stderr(&output);
        assert!(output.status.success() && told.contains(&format!("action=\"{action}\"")), "{told}");
        assert_eq!(who(&told), by_the_daemon);
        told
    };
    audited(&create, "token.create");
    let listed = stdout(&stopped.plan.command(&["token", "list", "--json"]).output().unwrap());
    let listed: Value = serde_json::from_str(&listed).unwrap();
    audited(&["token", "revoke", listed[0]["id"].as_str().unwrap()], "token.revoke");
    audited(&["partners", "pause", "prompt_0"], "partner.pause");
    audited(&["partners", "resume", "prompt_0"], "partner.resume");
    for (arguments, action, text) in [
        (&["backup", "a.backup"][..], "backup.take", "backup of the whole store taken"),
        (&["restore", "a.backup", "--into", "restored"], "backup.restore", "store restored from a backup"),
        (&["store", "salvage", "--into", "salvaged"], "store.salvage", "store salvaged"),
        (&["export", "an.ndjson"], "store.export", "store exported"),
    ] {
        let told = audited(arguments, action);
        assert!(told.contains(text), "{told}");
        assert_eq!(told.contains("backup of the whole store"), action == "backup.take", "{told}");
    }
}

#[test]
fn check_tells_scripts_what_is_wrong_and_where() {
    let bad = partner("bad").savings("timeot = '3s'");
    let output = Daemon::with_partners(vec![bad]).command(&["check", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(told["faults"][0]["key"], "products.savings.timeot");
    assert!(told["faults"][0]["file"].as_str().unwrap().ends_with("bad.toml"));
    let output = Daemon::with_partners(prompt_partners(2)).command(&["check", "--json"]).output().unwrap();
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((output.status.code(), &told["partners"]), (Some(0), &Value::from(2)));
}
