//! Internet addresses.

use std::net::IpAddr;

use super::schema::Accepted;
use super::text_format::text_format;

text_format! {
    /// An IPv4 or IPv6 address, kept in the usual short spelling.
    IpAddress, "an IPv4 or IPv6 address", Accepted::Formats(&["ipv4", "ipv6"]), address
}

impl IpAddress {
    /// The address for network use; `None` never happens, since only an address is let through.
    pub fn to_addr(&self) -> Option<IpAddr> {
        self.as_str().parse().ok()
    }
}

fn address(text: &str) -> Option<String> {
    text.parse::<IpAddr>().ok().map(|address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_are_read() {
        for (text, kept) in [("203.0.113.7", "203.0.113.7"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1")] {
            let address = IpAddress::parse(text).unwrap();
            assert_eq!(address.as_str(), kept);
            assert_eq!(address.to_addr(), text.parse().ok());
        }
        for text in ["203.0.113", "203.0.113.256", "localhost", "203.0.113.7:80"] {
            assert_eq!(IpAddress::parse(text), None, "{text}");
        }
    }
}
