//! Federal numbers of universities.

use super::schema::Accepted;
use super::text_format::text_format;

text_format! {
    /// The number under which a university takes part in federal student aid: six digits, and two letters or digits.
    OpeId, "an OPE ID of six digits and two letters or digits", Accepted::Pattern("^[0-9]{6}[0-9A-Za-z]{2}$"), |text| {
        let (number, branch) = text.split_at_checked(6)?;
        let is_id = number.bytes().all(|byte| byte.is_ascii_digit())
            && branch.len() == 2
            && branch.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_id.then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_six_digits_and_two_letters_or_digits() {
        for id in ["00131500", "001315A1"] {
            assert_eq!(OpeId::parse(id).unwrap().as_str(), id);
        }
        for other in ["", "0013150", "001315000", "A0131500", "001315-0", "001315é"] {
            assert_eq!(OpeId::parse(other), None, "{other}");
        }
    }
}
