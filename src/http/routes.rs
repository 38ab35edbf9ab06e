//! Every path of the public interface. A new path needs a line in the handbook (`src/handbook/client.md`).

use hyper::StatusCode;
use utoipa::openapi::path::{ParameterIn, ParameterStyle};
use utoipa::openapi::schema::Type;
use uuid::Uuid;

use super::current::api_version::{API_VERSION, PROMPT_VERSION};
use super::current::ui_utilities::UNIVERSITIES_MAX;
use super::current::{
    analytics, callbacks, clicks, demo, docs, explanations, handbook, home, leads, loan_reports, offer_pages,
    offer_previews, partner_events, prefills, rate_tables, samples, table_events, ui_events, ui_utilities,
    vehicles,
};
pub use super::openapi::draft::ApiRoute;
use super::openapi::draft::{JSON, integer, one_of, text, typed, uuid};
use super::openapi::{examples, shared};
use super::v1;
use offerd_engine::matching::preview_expiry::UNTIL;
use offerd_insight::reference::YEARS;
use offerd_model::ErrorType::{InvalidUuidReference, Malformed, Missing};
use offerd_model::{
    ApiError, CardPurpose, CreditCardOffer, EventType, FeaturedFinancialInstitution, Lead,
    LeadClientTagsResponse, LeadEventResponse, LeadExplanation, LeadInfoResponse, LeadPayoutResponse,
    LeadView, LoanOffer, LoanPurpose, LoanReport, LoanReportCreateData, OfferDisplay, OfferDisplayNew,
    PartnerEventReceipt, PartnerEventType, PartnerReportFields, PrefillResponse, ProductType, RateTable,
    RejectReason, SavingsOffer, SessionInit, SessionInitNew, VehicleDetails, schema,
};
use offerd_web::{Failure, SECRET, routes, signature};

/// Route tables: the parts of [`routes!`](offerd_web::routes), then the section and the operation id in the
/// OpenAPI document, and in braces its parameters and answers.
macro_rules! api_routes {
    ($($method:ident $path:literal $scope:ident $editions:ident [$($handler:tt)+] $about:literal
        $section:literal $id:ident { $($draft:tt)* })+) => {
        &[$(ApiRoute {
            route: routes!(@row $method $path $scope $editions [$($handler)+] $about),
            section: $section,
            id: stringify!($id),
            draft: |draft| draft $($draft)*,
        }),+]
    };
}

/// Resources without `HEAD`, since `GET` has an effect there.
pub const WITHOUT_HEAD: &[&str] = &["/click/{id}", "/originator/prefills/{prefillToken}", "/partnerEvents"];

/// Paths that clients take for those of a resource, with its path.
pub const MISTAKEN: &[(&str, &str)] = &[("/leads/rateTables/{uuid}", "/originator/rateTables/{uuid}")];

