//! How unlikely it is to see so much.

/// The chance of `seen` or more out of `of`, each of which has the chance `share`: the upper tail of the binomial, summed exactly, in
/// logarithms so that many small ones do not vanish.
pub(super) fn at_least(seen: u64, of: u64, share: f64) -> f64 {
    if seen == 0 || share >= 1.0 {
        return 1.0;
    }
    if seen > of || share <= 0.0 {
        return 0.0;
    }
    let odds = (share / (1.0 - share)).ln();
    // Of `seen` out of `of`, and then of each further one by the ratio to the one before.
    let mut term = (0..seen).map(|nth| ((of - nth) as f64 / (nth + 1) as f64).ln()).sum::<f64>()
        + seen as f64 * share.ln()
        + (of - seen) as f64 * (-share).ln_1p();
    let (mut chance, mut nth) = (0.0, seen);
    while nth <= of {
        let added = term.exp();
        chance += added;
        // Beyond the middle they only get smaller.
        if nth as f64 > of as f64 * share && added < chance * 1e-12 {
            break;
        }
        term += ((of - nth) as f64 / (nth + 1) as f64).ln() + odds;
        nth += 1;
    }
    chance.min(1.0)
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
