//! Partners that live elsewhere: what is sent to them, and what their answers mean, written by an operator as mappings.
//!
//! # The language
//! Mappings are written in Jinja, by the crate `minijinja`: every leaf of a request, and every figure of an answer, is an
//! expression (`lead.loanInformation.loanAmount * 100`), and a body of XML is a template. Chosen because lenders' APIs need
//! arithmetic, dates, conditionals and defaults, and bodies that are not JSON; because it is bounded (each run has its
//! `FUEL` and makes no long texts, and there is no recursion, no file, no environment and no clock to reach); and because
//! of its cost.
//! `cargo bench --bench engine` shows it beside reading a lead of 2.2 KB (6.0 µs): a request of the sample partners costs
//! 0.9 times that in XML, 1.6 times as a form and 2.5 times in JSON; the quotes of an answer with six offers cost 5 to 7
//! times that.
//!
//! # The way of a call
//! [`declared`] is what `[products.<type>.http]` may say; [`check`] compiles it to an [`HttpSource`], or gives every fault
//! with file, line and key: syntax, unknown attributes of the lead, unknown filters. [`HttpSource::request`] makes a request
//! of a lead, [`document`] reads the body of an answer, [`HttpSource::answer`] makes [`Answered`] of it. All three are
//! pure: who sends the request, and how long that may take, is the caller's. Partners that want several calls, or to be asked until
//! they are done, have steps: an [`Exchange`] is how far they are, and [`HttpSource::take`] says what an answer leads to.
//!
//! A partner answers with offers of its own catalog: an answer names one by its key (and term) and gives the figures; text,
//! payout and what the law wants to be shown stand in the file, prepared and stored as those of any catalog offer. Where the file
//! maps them the partner says these too, or offers what no catalog has (`answer.own`): then its words are kept with its answer.

pub mod absent;
pub mod answer;
mod answer_mapping;
pub mod auth;
mod bounds;
pub mod check;
mod conditions;
pub mod declared;
pub mod document;
pub mod exchange;
pub mod expression;
mod figures;
mod filters;
pub mod given;
mod jws;
mod mapping_error;
mod mappings;
mod moment;
mod names;
pub mod places;
pub mod request;
pub mod secret;
mod signing;
pub mod source;
mod specimen;
mod step;
mod truth;
pub mod undeclared;
pub mod withheld;
mod xml;

pub use answer::{Answered, Reading, Received};
pub use declared::Post;
pub use exchange::{Awaited, Exchange, Next, Progress};
pub use given::{Asked, Given};
pub use mapping_error::MappingError;
pub use request::HttpRequest;
pub use secret::Secrets;
pub use source::HttpSource;

#[cfg(test)]
mod tests;
