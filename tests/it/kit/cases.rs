//! How many cases a property takes whose world is costly to make.

use proptest::prelude::ProptestConfig;

/// `sample` cases with every run of the tests; where `PROPTEST_CASES` asks for more, as `.ci/release` does, so many.
pub fn cases(sample: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").map_or(0, |_| ProptestConfig::default().cases);
    ProptestConfig::with_cases(sample.max(asked))
}
