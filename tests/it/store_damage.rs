//! A store whose bytes were changed behind the daemon's back: found, named, and never a panic.

use std::fs;
use std::path::Path;
use std::process::Output;

use fastrand::Rng;
use hyper::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::console::html;
use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Stopped, sample};

/// Bytes that are flipped, one after the other, each in a store of its own.
const FLIPS: usize = 6;

async fn with_leads() -> Stopped {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    for _ in 0..20 {
        assert_eq!(daemon.submit(sample("everything")).await.status, 200);
    }
    daemon.terminate().1
}

fn check(stopped: &Stopped) -> Output {
    stopped.plan.command(&["store", "check", "--json"]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_sound_store_is_told_tree_by_tree_running_or_not() {
    let stopped = with_leads().await;
    let output = check(&stopped);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stopped_report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&stopped_report["sound"], &stopped_report["broken"]), (&json!(true), &json!([])));
    let leads = stopped_report["trees"].as_array().unwrap().iter().find(|count| count["tree"] == "leads");
    assert_eq!(leads.unwrap()["records"], 20);

    let daemon = stopped.start().await;
    let output = daemon.command(&["store", "check"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).lines().any(|line| line.split_whitespace().eq(["leads", "20", "0"])));
    assert!(text(&output.stdout).trim_end().ends_with("everything is as it was written"));
    let zeros = |line: &str| matches!(line.split_whitespace().collect::<Vec<_>>()[..], [_, "0", "0"]);
    assert!(!text(&output.stdout).lines().any(zeros), "{}", text(&output.stdout));
}

/// What went with both manifests can be missed by nobody: all say that the store is damaged.
#[tokio::test]
async fn a_store_whose_manifests_are_lost_is_told_alike_by_all_who_tell_of_damage() {
    let stopped = with_leads().await;
    for name in ["manifest", "manifest.copy"] {
        fs::remove_file(stopped.plan.store().join(name)).unwrap();
    }
    let output = stopped.plan.command(&["store", "check"]).output().unwrap();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("`manifest` and its copy are lost") && !told.contains("everything is as it was"),
        "{told}"
    );
    let backup = stopped.plan.directory().join("of.backup");
    let output = stopped.plan.command(&["backup", backup.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("is whole"), "{}", text(&output.stdout));
    let daemon = stopped.start().await;
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert!(
        text(&ready.body).starts_with("ready, degraded: damaged places of the store: 1"),
        "{}",
        text(&ready.body)
    );
}

