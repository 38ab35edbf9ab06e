//! `GET /leads/{uuid}`

use serde_json::Value;

use super::submission::{CARD, CARD_BENEFITS, CARD_PURPOSES};
use super::{Object, newer, object};
use crate::{ApiState, current};
use offerd_model::{CardPurpose, EducationLevel, EmploymentStatus, LoanPurpose};
use offerd_web::{Answer, Context};

/// Shows a lead of the caller's company, whichever edition submitted it.
pub async fn show(context: Context<ApiState>) -> Answer {
    super::reworded(current::leads::show_with(&context, false)?, reword)
}

/// Leaves out what is newer than v1; a value that v1 lacks becomes the nearest one, or is left out.
fn reword(lead: &mut Object) {
    newer::leave_out_of_lead(lead);
    if let Some(finances) = object(lead, "financialInformation") {
        rename(finances, "bankAccountType", "backAccountType");
        replace(finances, "employmentStatus", |status| {
            EmploymentStatus::from_wire(status).map(|status| status.nearest_in_v1().as_str())
        });
    }
    if let Some(loan) = object(lead, "loanInformation") {
        replace(loan, "purpose", |purpose| LoanPurpose::from_wire(purpose).map(LoanPurpose::as_v1_str));
    }
    for section in ["personalInformation", "educationInformation"] {
        if let Some(section) = object(lead, section) {
            replace(section, "educationLevel", |level| Some(nearest_level(level)));
        }
    }
    if let Some(card) = object(lead, CARD) {
        rename(card, CARD_PURPOSES, CARD_BENEFITS);
        nearest_purposes(card);
    }
}

fn rename(section: &mut Object, current: &str, v1: &str) {
    if let Some(value) = section.remove(current) {
        section.insert(v1.to_owned(), value);
    }
}

fn replace(section: &mut Object, name: &str, in_v1: impl Fn(&str) -> Option<&'static str>) {
    let Some(value) = section.get_mut(name) else { return };
    if let Some(text) = value.as_str().and_then(in_v1) {
        *value = Value::from(text);
    }
}

fn nearest_level(level: &str) -> &'static str {
    EducationLevel::from_wire(level).unwrap_or(EducationLevel::Other).nearest_in_v1().as_str()
}

fn nearest_purposes(card: &mut Object) {
    let Some(Value::Array(purposes)) = card.get_mut(CARD_BENEFITS) else { return };
    let known = purposes.iter().filter_map(Value::as_str).filter_map(CardPurpose::from_wire);
    let mut nearest = Vec::new();
    for purpose in known.filter_map(CardPurpose::nearest_in_v1) {
        if !nearest.contains(&purpose) {
            nearest.push(purpose);
        }
    }
    *purposes = nearest.into_iter().map(|purpose| Value::from(purpose.as_str())).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lead_of_the_current_edition_is_shown_in_values_of_v1() {
        let mut lead = json!({
            "uuid": "u", "status": "initialized",
            "personalInformation": {"educationLevel": "PhD", "city": "Boise"},
            "educationInformation": {"educationLevel": "doctorate"},
            "financialInformation": {"bankAccountType": "checking", "employmentStatus": "employed_part_time"},
            "loanInformation": {"purpose": "auto_refinance", "loanAmount": 9000},
            "creditCardInformation": {
                "allowAnnualFee": true,
                "cardPurposes": ["cash_back", "low_interest", "earning_rewards", "new_to_credit"],
            },
        });
        reword(lead.as_object_mut().unwrap());
        assert_eq!(
            lead,
            json!({
                "uuid": "u", "status": "initialized",
                "personalInformation": {"educationLevel": "other", "city": "Boise"},
                "educationInformation": {"educationLevel": "other_grad_degree"},
                "financialInformation": {"backAccountType": "checking", "employmentStatus": "employed"},
                "loanInformation": {"purpose": "auto", "loanAmount": 9000},
                "creditCardInformation": {
                    "allowAnnualFee": true, "cardBenefits": ["earning_rewards", "improve_credit"],
                },
            })
        );
    }
}
