//! `GET /openapi.json`, `GET /openapi-all.json`: the interface as an OpenAPI document, for clients and with
//! every route. The [route table](super::routes) has it as [`OperationDraft`]s; this module adds the failures
//! that follow from the row; the schemas are those of [`offerd_model`].

pub mod draft;
pub mod examples;
pub mod shared;

use bytes::Bytes;
use hyper::Method;
use utoipa::openapi::info::{InfoBuilder, LicenseBuilder};
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, Paths, PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::Response;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::server::{Server, ServerBuilder};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{ComponentsBuilder, ContentBuilder, OpenApi, OpenApiBuilder, Ref, Required};

use self::draft::{JSON, OperationDraft, SIGNATURE, TOKEN, text};
use super::current::docs::{Addresses, Extent};
use super::routes::{API, INTEGRATIONS};
use offerd_model::{Components, EventType, LeadEvent, schema};
use offerd_web::signature;

const ABOUT: &str = include_str!("about.md");

/// The sections with their descriptions, one per line.
const SECTIONS: &str = include_str!("sections.txt");

fn sections(extent: Extent) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = SECTIONS.lines().filter_map(|line| line.split_once(": "));
    all.filter(move |(_, about)| extent == Extent::Whole || !about.starts_with("Not for clients"))
}

/// The document as JSON.
pub fn json(extent: Extent, addresses: &Addresses) -> Bytes {
    serde_json::to_vec(&document(extent, addresses)).expect("schemas and examples are JSON").into()
}

fn document(extent: Extent, addresses: &Addresses) -> OpenApi {
    let mut components = Components::new();
    shared::complete_lead_view(&mut components);
    let mut paths = PathsBuilder::new();
    for (rows, servers) in [(API, None), (INTEGRATIONS, Some(server(&addresses.integrations)))] {
        for row in rows.iter().filter(|row| sections(extent).any(|(name, _)| name == row.section)) {
            let operation = (row.draft)(OperationDraft::new(&mut components)).operation(row, servers.clone());
            paths = paths.path(row.path, PathItem::new(method(&row.method), operation));
        }
    }
    let webhooks = webhooks(&mut components);
    let tag = |(name, about)| TagBuilder::new().name(name).description(Some::<&str>(about)).build();
    let info = InfoBuilder::new().title("offerd").version(env!("CARGO_PKG_VERSION"));
    let license = LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build();
    OpenApiBuilder::new()
        .info(info.description(Some(ABOUT)).license(Some(license)))
        .servers(Some([server(&addresses.api)]))
        .tags(Some(sections(extent).map(tag)))
        .paths(paths)
        .webhooks(Some(webhooks))
        .components(Some(secured(ComponentsBuilder::new().schemas_from_iter(components), extent).build()))
        .build()
}

/// What a company's webhook is sent, for every event of its leads (`src/outbound/postbacks`).
fn webhooks(components: &mut Components) -> Paths {
    let event = schema::object([
        ("type", schema::reference::<EventType>(components), true),
        ("timestamp", schema::text("date-time"), true),
        ("data", schema::reference::<LeadEvent>(components), true),
    ]);
    components.push(("LeadWebhook".to_owned(), event.into()));
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("LeadWebhook"))).build();
    let mut operation = OperationBuilder::new()
        .operation_id(Some("receiveLeadEvent"))
        .summary(Some("Takes an event of a lead, signed as Standard Webhooks are."))
        .request_body(Some(
            RequestBodyBuilder::new().content(JSON, body).required(Some(Required::True)).build(),
        ))
        .response("2XX", Response::new("Stored. After any other answer, the event is sent again."));
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let header = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
        operation = operation.parameter(header.required(Required::True).schema(Some(text())).build());
    }
    PathsBuilder::new().path("leadEvent", PathItem::new(HttpMethod::Post, operation.build())).build()
}

fn secured(components: ComponentsBuilder, extent: Extent) -> ComponentsBuilder {
    let about = "Two UUIDs joined by an underscore, from the first start or `offerd token create`.";
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("uuid_uuid");
    let bearer = SecurityScheme::Http(bearer.description(Some(about)).build());
    let components = components.security_scheme(TOKEN, bearer);
    let signature = || SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::new(signature::SIGNATURE)));
    match extent {
        Extent::Clients => components,
        Extent::Whole => components.security_scheme(SIGNATURE, signature()),
    }
}

fn method(route: &Method) -> HttpMethod {
    let name = route.as_str().to_lowercase();
    serde_json::from_value(name.into()).expect("the document knows the methods of routes")
}

fn server(url: &str) -> Server {
    ServerBuilder::new().url(url).build()
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
    fn every_route_is_an_operation() {
        let operations: usize =
            shown()["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(operations, API.len() + INTEGRATIONS.len());
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

    /// A dialog that asks for tokens lists the schemes in this order.
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
        assert_eq!(tags, sections(Extent::Whole).map(|(name, _)| name).collect());
    }
}
