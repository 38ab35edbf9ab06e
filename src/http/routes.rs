//! Every path of the public interface, on one page. A new one needs its line in the handbook (`src/handbook/client.md`) and its draft in
//! [`super::openapi`]; tests say so.

use super::current::{
    analytics, callbacks, clicks, demo, docs, explanations, featured_institutions, home, leads, loan_reports,
    offer_pages, offer_previews, partner_events, prefills, rate_tables, samples, ui_events, universities,
    vehicles, waiting,
};
use super::{App, v1};
use crate::web::{Handler, Route, routes};

/// A row of the table.
pub type ApiRoute = Route<Handler<App>>;

/// Resources that take no `HEAD`: to open an offer, to read a prefill, or to report by a signed query is to record that. Whoever asks
/// without it must neither learn which there are nor believe that it was recorded.
pub const WITHOUT_HEAD: &[&str] = &["/click/{id}", "/originator/prefills/{prefillToken}", "/partnerEvents"];

/// The api listener, `{base_url}`.
pub const API: &[ApiRoute] = routes! {
    POST "/leads/rateTables" Publishable All [rate_tables::submit, v1: v1::rate_tables::submit]
        "Takes a lead and answers with its rate table, at once with the offers that are there.";
    GET "/originator/rateTables/{uuid}" Publishable All [rate_tables::show, v1: v1::rate_tables::show]
        "Answers with a rate table as it is; pendingResponses is empty once it is complete.";
    GET "/originator/rateTables/{uuid}/events" Publishable CurrentOnly [waiting::events]
        "Streams a rate table as server-sent events, as it is and whenever it changes, until it is complete.";
    POST "/originator/prefills" Publishable CurrentOnly [prefills::keep]
        "Keeps the data of a lead for some minutes, for somebody who comes back for them.";
    GET "/originator/prefills/{prefillToken}" Publishable CurrentOnly [prefills::read]
        "Gives them back, a few times, to any token of the company.";
    GET "/leads/{uuid}" Confidential All [leads::show, v1: v1::leads::show]
        "Answers with a lead as it was sent, and what became of it.";
    PATCH "/leads/{uuid}" Confidential CurrentOnly [leads::grow]
        "Merges what is sent into a lead: values go over values, arrays are united as sets.";
    GET "/leads/{uuid}/explanation" Confidential CurrentOnly [explanations::show]
        "Tells partner by partner and offer by offer why a lead has the offers that it has.";
    POST "/leads" Publishable CurrentOnly [leads::take]
        "Takes a lead, which may be empty, without building a rate table.";
    POST "/leads/{leadUuid}/rateTables" Publishable CurrentOnly [rate_tables::submit_again]
        "Builds a new rate table for a lead, into which the body is merged.";
    GET "/click/{id}" None All [clicks::open]
        "Where an offer's url leads: records the click and sends the person on to the partner.";
    GET "/offers/{page}" None All [offer_pages::show]
        "Where a rate table's partnerPageUrl leads: shows a person its offers as they arrive.";
    GET "/offers/{page}/embed" None All [offer_pages::embed]
        "Where its embedUrl leads: the same page for a frame, on the origins that the operator allows.";
    GET "/offers/{page}/events" None All [offer_pages::events]
        "Streams the offers of that page to its own script whenever they change, until the table is complete.";
    GET "/offers/{page}/{offer}/seen.gif" None All [offer_pages::seen]
        "Records that an offer of that page was seen, as an image: always the transparent GIF of one pixel.";
    GET "/leads/universities" Publishable All [universities::list]
        "Lists the names of universities that hold a fragment, as leads are to spell them.";
    GET "/leads/vehicles/years" Publishable CurrentOnly [vehicles::years]
        "Lists the model years that there are cars of.";
    GET "/leads/vehicles/makes" Publishable CurrentOnly [vehicles::makes]
        "Lists the makes of cars, of a year or of all.";
    GET "/leads/vehicles/models" Publishable CurrentOnly [vehicles::models]
        "Lists the models of a make.";
    GET "/leads/vehicles/trims" Publishable CurrentOnly [vehicles::trims]
        "Lists the cars of a model with their trims, and the uuids that leads name them by.";
    GET "/uiUtil/featuredFinancialInstitutions" Publishable All [featured_institutions::list]
        "Lists the institutions to show before anything personal is asked for.";
    GET "/offerPreview/loanOffers" Publishable All [offer_previews::loans, v1: v1::offer_previews::loans]
        "Previews the loan offers that anyone may see, as ranges.";
    GET "/offerPreview/creditCardOffers" Publishable All [offer_previews::cards, v1: v1::offer_previews::cards]
        "Previews the credit card offers that anyone may see.";
    GET "/offerPreview/savingsOffers" Publishable All [offer_previews::savings, v1: v1::offer_previews::savings]
        "Previews the savings offers that anyone may see.";
    POST "/approvalProbability/loanReports" Publishable CurrentOnly [loan_reports::make]
        "Estimates how likely the partners are to lend to somebody like this, by their own rules. Experimental.";
    GET "/approvalProbability/loanReports/{uuid}" Publishable CurrentOnly [loan_reports::show]
        "Answers with such an estimate as it was made. Experimental.";
    POST "/uiEvent/sessionInits" Publishable All [ui_events::init_session]
        "Records the start of a visit; an empty body has a sessionUuid made up.";
    POST "/uiEvent/offerDisplays" Publishable All [ui_events::display_offer]
        "Records that an offer of a rate table was seen.";
    GET "/uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif" None All [ui_events::pixel]
        "Records that an offer was seen, as an image: always the transparent GIF of one pixel.";
    GET "/supplyAnalytics/leadEvents" Confidential All [analytics::lead_events, v1: v1::analytics::lead_events]
        "Tells what happened to the leads of the company, a page at a time, in the order of arrival.";
    GET "/supplyAnalytics/leadPayouts" Confidential All [analytics::lead_payouts]
        "Tells what the leads of the company earned, a page at a time, in the order of arrival.";
    GET "/supplyAnalytics/leadClientTags" Confidential All [analytics::lead_client_tags]
        "Tells how the leads of the company were tagged, a page at a time, in the order of arrival.";
    GET "/supplyAnalytics/leadsInfo/{leadUuid}" Confidential CurrentOnly [analytics::lead_info]
        "Tells what happened to one lead, what it earned and how it was tagged, as far as it is there.";
    GET "/" None All [home::show]
        "Shows people where to begin.";
    GET "/openapi.json" None All [docs::document]
        "Describes what clients call for programs, as an OpenAPI document that clients can be generated from.";
    GET "/openapi-all.json" None All [docs::whole]
        "Describes every path in the same way: also what partners report, what browsers open, and the documentation.";
    GET "/docs" None All [docs::show]
        "Shows the interface to people, who can try it there.";
    GET "/docs/{file}" None All [docs::file]
        "Answers with what that page is made of.";
    GET "/demo" None All [demo::show]
        "Shows a page on which a lead can be tried by hand; a sandbox only has it.";
    GET "/demo/{file}" None All [demo::file]
        "Answers with what that page loads.";
    GET "/samples/{partner}/{name}" None All [samples::show]
        "Stands in the place of sample partners: a logo, a picture of a card, the page that an offer leads to.";
};

/// The integrations listener, `{integrations_url}`.
pub const INTEGRATIONS: &[ApiRoute] = routes! {
    POST "/blocking/leads/rateTables" Publishable All [rate_tables::submit_blocking, v1: v1::rate_tables::submit_blocking]
        "Takes a lead and answers with its rate table once every partner has answered or run out of time.";
    POST "/partnerEvents" Partner CurrentOnly [partner_events::report]
        "Takes in what a partner reports of a lead that it was asked about, or takes it back.";
    POST "/callbacks/{id}" None CurrentOnly [callbacks::take]
        "Takes in what a partner answers to an ask that it was to answer by calling; once, and until the ask has ended.";
    GET "/partnerEvents" Signed CurrentOnly [partner_events::report_by_query]
        "The same as a signed query, for partners that can only fire a URL.";
};
