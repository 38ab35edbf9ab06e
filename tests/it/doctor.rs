//! `offerd doctor`: each check, on a machine with the fault that it finds.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use chrono::Datelike;
use serde_json::Value;

use crate::kit::partners::{far_lender, partner, prompt_partners};
use crate::kit::{Daemon, Plan};

/// What the doctor found: `(check, state, found)`, and the exit code.
struct Report {
    findings: Vec<Value>,
    code: Option<i32>,
}

impl Report {
    fn of(mut command: Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let findings = serde_json::from_slice(&stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&stderr)));
        Self { findings, code: status.code() }
    }

    /// That a check found this, in this state, and says what to do next unless all is good.
    #[track_caller]
    fn says(&self, check: &str, state: &str, found: &str) {
        let said = self.findings.iter().any(|finding| {
            let next = finding["next"].as_str().is_some_and(|next| !next.is_empty());
            finding["check"] == check
                && finding["state"] == state
                && finding["found"].as_str().unwrap().contains(found)
                && next == (state != "good")
        });
        assert!(said, "{check} is not {state} ({found}): {:#?}", self.findings);
        let wrong = self.findings.iter().any(|finding| finding["state"] == "wrong");
        assert_eq!(self.code, Some(i32::from(wrong)));
    }
}

fn examined(plan: &Plan) -> Report {
    Report::of(plan.command(&["doctor", "--json"]))
}

fn plan() -> Plan {
    Daemon::with_partners(prompt_partners(1))
}

#[test]
fn a_new_machine_is_told_what_a_first_start_will_do() {
    let plan = plan();
    let report = examined(&plan);
    report.says("settings", "good", "every key");
    report.says("partner files", "good", "1 partner");
    report.says("disk", "good", "free");
    report.says("master key", "look", "the first start makes one");
    report.says("store", "good", "none in");
    report.says("port", "good", "takes any free port");
    assert!(!plan.store().exists() && !plan.master_key().exists(), "looking changes nothing");

    let table = plan.command(&["doctor"]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains(" ✓   settings") && table.contains("nothing is wrong"), "{table}");
    assert!(!table.contains('\u{1b}'), "colours are for terminals");
}

#[test]
fn faults_of_files_are_told() {
    let report = examined(&plan().setting("matching.deadline", "soon"));
    report.says("settings", "wrong", "`matching.deadline`");
    for (key, value) in [("alerts.off", "OfferdNothing"), ("console.password_file", "/nowhere")] {
        let plan = plan().setting(key, value);
        let checked = plan.command(&["check"]).output().unwrap();
        assert_eq!(checked.status.code(), Some(64), "{key}");
        examined(&plan).says("settings", "wrong", key);
    }
    let plan = Daemon::with_partners(vec![partner("bad").savings("timeot = '3s'")]);
    let report = examined(&plan);
    report.says("partner files", "wrong", "did you mean `timeout`");
    report.says("file limit", "unknown", "depends on the connections to partners, whose files have faults");
    // A fault that shows only when the client of the partner is made.
    let far = far_lender("far", "https://127.0.0.1:9/", "");
    let report =
        examined(&Daemon::with_partners(vec![far.replaced("allow_addresses = [\"127.0.0.1\"], ", "")]));
    report.says("partner files", "wrong", "is at 127.0.0.1");
    let is_elsewhere = |row: &Value| {
        row["check"] != "partner files" && row["found"].as_str().unwrap().contains("is at 127.0.0.1")
    };
    let is_good = |row: &Value| row["check"] == "partner files" && row["state"] == "good";
    let is_odd = |row: &Value| is_elsewhere(row) || is_good(row);
    assert!(!report.findings.iter().any(is_odd), "{:#?}", report.findings);
    examined(&Daemon::with_partners(Vec::new())).says("partner files", "look", "no lead will get an offer");
}

#[test]
fn too_few_files_are_told() {
    let plan = plan();
    let limited =
        |files: u32| Report::of(plan.shell(&format!("ulimit -n {files} && exec offerd doctor --json")));
    limited(100).says("file limit", "wrong", "100 open files");
    limited(300).says("file limit", "look", "300 open files");
    let few = plan.shell("ulimit -n 300 && OFFERD__API__MAX_CONNECTIONS=10 exec offerd doctor --json");
    Report::of(few).says("file limit", "good", "300 open files");
}