/// The API listener, `{base_url}`.
pub const API: &[ApiRoute] = api_routes! {
    POST "/leads/rateTables" Publishable All [rate_tables::submit, v1: v1::rate_tables::submit]
        "Accepts a lead and answers with its rate table at once, with the offers available so far."
        "Rate tables" submitLead { .with(shared::submit).prefers(shared::WAIT) }
    GET "/originator/rateTables/{uuid}" Publishable All [rate_tables::show, v1: v1::rate_tables::show]
        "Returns a rate table; pendingResponses is empty once it is complete."
        "Rate tables" getRateTable {
            .header("Prefer", "`wait=10` answers as soon as the table differs from the version in `If-None-Match`, after at most that many seconds.")
            .header("If-None-Match", "The `ETag` of the client's version of the table.")
            .with(shared::rate_table)
            .answers_empty(304, "The client's version is current.").with_header("ETag")
            .unknown("RateTable", "The company has no such rate table.")
        }
    GET "/originator/rateTables/{uuid}/events" PublishableOrSecret CurrentOnly [table_events::events]
        "Streams a rate table as server-sent events, now and on every change, until it is complete."
        "Rate tables" streamRateTable {
            .about("Each event `rateTable` holds the whole table; its id is the table's version.")
            .header("Last-Event-ID", "The version that the client has already.")
            .query(SECRET, "Instead of a token, for a browser's `EventSource`: from the header `Table-Events` of the answer to a submit. \
                Valid for this table, until an hour after its deadline.", uuid())
            .answers_events::<RateTable>("The rate table, whenever it changes.")
            .answers_empty(204, "The table is complete, and the client has seen it: an `EventSource` stops.")
            .unknown("RateTable", "The company has no such rate table.")
            .refuses(Failure::gone("Secret has expired"), "The secret has expired.")
        }
    POST "/originator/prefills" Publishable CurrentOnly [prefills::keep]
        "Stores lead data for some minutes, to prefill a form later."
        "Leads" createPrefill {
            .about("The data is checked like a lead's, but creates no lead. It is deleted after `expiresInSeconds`, or after `maxUses` reads.")
            .repeatable("as long as the prefill is there").with(shared::lead)
            .answers::<PrefillResponse>(200, "The token to read the data with.")
        }
    GET "/originator/prefills/{prefillToken}" Publishable CurrentOnly [prefills::read]
        "Returns prefill data, a few times, to any token of the company."
        "Leads" getPrefill {
            .about("`HEAD` is not allowed, because each read counts. A publishable token may read too: the prefill token is the permission.")
            .answers::<Lead>(200, "The stored data.")
            .unknown("Prefill", "Unknown to the company, expired or used up.")
        }
    GET "/leads/{uuid}" Confidential All [leads::show, v1: v1::leads::show]
        "Returns a lead as it was sent, and its results."
        "Leads" getLead {
            .header(API_VERSION, "A version as for submits: shows steps that are not in the specification, such as `submitted`.")
            .answers::<LeadView>(200, "The lead.").unknown("Lead", "The company has no such lead.")
        }
    PATCH "/leads/{uuid}" Confidential CurrentOnly [leads::merge]
        "Merges the body into a lead: new values replace old ones, arrays are united as sets."
        "Leads" mergeLead {
            .newer_values().with(shared::lead)
            .answers::<LeadView>(200, "The lead after the merge.")
            .unknown("Lead", "The company has no such lead.")
            .refuses(Failure::conflict(Uuid::nil()), "The merged lead would duplicate an existing lead.")
        }
    GET "/leads/{uuid}/explanation" Confidential CurrentOnly [explanations::show]
        "Explains, by partner and offer, why a lead has its offers."
        "Leads" explainLead {
            .about("Asks and answers are shown as recorded. Conditions are the current ones, and \
                `changedSince` shows whether they may have changed. Reasons that keep a partner from all \
                leads are shown by kind only.")
            .answers::<LeadExplanation>(200, "The explanation.")
            .unknown("Lead", "The company has no such lead.")
        }
    POST "/leads" Publishable CurrentOnly [leads::take]
        "Accepts a lead, which may be empty, without building a rate table."
        "Leads" createLead {
            .about("A publishable token gets only ids, times and status back, not the data sent.")
            .repeatable(shared::FOR_A_DAY).newer_values().with(shared::lead).body_optional()
            .answers::<LeadView>(201, "The lead.").with_header("Location")
            .refuses(Failure::conflict(Uuid::nil()), "The lead exists already.")
        }
    POST "/leads/{leadUuid}/rateTables" Publishable CurrentOnly [rate_tables::submit_again]
        "Merges the body into a lead and builds a new rate table for it."
        "Rate tables" submitLeadAgain {
            .about("A publishable token may do this for 24 hours after the lead was created (a setting of the operator); after that it gets 404.")
            .repeatable(shared::FOR_A_DAY).newer_values().with(shared::lead).body_optional().prefers(shared::WAIT)
            .with(shared::rate_table).with_header("Table-Events")
            .refuses(Failure::under_way(), "The call that it repeats is in progress.")
            .unknown("Lead", "The company has no such lead, or the lead is too old for a publishable token.")
        }
    GET "/click/{id}" None All [clicks::open]
        "Target of an offer's url: records the click and redirects the person to the partner."
        "Opened by browsers" openOffer {
            .about("The path is in the `url` of an offer. `HEAD` is not allowed. If the link is dead, a \
                request that accepts `text/html` gets a page. A browser's prefetch (`Sec-Purpose: prefetch` \
                and the like) is not a click. The first clicks on an offer are stored with its lead; later \
                ones redirect too, and are only counted.")
            .path("id", "The uuid of a shown offer.", uuid())
            .query(UNTIL, "In the `url` of a previewed offer: its expiry, and a proof of that.", text())
            .answers_empty(302, "Redirect to the partner.").with_header("Location")
            .refuses(Failure::fetched_ahead(), "A browser's prefetch.")
            .refuses(Failure::unknown("Offer does not exist"), "No such offer was shown.").or_page()
            .refuses(Failure::gone("Offer has expired"), "The offer's `expiresAt` has passed.").or_page()
            .refuses(Failure::overloaded(1), "The service is at a limit, or its store does not answer: try again later.").or_page()
            .refuses(Failure::too_many_requests(1), "The address or the person clicks too often.").or_page()
        }
    GET "/offers/{page}" None All [offer_pages::show]
        "Target of a rate table's partnerPageUrl: shows a person its offers as they arrive."
        "Opened by browsers" showOfferPage {
            .about("The address is in the `partnerPageUrl` of a rate table. It opens in a browser, with or without scripts.")
            .with(shared::offer_page)
        }
    GET "/offers/{page}/embed" None All [offer_pages::embed]
        "Target of its embedUrl: the same page for a frame, on the origins that the operator allows."
        "Opened by browsers" showEmbeddedOfferPage {
            .about("The address is in the `embedUrl` of a rate table. Browsers show it in a frame only on \
                the origins of the setting `offer_pages.frame_ancestors`.")
            .with(shared::offer_page)
        }
    GET "/offers/{page}/events" None All [offer_pages::events]
        "Streams the page's offers to its script on every change, until the table is complete."
        "Opened by browsers" streamOfferPage {
            .about("Each event `offers` holds the offers as HTML; its id is the version of the table.")
            .path("page", "The id of the page, from the rate table's `partnerPageUrl`.", uuid())
            .query("seen", "The version that the page was loaded with.", integer(0, u32::MAX))
            .header("Last-Event-ID", "The latest version that the page has received.")
            .answers_as(200, "text/event-stream", "The offers, whenever they change.", text())
            .answers_empty(204, "The table is complete, and the page has seen it so.")
            .refuses(Failure::unknown("Page does not exist"), "The page does not exist, or no longer.")
            .refuses(Failure::gone("Page has expired"), "The page has expired.")
        }
    GET "/offers/{page}/{offer}/seen.gif" None All [offer_pages::seen]
        "Records that an offer of that page was seen, as an image: always the transparent GIF of one pixel."
        "Opened by browsers" showOfferPagePixel {
            .path("page", "The id of the page, from the rate table's `partnerPageUrl`.", text())
            .path("offer", "The uuid of an offer of the page; anything else records nothing.", text())
            .answers_as(200, "image/gif", "The pixel.", text())
        }
    GET "/leads/universities" Publishable All [ui_utilities::universities]
        "Lists the universities whose names contain a fragment, in the spelling for leads."
        "UI utilities" listUniversities {
            .query("name", "A fragment of the name, in any case, with or without diacritics.", text())
            .query("offset", "How many names to pass over.", integer(0, i64::MAX))
            .query("limit", "How many names at most.", integer(1, UNIVERSITIES_MAX)).required()
            .answers_all("Names, in the spelling for leads.", text(), "University of Washington")
            .faults("limit", Missing, "Query parameter limit must be specified", "A parameter is missing or does not fit.")
        }
    GET "/leads/vehicles/years" Publishable CurrentOnly [vehicles::years]
        "Lists the model years of cars."
        "UI utilities" listVehicleYears {
            .query("minYear", "Only years from this one on.", shared::year())
            .query("maxYear", "Only years up to this one.", shared::year())
            .answers_all("Model years, the earliest first.", integer(*YEARS.start(), *YEARS.end()), 2024)
            .refuses(
                shared::unfit("minYear", "Query parameter minYear must be an integer from -2147483648 to 2147483647"),
                "A parameter is invalid; `details` has the value found.")
        }
    GET "/leads/vehicles/makes" Publishable CurrentOnly [vehicles::makes]
        "Lists the makes of cars, of a year or of all."
        "UI utilities" listVehicleMakes {
            .query("year", "Of this model year only.", shared::year())
            .with(shared::part)
            .answers_all("Names, in alphabetical order.", text(), "Toyota")
        }
    GET "/leads/vehicles/models" Publishable CurrentOnly [vehicles::models]
        "Lists the models of a make."
        "UI utilities" listVehicleModels {
            .query("year", "Of this model year only.", shared::year())
            .query("make", shared::THIS_ONE, text())
            .with(shared::part)
            .answers_all("Names, in alphabetical order.", text(), "Camry")
        }
    GET "/leads/vehicles/trims" Publishable CurrentOnly [vehicles::trims]
        "Lists the cars of a model with their trims and uuids."
        "UI utilities" listVehicleTrims {
            .about("Put the `uuid` into the lead as `vehicleInformation.vehicleUuid`.")
            .query("year", "Of this model year only.", shared::year())
            .query("make", shared::THIS_ONE, text())
            .query("model", shared::THIS_ONE, text())
            .with(shared::part)
            .answers_each::<VehicleDetails>("Cars, by year, make, model and trim.")
        }
    GET "/uiUtil/featuredFinancialInstitutions" Publishable All [ui_utilities::featured_institutions]
        "Lists the institutions to show before anything personal is asked for."
        "UI utilities" listFeaturedInstitutions { .answers_each::<FeaturedFinancialInstitution>("The institutions.") }
    GET "/offerPreview/loanOffers" Publishable All [offer_previews::loans, v1: v1::offer_previews::loans]
        "Previews public loan offers, as ranges."
        "Offer previews" previewLoanOffers {
            .with(shared::preview)
            .query("loanAmount", "The amount to borrow, in dollars.", integer(0, i32::MAX))
            .query_of::<LoanPurpose>("loanPurpose", "The purpose.")
            .answers_each::<LoanOffer>("Offers, the best first.").with_header("ETag")
        }
    GET "/offerPreview/creditCardOffers" Publishable All [offer_previews::cards, v1: v1::offer_previews::cards]
        "Previews public credit card offers."
        "Offer previews" previewCreditCardOffers {
            .with(shared::preview)
            .list_of::<CardPurpose>("cardPurposes", "The purpose of the card.", Some(1), None)
            .answers_each::<CreditCardOffer>("Offers, the best first.").with_header("ETag")
        }
    GET "/offerPreview/savingsOffers" Publishable All [offer_previews::savings, v1: v1::offer_previews::savings]
        "Previews public savings offers."
        "Offer previews" previewSavingsOffers {
            .with(shared::preview)
            .query("minDepositAmount", "The smallest deposit, in dollars.", integer(0, i64::MAX))
            .query("maxDepositAmount", "The largest deposit, in dollars.", integer(0, i64::MAX))
            .answers_each::<SavingsOffer>("Offers, the best first.").with_header("ETag")
        }
    POST "/approvalProbability/loanReports" Publishable CurrentOnly [loan_reports::make]
        "Estimates how likely the partners are to lend to somebody like this, by their own rules. Experimental."
        "Approval probability" createLoanReport {
            .about("Experimental. By the rules of the partner files alone: no partner is asked, no credit file is read. Of an \
                institution's bands for the state, purpose and amount, those that also fit income, rating and debt count 0.95 \
                (pre-approved), 0.80 (pre-qualified) or 0.50. Their sum over the number of bands is multiplied by \
                1 - min(totalDebt / annualIncome, 1) / 2, and by 0.8 for each derogatory mark.")
            .body::<LoanReportCreateData>(&[("somebody", examples::LOAN_REPORT_WANTED)])
            .answers::<LoanReport>(201, "The report.").with_header("Location")
            .faults("annualIncome", Missing, "must be given", "An attribute is missing or invalid.")
        }
    GET "/approvalProbability/loanReports/{uuid}" Publishable CurrentOnly [loan_reports::show]
        "Returns an earlier estimate. Experimental."
        "Approval probability" getLoanReport {
            .about("Experimental. A report of the company, unchanged, for as long as reports are stored.")
            .answers::<LoanReport>(200, "The report.")
            .unknown("LoanReport", "The company has no such report, or no longer.")
        }
    POST "/uiEvent/sessionInits" Publishable All [ui_events::init_session]
        "Records the start of a visit; an empty body gets a new sessionUuid."
        "UI events" initSession {
            .about("Put the answer's `sessionUuid` into every lead of the visit.")
            .repeatable("until the end of the next day in UTC").body::<SessionInitNew>(&[("a new session", "{}")]).body_optional()
            .answers::<SessionInit>(201, "The visit.")
        }
    POST "/uiEvent/offerDisplays" Publishable All [ui_events::display_offer]
        "Records that an offer of a rate table was seen."
        "UI events" recordOfferDisplay {
            .repeatable(shared::FOR_A_DAY).body::<OfferDisplayNew>(&[("an offer", examples::OFFER_SEEN)])
            .answers::<OfferDisplay>(201, "The display.")
            .refuses(
                Failure::fault("offerUuid", InvalidUuidReference, "Offer for UUID … does not exist").with_status(StatusCode::BAD_REQUEST),
                "An id is missing, or names no record of the company.")
        }
    GET "/uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif" None All [ui_events::pixel]
        "Records that an offer was seen, as an image: always the transparent GIF of one pixel."
        "Opened by browsers" showPixel {
            .path("leadUuid", "A uuid; anything else records nothing.", text())
            .path("rateTableUuid", "A uuid; anything else records nothing.", text())
            .path("offerUuid", "A uuid; anything else records nothing.", text())
            .answers_as(200, "image/gif", "The pixel.", text())
        }
    GET "/supplyAnalytics/leadEvents" Confidential All [analytics::lead_events, v1: v1::analytics::lead_events]
        "Returns the events of the company's leads, page by page, in the order of arrival."
        "Analytics" listLeadEvents {
            .with(shared::feed::<LeadEventResponse>)
            .list_of::<EventType>("eventType", "Newer form: only events of these types.", None, Some(ParameterStyle::Form))
        }
    GET "/supplyAnalytics/leadPayouts" Confidential All [analytics::lead_payouts]
        "Returns the payouts of the company's leads, page by page, in the order of arrival."
        "Analytics" listLeadPayouts { .with(shared::feed::<LeadPayoutResponse>) }
    GET "/supplyAnalytics/leadClientTags" Confidential All [analytics::lead_client_tags]
        "Returns the client tags of the company's leads, page by page, in the order of arrival."
        "Analytics" listLeadClientTags { .with(shared::feed::<LeadClientTagsResponse>) }
    GET "/supplyAnalytics/leadsInfo/{leadUuid}" Confidential CurrentOnly [analytics::lead_info]
        "Returns the events, payouts and client tags of one lead so far."
        "Analytics" getLeadInfo {
            .about("In the newer form of the feeds, without their minimum age. Answers 206 with `warnings` \
                while a rate table of the lead is pending, or when more has arrived since the lead than one \
                request reads.")
            .parameter(ParameterIn::Header, API_VERSION, "The version of the form.", one_of(&[PROMPT_VERSION])).required()
            .answers::<LeadInfoResponse>(200, "Everything.")
            .answers::<LeadInfoResponse>(206, "The records so far; `warnings` name what is missing.")
            .unknown("Lead", "The company has no such lead.")
            .refuses(analytics::no_version(), "The header is missing, or names another version.")
        }
    GET "/" None All [home::show]
        "Shows a start page for people."
        "Documentation" showHome { .answers_page(200, "The page.") }
    GET "/openapi.json" None All [docs::document]
        "Describes the client API as an OpenAPI document, from which clients can be generated."
        "Documentation" getOpenApi { .answers_as(200, JSON, "The client API.", typed(Type::Object)) }
    GET "/openapi.yaml" None All [docs::yaml]
        "Describes the client API as an OpenAPI document in YAML."
        "Documentation" getOpenApiYaml { .answers_as(200, "application/yaml", "The client API.", typed(Type::Object)) }
    GET "/openapi-all.json" None All [docs::whole]
        "Describes every path as an OpenAPI document, including partner reports, pages for browsers and the documentation."
        "Documentation" getWholeOpenApi { .answers_as(200, JSON, "This document.", typed(Type::Object)) }
    GET "/docs" None All [docs::show]
        "Shows the API documentation to people, who can try it there."
        "Documentation" showDocs { .answers_page(200, "The page.") }
    GET "/docs/{file}" None All [docs::file]
        "Returns a file of that page."
        "Documentation" getDocsFile {
            .path("file", "The name of a file.", one_of(docs::FILES))
            .answers_as(200, "*/*", "The file.", text())
            .refuses(Failure::not_found_path(), "The page has no such file.")
        }
    GET "/handbook/{chapter}" None All [handbook::show]
        "Shows a chapter of the handbook; with .md after its name, as Markdown."
        "Documentation" showHandbook {
            .path("chapter", "The name of a chapter, such as `client`, `moving`, `errors`, `input` or `changes`.", text())
            .answers_as(200, "*/*", "The chapter.", text())
            .refuses(Failure::not_found_path(), "The handbook has no such chapter.")
        }
    GET "/llms.txt" None All [handbook::llms]
        "Lists the documentation, for language models."
        "Documentation" showLlms { .answers_as(200, "text/plain", "The list.", text()) }
    GET "/demo" None All [demo::show]
        "Shows a page to submit a lead by hand, if the operator serves it."
        "Documentation" showDemo { .answers_page(200, "The page.").refuses(Failure::not_found_path(), "The operator does not serve the page.") }
    GET "/demo/{file}" None All [demo::file]
        "Returns a file of the demo page."
        "Documentation" getDemoFile {
            .path("file", "The name of a file.", one_of(demo::FILES))
            .answers_as(200, "*/*", "The file.", text())
            .refuses(Failure::not_found_path(), "The page has no such file, or the operator does not serve it.")
        }
    GET "/samples/{partner}/{name}" None All [samples::show]
        "Stands in for sample partners: a logo, a picture of a card, an offer's landing page."
        "Opened by browsers" showSample {
            .about("A sample partner's file names it as `{baseUrl}/samples/…`; other partners have none.")
            .path("partner", "The key of a sample partner.", text())
            .path("name", "`logo.svg`; the key of an offer for its page; that with `.svg` for a picture of the card.", text())
            .query("click", "The click that led there, shown on the page.", text())
            .answers_as(200, "*/*", "The page or the picture.", text())
            .refuses(Failure::not_found_path(), "No sample partner names it.")
        }
};

