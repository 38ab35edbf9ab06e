//! Checked text formats, and the macro that defines them.

use std::net::IpAddr;

use super::fault::{AttributeFault, FaultKind};
use super::input_kinds::has_shape;
use super::leniency;
use super::plain_text::as_typed;
use super::schema::Accepted;

/// Defines a text type of values accepted by `$parse`, in their normal form. All of these types identify a
/// person, so `Debug` shows no value and there is no `Display`.
macro_rules! text_format {
    ($(#[doc = $about:literal])* $name:ident, $wanted:literal, $accepted:expr, $parse:expr $(, mend: $propose:expr)?
        $(, implausible: ($value:ident, $faults:ident) => $fault:expr)?) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Parses the text into its normal form; `None` if it has the wrong form.
            pub fn parse(text: &str) -> Option<Self> {
                let parse: fn(&str) -> Option<String> = $parse;
                parse(text).map(Self)
            }

            /// The normal form.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom(concat!("must be ", $wanted)))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::schema::checked_text($accepted, &[$($about),*])
            }
        }

        impl utoipa::ToSchema for $name {}

        $crate::input::from_scalar! {
            $name, $wanted, Some($crate::AttributeKind::Text),
            describe: components => $crate::schema::reference::<Self>(components),
            read: found => $crate::input::text(found, $crate::fault::FaultKind::Format, Self::parse),
            show: text => Some($crate::AttributeValue::Text(&text.0)),
            $(mend: $propose,)?
            $(implausible: ($value, $faults) => $fault,)?
        }
    };
}

/// Separators between digits, as a pattern: blanks, hyphens and invisible characters.
macro_rules! between_digits {
    () => {
        r"[ ./()\[\]\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2010-\u2015\u2024\u2028-\u202f\u2043\u205f-\u206f\u2212\u2800\u3000\u3164\ufe00-\ufe0f\ufe58\ufe63\ufeff\uffa0\ufff9-\ufffb-]*"
    };
}

text_format! {
    /// A telephone number, kept as its ten digits without separators and country code.
    Phone, "a phone number of ten digits, without an extension",
    Accepted::Pattern(concat!(
        "^", between_digits!(), "([Tt][Ee][Ll]:", between_digits!(), r")?(\+?", between_digits!(), "1", between_digits!(), ")?([0-9]", between_digits!(), "){10}$",
    )), ten_digits, mend: leniency::digits::<10>
}

/// Takes out what stands between digits, then the scheme of a link and an optional country code.
fn ten_digits(text: &str) -> Option<String> {
    let is_between = |c: &char| matches!(c, ' ' | '.' | '/' | '-' | '(' | ')' | '[' | ']');
    let typed = as_typed(text);
    let typed = typed.trim_start_matches(|c| is_between(&c));
    let typed = match typed.split_at_checked(4) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("tel:") => rest,
        _ => typed,
    };
    let number: String = typed.chars().filter(|c| !is_between(c)).collect();
    let domestic = match number.strip_prefix("+1") {
        Some(rest) => rest,
        None if number.len() == 11 => number.strip_prefix('1')?,
        None => &number,
    };
    let is_phone = domestic.len() == 10 && domestic.bytes().all(|byte| byte.is_ascii_digit());
    is_phone.then(|| domestic.to_owned())
}

text_format! {
    /// A postal code: five digits, or nine like `94105-1804`.
    Zipcode, "a zipcode of five digits, or ZIP+4", Accepted::Pattern(r"^[0-9]{5}([- ][0-9]{4})?$"), zip_or_zip_4,
    mend: leniency::digits::<5>
}

impl Zipcode {
    /// The first five digits, which name the place.
    pub fn five_digits(&self) -> &str {
        &self.as_str()[..5]
    }
}

/// Normalises a space before the last four digits to a dash.
fn zip_or_zip_4(text: &str) -> Option<String> {
    let is_zipcode = ["00000", "00000-0000", "00000 0000"].iter().any(|shape| has_shape(text, shape));
    is_zipcode.then(|| text.replace(' ', "-"))
}

text_format! {
    /// A social security number that can have been issued, stored as `AAA-GG-SSSS`. A test lead may send
    /// 123-45-6789, which has not been.
    Ssn, "a social security number `AAA-GG-SSSS` that can have been issued",
    Accepted::Pattern(r"^(?!000|666|9|([0-9])\1{2}-?\1{2}-?\1{4}|219-?09-?9999|078-?05-?1120)[0-9]{3}(-(?!00)[0-9]{2}-|(?!00)[0-9]{2})(?!0000)[0-9]{4}$"),
    issued_or_sample, mend: leniency::digits::<9>,
    implausible: (ssn, faults) => (ssn.0 == SAMPLE_SSN && !faults.arrival.test)
        .then(|| AttributeFault::wanted(FaultKind::Format, &<Self as crate::input::FromInput>::wanted()))
}

