//! `GET /openapi.json`, `GET /openapi-all.json`: the interface as an OpenAPI document, for programs that generate clients and tests,
//! and for people ([`super::current::docs`] shows the second). The first has what a client calls, and nothing else, since no
//! generator of clients leaves out what it is shown; the second has every route, what no client calls behind.
//!
//! What the route table knows is taken from it: method, path, summary, what the caller must show. What only the
//! handlers know stands in a `Draft` for each operation, a file for each section of the specification; the schemas
//! are those of [`crate::model`]. A new route needs a draft: a test fails without.

mod analytics;
mod browsers;
mod draft;
mod examples;
mod headers;
mod leads;
mod loan_reports;
mod offer_pages;
mod offer_previews;
mod partner_events;
mod rate_tables;
mod service;
mod ui;

use bytes::Bytes;
use utoipa::openapi::info::{InfoBuilder, LicenseBuilder};
use utoipa::openapi::path::{HttpMethod, PathItem, PathsBuilder};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::server::{Server, ServerBuilder};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{ComponentsBuilder, OpenApi, OpenApiBuilder};

use self::draft::{Draft, SIGNATURE, TOKEN};
use super::routes::{API, ApiRoute, INTEGRATIONS};
use crate::model::Components;
use crate::web::signature;

/// What a reader should know before the first operation.
const ABOUT: &str = include_str!("about.md");

/// The sections, those behind last that only the whole document has.
const TAGS: &[(&str, &str)] = &[
    (rate_tables::TAG, "Submit a lead, and read the offers that match it."),
    (leads::TAG, "Leads as they were sent, and what became of them."),
    (offer_previews::TAG, "Offers that anyone may see, before anything personal is known."),
    (loan_reports::TAG, "How likely partners are to lend, by their own rules. Experimental."),
    (analytics::TAG, "What happened to the leads of a company, in the order of arrival, page by page."),
    (ui::EVENTS, "What a client's pages report."),
    (ui::UTILITIES, "What a client's pages look up."),
    (partner_events::TAG, "Not for clients: what a partner reports of a lead that it was asked about."),
    (browsers::TAG, "Not for clients: what stands in answers as an address, for the browsers of people."),
    (service::TAG, "Not for clients: the documentation itself."),
];

/// How much of the interface a document tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What a client calls.
    Clients,
    /// Every path.
    Whole,
}

/// Where the listeners are, as clients see them.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// `{base_url}`
    pub api: String,
    /// `{integrations_url}`
    pub integrations: String,
}

/// The document, as it is served.
pub fn json(extent: Extent, addresses: &Addresses) -> Bytes {
    serde_json::to_vec(&document(extent, addresses)).expect("schemas and examples are JSON").into()
}

fn document(extent: Extent, addresses: &Addresses) -> OpenApi {
    let mut components = Components::new();
    let mut drafts = drafts(extent, &mut components);
    let tags = TAGS.iter().filter(|(name, _)| drafts.iter().any(|draft| draft.tag() == *name));
    let tags: Vec<Tag> =
        tags.map(|(name, about)| TagBuilder::new().name(*name).description(Some(*about)).build()).collect();
    let mut paths = PathsBuilder::new();
    for (routes, servers) in [(API, None), (INTEGRATIONS, Some(server(&addresses.integrations)))] {
        for route in routes {
            // What is not told here is told in the whole; that nothing else is without a draft is a test's affair.
            let Some(place) = drafts.iter().position(|draft| draft.is_for(route)) else { continue };
            let operation = drafts.swap_remove(place).operation(route, servers.clone(), &mut components);
            if let Some(method) = method(route) {
                paths = paths.path(route.path, PathItem::new(method, operation));
            }
        }
    }
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("offerd")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(ABOUT))
                .license(Some(
                    LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build(),
                )),
        )
        .servers(Some([server(&addresses.api)]))
        .tags(Some(tags))
        .paths(paths)
        .components(Some(secured(ComponentsBuilder::new().schemas_from_iter(components), extent).build()))
        .build()
}

/// The draft of every operation.
fn drafts(extent: Extent, components: &mut Components) -> Vec<Draft> {
    let clients = [
        rate_tables::operations,
        leads::operations,
        offer_previews::operations,
        loan_reports::operations,
        analytics::operations,
        ui::operations,
    ];
    let behind =
        [partner_events::operations, browsers::operations, offer_pages::operations, service::operations];
    let behind = behind.iter().filter(|_| extent == Extent::Whole);
    clients.iter().chain(behind).flat_map(|section| section(components)).collect()
}

