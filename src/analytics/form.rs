//! The two forms of the feeds, and all that they do not share.

use std::time::Duration;

/// How a client asks for pages, and what it is told beside the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The form of the specification: by `timestamp`, hour by hour.
    Hourly,
    /// The newer form: by `sinceTimestamp`, then by `paginationToken`, as records come.
    Prompt,
}

impl Form {
    /// How old a record is at least when it is told.
    pub const fn minimum_age(self) -> Duration {
        match self {
            Self::Hourly => HOUR,
            Self::Prompt => Duration::from_secs(5 * 60),
        }
    }

    /// How much time a page covers at least, where that much may be told.
    pub const fn least_span(self) -> Duration {
        match self {
            Self::Hourly => HOUR,
            Self::Prompt => Duration::ZERO,
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);
