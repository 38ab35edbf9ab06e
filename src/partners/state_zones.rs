//! The westernmost time zone of each state, where a day begins last.

use chrono_tz::America::{Adak, Chicago, Denver, Los_Angeles, New_York, Phoenix, Puerto_Rico, St_Thomas};
use chrono_tz::Pacific::Honolulu;
use chrono_tz::Tz;

use offerd_model::State::{self, *};

/// The zone of the state in which a day begins last; for an unknown state, that of Hawaii.
pub fn westernmost(state: Option<State>) -> Tz {
    match state {
        Some(Ak) => Adak,
        Some(Az) => Phoenix,
        Some(Ca | Id | Nv | Or | Wa) => Los_Angeles,
        Some(Co | Ks | Mt | Nd | Ne | Nm | Sd | Tx | Ut | Wy) => Denver,
        Some(Al | Ar | Fl | Ia | Il | In | Ky | La | Mi | Mn | Mo | Ms | Ok | Tn | Wi) => Chicago,
        Some(Ct | Dc | De | Ga | Ma | Md | Me | Nc | Nh | Nj | Ny | Oh | Pa | Ri | Sc | Va | Vt | Wv) => {
            New_York
        }
        Some(Pr) => Puerto_Rico,
        Some(Vi) => St_Thomas,
        Some(Hi) | None => Honolulu,
    }
}
