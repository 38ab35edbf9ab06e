//! Which addresses may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 networks that are no public host: private, local, shared, for tests, multicast, reserved.
const INWARD_V4: &[Ipv4Net] = &[
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
];

/// IPv6 networks that are no public host, or that lead to IPv4 ones by another way.
const INWARD_V6: &[Ipv6Net] = &[
    v6(0, 0, 96),           // unspecified, loopback, IPv4-compatible
    v6(0, 0xffff, 96),      // IPv4-mapped
    v6(0x64_ff9b, 0, 32),   // translated to IPv4
    v6(0x100_0000, 0, 64),  // discarded
    v6(0x2001_0000, 0, 23), // Teredo and other protocols
    v6(0x2001_0db8, 0, 32), // examples
    v6(0x2002_0000, 0, 16), // 6to4
    v6(0xfc00_0000, 0, 7),  // unique local
    v6(0xfe80_0000, 0, 10), // link-local
    v6(0xfec0_0000, 0, 10), // site-local
    v6(0xff00_0000, 0, 8),  // multicast
];

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

/// By the first 32 bits, and the 16 before the last 32.
const fn v6(head: u32, sixth: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(
        Ipv6Addr::new((head >> 16) as u16, (head & 0xffff) as u16, 0, 0, 0, sixth, 0, 0),
        bits,
    )
}

/// Public addresses, and what an operator has allowed beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Host names whose addresses are all allowed, in lower case.
    hosts: Vec<String>,
    /// Networks that are allowed.
    networks: Vec<IpNet>,
}

impl AddressRules {
    /// From host names, addresses and networks in CIDR notation.
    pub fn new(allowed: &[String]) -> Result<Self, String> {
        let mut rules = Self::default();
        for entry in allowed {
            if let Ok(network) = entry.parse::<IpNet>() {
                rules.networks.push(network);
            } else if let Ok(address) = entry.parse::<IpAddr>() {
                rules.networks.push(address.into());
            } else if is_host_name(entry) {
                rules.hosts.push(plain(entry));
            } else {
                return Err(format!("`{entry}` is not a host name, an address or a network like 10.0.0.0/8"));
            }
        }
        Ok(rules)
    }

    /// Whether `address` may be connected to on behalf of `host`.
    pub fn allow(&self, host: &str, address: IpAddr) -> bool {
        is_public(address)
            || self.networks.iter().any(|network| network.contains(&address))
            || self.networks.iter().any(|network| network.contains(&address.to_canonical()))
            || self.hosts.contains(&plain(host))
    }
}

/// Whether an address is one that the whole internet reaches.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !INWARD_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => !INWARD_V6.iter().any(|network| network.contains(&address)),
    }
}

fn is_host_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
}

/// A host name as it is compared: lower case, without the dot of the root.
fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allowed: &[&str]) -> AddressRules {
        AddressRules::new(&allowed.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_points_inward_is_not_public() {
        for inward in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2002:7f00:1::",
            "2001:0:1::",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(inward.parse().unwrap()), "{inward}");
        }
        for public in
            ["1.1.1.1", "100.128.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700::1111"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn an_entry_allows_what_it_names_and_no_more() {
        let loopback: IpAddr = "127.0.0.1".parse().unwrap();
        assert!(!rules(&[]).allow("sandbox", loopback));
        assert!(rules(&["Sandbox."]).allow("sandbox", loopback));
        assert!(rules(&["sandbox"]).allow("SANDBOX.", loopback));
        assert!(!rules(&["sandbox"]).allow("sandbox.example", loopback));
        assert!(rules(&["127.0.0.0/8"]).allow("anything", loopback));
        assert!(rules(&["127.0.0.1"]).allow("anything", "::ffff:127.0.0.1".parse().unwrap()));
        assert!(!rules(&["127.0.0.2"]).allow("anything", loopback));
        assert!(rules(&["::1"]).allow("anything", "::1".parse().unwrap()));
    }

    #[test]
    fn an_entry_that_is_nothing_is_refused() {
        let refused = AddressRules::new(&["http://lender/".to_owned()]).unwrap_err();
        assert_eq!(refused, "`http://lender/` is not a host name, an address or a network like 10.0.0.0/8");
        // What was meant as a network allows no host of that name.
        assert!(AddressRules::new(&["10.0.0.0/33".to_owned()]).is_err());
    }
}
