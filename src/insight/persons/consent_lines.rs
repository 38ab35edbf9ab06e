//! Consents as lines, for the command and the console alike: a summary by statement, or one line per lead.

use std::collections::HashMap;
use std::ops::Range;

use chrono::{Days, NaiveDate, NaiveTime};
use serde::Serialize;

use super::consents::{Consent, ConsentPage};
use offerd_model::{LeadLegalInformation, Timestamp};

/// The most distinct statements in a summary. Texts that name the person are as many as the leads.
pub const STATEMENTS: usize = 10_000;

/// The fields of a line with their names; every line has the same names.
pub type ConsentFields = Vec<(&'static str, Option<String>)>;

/// The days (UTC) on which leads arrived, both inclusive; `None` leaves that end open.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArrivalDays {
    /// First day.
    pub from: Option<NaiveDate>,
    /// Last day.
    pub to: Option<NaiveDate>,
}

/// How many leads made a statement, and when.
#[derive(Debug, Serialize)]
pub struct ConsentSummary {
    /// The statement.
    pub statement: LeadLegalInformation,
    /// The number of leads that made it.
    pub leads: u64,
    /// How many of these leads have made a different statement since.
    pub superseded: u64,
    /// When it was first made.
    pub first: Timestamp,
    /// When it was last made.
    pub last: Timestamp,
}

/// Builds summaries page by page.
#[derive(Debug, Default)]
pub struct Summaries {
    all: Vec<ConsentSummary>,
    places: HashMap<String, usize>,
}

/// There are more than [`STATEMENTS`] distinct statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

impl ArrivalDays {
    /// Converts the days to a range of Unix milliseconds.
    ///
    /// # Errors
    /// The last day is before the first; a sentence.
    pub fn range(self) -> Result<Range<u64>, String> {
        let Self { from, to } = self;
        if let (Some(from), Some(to)) = (from, to)
            && to < from
        {
            return Err(format!("the last day, {to}, is before the first, {from}"));
        }
        let millis = |day: NaiveDate| {
            u64::try_from(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis()).unwrap_or(0)
        };
        let behind = to.and_then(|day| day.checked_add_days(Days::new(1)));
        Ok(from.map_or(0, millis)..behind.map_or(u64::MAX, millis))
    }
}

impl Summaries {
    /// Adds a page of consents.
    ///
    /// # Errors
    /// [`TooMany`]
    pub fn add(&mut self, page: &ConsentPage) -> Result<(), TooMany> {
        page.consents.iter().try_for_each(|consent| self.sum_up(consent, &page.statements[consent.statement]))
    }

    /// The summaries, most frequent first.
    pub fn sorted(mut self) -> Vec<ConsentSummary> {
        self.all.sort_by_key(|summary| std::cmp::Reverse(summary.leads));
        self.all
    }

    fn sum_up(&mut self, consent: &Consent, statement: &LeadLegalInformation) -> Result<(), TooMany> {
        // Each lead has certificates of its own.
        let statement =
            LeadLegalInformation { trusted_form_cert_url: None, jornaya_lead_id: None, ..statement.clone() };
        let name = serde_json::to_string(&statement).unwrap_or_default();
        let at = consent.stated_at;
        let place = *self.places.entry(name).or_insert(self.all.len());
        if place == STATEMENTS {
            return Err(TooMany);
        }
        if place == self.all.len() {
            self.all.push(ConsentSummary { statement, leads: 0, superseded: 0, first: at, last: at });
        }
        let summary = &mut self.all[place];
        summary.leads += 1;
        summary.superseded += u64::from(consent.superseded);
        (summary.first, summary.last) = (summary.first.min(at), summary.last.max(at));
        Ok(())
    }
}

impl ConsentSummary {
    /// Whether these leads neither gave nor denied a consent.
    pub fn says_nothing(&self) -> bool {
        let LeadLegalInformation { consents_to_fcra, consents_to_tcpa, consents_to_sms, .. } = self.statement;
        [consents_to_fcra, consents_to_tcpa, consents_to_sms].iter().all(Option::is_none)
            && self.statement.batch_consent_version.is_none()
    }

    /// The summary's line.
    pub fn fields(&self) -> ConsentFields {
        let mut fields = vec![
            ("leads", Some(self.leads.to_string())),
            ("superseded", Some(self.superseded.to_string())),
            ("first", Some(self.first.to_string())),
            ("last", Some(self.last.to_string())),
        ];
        fields.extend(stated(&self.statement));
        fields
    }
}

/// The line of one lead's statement.
pub fn each(consent: &Consent, statement: &LeadLegalInformation) -> ConsentFields {
    let mut fields = vec![
        ("leadUuid", Some(consent.lead_uuid.to_string())),
        ("companyUuid", Some(consent.company_uuid.to_string())),
        ("statedAt", Some(consent.stated_at.to_string())),
        ("superseded", Some(consent.superseded.to_string())),
    ];
    fields.extend(stated(statement));
    let text = |text: &str| text.to_owned();
    fields.extend([
        ("trustedFormCertUrl", statement.trusted_form_cert_url.as_ref().map(|url| text(url.as_str()))),
        ("jornayaLeadId", statement.jornaya_lead_id.as_ref().map(|id| text(id.as_str()))),
    ]);
    fields
}

fn stated(statement: &LeadLegalInformation) -> ConsentFields {
    let said = |is: Option<bool>| is.map(|is| is.to_string());
    let version = statement.batch_consent_version.map(|version| version.as_str().to_owned());
    vec![
        ("consentsToFcra", said(statement.consents_to_fcra)),
        ("consentsToTcpa", said(statement.consents_to_tcpa)),
        ("consentsToSms", said(statement.consents_to_sms)),
        ("batchConsentVersion", version),
        ("fcraLanguage", statement.fcra_language.clone()),
        ("tcpaLanguage", statement.tcpa_language.clone()),
        ("batchConsentLanguage", statement.batch_consent_language.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_whole_and_in_order() {
        let day = |text: &str| Some(text.parse::<NaiveDate>().unwrap());
        assert_eq!(ArrivalDays::default().range(), Ok(0..u64::MAX));
        let one = ArrivalDays { from: day("1970-01-02"), to: day("1970-01-02") };
        assert_eq!(one.range(), Ok(86_400_000..2 * 86_400_000));
        let long_ago = ArrivalDays { from: day("1950-01-01"), to: day("1960-01-01") };
        assert_eq!(long_ago.range(), Ok(0..0));
        let turned = ArrivalDays { from: day("2026-03-31"), to: day("2026-01-01") }.range().unwrap_err();
        assert_eq!(turned, "the last day, 2026-01-01, is before the first, 2026-03-31");
    }
}
