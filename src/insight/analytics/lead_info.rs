//! The feed records of one lead, all at once. Unlike pages they have no minimum age, since no client
//! continues from here.

use super::arrival_time::ArrivalTime;
use super::feed::{ClientTagFeed, Events, Feed, Newer, Payouts};
use super::feeds::Feeds;
use offerd_model::LeadInfo;
use offerd_store::entities::{CompanyRecord, LeadRecord};
use offerd_store::{FeedKey, ReadError, Scan};

/// The feed records of a lead.
#[derive(Debug)]
pub struct FoundInfo {
    /// The records.
    pub info: LeadInfo,
    /// The arrival time at which reading stopped, if it stopped early.
    pub cut_at: Option<ArrivalTime>,
}

impl Feeds {
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

    /// The lead's records in a scan, and where the limit stopped it.
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
            let newer = Newer::new(company, arrival);
            let of_lead = stored.into_iter().filter(|stored| F::lead(stored) == lead.uuid);
            told.extend(of_lead.map(|stored| F::record(stored, Some(&newer))));
        }
        Ok((told, None))
    }
}

/// Keeps the latest version of each record, at the place of its first. Quadratic, since a lead has few
/// records.
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
