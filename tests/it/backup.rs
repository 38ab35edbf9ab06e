//! `offerd backup` and `offerd restore`: one instant of a store under load, whole or not at all, sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::future::join_all;
use offerd::rate_table::record::TableHead;
use offerd::store::entities::{Happening, LeadRecord};
use offerd::store::{Store, Tree, codec};
use serde_json::Value;
use uuid::Uuid;

use crate::kit::partners::partner;
use crate::kit::{Daemon, Plan, sample};

const CLIENTS: usize = 4;

/// Backups that may be taken until something is written while one is.
const TRIES: usize = 50;

fn plan() -> Plan {
    let partners = vec![partner("lender").loan("").savings(""), partner("saver").savings("")];
    Daemon::with_partners(partners).setting("api.base_url", "http://offers.example")
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A lead of somebody else each time.
fn lead() -> String {
    let mut lead: Value = serde_json::from_str(&sample("everything")).unwrap();
    lead["personalInformation"]["email"] = format!("{}@quillfeather.example", Uuid::new_v4().simple()).into();
    lead.to_string()
}

async fn backup(daemon: &Daemon, file: &Path) -> Value {
    let mut child = daemon.spawn(&["backup", file.to_str().unwrap(), "--json"]);
    let ended = tokio::task::spawn_blocking(move || {
        child.wait().unwrap();
        child.wait_with_output().unwrap()
    });
    json_of(&ended.await.unwrap())
}

/// A plan whose store is to be that of a backup, with the master key of the daemon that it is of.
fn elsewhere(daemon: &Daemon) -> Plan {
    let plan = plan();
    fs::copy(daemon.master_key(), plan.master_key()).unwrap();
    plan
}

fn restore(plan: &Plan, file: &Path) -> Output {
    plan.command(&["restore", file.to_str().unwrap(), "--json"]).output().unwrap()
}

/// A daemon with a complete table, and a backup of it.
async fn backed_up() -> (Daemon, String, PathBuf) {
    let daemon = plan().start().await;
    let table = daemon.submit(lead()).await.json()["uuid"].as_str().unwrap().to_owned();
    daemon.complete(&table).await;
    let file = daemon.file("backup");
    backup(&daemon, &file).await;
    (daemon, table, file)
}

/// Every event is of a lead that is there, every lead has its tables, every table its lead: of each commit all or nothing.
fn assert_nothing_is_half(store: &Path) {
    let store = Store::open_inline(store).unwrap();
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
    let keys = |tree| store.scan(tree, []).map(|entry| entry.unwrap().0).collect::<BTreeSet<_>>();
    let (leads, tables) = (keys(Tree::Leads), keys(Tree::RateTables));
    let values = |tree| store.scan(tree, []).map(|entry| entry.unwrap().1);
    let heads = values(Tree::RateTables).map(|head| codec::decode::<TableHead>(&head).unwrap());
    assert_eq!(leads, heads.map(|head| head.lead.as_bytes().to_vec()).collect());
    let records = values(Tree::Leads).map(|lead| codec::decode_json::<LeadRecord>(&lead).unwrap());
    let first = records.map(|lead| lead.first_table.expect("it came with one").as_bytes().to_vec());
    assert_eq!(tables, first.collect());
    assert!(keys(Tree::Answers).iter().all(|key| tables.contains(&key[..16])));
    let mut told = BTreeSet::new();
    for entry in store.scan(Tree::LeadEvents, []) {
        let happenings: Vec<Happening> = codec::decode(&entry.unwrap().1).unwrap();
        told.extend(happenings.into_iter().map(|happening| happening.lead.as_bytes().to_vec()));
    }
    assert_eq!(told, leads, "each lead has been told as created");
}

#[tokio::test]
async fn a_backup_under_load_is_one_instant_of_the_store() {
    let daemon = plan().start().await;
    let shown = Mutex::new(BTreeMap::<String, Bytes>::new());
    let stop = AtomicBool::new(false);
    let client = async || {
        while !stop.load(Ordering::SeqCst) {
            let table = daemon.submit(lead()).await.json()["uuid"].as_str().unwrap().to_owned();
            daemon.complete(&table).await;
            let body = daemon.rate_table(&table).await.body;
            shown.lock().unwrap().insert(table, body);
        }
    };
    let backups = async {
        let mut taken = None;
        for number in 0..TRIES {
            let before = shown.lock().unwrap().clone();
            let file = daemon.file(&format!("backup-{number}"));
            let summary = backup(&daemon, &file).await;
            if before.len() > 2 * CLIENTS && summary["changes"].as_u64().unwrap() > 0 {
                taken = Some((file, before));
                break;
            }
        }
        stop.store(true, Ordering::SeqCst);
        taken.expect("something is written while one of so many backups is taken")
    };
    let ((file, before), _) = tokio::join!(backups, join_all((0..CLIENTS).map(|_| client())));
    daemon.canaries().assert_in_none_of(std::slice::from_ref(&file));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!PathBuf::from(format!("{}.part", file.display())).exists());

    let plan = elsewhere(&daemon);
    json_of(&restore(&plan, &file));
    assert_nothing_is_half(&plan.store());
    let restored = plan.start_restored(&daemon).await;
    for (table, body) in before {
        assert_eq!(restored.rate_table(&table).await.body, body, "{table}");
    }
    let mut later = 0;
    for (table, body) in shown.into_inner().unwrap() {
        let answer = restored.rate_table(&table).await;
        match answer.status {
            404 => later += 1,
            _ => {
                let complete = restored.complete(&table).await;
                let was: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(complete["leadUuid"], was["leadUuid"]);
            }
        }
    }
    eprintln!("{later} tables came after the backup");
    assert_eq!(restored.submit(lead()).await.status, 200, "the restored daemon takes leads");
}

