//! Phone numbers and names with what phones, address books and word processors put into them are the numbers and names they look like.

use offerd::model::{Lead, Phone, SuppressionKind};
use serde_json::json;
use utoipa::PartialSchema;

use crate::kit::Daemon;
use crate::kit::partners::partner;

/// A spelling of 415 555 0132, and where it was seen.
const NUMBERS: [(&str, &str); 14] = [
    ("\u{202d}+1 (415) 555-0132\u{202c}", "copied from the contacts of a phone; hyper 86"),
    ("415\u{a0}555\u{a0}0132", "no-break blanks of a letterhead"),
    ("415\u{202f}555\u{202f}0132", "narrow ones, as a French phone groups digits"),
    ("415\u{2011}555\u{2011}0132", "no-break hyphens of a style guide; notifications-utils 1222"),
    ("415\u{2013}555\u{2013}0132", "dashes of a word processor"),
    ("415\u{2212}555\u{2212}0132", "minus signs of a page"),
    ("\u{200e}4155550132", "a left-to-right mark; contao 8434"),
    ("+1\u{fe0d}-415-555-0132", "a variation selector out of a PDF; woocommerce 58000"),
    ("\u{2066}4155550132\u{2069}", "isolates of a messenger"),
    ("\u{feff}415\u{200b}5550132", "a mark and a place to break, of a page"),
    ("415/555-0132", "a slash behind the area code, as older forms print it"),
    ("tel:+1-415-555-0132", "a link of a page; RFC 3966"),
    ("TEL: 4155550132", "a signature of a mail"),
    ("(415)\u{3000}555\u{ad}0132", "a wide blank and a soft hyphen"),
];

/// No number, however it looks.
const OTHERS: [&str; 8] = [
    "415\u{2011}555\u{2011}013",
    "415'555'0132",
    "415-555-0132 x12",
    "415-555-0132 ext. 12",
    "tel:",
    "fax:4155550132",
    "４１５５５５０１３２",
    "\u{202d}\u{202c}",
];

#[test]
fn a_number_is_what_it_looks_like_in_leads_look_ups_and_lists() {
    let schema = serde_json::to_value(Phone::schema()).unwrap();
    let described = jsonschema::validator_for(&schema).unwrap();
    let plain = SuppressionKind::Phone.of_line("4155550132");
    for (number, seen) in NUMBERS {
        assert_eq!(Phone::parse(number).expect(seen).as_str(), "4155550132", "{seen}");
        assert!(described.is_valid(&json!(number)), "{seen}");
        assert_eq!(SuppressionKind::Phone.of_line(number), plain, "{seen}");
        let body = json!({"personalInformation": {"primaryPhone": number}}).to_string();
        let lead = Lead::read(body.as_bytes()).unwrap();
        assert_eq!(SuppressionKind::Phone.normal_of_lead(&lead), [plain.unwrap()], "{seen}");
    }
    for other in OTHERS {
        assert!(Phone::parse(other).is_none() && !described.is_valid(&json!(other)), "{other}");
    }
}

/// Two spellings of one name, and where the first was seen.
const NAMES: [(&str, &str, &str); 16] = [
    ("O\u{2019}Brien", "O'Brien", "a phone that types the curly apostrophe; scholarnetwork 3"),
    ("O\u{2bc}Brien", "O'Brien", "the letter apostrophe of a registry"),
    ("O`Brien", "o'brien", "a keyboard without the other"),
    ("D\u{b4}Angelo", "D'Angelo", "an accent typed alone"),
    ("Smith\u{2011}Jones", "Smith-Jones", "a no-break hyphen of a word processor"),
    ("Smith\u{2013}Jones", "Smith-Jones", "a dash of one"),
    ("van\u{a0}der  Berg", "van der Berg", "a no-break blank of a page"),
    ("\u{202d}Berg\u{202c}", "Berg", "an address book of a phone"),
    ("O&#39;Brien", "O'Brien", "a form that escapes for HTML before it sends"),
    ("O\u{92}Brien", "O'Brien", "a page in windows-1252 that was read as Latin-1"),
    ("AndrÃ©", "André", "UTF-8 that was read as windows-1252; mailchimp 2009"),
    ("Andr%C3%A9", "André", "a link whose parameters were not decoded"),
    ("Strauß", "STRAUSS", "a form in capitals"),
    ("Yılmaz", "YILMAZ", "a Turkish form in capitals"),
    ("Smith - Jones", "Smith-Jones", "blanks of a page around the hyphen"),
    ("Mu\u{ad}n\u{303}oz\u{200b}", "Muñoz", "a page with places to break"),
];

