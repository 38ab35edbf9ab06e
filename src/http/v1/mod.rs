//! The v1 edition: only what differs. The current edition serves the translated requests.
//!
//! | what | current | v1 | where |
//! |---|---|---|---|
//! | status of a submit | 200 | 201 | [`rate_tables`] |
//! | status of a malformed lead | 422 | 400 | [`rate_tables`] |
//! | purposes of a card | `cardPurposes` | `cardBenefits` | [`submission`], [`leads`] |
//! | kind of bank account | `bankAccountType` (both are read) | `backAccountType` | [`leads`] |
//! | no `productTypes` | all are requested | v1's four are, without second look | [`submission`] |
//! | `specialOffers` | those of types that v1 lacks | none | [`rate_tables`] |
//! | `partnerPageUrl`, `embedUrl` | the offer page of a rate table | none | [`rate_tables`] |
//! | `pendingResponses` | name all product types | name v1's | [`rate_tables`] |
//! | values of a lead | all | fewer | [`values`], [`leads`] |
//! | band of a fair credit score | from 620 | from 600 | [`bands`] |
//! | annual fee of a card | `minAnnualFee`, `maxAnnualFee` | `annualFee` | [`cards`] |
//! | unknown rates of a card | left out | a fallback, or -1 | [`cards`] |
//! | unit of a term | may be `open` | then `month` | [`terms`] |
//! | values of a preview's parameters | all | fewer | [`values`], [`offer_previews`] |
//! | status of a preview's faults | 422 | 400 | [`offer_previews`] |
//! | fields and values beyond the specification | present | left out, with such offers | [`newer`] |
//! | product type of an event | all | fewer, else left out | [`analytics`] |
//!
//! Everything else is the same. [`offerd_web`] answers 415 for a path that is newer than v1.

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
use offerd_web::{Answer, Edition, Reply, our_fault};

type Object = Map<String, Value>;

const TAG: &str = "-v1";

/// The bands by which an edition reads a credit score.
pub fn bands(edition: Edition) -> CreditBands {
    match edition {
        Edition::Current => CreditBands::Current,
        Edition::V1 => CreditBands::V1,
    }
}

fn object<'o>(of: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    of.get_mut(name).and_then(Value::as_object_mut)
}

fn list<'o>(of: &'o mut Object, name: &str) -> Option<&'o mut Vec<Value>> {
    of.get_mut(name).and_then(Value::as_array_mut)
}

fn objects<'o>(of: &'o mut Object, name: &str) -> impl Iterator<Item = &'o mut Object> {
    list(of, name).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn known<E: Enumeration>(value: Option<&Value>) -> Option<E> {
    value.and_then(Value::as_str).and_then(E::from_wire)
}

/// Translates an answer of the current edition into v1; `A` is an object or a list of objects.
fn reworded<A: DeserializeOwned + Serialize>(reply: Reply, reword: impl FnOnce(&mut A)) -> Answer {
    reply.reworded(TAG, |body| {
        let fault = "an answer of ours cannot be put into the words of v1";
        let mut answer: A = serde_json::from_slice(body).map_err(our_fault(fault))?;
        reword(&mut answer);
        serde_json::to_vec(&answer).map_err(our_fault(fault))
    })
}