/// How callers show who they are: clients by a token, which stands first wherever the schemes are listed.
fn secured(components: ComponentsBuilder, extent: Extent) -> ComponentsBuilder {
    let components = components.security_scheme(TOKEN, bearer());
    let signature = || SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::new(signature::SIGNATURE)));
    match extent {
        Extent::Clients => components,
        Extent::Whole => components.security_scheme(SIGNATURE, signature()),
    }
}

fn method(route: &ApiRoute) -> Option<HttpMethod> {
    Some(match route.method.as_str() {
        "GET" => HttpMethod::Get,
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        "PATCH" => HttpMethod::Patch,
        "DELETE" => HttpMethod::Delete,
        _ => return None,
    })
}

fn server(url: &str) -> Server {
    ServerBuilder::new().url(url).build()
}

fn bearer() -> SecurityScheme {
    let about = "Two UUIDs joined by an underscore, from the first start or `offerd token create`.";
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("uuid_uuid");
    SecurityScheme::Http(bearer.description(Some(about)).build())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn told(extent: Extent) -> Value {
        let addresses = Addresses {
            api: "http://api.example".to_owned(),
            integrations: "http://integrations.example".to_owned(),
        };
        serde_json::from_slice(&json(extent, &addresses)).unwrap()
    }

    fn shown() -> Value {
        told(Extent::Whole)
    }

    fn visit(value: &Value, see: &mut impl FnMut(&str, &Value)) {
        match value {
            Value::Object(entries) => entries.iter().for_each(|(key, value)| {
                see(key, value);
                visit(value, see);
            }),
            Value::Array(elements) => elements.iter().for_each(|element| visit(element, see)),
            _ => {}
        }
    }

    #[test]
    fn every_route_has_a_draft_and_every_draft_a_route() {
        let drafts = drafts(Extent::Whole, &mut Components::new());
        let routes: Vec<&ApiRoute> = API.iter().chain(INTEGRATIONS).collect();
        for route in &routes {
            let count = drafts.iter().filter(|draft| draft.is_for(route)).count();
            assert_eq!(count, 1, "drafts of {} {}: write one in src/http/openapi", route.method, route.path);
        }
        assert_eq!(drafts.len(), routes.len(), "a draft without a route");
        let operations: usize =
            shown()["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(operations, routes.len());
    }

    #[test]
    fn every_reference_resolves_and_every_schema_is_referred_to() {
        for extent in [Extent::Clients, Extent::Whole] {
            let document = told(extent);
            let mut referred = BTreeSet::new();
            visit(&document, &mut |key, value| {
                if key == "$ref" {
                    referred.insert(value.as_str().unwrap().to_owned());
                }
            });
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let known: BTreeSet<String> =
                schemas.keys().map(|name| format!("#/components/schemas/{name}")).collect();
            assert_eq!(referred, known, "{extent:?}");
        }
    }

    #[test]
    fn clients_are_shown_the_beginning_of_the_whole() {
        let (clients, whole) = (told(Extent::Clients), told(Extent::Whole));
        let tags = |document: &Value| document["tags"].as_array().unwrap().clone();
        assert!(tags(&whole).starts_with(&tags(&clients)));
        for (path, operations) in clients["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                assert_eq!(*operation, whole["paths"][path][method], "{method} {path}");
            }
        }
    }

    /// A dialogue that asks for tokens lists the schemes in this order.
    #[test]
    fn a_token_stands_before_a_signature() {
        let text = json(Extent::Whole, &Addresses { api: String::new(), integrations: String::new() });
        let text = String::from_utf8(text.to_vec()).unwrap();
        let (_, schemes) = text.split_once("\"securitySchemes\":").unwrap();
        let place = |name: &str| schemes.find(&format!("\"{name}\":{{")).unwrap();
        assert!(place(TOKEN) < place(SIGNATURE));
    }

    #[test]
    fn no_description_shows_how_rust_links() {
        visit(&shown(), &mut |key, value| {
            if let (true, Some(text)) = (key == "description", value.as_str()) {
                assert!(!text.contains("[`") && !text.contains("crate::"), "{text}");
            }
        });
    }

    #[test]
    fn operations_have_names_of_their_own_and_sections_that_exist() {
        let document = shown();
        let (mut names, mut tags) = (Vec::new(), BTreeSet::new());
        for operation in document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values())
        {
            names.push(operation["operationId"].as_str().unwrap());
            tags.insert(operation["tags"][0].as_str().unwrap());
        }
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
        assert_eq!(tags, TAGS.iter().map(|(name, _)| *name).collect());
    }
}
