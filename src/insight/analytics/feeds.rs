//! Reads pages of the feeds from the store, and the feed records of one lead, which need no minimum age.

use chrono_tz::Tz;
use uuid::Uuid;

use super::arrival_time::ArrivalTime;
use super::cursor::PageCursor;
use super::feed::{ClientTagFeed, Events, Feed, Newer, Payouts};
use super::page_request::{Form, PageRequest};
use offerd_base::telemetry::metrics::FEED_PAGES_CUT;
use offerd_model::{BaseUrl, FeedPage, LeadInfo, Viewer};
use offerd_store::entities::{CompanyRecord, LeadRecord};
use offerd_store::tokens::Tokens;
use offerd_store::{Commit, FeedKey, ReadError, Scan, Store, StoreError};

/// The time up to which each form of the feeds may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon([ArrivalTime; 2]);

impl Horizon {
    /// The horizon when the time of arrivals is `now`; for callers that know that nothing arrives before it.
    pub fn at(now: ArrivalTime) -> Self {
        Self::by(|form| now.before(form.minimum_age(false)))
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
    store: Store,
    base_url: BaseUrl,
    page_records_max: usize,
    zone: Tz,
}

/// The feed records of a lead.
#[derive(Debug)]
pub struct FoundInfo {
    /// The records.
    pub info: LeadInfo,
    /// The arrival time at which reading stopped, if it stopped early.
    pub cut_at: Option<ArrivalTime>,
}

impl Feeds {
    /// Feeds over a store. A page reads at most `page_records_max` records in addition to its first instant.
    pub fn new(store: Store, base_url: impl Into<BaseUrl>, page_records_max: usize) -> Self {
        Self { store, base_url: base_url.into(), page_records_max, zone: Tz::UTC }
    }

    /// With the time zone of the days on which payouts count.
    pub fn with_days_of(self, zone: Tz) -> Self {
        Self { zone, ..self }
    }

    /// The present horizon for live or test tokens, before which nothing can arrive any more. If a restart could
    /// still violate that, a commit rules it out; while that fails, the horizon is earlier.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn horizon(&self, test: bool) -> Result<Horizon, StoreError> {
        let aged = Horizon::by(|form| ArrivalTime(self.store.aged_us(form.minimum_age(test))));
        if aged.0[0].max(aged.0[1]).0 > self.store.closed_us()? + 1 {
            // A store that cannot write serves nothing new; its state shows why.
            let _ = self.store.commit(Commit::new().mark_time()).await;
        }
        let open = ArrivalTime(self.store.closed_us()? + 1);
        Ok(Horizon::by(|form| aged.latest(form).min(open)))
    }

    /// Reads a page of a company's feed, limited to the records that the viewer may see. Blocks.
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
            let newer = is_newer.then(|| Newer::new(company.as_ref(), arrival).with_days_of(self.zone));
            let (read, held_before) = (stored.len(), data.len());
            let sees_all = !viewer.test && F::LIVE_SEES_TESTS;
            let is_seen = |one: &F::Stored| sees_all || F::is_test(one, &self.store) == viewer.test;
            let wanted = stored.into_iter().filter(|one| F::is_wanted(one, &request) && is_seen(one));
            data.extend(wanted.map(|stored| F::record(stored, newer.as_ref())));
            window.holds(read, data.len() - held_before);
        }
        if window.was_cut() {
            metrics::counter!(FEED_PAGES_CUT, "feed" => F::TREE.name()).increment(1);
        }
        let next = PageCursor::to::<F>(request.starting_at(window.end()));
        let next_url = self.base_url.absolute(format_args!("{}?{next}", F::PATH));
        Ok(FeedPage { next_url, should_continue_polling: window.goes_on(), data })
    }

    fn company_of(&self, company: Uuid) -> Option<CompanyRecord> {
        Tokens::of(self.store.clone()).company(company)
    }

    /// Reads a lead's records from all feeds, in the newer form; none may have arrived before `since`. Each
    /// feed is limited to as many records as a page. Blocks while it reads the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of_lead(&self, lead: &LeadRecord, since: ArrivalTime) -> Result<FoundInfo, ReadError> {
        let first = FeedKey::first_at(lead.company, since.0).to_bytes();
        let of_company = |tree| self.store.scan_from(tree, first, lead.company);
        let company = self.company_of(lead.company);
        let sealed = self.store.scan_about(lead.uuid, ClientTagFeed::TREE, first, lead.company);
        let (events, cut_events) = self.told::<Events>(lead, company.as_ref(), of_company(Events::TREE))?;
        let (payouts, cut_payouts) =
            self.told::<Payouts>(lead, company.as_ref(), of_company(Payouts::TREE))?;
        let (client_tags, cut_tags) = self.told::<ClientTagFeed>(lead, company.as_ref(), sealed)?;
        let info = LeadInfo {
            events: each_once(events, |one, other| one.id == other.id),
            payouts: each_once(payouts, |one, other| one.uuid == other.uuid),
            client_tags,
        };
        Ok(FoundInfo { info, cut_at: [cut_events, cut_payouts, cut_tags].into_iter().flatten().min() })
    }

    fn told<F: Feed>(
        &self,
        lead: &LeadRecord,
        company: Option<&CompanyRecord>,
        scan: Scan,
    ) -> Result<(Vec<F::Record>, Option<ArrivalTime>), ReadError> {
        let (mut told, mut read) = (Vec::new(), 0);
        for record in self.store.listed::<F::Stored>(F::TREE, scan) {
            let (key, stored) = record?;
            let arrival = ArrivalTime(key.arrival_us);
            if read >= self.page_records_max {
                return Ok((told, Some(arrival)));
            }
            read += stored.len();
            let newer = Newer::new(company, arrival).with_days_of(self.zone);
            let of_lead = stored.into_iter().filter(|stored| F::lead(stored) == lead.uuid);
            told.extend(of_lead.map(|stored| F::record(stored, Some(&newer))));
        }
        Ok((told, None))
    }
}

/// Keeps the latest version of each record, at the place of its first. Quadratic.
fn each_once<T>(records: Vec<T>, is_same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut once: Vec<T> = Vec::with_capacity(records.len());
    for record in records {
        match once.iter_mut().find(|known| is_same(known, &record)) {
            Some(known) => *known = record,
            None => once.push(record),
        }
    }
    once
}
