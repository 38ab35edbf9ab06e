//! What a client asks of a feed, in one of the two forms of the feeds.

use std::time::Duration;

use super::arrival_time::ArrivalTime;
use super::event_types::EventTypes;
use super::window::Window;

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

/// A page to be read: from where, at most up to where, of which records, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// How it is asked for and told.
    pub form: Form,
    /// The first instant.
    pub start: ArrivalTime,
    /// The instant before which the client wants to end; none for as far as may be told.
    pub until: Option<ArrivalTime>,
    /// Which lead events are wanted; the other feeds have no types.
    pub event_types: EventTypes,
}

impl PageRequest {
    /// Everything from `start` on, in the form of the specification.
    pub const fn hourly(start: ArrivalTime) -> Self {
        Self { form: Form::Hourly, start, until: None, event_types: EventTypes::ALL }
    }

    /// Everything from `start` on, in the newer form.
    pub const fn prompt(start: ArrivalTime) -> Self {
        Self { form: Form::Prompt, ..Self::hourly(start) }
    }

    /// The same from `start` on.
    #[must_use]
    pub const fn starting_at(self, start: ArrivalTime) -> Self {
        Self { start, ..self }
    }

    /// The window to fill when nothing at or after `latest` may be told, and no more than so many records be read.
    pub(super) fn window(&self, latest: ArrivalTime, records_max: usize) -> Window {
        let end = self.until.map_or(latest, |until| until.min(latest));
        let least_end = self.start.after(self.form.least_span());
        Window::new(self.start, least_end, end, records_max)
    }
}
