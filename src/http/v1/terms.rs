//! The units of terms. `open` has no place in v1 and is shown as the nearest unit, the length staying as it is.

use serde_json::Value;

use super::{Object, known};
use offerd_model::TermUnit;

/// The attributes of an offer that hold a unit.
const UNITS: [&str; 4] = [
    "termUnit",
    "purchaseIntroAprTermUnit",
    "cashAdvanceIntroAprTermUnit",
    "balanceTransferIntroAprTermUnit",
];

/// Writes every unit as v1 has it.
pub fn reword(offer: &mut Object) {
    for name in UNITS {
        let Some(unit) = offer.get_mut(name) else { continue };
        if let Some(known) = known::<TermUnit>(Some(unit)) {
            *unit = Value::from(known.nearest_in_v1().as_str());
        }
    }
}
