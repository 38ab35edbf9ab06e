//! What the feeds tell of one lead, at once. Unlike a page it waits for no age: nobody goes on from here.

use super::arrival_time::ArrivalTime;
use super::feed::{ClientTags, Events, Feed, Newer, Payouts};
use super::feeds::Feeds;
use offerd_model::LeadInfo;
use offerd_store::entities::{CompanyRecord, LeadRecord};
use offerd_store::{FeedKey, ReadError, Scan};

/// What was found of a lead.
#[derive(Debug)]
pub struct FoundInfo {
    /// What the feeds tell of it.
    pub info: LeadInfo,
    /// Up to where they were read, where that is not all.
    pub cut_at: Option<ArrivalTime>,
}

impl Feeds {
    /// What the feeds tell of a lead about which nothing arrived before `since`, in their newer form. At most as many records are read of
    /// each as for a page. Blocks for as long as reading takes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of_lead(&self, lead: &LeadRecord, since: ArrivalTime) -> Result<FoundInfo, ReadError> {
        let first = FeedKey::first_at(lead.company, since.0).to_bytes();
        let of_company = |tree| self.store.scan_from(tree, first, lead.company);
        let company = self.company_of(lead.company);
        let sealed = self.store.scan_about(lead.uuid, ClientTags::TREE, first, lead.company);
        let (events, cut_events) = self.told::<Events>(lead, company.as_ref(), of_company(Events::TREE))?;
        let (payouts, cut_payouts) =
            self.told::<Payouts>(lead, company.as_ref(), of_company(Payouts::TREE))?;
        let (client_tags, cut_tags) = self.told::<ClientTags>(lead, company.as_ref(), sealed)?;
        let info = LeadInfo {
            events: each_once(events, |one, other| one.id == other.id),
            payouts: each_once(payouts, |one, other| one.uuid == other.uuid),
            client_tags,
        };
        Ok(FoundInfo { info, cut_at: [cut_events, cut_payouts, cut_tags].into_iter().flatten().min() })
    }

    /// The records of a lead among those of a scan, and where that was cut.
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

/// Each record once, as it was told last, where it was told first. One lead has few records.
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
