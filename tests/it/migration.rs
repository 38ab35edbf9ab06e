//! Stores that older offerds wrote: opened by this one, they give the same answers.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use hyper::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::kit::Daemon;

/// The formats whose stores are kept.
const FORMATS: [u32; 3] = [1, 3, 4];

/// The directory of what is kept of a format.
fn kept(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stores/format-{format}"))
}

/// The content of a file, unpacked.
fn content(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    if file.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// What is kept beside the store of a format.
fn stored(format: u32, name: &str) -> Vec<u8> {
    content(&kept(format).join(name))
}

/// Puts a store of a format into a directory that is not there yet, and its master key beside it where it has one.
pub fn lay(format: u32, store: &Path) {
    lay_directory(&kept(format).join("store"), store);
    let key = kept(format).join("store.key");
    if key.exists() {
        let file = store.with_extension("key");
        fs::write(&file, content(&key)).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    }
}

fn lay_directory(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let path = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => lay_directory(&entry.path(), &path),
            false => {
                let path = if path.extension().is_some_and(|it| it == "gz") {
                    path.with_extension("")
                } else {
                    path
                };
                fs::write(path, content(&entry.path())).unwrap();
            }
        }
    }
}

/// A table without what it tells of itself only since: its page, when it was made, and what follows from that and from its order.
fn without_additions(mut table: Value) -> Value {
    for addition in ["createdAt", "partnerPageUrl", "embedUrl"] {
        assert!(table.as_object_mut().unwrap().remove(addition).is_some_and(|added| added.is_string()));
    }
    for array in ["creditCardOffers", "mortgageOffers", "savingsOffers"] {
        for (nth, offer) in table[array].as_array_mut().unwrap().iter_mut().enumerate() {
            let offer = offer.as_object_mut().unwrap();
            assert_eq!(offer.remove("rank"), Some((nth + 1).into()));
            assert!(offer.remove("expiresAt").is_some_and(|at| at.is_string()));
        }
    }
    table
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
    lay(1, &plan.store());
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
    assert_eq!(without_additions(now.json()), json(&table), "the rate table is not what it was");
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

/// A lead of an older offerd is found with its tables, grows, gets another one, and is erased, as if it were of today.
#[tokio::test]
async fn a_lead_in_a_store_of_every_format_lives_on() {
    for format in FORMATS {
        let plan = Daemon::with_sample_partners().setting("api.base_url", "http://offers.example");
        lay(format, &plan.store());
        let token = String::from_utf8(stored(format, "token")).unwrap().trim().to_owned();
        let json = |name| serde_json::from_slice::<Value>(&stored(format, name)).unwrap();
        let (lead, table) = (json("lead.json.gz"), json("table.json.gz"));
        let daemon = plan.start_with_token(token).await;
        daemon.canaries().note("", &stored(format, "lead.json.gz"));
        let (lead_uuid, table_uuid) = (lead["uuid"].as_str().unwrap(), table["uuid"].as_str().unwrap());

        let path = format!("/leads/{lead_uuid}");
        assert_eq!(daemon.get(&path).await.json(), lead, "format {format}");
        let now = daemon.rate_table(table_uuid).await.json();
        assert_eq!(without_additions(now), table, "format {format}");
        let tables = || {
            let exported = daemon.command(&["lead", "export", lead_uuid]);
            let exported: Value = serde_json::from_slice(&exported.stdout).unwrap();
            exported["rateTables"].as_array().unwrap().clone()
        };
        let before = tables();
        assert_eq!(without_additions(before[0].clone()), table, "format {format}");
        let (url, more) = (
            format!("{}{path}/rateTables", daemon.api),
            r#"{"personalInformation":{"workPhone":"5095550199"}}"#,
        );
        let again = daemon.request(Method::POST, &url, &daemon.confidential, more).await;
        assert_eq!(again.status, 200, "format {format}: {}", String::from_utf8_lossy(&again.body));
        let after = tables();
        assert_eq!(after.len(), before.len() + 1, "format {format}");
        assert_eq!(after.last().unwrap()["uuid"], again.json()["uuid"]);

        let erased = daemon.command(&["lead", "erase", lead_uuid]);
        assert!(erased.status.success(), "format {format}: {}", String::from_utf8_lossy(&erased.stderr));
        for gone in after.iter().map(|table| table["uuid"].as_str().unwrap()) {
            assert_eq!(daemon.rate_table(gone).await.status, 404, "format {format}");
        }
        assert_eq!(daemon.get(&path).await.status, 404, "format {format}");
        let checked = daemon.command(&["store", "check"]);
        assert!(checked.status.success(), "format {format}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}

/// A look at a store of an older format either leaves it as it is and says so, or says what becomes of it.
#[test]
fn a_store_of_an_older_format_is_not_rewritten_without_a_word() {
    let plan = Daemon::with_sample_partners();
    lay(1, &plan.store());
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
