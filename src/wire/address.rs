//! Which addresses may be connected to.

use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;

use offerd_base::config::shown_address;

/// Networks without public hosts; for IPv6 also those that embed or tunnel IPv4 addresses.
const INWARD: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/96",         // unspecified, loopback, IPv4-compatible
    "::ffff:0:0/96", // IPv4-mapped
    "64:ff9b::/32",  // translated to IPv4
    "100::/64",      // discarded
    "2001::/23",     // Teredo and other protocols
    "2001:db8::/32", // examples
    "2002::/16",     // 6to4
    "fc00::/7",      // unique local
    "fe80::/10",     // link-local
    "fec0::/10",     // site-local
    "ff00::/8",      // multicast
];

/// Allows public addresses, and those that an operator has added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Host names whose addresses are all allowed, in lower case.
    hosts: Vec<String>,
    networks: Vec<IpNet>,
}

impl AddressRules {
    /// Parses host names, addresses and networks in CIDR notation.
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
                let shown = shown_address(entry);
                return Err(format!("`{shown}` is not a host name, an address or a network like 10.0.0.0/8"));
            }
        }
        Ok(rules)
    }

    /// Whether `address` may be connected to on behalf of `host`.
    pub fn allow(&self, host: &str, address: IpAddr) -> bool {
        let is_allowed = |at: IpAddr| self.networks.iter().any(|network| network.contains(&at));
        let is_known = is_allowed(address) || is_allowed(address.to_canonical());
        is_public(address) || is_known || self.hosts.contains(&plain(host))
    }
}

/// Whether an address is publicly reachable.
pub fn is_public(address: IpAddr) -> bool {
    static NETWORKS: LazyLock<Vec<IpNet>> =
        LazyLock::new(|| INWARD.iter().map(|text| text.parse().expect("it is a network")).collect());
    !NETWORKS.iter().any(|network| network.contains(&address))
}

fn is_host_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
}

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
        assert!(!AddressRules::new(&["http://me:secret@lender/".to_owned()]).unwrap_err().contains("secret"));
        // A malformed network is not taken for a host name.
        assert!(AddressRules::new(&["10.0.0.0/33".to_owned()]).is_err());
    }
}
