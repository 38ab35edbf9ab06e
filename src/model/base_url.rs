//! `{base_url}`: where clients reach the service, and every address below it that is answered.

use std::fmt::Display;
use std::ops::Deref;

/// Where clients reach the api listener: scheme, host and perhaps a path, without a slash at the end. As text it is what stands
/// before a path of ours in an absolute address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The absolute address of a path of ours, which begins with a slash.
    pub fn absolute(&self, path: impl Display) -> String {
        format!("{}{path}", self.0)
    }

    /// The same without scheme and host, for who has come by them: a `Location`, a page's own parts.
    pub fn on_host(&self, path: impl Display) -> String {
        let own = self.0.splitn(4, '/').nth(3);
        own.map_or_else(|| path.to_string(), |own| format!("/{own}{path}"))
    }
}

/// A URL that has been checked (`api.base_url`), or a listener's own.
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
