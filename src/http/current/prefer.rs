//! The `Prefer` header of a request: how long it waits, and whether it is handled strictly.

use std::time::Duration;

use crate::prelude::*;
use offerd_model::Leniency;
use offerd_web::{handling, preferences};

/// Longest wait that a client may request; a rate table is complete long before.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The wait that a request prefers (RFC 7240, `wait`), capped; `None` if it has none.
pub fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let wait = |one: &str| one.strip_prefix("wait=")?.trim_matches('"').parse().ok();
    Some(Duration::from_secs(preferences(headers).find_map(wait)?).min(LONGEST_WAIT))
}

/// Whether a request prefers strict handling, which refuses unknown input (RFC 7240, `handling`).
pub(super) fn is_strict(headers: &HeaderMap) -> bool {
    handling(headers) == Some(Leniency::Strict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preferred_wait_is_read_and_capped() {
        let wait = |value| {
            preferred_wait(&HeaderMap::from_iter([(
                HeaderName::from_static("prefer"),
                HeaderValue::from_static(value),
            )]))
        };
        assert_eq!(wait("wait=5"), Some(Duration::from_secs(5)));
        assert_eq!(wait("respond-async, wait=10"), Some(Duration::from_secs(10)));
        assert_eq!(wait("wait=100000"), Some(LONGEST_WAIT));
        assert_eq!(wait("wait=soon"), None);
        assert_eq!(wait("return=minimal"), None);
    }
}