/// Tokens and the keys of leads lay there: nothing of what was acknowledged can be read, and that is not readiness.
#[tokio::test]
async fn a_daemon_whose_base_is_gone_is_not_ready() {
    let daemon = with_leads().await.start().await;
    let ready = async |daemon: &Daemon| {
        let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
        (ready.status, text(&ready.body))
    };
    let base = daemon.store().join("base");
    for file in fs::read_dir(&base).unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            fs::remove_file(file).unwrap();
        }
    }
    let output = daemon.command(&["store", "check"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let (status, told) = ready(&daemon).await;
    assert!(status == 503 && told.contains("`base/00000001.records` is missing"), "{status}: {told}");
    assert_eq!(daemon.submit(sample("everything")).await.status, 503, "it would be lost at the next start");

    let daemon = daemon.kill().start().await;
    let (status, told) = ready(&daemon).await;
    assert!(
        status == 503
            && told.starts_with("not accepting new leads: acknowledged data cannot be read: `base/"),
        "{status}: {told}"
    );
    assert!(told.contains("offerd store salvage"), "{told}");

    // Without the lists of its files, too.
    let stopped = daemon.kill();
    let store = stopped.plan.store();
    ["manifest", "manifest.copy"].iter().for_each(|name| fs::remove_file(store.join(name)).unwrap());
    fs::remove_dir_all(store.join("base")).unwrap();
    let (status, told) = ready(&stopped.start().await).await;
    assert!(status == 503 && told.contains("`base/") && told.contains("is missing"), "{status}: {told}");
}

/// A file of the truth: what is damaged of it is lost, and told.
#[tokio::test]
async fn a_flipped_or_missing_byte_of_a_record_is_told_and_nothing_panics() {
    let stopped = with_leads().await;
    let mut rng = Rng::with_seed(7);
    for name in ["base/00000001.records", "volumes/1/00000001.records"] {
        let file = stopped.plan.store().join(name);
        let whole = fs::read(&file).unwrap();
        for _ in 0..FLIPS {
            let mut damaged = whole.clone();
            damaged[rng.usize(..whole.len())] ^= 1 << rng.u8(..8);
            let told = found(&stopped, &file, &damaged).expect("every flipped byte is found");
            assert!(told.contains(name), "{told}");
        }
        for cut in [whole.len() - 7, whole.len() / 2, 0] {
            let told = found(&stopped, &file, &whole[..cut]).expect("what is cut off is found");
            assert!(told.contains(name), "{told}");
        }
        fs::write(&file, &whole).unwrap();
    }
    let again = check(&stopped);
    assert!(again.status.success(), "whole again: {}", text(&again.stdout));
}

/// A file that is not needed, or of which there are two: nothing is lost, and nobody is bothered with it.
#[tokio::test]
async fn what_is_not_needed_is_made_anew_where_it_is_damaged() {
    let stopped = with_leads().await;
    let store = stopped.plan.store();
    let mut rng = Rng::with_seed(7);
    for name in ["manifest", "manifest.copy", "base/index.sum", "base/index/db", "volumes/1/index/db"] {
        for _ in 0..4 {
            let file = store.join(name);
            // An index that sled did not close in time has no list.
            let mut damaged = fs::read(&file).unwrap_or_default();
            // An index that was only begun has nothing in it yet.
            match damaged.len() {
                0 => damaged.push(rng.u8(..)),
                length => damaged[rng.usize(..length)] ^= 1 << rng.u8(..8),
            }
            fs::write(&file, damaged).unwrap();
            let output = check(&stopped);
            assert!(output.status.success(), "{name}: {}", text(&output.stdout));
        }
    }
}

#[tokio::test]
async fn a_volume_that_is_gone_is_told_with_its_leads() {
    let stopped = with_leads().await;
    fs::remove_dir_all(stopped.plan.store().join("volumes/1")).unwrap();
    let output = stopped.plan.command(&["store", "check"]).output().unwrap();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.lines().any(|line| line.split_whitespace().eq(["leads", "0", "20"])), "{told}");
    assert!(told.contains("`volumes/1/00000001.records` is missing"), "{told}");
    let again = stopped.plan.command(&["store", "check"]).output().unwrap();
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(1), told), "and at the next start");
    let counted = stopped.plan.command(&["report", "rebuild"]).output().unwrap();
    assert_eq!(counted.status.code(), Some(1), "{}", text(&counted.stdout));
    assert!(text(&counted.stderr).contains("nothing was counted"), "{}", text(&counted.stderr));
    let listed = stopped.plan.command(&["token", "list"]).output().unwrap();
    assert!(
        text(&listed.stderr).contains("unreadable records are missing from this list"),
        "{}",
        text(&listed.stderr)
    );
}

