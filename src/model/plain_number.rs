//! Serialises integral floats as integers, which some clients insist on.

use serde::Serializer;

/// Writes a float; `12` rather than `12.0`.
pub fn required<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Up to here every integral float is exactly one integer.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// Writes an optional float in the same way.
pub(crate) fn optional<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => required(number, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn integral_floats_are_written_as_integers() {
        for (number, written) in [(12.0, "12"), (0.125, "0.125"), (-3.0, "-3"), (1e300, "1e+300"), (0.0, "0")]
        {
            let mut json = Vec::new();
            super::required(&number, &mut serde_json::Serializer::new(&mut json)).unwrap();
            assert_eq!(String::from_utf8(json).unwrap(), written);
        }
    }
}
