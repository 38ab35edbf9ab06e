//! The consents that leads state, in order of arrival, read page by page, so that stores of any size can be
//! walked.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use chrono::DateTime;
use uuid::Uuid;

use offerd_engine::records::{Found, RecordUnavailable, consents, projection, reading};
use offerd_model::{EventType, LeadLegalInformation, Timestamp, record};
use offerd_store::entities::{Happening, LeadRecord};
use offerd_store::{Store, Tree};

const PAGE: usize = 2000;

/// Filters for leads.
#[derive(Debug, Clone)]
pub struct ConsentFilter {
    /// The company; `None` for all.
    pub company: Option<Uuid>,
    /// The time of arrival, in Unix milliseconds.
    pub came: Range<u64>,
    /// Test leads, or live ones.
    pub test: bool,
}

impl fmt::Display for ConsentFilter {
    /// For the audit: the days of arrival, and whose leads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = |ms: u64| {
            i64::try_from(ms).ok().and_then(DateTime::from_timestamp_millis).map(|at| at.date_naive())
        };
        write!(f, "{} leads", if self.test { "test" } else { "live" })?;
        if let Some(from) = day(self.came.start).filter(|_| self.came.start > 0) {
            write!(f, " from {from}")?;
        }
        if let Some(until) = day(self.came.end) {
            write!(f, " before {until}")?;
        }
        self.company.map_or(Ok(()), |company| write!(f, " of company {company}"))
    }
}

record! { plain
    /// Where a page ends and the next begins.
    #[derive(Copy, Eq)]
    Place {
        /// The company whose feed is being read.
        company: Uuid,
        /// The first arrival to read, in microseconds since 1970.
        from_us: u64,
    }

    /// The consents of some leads.
    #[derive(Default)]
    ConsentPage {
        /// The distinct statements.
        statements: Vec<LeadLegalInformation>,
        /// Each statement of each lead.
        consents: Vec<Consent>,
        /// The number of leads that are erased or past retention.
        gone: u64,
        /// The start of the next page; `None` at the end.
        next?: Place,
    }

    /// A statement made by a lead's applicant.
    #[derive(Eq)]
    Consent {
        /// The lead.
        lead_uuid: Uuid,
        /// The lead's company.
        company_uuid: Uuid,
        /// When it was stated.
        stated_at: Timestamp,
        /// The index into the page's `statements`.
        statement: usize,
        /// Whether a later statement replaces it.
        superseded: bool,
    }

    /// What an applicant agreed to, without the texts they were shown.
    #[derive(Eq)]
    Agreed {
        /// When it was stated.
        stated_at: Timestamp,
        /// Each consent that was asked for, and whether it was given.
        to: Vec<(String, bool)>,
        /// The version of the consent text shared by several clients.
        version: Option<String>,
        /// Whether a later statement replaces it.
        superseded: bool,
    }
}

/// What a lead's applicant agreed to, oldest first; empty statements are left out.
pub fn agreed(record: &LeadRecord) -> Vec<Agreed> {
    let all = consents::stated(record);
    let latest = all.len().saturating_sub(1);
    let agreed = all.into_iter().enumerate().map(|(nth, stated)| {
        let said = stated.legal_information;
        let asked =
            [("FCRA", said.consents_to_fcra), ("TCPA", said.consents_to_tcpa), ("SMS", said.consents_to_sms)];
        Agreed {
            stated_at: Timestamp::at(stated.stated_at),
            to: asked.into_iter().filter_map(|(word, is)| Some((word.to_owned(), is?))).collect(),
            version: said.batch_consent_version.map(|version| version.as_str().to_owned()),
            superseded: nth < latest,
        }
    });
    agreed.filter(|agreed| !agreed.to.is_empty() || agreed.version.is_some()).collect()
}

/// Reads the next page.
///
/// # Errors
/// [`RecordUnavailable`] when the store cannot be read.
pub fn page(store: &Store, wanted: &ConsentFilter, from: Option<Place>) -> Found<ConsentPage> {
    let since_us = wanted.came.start.saturating_mul(1000);
    let companies = projection::companies(store).into_iter();
    let companies = companies.filter(|company| wanted.company.is_none_or(|wanted| wanted == *company));
    let mut rest = companies.skip_while(|company| from.is_some_and(|place| *company < place.company));
    let Some(company) = rest.next() else { return Ok(ConsentPage::default()) };
    let from_us = from.filter(|place| place.company == company).map_or(since_us, |place| place.from_us);

    let mut page = ConsentPageBuilder::default();
    let here = page.read(store, wanted, Place { company, from_us })?;
    let next = here.or_else(|| Some(Place { company: rest.next()?, from_us: since_us }));
    Ok(ConsentPage { next, ..page.page })
}

#[derive(Default)]
struct ConsentPageBuilder {
    page: ConsentPage,
    places: HashMap<String, usize>,
}

impl ConsentPageBuilder {
    /// Reads one page of a feed; returns where the next page continues, if the feed has more.
    fn read(&mut self, store: &Store, wanted: &ConsentFilter, from: Place) -> Found<Option<Place>> {
        let end_us = wanted.came.end.saturating_mul(1000);
        let place = (Tree::LeadEvents, from.company, from.from_us);
        let next = projection::next::<Happening>(store, place, PAGE).map_err(unread)?;
        for (_, made) in next.listed.into_iter().take_while(|(arrival_us, _)| *arrival_us < end_us) {
            if made.event_type == EventType::LeadCreated && made.test == wanted.test {
                self.add(reading::lead(store, made.lead)?);
            }
        }
        let goes_on = next.records == PAGE && next.next_us < end_us;
        Ok(goes_on.then_some(Place { from_us: next.next_us, ..from }))
    }

    fn add(&mut self, lead: Option<LeadRecord>) {
        let Some(lead) = lead else {
            self.page.gone += 1;
            return;
        };
        let stated = consents::stated(&lead);
        let last = stated.len() - 1;
        for (nth, one) in stated.into_iter().enumerate() {
            let statement = self.place(one.legal_information);
            self.page.consents.push(Consent {
                lead_uuid: lead.uuid,
                company_uuid: lead.company,
                stated_at: Timestamp::at(one.stated_at),
                statement,
                superseded: nth < last,
            });
        }
    }

    fn place(&mut self, statement: LeadLegalInformation) -> usize {
        let name = serde_json::to_string(&statement).unwrap_or_default();
        *self.places.entry(name).or_insert_with(|| {
            self.page.statements.push(statement);
            self.page.statements.len() - 1
        })
    }
}

fn unread(failure: impl std::fmt::Display) -> RecordUnavailable {
    tracing::error!(%failure, "could not read the consents of leads");
    RecordUnavailable
}