/// What lay at a damaged place of the journal is counted nowhere, so everything says that something may be missing.
#[tokio::test]
async fn damage_to_the_journal_is_told_alike_by_all_who_tell_of_damage() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    for _ in 0..20 {
        assert_eq!(daemon.submit(sample("everything")).await.status, 200);
    }
    let stopped = daemon.kill();
    let segment = |name: &String| !name.starts_with("spare");
    let names = fs::read_dir(stopped.plan.store().join("journal")).unwrap();
    let name = names.map(|file| file.unwrap().file_name().into_string().unwrap()).find(segment).unwrap();
    let file = stopped.plan.store().join("journal").join(&name);
    let mut bytes = fs::read(&file).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[used / 2] ^= 1;
    fs::write(&file, bytes).unwrap();

    let told = format!("`damaged/{name}` is a damaged journal file");
    let output = stopped.plan.command(&["store", "check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&told), "{}", text(&output.stdout));
    let daemon = stopped.start().await;
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert!(
        text(&ready.body).starts_with("ready, degraded: damaged places of the store: 1"),
        "{}",
        text(&ready.body)
    );
    assert!(daemon.metrics().await.lines().any(|line| line == "offerd_store_damage 1"));
    let (_, stopped) = daemon.terminate();
    for arguments in [["backup", "of.backup"], ["export", "of.ndjson"]] {
        let path = stopped.plan.directory().join(arguments[1]);
        let output = stopped.plan.command(&[arguments[0], path.to_str().unwrap()]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[tokio::test]
async fn a_lead_whose_record_is_damaged_is_not_found() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let lead = daemon.submit(sample("everything")).await.json()["leadUuid"].as_str().unwrap().to_owned();
    let (_, stopped) = daemon.terminate();
    damage_lead(&stopped, &lead);
    let daemon = stopped.start().await;
    let answer = daemon.get(&format!("/leads/{lead}")).await;
    assert_eq!(answer.status, 404, "{}", text(&answer.body));
}

/// Flips a bit in the record of a lead.
pub fn damage_lead(stopped: &Stopped, lead: &str) {
    let file = stopped.plan.store().join("volumes/1/00000001.records");
    let mut bytes = fs::read(&file).unwrap();
    let hex: Vec<u8> = lead.bytes().filter(|byte| *byte != b'-').collect();
    let uuid = hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
    let key: Vec<u8> = [b'l'].into_iter().chain(uuid).collect();
    let place = bytes.windows(key.len()).rposition(|window| window == key).unwrap();
    bytes[place + key.len() + 40] ^= 1;
    fs::write(&file, bytes).unwrap();
}

/// The rest of a damaged store goes on: a backup and an export of it are whole files, and do not look as if all were well.
#[tokio::test]
async fn a_damaged_store_is_backed_up_and_exported_as_far_as_it_can_be_read_and_that_is_told() {
    let stopped = with_leads().await;
    flip_in_the_middle(&stopped, "volumes/1/00000001.records");
    // Wherever the middle is, what was found is known from here on.
    assert_eq!(check(&stopped).status.code(), Some(1));
    let file = |name: &str| stopped.plan.directory().join(name);
    let run = |arguments: &[&str]| stopped.plan.command(arguments).output().unwrap();
    let [backup, export] = ["of.backup", "of.ndjson"].map(file);
    for arguments in
        [&["backup", backup.to_str().unwrap()][..], &["export", "--personal-data", export.to_str().unwrap()]]
    {
        let output = run(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("is incomplete") && error.contains("store salvage"), "{error}");
    }
    let checked = run(&["restore", "--check", backup.to_str().unwrap()]);
    let (told, error) = (text(&checked.stdout), text(&checked.stderr));
    assert_eq!(checked.status.code(), Some(1), "{error}");
    assert!(
        told.contains("is sound") && told.contains("was missing: `volumes/1/00000001.records`"),
        "{told}"
    );
    assert!(error.contains("is incomplete: the store was damaged"), "{error}");
    let into = file("restored");
    let restored = run(&["restore", backup.to_str().unwrap(), "--into", into.to_str().unwrap()]);
    assert_eq!(restored.status.code(), Some(1), "{}", text(&restored.stderr));
    assert!(text(&restored.stderr).contains("the store was damaged"), "{}", text(&restored.stderr));
    assert!(into.join("manifest").exists(), "{}", text(&restored.stdout));
    let lines = fs::read_to_string(&export).unwrap();
    assert!(lines.lines().last().unwrap().starts_with(r#"{"records":"#), "it is whole");
    assert!(!file("of.ndjson.part").exists() && !file("of.backup.part").exists());

    let daemon = stopped.start().await;
    let again = daemon.file("of-running.backup");
    let output = daemon.command(&["backup", again.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("is incomplete"), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(told.contains("holds what can be read (") && !told.contains("is whole"), "{told}");
    assert!(again.exists());
    let system = html(&daemon, "/console/system").await;
    assert!(system.contains("not all: "), "{system}");
    let nobody = "00000000-0000-4000-8000-000000000000";
    let explained = text(&daemon.command(&["explain", nobody]).stderr);
    assert!(explained.contains("the store is damaged and may have lost it"), "{explained}");
}

#[tokio::test]
async fn a_volume_that_cannot_be_opened_keeps_nobody_from_the_rest() {
    let stopped = with_leads().await;
    let list = stopped.plan.store().join("volumes/1/index.sum");
    fs::remove_file(&list).unwrap();
    fs::create_dir_all(list.join("not/empty")).unwrap();
    let export = stopped.plan.directory().join("of.ndjson");
    for arguments in [&["store", "check"][..], &["export", export.to_str().unwrap()]] {
        let output = stopped.plan.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("panic"), "{}", text(&output.stderr));
    }
    let lines = fs::read_to_string(&export).unwrap();
    assert!(lines.contains(r#""tree":"companies""#) && !lines.contains(r#""tree":"rate_tables""#), "{lines}");
}

/// The store that is salvaged is started again, with what the backup has.
#[tokio::test]
async fn what_is_left_of_a_damaged_store_is_salvaged_and_the_rest_comes_from_a_backup() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let table = daemon.submit(sample("everything")).await.json()["uuid"].as_str().unwrap().to_owned();
    let before = daemon.complete(&table).await;
    let backup = daemon.file("of.backup");
    assert!(daemon.command(&["backup", backup.to_str().unwrap()]).status.success());
    let later = daemon.submit(sample("everything")).await.json()["leadUuid"].as_str().unwrap().to_owned();
    let into = daemon.file("salvaged");
    let arguments = ["store", "salvage", "--into", into.to_str().unwrap(), "--json"];
    let refused = daemon.command(&arguments);
    assert!(text(&refused.stderr).contains("a daemon runs on"), "{}", text(&refused.stderr));

    let (_, stopped) = daemon.terminate();
    let volume = stopped.plan.store().join("volumes/1");
    fs::remove_dir_all(&volume).unwrap();
    let with_backup = [&arguments[..], &["--backup", backup.to_str().unwrap()]].concat();
    let output = stopped.plan.command(&with_backup).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["leads"], &told["leadsFromBackup"]), (&json!(1), &json!(1)), "{told}");
    assert_eq!(told["leadsLost"], json!([later]));
    assert!(!volume.exists(), "the damaged store is as it was");
    let again = stopped.plan.command(&with_backup).output().unwrap();
    assert!(text(&again.stderr).contains("is not empty"), "{}", text(&again.stderr));

    fs::remove_dir_all(stopped.plan.store()).unwrap();
    fs::rename(&into, stopped.plan.store()).unwrap();
    assert!(check(&stopped).status.success(), "it is a good store");
    let daemon = stopped.start().await;
    assert_eq!(daemon.complete(&table).await["offers"], before["offers"]);
}

/// They are taken from a backup; without one nobody is asked until somebody has confirmed the lists.
#[tokio::test]
async fn who_asked_to_be_left_alone_is_not_asked_about_after_a_salvage() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let email = "leave.me@example.com";
    let suppressed = daemon.command(&["person", "suppress", "--email", email]);
    assert!(suppressed.status.success(), "{}", text(&suppressed.stderr));
    let backup = daemon.file("of.backup");
    assert!(daemon.command(&["backup", backup.to_str().unwrap()]).status.success());
    let into = daemon.file("salvaged");
    let (_, stopped) = daemon.terminate();
    let store = stopped.plan.store();
    let whole = stopped.plan.directory().join("whole");
    fs::remove_file(store.join("base/00000001.records")).unwrap();
    fs::rename(&store, &whole).unwrap();
    let salvage = |more: &[&str]| {
        fs::rename(&whole, &store).unwrap();
        let arguments = [&["store", "salvage", "--into", into.to_str().unwrap()], more].concat();
        let output = stopped.plan.command(&arguments).output().unwrap();
        fs::rename(&store, &whole).unwrap();
        fs::rename(&into, &store).unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        text(&output.stdout)
    };

    let told = salvage(&["--backup", backup.to_str().unwrap()]);
    assert!(told.contains("were salvaged with those of the backup of"), "{told}");
    assert!(told.contains("were not taken from it") && told.contains("tokens"), "{told}");
    let checked = stopped.plan.command(&["store", "check"]).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    assert!(text(&checked.stdout).contains("suppressions confirm"), "{}", text(&checked.stdout));
    let listed = stopped.plan.command(&["suppressions", "list"]).output().unwrap();
    assert!(text(&listed.stdout).contains("everywhere"), "{}", text(&listed.stdout));

    fs::remove_dir_all(&store).unwrap();
    let told = salvage(&[]);
    assert!(told.contains("a salvage could not prove that the suppression lists are complete"), "{told}");
    let checked = stopped.plan.command(&["store", "check"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stdout));
    assert!(text(&checked.stdout).contains("suppressions confirm"), "{}", text(&checked.stdout));
    let daemon = stopped.start().await;
    let ready = async || daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    let answer = ready().await;
    assert_eq!(answer.status, 503, "{}", text(&answer.body));
    assert!(text(&answer.body).contains("suppressions confirm"), "{}", text(&answer.body));
    let confirmed = daemon.command(&["suppressions", "confirm"]);
    assert!(confirmed.status.success(), "{}", text(&confirmed.stderr));
    assert_eq!(ready().await.status, 200);
    let checked = daemon.command(&["store", "check"]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
}

fn flip_in_the_middle(stopped: &Stopped, name: &str) {
    let file = stopped.plan.store().join(name);
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
}

/// What a check says of a damaged file, if it finds that it is; it ends as it should in any case.
fn found(stopped: &Stopped, file: &Path, damaged: &[u8]) -> Option<String> {
    fs::write(file, damaged).unwrap();
    let output = check(stopped);
    let (told, error) = (text(&output.stdout), text(&output.stderr));
    assert!(!error.contains("panic") && output.status.code().is_some(), "{error}");
    if output.status.success() {
        return None;
    }
    assert!(error.contains("the store is damaged"), "{error}");
    Some(told)
}

/// A flipped byte of an old volume that nobody asks for is found by the slow reading of all files, and shown everywhere.
#[tokio::test]
async fn damage_is_shown_while_all_the_rest_goes_on() {
    let stopped = with_leads().await;
    let name = "volumes/1/00000001.records";
    let file = stopped.plan.store().join(name);
    let mut damaged = fs::read(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&file, damaged).unwrap();

    let daemon = stopped.start().await;
    daemon.logged("the store is damaged").await;
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert_eq!(ready.status, 200, "leads are taken in");
    let told = text(&ready.body);
    assert!(told.starts_with("ready, degraded: damaged places of the store: 1, "), "{told}");
    assert!(told.contains("`offerd store check` names them"), "{told}");
    let metrics = daemon.metrics().await;
    assert!(metrics.lines().any(|line| line == "offerd_store_damage 1"), "{metrics}");
    let doctor = daemon.command(&["doctor", "--json"]);
    let found = doctor_on_the_store(&doctor);
    assert_eq!((doctor.status.code(), &found["state"]), (Some(1), &json!("wrong")), "{found}");
    assert!(found["found"].as_str().unwrap().contains("damaged places of the store: 1"), "{found}");
    for (page, shown) in [("", "accepting, degraded"), ("/system", "1 damaged places")] {
        let html = html(&daemon, &format!("/console{page}")).await;
        assert!(html.contains(shown), "{html}");
    }
    assert_eq!(daemon.submit(sample("everything")).await.status, 200);
}

fn doctor_on_the_store(doctor: &Output) -> Value {
    let findings: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    findings.as_array().unwrap().iter().find(|finding| finding["check"] == "store").unwrap().clone()
}

/// What a check has found is known at the next start, before anything is read again, and until it is read whole.
#[tokio::test]
async fn damage_that_was_found_is_known_until_its_place_is_read_whole() {
    let stopped = with_leads().await;
    let doctor = |stopped: &Stopped| stopped.plan.command(&["doctor", "--json"]).output().unwrap();
    let found = doctor_on_the_store(&doctor(&stopped));
    assert_eq!(found["state"], "good", "{found}");
    assert!(found["found"].as_str().unwrap().contains("`offerd store check`"), "{found}");
    let name = "volumes/1/00000001.records";
    flip_in_the_middle(&stopped, name);
    assert_eq!(check(&stopped).status.code(), Some(1));
    let doctored = doctor(&stopped);
    let found = doctor_on_the_store(&doctored);
    assert_eq!((doctored.status.code(), &found["state"]), (Some(1), &json!("wrong")), "{found}");
    assert!(found["found"].as_str().unwrap().contains(name), "{found}");

    let daemon = stopped.setting("store.scrub_interval", "0s").start().await;
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert!(text(&ready.body).starts_with("ready, degraded: damaged places of the store: 1, "));
    let (_, stopped) = daemon.terminate();
    flip_in_the_middle(&stopped, name);
    assert!(check(&stopped).status.success(), "it was read whole");
    let daemon = stopped.start().await;
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert_eq!(text(&ready.body), "ready\n");
}

/// Nobody can tell whether a token whose record is lost was revoked, so it is not refused as if it were.
#[tokio::test]
async fn a_token_that_damage_may_have_cost_is_not_refused_as_unknown() {
    let (unknown, path) =
        ("00000000-0000-4000-8000-000000000001_00000000-0000-4000-8000-000000000002", "/leads/rateTables");
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let (token, url) = (daemon.confidential.clone(), format!("{}{path}", daemon.api));
    assert_eq!(daemon.request(Method::POST, &url, unknown, "{}").await.status, 401);
    let listed = daemon.command(&["suppressions", "list"]);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let (_, stopped) = daemon.terminate();
    let file = stopped.plan.store().join("base/00000001.records");
    let mut bytes = fs::read(&file).unwrap();
    let key = [&b"t"[..], &Sha256::digest(&token)].concat();
    let place = bytes.windows(key.len()).rposition(|window| window == key).unwrap();
    bytes[place + key.len() + 20] ^= 1;
    fs::write(&file, bytes).unwrap();

    let mut stopped = stopped;
    for round in ["a record that cannot be read", "one that no index finds any more"] {
        let daemon = stopped.start().await;
        let url = format!("{}{path}", daemon.api);
        for token in [&token, unknown] {
            let answer = daemon.request(Method::POST, &url, token, "{}").await;
            assert_eq!(answer.status, 503, "{round}: {}", text(&answer.body));
            assert!(text(&answer.body).contains("cannot be read"), "{round}: {}", text(&answer.body));
        }
        let answer = daemon.request(Method::POST, &url, "no token", "{}").await;
        assert_eq!(answer.status, 401, "{round}: it is none in any case");
        let listed = daemon.command(&["suppressions", "list"]);
        assert_eq!(listed.status.code(), Some(1), "{round}: {}", text(&listed.stdout));
        assert!(text(&listed.stderr).contains("cannot be read"), "{round}: {}", text(&listed.stderr));
        stopped = daemon.terminate().1;
        fs::remove_dir_all(stopped.plan.store().join("base/index")).unwrap();
    }
}

/// An empty list would look as if nobody had asked to be left alone.
#[tokio::test]
async fn lists_that_cannot_be_read_are_not_shown_as_none() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let suppressed = daemon.command(&["person", "suppress", "--email", "maren@quillfeather.example"]);
    assert!(suppressed.status.success(), "{}", text(&suppressed.stderr));
    let (_, stopped) = daemon.terminate();
    let file = stopped.plan.store().join("base/00000001.records");
    let mut bytes = fs::read(&file).unwrap();
    let key = b"S_email\0";
    let place = bytes.windows(key.len()).rposition(|window| window == key).unwrap();
    bytes[place + key.len() + 20] ^= 1;
    fs::write(&file, bytes).unwrap();

    let told = |listed: Output| {
        let (shown, why) = (text(&listed.stdout), text(&listed.stderr));
        assert_eq!((listed.status.code(), &*shown), (Some(1), ""), "{why}");
        assert!(why.contains("cannot read the suppression lists"), "{why}");
    };
    told(stopped.plan.command(&["suppressions", "list"]).output().unwrap());
    let daemon = stopped.start().await;
    told(daemon.command(&["suppressions", "list"]));
    told(daemon.command(&["suppressions", "list", "--json"]));
}

/// A damaged record of the only company is no first start, and keeps nobody from the rest.
#[tokio::test]
async fn a_daemon_starts_without_first_tokens_where_its_company_cannot_be_read() {
    let (_, stopped) = Daemon::with_partners(prompt_partners(1)).start().await.terminate();
    let file = stopped.plan.store().join("base/00000001.records");
    let mut bytes = fs::read(&file).unwrap();
    let name = b"Sandbox";
    let place = bytes.windows(name.len()).rposition(|window| window == name).unwrap();
    bytes[place] ^= 1;
    fs::write(&file, bytes).unwrap();

    let daemon = stopped.start().await;
    daemon.logged("created no first tokens").await;
    let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    assert_eq!(ready.status, 200, "{}", text(&ready.body));
    let made = daemon.command(&["token", "create", "--company", "Acme", "--kind", "publishable"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let token = text(&made.stdout).trim().to_owned();
    let path = format!("{}/leads/rateTables", daemon.api);
    assert_eq!(daemon.request(Method::POST, &path, &token, &sample("everything")).await.status, 200);
}

/// A store that has lost much is told of in a page, and as a whole to who wants it all.
#[tokio::test]
async fn a_long_list_of_what_is_broken_is_cut_unless_all_is_asked_for() {
    let daemon = with_leads().await.start().await;
    // With those before, more than are named even where no index is left that knows the lost base.
    for _ in 0..20 {
        assert_eq!(daemon.submit(sample("everything")).await.status, 200);
    }
    let (_, stopped) = daemon.terminate();
    // The data keys lie in the base: without them nothing of the leads can be read.
    fs::remove_file(stopped.plan.store().join("base/00000001.records")).unwrap();
    let lines = |arguments: &[&str]| {
        let output = stopped.plan.command(arguments).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(!told.contains("broken record"), "standard output names them: {told}");
        text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (cut, all) = (lines(&["store", "check"]), lines(&["store", "check", "--all"]));
    assert!(all.len() > cut.len() && cut.len() < 160, "{} of {}: {cut:#?}", cut.len(), all.len());
    let rest = all.len() + 1 - cut.len();
    assert!(cut.iter().any(|line| line.starts_with(&format!("and {rest} more lines; `--all`"))), "{cut:#?}");
}
