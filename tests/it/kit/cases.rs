//! How many cases a property takes whose world is costly to make.

use proptest::prelude::ProptestConfig;

/// `sample` cases with every run of the tests; as many as `PROPTEST_CASES` says where it is set, as `.ci/release` does.
pub fn cases(sample: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(sample),
    }
}