/// The integrations listener, `{integrations_url}`.
pub const INTEGRATIONS: &[ApiRoute] = api_routes! {
    POST "/blocking/leads/rateTables" Publishable All [rate_tables::submit_blocking, v1: v1::rate_tables::submit_blocking]
        "Accepts a lead and answers with its rate table once every partner has answered or timed out."
        "Rate tables" submitLeadAndWait { .with(shared::submit).about("`pendingResponses` of the answer is always empty.") }
    POST "/partnerEvents" Partner CurrentOnly [partner_events::report]
        "Records a partner's report on a lead that it was asked about, or reverses one."
        "Partner events" reportPartnerEvent {
            .about("A report needs `transactionId` and `revoked`, or `transactionId`, `eventType` and one of `clickId`, \
                `offerUuid`, `leadUuid`. Sent twice, it counts once.")
            .body::<PartnerReportFields>(&[("a funded loan", examples::PARTNER_REPORT)])
            .answers::<PartnerEventReceipt>(201, "The result of the report.")
            .with(shared::report)
        }
    GET "/partnerEvents" Signed CurrentOnly [partner_events::report_by_query]
        "Records a partner's report as a signed query, for partners that can only call a URL."
        "Partner events" reportPartnerEventByQuery {
            .query(signature::KEY_ID, "The id of the partner's signing key.", uuid()).required()
            .query("transactionId", "The partner's own id of the event.", text()).required()
            .query_of::<PartnerEventType>("eventType", "What happened; left out only when `revoked` is true.")
            .query("clickId", "The click that led to it.", uuid())
            .query("offerUuid", "The offer.", uuid())
            .query("leadUuid", "The lead, where the partner knows no offer.", uuid())
            .query_of::<ProductType>("productType", "The product, if only `leadUuid` is given.")
            .query("occurredAt", "When it happened.", schema::text("date-time"))
            .query("amountInCents", "The amount at stake.", typed(Type::Integer))
            .query("payoutInCents", "What the company that sent the lead earns, in cents.", typed(Type::Number))
            .query_of::<RejectReason>("rejectReason", "Why it was rejected.")
            .query("revoked", "Reverses the report with this transaction id.", typed(Type::Boolean))
            .with(shared::report)
        }
    POST "/callbacks/{id}" None CurrentOnly [callbacks::take]
        "Accepts a partner's answer to an ask by callback, once, until the ask ends."
        "Partner events" answerAsk {
            .about("For partners whose file has them answer by callback: their request has the address as \
                `callback_url`, and the file's `answer` reads the body.")
            .path("id", "The id in `callback_url`.", uuid())
            .answers_empty(204, "Accepted.")
            .refuses(Failure::forbidden("The signature is not that of the partner"),
                "The signature is not the one that the partner's file requires.")
            .refuses(Failure::unknown("Callback does not exist"), "No ask had this address.")
            .refuses(Failure::gone("The ask has ended"), "It came too late, or a second time.")
            .refuses(
                Failure::invalid(vec![ApiError::new(Malformed, "`answer.offers`: finds nothing")]),
                "The partner's file cannot read the body; the ask keeps waiting for a valid callback.")
        }
};
