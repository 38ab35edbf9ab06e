//! A store that an older offerd wrote: opened by this one, it gives the same answers.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use uuid::Uuid;

use crate::kit::Daemon;

/// A file of the stored store.
fn stored(format: u32, name: &str) -> Vec<u8> {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores");
    let bytes = fs::read(stores.join(format!("format-{format}")).join(name)).unwrap();
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// Puts a store of format 1 into a directory that is not there yet.
pub fn lay_format_1(store: &Path) {
    fs::create_dir(store).unwrap();
    fs::write(store.join("db"), stored(1, "db.gz")).unwrap();
    fs::write(store.join("conf"), stored(1, "conf")).unwrap();
}

/// The uuid of the first offer of a table.
fn first_offer(table: &Value) -> String {
    let arrays = ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers"];
    let offers = arrays.iter().filter_map(|array| table[array].as_array()).flatten();
    offers.map(|offer| offer["uuid"].as_str().unwrap().to_owned()).next().expect("the table has an offer")
}

#[tokio::test]
async fn a_store_of_format_1_is_sealed_and_answers_as_before() {
    let plan = Daemon::with_sample_partners().setting("api.base_url", "http://offers.example");
    lay_format_1(&plan.store());
    let token = String::from_utf8(stored(1, "token")).unwrap().trim().to_owned();
    let (table, lead) = (stored(1, "table.json.gz"), stored(1, "lead.json.gz"));
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let (table_uuid, lead_uuid) = (json(&table)["uuid"].clone(), json(&lead)["uuid"].clone());

    let daemon = plan.start_with_token(token).await;
    // What the lead tells of persons is looked for in the new store and the log when the daemon ends.
    daemon.canaries().note("", &lead);
    assert!(daemon.canaries().count() > 5);
    let now = daemon.rate_table(table_uuid.as_str().unwrap()).await;
    assert_eq!(now.status, 200);
    assert!(now.body == table, "the rate table is not what it was");
    let now = daemon.get(&format!("/leads/{}", lead_uuid.as_str().unwrap())).await;
    assert_eq!(now.json(), json(&lead));
    // Addresses that were given out lead on, and to what they led.
    let (offer, of_table) = (first_offer(&json(&table)), table_uuid.as_str().unwrap());
    assert_eq!(offer[..33], of_table[..33], "an offer's uuid was its table's with another end");
    let path = format!("/uiEvent/offerDisplays/{}/{of_table}/{offer}/pixel.gif", lead_uuid.as_str().unwrap());
    assert_eq!(daemon.get(&path).await.status, 200);
    let click = daemon.get(&format!("/click/{offer}")).await;
    assert!([302, 410].contains(&click.status), "known, even where it has expired: {}", click.status);
    let explained = daemon.command(&["explain", &offer]);
    assert!(explained.status.success(), "{}", String::from_utf8_lossy(&explained.stderr));
    let beyond = Uuid::from_u128(offer.parse::<Uuid>().unwrap().as_u128() | 0xf00);
    assert_eq!(daemon.get(&format!("/click/{beyond}")).await.status, 404);
    let old = PathBuf::from(format!("{}.format-1", daemon.store().display()));
    assert!(old.join("db").exists(), "the old store is left to its operator");
}

/// A look at a store of an older format either leaves it as it is and says so, or says what becomes of it.
#[test]
fn a_store_of_an_older_format_is_not_rewritten_without_a_word() {
    let plan = Daemon::with_sample_partners();
    lay_format_1(&plan.store());
    let run = |arguments: &[&str]| {
        let output = plan.command(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let old = plan.store().with_file_name("store.format-1");
    let (code, told) = run(&["store", "check"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("of format 1") && told.contains("the next `offerd serve` rewrites it"), "{told}");
    assert!(!old.exists() && !plan.master_key().exists(), "nothing was rewritten");

    let (code, told) = run(&["token", "list"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("is a store of format 1: it is rewritten"), "{told}");
    assert!(old.exists());
    let (code, told) = run(&["store", "check"]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
}