/// The number of no person that a test lead may have.
const SAMPLE_SSN: &str = "123-45-6789";

/// Numbers from advertisements and sample cards, which people copy into forms.
const PUBLISHED_FAKES: [&str; 2] = ["219099999", "078051120"];

fn issued_or_sample(text: &str) -> Option<String> {
    if !has_shape(text, "000-00-0000") && !has_shape(text, "000000000") {
        return None;
    }
    let digits = text.replace('-', "");
    let (area, group, serial) = (&digits[..3], &digits[3..5], &digits[5..]);
    let never_issued =
        matches!(area, "000" | "666") || area.starts_with('9') || group == "00" || serial == "0000";
    let one_digit = digits.bytes().all(|digit| digit == digits.as_bytes()[0]);
    let fake = one_digit || PUBLISHED_FAKES.contains(&digits.as_str());
    (!never_issued && !fake).then(|| format!("{area}-{group}-{serial}"))
}

text_format! {
    /// An email address: a dot-atom, `@`, and a domain with at least one dot.
    Email, "an email address",
    Accepted::Pattern(r"^(?=.{0,254}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$"), mail_address,
    mend: leniency::without_blanks
}

/// The protocols' limit for a whole address.
const MAIL_ADDRESS_LENGTH_MAX: usize = 254;

fn mail_address(text: &str) -> Option<String> {
    let (local, domain) = text.rsplit_once('@')?;
    let local_fits = local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom_byte));
    let domain_fits = domain.contains('.') && domain.split('.').all(is_label);
    (text.len() <= MAIL_ADDRESS_LENGTH_MAX && local_fits && domain_fits).then(|| text.to_owned())
}

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_label(label: &str) -> bool {
    const LABEL_LENGTH_MAX: usize = 63;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let has_good_length = (1..=LABEL_LENGTH_MAX).contains(&label.len());
    has_good_length && label.bytes().all(fits) && !label.starts_with('-') && !label.ends_with('-')
}

text_format! {
    /// An IPv4 or IPv6 address, stored in the usual short form.
    IpAddress, "an IPv4 or IPv6 address", Accepted::Format("ip"), ip_address
}

fn ip_address(text: &str) -> Option<String> {
    text.parse::<IpAddr>().ok().map(|address| address.to_string())
}

text_format! {
    /// The OPE ID of a university, for federal student aid: six digits, and two letters or digits.
    OpeId, "an OPE ID of six digits and two letters or digits", Accepted::Pattern("^[0-9]{6}[0-9A-Za-z]{2}$"), |text| {
        let (number, branch) = text.split_at_checked(6)?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && is_word(branch, 2..=2)).then(|| text.to_owned())
    }
}

text_format! {
    /// The address of a TrustedForm certificate, which proves how a person consented.
    TrustedFormUrl, "the address of a TrustedForm certificate, `https://cert.trustedform.com/…`",
    Accepted::Pattern(r"^https://cert\.trustedform\.com/[0-9A-Za-z]{1,128}$"), |text| {
        let id = text.strip_prefix("https://cert.trustedform.com/")?;
        is_word(id, 1..=128).then(|| text.to_owned())
    }
}

text_format! {
    /// The LeadiD of Jornaya (Verisk), which proves how a person consented.
    JornayaLeadId, "a LeadiD like `0C27EC2C-6B2F-4C44-B3F1-7B0D3D8A5F11`",
    Accepted::Pattern("^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"), |text| {
        uuid::Uuid::try_parse(text).is_ok_and(|_| text.len() == 36).then(|| text.to_owned())
    }
}