#[test]
fn a_disk_without_room_or_leave_is_told() {
    let huge = 1_u64 << 40;
    examined(&plan().setting("store.reserve_bytes", &huge.to_string())).says("disk", "wrong", "less than");
    // Below a file not even root may make a directory.
    let plan = plan();
    fs::write(plan.directory().join("file"), "").unwrap();
    let mut below_a_file = plan.command(&["doctor", "--json"]);
    below_a_file.env("OFFERD__STORE__PATH", plan.directory().join("file/store"));
    Report::of(below_a_file).says("disk", "wrong", "cannot write to it");
}

#[tokio::test]
async fn a_clock_that_went_back_is_told() {
    let (_, stopped) = plan().start().await.terminate();
    let later = SystemTime::now() + Duration::from_secs(3 * 24 * 60 * 60);
    fs::File::open(stopped.plan.store().join("manifest")).unwrap().set_modified(later).unwrap();
    examined(&stopped.plan).says("clock", "wrong", "gone back");
}

#[tokio::test]
async fn a_key_that_is_gone_or_open_to_others_or_wrong_is_told() {
    let (_, stopped) = plan().start().await.terminate();
    let plan = &stopped.plan;
    let key = plan.master_key();
    let report = examined(plan);
    report.says("master key", "look", "beside the store");
    report.says("store", "good", "opens it");

    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    examined(plan).says("master key", "wrong", "other users may read");

    fs::create_dir(plan.directory().join("elsewhere")).unwrap();
    let other = plan.directory().join("elsewhere/other.key");
    assert!(plan.command(&["key", "create", other.to_str().unwrap()]).status().unwrap().success());
    let mut with_other = plan.command(&["doctor", "--json"]);
    with_other.env("OFFERD__STORE__MASTER_KEY_FILE", &other);
    let report = Report::of(with_other);
    report.says("master key", "good", "other.key");
    report.says("store", "wrong", "key");

    fs::write(&other, "no key").unwrap();
    let mut with_none = plan.command(&["doctor", "--json"]);
    with_none.env("OFFERD__STORE__MASTER_KEY_FILE", &other);
    Report::of(with_none).says("master key", "wrong", "64 hexadecimal digits");

    fs::remove_file(&key).unwrap();
    let report = examined(plan);
    report.says("master key", "wrong", "no key to open it");
    report.says("store", "wrong", "");
}

#[tokio::test]
async fn a_running_daemon_holds_its_store_and_its_ports() {
    let daemon = plan().start().await;
    let mut command = daemon.shell("exec offerd doctor --json");
    let address = |url: &str| url.strip_prefix("http://").unwrap().to_owned();
    command.env("OFFERD__API__LISTEN", address(&daemon.api));
    let report = Report::of(command);
    report.says("store", "good", "open in the running daemon");
    report.says("port", "good", &format!("`api` is served at {}", daemon.api));

    // As root sees a daemon whose key is a credential.
    fs::remove_file(daemon.master_key()).unwrap();
    let mut command = daemon.shell("exec offerd doctor --json");
    command.env_remove("OFFERD_MASTER_KEY");
    Report::of(command).says("master key", "unknown", "the running daemon has");
}

#[test]
fn ports_that_somebody_has_are_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let plan = plan();
    let mut command = plan.command(&["doctor", "--json"]);
    command.env("OFFERD__API__LISTEN", &address);
    Report::of(command).says("port", "wrong", &format!("`api` cannot have {address}"));

    // A `systemctl` that knows the package's socket unit.
    let systemctl = plan.directory().join("systemctl");
    fs::write(&systemctl, format!("#!/bin/sh\nprintf 'Listen={address} (Stream)\\nActiveState=active\\n'\n"))
        .unwrap();
    fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = plan.command(&["doctor", "--json"]);
    command.env("OFFERD__API__LISTEN", &address).env("PATH", plan.directory());
    Report::of(command).says("port", "good", "is held by offerd-api.socket");
}

