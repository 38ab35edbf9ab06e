//! Values of the command line. The error for one that is not understood has an example.

use std::time::Duration;

use hyper::Uri;
use uuid::Uuid;

/// A uuid.
///
/// # Errors
/// How one is written.
pub fn uuid(text: &str) -> Result<Uuid, String> {
    Uuid::try_parse(text)
        .map_err(|_| "must be a uuid such as 01a1fcce-e71a-773e-b126-2445db4ef9dc".to_owned())
}

/// A length of time.
///
/// # Errors
/// How one is written.
pub fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "must be a length of time such as 7d, 12h or 30m".to_owned())
}

/// The address of a listener, without a slash at its end.
///
/// # Errors
/// How one is written.
pub fn address(text: &str) -> Result<String, String> {
    let uri = text.parse::<Uri>().ok();
    let good = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    match good {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("must be an address such as http://127.0.0.1:8080 or https://offers.example".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_value_is_told_with_an_example() {
        assert!(uuid("abc").unwrap_err().contains("such as 01a1"));
        assert!(time("yesterday").unwrap_err().contains("such as 7d"));
        for wrong in ["ftp://a/", "foo", "127.0.0.1:8080", "http://", ""] {
            assert!(address(wrong).unwrap_err().contains("such as http://"), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_taken_with_and_without_its_last_slash() {
        assert_eq!(address("https://offers.example/").as_deref(), Ok("https://offers.example"));
        assert_eq!(address("http://[::1]:8080").as_deref(), Ok("http://[::1]:8080"));
        assert_eq!(time("7d"), Ok(Duration::from_secs(7 * 24 * 60 * 60)));
    }
}
