//! 95 % confidence intervals for the difference of two shares, and of two means.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::outcome::Moments;

/// The quantile of the upper end: 2.5 % lie beyond each end.
const UPPER: f64 = 0.975;

/// The interval for the difference of two shares, each given as hits and total: method 10 of Newcombe,
/// "Interval estimation for the difference between independent proportions: comparison of eleven methods",
/// Statistics in Medicine 17 (1998). It holds for few hits too, and stays within -1 to 1.
pub fn of_shares(one: (f64, f64), other: (f64, f64)) -> Option<(f64, f64)> {
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(UPPER);
    let ((one_low, one_high), (other_low, other_high)) = (wilson(one, z)?, wilson(other, z)?);
    let (one, other) = (one.0 / one.1, other.0 / other.1);
    let below = (one - one_low).hypot(other_high - other);
    let above = (one_high - one).hypot(other - other_low);
    Some((one - other - below, one - other + above))
}

fn wilson((hits, all): (f64, f64), z: f64) -> Option<(f64, f64)> {
    if all <= 0.0 {
        return None;
    }
    let middle = 2.0 * hits + z * z;
    let away = z * (z * z + 4.0 * hits * (1.0 - hits / all)).sqrt();
    let whole = 2.0 * (all + z * z);
    Some(((middle - away) / whole, (middle + away) / whole))
}

/// The interval for the difference of two means with possibly unequal variances: Welch, "The generalization
/// of Student's problem when several different population variances are involved", Biometrika 34 (1947).
/// `None` if nothing varies, or if either side has fewer than two values.
pub fn of_means(one: Moments, other: Moments) -> Option<(f64, f64)> {
    let ((one_count, one_mean, one_variance), (other_count, other_mean, other_variance)) = (one, other);
    if one_count < 2.0 || other_count < 2.0 {
        return None;
    }
    let (one, other) = (one_variance / one_count, other_variance / other_count);
    let error = (one + other).sqrt();
    let freedom =
        (one + other).powi(2) / (one.powi(2) / (one_count - 1.0) + other.powi(2) / (other_count - 1.0));
    let away = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(UPPER) * error;
    let difference = one_mean - other_mean;
    Some((difference - away, difference + away))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded((low, high): (f64, f64)) -> (f64, f64) {
        ((low * 1e4).round() / 1e4, (high * 1e4).round() / 1e4)
    }

    /// The examples of Newcombe's paper, table II, method 10.
    #[test]
    fn shares_differ_as_in_the_paper() {
        let published = [
            ((56.0, 70.0), (48.0, 80.0), (0.0524, 0.3339)),
            ((9.0, 10.0), (3.0, 10.0), (0.1705, 0.8090)),
            ((5.0, 56.0), (0.0, 29.0), (-0.0381, 0.1926)),
            ((10.0, 10.0), (0.0, 10.0), (0.6075, 1.0)),
        ];
        for (one, other, wanted) in published {
            assert_eq!(rounded(of_shares(one, other).unwrap()), wanted, "{one:?} {other:?}");
        }
        assert_eq!(of_shares((0.0, 0.0), (1.0, 2.0)), None);
    }

    /// 20.8 ± 2.6 of 10 and 23.0 ± 1.5 of 12: the quantile of 13.8 degrees is 2.1478.
    #[test]
    fn means_differ_by_as_much_as_a_table_of_student_says() {
        let (low, high) = of_means((12.0, 23.0, 2.25), (10.0, 20.8, 6.76)).unwrap();
        let error = (2.25_f64 / 12.0 + 6.76 / 10.0).sqrt();
        assert!((((high + low) / 2.0) - 2.2).abs() < 1e-9);
        assert!(((high - low) / 2.0 / error - 2.1478).abs() < 2e-3, "{}", (high - low) / 2.0 / error);
        assert_eq!(of_means((5.0, 1.0, 0.0), (5.0, 1.0, 0.0)), None);
        assert_eq!(of_means((1.0, 1.0, f64::NAN), (5.0, 1.0, 1.0)), None);
    }
}
