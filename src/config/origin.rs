//! Origins of pages, in the form in which browsers send them: small letters, and no port that the scheme has anyway.

use super::web_address::{host_and_port, is_host, is_port};

/// What stands before the name of a domain for any name below it.
const ANY_BELOW: &str = "*.";

/// Schemes of the web with their ports. Others are of apps, such as `capacitor://localhost`.
const OF_THE_WEB: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// An origin as browsers send it, or `https://*.shop.example` for any name below a domain.
///
/// # Errors
/// What of it no browser sends, to follow the text; empty where it is nothing like an origin.
pub(super) fn parse(text: &str) -> Result<String, &'static str> {
    let (scheme, place) = text.split_once("://").ok_or("")?;
    let scheme = scheme.to_ascii_lowercase();
    if !is_scheme(&scheme) || place.is_empty() {
        return Err("");
    }
    if place.contains(['/', '?', '#']) {
        return Err(": an origin ends with its host and port, without a path or a slash");
    }
    if !place.is_ascii() {
        return Err(": browsers send the name in ASCII, where it begins with `xn--`");
    }
    let (host, port) = host_and_port(place);
    let host = host.to_ascii_lowercase();
    let own_port = OF_THE_WEB.iter().find(|(name, _)| *name == scheme).map(|(_, port)| *port);
    let domain = host.strip_prefix(ANY_BELOW);
    if domain.is_some_and(|domain| own_port.is_none() || !domain.contains('.') && domain != "localhost") {
        return Err(": `*.` stands before a domain of the web, such as `shop.example`");
    }
    if !is_host(domain.unwrap_or(&host)) {
        return Err("");
    }
    let port = match port {
        Some(port) if !is_port(port) => return Err(": a port is from 1 to 65535"),
        Some(port) => port.parse().ok().filter(|port| Some(*port) != own_port),
        None => None,
    };
    Ok(port.map_or_else(|| format!("{scheme}://{host}"), |port: u16| format!("{scheme}://{host}:{port}")))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}