#[tokio::test]
async fn a_stopped_daemons_store_is_backed_up_and_restored_in_its_place() {
    let (daemon, table, _) = backed_up().await;
    let body = daemon.rate_table(&table).await.body;
    let (_, stopped) = daemon.terminate();
    let file = stopped.plan.store().with_file_name("stopped");
    json_of(&stopped.plan.command(&["backup", file.to_str().unwrap(), "--json"]).output().unwrap());
    fs::remove_dir_all(stopped.plan.store()).unwrap();
    json_of(&restore(&stopped.plan, &file));
    let daemon = stopped.start().await;
    assert_eq!(daemon.rate_table(&table).await.body, body);
}

#[tokio::test]
async fn a_flipped_byte_is_found_and_named_wherever_it_is() {
    let (daemon, _, file) = backed_up().await;
    let sound = fs::read(&file).unwrap();
    let checked = json_of(&daemon.command(&["restore", "--check", file.to_str().unwrap(), "--json"]));
    assert_eq!(checked["sealsChecked"], true);
    assert_eq!(checked["records"]["leads"], 1);
    let plan = elsewhere(&daemon);
    for part in 1..12 {
        let at = sound.len() * part / 12;
        let mut flipped = sound.clone();
        flipped[at] ^= 0x20;
        let damaged = daemon.file("damaged");
        fs::write(&damaged, &flipped).unwrap();
        for arguments in [&["restore", "--check"][..], &["restore"]] {
            let arguments = [arguments, &[damaged.to_str().unwrap()]].concat();
            let output = plan.command(&arguments).output().unwrap();
            let told = stderr(&output);
            assert!(!output.status.success());
            assert!(told.contains("damaged: it is damaged in block"), "{told}");
            let begins: usize = told
                .split("at byte ")
                .nth(1)
                .and_then(|rest| rest.split(':').next())
                .and_then(|at| at.parse().ok())
                .unwrap();
            assert!(begins <= at, "byte {at}: {told}");
        }
        assert!(!plan.store().exists() && !plan.store().with_file_name("store.part").exists());
    }
}

#[tokio::test]
async fn a_restore_is_refused_over_a_store_and_with_another_key() {
    let (daemon, _, file) = backed_up().await;
    let over = daemon.command(&["restore", file.to_str().unwrap()]);
    assert!(!over.status.success());
    assert!(
        stderr(&over).contains("is not empty, and has the run file of a daemon: stop that first"),
        "{}",
        stderr(&over)
    );
    assert!(stderr(&over).contains("`--into DIR`"), "{}", stderr(&over));

    let plan = plan();
    let output = restore(&plan, &file);
    assert!(stderr(&output).contains("no master key is given"), "{}", stderr(&output));
    let check = plan.command(&["restore", "--check", file.to_str().unwrap()]).output().unwrap();
    let told = String::from_utf8(check.stdout).unwrap();
    assert!(told.contains("is sound; its seals were not checked"), "{told}");
    let made = plan.command(&["key", "create", plan.master_key().to_str().unwrap()]).output().unwrap();
    assert!(made.status.success());
    let output = restore(&plan, &file);
    assert!(stderr(&output).contains("needs master key"), "{}", stderr(&output));
    assert!(!plan.store().exists());
}

#[tokio::test]
async fn a_backup_that_is_not_ended_leaves_no_file_and_none_is_written_over() {
    let (daemon, _, file) = backed_up().await;
    let again = daemon.command(&["backup", file.to_str().unwrap()]);
    assert!(!again.status.success() && stderr(&again).contains("exists already"));

    let unfinished = daemon.file("no-such-directory").join("file");
    let output = daemon.command(&["backup", unfinished.to_str().unwrap()]);
    let told = stderr(&output);
    assert!(told.contains("no-such-directory does not exist") && !told.contains(".part"), "{told}");

    // Nobody has begun to make a store there, and a backup does not either.
    let plan = plan();
    let nowhere = plan.store().with_file_name("file");
    let output = plan.command(&["backup", nowhere.to_str().unwrap()]).output().unwrap();
    assert!(stderr(&output).contains("there is no store"), "{}", stderr(&output));
    assert!(!nowhere.exists() && !nowhere.with_file_name("file.part").exists());
    assert!(daemon.log().contains("backup.take"), "the audit tells of it");
}
