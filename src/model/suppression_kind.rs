//! What suppression lists identify people by: kinds, normal forms and digests.

use chrono::NaiveDate;
use offerd_base::worded;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use super::bounds::FIRST_BIRTH;
use super::input_kinds::has_shape;
use super::lead::Lead;
use super::plain_text::{as_it_looks, as_typed, folded, without_invisible};
use super::spoilt::{is_escaped, is_unreadable, repaired};
use super::text_format::{Email, Phone};

/// The SHA-256 of a normal form.
pub type SuppressionDigest = [u8; 32];

worded! {
    /// The kind of a suppression list.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SuppressionKind;

    /// The kind's name.
    fn word;

    /// Email addresses, in lower case.
    Email "email";
    /// Telephone numbers, as their ten digits.
    Phone "phone";
    /// First name, last name and date of birth, each name [as it is compared](name_in_lists):
    /// `ada|lovelace|1985-12-10`.
    Person "person";
}

impl SuppressionKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Email, Self::Phone, Self::Person];

    /// The required form of a plain-text line.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Phone => "a phone number of ten digits, without an extension",
            Self::Person => "first name, last name and day of birth, such as `Ada, Lovelace, 1985-12-10`",
        }
    }

    /// The digest of a plain-text line; `None` if it has the wrong form.
    pub fn of_line(self, line: &str) -> Option<SuppressionDigest> {
        let cells = if self == Self::Person { line.split(',').collect() } else { vec![line] };
        self.of_typed(&self.typed(&cells)).ok()
    }

    /// The digest of the cells of a list's row, for a person born by `today`. Refuses names that no lead has.
    ///
    /// # Errors
    /// What they must be.
    pub fn of_cells(
        self,
        cells: &[impl AsRef<str>],
        today: NaiveDate,
    ) -> Result<SuppressionDigest, &'static str> {
        let cells = self.typed(cells);
        let digest = self.of_typed(&cells)?;
        let (Self::Person, [first, last, born]) = (self, &cells[..]) else { return Ok(digest) };
        if [first, last].into_iter().any(|name| is_escaped(name)) {
            return Err(ESCAPED);
        }
        match day(born) {
            Some(born) if born > today => Err("names with a day of birth that is not in the future"),
            Some(born) if born < FIRST_BIRTH => {
                Err("names with a day of birth from 1900-01-01 on, as leads have it")
            }
            _ => Ok(digest),
        }
    }

    fn typed(self, cells: &[impl AsRef<str>]) -> Vec<String> {
        // Each apostrophe of a mail address is another address.
        let typed = if self == Self::Email { without_invisible } else { as_typed };
        cells.iter().map(|cell| typed(cell.as_ref()).trim().to_owned()).collect()
    }

    fn of_typed(self, cells: &[String]) -> Result<SuppressionDigest, &'static str> {
        let normal = match (self, cells) {
            (Self::Email, [address]) => Email::parse(address).map(|address| email(&address)),
            (Self::Phone, [number]) => Phone::parse(number).map(|number| number.as_str().to_owned()),
            (Self::Person, [first, last, born]) => {
                let born = day(born).ok_or("names with a day of birth such as `1985-12-10`")?;
                person([first, last], born, name_in_lists)
            }
            _ => None,
        };
        normal.map(|text| digest(&text)).ok_or(self.wanted())
    }

    /// The digests of a lead's applicant and, for the `person` kind, their alias and the co-applicant. Phone
    /// numbers are also hashed with the country code, as other systems do.
    pub fn of_lead(self, lead: &Lead) -> Vec<SuppressionDigest> {
        let with_country =
            |number: &String| ["", "1", "+1"].map(|country| digest(&format!("{country}{number}")));
        match self {
            Self::Phone => phones(lead).iter().flat_map(with_country).collect(),
            Self::Email | Self::Person => self.normal_of_lead(lead),
        }
    }

    /// Like [`of_lead`](Self::of_lead), for the normal form of [plain-text lines](Self::of_line) only. A name
    /// of another form is also hashed as given, as other systems do, and as earlier versions did.
    pub fn normal_of_lead(self, lead: &Lead) -> Vec<SuppressionDigest> {
        let normal = match self {
            Self::Email => emails(lead),
            Self::Phone => phones(lead),
            Self::Person => persons(lead),
        };
        normal.iter().map(|text| digest(text)).collect()
    }

    /// Like [`normal_of_lead`](Self::normal_of_lead), for the applicant only.
    pub fn normal_of_applicant(self, lead: &Lead) -> Vec<SuppressionDigest> {
        match self {
            Self::Email | Self::Phone => self.normal_of_lead(lead),
            Self::Person => applicant(lead, name_in_lists).iter().map(|text| digest(text)).collect(),
        }
    }
}

