//! Every path of the public interface, on one page.

use hyper::Method;

use super::App;
use super::current::{analytics, docs, leads, rate_tables};
use crate::web::{Editions, Handler, Route, Scope, handler};

/// A row of the table.
pub type ApiRoute = Route<Handler<App>>;

/// The api listener, `{base_url}`.
pub const API: &[ApiRoute] = &[
    Route {
        method: Method::POST,
        path: "/leads/rateTables",
        scope: Scope::Publishable,
        editions: Editions::CurrentOnly,
        about: "Takes a lead and answers with its rate table, at once with the offers that are there.",
        handler: handler!(rate_tables::submit),
    },
    Route {
        method: Method::GET,
        path: "/originator/rateTables/{uuid}",
        scope: Scope::Publishable,
        editions: Editions::CurrentOnly,
        about: "Answers with a rate table as it is; pendingResponses is empty once it is complete.",
        handler: handler!(rate_tables::show),
    },
    Route {
        method: Method::GET,
        path: "/leads/{uuid}",
        scope: Scope::Confidential,
        editions: Editions::CurrentOnly,
        about: "Answers with a lead as it was sent, and what became of it.",
        handler: handler!(leads::show),
    },
    Route {
        method: Method::GET,
        path: "/supplyAnalytics/leadEvents",
        scope: Scope::Confidential,
        editions: Editions::CurrentOnly,
        about: "Tells what happened to the leads of the company, a page at a time, in the order of arrival.",
        handler: handler!(analytics::lead_events),
    },
    Route {
        method: Method::GET,
        path: "/supplyAnalytics/leadPayouts",
        scope: Scope::Confidential,
        editions: Editions::CurrentOnly,
        about: "Tells what the leads of the company earned, a page at a time, in the order of arrival.",
        handler: handler!(analytics::lead_payouts),
    },
    Route {
        method: Method::GET,
        path: "/supplyAnalytics/leadClientTags",
        scope: Scope::Confidential,
        editions: Editions::CurrentOnly,
        about: "Tells how the leads of the company were tagged, a page at a time, in the order of arrival.",
        handler: handler!(analytics::lead_client_tags),
    },
    Route {
        method: Method::GET,
        path: "/docs",
        scope: Scope::None,
        editions: Editions::CurrentOnly,
        about: "Lists the paths of the interface, as a page.",
        handler: handler!(docs::show),
    },
];

/// The integrations listener, `{integrations_url}`.
pub const INTEGRATIONS: &[ApiRoute] = &[Route {
    method: Method::POST,
    path: "/blocking/leads/rateTables",
    scope: Scope::Publishable,
    editions: Editions::CurrentOnly,
    about: "Takes a lead and answers with its rate table once every partner has answered or run out of time.",
    handler: handler!(rate_tables::submit_blocking),
}];
