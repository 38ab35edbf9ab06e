//! Retention: records older than `store.retention` are gone, with all that belongs to them, and their disk space is free.

use std::fs;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, sample};

#[tokio::test]
async fn a_lead_is_gone_after_its_retention_and_who_sends_it_again_is_no_duplicate() {
    let plan = Daemon::with_partners(prompt_partners(2)).setting("store.volume_age", "1s");
    let daemon = plan.setting("store.retention", "1s").setting("log.format", "json").start().await;
    let table = daemon.submit(sample("everything")).await;
    assert_eq!(table.status, 200);
    let uuid = table.json()["uuid"].as_str().unwrap().to_owned();
    let lead = table.json()["leadUuid"].as_str().unwrap().to_owned();
    let volume = daemon.store().join("volumes/1");
    assert!(volume.join("00000001.records").is_file());

    // A volume that a slow start filled with nothing of the lead may be dropped before.
    daemon.logged(r#""leads":1"#).await;
    assert_eq!(daemon.rate_table(&uuid).await.status, 404);
    assert!(!volume.exists(), "its files are gone");
    let told = daemon.log();
    let dropped = told.lines().find(|line| line.contains(r#""leads":1"#)).unwrap();
    assert!(dropped.contains("dropped volumes older than `store.retention`"), "{dropped}");
    let again = daemon.submit(sample("everything")).await;
    assert_eq!(again.status, 200, "nothing is known of the first one any more");

    // Nor after a restart, which has nothing to say of it either.
    let daemon = daemon.terminate().1.start().await;
    assert_eq!(daemon.rate_table(&uuid).await.status, 404);
    let explained = daemon.command(&["explain", &lead]);
    assert!(!explained.status.success());
    let report = daemon.command(&["store", "check"]);
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    assert!(fs::read_dir(daemon.store().join("volumes")).unwrap().count() <= 4);
}
