//! Tail probabilities.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The probability of `seen` or more out of `of`, each with probability `share` (upper binomial tail).
pub(super) fn at_least(seen: u64, of: u64, share: f64) -> f64 {
    let beyond = |before: u64| Binomial::new(share, of).map_or(1.0, |all| all.sf(before));
    seen.checked_sub(1).map_or(1.0, beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_tail_of_the_binomial() {
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-6;
        assert!(near(at_least(1, 1, 0.25), 0.25));
        assert!(near(at_least(2, 3, 0.5), 0.5));
        assert!(near(at_least(5, 20, 0.005), 4.5511019e-08), "{}", at_least(5, 20, 0.005));
        assert!(near(at_least(3000, 6000, 0.5), 0.5051501), "{}", at_least(3000, 6000, 0.5));
        assert_eq!((at_least(0, 9, 0.1), at_least(3, 2, 0.1), at_least(1, 9, 0.0)), (1.0, 0.0, 0.0));
    }
}
