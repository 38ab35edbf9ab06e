//! Commands where a disk is full: each names that as the cause, with the path, what is free and what to do.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hyper::Method;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Plan, Stopped, sample};

/// A small file system in memory. It is unmounted when this is dropped.
struct Disk(PathBuf);

impl Disk {
    /// One of so many KiB; nothing, said loudly, where this user may not mount it.
    fn mounted(at: PathBuf, kib: usize) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "none"]).arg(&at).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(at));
        }
        let _ = writeln!(std::io::stderr(), "\n*** SKIPPED: a full disk: mounting takes root ***\n");
        None
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filling")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    /// Fills it but for so many bytes.
    fn fill_but_for(&self, bytes: u64) {
        self.fill();
        let filling = fs::File::options().write(true).open(self.0.join("filling")).unwrap();
        filling.set_len(filling.metadata().unwrap().len() - bytes).unwrap();
    }

    /// Undoes that.
    fn empty(&self) {
        fs::remove_file(self.0.join("filling")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|told| String::from_utf8_lossy(told).into_owned()).concat()
}

/// A stopped daemon with leads, and a full disk beside it.
async fn beside_a_full_disk(kib: usize) -> Option<(Stopped, Disk)> {
    let plan = Daemon::with_partners(prompt_partners(1)).in_files();
    let disk = Disk::mounted(plan.directory().join("disk"), kib)?;
    let daemon = plan.start().await;
    for _ in 0..3 {
        assert_eq!(daemon.submit(sample("everything")).await.status, 200);
    }
    Some((daemon.terminate().1, disk))
}

fn run(plan: &Plan, arguments: &[&str], store: Option<&Path>) -> Output {
    let mut command = plan.command(arguments);
    if let Some(store) = store {
        command.env("OFFERD__STORE__PATH", store).env("OFFERD__STORE__MASTER_KEY_FILE", plan.master_key());
    }
    command.output().unwrap()
}

fn says_full(output: &Output, path: &Path, command: &str) {
    let told = told(output);
    assert!(!output.status.success(), "{command}: {told}");
    let last = told.lines().rfind(|line| line.starts_with("offerd: ")).unwrap_or(&told).to_owned();
    assert!(last.contains(&format!("`{}", path.display())), "{command}: {last}");
    assert!(
        last.contains("its disk is full") && last.contains("KiB are free; make room there"),
        "{command}: {last}"
    );
    assert!(!last.contains("the master key in") && !last.contains("offerd doctor"), "{command}: {last}");
}

#[tokio::test]
async fn what_makes_a_store_on_a_full_disk_says_that_it_is_full() {
    let Some((stopped, disk)) = beside_a_full_disk(4096).await else { return };
    let plan = &stopped.plan;
    let file = |name: &str| plan.directory().join(name).to_str().unwrap().to_owned();
    let (backup, export) = (file("of.backup"), file("of.ndjson"));
    for arguments in [&["backup", &backup][..], &["export", "--personal-data", &export]] {
        let output = run(plan, arguments, None);
        assert!(output.status.success(), "{}", told(&output));
    }
    // With some room the journal finds the end of it, without any the directory.
    for fills in [false, true] {
        if fills {
            disk.fill();
        }
        let into = disk.0.join("new");
        let restored = run(plan, &["restore", &backup, "--into", into.to_str().unwrap()], None);
        says_full(&restored, &into, "restore");
        says_full(&run(plan, &["import", &export], Some(&into)), &into, "import");
        let keyless = plan.command(&["import", &export]).env("OFFERD__STORE__PATH", &into).output().unwrap();
        says_full(&keyless, &into, "import, which makes a key");
        assert_eq!(fs::read_dir(&disk.0).unwrap().count(), usize::from(fills), "nothing is left");
    }
    let key = disk.0.join("key");
    says_full(&run(plan, &["key", "create", key.to_str().unwrap()], None), &key, "key create");
}

