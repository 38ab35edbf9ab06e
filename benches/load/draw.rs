//! Random numbers that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number from 0 to 1; the sequence is the same in every run.
pub fn draw() -> f64 {
    static SEED: AtomicU64 = AtomicU64::new(0);
    // SplitMix64.
    let step = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bits = SEED.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
