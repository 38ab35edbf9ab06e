//! From a path and a method to a row of the route table. The table is data; this compiles and reads it.

use std::collections::BTreeSet;

use hyper::Method;
use hyper::header::HeaderValue;
use uuid::Uuid;

use super::caller::{Scope, hyphenated_uuid};
use super::edition::Editions;
use super::failure::Failure;
use super::percent;

/// One row of a route table.
#[derive(Debug, Clone)]
pub struct Route<H> {
    /// The method; a `GET` row answers `HEAD` too, unless [`Router::without_head`] says otherwise.
    pub method: Method,
    /// The path template, such as `/leads/{uuid}`. Rows of one resource spell it alike.
    pub path: &'static str,
    /// What the route asks of its caller.
    pub scope: Scope,
    /// The editions that have it.
    pub editions: Editions,
    /// One sentence for people.
    pub about: &'static str,
    /// What answers.
    pub handler: H,
}

/// A route table: of each row the method, the path, what it asks of its caller, the editions that have it, what answers, and one
/// sentence for people.
macro_rules! routes {
    (@row $method:ident $path:literal $scope:ident $editions:ident [$($handler:tt)+] $about:literal) => {
        $crate::web::Route {
            method: ::hyper::Method::$method,
            path: $path,
            scope: $crate::web::Scope::$scope,
            editions: $crate::web::Editions::$editions,
            about: $about,
            handler: $crate::web::handler!($($handler)+),
        }
    };
    ($($method:ident $path:literal $scope:ident $editions:ident [$($handler:tt)+] $about:literal;)+) => {
        &[$($crate::web::routes!(@row $method $path $scope $editions [$($handler)+] $about)),+]
    };
}

pub(crate) use routes;

impl<H> Route<H> {
    /// Whether the editions may answer differently. What asks for no token is the same in both.
    pub fn differs_by_edition(&self) -> bool {
        self.editions == Editions::All && self.scope != Scope::None
    }
}

/// A compiled route table.
#[derive(Debug)]
pub struct Router<H> {
    /// Invariant: the more literal template stands first, so the first that fits is the right one.
    resources: Vec<Resource<H>>,
}

/// All routes of one path template.
#[derive(Debug)]
pub struct Resource<H> {
    template: &'static str,
    segments: Vec<Segment>,
    /// The names of its parameters, in their order.
    names: Vec<&'static str>,
    routes: Vec<Route<H>>,
    /// Whether `HEAD` is served as `GET` is.
    head: bool,
}

/// Whether a path names a resource.
pub enum Found<'r, H> {
    /// It does, with these values in the braces.
    Resource(&'r Resource<H>, Params),
    /// No template fits.
    Nothing,
    /// The path is not percent-encoded UTF-8.
    Undecodable,
}

/// A part of a template. Literals order before parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Literal(&'static str),
    Param,
}

/// What stood in the braces of a path template: the decoded values of the path parameters, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(&'static str, String)>);

impl Params {
    /// The value of `name`; `None` when the template has no such parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The value of `name` as a UUID, or 400 naming the parameter.
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
    /// Compiles a table.
    ///
    /// # Panics
    /// When two rows share a method and a path, or spell the parameters of one path differently: the table is
    /// part of the program, and such a row could never be reached.
    pub fn new(table: &[Route<H>]) -> Self {
        let mut resources: Vec<Resource<H>> = Vec::new();
        for route in table {
            let new = Resource::new(route.path);
            let known = resources.iter().position(|resource| resource.segments == new.segments);
            let nth = known.unwrap_or(resources.len());
            resources.extend(known.is_none().then_some(new));
            resources[nth].add(route.clone());
        }
        resources.sort_by(|one, other| one.segments.cmp(&other.segments));
        Self { resources }
    }

    /// The same, but these templates take no `HEAD`.
    #[must_use]
    pub fn without_head(mut self, templates: &[&str]) -> Self {
        for resource in self.resources.iter_mut().filter(|resource| templates.contains(&resource.template)) {
            resource.head = false;
        }
        self
    }
}

impl<H> Router<H> {
    /// The resource of a path as it was sent. A literal beats a parameter; `/leads/` is not `/leads`.
    ///
    /// An image is found by the literals at both ends of its template alone, without parameters then: a page must not show
    /// a broken image, whatever was written between them.
    pub fn find(&self, path: &str) -> Found<'_, H> {
        let Some(path) = path.strip_prefix('/') else { return Found::Nothing };
        // What cannot be decoded stands for itself, and names no literal.
        let segments: Vec<_> =
            path.split('/').map(|text| percent::decode(text).unwrap_or(text.into())).collect();
        for resource in &self.resources {
            if let Some(params) = resource.capture(&segments) {
                return Found::Resource(resource, params);
            }
        }
        let mut images = self.resources.iter().filter(|resource| resource.is_image());
        if let Some(image) = images.find(|image| encloses(&image.segments, &segments)) {
            return Found::Resource(image, Params::default());
        }
        if path.split('/').all(|text| percent::decode(text).is_some()) {
            Found::Nothing
        } else {
            Found::Undecodable
        }
    }
}

