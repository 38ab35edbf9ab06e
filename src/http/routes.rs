//! Every path of the public interface, with its handler and its description for [`super::openapi`]. A new
//! path needs a line in the handbook (`src/handbook/client.md`); a test checks it.

use hyper::StatusCode;
use utoipa::openapi::path::{ParameterIn, ParameterStyle};
use utoipa::openapi::schema::Type;
use uuid::Uuid;

use super::current::api_version::{API_VERSION, PROMPT_VERSION};
use super::current::ui_utilities::UNIVERSITIES_MAX;
use super::current::{
    analytics, callbacks, clicks, demo, docs, explanations, home, leads, loan_reports, offer_pages,
    offer_previews, partner_events, prefills, rate_tables, samples, ui_events, ui_utilities, vehicles,
    waiting,
};
pub use super::openapi::draft::ApiRoute;
use super::openapi::draft::{JSON, integer, one_of, text, typed, uuid};
use super::openapi::{examples, shared};
use super::v1;
use offerd_engine::matching::preview_end::UNTIL;
use offerd_insight::reference::YEARS;
use offerd_model::ErrorType::{InvalidUuidReference, Malformed, Missing};
use offerd_model::{
    ApiError, CardPurpose, CreditCardOffer, EventType, FeaturedFinancialInstitution, Lead,
    LeadClientTagsResponse, LeadEventResponse, LeadExplanation, LeadInfoResponse, LeadPayoutResponse,
    LeadView, LoanOffer, LoanPurpose, LoanReport, LoanReportCreateData, OfferDisplay, OfferDisplayNew,
    PartnerEventReceipt, PartnerEventType, PartnerReportFields, PrefillResponse, ProductType, RejectReason,
    SavingsOffer, SessionInit, SessionInitNew, VehicleDetails, schema,
};
use offerd_web::{Failure, routes, signature};

/// The route table: each row has the parts of [`routes!`](offerd_web::routes), the section and the operation
/// id in the OpenAPI document, and in braces its parameters and answers.
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

/// Resources without `HEAD`: opening an offer, reading a prefill, or reporting by a signed query has an
/// effect. A `HEAD` request must neither reveal which of them exist nor look as if it had that effect.
pub const WITHOUT_HEAD: &[&str] = &["/click/{id}", "/originator/prefills/{prefillToken}", "/partnerEvents"];