#[test]
fn certificates_that_end_or_do_not_fit_are_told() {
    let plan = plan();
    let file = |name: &str| plan.directory().join(name);
    // The midnight so many days from the last one.
    let midnight = |days: i64| {
        let day = chrono::Utc::now().date_naive() + chrono::Duration::days(days);
        rcgen::date_time_ymd(day.year(), day.month() as u8, day.day() as u8)
    };
    let examined = |days: i64, key: &str| {
        let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        (parameters.not_before, parameters.not_after) = (midnight(-30), midnight(days));
        let pair = rcgen::KeyPair::generate().unwrap();
        fs::write(file("shown.pem"), parameters.self_signed(&pair).unwrap().pem()).unwrap();
        fs::write(file("own.pem"), pair.serialize_pem()).unwrap();
        fs::write(file("other.pem"), rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let mut command = plan.command(&["doctor", "--json"]);
        command
            .env("OFFERD__API__TLS__CERTIFICATE", file("shown.pem"))
            .env("OFFERD__API__TLS__KEY", file(key));
        Report::of(command)
    };
    examined(90, "own.pem").says("certificates", "good", "for 89 days");
    examined(5, "own.pem").says("certificates", "look", "for 4 days");
    examined(-1, "own.pem").says("certificates", "wrong", "has expired");
    examined(90, "other.pem").says("certificates", "wrong", "is not the key");
    let outward = self::plan();
    let mut command = outward.command(&["doctor", "--json"]);
    command.env("OFFERD__API__LISTEN", "0.0.0.0:0");
    Report::of(command).says(
        "certificates",
        "look",
        "api can be reached from other machines over plain HTTP",
    );
}

#[test]
fn partners_that_cannot_be_reached_are_told() {
    let up = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let over_http = |key: &str, url: &str, allowed: &str| {
        let http = format!(
            "\n[products.savings.http]\nurl = \"{url}\"\njson = {{ lead = \"lead_uuid\" }}\n\
             wire = {{ connect_timeout = \"5s\", allow_addresses = [{allowed}] }}\n\
             [products.savings.http.answer]\noffer = {{ rate = \"offer.rate\" }}\n"
        );
        partner(key).savings("").replaced("bands = [ { rate = 4.0 } ]", "").and(&http)
    };
    let here = "\"127.0.0.1\"";
    let plan = Daemon::with_partners(vec![
        over_http("up", &format!("http://{}/", up.local_addr().unwrap()), here),
        over_http("gone", &format!("http://{gone}/"), here),
        over_http("clear", &format!("https://{}/", talks_no_tls()), here),
        over_http("nowhere", "https://partner.invalid/", ""),
    ]);
    let report = examined(&plan);
    report.says("partner", "good", "`up`");
    report.says("partner", "wrong", "`gone`");
    report.says("partner", "wrong", "`clear`");
    report.says("partner", "wrong", "`nowhere`");
}

/// Somebody who answers a TLS handshake with something else, for as long as the test runs.
fn talks_no_tls() -> std::net::SocketAddr {
    use std::io::Write;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    address
}

#[tokio::test]
async fn what_a_running_daemon_knows_to_be_wrong_is_told() {
    let plan = plan();
    plan.write_settings("[alerts]\nevery = '20ms'\nbackup_age = '1000h'\n");
    let daemon = plan.start().await;
    let examined = || Report::of(daemon.shell("exec offerd doctor --json"));
    let until = async |state: &str| {
        for _ in 0..100 {
            let report = examined();
            if report.findings.iter().any(|one| one["check"] == "loaded files" && one["state"] == state) {
                return report;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("loaded files are not {state}: {:#?}", examined().findings);
    };
    let report = until("good").await;
    report.says("daemon", "good", "accepts leads");
    report.says("alert", "good", "none fires");

    daemon.write_settings("[alerts]\nevery = '20ms'\nbackup_age = '1ms'\n");
    until("wrong").await.says("loaded files", "wrong", "settings in `[alerts]`");
    assert!(daemon.command(&["reload"]).status.success());
    examined().says("loaded files", "good", "as they are");
    tokio::time::sleep(Duration::from_millis(200)).await;
    examined().says("alert", "wrong", "OfferdBackupOld since");
}
