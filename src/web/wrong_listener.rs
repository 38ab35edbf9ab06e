//! Hints for a client that asks the wrong listener: which other listener serves a path.

use std::collections::BTreeSet;

use super::router::Router;

/// The paths of each listener, by the listener's name in the settings.
#[derive(Debug, Default)]
pub struct WrongListenerHint(Vec<(&'static str, Router<()>)>);

impl WrongListenerHint {
    /// Listeners, each with its path templates. Where several serve a path, the first is named.
    pub fn new(listeners: impl IntoIterator<Item = (&'static str, BTreeSet<&'static str>)>) -> Self {
        Self(listeners.into_iter().map(|(name, paths)| (name, Router::without_routes(paths))).collect())
    }

    /// Another listener than `here` that serves `path`, and the template of the path there.
    pub(super) fn find(&self, here: &str, path: &str) -> Option<(&'static str, &'static str)> {
        let others = self.0.iter().filter(|(name, _)| *name != here);
        others.filter_map(|(name, router)| Some((*name, router.template(path)?))).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_at_the_other_listeners_only() {
        let hint = WrongListenerHint::new([
            ("api", BTreeSet::from(["/", "/leads/{uuid}"])),
            ("admin", BTreeSet::from(["/", "/metrics"])),
        ]);
        assert_eq!(hint.find("admin", "/leads/7"), Some(("api", "/leads/{uuid}")));
        assert_eq!(hint.find("api", "/metrics"), Some(("admin", "/metrics")));
        assert_eq!(hint.find("integrations", "/"), Some(("api", "/")));
        for (here, path) in [("api", "/leads/7"), ("admin", "/nowhere"), ("api", "/metrics/%ff")] {
            assert_eq!(hint.find(here, path), None, "{here} {path}");
        }
    }
}
