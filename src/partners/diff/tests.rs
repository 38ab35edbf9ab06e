//! Reports on two differing books.

use std::path::PathBuf;

use super::*;

use crate::partner_files::{PartnerFile, partner};

fn book(files: &[(&str, PartnerFile)]) -> Book {
    let text = |(key, file): &(&str, PartnerFile)| (PathBuf::from(format!("{key}.toml")), file.text());
    Book::from_texts(files.iter().map(text)).unwrap()
}

/// The only change of the only changed partner.
fn change(before: PartnerFile, after: PartnerFile) -> ProductDiff {
    let mut diff = BookDiff::between(&book(&[("one", before)]), &book(&[("one", after)]));
    assert_eq!((diff.added.len(), diff.removed.len(), diff.changed.len()), (0, 0, 1), "{diff:?}");
    let PartnerDiff { partner, identity, mut products } = diff.changed.remove(0);
    assert_eq!((partner.as_str(), identity, products.len()), ("one", Vec::new(), 1));
    products.pop_first().unwrap().1
}

fn aspect(key: &str, before: Option<&str>, after: Option<&str>) -> ChangedKey {
    ChangedKey { key: key.to_owned(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
}

fn of_aspects(aspects: Vec<ChangedKey>) -> ProductDiff {
    ProductDiff::Changed { aspects, offers: None, credentials: false }
}

#[test]
fn the_same_files_are_the_same_book_however_they_are_laid_out() {
    let plain = partner("one").savings("second_look = false\npaused = true");
    let other = partner("one").savings("# A remark.\n\npaused   =  true\nsecond_look = false");
    let (one, two) = (book(&[("one", plain)]), book(&[("one", other)]));
    assert_eq!(BookDiff::between(&one, &two), BookDiff::default());
    assert_eq!(one.fingerprint, two.fingerprint);
}

#[test]
fn partners_come_and_go_with_the_size_of_their_catalogs() {
    let before = book(&[("gone", partner("gone").savings("")), ("stays", partner("stays").savings(""))]);
    let after =
        book(&[("came", partner("came").loan("").savings("")), ("stays", partner("stays").savings(""))]);
    let diff = BookDiff::between(&before, &after);
    let figures = |partner: &str, products: &[&str]| PartnerFigures {
        partner: partner.to_owned(),
        products: products.iter().map(|product| ((*product).to_owned(), 1)).collect(),
    };
    assert_eq!(diff.added, [figures("came", &["loan", "savings"])]);
    assert_eq!(diff.removed, [figures("gone", &["savings"])]);
    assert_eq!(diff.changed, []);
    assert_ne!(before.fingerprint, after.fingerprint);
}

#[test]
fn keys_are_named_with_their_values_but_for_tables_and_lists() {
    let plain = || partner("one").savings("");
    let slow = plain().replaced("timeout = \"10s\"", "timeout = \"3s\"");
    assert_eq!(change(plain(), slow), of_aspects(vec![aspect("timeout", Some("\"10s\""), Some("\"3s\""))]));

    let paused = partner("one").savings("paused = true");
    assert_eq!(change(plain(), paused.clone()), of_aspects(vec![aspect("paused", None, Some("true"))]));
    assert_eq!(change(paused, plain()), of_aspects(vec![aspect("paused", Some("true"), None)]));

    let limited = partner("one").savings("limits = { per_day = 5 }");
    assert_eq!(change(plain(), limited), of_aspects(vec![aspect("limits", None, None)]));
}

#[test]
fn product_types_come_and_go() {
    let (one, two) = (|| partner("one").savings(""), || partner("one").savings("").loan(""));
    assert_eq!(change(one(), two()), ProductDiff::Added { offers: 1 });
    assert_eq!(change(two(), one()), ProductDiff::Removed { offers: 1 });
}

#[test]
fn offers_are_counted_by_what_became_of_their_keys() {
    let offer = |key: &str, name: &str| {
        format!(
            "\n[[products.insurance.offers]]\nkey = \"{key}\"\nname = \"{name}\"\ndescription = \"d\"\n\
             landing_url = \"https://a.example/\"\npayout = {{ on = \"click\", fixed = 1.0 }}\n\
             conversion_probability = 0.5\n"
        )
    };
    let with = |offers: &[(&str, &str)]| {
        let offers: String = offers.iter().map(|(key, name)| offer(key, name)).collect();
        partner("one").and(&format!("\n[products.insurance]\ntimeout = \"1s\"\n{offers}"))
    };
    let before = with(&[("a", "A"), ("b", "B"), ("c", "C")]);
    let after = with(&[("d", "D"), ("c", "C"), ("b", "Other"), ("e", "E")]);
    let offers = OffersDiff { before: 3, after: 4, added: 2, removed: 1, changed: 1 };
    let expected = ProductDiff::Changed { aspects: Vec::new(), offers: Some(offers), credentials: false };
    assert_eq!(change(before, after), expected);
}

#[test]
fn offers_are_counted_as_the_book_counts_them() {
    let with = |terms: &str| partner("one").loan("").replaced("terms = [36]", terms);
    let (one, two) = (with("terms = [36]"), with("terms = [36, 60]"));
    let offers = OffersDiff { before: 1, after: 2, added: 2, removed: 1, changed: 0 };
    let expected = ProductDiff::Changed { aspects: Vec::new(), offers: Some(offers), credentials: false };
    assert_eq!(change(one, two.clone()), expected);
    let after = book(&[("one", two)]);
    let diff = BookDiff::between(&book(&[]), &after);
    assert_eq!(diff.added[0].products.values().sum::<usize>(), after.offers());
}

#[test]
fn who_a_partner_is_may_change_too() {
    let of = |description: &str| {
        let text = partner("one").savings("").text().replace("A partner of the tests.", description);
        Book::from_texts([(PathBuf::from("one.toml"), text)]).unwrap()
    };
    for (long, shown) in [
        ("é".repeat(118), format!("\"{}\"", "é".repeat(118))),
        ("é".repeat(130), format!("\"{}…", "é".repeat(119))),
    ] {
        let mut diff = BookDiff::between(&of("Short."), &of(&long));
        let changed = diff.changed.remove(0);
        assert_eq!(changed.identity, [aspect("description", Some("\"Short.\""), Some(&shown))]);
        assert!(changed.products.is_empty());
    }
}

/// The file is unchanged, but the partner receives another secret. The secret itself is never shown.
#[test]
fn another_secret_is_a_change() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    let file = partner("one").loan("").replaced("bands = [ { rate = 7.0 } ]\n", "").and(&format!(
        "\n[products.loan.http]\nurl = \"https://one.example/\"\nsecrets = {{ key = {{ file = {:?} }} }}\n\
         headers = {{ X-Key = \"secret.key\" }}\njson = {{ amount = \"lead.loanInformation.loanAmount\" }}\n\
         answer = {{ offer = {{ key = \"'personal'\", term = \"36\", apr = \"response.apr\", pre_qualified = \"true\" }} }}\n",
        secret.display().to_string()
    ));
    let with = |text: &str| {
        std::fs::write(&secret, text).unwrap();
        book(&[("one", file.clone())])
    };
    let (before, same, after) = (with("first secret"), with("first secret"), with("other secret"));
    assert_eq!(BookDiff::between(&before, &same), BookDiff::default());
    let diff = BookDiff::between(&before, &after);
    let only_credentials = ProductDiff::Changed { aspects: Vec::new(), offers: None, credentials: true };
    assert_eq!(diff.changed[0].products["loan"], only_credentials);
    assert!(!serde_json::to_string(&diff).unwrap().contains("secret"));
    assert_eq!(
        before.fingerprint, after.fingerprint,
        "the fingerprint is public, so it tells nothing of secrets"
    );
}