fn lead(last: &str) -> String {
    let person = json!({
        "firstName": "Ada", "lastName": last, "dateOfBirth": "1985-12-10",
        "email": "ada.o@suppressed.example", "primaryPhone": "\u{202d}206\u{2011}555\u{2011}0100\u{202c}",
    });
    json!({"productTypes": ["savings"], "personalInformation": person}).to_string()
}

#[test]
fn a_name_is_what_it_looks_like() {
    for (name, typed, seen) in NAMES {
        let line =
            |name: &str| SuppressionKind::Person.of_line(&format!("Ada,{name},1985-12-10")).expect(seen);
        assert_eq!(line(name), line(typed), "{seen}");
        for name in [name, typed] {
            let lead = Lead::read(lead(name).as_bytes()).unwrap();
            assert!(SuppressionKind::Person.of_lead(&lead).contains(&line(typed)), "{seen}");
            assert_eq!(SuppressionKind::Person.normal_of_applicant(&lead), [line(typed)], "{seen}");
        }
    }
    let [one, other] = ["O'Brien", "OBrien"].map(|name| format!("Ada,{name},1985-12-10"));
    assert_ne!(SuppressionKind::Person.of_line(&one), SuppressionKind::Person.of_line(&other));
}

#[tokio::test]
async fn somebody_is_found_and_left_alone_however_they_are_spelt() {
    let bank = partner("bank").with_identity("suppress = [\"listed\"]").savings("");
    let daemon = Daemon::with_partners(vec![bank]).start().await;
    let file = daemon.file("list.csv");
    std::fs::write(&file, "Ada,O'Brien,1985-12-10\n").unwrap();
    let add = ["suppressions", "add", "listed", file.to_str().unwrap(), "--kind", "person", "--plain"];
    assert!(daemon.command(&add).status.success());
    for (last, offers) in [("O\u{2019}Brien", 0), ("Obrien", 1)] {
        let table = daemon.submit_blocking(lead(last)).await.json();
        assert_eq!(table["savingsOffers"].as_array().unwrap().len(), offers, "{last}: {table}");
    }
    // No list of names can be proved to lack a name of which letters are lost.
    let table = daemon.submit_blocking(lead("?brien")).await.json();
    assert_eq!(table["savingsOffers"], json!([]), "{table}");
    let found = daemon.command(&["person", "find", "--phone", "(206)\u{a0}555\u{2011}0100", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 3, "{found}");
}

/// Whoever has no SSN and no day of birth is the same by phone and last name.
#[tokio::test]
async fn a_duplicate_is_one_however_it_is_spelt() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let arguments =
        ["token", "create", "--company", "Careful", "--kind", "publishable", "--duplicate-look-back", "60"];
    let token = String::from_utf8(daemon.command(&arguments).stdout).unwrap().trim().to_owned();
    let url = format!("{}/leads/rateTables", daemon.api);
    for (last, number, status) in [
        ("O'Brien", "(206) 555-0100", 200),
        ("O\u{2019}Brien", "\u{202d}206\u{a0}555\u{2011}0100\u{202c}", 409),
        ("\u{202d}O\u{2bc}Brien\u{a0}", "2065550100", 409),
        ("Obrien", "2065550100", 200),
    ] {
        let lead = json!({"personalInformation": {"lastName": last, "primaryPhone": number}}).to_string();
        let answer = daemon.request(hyper::Method::POST, &url, &token, &lead).await;
        assert_eq!(answer.status, status, "{last} {number}");
    }
}
