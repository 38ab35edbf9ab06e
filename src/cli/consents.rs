//! `offerd person consents`: who agreed to what, and when.

use std::collections::HashMap;
use std::path::PathBuf;

use chrono::{Days, NaiveDate};
use clap::Args;
use hyper::Method;
use uuid::Uuid;

use super::admin_client::AdminClient;
use super::lines::{Fields, Format, Lines};
use super::progress::Bar;
use super::trouble::Trouble;
use crate::model::{LeadLegalInformation, Timestamp};
use crate::persons::consents::{Consent, ConsentPage, Place};

/// Different statements that a summary has at most: texts that name the person are as many as the leads.
const STATEMENTS: usize = 10_000;

/// `offerd person consents`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd person consents
  offerd person consents --from 2026-01-01 --to 2026-03-31 --format csv > consents.csv
  offerd person consents --each --company 0197d7b0-5bb3-7e26-9d38-2f3b9c6d4a11 --format json

Of each lead counts what it says now, and what it said before a client sent something else. Who a lead is about tells
`offerd lead export UUID`. Leads that were erased tell nothing.")]
pub struct Arguments {
    /// First day on which the leads came (UTC), such as 2026-01-01
    #[arg(long, value_name = "DAY")]
    from: Option<NaiveDate>,
    /// Last day
    #[arg(long, value_name = "DAY")]
    to: Option<NaiveDate>,
    /// Only leads of this company
    #[arg(long, value_name = "UUID")]
    company: Option<Uuid>,
    /// Test leads, rather than live ones
    #[arg(long)]
    test: bool,
    /// A line of each lead and statement, rather than of each statement
    #[arg(long)]
    each: bool,
    /// How it is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// File to make, readable by its owner only, rather than standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How often something was stated.
struct Summary {
    statement: LeadLegalInformation,
    leads: u64,
    superseded: u64,
    first: Timestamp,
    last: Timestamp,
}

/// Runs `offerd person consents`.
pub async fn run(admin: &AdminClient, arguments: &Arguments) -> Result<(), Trouble> {
    let mut lines = Lines::begin(arguments.format, arguments.out.as_deref())?;
    let bar = Bar::begin("{human_pos} consents read");
    let (mut summaries, mut places, mut read, mut gone) = (Vec::new(), HashMap::new(), 0, 0);
    let mut next = None;
    loop {
        let page: ConsentPage = admin.ask(Method::GET, &arguments.query(next)).await?;
        read += page.consents.len() as u64;
        gone += page.gone;
        bar.show(read, read);
        for consent in &page.consents {
            let statement = &page.statements[consent.statement];
            if arguments.each {
                lines.add(each(consent, statement))?;
            } else {
                sum_up(&mut summaries, &mut places, consent, statement)?;
            }
        }
        next = page.next;
        if next.is_none() || lines.is_full() {
            break;
        }
    }
    summaries.sort_by_key(|summary: &Summary| std::cmp::Reverse(summary.leads));
    summaries.iter().try_for_each(|summary| lines.add(summary.fields()))?;
    drop(bar);
    lines.end()?;
    if gone > 0 {
        eprintln!("{gone} leads are not there any more, and tell nothing");
    }
    Ok(())
}

fn sum_up(
    summaries: &mut Vec<Summary>,
    places: &mut HashMap<String, usize>,
    consent: &Consent,
    statement: &LeadLegalInformation,
) -> Result<(), Trouble> {
    let name = serde_json::to_string(statement).unwrap_or_default();
    let at = consent.stated_at;
    let place = *places.entry(name).or_insert(summaries.len());
    if place == STATEMENTS {
        return Err(Trouble::Other(format!(
            "there are more than {STATEMENTS} different texts, as many as leads perhaps: ask for a line of each by `--each`"
        )));
    }
    if place == summaries.len() {
        let statement = statement.clone();
        summaries.push(Summary { statement, leads: 0, superseded: 0, first: at, last: at });
    }
    let summary = &mut summaries[place];
    summary.leads += 1;
    summary.superseded += u64::from(consent.superseded);
    (summary.first, summary.last) = (summary.first.min(at), summary.last.max(at));
    Ok(())
}

impl Arguments {
    /// What is asked for, as the admin listener reads it.
    fn query(&self, next: Option<Place>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let millis =
            |day: NaiveDate| day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis().max(0);
        let behind = self.to.and_then(|day| day.checked_add_days(Days::new(1)));
        let mut pair = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        };
        pair("from", self.from.map(|day| millis(day).to_string()));
        pair("until", behind.map(|day| millis(day).to_string()));
        pair("company", self.company.map(|company| company.to_string()));
        pair("leads", self.test.then(|| "test".to_owned()));
        pair("nextCompany", next.map(|next| next.company.to_string()));
        pair("nextUs", next.map(|next| next.from_us.to_string()));
        format!("/consents?{}", query.finish())
    }
}

fn each(consent: &Consent, statement: &LeadLegalInformation) -> Fields {
    let mut fields = vec![
        ("leadUuid", Some(consent.lead_uuid.to_string())),
        ("companyUuid", Some(consent.company_uuid.to_string())),
        ("statedAt", Some(consent.stated_at.to_string())),
        ("superseded", Some(consent.superseded.to_string())),
    ];
    fields.extend(stated(statement));
    fields
}

impl Summary {
    fn fields(&self) -> Fields {
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

fn stated(statement: &LeadLegalInformation) -> Fields {
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
