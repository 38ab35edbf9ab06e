//! Routing: from a path and a method to a row of the route table. The table is data; this compiles it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::caller::{Scope, hyphenated_uuid};
use super::edition::Editions;
use super::percent;
use super::prelude::*;

/// One row of a route table.
#[derive(Debug, Clone)]
pub struct Route<H> {
    /// The method; a `GET` row also answers `HEAD`, unless [`Router::without_head`] excludes its path.
    pub method: Method,
    /// The path template, such as `/leads/{uuid}`. Rows of one resource spell it the same.
    pub path: &'static str,
    /// The credentials that the route requires.
    pub scope: Scope,
    /// The editions that have the route.
    pub editions: Editions,
    /// A one-sentence description.
    pub about: &'static str,
    /// The handler.
    pub handler: H,
}

/// A route table: method, path, scope, editions, handler, and a one-sentence description.
#[macro_export]
macro_rules! routes {
    (@row $method:ident $path:literal $scope:ident $editions:ident [$($handler:tt)+] $about:literal) => {
        $crate::Route {
            method: ::hyper::Method::$method,
            path: $path,
            scope: $crate::Scope::$scope,
            editions: $crate::Editions::$editions,
            about: $about,
            handler: $crate::handler!($($handler)+),
        }
    };
    ($($method:ident $path:literal $scope:ident $editions:ident [$($handler:tt)+] $about:literal;)+) => {
        &[$($crate::routes!(@row $method $path $scope $editions [$($handler)+] $about)),+]
    };
}

/// A compiled route table.
#[derive(Debug)]
pub struct Router<H> {
    /// Invariant: more literal templates come first, so the first match is the right one.
    resources: Vec<Resource<H>>,
    /// Paths that clients take for those of a resource, with its template.
    mistaken: Vec<(Resource<H>, &'static str)>,
}

/// All routes of one path template.
#[derive(Debug)]
pub struct Resource<H> {
    /// The path template, used as the label in metrics and logs.
    pub(super) template: &'static str,
    segments: Vec<&'static str>,
    routes: Vec<Route<H>>,
    head: bool,
}

/// The resource of a path, with its path parameters; or why there is none.
pub type RouteMatch<'r, H> = Result<(&'r Resource<H>, Params), NotFound>;

/// Why a path has no resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    /// No template matches.
    Unknown,
    /// No template matches; this one is meant.
    Mistaken(&'static str),
    /// The path is not percent-encoded UTF-8.
    Undecodable,
}

/// The decoded path parameters, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(&'static str, String)>);

impl Params {
    /// The value of `name`; `None` when the template has no such parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The value of `name` as a UUID, or a 400 that names the parameter.
    pub fn uuid(&self, name: &str) -> Result<Uuid, Failure> {
        self.get(name)
            .and_then(hyphenated_uuid)
            .ok_or_else(|| Failure::bad_attribute(name, format!("Path parameter {name} must be a UUID")))
    }

    fn push(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }
}

impl<H: Clone> Router<H> {
    /// Compiles a table. Panics on two rows of the same method and path.
    pub fn new(table: &[Route<H>]) -> Self {
        let mut router = Self::without_routes(table.iter().map(|route| route.path));
        for resource in &mut router.resources {
            let template = resource.template;
            table.iter().filter(|route| route.path == template).for_each(|route| resource.add(route.clone()));
        }
        router
    }
}

impl<H> Router<H> {
    /// Compiles path templates without handlers. Panics on two names of one parameter.
    pub fn without_routes(templates: impl IntoIterator<Item = &'static str>) -> Self {
        let mut resources: BTreeMap<String, Resource<H>> = BTreeMap::new();
        for template in templates {
            // A brace sorts after all letters, so a parameter comes after the literals in its place.
            let known = resources.entry(without_names(template)).or_insert_with(|| Resource::new(template));
            let other = known.template;
            assert!(template == other, "`{template}` and `{other}` are one resource, spell them alike");
        }
        Self { resources: resources.into_values().collect(), mistaken: Vec::new() }
    }

    /// Tells clients of a path that does not exist which template is meant.
    #[must_use]
    pub fn with_mistaken(mut self, paths: &[(&'static str, &'static str)]) -> Self {
        self.mistaken.extend(paths.iter().map(|(path, meant)| (Resource::new(path), *meant)));
        self
    }

    /// Excludes `HEAD` from these templates.
    #[must_use]
    pub fn without_head(mut self, templates: &[&str]) -> Self {
        for resource in self.resources.iter_mut().filter(|resource| templates.contains(&resource.template)) {
            resource.head = false;
        }
        self
    }

