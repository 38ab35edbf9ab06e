//! Keys of the records of what was learnt, by day.

use uuid::Uuid;

/// A day, milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The owner of clicks that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClickOwner {
    /// The company.
    pub company: Uuid,
    /// Whether they belong to test leads.
    pub test: bool,
}

/// The UTC day of a time in Unix milliseconds, as days since 1970.
pub fn day_of(millis: i64) -> u32 {
    u32::try_from(millis.div_euclid(DAY_MS)).unwrap_or(0)
}

/// The key of a day.
pub fn day(whose: ClickOwner, day: u32) -> Vec<u8> {
    [&whose.company.as_bytes()[..], &[u8::from(whose.test)], &day.to_be_bytes()].concat()
}

/// The owner and day of a key.
pub fn read(key: &[u8]) -> Option<(ClickOwner, u32)> {
    let company = Uuid::from_slice(key.get(..16)?).ok()?;
    let day = u32::from_be_bytes(key.get(17..21)?.try_into().ok()?);
    Some((ClickOwner { company, test: *key.get(16)? != 0 }, day))
}
