//! Base URLs: validation, and display without passwords.

/// The requirements that a base URL does not meet.
pub fn faults(url: &str) -> Vec<&'static str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
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

/// A URL for messages: without the password.
pub(super) fn shown(url: &str) -> String {
    let begins = url.find("://").map_or(0, |scheme| scheme + 3);
    let ends = url[begins..].find('/').map_or(url.len(), |slash| begins + slash);
    match url[begins..ends].rfind('@') {
        Some(at) => format!("{}***{}", &url[..begins], &url[begins + at..]),
        None => url.to_owned(),
    }
}

/// The table of a database for display: without the password in its URL.
pub(super) fn without_password(table: &toml::Value) -> String {
    let mut table = table.clone();
    if let Some(toml::Value::String(url)) = table.get_mut("url") {
        *url = shown_whole(url);
    }
    table.to_string()
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