    /// The resource of a path, still percent-encoded. A literal beats a parameter; `/leads/` is `/leads`.
    /// An image is also found by the literals at both ends of its template, whatever the path has in between.
    pub fn find(&self, path: &str) -> RouteMatch<'_, H> {
        let has_last_slash = without_last_slash(path) != path;
        let path = path.strip_prefix('/').ok_or(NotFound::Unknown)?;
        let mut segments: Vec<_> =
            path.split('/').map(|it| percent::decode(it).unwrap_or(it.into())).collect();
        let captured = |path: &[Cow<'_, str>]| {
            self.resources.iter().find_map(|resource| Some((resource, resource.capture(path)?)))
        };
        if let Some(found) = captured(&segments) {
            return Ok(found);
        }
        if has_last_slash {
            segments.pop();
            if let Some(found) = captured(&segments) {
                return Ok(found);
            }
        }
        let mut images = self.resources.iter().filter(|resource| resource.is_image());
        if let Some(image) = images.find(|image| encloses(&image.segments, &segments)) {
            return Ok((image, Params::default()));
        }
        if path.split('/').any(|text| percent::decode(text).is_none()) {
            return Err(NotFound::Undecodable);
        }
        let mistaken = self.mistaken.iter().find(|(resource, _)| resource.capture(&segments).is_some());
        Err(mistaken.map_or(NotFound::Unknown, |(_, meant)| NotFound::Mistaken(meant)))
    }

    /// The template that matches a path, if any.
    pub fn template(&self, path: &str) -> Option<&'static str> {
        self.find(path).ok().map(|(resource, _)| resource.template)
    }
}

impl<H> Resource<H> {
    /// Whether it is an image, which is served even where the path or query is malformed.
    pub fn is_image(&self) -> bool {
        self.template.ends_with(".gif")
    }

    /// The methods it accepts, for `Allow`.
    pub fn allow(&self) -> HeaderValue {
        let mut methods: BTreeSet<&str> = self.routes.iter().map(|route| route.method.as_str()).collect();
        if self.head && methods.contains("GET") {
            methods.insert("HEAD");
        }
        methods.insert("OPTIONS");
        let list = methods.into_iter().collect::<Vec<_>>().join(", ");
        HeaderValue::try_from(list).expect("method names are visible ASCII")
    }

    /// The row for `method`.
    pub fn route(&self, method: &Method) -> Option<&Route<H>> {
        let row_of = |method: &Method| self.routes.iter().find(|route| route.method == method);
        row_of(method)
            .or_else(|| if self.head && method == Method::HEAD { row_of(&Method::GET) } else { None })
    }

    fn new(template: &'static str) -> Self {
        let path = template.strip_prefix('/').expect("a path template starts with a slash");
        Self { template, segments: path.split('/').collect(), routes: Vec::new(), head: true }
    }

