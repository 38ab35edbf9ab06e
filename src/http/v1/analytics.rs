//! `GET /supplyAnalytics/leadEvents`. The other feeds have nothing that v1 lacks.

use super::{Object, known, objects};
use crate::{ApiState, current};
use offerd_model::ProductType;
use offerd_web::{Answer, Context};

/// Shows a page of the events of the company's leads.
pub async fn lead_events(context: Context<ApiState>) -> Answer {
    super::reworded(current::analytics::lead_events(context).await?, reword)
}

/// Removes product types that v1 lacks; none of v1's is a near match.
fn reword(page: &mut Object) {
    for event in objects(page, "data") {
        let product_type = known::<ProductType>(event.get("productType"));
        if product_type.is_some_and(|product_type| !ProductType::V1.contains(&product_type)) {
            event.remove("productType");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_product_type_that_v1_lacks_is_left_out() {
        for product_type in ProductType::ALL {
            let event = json!({"id": "e", "eventType": "apiApproved", "productType": product_type.as_str()});
            let mut page =
                json!({"nextUrl": "u", "data": [event, {"id": "f"}], "shouldContinuePolling": true});
            let mut expected = page.clone();
            if !ProductType::V1.contains(product_type) {
                expected["data"][0].as_object_mut().unwrap().remove("productType");
            }
            reword(page.as_object_mut().unwrap());
            assert_eq!(page, expected);
        }
    }
}
