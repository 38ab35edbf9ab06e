//! Every path of the public interface, on one page. A new one needs its line in the handbook (`src/handbook/client.md`) and its draft in
//! [`super::openapi`]; tests say so.

use hyper::Method;

use super::current::{
    analytics, clicks, demo, docs, explanations, featured_institutions, home, leads, offer_previews,
    partner_events, rate_tables, samples, ui_events, universities, waiting,
};
use super::{App, v1};
use crate::web::{Editions, Handler, Route, Scope, handler};

/// A row of the table.
pub type ApiRoute = Route<Handler<App>>;

/// Resources that take `GET` alone: to open an offer is to record that, and whoever asks without it must not learn which
/// offers there are.
pub const WITHOUT_HEAD: &[&str] = &["/click/{id}"];

/// The api listener, `{base_url}`.
pub const API: &[ApiRoute] = &[
    Route {
        method: Method::POST,
        path: "/leads/rateTables",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Takes a lead and answers with its rate table, at once with the offers that are there.",
        handler: handler!(rate_tables::submit, v1: v1::rate_tables::submit),
    },
    Route {
        method: Method::GET,
        path: "/originator/rateTables/{uuid}",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Answers with a rate table as it is; pendingResponses is empty once it is complete.",
        handler: handler!(rate_tables::show, v1: v1::rate_tables::show),
    },
    Route {
        method: Method::GET,
        path: "/originator/rateTables/{uuid}/events",
        scope: Scope::Publishable,
        editions: Editions::CurrentOnly,
        about: "Streams a rate table as server-sent events, as it is and whenever it changes, until it is complete.",
        handler: handler!(waiting::events),
    },
    Route {
        method: Method::GET,
        path: "/leads/{uuid}",
        scope: Scope::Confidential,
        editions: Editions::All,
        about: "Answers with a lead as it was sent, and what became of it.",
        handler: handler!(leads::show, v1: v1::leads::show),
    },
    Route {
        method: Method::PATCH,
        path: "/leads/{uuid}",
        scope: Scope::Confidential,
        editions: Editions::CurrentOnly,
        about: "Merges what is sent into a lead: values go over values, arrays are united as sets.",
        handler: handler!(leads::grow),
    },
    Route {
        method: Method::GET,
        path: "/leads/{uuid}/explanation",
        scope: Scope::Confidential,
        editions: Editions::CurrentOnly,
        about: "Tells partner by partner and offer by offer why a lead has the offers that it has.",
        handler: handler!(explanations::show),
    },
    Route {
        method: Method::POST,
        path: "/leads",
        scope: Scope::Publishable,
        editions: Editions::CurrentOnly,
        about: "Takes a lead, which may be empty, without building a rate table.",
        handler: handler!(leads::take),
    },
    Route {
        method: Method::POST,
        path: "/leads/{leadUuid}/rateTables",
        scope: Scope::Publishable,
        editions: Editions::CurrentOnly,
        about: "Builds a new rate table for a lead, into which the body is merged.",
        handler: handler!(rate_tables::submit_again),
    },
    Route {
        method: Method::GET,
        path: "/click/{id}",
        scope: Scope::None,
        editions: Editions::All,
        about: "Where an offer's url leads: records the click and sends the person on to the partner.",
        handler: handler!(clicks::open),
    },
    Route {
        method: Method::GET,
        path: "/leads/universities",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Lists the names of universities that hold a fragment, as leads are to spell them.",
        handler: handler!(universities::list),
    },
    Route {
        method: Method::GET,
        path: "/uiUtil/featuredFinancialInstitutions",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Lists the institutions to show before anything personal is asked for.",
        handler: handler!(featured_institutions::list),
    },
    Route {
        method: Method::GET,
        path: "/offerPreview/loanOffers",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Previews the loan offers that anyone may see, as ranges.",
        handler: handler!(offer_previews::loans, v1: v1::offer_previews::loans),
    },
    Route {
        method: Method::GET,
        path: "/offerPreview/creditCardOffers",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Previews the credit card offers that anyone may see.",
        handler: handler!(offer_previews::cards, v1: v1::offer_previews::cards),
    },
    Route {
        method: Method::GET,
        path: "/offerPreview/savingsOffers",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Previews the savings offers that anyone may see.",
        handler: handler!(offer_previews::savings, v1: v1::offer_previews::savings),
    },
    Route {
        method: Method::POST,
        path: "/uiEvent/sessionInits",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Records the start of a visit; an empty body has a sessionUuid made up.",
        handler: handler!(ui_events::init_session),
    },
    Route {
        method: Method::POST,
        path: "/uiEvent/offerDisplays",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Records that an offer of a rate table was seen.",
        handler: handler!(ui_events::display_offer),
    },
    Route {
        method: Method::GET,
        path: "/uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif",
        scope: Scope::None,
        editions: Editions::All,
        about: "Records that an offer was seen, as an image: always the transparent GIF of one pixel.",
        handler: handler!(ui_events::pixel),
    },
    Route {
        method: Method::GET,
        path: "/supplyAnalytics/leadEvents",
        scope: Scope::Confidential,
        editions: Editions::All,
        about: "Tells what happened to the leads of the company, a page at a time, in the order of arrival.",
        handler: handler!(analytics::lead_events, v1: v1::analytics::lead_events),
    },
    Route {
        method: Method::GET,
        path: "/supplyAnalytics/leadPayouts",
        scope: Scope::Confidential,
        editions: Editions::All,
        about: "Tells what the leads of the company earned, a page at a time, in the order of arrival.",
        handler: handler!(analytics::lead_payouts),
    },
    Route {
        method: Method::GET,
        path: "/supplyAnalytics/leadClientTags",
        scope: Scope::Confidential,
        editions: Editions::All,
        about: "Tells how the leads of the company were tagged, a page at a time, in the order of arrival.",
        handler: handler!(analytics::lead_client_tags),
    },
    Route {
        method: Method::GET,
        path: "/",
        scope: Scope::None,
        editions: Editions::All,
        about: "Shows people where to begin.",
        handler: handler!(home::show),
    },
    Route {
        method: Method::GET,
        path: "/openapi.json",
        scope: Scope::None,
        editions: Editions::All,
        about: "Describes what clients call for programs, as an OpenAPI document that clients can be generated from.",
        handler: handler!(docs::document),
    },
    Route {
        method: Method::GET,
        path: "/openapi-all.json",
        scope: Scope::None,
        editions: Editions::All,
        about: "Describes every path in the same way: also what partners report, what browsers open, and the documentation.",
        handler: handler!(docs::whole),
    },
    Route {
        method: Method::GET,
        path: "/docs",
        scope: Scope::None,
        editions: Editions::All,
        about: "Shows the interface to people, who can try it there.",
        handler: handler!(docs::show),
    },
    Route {
        method: Method::GET,
        path: "/docs/{file}",
        scope: Scope::None,
        editions: Editions::All,
        about: "Answers with what that page is made of.",
        handler: handler!(docs::file),
    },
    Route {
        method: Method::GET,
        path: "/demo",
        scope: Scope::None,
        editions: Editions::All,
        about: "Shows a page on which a lead can be tried by hand; a sandbox only has it.",
        handler: handler!(demo::show),
    },
    Route {
        method: Method::GET,
        path: "/demo/{file}",
        scope: Scope::None,
        editions: Editions::All,
        about: "Answers with what that page loads.",
        handler: handler!(demo::file),
    },
    Route {
        method: Method::GET,
        path: "/samples/{partner}/{name}",
        scope: Scope::None,
        editions: Editions::All,
        about: "Stands in the place of sample partners: a logo, a picture of a card, the page that an offer leads to.",
        handler: handler!(samples::show),
    },
];

/// The integrations listener, `{integrations_url}`.
pub const INTEGRATIONS: &[ApiRoute] = &[
    Route {
        method: Method::POST,
        path: "/blocking/leads/rateTables",
        scope: Scope::Publishable,
        editions: Editions::All,
        about: "Takes a lead and answers with its rate table once every partner has answered or run out of time.",
        handler: handler!(rate_tables::submit_blocking, v1: v1::rate_tables::submit_blocking),
    },
    Route {
        method: Method::POST,
        path: "/partnerEvents",
        scope: Scope::Partner,
        editions: Editions::CurrentOnly,
        about: "Takes in what a partner reports of a lead that it was asked about, or takes it back.",
        handler: handler!(partner_events::report),
    },
    Route {
        method: Method::GET,
        path: "/partnerEvents",
        scope: Scope::Signed,
        editions: Editions::CurrentOnly,
        about: "The same as a signed query, for partners that can only fire a URL.",
        handler: handler!(partner_events::report_by_query),
    },
];