    fn capture(&self, path: &[Cow<'_, str>]) -> Option<Params> {
        if self.segments.len() != path.len() {
            return None;
        }
        let mut params = Params::default();
        for (&segment, text) in self.segments.iter().zip(path) {
            match parameter(segment) {
                None if segment == text => {}
                Some(name) if !text.is_empty() => params.push(name, text.to_string()),
                _ => return None,
            }
        }
        Some(params)
    }

    fn add(&mut self, route: Route<H>) {
        let Route { ref method, path, .. } = route;
        assert!(self.routes.iter().all(|other| other.method != method), "`{method} {path}` stands twice");
        self.routes.push(route);
    }
}

/// A path without a slash at its end, which names the same resource.
pub(super) fn without_last_slash(path: &str) -> &str {
    path.strip_suffix('/').filter(|rest| !rest.trim_start_matches('/').is_empty()).unwrap_or(path)
}

fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn without_names(template: &str) -> String {
    let segments = template.split('/').map(|segment| parameter(segment).map_or(segment, |_| "{}"));
    segments.collect::<Vec<_>>().join("/")
}

fn encloses(template: &[&str], path: &[Cow<'_, str>]) -> bool {
    let is_literal = |segment: &&&str| parameter(segment).is_none();
    let begins = template.iter().take_while(is_literal).count();
    let ends = template.iter().rev().take_while(is_literal).count();
    path.len() >= begins + ends
        && path[..begins] == template[..begins]
        && path[path.len() - ends..] == template[template.len() - ends..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(method: Method, path: &'static str) -> Route<&'static str> {
        Route { method, path, scope: Scope::None, editions: Editions::All, about: "", handler: path }
    }

    fn router() -> Router<&'static str> {
        Router::new(&[
            row(Method::GET, "/leads/{uuid}"),
            row(Method::PATCH, "/leads/{uuid}"),
            row(Method::GET, "/leads/universities"),
            row(Method::POST, "/leads/{uuid}/rateTables"),
            row(Method::GET, "/"),
            row(Method::GET, "/seen/{lead}/{offer}/pixel.gif"),
        ])
        .with_mistaken(&[("/lead/{uuid}", "/leads/{uuid}")])
    }

    fn template_of(path: &str) -> &'static str {
        match router().find(path) {
            Ok((resource, _)) => resource.template,
            Err(NotFound::Unknown) => "nothing",
            Err(NotFound::Mistaken(meant)) => meant,
            Err(NotFound::Undecodable) => "undecodable",
        }
    }

    #[test]
    fn a_literal_beats_a_parameter() {
        assert_eq!(template_of("/leads/universities"), "/leads/universities");
        assert_eq!(template_of("/leads/universitie%73"), "/leads/universities");
        assert_eq!(template_of("/leads/7"), "/leads/{uuid}");
        assert_eq!(template_of("/leads/universities/rateTables"), "/leads/{uuid}/rateTables");
    }

    #[test]
    fn a_slash_at_the_end_changes_nothing() {
        assert_eq!((template_of("/"), template_of("/leads/7/")), ("/", "/leads/{uuid}"));
        for path in
            ["/leads", "/leads/", "/leads/7//", "//leads/7", "/leads//rateTables", "//", "///", "", "*"]
        {
            assert_eq!(template_of(path), "nothing", "{path}");
        }
    }

    #[test]
    fn a_path_that_clients_mistake_leads_to_the_one_that_is_meant() {
        for path in ["/lead/7", "/lead/7/"] {
            assert_eq!(router().find(path).unwrap_err(), NotFound::Mistaken("/leads/{uuid}"));
        }
        assert_eq!(template_of("/lead"), "nothing");
    }

    #[test]
    fn a_decoded_slash_stays_inside_its_segment() {
        let router = router();
        let (_, params) = router.find("/leads/a%2Fb").unwrap();
        assert_eq!(params.get("uuid"), Some("a/b"));
        assert_eq!(template_of("/leads/%zz"), "/leads/{uuid}", "what cannot be decoded stands for itself");
        assert_eq!(template_of("/nowhere/%ff"), "undecodable");
    }

    #[test]
    fn an_image_is_found_whatever_stands_between_its_ends() {
        let image = "/seen/{lead}/{offer}/pixel.gif";
        for between in ["/7/8", "/7", "", "/", "//", "///8", "/7/8/9", "/%ff/%zz", "/pixel.gif/pixel.gif"] {
            assert_eq!(template_of(&format!("/seen{between}/pixel.gif")), image, "{between}");
        }
        for path in ["/seen/7/8", "/seen/7/8/pixel.png", "/7/8/pixel.gif", "/pixel.gif"] {
            assert_eq!(template_of(path), "nothing", "{path}");
        }
        let router = router();
        let (_, params) = router.find("/seen/7/8/pixel.gif").unwrap();
        assert_eq!((params.get("lead"), params.get("offer")), (Some("7"), Some("8")));
        let (_, params) = router.find("/seen/7/pixel.gif").unwrap();
        assert_eq!(params, Params::default());
    }

    #[test]
    fn a_resource_knows_its_methods() {
        let router = router();
        let (lead, _) = router.find("/leads/7").unwrap();
        assert_eq!(lead.allow(), "GET, HEAD, OPTIONS, PATCH");
        assert_eq!(lead.route(&Method::HEAD).map(|route| &route.method), Some(&Method::GET));
        assert!(lead.route(&Method::DELETE).is_none());
    }

    #[test]
    fn a_uuid_is_read_in_its_usual_spelling_only() {
        let mut params = Params::default();
        params.push("uuid", "6F2C1D3A-98B1-4C55-9D4E-0A1B2C3D4E5F".to_owned());
        params.push("bare", "6f2c1d3a98b14c559d4e0a1b2c3d4e5f".to_owned());
        assert_eq!(params.uuid("uuid").unwrap().to_string(), "6f2c1d3a-98b1-4c55-9d4e-0a1b2c3d4e5f");
        let failure = params.uuid("bare").unwrap_err();
        assert_eq!(failure.status, hyper::StatusCode::BAD_REQUEST);
        assert_eq!(failure.errors[0].attribute.as_deref(), Some("bare"));
    }
}
