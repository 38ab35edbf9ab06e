//! Attributes of a lead and parameters that have fewer values in v1.

use serde_json::Value;

use super::submission::{CARD, CARD_BENEFITS};
use super::{Object, object};
use offerd_model::{
    ApiError, AttributeFault, CardPurpose, EducationLevel, EmploymentStatus, Enumeration, Leniency,
    LoanPurpose, ProductType, meant,
};
use offerd_web::Request;

/// Maximum faults in an answer, whatever the length of a hostile array.
pub const MAX_FAULTS: usize = 500;

/// An attribute: its section, if any; its name; whether it is an array; and its values in v1.
type Restricted = (&'static str, &'static str, bool, fn() -> Vec<&'static str>);

/// Every attribute with fewer values in v1, by v1's names, in specification order.
const RESTRICTED: [Restricted; 6] = [
    ("", "productTypes", true, || wire(ProductType::V1)),
    ("personalInformation", "educationLevel", false, || wire(EducationLevel::V1)),
    ("loanInformation", "purpose", false, loan_purposes),
    (CARD, CARD_BENEFITS, true, || wire(CardPurpose::V1)),
    ("financialInformation", "employmentStatus", false, || wire(EmploymentStatus::V1)),
    ("educationInformation", "educationLevel", false, || wire(EducationLevel::V1)),
];

/// Reports every value that v1 lacks, and replaces it by a valid one; or by the one that was meant, if the
/// request is lenient.
pub fn replace_faulty(lead: &mut Object, leniency: Leniency) -> (Vec<ApiError>, usize) {
    let mut faults = Faults { leniency, faults: Vec::new(), changed: 0 };
    for restricted in &RESTRICTED {
        let section = match restricted.0 {
            "" => Some(&mut *lead),
            name => object(lead, name),
        };
        if let Some(value) = section.and_then(|section| section.get_mut(restricted.1)) {
            check(*restricted, value, &mut faults);
        }
    }
    (faults.faults, faults.changed)
}

struct Faults {
    leniency: Leniency,
    faults: Vec<ApiError>,
    changed: usize,
}

/// Like [`replace_faulty`], for a parameter, whose values are separated by commas if `many`.
pub fn replace_faulty_parameter(
    request: &mut Request,
    name: &str,
    many: bool,
    known: &[&'static str],
) -> Vec<ApiError> {
    let leniency = request.leniency;
    let Some((_, value)) = request.query.iter_mut().find(|(other, _)| other == name) else {
        return Vec::new();
    };
    let ones: Vec<&str> = if many { value.split(',').collect() } else { vec![value] };
    let Some(other) = ones.iter().find(|one| !known.contains(&as_meant(known, one, leniency))) else {
        let read: Vec<&str> = ones.iter().map(|one| as_meant(known, one, leniency)).collect();
        let changed = read.iter().zip(&ones).filter(|(read, one)| read != one).count();
        *value = read.join(",");
        request.note_changed(changed);
        return Vec::new();
    };
    let fault = AttributeFault::none_of(known, meant(known, other));
    let message = format!("Query parameter {name} {fault}");
    known[0].clone_into(value);
    vec![ApiError { message: Some(message), ..fault.at(name) }]
}

fn as_meant<'t>(known: &[&'static str], text: &'t str, leniency: Leniency) -> &'t str {
    match leniency {
        Leniency::Lenient => meant(known, text).unwrap_or(text),
        Leniency::Usual | Leniency::Strict => text,
    }
}

fn check((section, name, many, known): Restricted, value: &mut Value, faults: &mut Faults) {
    let known = known();
    let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
    match value {
        Value::Array(elements) if many => {
            for (nth, element) in elements.iter_mut().enumerate() {
                check_one(element, &known, || format!("{path}[{nth}]"), faults);
            }
        }
        // The current edition reports that it must be an array.
        _ if many => {}
        Value::Null => {}
        Value::String(text) if text.trim().is_empty() => {}
        one => check_one(one, &known, || path, faults),
    }
}

fn check_one(value: &mut Value, known: &[&'static str], path: impl FnOnce() -> String, found: &mut Faults) {
    let text = value.as_str().unwrap_or_default();
    if known.contains(&text) {
        return;
    }
    let meant = meant(known, text);
    if let Some(meant) = meant
        && found.leniency == Leniency::Lenient
    {
        *value = Value::from(meant);
        found.changed += 1;
        return;
    }
    *value = Value::from(known[0]);
    if found.faults.len() < MAX_FAULTS {
        found.faults.push(AttributeFault::none_of(known, meant).at(path()));
    }
}

pub(super) fn loan_purposes() -> Vec<&'static str> {
    [&[LoanPurpose::V1_AUTO], wire(LoanPurpose::V1).as_slice()].concat()
}

pub(super) fn wire<E: Enumeration>(values: &[E]) -> Vec<&'static str> {
    values.iter().map(|value| value.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_value_that_v1_lacks_is_named_and_replaced() {
        let lead = json!({
            "productTypes": ["loan", "insurance", 7, null],
            "personalInformation": {"educationLevel": "PhD"},
            "loanInformation": {"purpose": "auto_refinance"},
            "creditCardInformation": {"cardBenefits": ["cash_back", "improve_credit"]},
            "financialInformation": {"employmentStatus": "employed_full_time"},
            "educationInformation": {"educationLevel": ["doctorate"]},
        });
        let mut lead = lead.as_object().unwrap().clone();
        let (faults, _) = replace_faulty(&mut lead, Leniency::Usual);
        let paths: Vec<_> = faults.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        let expected = [
            "productTypes[1]",
            "productTypes[2]",
            "productTypes[3]",
            "personalInformation.educationLevel",
            "loanInformation.purpose",
            "creditCardInformation.cardBenefits[0]",
            "financialInformation.employmentStatus",
            "educationInformation.educationLevel",
        ];
        assert_eq!(paths, expected);
        assert_eq!(replace_faulty(&mut lead, Leniency::Usual), (Vec::new(), 0));
    }

    #[test]
    fn for_a_lenient_request_the_value_that_was_meant_is_put_there() {
        let lead =
            json!({"productTypes": ["Loan"], "creditCardInformation": {"cardBenefits": ["Improve Credit"]}});
        let mut lead = lead.as_object().unwrap().clone();
        assert_eq!(replace_faulty(&mut lead, Leniency::Lenient), (Vec::new(), 2));
        let read =
            json!({"productTypes": ["loan"], "creditCardInformation": {"cardBenefits": ["improve_credit"]}});
        assert_eq!(Value::Object(lead), read);
    }

    #[test]
    fn every_value_of_v1_passes_and_what_is_not_given_too() {
        let none = || Faults { leniency: Leniency::Usual, faults: Vec::new(), changed: 0 };
        for restricted in &RESTRICTED {
            for known in (restricted.3)() {
                let value = if restricted.2 { json!([known]) } else { json!(known) };
                let mut kept = value.clone();
                let mut faults = none();
                check(*restricted, &mut kept, &mut faults);
                assert_eq!((faults.faults, kept), (Vec::new(), value));
            }
            for absent in [json!(null), json!(" ")] {
                let mut faults = none();
                check(*restricted, &mut absent.clone(), &mut faults);
                assert_eq!(faults.faults, []);
            }
        }
    }

    #[test]
    fn faults_are_bounded() {
        let lead = json!({"productTypes": vec!["yacht"; 2 * MAX_FAULTS]});
        let (faults, _) = replace_faulty(&mut lead.as_object().unwrap().clone(), Leniency::Usual);
        assert_eq!(faults.len(), MAX_FAULTS);
    }
}
