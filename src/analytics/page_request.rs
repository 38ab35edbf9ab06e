//! What a client asks of a feed.

use super::arrival_time::ArrivalTime;
use super::event_types::EventTypes;
use super::form::Form;
use super::window::Window;

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
