//! Origins as browsers send them: lowercase, addresses in short form, without the default port.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::web_address::{host_and_port, is_host, is_port};

const ANY_BELOW: &str = "*.";

/// Web schemes with their ports. Others belong to apps, such as `capacitor://localhost`.
const OF_THE_WEB: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// An origin as browsers send it, or `https://*.shop.example` for any subdomain.
///
/// # Errors
/// The part that no browser sends, to be appended to the text; empty if the text is nothing like an origin.
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
    let host = if own_port.is_some() { as_sent(host)? } else { host };
    let port = match port {
        Some(port) if !is_port(port) => return Err(": a port is from 1 to 65535"),
        Some(port) => port.parse().ok().filter(|port| Some(*port) != own_port),
        None => None,
    };
    Ok(port.map_or_else(|| format!("{scheme}://{host}"), |port: u16| format!("{scheme}://{host}:{port}")))
}

fn as_sent(host: String) -> Result<String, &'static str> {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return Ok(address.parse().map_or(host, |address| format!("[{}]", short(address))));
    }
    let parts: Vec<&str> = host.strip_suffix('.').unwrap_or(&host).split('.').collect();
    if parts.last().is_none_or(|last| number(last).is_none()) {
        return Ok(host);
    }
    ipv4(&parts).map(|ip| ip.to_string()).ok_or(": that is not an IPv4 address, such as `192.0.2.1`")
}

/// IPv6 as browsers write it: no part in IPv4 notation.
fn short(address: Ipv6Addr) -> String {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => format!("::ffff:{high:x}:{low:x}"),
        _ => address.to_string(),
    }
}

/// IPv4 as browsers read it: `127.1` is `127.0.0.1`, since the last number fills the rest.
fn ipv4(parts: &[&str]) -> Option<Ipv4Addr> {
    let numbers = parts.iter().map(|part| number(part)?).collect::<Option<Vec<u32>>>()?;
    let (last, first) = numbers.split_last()?;
    let free = 32_u32.checked_sub(8 * u32::try_from(first.len()).ok()?)?;
    let fits = first.iter().all(|part| *part <= 0xff) && last.checked_shr(free).is_none_or(|over| over == 0);
    let high = |(nth, part): (usize, &u32)| part << (24 - 8 * nth);
    let bits = || first.iter().enumerate().map(high).sum::<u32>() | last;
    (fits && free > 0).then(|| Ipv4Addr::from_bits(bits()))
}

/// A number of such an address; the outer `None` is a name, the inner one a number that is too large.
fn number(part: &str) -> Option<Option<u32>> {
    let (digits, radix) = match part.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if part.len() > 1 && part.starts_with('0') => (&part[1..], 8),
        None => (part, 10),
    };
    let is_number = !part.is_empty() && digits.chars().all(|digit| digit.is_digit(radix.max(10)));
    let value = if digits.is_empty() { Ok(0) } else { u32::from_str_radix(digits, radix) };
    is_number.then(|| value.ok())
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}
