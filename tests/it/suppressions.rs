//! Suppression lists: no partner is asked about a listed person, whatever happens, and nothing reveals who is listed.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::kit::Daemon;
use crate::kit::partners::{PartnerFile, partner};

const ADA: &str = "Ada.Lovelace@suppressed.example";

/// A lead of somebody with this address.
fn lead(email: &str) -> String {
    json!({
        "productTypes": ["savings"],
        "personalInformation": {
            "firstName": "Ada", "lastName": "Lovelace", "dateOfBirth": "1985-12-10",
            "email": email, "primaryPhone": "(206) 555-0100",
        },
    })
    .to_string()
}

/// A bank that names lists.
fn bank(key: &str, lists: &[&str]) -> PartnerFile {
    let lists = toml::Value::try_from(lists).unwrap();
    partner(key).with_identity(&format!("suppress = {lists}")).savings("")
}

fn hashed(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

fn add(daemon: &Daemon, list: &str, lines: &str, kind: &[&str]) -> Output {
    let file = daemon.file("list.txt");
    std::fs::write(&file, lines).unwrap();
    let command = [&["suppressions", "add", list, file.to_str().unwrap()], kind].concat();
    daemon.command(&command)
}

/// How many offers somebody has, and the lead's uuid.
async fn offers(daemon: &Daemon, email: &str) -> (usize, String) {
    let table = daemon.submit_blocking(lead(email)).await.json();
    let lead = table["leadUuid"].as_str().unwrap().to_owned();
    (table["savingsOffers"].as_array().unwrap().len(), lead)
}

fn explained(daemon: &Daemon, what: &str) -> Value {
    let output = daemon.command(&["explain", what, "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn seat<'e>(explained: &'e Value, key: &str) -> &'e Value {
    let seats = explained["rateTables"][0]["seats"].as_array().unwrap();
    seats.iter().find(|seat| seat["partner"] == key).unwrap()
}

#[tokio::test]
async fn who_is_on_a_list_of_a_partner_is_not_asked_about_until_the_list_goes() {
    let daemon =
        Daemon::with_partners(vec![bank("careful", &["left_alone"]), bank("open", &[])]).start().await;
    let (before, unlisted) = offers(&daemon, ADA).await;
    assert_eq!(before, 1, "nobody knows who is on a list that is missing");
    let told = explained(&daemon, &unlisted);
    assert_eq!(seat(&told, "careful")["why"], "list_missing");
    let listed = said(&daemon.command(&["partners", "list"]));
    assert!(listed.contains("without its suppression list"), "{listed}");

    // An empty list would let everybody pass.
    for empty in ["", "\n\n"] {
        let refused = add(&daemon, "left_alone", empty, &["--kind", "email"]);
        let told = said(&refused);
        assert!(
            refused.status.code() == Some(1) && told.contains("nothing is added to `left_alone`"),
            "{told}"
        );
    }
    assert_eq!(offers(&daemon, "nobody.listed@suppressed.example").await.0, 1);
    let digest = hashed(&ADA.to_lowercase());
    let added = add(&daemon, "left_alone", &format!("{digest}\n\n{digest}\r\n"), &["--kind", "email"]);
    assert!(added.status.success(), "{}", said(&added));
    assert!(said(&added).contains("2 lines read, 0 bad; left_alone has 1 entry"), "{}", said(&added));
    let (others, _) = offers(&daemon, "somebody.else@suppressed.example").await;
    let (found, suppressed) = offers(&daemon, ADA).await;
    assert_eq!((others, found), (2, 1));

    let told = explained(&daemon, &suppressed);
    assert_eq!(seat(&told, "careful")["why"], "suppressed");
    let told_in_words = said(&daemon.command(&["explain", &suppressed]));
    let wanted = "not asked: a person on none of its suppression lists, found one on such a list";
    assert!(told_in_words.contains(wanted), "{told_in_words}");
    assert_eq!(seat(&told, "open")["why"], "offers");
    let url = format!("{}/leads/{suppressed}/explanation", daemon.api);
    let document = daemon.request(hyper::Method::GET, &url, &daemon.confidential, "").await.json();
    let partners = document["rateTables"][0]["partners"].as_array().unwrap();
    let told = partners.iter().find(|one| one["partnerName"] == "careful").unwrap();
    assert_eq!((&told["result"], &told["conditions"]), (&json!("limit"), &json!([])));
    let dossier = daemon.command(&["lead", "export", &suppressed]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    assert_eq!(dossier["suppressionLists"], json!(["left_alone"]));

    let figure = "<h2>Suppressed partner products</h2><p class=\"figure\">1</p>";
    let counted = async {
        while !crate::console::html(&daemon, "/console/funnel?leads=test").await.contains(figure) {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    // Not the one while the list was missing, which was no wish of theirs.
    tokio::time::timeout(std::time::Duration::from_secs(60), counted).await.expect("the funnel counts them");

    // It outlives a kill, and the person whose lead is erased.
    assert!(daemon.command(&["lead", "erase", &suppressed]).status.success());
    let daemon = daemon.kill().start().await;
    assert_eq!(offers(&daemon, ADA).await.0, 1);
    let lists: Value =
        serde_json::from_slice(&daemon.command(&["suppressions", "list", "--json"]).stdout).unwrap();
    assert_eq!((&lists[0]["entries"], &lists[0]["partners"]), (&json!(1), &json!(["careful"])));

    assert!(daemon.command(&["suppressions", "remove", "left_alone"]).status.success());
    assert_eq!(offers(&daemon, "somebody.else@suppressed.example").await.0, 1, "the list is missing again");
    assert!(said(&daemon.command(&["suppressions", "remove", "left_alone"])).contains("there is no list"));
}

#[tokio::test]
async fn lines_in_plain_are_hashed_and_what_is_bad_is_told_without_what_it_says() {
    let lists = ["by_email", "by_phone", "by_name"];
    let daemon = Daemon::with_partners(vec![bank("careful", &lists)]).start().await;
    let added = add(
        &daemon,
        "by_email",
        "someone@suppressed.example\nnot.an.address\n",
        &["--kind", "email", "--plain"],
    );
    assert_eq!(added.status.code(), Some(1));
    let told = said(&added);
    assert!(told.contains("list.txt:2: must be an email address"), "{told}");
    assert!(told.contains("2 lines read, 1 bad; by_email has 1 entry"), "{told}");
    assert!(!told.contains("not.an.address"), "{told}");
    for (list, line, kind) in
        [("by_phone", "206-555-0100", "phone"), ("by_name", "Grace, Hopper, 1986-12-09", "person")]
    {
        assert!(add(&daemon, list, line, &["--kind", kind, "--plain"]).status.success(), "{list}");
    }
    let refused = add(&daemon, "by_phone", &hashed("someone"), &["--kind", "email"]);
    assert!(said(&refused).contains("must be `phone`, as the list `by_phone` is"), "{}", said(&refused));
    let none = add(&daemon, "new", "someone@suppressed.example", &["--kind", "email"]);
    assert!(
        said(&none).contains("none of the 1 lines is good, so nothing is added to `new`"),
        "{}",
        said(&none)
    );
    let of_nothing = format!("sha256\n{}\n{}\n", hashed(""), hashed("someone@suppressed.example"));
    let hashes = said(&add(&daemon, "by_email", &of_nothing, &["--kind", "email"]));
    let wanted = "list.txt:2: must be the SHA-256 of a contact, got that of an empty text";
    assert!(
        hashes.contains(wanted) && hashes.contains("2 lines read, 1 bad; by_email has 1 entry"),
        "{hashes}"
    );
    let listed = said(&daemon.command(&["suppressions", "list"]));
    assert!(!listed.contains("new"), "an empty list would let everybody pass: {listed}");
    let hash = said(&add(&daemon, "by_email", "someone@suppressed.example", &["--kind", "email"]));
    assert!(hash.contains("use `--plain` for plain text"), "{hash}");

    // Found by the phone number, in a lead that is given and in one that is stored.
    let file = daemon.file("lead.json");
    std::fs::write(&file, lead("other@suppressed.example")).unwrap();
    let given = explained(&daemon, file.to_str().unwrap());
    assert_eq!(given[0]["asked"], false);
    assert_eq!(given[0]["refusals"][0]["found"], "one who is on `by_phone`");
    let told = said(&daemon.command(&["explain", file.to_str().unwrap()]));
    let wanted = "not asked: a person on none of its suppression lists, found one who is on `by_phone`";
    assert!(told.contains(wanted), "{told}");
    let (found, _) = offers(&daemon, "other@suppressed.example").await;
    assert_eq!(found, 0);

    let (_, stopped) = daemon.terminate();
    let listed = said(&stopped.plan.command(&["suppressions", "list"]).output().unwrap());
    assert!(listed.contains("by_email"), "{listed}");
    let digest = hashed("someone@suppressed.example");
    let raw: Vec<u8> = Sha256::digest(b"someone@suppressed.example").to_vec();
    for bytes in [b"someone@suppressed".as_slice(), b"Hopper", digest.as_bytes(), &raw] {
        assert!(!is_in(stopped.plan.store(), bytes), "{}", String::from_utf8_lossy(bytes));
    }
}

/// Whether any file below a directory has these bytes.
fn is_in(directory: impl AsRef<Path>, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).unwrap().map(Result::unwrap).any(|entry| match entry.file_type().unwrap() {
        kind if kind.is_dir() => is_in(entry.path(), bytes),
        kind if kind.is_file() => {
            let held = std::fs::read(entry.path()).unwrap();
            held.windows(bytes.len()).any(|window| window == bytes)
        }
        _ => false,
    })
}

#[tokio::test]
async fn a_partner_that_names_a_list_that_cannot_be_one_is_a_fault() {
    let daemon = Daemon::with_partners(vec![bank("careful", &["Left Alone"])]);
    let checked = said(&daemon.command(&["check"]).output().unwrap());
    assert!(checked.contains("`partner.suppress[0]` must be lower-case letters"), "{checked}");
    let daemon = Daemon::with_partners(vec![bank("careful", &[])]).start().await;
    let refused = said(&daemon.command(&["suppressions", "add", "Left Alone", "-", "--kind", "email"]));
    assert!(refused.contains("must be lower-case letters"), "{refused}");
}
