//! Which other listener has a path: for who asks the wrong one.

use std::collections::BTreeSet;

use hyper::Method;

use super::caller::Scope;
use super::edition::Editions;
use super::router::{Found, Route, Router};

/// The paths of the listeners, each by its name in the settings.
#[derive(Debug, Default)]
pub struct Elsewhere(Vec<(&'static str, Router<()>)>);

impl Elsewhere {
    /// Listeners with the templates of their paths. Of several that have a path the first is told.
    pub fn new(listeners: impl IntoIterator<Item = (&'static str, BTreeSet<&'static str>)>) -> Self {
        let row = |path| Route {
            method: Method::GET,
            path,
            scope: Scope::None,
            editions: Editions::All,
            about: "",
            handler: (),
        };
        let router = |paths: BTreeSet<_>| Router::new(&paths.into_iter().map(row).collect::<Vec<_>>());
        Self(listeners.into_iter().map(|(name, paths)| (name, router(paths))).collect())
    }

    /// The listener beside this one that has a path, and the template of the path there.
    pub(super) fn find(&self, here: &str, path: &str) -> Option<(&'static str, &'static str)> {
        let others = self.0.iter().filter(|(name, _)| *name != here);
        others.filter_map(|(name, router)| Some((*name, template(router, path)?))).next()
    }
}

/// The template of a path, if there is one.
pub(super) fn template<H>(router: &Router<H>, path: &str) -> Option<&'static str> {
    match router.find(path) {
        Found::Resource(resource, _) => Some(resource.template()),
        Found::Nothing | Found::Undecodable => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_at_the_other_listeners_only() {
        let elsewhere = Elsewhere::new([
            ("api", BTreeSet::from(["/", "/leads/{uuid}"])),
            ("admin", BTreeSet::from(["/", "/metrics"])),
        ]);
        assert_eq!(elsewhere.find("admin", "/leads/7"), Some(("api", "/leads/{uuid}")));
        assert_eq!(elsewhere.find("api", "/metrics"), Some(("admin", "/metrics")));
        assert_eq!(elsewhere.find("integrations", "/"), Some(("api", "/")));
        for (here, path) in [("api", "/leads/7"), ("admin", "/nowhere"), ("api", "/metrics/%ff")] {
            assert_eq!(elsewhere.find(here, path), None, "{here} {path}");
        }
    }
}
