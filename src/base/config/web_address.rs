//! Base URLs: validation, and display without passwords.

/// The requirements that a base URL does not meet.
pub fn faults(url: &str) -> Vec<&'static str> {
    let rest = split_scheme(url).map(|(_, rest)| rest);
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"?#\"'<>\\^`{|}".contains(letter);
    let Some(rest) = rest.filter(|rest| !url.ends_with('/') && rest.chars().all(is_plain)) else {
        return vec!["must be an http or https URL without a query, a fragment or a slash at the end"];
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, place) =
        authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
    let (host, port) = host_and_port(place);
    let wanted = [
        (user.is_some(), "must be an http or https URL without a user or a password"),
        (!is_host(host), "must be an http or https URL with the name or the address of a host"),
        (
            port.is_some_and(|port| !is_port(port)),
            "must be an http or https URL with a port from 1 to 65535, or with none",
        ),
        (
            path.split('/').skip(1).any(is_step),
            "must be an http or https URL whose path has no empty part, no `.` and no `..`",
        ),
    ];
    wanted.into_iter().filter(|(otherwise, _)| *otherwise).map(|(_, wanted)| wanted).collect()
}

/// The scheme of a URL of the web, which may be in capitals, in small letters; and what follows `://`.
pub fn split_scheme(url: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let known = ["https", "http"].into_iter().find(|known| known.eq_ignore_ascii_case(scheme))?;
    Some((known, rest))
}

/// A URL with its scheme in small letters.
pub fn in_small_letters(url: &str) -> String {
    split_scheme(url).map_or_else(|| url.to_owned(), |(scheme, rest)| format!("{scheme}://{rest}"))
}

/// A URL for messages: without what may be a user and a password, however they are written.
pub fn shown(url: &str) -> String {
    let begins = url.find("://").map_or(0, |scheme| scheme + 3);
    match url[begins..].rfind('@') {
        Some(at) => format!("{}***{}", &url[..begins], &url[begins + at..]),
        None => url.to_owned(),
    }
}

/// A setting for display, with its URLs by this function.
pub(super) fn without_passwords(value: &toml::Value, shown: fn(&str) -> String) -> toml::Value {
    match value {
        toml::Value::String(text) if text.contains("://") => shown(text).into(),
        toml::Value::Array(values) => {
            values.iter().map(|value| without_passwords(value, shown)).collect::<Vec<_>>().into()
        }
        toml::Value::Table(table) => {
            let within = table.iter().map(|(key, value)| (key.clone(), without_passwords(value, shown)));
            within.collect::<toml::Table>().into()
        }
        value => value.clone(),
    }
}

/// Like [`shown`], for the URL of a database, whose parameters may contain a password too.
pub(super) fn shown_whole(url: &str) -> String {
    let shown = shown(url);
    match shown.split_once('?') {
        Some((address, _)) => format!("{address}?***"),
        None => shown,
    }
}

/// Splits at the port. The last colon of an IPv6 address is inside its brackets.
pub(super) fn host_and_port(place: &str) -> (&str, Option<&str>) {
    match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (place, None),
    }
}

pub(super) fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !host.is_empty() && host.bytes().all(is_usual)
}

pub(super) fn is_port(port: &str) -> bool {
    port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Whether a part of a path may be dropped or resolved elsewhere by a URL parser.
fn is_step(part: &str) -> bool {
    let part = part.to_ascii_lowercase().replace("%2e", ".");
    matches!(&*part, "" | "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_a_url_is_shown_however_it_is_written() {
        for (url, wanted) in [
            ("https://offers.example/a", "https://offers.example/a"),
            ("https://me:secret@offers.example:8443/a", "https://***@offers.example:8443/a"),
            ("HTTPS://me:secret@offers.example", "HTTPS://***@offers.example"),
            ("https://me:sec/ret@offers.example", "https://***@offers.example"),
            ("https://me:sec?ret#@offers.example", "https://***@offers.example"),
            ("https://me:sec@ret@offers.example", "https://***@offers.example"),
            ("https:/me:secret@offers.example", "***@offers.example"),
            ("me:secret@offers.example", "***@offers.example"),
        ] {
            assert_eq!(shown(url), wanted, "{url}");
        }
        let whole = shown_whole("postgres://me:sec/ret@db.example/offerd?password=secret");
        assert_eq!(whole, "postgres://***@db.example/offerd?***");
        let settings = toml::toml! {
            ops = { url = "https://me:secret@ops.example/hook", names = ["ftp://me:secret@a"], after = 3 }
        };
        let shown = without_passwords(&settings.into(), shown).to_string();
        assert!(!shown.contains("secret") && shown.contains("https://***@ops.example/hook"), "{shown}");
    }

    #[test]
    fn a_scheme_is_read_in_any_case() {
        assert_eq!(split_scheme("HTTPS://A.example/B"), Some(("https", "A.example/B")));
        assert_eq!(in_small_letters("Http://A.example/B"), "http://A.example/B");
        assert!(faults("HTTP://offers.example").is_empty());
        for other in ["httpx://a", "http:/a", "ftp://a", "a"] {
            assert_eq!((split_scheme(other), in_small_letters(other)), (None, other.to_owned()));
        }
    }
}
