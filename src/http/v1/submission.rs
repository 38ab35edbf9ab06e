//! Translation of submitted leads, and of their refusals.

use serde_json::Value;

use super::{Object, object, values};
use crate::prelude::*;
use offerd_model::{
    Arrival, Lead, Leniency, LoanPurpose, ProductType, UnreadableBody, given_twice, parse_document,
};

pub(super) const CARD: &str = "creditCardInformation";
const PRODUCT_TYPES: &str = "productTypes";
pub(super) const CARD_BENEFITS: &str = "cardBenefits";
pub(super) const CARD_PURPOSES: &str = "cardPurposes";

/// Translates a lead into the current edition, with the number of values that were read as meant; or answers
/// 400 with every fault of both editions.
pub fn translate(body: &[u8], arrival: Arrival, leniency: Leniency) -> Result<(Bytes, usize), Failure> {
    // The current edition refuses a body that is not an object or cannot be parsed.
    let Some(Value::Object(mut lead)) = document(body) else { return Ok((Bytes::copy_from_slice(body), 0)) };

    let mut faults = given_twice::<Lead>(body);
    let (lacking, changed) = values::replace_faulty(&mut lead, leniency);
    faults.extend(lacking);
    reword(&mut lead);
    let translated = serde_json::to_vec(&lead).map_err(|_| Failure::internal())?;
    if faults.is_empty() {
        return Ok((translated.into(), changed));
    }
    let read = Lead::read_leniently(arrival, leniency, &translated);
    if let Err(UnreadableBody::Faults(others)) = read {
        faults.extend(others);
        faults.truncate(values::MAX_FAULTS);
    }
    Err(refused(Failure::invalid(faults)))
}

/// The parsed body, unless no edition can read it. The depth and size of unknown keys do not matter.
fn document(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok().or_else(|| match Lead::read(body) {
        Err(UnreadableBody::NotJson(_)) => None,
        Ok(_) | Err(UnreadableBody::Faults(_)) => parse_document(body).ok(),
    })
}

/// Translates a refusal of the current edition into v1: 400 for a malformed lead, and v1's names.
pub fn refused(mut failure: Failure) -> Failure {
    if failure.status != StatusCode::UNPROCESSABLE_ENTITY {
        return failure;
    }
    failure.errors.iter_mut().for_each(rename_attribute);
    failure.with_status(StatusCode::BAD_REQUEST)
}

fn reword(lead: &mut Object) {
    if lead.get(PRODUCT_TYPES).is_none_or(names_none) {
        lead.insert(PRODUCT_TYPES.to_owned(), values::wire(ProductType::V1).into());
    }
    if let Some(card) = object(lead, CARD) {
        card.remove(CARD_PURPOSES);
        if let Some(benefits) = card.remove(CARD_BENEFITS) {
            card.insert(CARD_PURPOSES.to_owned(), benefits);
        }
    }
    let purpose = object(lead, "loanInformation").and_then(|loan| loan.get_mut("purpose"));
    if let Some(purpose) = purpose.filter(|purpose| *purpose == LoanPurpose::V1_AUTO) {
        *purpose = Value::from(LoanPurpose::AutoPurchase.as_str());
    }
}

/// Whether no product type is named: the current edition takes that as all types, v1 as all of its own.
fn names_none(product_types: &Value) -> bool {
    match product_types {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(types) => types.is_empty(),
        _ => false,
    }
}

fn rename_attribute(error: &mut ApiError) {
    let current = format!("{CARD}.{CARD_PURPOSES}");
    if let Some(attribute) = &mut error.attribute
        && let Some(rest) = attribute.strip_prefix(&current)
    {
        *attribute = format!("{CARD}.{CARD_BENEFITS}{rest}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn translated(lead: &Value) -> Value {
        serde_json::from_slice(
            &translate(lead.to_string().as_bytes(), Arrival::ANY, Leniency::Usual).unwrap().0,
        )
        .unwrap()
    }

    #[test]
    fn a_lead_is_put_into_the_current_words() {
        let lead = json!({
            "productTypes": ["loan"], "unknown": [1, {"purpose": "auto"}],
            "loanInformation": {"purpose": "auto", "loanAmount": 10000.0},
            "creditCardInformation": {"cardBenefits": ["improve_credit"], "cardPurposes": ["nothing"]},
        });
        let current = json!({
            "productTypes": ["loan"], "unknown": [1, {"purpose": "auto"}],
            "loanInformation": {"purpose": "auto_purchase", "loanAmount": 10000.0},
            "creditCardInformation": {"cardPurposes": ["improve_credit"]},
        });
        assert_eq!(translated(&lead), current);
        for same in [
            json!([1]),
            json!({"productTypes": ["loan"], "creditCardInformation": null, "loanInformation": 7}),
        ] {
            assert_eq!(translated(&same), same);
        }
    }

    #[test]
    fn a_lead_that_names_no_product_type_asks_for_those_of_v1() {
        for none in [
            json!({}),
            json!({"productTypes": null}),
            json!({"productTypes": " "}),
            json!({"productTypes": []}),
        ] {
            let expected = json!({"productTypes": ["credit_card", "loan", "mortgage", "savings"]});
            assert_eq!(translated(&none), expected, "{none}");
        }
        assert_eq!(translated(&json!({"productTypes": 7})), json!({"productTypes": 7}));
    }

    #[test]
    fn faults_of_both_editions_stand_in_one_answer_by_v1s_names() {
        let lead = json!({
            "productTypes": ["loan", "insurance"],
            "personalInformation": {"dateOfBirth": "1.2.1980"},
            "creditCardInformation": {"cardBenefits": "improve_credit"},
        });
        let failure = translate(lead.to_string().as_bytes(), Arrival::ANY, Leniency::Usual).unwrap_err();
        let attributes: Vec<_> =
            failure.errors.iter().filter_map(|error| error.attribute.as_deref()).collect();
        let expected =
            ["productTypes[1]", "personalInformation.dateOfBirth", "creditCardInformation.cardBenefits"];
        assert_eq!((failure.status, attributes), (StatusCode::BAD_REQUEST, expected.to_vec()));
    }

    #[test]
    fn what_stands_under_unknown_keys_does_not_matter() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let lead = format!(r#"{{"unknown":{deep},"huge":1e400,"productTypes":["loan"]}}"#);
        let translated = translate(lead.as_bytes(), Arrival::ANY, Leniency::Usual).unwrap().0;
        assert!(Lead::read(&translated).is_ok_and(|lead| lead.product_types.is_some()));
        let huge =
            translate(br#"{"mortgageInformation":{"monthlyHoaFee":1e400}}"#, Arrival::ANY, Leniency::Usual)
                .unwrap()
                .0;
        assert!(
            matches!(Lead::read(&huge), Err(UnreadableBody::Faults(_))),
            "however it is spelt, it is too much"
        );
        for refused in ["{", r#"{"monthlyHoaFee":1e400"#] {
            let as_it_was = translate(refused.as_bytes(), Arrival::ANY, Leniency::Usual).unwrap().0;
            assert_eq!(as_it_was, refused.as_bytes(), "the current edition says what is wrong");
            assert!(matches!(Lead::read(&as_it_was), Err(UnreadableBody::NotJson(_))), "{refused}");
        }
    }
}