fn emails(lead: &Lead) -> Vec<String> {
    let given = lead.personal_information.as_ref().and_then(|person| person.email.as_ref());
    given.map(email).into_iter().collect()
}

fn phones(lead: &Lead) -> Vec<String> {
    let person = lead.personal_information.as_ref();
    let given = person.into_iter().flat_map(|person| [&person.primary_phone, &person.work_phone]).flatten();
    given.map(|phone| phone.as_str().to_owned()).collect()
}

/// Normalises a name for comparison.
type Spelling = fn(&str) -> String;

/// Picks a person of a lead.
type SubjectExtractor = fn(&Lead, Spelling) -> Option<String>;

fn applicant(lead: &Lead, spelling: Spelling) -> Option<String> {
    let who = lead.personal_information.as_ref()?;
    person([who.first_name.as_deref()?, who.last_name.as_deref()?], who.date_of_birth?, spelling)
}

fn alias(lead: &Lead, spelling: Spelling) -> Option<String> {
    let who = lead.personal_information.as_ref()?;
    let (first, last) = (who.alias_first_name.as_deref(), who.alias_last_name.as_deref());
    first.or(last)?;
    let names = [first.or(who.first_name.as_deref())?, last.or(who.last_name.as_deref())?];
    person(names, who.date_of_birth?, spelling)
}

fn co_applicant(lead: &Lead, spelling: Spelling) -> Option<String> {
    let who = lead.co_applicant_information.as_ref()?;
    person([who.first_name.as_deref()?, who.last_name.as_deref()?], who.date_of_birth?, spelling)
}

fn persons(lead: &Lead) -> Vec<String> {
    // The second is the normal form of lists that earlier versions stored.
    let spellings: [Spelling; 3] = [name_in_lists, |name| as_given(&as_it_looks(name)), as_given];
    let spelt = |who: SubjectExtractor| {
        let mut spelt: Vec<String> = spellings.iter().filter_map(|spelling| who(lead, *spelling)).collect();
        spelt.dedup();
        spelt
    };
    SUBJECTS.into_iter().flat_map(spelt).collect()
}

/// The people of a lead: the applicant, under their alias too, and the co-applicant.
const SUBJECTS: [SubjectExtractor; 3] = [applicant, alias, co_applicant];

/// Whether a name of a lead has letters that are lost, so that no list can be proved to lack it.
pub fn has_unreadable_name(lead: &Lead) -> bool {
    let marked: Spelling = |name| if is_unreadable(name) { "?" } else { "-" }.to_owned();
    SUBJECTS.iter().any(|who| who(lead, marked).is_some_and(|names| names.contains('?')))
}

fn email(email: &Email) -> String {
    email.as_str().to_lowercase()
}

fn person(names: [&str; 2], born: NaiveDate, spelling: Spelling) -> Option<String> {
    let [first, last] = names.map(spelling);
    (!first.is_empty() && !last.is_empty()).then(|| format!("{first}|{last}|{born}"))
}

/// The normal form of a name: repaired, as it looks, in lower case, with single spaces and none around hyphens
/// and apostrophes, composed.
pub fn name_in_lists(name: &str) -> String {
    let name = as_given(&folded(&repaired(name)));
    ["-", "'"].iter().fold(name, |name, mark| name.split(mark).map(str::trim).collect::<Vec<_>>().join(mark))
}

fn as_given(name: &str) -> String {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    words.nfc().collect()
}