fn is_word(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, Lead, Leniency, UnreadableBody};

    #[test]
    fn separators_and_country_code_of_phones_go() {
        let spellings = [
            "4155550132",
            "14155550132",
            "+14155550132",
            "(415) 555-0132",
            "+1 415.555.0132",
            "1-415-555-0132",
            "\u{202d}+1\u{a0}(415)\u{a0}555\u{2011}0132\u{202c}",
        ];
        for text in spellings {
            assert_eq!(Phone::parse(text).unwrap().as_str(), "4155550132", "{text}");
        }
    }

    #[test]
    fn phones_of_other_lengths_and_with_letters_are_refused() {
        for text in [
            "415555013",
            "24155550132",
            "+444155550132",
            "415555O132",
            "--",
            "+",
            "41555501３2",
            "tel",
            "4155550132x12",
        ] {
            assert_eq!(Phone::parse(text), None, "{text}");
        }
    }

    #[test]
    fn debug_hides_phones() {
        assert_eq!(format!("{:?}", Phone::parse("4155550132").unwrap()), "Phone(***)");
    }

    #[test]
    fn both_lengths_of_zipcodes_are_read() {
        for (text, kept) in [
            ("94105", "94105"),
            ("94105-1804", "94105-1804"),
            ("94105 1804", "94105-1804"),
            ("00501", "00501"),
        ] {
            let zipcode = Zipcode::parse(text).unwrap();
            assert_eq!((zipcode.as_str(), zipcode.five_digits()), (kept, &kept[..5]));
        }
    }

    #[test]
    fn other_zipcodes_are_refused() {
        for text in ["9410", "941051804", "94105-", "94105-180", "K1A 0B1", "９4105", " 94105"] {
            assert_eq!(Zipcode::parse(text), None, "{text}");
        }
    }

    #[test]
    fn both_spellings_of_ssns_are_read() {
        for text in ["536-22-8714", "536228714"] {
            assert_eq!(Ssn::parse(text).unwrap().as_str(), "536-22-8714");
        }
    }

    #[test]
    fn ssns_that_were_never_issued_are_refused() {
        let refused = [
            "000-22-8714",
            "666-22-8714",
            "900-22-8714",
            "999-22-8714",
            "536-00-8714",
            "536-22-0000",
            "111-11-1111",
            "777777777",
            "219099999",
            "078-05-1120",
            "536-228714",
            "53-622-8714",
            "536-22-871",
            "",
        ];
        for text in refused {
            assert_eq!(Ssn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_test_lead_may_have_the_sample_ssn() {
        let read = |test, ssn: &str| {
            let body = format!(r#"{{"personalInformation":{{"ssn":"{ssn}"}}}}"#);
            let arrival = Arrival { test, ..Arrival::ANY };
            Lead::read_leniently(arrival, Leniency::Lenient, body.as_bytes()).map(|(_, changed)| changed)
        };
        // Each spelling: read at once, and mended first.
        for (ssn, changed) in [("123-45-6789", 0), ("123456789", 0), (" 123-45-6789", 1)] {
            assert_eq!(read(true, ssn), Ok(changed), "{ssn}");
            let Err(UnreadableBody::Faults(faults)) = read(false, ssn) else { panic!("{ssn} is a fake") };
            assert_eq!(faults[0].attribute.as_deref(), Some("personalInformation.ssn"));
            assert!(faults[0].message.as_ref().unwrap().ends_with("that can have been issued"));
        }
    }

    #[test]
    fn debug_hides_ssns() {
        assert_eq!(format!("{:?}", Ssn::parse("536-22-8714").unwrap()), "Ssn(***)");
    }

    #[test]
    fn mail_addresses_of_dot_atoms_at_dotted_domains_are_read() {
        for text in
            ["jane@example.com", "jane.q+offers@mail.example.co.uk", "o'neil_{x}@a-b.example", "J@X.IO"]
        {
            assert_eq!(Email::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn mail_addresses_of_other_shapes_are_refused() {
        let refused = [
            "jane",
            "jane@localhost",
            "@example.com",
            "jane@",
            "jane..q@example.com",
            ".jane@example.com",
            "jane.@example.com",
            "jane@example..com",
            "jane@-example.com",
            "ja ne@example.com",
            "a@b@example.com",
            "\"jane\"@example.com",
            "jane@example.com ",
            "jane@exam_ple.com",
        ];
        for text in refused {
            assert_eq!(Email::parse(text), None, "{text}");
        }
        assert_eq!(Email::parse(&format!("{}@example.com", "a".repeat(MAIL_ADDRESS_LENGTH_MAX))), None);
    }

    #[test]
    fn both_families_of_addresses_are_read() {
        for (text, kept) in [("203.0.113.7", "203.0.113.7"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1")] {
            let address = IpAddress::parse(text).unwrap();
            assert_eq!(address.as_str(), kept);
        }
        for text in ["203.0.113", "203.0.113.256", "localhost", "203.0.113.7:80"] {
            assert_eq!(IpAddress::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_ope_id_is_six_digits_and_two_letters_or_digits() {
        for id in ["00131500", "001315A1"] {
            assert_eq!(OpeId::parse(id).unwrap().as_str(), id);
        }
        for other in ["", "0013150", "001315000", "A0131500", "001315-0", "001315é"] {
            assert_eq!(OpeId::parse(other), None, "{other}");
        }
    }
}