impl<H> Resource<H> {
    /// The path template, which stands for the path in metrics and logs.
    pub fn template(&self) -> &'static str {
        self.template
    }

    /// Whether it is an image, which is shown however it is asked for.
    pub fn is_image(&self) -> bool {
        self.template.ends_with(".gif")
    }

    /// The methods that it takes, as `Allow` lists them.
    pub fn allow(&self) -> HeaderValue {
        let mut methods: BTreeSet<&str> = self.routes.iter().map(|route| route.method.as_str()).collect();
        if self.head && methods.contains("GET") {
            methods.insert("HEAD");
        }
        methods.insert("OPTIONS");
        let list = methods.into_iter().collect::<Vec<_>>().join(", ");
        HeaderValue::try_from(list).expect("method names are visible ASCII")
    }

    /// The row for `method`; `HEAD` is served by the `GET` row, unless the resource takes none.
    pub fn route(&self, method: &Method) -> Option<&Route<H>> {
        let row_of = |method: &Method| self.routes.iter().find(|route| route.method == method);
        row_of(method)
            .or_else(|| if self.head && method == Method::HEAD { row_of(&Method::GET) } else { None })
    }

    fn new(template: &'static str) -> Self {
        let path = template.strip_prefix('/').expect("a path template starts with a slash");
        let name = |text: &'static str| text.strip_prefix('{')?.strip_suffix('}');
        let segment = |text| name(text).map_or(Segment::Literal(text), |_| Segment::Param);
        let segments = path.split('/').map(segment).collect();
        Self {
            template,
            segments,
            names: path.split('/').filter_map(name).collect(),
            routes: Vec::new(),
            head: true,
        }
    }

    /// What stands in the braces, if the path is one of this resource.
    fn capture(&self, path: &[impl AsRef<str>]) -> Option<Params> {
        if self.segments.len() != path.len() {
            return None;
        }
        let (mut params, mut names) = (Params::default(), self.names.iter());
        for (segment, text) in self.segments.iter().zip(path) {
            match (segment, text.as_ref()) {
                (Segment::Literal(literal), text) if *literal == text => {}
                (Segment::Param, text) if !text.is_empty() => params.push(names.next()?, text.to_owned()),
                _ => return None,
            }
        }
        Some(params)
    }

    fn add(&mut self, route: Route<H>) {
        let Route { ref method, path, .. } = route;
        assert!(path == self.template, "`{path}` and `{}` are one resource, spell them alike", self.template);
        assert!(self.routes.iter().all(|other| other.method != method), "`{method} {path}` stands twice");
        self.routes.push(route);
    }
}

/// Tells whether a path begins and ends as a template does, up to its first and from its last parameter.
fn encloses(template: &[Segment], path: &[impl AsRef<str>]) -> bool {
    let is_literal = |segment: &&Segment| matches!(segment, Segment::Literal(_));
    let begins = template.iter().take_while(is_literal).count();
    let ends = template.iter().rev().take_while(is_literal).count();
    let fits =
        |(segment, text): (&Segment, &str)| matches!(segment, Segment::Literal(literal) if *literal == text);
    let texts = path.iter().map(AsRef::as_ref);
    path.len() >= begins + ends
        && template[..begins].iter().zip(texts.clone()).all(fits)
        && template.iter().rev().take(ends).zip(texts.rev()).all(fits)
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
    }

    fn template_of(path: &str) -> &'static str {
        match router().find(path) {
            Found::Resource(resource, _) => resource.template(),
            Found::Nothing => "nothing",
            Found::Undecodable => "undecodable",
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
    fn a_trailing_slash_is_another_path() {
        assert_eq!(template_of("/"), "/");
        for path in ["/leads", "/leads/", "/leads/7/", "//leads/7", "/leads//rateTables", "", "*"] {
            assert_eq!(template_of(path), "nothing", "{path}");
        }
    }

    #[test]
    fn a_decoded_slash_stays_inside_its_segment() {
        let router = router();
        let Found::Resource(_, params) = router.find("/leads/a%2Fb") else { panic!("not found") };
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
        for path in
            ["/seen/7/8", "/seen/7/8/pixel.png", "/7/8/pixel.gif", "/pixel.gif", "/seen/7/8/pixel.gif/"]
        {
            assert_eq!(template_of(path), "nothing", "{path}");
        }
        let router = router();
        let Found::Resource(_, params) = router.find("/seen/7/8/pixel.gif") else { panic!("not found") };
        assert_eq!((params.get("lead"), params.get("offer")), (Some("7"), Some("8")));
        let Found::Resource(_, params) = router.find("/seen/7/pixel.gif") else { panic!("not found") };
        assert_eq!(params, Params::default());
    }

    #[test]
    fn a_resource_knows_its_methods() {
        let router = router();
        let Found::Resource(lead, _) = router.find("/leads/7") else { panic!("not found") };
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