#[tokio::test]
async fn a_stopped_store_on_a_full_disk_is_backed_up_elsewhere() {
    let Some((stopped, disk)) = beside_a_full_disk(8192).await else { return };
    let plan = &stopped.plan;
    let store = disk.0.join("store");
    fs::remove_file(plan.store().join("ballast")).unwrap();
    assert!(Command::new("cp").arg("-r").arg(plan.store()).arg(&store).status().unwrap().success());
    disk.fill();
    let doctor = run(plan, &["doctor"], Some(&store));
    let line = told(&doctor).lines().find(|line| line.contains(" disk ")).unwrap().to_owned();
    assert!(line.contains('✗'), "{line}");

    // Its journal alone is as large as this disk.
    let start = told(&run(plan, &["serve"], Some(&store)));
    for wanted in ["its disk is full", "make room there", "free 16 MiB to start", "`store.reserve_bytes`"] {
        assert!(start.contains(wanted), "{wanted}: {start}");
    }
    assert!(!start.contains("offerd doctor"), "{start}");

    let backup = |name: &str| plan.directory().join(name);
    let take = |name: &str| run(plan, &["backup", backup(name).to_str().unwrap()], Some(&store));
    let output = take("whole.backup");
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("its files are copied beside"), "{}", told(&output));
    assert!(!backup("whole.backup.store.part").exists(), "the copy is gone");
    let into = plan.directory().join("restored");
    let restored = run(
        plan,
        &["restore", backup("whole.backup").to_str().unwrap(), "--into", into.to_str().unwrap()],
        None,
    );
    assert!(restored.status.success(), "{}", told(&restored));
    let checked = run(plan, &["store", "check"], Some(&into));
    let leads = |line: &str| line.split_whitespace().eq(["leads", "3", "0"]);
    assert!(told(&checked).lines().any(leads), "{}", told(&checked));

    // What is damaged of the store is no less so for being copied.
    let records = store.join("volumes/1/00000001.records");
    let mut bytes = fs::read(&records).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&records, bytes).unwrap();
    disk.fill();
    let output = take("damaged.backup");
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("is incomplete"), "{}", told(&output));
}

/// There is room for the record of the audit, and none for the new keys.
#[tokio::test]
async fn an_erasure_on_a_full_disk_says_so_and_that_it_has_to_be_repeated() {
    let plan = Daemon::with_partners(prompt_partners(1)).in_files().setting("store.reserve_bytes", "0");
    let Some(disk) = Disk::mounted(plan.store(), 64 * 1024) else { return };
    let key = plan.directory().join("volume.key");
    assert!(run(&plan, &["key", "create", key.to_str().unwrap()], None).status.success());
    let daemon = plan.setting("store.master_key_file", key.to_str().unwrap()).start().await;
    let made = daemon.submit(sample("everything")).await.json();
    let erase = || daemon.command(&["lead", "erase", made["leadUuid"].as_str().unwrap()]);
    disk.fill_but_for(32 * 1024);
    let output = erase();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let wanted = "the erasure may be partly done and has to be repeated: the disk of `store.path` is full; free space \
        there, and try again";
    assert!(told(&output).contains(wanted), "{}", told(&output));
    disk.empty();
    let output = erase();
    assert!(output.status.success(), "{}", told(&output));
}

/// Room is set aside for it, so an operator can read what is there before making room.
#[tokio::test]
async fn a_daemon_starts_and_stops_on_a_full_disk_and_serves_reads() {
    let plan =
        Daemon::with_partners(prompt_partners(1)).in_files().setting("store.reserve_bytes", "33554432");
    let Some(disk) = Disk::mounted(plan.store(), 128 * 1024) else { return };
    let key = plan.directory().join("volume.key");
    assert!(run(&plan, &["key", "create", key.to_str().unwrap()], None).status.success());
    let daemon = plan.setting("store.master_key_file", key.to_str().unwrap()).start().await;
    let made = daemon.submit(sample("everything")).await.json();
    let path = format!("/originator/rateTables/{}", made["uuid"].as_str().unwrap());
    let mut stopped = daemon.terminate().1;
    disk.fill();
    for _ in 0..2 {
        let daemon = stopped.start().await;
        let ready = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
        let told = String::from_utf8_lossy(&ready.body).into_owned();
        assert!(ready.status == 503 && told.contains("`store.reserve_bytes`"), "{told}");
        assert_eq!(daemon.get(&path).await.status, 200);
        assert_eq!(daemon.submit(sample("everything")).await.status, 503);
        let lead = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/leads/everything.json");
        let output = daemon.command(&["lead", "submit", lead, "--token", &daemon.publishable]);
        for said in
            ["Not accepting writes right now", "`offerd doctor` where the daemon runs shows the cause"]
        {
            assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
        }
        let (ended, at_rest) = daemon.terminate();
        assert!(ended.success(), "{ended}");
        stopped = at_rest;
    }
    disk.empty();
    let daemon = stopped.start().await;
    assert_eq!(daemon.submit(sample("everything")).await.status, 200);
}
