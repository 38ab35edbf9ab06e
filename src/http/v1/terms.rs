//! Units of terms. v1 has no `open`; it becomes the nearest unit, and the length stays.

use serde_json::Value;

use super::{Object, known};
use offerd_model::TermUnit;

const UNITS: [&str; 4] = [
    "termUnit",
    "purchaseIntroAprTermUnit",
    "cashAdvanceIntroAprTermUnit",
    "balanceTransferIntroAprTermUnit",
];

/// Translates every unit into v1.
pub fn reword(offer: &mut Object) {
    for name in UNITS {
        let Some(unit) = offer.get_mut(name) else { continue };
        if let Some(known) = known::<TermUnit>(Some(unit)) {
            *unit = Value::from(known.nearest_in_v1().as_str());
        }
    }
}