const ESCAPED: &str = "names as people write them, without `&#39;`, `\\`, `%C3` or `?`, which programs put in place of letters; \
                       export the list again, as UTF-8";

/// Parses a date, also in the forms of spreadsheets: `1985/12/10`, `1985-12-10 00:00:00`.
fn day(text: &str) -> Option<NaiveDate> {
    let day = text.strip_suffix(" 00:00:00").or_else(|| text.strip_suffix("T00:00:00")).unwrap_or(text);
    let day = day.replace('/', "-");
    // Two digits could mean any century, or no year at all.
    let has_year = day.get(..5).is_some_and(|year| has_shape(year, "0000-"));
    has_year.then(|| day.parse().ok()).flatten()
}

fn digest(text: &str) -> SuppressionDigest {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead() -> Lead {
        let body = r#"{
            "personalInformation": {
                "firstName": "Ada", "lastName": "King  Lovelace", "dateOfBirth": "1985-12-10", "aliasLastName": "Byron",
                "email": "Ada@Example.com", "primaryPhone": "(206) 555-0100", "workPhone": "206-555-0101"
            },
            "coApplicantInformation": {"firstName": "William", "lastName": "King", "dateOfBirth": "1985-02-21"}
        }"#;
        Lead::read(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_in_plain_names_whom_the_lead_is_about_however_it_is_written() {
        for (kind, line) in [
            (SuppressionKind::Email, " ada@EXAMPLE.com"),
            (SuppressionKind::Email, "\u{202a}ada@example.com\u{202c}\u{a0}"),
            (SuppressionKind::Phone, "+1 206.555.0100"),
            (SuppressionKind::Phone, "2065550101"),
            (SuppressionKind::Person, "ADA, King Lovelace ,1985-12-10"),
            (SuppressionKind::Person, "ada,Byron,1985-12-10"),
            (SuppressionKind::Person, "William,King,1985-02-21"),
        ] {
            let digest = kind.of_line(line).unwrap();
            assert!(kind.of_lead(&lead()).contains(&digest), "{line}");
        }
        let composed_or_not = ["Zo\u{eb},King,1985-02-21", "Zoe\u{308},King,1985-02-21"];
        let [one, other] = composed_or_not.map(|line| SuppressionKind::Person.of_line(line));
        assert_eq!(one, other);
        // Two people may share these.
        let [one, other] =
            ["o`neil@example.com", "o'neil@example.com"].map(|line| SuppressionKind::Email.of_line(line));
        assert_ne!(one, other);
        let other = SuppressionKind::Email.of_line("other@example.com").unwrap();
        assert!(!SuppressionKind::Email.of_lead(&lead()).contains(&other));
    }

    /// Partners hash by the same rules, so these figures can be checked independently.
    #[test]
    fn digests_are_those_of_the_normal_form() {
        let hex = const_hex::encode::<SuppressionDigest>;
        let of = |text: &str| hex(digest(text));
        assert_eq!(of("ada@example.com"), hex(SuppressionKind::Email.of_lead(&lead())[0]),);
        assert_eq!(of("+12065550100"), hex(SuppressionKind::Phone.of_lead(&lead())[2]));
        assert_eq!(of("ada|king lovelace|1985-12-10"), hex(SuppressionKind::Person.of_lead(&lead())[0]));
        assert_eq!(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn what_hides_in_a_name_hides_nobody() {
        let listed = SuppressionKind::Person.of_line("Ada,O'Neil,1985-12-10").unwrap();
        for (first, last) in [
            ("Ada\0", "O'Neil"),
            ("A\u{7f}da", "O'Neil"),
            ("A\u{e0041}d\u{e007f}a", "O'Neil"),
            ("Ada\u{fe0f}", "O\u{e0100}'Neil"),
            ("Ａｄａ", "Ｏ\u{ff07}Ｎｅｉｌ"),
        ] {
            let person =
                serde_json::json!({"firstName": first, "lastName": last, "dateOfBirth": "1985-12-10"});
            // A lead that was stored before control characters were refused.
            let lead = serde_json::json!({"personalInformation": person}).to_string();
            let lead: Lead = serde_json::from_str(&lead).unwrap();
            let digests = [
                SuppressionKind::of_lead,
                SuppressionKind::normal_of_lead,
                SuppressionKind::normal_of_applicant,
            ];
            let found = digests.map(|of| of(SuppressionKind::Person, &lead).contains(&listed));
            assert_eq!(found, [true; 3], "{first:?} {last:?}");
        }
    }

    /// The second of each is how the first may come in a lead.
    #[test]
    fn a_listed_name_is_met_however_a_lead_has_it() {
        for (listed, comes) in [
            ("O'Brien", "O&#39;Brien"),
            ("O'Brien", "O\u{92}Brien"),
            ("O'Brien", "O\u{1ffd}Brien"),
            ("O'Brien", "O' Brien"),
            ("André", "AndrÃ©"),
            ("André", "Andr%C3%A9"),
            ("Yılmaz", "YILMAZ"),
            ("İnan", "inan"),
            ("Strauß", "STRAUSS"),
            ("Smith-Jones", "Smith - Jones"),
            ("Smith-Jones", "Smith\u{2043}Jones"),
            ("van Berg", "van\u{2800}Berg"),
        ] {
            for (listed, comes) in [(listed, comes), (comes, listed)] {
                let digest = SuppressionKind::Person.of_line(&format!("Ada,{listed},1985-12-10")).unwrap();
                let lead = named(comes);
                assert!(SuppressionKind::Person.of_lead(&lead).contains(&digest), "{listed:?} {comes:?}");
                assert!(!has_unreadable_name(&lead), "{comes:?}");
            }
        }
        // As earlier versions and other systems have them on their lists.
        for (hashed, comes) in [("ada|strauß|1985-12-10", "Strauß"), ("ada|o’brien|1985-12-10", "O’Brien")]
        {
            assert!(SuppressionKind::Person.of_lead(&named(comes)).contains(&digest(hashed)), "{comes}");
        }
        for lost in ["?ukasz", "Andr\u{fffd}", "M&uuml;ller"] {
            assert!(has_unreadable_name(&named(lost)), "{lost}");
        }
    }

    fn named(last: &str) -> Lead {
        let person = serde_json::json!({"firstName": "Ada", "lastName": last, "dateOfBirth": "1985-12-10"});
        Lead::read(serde_json::json!({"personalInformation": person}).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_a_program_has_put_in_place_of_a_letter_is_no_letter() {
        let kind = SuppressionKind::Person;
        let today = FIRST_BIRTH;
        for name in [
            r"O&#39;Neil",
            "O&#39Neil",
            "M&uuml;ller",
            r"O\'Neil",
            r"Andr\u00e9",
            "Andr%C3%A9",
            "Andr=C3=A9",
            "?ukasz",
        ] {
            assert_eq!(kind.of_cells(&["Ada", name, "1900-01-01"], today), Err(ESCAPED), "{name}");
            assert_eq!(kind.of_cells(&[name, "Ada", "1900-01-01"], today), Err(ESCAPED), "{name}");
            assert!(
                kind.of_line(&format!("Ada,{name},1900-01-01")).is_some(),
                "a lead may have come so: {name}"
            );
        }
        for name in ["O'Neil", "Smith & Jones", "Smith&Jones", "Müller"] {
            assert!(kind.of_cells(&["Ada", name, "1900-01-01"], today).is_ok(), "{name}");
        }
        assert!(kind.of_cells(&["Ada", "King", "1899-12-31"], today).is_err());
        assert!(SuppressionKind::Email.of_cells(&["a?b%C3&c@example.com"], today).is_ok());
    }

    #[test]
    fn what_names_nobody_is_refused_and_a_lead_without_it_has_no_digest() {
        for (kind, line) in [
            (SuppressionKind::Email, "ada"),
            (SuppressionKind::Phone, "555-0100"),
            (SuppressionKind::Person, "Ada,Lovelace"),
            (SuppressionKind::Person, "Ada,,1985-12-10"),
            (SuppressionKind::Person, "Ada,Lovelace,10.12.1985"),
        ] {
            assert_eq!(kind.of_line(line), None, "{line}");
            assert!(kind.of_lead(&Lead::default()).is_empty());
        }
    }
}
