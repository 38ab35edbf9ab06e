//! Remote partners: an operator writes mappings from leads to requests, and from answers to offers.
//!
//! # The language
//! Mappings are written in Jinja, by the crate `minijinja`: every leaf of a request and every figure of an
//! answer is an expression (`lead.loanInformation.loanAmount * 100`), and an XML body is a template. Lenders'
//! APIs need arithmetic, dates, conditionals, defaults, and bodies other than JSON. The language is bounded:
//! each run has limited `FUEL` and text size, and cannot recurse or reach files, the environment or the
//! clock. Its cost is acceptable. `cargo bench --bench engine` compares it with reading a lead of 2.2 KB (6.0
//! µs): a request of the sample partners takes 0.9 times that in XML, 1.6 times as a form and 2.5 times in
//! JSON; the quotes of an answer with six offers take 5 to 7 times that.
//!
//! # The path of a call
//! [`declared`] is the shape of `[products.<type>.http]`. [`check`] compiles it to an [`HttpPartner`], or
//! reports every fault with file, line and key: syntax, unknown attributes of the lead, unknown filters.
//! [`HttpPartner::request`] builds a request from a lead, [`document`] parses the body of an answer,
//! [`HttpPartner::read_answer`] turns it into [`Answered`]. All three are pure: sending and deadlines are up
//! to the caller. Partners that need several calls or polling have steps: an [`AskProgress`] is their
//! progress, and [`HttpPartner::next_after`] decides what follows an answer.
//!
//! A partner answers with offers of its own catalog: the answer names one by key (and term) and gives its
//! figures. Texts, payout and legal disclosures are declared in the file, rendered and stored as for any
//! catalog offer. If the file maps them, the partner may answer these as well, or make offers without a
//! catalog (`answer.own`); its texts are then stored with the answer.

pub mod absent;
pub mod answer;
mod answer_mapping;
pub mod ask_progress;
pub mod auth;
mod bounds;
pub mod check;
mod client_auth;
mod comparison;
mod conditions;
pub mod declared;
pub mod document;
pub mod expression;
mod figures;
mod filters;
mod fixed;
pub mod http_partner;
mod json_fault;
mod jws;
mod mapping_error;
pub mod mapping_lines;
mod mappings;
mod moment;
mod names;
mod parsed;
mod plain;
pub mod request;
pub mod secret;
mod signing;
mod specimen;
mod spellings;
mod step;
mod truth;
pub mod undeclared;
pub mod withheld;
mod work;
mod xml;

pub use answer::{AnswerReading, Answered, Received};
pub use ask_progress::{AskProgress, Awaited, NextCall, StoredAskProgress};
pub use declared::Post;
pub use http_partner::{AskContext, HttpPartner, MappingInput};
pub use mapping_error::{MappingError, MappingResult};
pub use request::HttpRequest;
pub use secret::Secrets;

#[cfg(test)]
mod tests;
