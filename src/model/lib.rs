//! The nouns of the specification, in its order and words.
//!
//! `model` does no I/O and reads no clock. It depends on utoipa, since a schema belongs to its noun's code.
//!
//! Each list is written once, in a macro call: `enumeration!` for closed sets of values, `section!` for
//! request bodies, `record!` for answers, `text_format!` for checked text, `fixed_point!` for exact decimals.
//!
//! | Specification | Rust | File |
//! |---|---|---|
//! | Lead (input: LeadCreateData) | [`Lead`] | `lead.rs` |
//! | Lead… and other sections | [`LeadPersonalInformation`] … [`LeadSessionInformation`] | `sections/` |
//! | ClientTags | [`ClientTags`] | `free_form.rs` |
//! | Lead (output), its `status` | [`LeadView`], [`LeadStatus`] | `lead_view.rs` |
//! | LeadAction | [`LeadAction`] | `lead_view.rs` |
//! | Objects without fixed fields | [`JsonObject`] | `free_form.rs` |
//! | Merging of leads | [`Lead::merged`] | `merge.rs` |
//! | RateTable, PendingResponse | [`RateTable`], [`PendingResponse`] | `rate_table.rs` |
//! | Offer common fields | [`Offer`] | `offer.rs` |
//! | Partner | [`Partner`] | `partner.rs` |
//! | Originator, OriginatorImage | [`Originator`], [`OriginatorImage`] | `loan_offer.rs` |
//! | CreditCardOffer, details | [`CreditCardOffer`], [`CreditCardOfferDetails`] | `credit_card_offer.rs` |
//! | LoanOffer | [`LoanOffer`] | `loan_offer.rs` |
//! | MortgageOffer, its details | [`MortgageOffer`], [`MortgageOfferDetails`] | `mortgage_offer.rs` |
//! | SavingsOffer, its details | [`SavingsOffer`], [`SavingsOfferDetails`] | `savings_offer.rs` |
//! | SpecialOffer | [`SpecialOffer`] | `special_offer.rs` |
//! | Details of a life insurance policy | [`LifeInsuranceOfferDetails`] | `special_offer.rs` |
//! | Analytics, wrappers | [`LeadEvent`], [`LeadPayout`], [`LeadClientTag`], [`FeedPage`] | `analytics.rs` |
//! | Why a lead has its offers (ours) | [`LeadExplanation`] and its parts | `lead_explanation.rs` |
//! | Partners' reports | [`PartnerReport`], [`PartnerEvent`], [`PartnerEventReceipt`] | `partner_event.rs` |
//! | UI | [`SessionInitNew`], [`SessionInit`], [`OfferDisplayNew`], [`OfferDisplay`] | `ui_event.rs` |
//! | FeaturedFinancialInstitution | [`FeaturedFinancialInstitution`] | `look_ups.rs` |
//! | VehicleDetails (newer editions) | [`VehicleDetails`] | `look_ups.rs` |
//! | PrefillResponse (newer editions) | [`PrefillResponse`] | `prefill.rs` |
//! | LoanReport (newer editions) | [`LoanReport`], [`LoanReportCreateData`] | `loan_report.rs` |
//! | Enumerations | [`ProductType`] … [`TermUnit`] | `enums/` |
//! | CardBenefit | [`CardBenefit`] | `credit_card_offer.rs` |
//! | Smaller sets of v1 | `V1` and `nearest_in_v1` of each set | `v1_values.rs` |
//! | Credit rating and score | [`CreditBands`] | `credit_bands.rs` |
//! | ApiError | [`ApiError`] | `api_error.rs` |
//! | `{base_url}`, and addresses below it | [`BaseUrl`] | `base_url.rs` |
//! | Schemas of all these | `ToSchema` of each | by derive and macro; `schema.rs` |
//! | Numbers and times | [`Money`], [`Percent`], [`Timestamp`] | `fixed_point.rs`, `timestamp.rs` |
//! | Plausible values | `Bounds`, one row for each | `bounds.rs` |
//! | What is read as meant | [`Leniency`] | `leniency.rs` |
//! | Text formats | [`Phone`], [`Zipcode`], [`Ssn`], [`Email`], [`IpAddress`], [`OpeId`], [`TrustedFormUrl`], [`JornayaLeadId`] | `text_format.rs` |
//!
//! [`Attribute`] shows every leaf of a lead as data, for the rules of partners.

mod analytics;
mod api_error;
mod attribute;
mod attribute_value;
mod base_url;
mod bounds;
mod credit_bands;
mod credit_card_offer;
mod document;
mod enumeration;
mod enums;
mod fault;
mod fixed_point;
mod free_form;
mod input;
mod input_kinds;
mod known_keys;
mod lead;
mod lead_explanation;
mod lead_view;
mod leniency;
mod loan_offer;
mod loan_report;
mod look_ups;
mod merge;
mod mortgage_offer;
mod offer;
mod partner;
mod partner_event;
pub mod plain_number;
mod plain_text;
mod prefill;
mod rate_table;
mod record;
mod savings_offer;
mod scalar;
pub mod schema;
mod section;
mod sections;
mod special_offer;
mod spoilt;
mod suppression_kind;
mod text_format;
mod timestamp;
mod token_kind;
mod ui_event;
mod v1_values;
mod viewer;

pub use analytics::*;
pub use api_error::{ApiError, ErrorType};
pub use attribute::Attribute;
pub use attribute_value::{AttributeKind, AttributeValue};
pub use base_url::BaseUrl;
pub use credit_bands::CreditBands;
pub use credit_card_offer::{CardBenefit, CreditCardOffer, CreditCardOfferDetails, PreviewDetail};
pub use document::parse as parse_document;
pub use enumeration::Enumeration;
pub use enums::*;
pub use fault::{Arrival, AttributeFault, FaultKind, one_of};
pub use fixed_point::{Money, Percent};
pub use free_form::{ClientTags, JsonObject};
pub use input::{UnreadableBody, given_twice};
pub use known_keys::{KnownKeys, UnknownKey};
pub use lead::Lead;
pub use lead_explanation::*;
pub use lead_view::{LeadAction, LeadStatus, LeadView};
pub use leniency::{Leniency, meant, parse as parse_value};
pub use loan_offer::{LoanOffer, Originator, OriginatorImage};
pub use loan_report::{FinancialInstitutionLoanReport, LoanProbability, LoanReport, LoanReportCreateData};
pub use look_ups::{FeaturedFinancialInstitution, VehicleDetails};
pub use mortgage_offer::{MortgageOffer, MortgageOfferDetails};
pub use offer::Offer;
pub use partner::Partner;
pub use partner_event::*;
pub use plain_text::{as_typed, name_as_it_looks, plain_text, trimmed};
pub use prefill::PrefillResponse;
pub use rate_table::{PendingResponse, RateTable};
pub use savings_offer::{IncentiveDetails, SavingsOffer, SavingsOfferDetails};
pub use schema::Components;
pub use sections::*;
pub use special_offer::{LifeInsuranceOfferDetails, SpecialOffer};
pub use suppression_kind::{SuppressionDigest, SuppressionKind, has_unreadable_name, name_in_lists};
pub use text_format::{Email, IpAddress, JornayaLeadId, OpeId, Phone, Ssn, TrustedFormUrl, Zipcode};
pub use timestamp::Timestamp;
pub use token_kind::{InDoubt, TokenKind};
pub use ui_event::{OfferDisplay, OfferDisplayNew, SessionInit, SessionInitNew};
pub use viewer::Viewer;
