//! The arithmetic of credit and savings in `f64`. Figures are rounded once, on display.
//!
//! Rates are in percent per year (`7.0` is 7 %), amounts in dollars.

use offerd_model::CompoundingMethod;

/// Level monthly payment that repays `principal` in `months` at `rate`, by the formula of the ordinary
/// annuity `P·i / (1 - (1 + i)^-n)`, where `i` is a twelfth of the yearly rate. At 0 %, equal parts.
pub fn monthly_payment(principal: f64, rate: f64, months: u32) -> f64 {
    let i = rate / 1200.0;
    let n = f64::from(months.max(1));
    if i == 0.0 { principal / n } else { principal * i / -(-n * i.ln_1p()).exp_m1() }
}

/// The roundest amount whose level monthly payment, in cents, is `payment`; `None` if there is none, so if the
/// payment has other parts or the rate more digits.
pub fn amount_repaid(payment: f64, rate: f64, months: u32) -> Option<f64> {
    let cents = |amount: f64| (amount * 100.0).round();
    let about = payment / monthly_payment(1.0, rate, months);
    let rounded = [1_000.0, 100.0, 10.0, 1.0].map(|step| (about / step).round() * step);
    let is_repaid = |amount: &f64| cents(monthly_payment(*amount, rate, months)) == cents(payment);
    rounded.into_iter().find(|amount| *amount > 0.0 && is_repaid(amount))
}

/// Annual percentage rate of a loan that pays out `financed` and is repaid in `months` level payments: twelve
/// times the monthly rate at which the payments' present value is the paid-out sum (Regulation Z, Appendix J,
/// actuarial method).
///
/// `financed` is the amount after finance charges paid at the start (origination fee, points, closing costs).
/// Returns 0 if the payments do not even repay it, and at most [`APR_CEILING`].
pub fn apr(financed: f64, payment: f64, months: u32) -> f64 {
    let n = f64::from(months.max(1));
    if payment * n <= financed {
        return 0.0;
    }
    if financed <= 0.0 {
        return APR_CEILING;
    }

    // The present value falls and is convex in the rate, so Newton's method, started left of the root,
    // approaches it without overshooting.
    let mut i = 0.0_f64;
    for _ in 0..APR_STEPS {
        let (value, slope) = present_value(payment, i, n);
        let step = (value - financed) / -slope;
        i += step;
        if step.abs() < 1e-12 {
            break;
        }
    }
    (i * 1200.0).min(APR_CEILING)
}

/// Maximum APR that is shown, in percent.
pub const APR_CEILING: f64 = 999.999;

/// Maximum number of Newton steps; far more than any loan below the ceiling needs.
const APR_STEPS: usize = 100;

/// Present value of `n` level payments at the monthly rate `i`, and its derivative by `i`.
fn present_value(payment: f64, i: f64, n: f64) -> (f64, f64) {
    if i < 1e-9 {
        return (payment * n, -payment * n * (n + 1.0) / 2.0);
    }
    let discount = (-n * i.ln_1p()).exp();
    let annuity = (1.0 - discount) / i;
    let slope = (n * discount / (1.0 + i) - annuity) / i;
    (payment * annuity, payment * slope)
}

/// Annual percentage rate of a loan of `principal` repaid in one payment after `days`, with `charges` in
/// dollars (Regulation Z, Appendix J, single advance and single payment).
pub fn single_payment_apr(principal: f64, charges: f64, days: u32) -> f64 {
    if principal <= 0.0 {
        return APR_CEILING;
    }
    (charges / principal * 365.0 / f64::from(days.max(1)) * 100.0).min(APR_CEILING)
}

/// Annual percentage yield of a yearly `rate` (Regulation DD, Appendix A): what a dollar earns in a year if
/// interest stays in the account.
pub fn annual_percentage_yield(rate: f64, compounding: CompoundingMethod) -> f64 {
    let yearly = rate / 100.0;
    let periods = match compounding {
        CompoundingMethod::Simple | CompoundingMethod::Annually => 1.0,
        CompoundingMethod::SemiAnnually => 2.0,
        CompoundingMethod::Quarterly => 4.0,
        CompoundingMethod::Monthly => 12.0,
        CompoundingMethod::Weekly => 52.0,
        CompoundingMethod::Daily => 365.0,
        CompoundingMethod::Continuous => return yearly.exp_m1() * 100.0,
    };
    (periods * (yearly / periods).ln_1p()).exp_m1() * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rounds as on display: to the cent, or to a hundredth of a percent.
    fn told(figure: f64) -> f64 {
        (figure * 100.0).round() / 100.0
    }

    #[test]
    fn payments_match_published_examples() {
        assert_eq!(told(monthly_payment(10_000.0, 7.0, 36)), 308.77);
        assert_eq!(told(monthly_payment(300_000.0, 6.5, 360)), 1_896.2);
        assert_eq!(told(monthly_payment(67_890.0, 6.49, 120)), 770.53);
        assert_eq!(told(monthly_payment(3_600.0, 0.0, 36)), 100.0);
    }

    #[test]
    fn an_amount_is_found_by_its_payment_unless_the_payment_has_other_parts() {
        for (amount, rate, months) in [(452_000.0, 6.5, 360), (300_500.0, 7.125, 180), (3_600.0, 0.0, 36)] {
            let payment = told(monthly_payment(amount, rate, months));
            assert_eq!(amount_repaid(payment, rate, months), Some(amount));
        }
        assert_eq!(amount_repaid(100.01, 0.0, 36), None);
        assert_eq!(amount_repaid(0.0, 6.5, 360), None);
    }

    #[test]
    fn apr_matches_the_example_of_regulation_z_appendix_j() {
        assert_eq!(told(apr(5_000.0, 230.0, 24)), 9.69);
    }

    #[test]
    fn a_single_payment_loan_has_the_rate_of_its_charges() {
        assert_eq!(told(single_payment_apr(1_000.0, 60.0, 365)), 6.0);
        assert_eq!(told(single_payment_apr(500.0, 75.0, 14)), 391.07);
    }

    #[test]
    fn charges_paid_at_the_start_raise_the_apr_above_the_rate() {
        let payment = monthly_payment(300_000.0, 6.5, 360);
        let with_costs = apr(300_000.0 - 4_500.0, payment, 360);
        assert_eq!(told(with_costs), 6.65);
    }

    #[test]
    fn yield_follows_the_compounding() {
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::Daily)), 5.13);
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::Monthly)), 5.12);
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::Quarterly)), 5.09);
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::SemiAnnually)), 5.06);
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::Annually)), 5.0);
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::Simple)), 5.0);
        assert_eq!(told(annual_percentage_yield(5.0, CompoundingMethod::Continuous)), 5.13);
    }

    #[test]
    fn payments_that_do_not_repay_the_loan_have_no_rate() {
        assert_eq!(apr(1_000.0, 10.0, 12), 0.0);
        assert_eq!(apr(0.0, 10.0, 12), APR_CEILING);
    }

    proptest! {
        /// Without charges the APR is the rate.
        #[test]
        fn apr_undoes_the_payment(principal in 500.0..1_000_000.0, rate in 0.01..120.0, months in 2_u32..480) {
            let found = apr(principal, monthly_payment(principal, rate, months), months);
            prop_assert!((found - rate).abs() < 1e-6, "rate {rate}, found {found}");
        }
    }
}
