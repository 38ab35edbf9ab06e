//! Reads pages of the feeds from the store.

use uuid::Uuid;

use super::arrival_time::ArrivalTime;
use super::cursor::PageCursor;
use super::feed::{Feed, Newer};
use super::page_request::{Form, PageRequest};
use super::window::PageWindow;
use offerd_base::telemetry::metrics::FEED_PAGES_CUT;
use offerd_model::{BaseUrl, FeedPage, Viewer};
use offerd_store::entities::CompanyRecord;
use offerd_store::tokens::Tokens;
use offerd_store::{Commit, ReadError, Store, StoreError};

/// The time up to which each form of the feeds may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon([ArrivalTime; 2]);

impl Horizon {
    /// The horizon when the time of arrivals is `now`; for callers that know that nothing arrives before it.
    pub fn at(now: ArrivalTime) -> Self {
        Self::by(|form| now.before(form.minimum_age()))
    }

    fn by(latest: impl Fn(Form) -> ArrivalTime) -> Self {
        Self([Form::Hourly, Form::Prompt].map(latest))
    }

    /// The time from which on nothing may be served yet.
    pub fn latest(self, form: Form) -> ArrivalTime {
        self.0[form as usize]
    }
}

/// Reads pages of all feeds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feeds {
    pub(super) store: Store,
    base_url: BaseUrl,
    pub(super) page_records_max: usize,
}

impl Feeds {
    /// Feeds over a store, which also measures the age of records. At most `page_records_max` records are
    /// read for a page, in addition to its first instant; the rest follows on the next page.
    pub fn new(store: Store, base_url: impl Into<BaseUrl>, page_records_max: usize) -> Self {
        Self { store, base_url: base_url.into(), page_records_max }
    }

    /// The present horizon, before which nothing can arrive any more. If a restart could still violate that,
    /// a commit rules it out; while that fails, the horizon is earlier.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn horizon(&self) -> Result<Horizon, StoreError> {
        let aged = Horizon::by(|form| ArrivalTime(self.store.aged_us(form.minimum_age())));
        if aged.0[0].max(aged.0[1]).0 > self.store.closed_us()? + 1 {
            // A store that cannot write serves nothing new; its state shows why.
            let _ = self.store.commit(Commit::new().mark_time()).await;
        }
        let open = ArrivalTime(self.store.closed_us()? + 1);
        Ok(Horizon::by(|form| aged.latest(form).min(open)))
    }

    /// Reads a page of a company's feed, limited to the records that the viewer may see. Blocks while it
    /// reads the store.
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
        let next = PageCursor::to::<F>(request.starting_at(window.end()));
        Ok(FeedPage {
            next_url: self.base_url.absolute(format_args!("{}?{next}", F::PATH)),
            should_continue_polling: window.goes_on(),
            data,
        })
    }

    /// Reads instants until the window is closed.
    fn fill<F: Feed>(
        &self,
        window: &mut PageWindow,
        viewer: Viewer,
        request: PageRequest,
    ) -> Result<Vec<F::Record>, ReadError> {
        let mut data = Vec::new();
        let is_newer = request.form == Form::Prompt;
        let company = is_newer.then(|| self.company_of(viewer.company)).flatten();
        // Each append has its own arrival time, so one record holds a whole instant.
        for record in self.store.feed_from::<F::Stored>(F::TREE, viewer.company, request.start.0) {
            let (key, stored) = record?;
            let arrival = ArrivalTime(key.arrival_us);
            if !window.takes(arrival) {
                break;
            }
            let newer = is_newer.then(|| Newer::new(company.as_ref(), arrival));
            let (read, held_before) = (stored.len(), data.len());
            let is_seen = |stored: &F::Stored| !viewer.test || F::is_test(stored, &self.store);
            let wanted = stored.into_iter().filter(|one| F::is_wanted(one, &request) && is_seen(one));
            data.extend(wanted.map(|stored| F::record(stored, newer.as_ref())));
            window.holds(read, data.len() - held_before);
        }
        Ok(data)
    }

    pub(super) fn company_of(&self, company: Uuid) -> Option<CompanyRecord> {
        Tokens::of(self.store.clone()).company(company)
    }
}