/// The API listener, `{base_url}`.
pub const API: &[ApiRoute] = api_routes! {
    POST "/leads/rateTables" Publishable All [rate_tables::submit, v1: v1::rate_tables::submit]
        "Takes a lead and answers with its rate table, at once with the offers that are there."
        "Rate tables" submitLead { .with(shared::submit) }
    GET "/originator/rateTables/{uuid}" Publishable All [rate_tables::show, v1: v1::rate_tables::show]
        "Answers with a rate table as it is; pendingResponses is empty once it is complete."
        "Rate tables" getRateTable {
            .header("Prefer", "`wait=10` answers as soon as the table is not what `If-None-Match` names, at most that many seconds \
                later.")
            .header("If-None-Match", "The `ETag` of the table that the client holds.")
            .with(shared::rate_table)
            .answers_empty(304, "The table is what the client holds.").with_header("ETag")
            .unknown("RateTable", "The company has no such rate table.")
        }
    GET "/originator/rateTables/{uuid}/events" Publishable CurrentOnly [waiting::events]
        "Streams a rate table as server-sent events, as it is and whenever it changes, until it is complete."
        "Rate tables" streamRateTable {
            .about("Each event `rateTable` holds the whole table; its id is the table's version.")
            .header("Last-Event-ID", "The version that the client holds already.")
            .answers_events("The rate table, whenever it changes.")
            .answers_empty(204, "The table is complete, and the client has seen it: an `EventSource` stops.")
            .unknown("RateTable", "The company has no such rate table.")
        }
    POST "/originator/prefills" Publishable CurrentOnly [prefills::keep]
        "Keeps the data of a lead for some minutes, for somebody who comes back for them."
        "Leads" createPrefill {
            .about("They are checked as a lead's are, and no lead is made of them. They are gone after `expiresInSeconds`, and \
                after they were read `maxUses` times.")
            .with(shared::lead)
            .answers::<PrefillResponse>(200, "The token to read them by.")
        }
    GET "/originator/prefills/{prefillToken}" Publishable CurrentOnly [prefills::read]
        "Gives them back, a few times, to any token of the company."
        "Leads" getPrefill {
            .about("`HEAD` is not taken, since each reading counts. A publishable token reads them too: the prefill token is the \
                permission.")
            .answers::<Lead>(200, "What was given.")
            .unknown("Prefill", "Unknown to the company, over, or used up.")
        }
    GET "/leads/{uuid}" Confidential All [leads::show, v1: v1::leads::show]
        "Answers with a lead as it was sent, and what became of it."
        "Leads" getLead { .answers::<LeadView>(200, "The lead.").unknown("Lead", "The company has no such lead.") }
    PATCH "/leads/{uuid}" Confidential CurrentOnly [leads::grow]
        "Merges what is sent into a lead: values go over values, arrays are united as sets."
        "Leads" growLead {
            .newer_values().with(shared::lead)
            .answers::<LeadView>(200, "The lead as it is now.")
            .unknown("Lead", "The company has no such lead.")
            .refuses(Failure::conflict(Uuid::nil()), "The lead would be another that exists already.")
        }
    GET "/leads/{uuid}/explanation" Confidential CurrentOnly [explanations::show]
        "Tells partner by partner and offer by offer why a lead has the offers that it has."
        "Leads" explainLead {
            .about("What was asked and answered is told as it was; conditions are those of now, and `changedSince` \
                tells when they may have been others. What keeps a partner from leads of any kind is told by its \
                kind only.")
            .answers::<LeadExplanation>(200, "The explanation.")
            .unknown("Lead", "The company has no such lead.")
        }
    POST "/leads" Publishable CurrentOnly [leads::take]
        "Takes a lead, which may be empty, without building a rate table."
        "Leads" createLead {
            .about("A publishable token is answered with ids, times and status only, not with what was sent.")
            .newer_values().with(shared::lead).body_optional()
            .answers::<LeadView>(201, "The lead.").with_header("Location")
            .refuses(Failure::conflict(Uuid::nil()), "The lead exists already.")
        }
    POST "/leads/{leadUuid}/rateTables" Publishable CurrentOnly [rate_tables::submit_again]
        "Builds a new rate table for a lead, into which the body is merged."
        "Rate tables" submitLeadAgain {
            .about("By a publishable token for 24 hours after the lead was made (a setting of the operator); then the lead is \
                unknown to it.")
            .newer_values().with(shared::lead).body_optional()
            .with(shared::rate_table)
            .unknown("Lead", "The company has no such lead, or it was made too long ago for a publishable token.")
        }
    GET "/click/{id}" None All [clicks::open]
        "Where an offer's url leads: records the click and sends the person on to the partner."
        "Opened by browsers" openOffer {
            .about("The path stands in the `url` of an offer. `HEAD` is not taken. A request that accepts `text/html` reads a page where it leads nowhere. What a \
                browser fetches ahead (`Sec-Purpose: prefetch` and the like) is no click. The first clicks on an offer are kept with its \
                lead; those beyond lead on as well, and are only counted.")
            .path("id", "The uuid of a shown offer.", uuid())
            .query(UNTIL, "Stands in the `url` of an offer of a preview: until when it stands, and a proof of that.", text())
            .answers_empty(302, "The way to the partner.").with_header("Location")
            .refuses(Failure::fetched_ahead(), "A browser fetches it ahead of the person.")
            .refuses(Failure::unknown("Offer does not exist"), "No such offer was shown.").or_page()
            .refuses(Failure::gone("Offer has expired"), "The offer's `expiresAt` has passed.").or_page()
            .refuses(Failure::overloaded(1), "The service is at a limit, or its store does not answer: try again later.").or_page()
            .refuses(Failure::too_many_requests(1), "The address, or whoever opens the offer, clicks too often.").or_page()
        }
    GET "/offers/{page}" None All [offer_pages::show]
        "Where a rate table's partnerPageUrl leads: shows a person its offers as they arrive."
        "Opened by browsers" showOfferPage {
            .about("The address stands in the `partnerPageUrl` of a rate table. It opens in a browser, with a script or without.")
            .with(shared::offer_page)
        }
    GET "/offers/{page}/embed" None All [offer_pages::embed]
        "Where its embedUrl leads: the same page for a frame, on the origins that the operator allows."
        "Opened by browsers" showEmbeddedOfferPage {
            .about("The address stands in the `embedUrl` of a rate table. A browser shows it in a frame on the origins of the \
                setting `offer_pages.frame_ancestors` only.")
            .with(shared::offer_page)
        }
    GET "/offers/{page}/events" None All [offer_pages::events]
        "Streams the offers of that page to its own script whenever they change, until the table is complete."
        "Opened by browsers" streamOfferPage {
            .about("Each event `offers` holds the offers as HTML; its id is the version of the table.")
            .path("page", "What the address in a rate table has there.", uuid())
            .query("seen", "The version that the page itself shows.", integer(0, u32::MAX))
            .header("Last-Event-ID", "The version that the page has seen since.")
            .answers_events("The offers, whenever they change.")
            .answers_empty(204, "The table is complete, and the page has seen it so.")
            .refuses(Failure::unknown("Page does not exist"), "There is no such page, or none any more.")
            .refuses(Failure::gone("Page has expired"), "The page has expired.")
        }
    GET "/offers/{page}/{offer}/seen.gif" None All [offer_pages::seen]
        "Records that an offer of that page was seen, as an image: always the transparent GIF of one pixel."
        "Opened by browsers" showOfferPagePixel {
            .path("page", "What the address in a rate table has there.", text())
            .path("offer", "The uuid of an offer of the page; anything else records nothing.", text())
            .answers_as(200, "image/gif", "The pixel.", text())
        }
    GET "/leads/universities" Publishable All [ui_utilities::universities]
        "Lists the names of universities that hold a fragment, as leads are to spell them."
        "UI utilities" listUniversities {
            .query("name", "A fragment of the name, in any case, with or without diacritics.", text())
            .query("offset", "How many names to pass over.", integer(0, i64::MAX))
            .query("limit", "How many names at most.", integer(1, UNIVERSITIES_MAX)).required()
            .answers_all("Names, as leads are to spell them.", text(), "University of Washington")
            .faults("limit", Missing, "Query parameter limit must be specified", "A parameter is missing or does not fit.")
        }
    GET "/leads/vehicles/years" Publishable CurrentOnly [vehicles::years]
        "Lists the model years that there are cars of."
        "UI utilities" listVehicleYears {
            .query("minYear", "No year beyond this one.", shared::year())
            .query("maxYear", "No year beyond this one.", shared::year())
            .answers_all("Model years, the earliest first.", integer(*YEARS.start(), *YEARS.end()), 2024)
            .refuses(
                shared::unfit("minYear", "Query parameter minYear must be an integer from -2147483648 to 2147483647"),
                "A parameter does not fit; `details` has what was found.")
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
        "Lists the cars of a model with their trims, and the uuids that leads name them by."
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
        "Previews the loan offers that anyone may see, as ranges."
        "Offer previews" previewLoanOffers {
            .with(shared::preview)
            .query("loanAmount", "What is to be borrowed, in dollars.", integer(0, i32::MAX))
            .query_of::<LoanPurpose>("loanPurpose", "What for.")
            .answers_each::<LoanOffer>("Offers, the best first.")
        }
    GET "/offerPreview/creditCardOffers" Publishable All [offer_previews::cards, v1: v1::offer_previews::cards]
        "Previews the credit card offers that anyone may see."
        "Offer previews" previewCreditCardOffers {
            .with(shared::preview)
            .list_of::<CardPurpose>("cardPurposes", "What the card should be good for.", Some(1), None)
            .answers_each::<CreditCardOffer>("Offers, the best first.")
        }
    GET "/offerPreview/savingsOffers" Publishable All [offer_previews::savings, v1: v1::offer_previews::savings]
        "Previews the savings offers that anyone may see."
        "Offer previews" previewSavingsOffers {
            .with(shared::preview)
            .query("minDepositAmount", "The least that would be deposited, in dollars.", integer(0, i64::MAX))
            .query("maxDepositAmount", "The most that would be deposited, in dollars.", integer(0, i64::MAX))
            .answers_each::<SavingsOffer>("Offers, the best first.")
        }
    POST "/approvalProbability/loanReports" Publishable CurrentOnly [loan_reports::make]
        "Estimates how likely the partners are to lend to somebody like this, by their own rules. Experimental."
        "Approval probability" createLoanReport {
            .about("Experimental. By the rules of the catalogue alone: no partner is asked, no credit file is read. Of an \
                institution's bands of terms that are for the state, the purpose and the amount, the share that is also for the income, the \
                rating and the debt, each counted as its offer is firm (0.95 pre-approved, 0.80 pre-qualified, else 0.50); times \
                1 - min(totalDebt / annualIncome, 1) / 2; times 0.8 for each derogatory mark.")
            .body::<LoanReportCreateData>(&[("somebody", examples::LOAN_REPORT_WANTED)])
            .answers::<LoanReport>(201, "The report.").with_header("Location")
            .faults("annualIncome", Missing, "must be given", "Something must be given, or does not fit.")
        }
    GET "/approvalProbability/loanReports/{uuid}" Publishable CurrentOnly [loan_reports::show]
        "Answers with such an estimate as it was made. Experimental."
        "Approval probability" getLoanReport {
            .about("Experimental. A report of the company as it was made, for as long as reports are kept.")
            .answers::<LoanReport>(200, "The report.")
            .unknown("LoanReport", "Nothing of the company's, or no longer.")
        }
    POST "/uiEvent/sessionInits" Publishable All [ui_events::init_session]
        "Records the start of a visit; an empty body has a sessionUuid made up."
        "UI events" initSession {
            .about("Put the answer's `sessionUuid` into every lead of the visit.")
            .body::<SessionInitNew>(&[("a new session", "{}")]).body_optional()
            .answers::<SessionInit>(201, "The visit.")
        }
    POST "/uiEvent/offerDisplays" Publishable All [ui_events::display_offer]
        "Records that an offer of a rate table was seen."
        "UI events" recordOfferDisplay {
            .body::<OfferDisplayNew>(&[("an offer", examples::OFFER_SEEN)])
            .answers::<OfferDisplay>(201, "The display.")
            .refuses(
                Failure::fault("offerUuid", InvalidUuidReference, "Offer for UUID … does not exist").with_status(StatusCode::BAD_REQUEST),
                "Not the three ids, or one that names nothing of the company's.")
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
        "Tells what happened to the leads of the company, a page at a time, in the order of arrival."
        "Analytics" listLeadEvents {
            .with(shared::feed::<LeadEventResponse>)
            .list_of::<EventType>("eventType", "The newer form: only events of these types.", None, Some(ParameterStyle::Form))
        }
    GET "/supplyAnalytics/leadPayouts" Confidential All [analytics::lead_payouts]
        "Tells what the leads of the company earned, a page at a time, in the order of arrival."
        "Analytics" listLeadPayouts { .with(shared::feed::<LeadPayoutResponse>) }
    GET "/supplyAnalytics/leadClientTags" Confidential All [analytics::lead_client_tags]
        "Tells how the leads of the company were tagged, a page at a time, in the order of arrival."
        "Analytics" listLeadClientTags { .with(shared::feed::<LeadClientTagsResponse>) }
    GET "/supplyAnalytics/leadsInfo/{leadUuid}" Confidential CurrentOnly [analytics::lead_info]
        "Tells what happened to one lead, what it earned and how it was tagged, as far as it is there."
        "Analytics" getLeadInfo {
            .about("In the newer form of the feeds, and without waiting for any age. 206 with `warnings` while a rate table of \
                the lead is pending, so that decisions are to come, or where more arrived since the lead came than is read at once.")
            .parameter(ParameterIn::Header, API_VERSION, "The version of the form.", one_of(&[PROMPT_VERSION])).required()
            .answers::<LeadInfoResponse>(200, "All that there is.")
            .answers::<LeadInfoResponse>(206, "What there is so far; `warnings` tell what is to come.")
            .unknown("Lead", "The company has no such lead.")
            .refuses(analytics::no_version(), "The header is missing, or names another version.")
        }
    GET "/" None All [home::show]
        "Shows people where to begin."
        "Documentation" showHome { .answers_page(200, "The page.") }
    GET "/openapi.json" None All [docs::document]
        "Describes what clients call for programs, as an OpenAPI document that clients can be generated from."
        "Documentation" getOpenApi { .answers_as(200, JSON, "What of this document clients call.", typed(Type::Object)) }
    GET "/openapi-all.json" None All [docs::whole]
        "Describes every path in the same way: also what partners report, what browsers open, and the documentation."
        "Documentation" getWholeOpenApi { .answers_as(200, JSON, "This document.", typed(Type::Object)) }
    GET "/docs" None All [docs::show]
        "Shows the interface to people, who can try it there."
        "Documentation" showDocs { .answers_page(200, "The page.") }
    GET "/docs/{file}" None All [docs::file]
        "Answers with what that page is made of."
        "Documentation" getDocsFile {
            .path("file", "The name of a file.", one_of(docs::FILES))
            .answers_as(200, "*/*", "The file.", text())
            .refuses(Failure::not_found_path(), "The page has no such file.")
        }
    GET "/demo" None All [demo::show]
        "Shows a page on which a lead can be tried by hand; a sandbox only has it."
        "Documentation" showDemo { .answers_page(200, "The page.").refuses(Failure::not_found_path(), "This is no sandbox.") }
    GET "/demo/{file}" None All [demo::file]
        "Answers with what that page loads."
        "Documentation" getDemoFile {
            .path("file", "The name of a file.", one_of(demo::FILES))
            .answers_as(200, "*/*", "The file.", text())
            .refuses(Failure::not_found_path(), "The page has no such file, or this is no sandbox.")
        }
    GET "/samples/{partner}/{name}" None All [samples::show]
        "Stands in the place of sample partners: a logo, a picture of a card, the page that an offer leads to."
        "Opened by browsers" showSample {
            .about("A sample partner's file names it as `{baseUrl}/samples/…`; of other partners there is nothing.")
            .path("partner", "The key of a sample partner.", text())
            .path("name", "`logo.svg`; the key of an offer for its page; that with `.svg` for a picture of the card.", text())
            .query("click", "The click that led there, which the page tells.", text())
            .answers_as(200, "*/*", "The page or the picture.", text())
            .refuses(Failure::not_found_path(), "No sample partner names it.")
        }
};

/// The integrations listener, `{integrations_url}`.
pub const INTEGRATIONS: &[ApiRoute] = api_routes! {
    POST "/blocking/leads/rateTables" Publishable All [rate_tables::submit_blocking, v1: v1::rate_tables::submit_blocking]
        "Takes a lead and answers with its rate table once every partner has answered or run out of time."
        "Rate tables" submitLeadAndWait { .with(shared::submit).about("`pendingResponses` of the answer is always empty.") }
    POST "/partnerEvents" Partner CurrentOnly [partner_events::report]
        "Takes in what a partner reports of a lead that it was asked about, or takes it back."
        "Partner events" reportPartnerEvent {
            .about("A report needs `transactionId` and `revoked`, or `transactionId`, `eventType` and one of `clickId`, \
                `offerUuid`, `leadUuid`. Sent twice, it counts once.")
            .body::<PartnerReportFields>(&[("a funded loan", examples::PARTNER_REPORT)])
            .answers::<PartnerEventReceipt>(201, "What became of the report.")
            .with(shared::report)
        }
    POST "/callbacks/{id}" None CurrentOnly [callbacks::take]
        "Takes in what a partner answers to an ask that it was to answer by calling; once, and until the ask has ended."
        "Partner events" answerAsk {
            .about("For partners whose file says that they answer by calling: the address is `callback_url` of their request, \
                the body what the file's `answer` reads.")
            .path("id", "Stands in the address.", uuid())
            .answers_empty(204, "It was taken in.")
            .refuses(Failure::forbidden("The signature is not that of the partner"),
                "It is not signed as the partner's file wants it.")
            .refuses(Failure::unknown("Callback does not exist"), "No ask had this address.")
            .refuses(Failure::gone("The ask has ended"), "It came too late, or a second time.")
            .refuses(
                Failure::malformed(vec![ApiError::new(Malformed, "`answer.offers`: finds nothing")]),
                "It cannot be read as the partner's file has it; a call that can is still waited for.")
        }
    GET "/partnerEvents" Signed CurrentOnly [partner_events::report_by_query]
        "The same as a signed query, for partners that can only fire a URL."
        "Partner events" reportPartnerEventByQuery {
            .query(signature::KEY_ID, "The id of the partner's signing key.", uuid()).required()
            .query("transactionId", "The partner's own id of it.", text()).required()
            .query_of::<PartnerEventType>("eventType", "What happened; left out only when `revoked` is true.")
            .query("clickId", "The click that led to it.", uuid())
            .query("offerUuid", "The offer.", uuid())
            .query("leadUuid", "The lead, where the partner knows no offer.", uuid())
            .query_of::<ProductType>("productType", "The product, then.")
            .query("occurredAt", "When it happened.", schema::text("date-time"))
            .query("amountInCents", "The amount at stake.", typed(Type::Integer))
            .query("payoutInCents", "What the supply partner earns.", typed(Type::Number))
            .query_of::<RejectReason>("rejectReason", "Why it was rejected.")
            .query("revoked", "Takes back what was reported under this transaction id.", typed(Type::Boolean))
            .with(shared::report)
        }
};
