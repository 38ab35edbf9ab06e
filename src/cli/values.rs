//! Parsers of command-line values, whose errors show the expected form, and query strings built from the
//! values.

use std::path::PathBuf;
use std::time::Duration;

use chrono::Utc;
use clap::builder::{OsStringValueParser, TypedValueParser};
use form_urlencoded::Serializer;
use uuid::Uuid;

use offerd_base::config::{address_faults, plain_address};
use offerd_base::declaration::did_you_mean;
use offerd_insight::sheet;
use offerd_insight::sheet::lines::Encoding;

/// A path with a query string; pairs without a value are omitted.
pub fn query<'q>(path: &str, pairs: impl IntoIterator<Item = (&'q str, Option<String>)>) -> String {
    let given = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
    format!("{path}?{}", Serializer::new(String::new()).extend_pairs(given).finish())
}

/// The `leads` parameter of a query: `test` for test leads, absent for live ones.
pub fn tests(test: bool) -> Option<String> {
    test.then(|| "test".to_owned())
}

/// The time that long ago, in Unix milliseconds.
pub fn ago(time: Duration) -> i64 {
    Utc::now().timestamp_millis().saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)).max(0)
}

/// Parses the path of the settings file. An empty variable names none.
pub fn settings_file() -> impl TypedValueParser<Value = PathBuf> {
    const EMPTY: &str = "names no file; name the settings file, or leave out `--config` and OFFERD_CONFIG";
    OsStringValueParser::new()
        .try_map(|name| if name.is_empty() { Err(EMPTY) } else { Ok(PathBuf::from(name)) })
}

/// Parses a UUID.
pub fn uuid(text: &str) -> Result<Uuid, String> {
    Uuid::try_parse(text)
        .map_err(|_| "must be a uuid such as 01a1fcce-e71a-773e-b126-2445db4ef9dc".to_owned())
}

/// Parses the name of a text encoding.
pub fn encoding(name: &str) -> Result<Encoding, String> {
    sheet::lines::encoding(name).ok_or_else(|| {
        let near = did_you_mean(sheet::lines::nearest_encoding(name).as_deref());
        format!("must be an encoding such as windows-1252, utf-16le or macintosh{near}")
    })
}

/// Parses a duration.
pub fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "must be a length of time such as 7d, 12h or 30m".to_owned())
}

/// Parses the address of a listener, and removes a trailing slash.
pub fn address(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    match &address_faults(text)[..] {
        [] => Ok(plain_address(text)),
        faults => {
            Err(format!("{}, such as http://127.0.0.1:8080 or https://offers.example", faults.join("; ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_value_is_told_with_an_example() {
        assert!(uuid("abc").unwrap_err().contains("such as 01a1"));
        assert!(time("yesterday").unwrap_err().contains("such as 7d"));
        for (name, meant) in [
            ("latin-1", Ok("windows-1252")),
            ("cp-1252", Ok("windows-1252")),
            ("Windows1252", Ok("windows-1252")),
            ("utf_16le", Ok("utf-16le")),
            ("ebcdic", Err("macintosh")),
        ] {
            let told = encoding(name).unwrap_err();
            assert!(
                told.ends_with(&meant.map_or_else(str::to_owned, |it| format!("did you mean `{it}`?"))),
                "{told}"
            );
        }
        assert_eq!(encoding("cp1252"), encoding("iso-8859-1"));
        for wrong in [
            "ftp://a/",
            "foo",
            "127.0.0.1:8080",
            "http://",
            "",
            "http://a/?b",
            "http://a/#b",
            "http://a:99999",
            "http://u:p@a",
        ] {
            assert!(address(wrong).unwrap_err().contains("such as http://"), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_taken_with_and_without_its_last_slash() {
        assert_eq!(address("https://offers.example/").as_deref(), Ok("https://offers.example"));
        assert_eq!(address("HTTP://127.0.0.1:8080").as_deref(), Ok("http://127.0.0.1:8080"));
        assert_eq!(address("http://[::1]:8080").as_deref(), Ok("http://[::1]:8080"));
        assert_eq!(time("7d"), Ok(Duration::from_secs(7 * 24 * 60 * 60)));
    }
}
