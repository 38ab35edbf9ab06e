//! Partners: declared in files, compiled to a book that answers in microseconds who fits a lead, and priced.
//!
//! [`declared`] is what a file may say; [`check`] makes [`partner::Seat`]s of it; [`book::Book`] compiles their rules
//! ([`eligibility`]) to bitsets ([`index`]) and keeps their [`catalog`] offers, whose [`template`] is prepared at load and
//! whose [`quote`] is made per lead; [`offer_json`] writes both as clients see them; [`mod@http`] asks partners that live elsewhere, and [`case`] runs the files that say what
//! all that should come to. [`mod@base_url`] is how a file names the daemon itself. [`approval`] estimates from the rules how likely they
//! are to lend, [`ranking`] makes scores of what is known of offers. [`limits`] say when and how often a seat is asked. [`diff`] lists what is different in another book.

pub mod approval;
mod band;
pub mod base_url;
pub mod book;
pub mod case;
#[cfg(test)]
#[path = "../../tests/it/kit/cases.rs"]
mod cases;
pub mod catalog;
pub mod check;
pub mod declared;
pub mod diff;
pub mod displaced;
mod draw;
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
pub mod partner;
#[cfg(test)]
#[path = "../../tests/it/kit/partners.rs"]
#[allow(dead_code)] // the black-box tests use the rest
mod partner_files;
pub mod quote;
pub mod ranking;
pub mod said;
mod state_zones;
pub mod template;
mod truth;
pub mod zip_state;
pub mod zipcode_prefixes;

pub use book::{Book, Fit};
pub use draw::drawn;
pub use facts::Facts;
pub use fingerprint::Fingerprint;
pub use identity::Identity;
pub use limits::{Exclusive, Limits};
pub use offerd_base::declaration::is_key;
pub use partner::{Seat, SeatTemplate};
pub use quote::{Quote, Terms};
pub use template::Template;
