//! Pages of the feeds, read from the store.

use uuid::Uuid;

use super::arrival_time::ArrivalTime;
use super::cursor::Cursor;
use super::feed::{Feed, Newer};
use super::page_request::{Form, PageRequest};
use super::window::Window;
use offerd_base::telemetry::metrics::FEED_PAGES_CUT;
use offerd_model::{BaseUrl, FeedPage, Viewer};
use offerd_store::entities::CompanyRecord;
use offerd_store::tokens::Tokens;
use offerd_store::{Commit, ReadError, Store, StoreError};

/// Up to where the feeds may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon([ArrivalTime; 2]);

impl Horizon {
    /// As it is when the time of arrivals is `now`: for who knows that nothing arrives before that.
    pub fn at(now: ArrivalTime) -> Self {
        Self::by(|form| now.before(form.minimum_age()))
    }

    fn by(latest: impl Fn(Form) -> ArrivalTime) -> Self {
        Self([Form::Hourly, Form::Prompt].map(latest))
    }

    /// The time from which on nothing may be told yet.
    pub fn latest(self, form: Form) -> ArrivalTime {
        self.0[form as usize]
    }
}

/// Reads pages of every feed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feeds {
    pub(super) store: Store,
    base_url: BaseUrl,
    pub(super) page_records_max: usize,
}

impl Feeds {
    /// Feeds over the store, by whose time of arrivals they tell how old a record is. At most so many records are read for a
    /// page, its first instant apart; one that ends there is followed by the rest.
    pub fn new(store: Store, base_url: impl Into<BaseUrl>, page_records_max: usize) -> Self {
        Self { store, base_url: base_url.into(), page_records_max }
    }

    /// Up to where the feeds may be told now. Nothing arrives before that any more: where that is not certain over a restart
    /// yet, it is made so, and while it cannot be, less is told.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn horizon(&self) -> Result<Horizon, StoreError> {
        let aged = Horizon::by(|form| ArrivalTime(self.store.aged_us(form.minimum_age())));
        if aged.0[0].max(aged.0[1]).0 > self.store.closed_us()? + 1 {
            // A store that does not write tells nothing new; its state says why.
            let _ = self.store.commit(Commit::new().mark_time()).await;
        }
        let open = ArrivalTime(self.store.closed_us()? + 1);
        Ok(Horizon::by(|form| aged.latest(form).min(open)))
    }

    /// The page of a company's feed, of what the viewer sees of it. Blocks for as long as reading takes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn page<F: Feed>(
        &self,
        viewer: Viewer,
        request: PageRequest,
        horizon: Horizon,
    ) -> Result<FeedPage<F::Record>, ReadError> {
        let mut window = request.window(horizon.latest(request.form), self.page_records_max);
        let data = self.fill::<F>(&mut window, viewer, request)?;
        if window.was_cut() {
            metrics::counter!(FEED_PAGES_CUT, "feed" => F::TREE.name()).increment(1);
        }
        let next = Cursor::to::<F>(request.starting_at(window.end()));
        Ok(FeedPage {
            next_url: self.base_url.absolute(format_args!("{}?{next}", F::PATH)),
            should_continue_polling: window.goes_on(),
            data,
        })
    }

    /// Reads instants until the window is closed.
    fn fill<F: Feed>(
        &self,
        window: &mut Window,
        viewer: Viewer,
        request: PageRequest,
    ) -> Result<Vec<F::Record>, ReadError> {
        let mut data = Vec::new();
        let is_newer = request.form == Form::Prompt;
        let company = is_newer.then(|| self.company_of(viewer.company)).flatten();
        // An append has an arrival time of its own, so its record holds all of an instant.
        for record in self.store.feed_from::<F::Stored>(F::TREE, viewer.company, request.start.0) {
            let (key, stored) = record?;
            let arrival = ArrivalTime(key.arrival_us);
            if !window.takes(arrival) {
                break;
            }
            let newer = is_newer.then(|| Newer::new(company.as_ref(), arrival));
            let (read, held_before) = (stored.len(), data.len());
            let is_seen = |stored: &F::Stored| !viewer.test || F::is_test(stored, &self.store);
            let wanted =
                stored.into_iter().filter(|stored| F::is_wanted(stored, &request) && is_seen(stored));
            data.extend(wanted.map(|stored| F::record(stored, newer.as_ref())));
            window.holds(read, data.len() - held_before);
        }
        Ok(data)
    }

    pub(super) fn company_of(&self, company: Uuid) -> Option<CompanyRecord> {
        Tokens::of(self.store.clone()).company(company)
    }
}
