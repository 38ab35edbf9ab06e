//! The client's address, behind trusted proxies too.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::HeaderName;
use ipnet::IpNet;

use super::list;

/// The address at the other end of the connection. A listener puts it into every request as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Proxies append the address that they forward for to this header.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address: the peer's or, behind trusted proxies, the last `X-Forwarded-For` entry that is not
/// a trusted proxy's own. An unreadable entry is ignored, with everything to its left.
pub(super) fn client_address(peer: Option<Peer>, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let mut address = peer?.0.ip().to_canonical();
    let hops: Vec<Option<&str>> = list::all_items(headers, &FORWARDED_FOR).collect();
    for hop in hops.iter().rev() {
        if !is_in(trusted, address) {
            break;
        }
        let Some(forwarded) = hop.and_then(noted) else { break };
        address = forwarded.to_canonical();
    }
    Some(address)
}

/// The address in an entry: bare, in brackets, or with a port; possibly in quotes.
fn noted(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim_matches('"');
    let alone = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    let with_port = || hop.parse().map(|address: SocketAddr| address.ip());
    alone.parse().or_else(|_| with_port()).ok()
}

pub(super) fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// The key that a client is limited by: its address or, for IPv6, its /64 network.
pub(super) fn household(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn address(peer: &str, forwarded_for: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded_for {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let peer = Peer(peer.parse().unwrap());
        client_address(Some(peer), &headers, &trusted).unwrap().to_string()
    }

    #[test]
    fn a_note_counts_only_from_a_trusted_proxy() {
        assert_eq!(address("192.0.2.1:5", &["198.51.100.7"], &[]), "192.0.2.1");
        assert_eq!(address("192.0.2.1:5", &["198.51.100.7"], &["192.0.2.0/24"]), "198.51.100.7");
        assert_eq!(address("192.0.2.1:5", &[], &["192.0.2.0/24"]), "192.0.2.1");
    }

    #[test]
    fn what_the_client_wrote_itself_does_not_count() {
        let trusted = ["192.0.2.0/24", "2001:db8::/32"];
        assert_eq!(address("192.0.2.1:5", &["203.0.113.9, 198.51.100.7"], &trusted), "198.51.100.7");
        assert_eq!(
            address("192.0.2.1:5", &["203.0.113.9", "198.51.100.7, 2001:db8::1"], &trusted),
            "198.51.100.7"
        );
        assert_eq!(address("192.0.2.1:5", &["203.0.113.9, unknown"], &trusted), "192.0.2.1");
    }

    #[test]
    fn what_is_not_ascii_costs_itself_and_what_stands_left_of_it() {
        let trusted = ["192.0.2.0/24"];
        for (hops, client) in [
            (&["Zoë, 203.0.113.9"][..], "203.0.113.9"),
            (&["Zoë, 203.0.113.9, 192.0.2.5"], "203.0.113.9"),
            (&["Zoë", "203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9, Zoë"], "192.0.2.1"),
            (&["203.0.113.9", "Zoë"], "192.0.2.1"),
            (&["203.0.113.9, Zoë, 192.0.2.5"], "192.0.2.5"),
            (&["203.0.113.9, 198.51.100.7\u{e9}"], "192.0.2.1"),
        ] {
            assert_eq!(address("192.0.2.1:5", hops, &trusted), client, "{hops:?}");
        }
    }

    #[test]
    fn a_port_or_brackets_leave_the_address_what_it_is() {
        let trusted = ["192.0.2.0/24", "2001:db8:9::/48"];
        for (hops, client) in [
            ("203.0.113.9:51544", "203.0.113.9"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("\"[2001:db8::1]:443\"", "2001:db8::1"),
            ("[::ffff:203.0.113.9]:80", "203.0.113.9"),
            ("198.51.100.7:1, 203.0.113.9:2, 192.0.2.5:3", "203.0.113.9"),
            ("203.0.113.9:2, [2001:db8:9::5]:3", "203.0.113.9"),
            ("203.0.113.9:port", "192.0.2.1"),
            ("203.0.113.9:99999", "192.0.2.1"),
            ("[203.0.113.9", "192.0.2.1"),
            (":51544", "192.0.2.1"),
            ("", "192.0.2.1"),
        ] {
            assert_eq!(address("192.0.2.1:5", &[hops], &trusted), client, "{hops}");
        }
    }

    #[test]
    fn addresses_of_one_household_are_one() {
        let of = |text: &str| household(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(address("[::ffff:192.0.2.1]:5", &[], &[]), "192.0.2.1", "IPv4 in IPv6 clothes");
    }
}
