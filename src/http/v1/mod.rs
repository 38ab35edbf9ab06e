//! The v1 edition: only what it says differently. A v1 request is put into the current edition's words, answered by its
//! handler, and the answer is put into the words of v1; so both editions tell the same facts.
//!
//! | what | current | v1 | where |
//! |---|---|---|---|
//! | status of a submit | 200 | 201 | [`rate_tables`] |
//! | status of a malformed lead | 422 | 400 | [`rate_tables`] |
//! | what a card is wanted for | `cardPurposes` | `cardBenefits` | [`submission`], [`leads`] |
//! | kind of bank account | `bankAccountType` (both are read) | `backAccountType` | [`leads`] |
//! | a lead without `productTypes` | asks for all | asks for v1's four, without second look | [`submission`] |
//! | `specialOffers` | those of types that v1 lacks | none | [`rate_tables`] |
//! | `partnerPageUrl`, `embedUrl` | the page of a rate table | none | [`rate_tables`] |
//! | `pendingResponses` | name all product types | name v1's | [`rate_tables`] |
//! | values of a lead | all | fewer | [`values`], [`leads`] |
//! | band of a fair credit score | from 620 | from 600 | [`bands`] |
//! | annual fee of a card | `minAnnualFee`, `maxAnnualFee` | `annualFee` | [`cards`] |
//! | rates of a card that are not known | left out | a fallback, or -1 | [`cards`] |
//! | unit of a term | may be `open` | `month` then | [`terms`] |
//! | values of a preview's parameters | all | fewer | [`values`], [`offer_previews`] |
//! | status of a preview's faults | 422 | 400 | [`offer_previews`] |
//! | fields and values that the specification lacks | there | left out, with the offers of such a kind | [`newer`] |
//! | product type of an event | all | fewer, else left out | [`analytics`] |
//!
//! What the specification does not mark as different is the same: product sub-types, and `pendingResponses` beside the
//! `pendingOriginators` that v1 clients go by. [`offerd_web`] answers 415 where a path came after v1.

pub mod analytics;
pub mod cards;
pub mod leads;
pub mod newer;
pub mod offer_previews;
pub mod rate_tables;
pub mod submission;
pub mod terms;
pub mod values;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use offerd_model::{CreditBands, Enumeration};
use offerd_web::{Edition, Failure, Reply, our_fault};

/// An object of JSON.
type Object = Map<String, Value>;

/// What tells the entity tags of v1 from those of the current edition.
const TAG: &str = "-v1";

/// By which bands an edition reads a credit score.
pub fn bands(edition: Edition) -> CreditBands {
    match edition {
        Edition::Current => CreditBands::Current,
        Edition::V1 => CreditBands::V1,
    }
}

/// An object within another.
fn object<'o>(of: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    of.get_mut(name).and_then(Value::as_object_mut)
}

/// An array within an object.
fn list<'o>(of: &'o mut Object, name: &str) -> Option<&'o mut Vec<Value>> {
    of.get_mut(name).and_then(Value::as_array_mut)
}

/// The objects of an array within an object.
fn objects<'o>(of: &'o mut Object, name: &str) -> impl Iterator<Item = &'o mut Object> {
    list(of, name).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// A value of an enumeration; `None` where there is none, or another.
fn known<E: Enumeration>(value: Option<&Value>) -> Option<E> {
    value.and_then(Value::as_str).and_then(E::from_wire)
}

/// An answer of the current edition in the words of v1; `A` is an object or a list of them.
fn reworded<A: DeserializeOwned + Serialize>(
    reply: Reply,
    reword: impl FnOnce(&mut A),
) -> Result<Reply, Failure> {
    reply.reworded(TAG, |body| {
        let fault = "an answer of ours cannot be put into the words of v1";
        let mut answer: A = serde_json::from_slice(body).map_err(our_fault(fault))?;
        reword(&mut answer);
        serde_json::to_vec(&answer).map_err(our_fault(fault))
    })
}
