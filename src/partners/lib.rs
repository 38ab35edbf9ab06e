//! Partners: declared in files, compiled into an index that matches a lead in microseconds, and priced.
//!
//! - Files: [`declared`] is their shape, [`check`] turns them into [`seat::Seat`]s, [`diff`] compares two
//!   books.
//! - Matching: [`book::Book`] compiles the rules ([`eligibility`]) to bitsets ([`index`]); [`limits`] decide
//!   when and how often a seat is asked.
//! - Offers: each [`catalog`] offer has a [`template`], rendered at load, and a [`quote`] per lead;
//!   [`offer_json`] renders both for clients. [`ranking`] scores them.
//! - Remote partners: [`mod@http`] runs their mappings, [`case`] tests these against files. [`mod@base_url`]
//!   resolves `{baseUrl}` in partner files.
//! - Estimates: [`approval`] estimates from the rules alone how likely partners are to lend.

pub mod approval;
pub mod base_url;
pub mod book;
pub mod case;
#[cfg(test)]
#[path = "../../tests/it/kit/cases.rs"]
mod cases;
pub mod catalog;
pub mod check;
pub mod declared;
pub mod declared_values;
pub mod diff;
pub mod eligibility;
pub mod facts;
pub mod finance;
pub mod fingerprint;
pub mod http;
pub mod identity;
pub mod index;
mod json_object;
pub mod limits;
pub mod listing;
pub mod offer_json;
#[cfg(test)]
#[path = "../../tests/it/kit/partners.rs"]
#[allow(dead_code)] // the black-box tests use the rest
mod partner_files;
pub mod quote;
pub mod ranking;
pub mod seat;
mod state_zones;
pub mod template;
mod truth;
pub mod zip_state;
pub mod zipcode_prefixes;

pub use book::{Book, Fit};
pub use facts::Facts;
pub use fingerprint::Fingerprint;
pub use identity::PartnerIdentity;
pub use limits::{Exclusive, Limits};
pub use offerd_base::declaration::{KEY_CHARS, is_key};
pub use quote::{Quote, QuoteTerms};
pub use seat::{RecordedSeat, Seat, displaced, drawn};
pub use template::Template;
