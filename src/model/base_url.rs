//! `{base_url}`: the address of the service, and absolute addresses below it.

use std::fmt::Display;
use std::ops::Deref;

/// The public URL of the api listener, without a trailing slash: the prefix of absolute addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The absolute address of one of our paths, which starts with a slash.
    pub fn absolute(&self, path: impl Display) -> String {
        format!("{}{path}", self.0)
    }

    /// The address without scheme and host, for clients on the same host: a `Location`, a page's assets.
    pub fn on_host(&self, path: impl Display) -> String {
        let own = self.0.splitn(4, '/').nth(3);
        own.map_or_else(|| path.to_string(), |own| format!("/{own}{path}"))
    }
}

/// A URL that was checked already (`api.base_url`), or a listener's own.
impl From<String> for BaseUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl Deref for BaseUrl {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_its_own_stands_before_every_other() {
        for (url, absolute, on_host) in [
            ("http://127.0.0.1:80", "http://127.0.0.1:80/a/b", "/a/b"),
            ("https://x.example/offers", "https://x.example/offers/a/b", "/offers/a/b"),
            ("https://x.example/of/fers", "https://x.example/of/fers/a/b", "/of/fers/a/b"),
            ("", "/a/b", "/a/b"),
        ] {
            let base_url = BaseUrl(url.to_owned());
            assert_eq!(
                (base_url.absolute("/a/b"), base_url.on_host("/a/b")),
                (absolute.into(), on_host.into())
            );
        }
    }
}
