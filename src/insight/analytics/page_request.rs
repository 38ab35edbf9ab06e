//! The request for a page of a feed, in one of the two forms.

use std::time::Duration;

use super::arrival_time::ArrivalTime;
use super::event_types::EventTypes;
use super::window::PageWindow;

/// The form in which pages are requested and rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The specification's form: by `timestamp`, hour by hour.
    Hourly,
    /// The newer form: by `sinceTimestamp`, then by `paginationToken`, as records arrive.
    Prompt,
}

impl Form {
    /// The minimum age of a record when it is served, to a live or a test token.
    pub const fn minimum_age(self, test: bool) -> Duration {
        match self {
            Self::Hourly => HOUR,
            Self::Prompt if test => Duration::ZERO,
            Self::Prompt => Duration::from_secs(5 * 60),
        }
    }

    /// The least time that a page covers, unless the minimum age ends it.
    pub const fn least_span(self) -> Duration {
        match self {
            Self::Hourly => HOUR,
            Self::Prompt => Duration::ZERO,
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// A page to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The form of the request and the page.
    pub form: Form,
    /// The first instant.
    pub start: ArrivalTime,
    /// The exclusive end that the client wants, if any.
    pub until: Option<ArrivalTime>,
    /// The lead events to include; the other feeds have no types.
    pub event_types: EventTypes,
}

impl PageRequest {
    /// Everything from `start` on, in the specification's form.
    pub const fn hourly(start: ArrivalTime) -> Self {
        Self { form: Form::Hourly, start, until: None, event_types: EventTypes::ALL }
    }

    /// Everything from `start` on, in the newer form.
    pub const fn prompt(start: ArrivalTime) -> Self {
        Self { form: Form::Prompt, ..Self::hourly(start) }
    }

    /// The same request from another start.
    #[must_use]
    pub const fn starting_at(self, start: ArrivalTime) -> Self {
        Self { start, ..self }
    }

    /// The window to fill: nothing from `latest` on, and at most `records_max` records.
    pub(super) fn window(&self, latest: ArrivalTime, records_max: usize) -> PageWindow {
        let end = self.until.map_or(latest, |until| until.min(latest));
        let least_end = self.start.after(self.form.least_span());
        PageWindow::new(self.start, least_end, end, records_max)
    }
}
