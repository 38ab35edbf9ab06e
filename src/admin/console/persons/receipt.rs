//! The receipt of an erasure: a page to print, and the same as JSON. It names nobody, and is kept nowhere: who loads it again has nothing more
//! erased, and the audit has its number.

use minijinja::value::Value;

use super::super::section::Section;
use super::super::view::{Page, fields};
use crate::admin::command::our_fault;
use crate::persons::erasure::{Destroyed, Remaining};
use crate::persons::request::{Listed, Receipt};
use crate::web::Failure;

/// Leads that the page lists; the JSON has all.
const LISTED: usize = 1000;

pub(super) const RECEIPT: Page = Page::new(Section::Persons, "receipt.html");

/// What stands on the page of a receipt. `left_alone` says whether what was typed is on the list, since now or before.
///
/// # Errors
/// Our fault.
pub(super) fn fields_of(receipt: Receipt, left_alone: bool) -> Result<Value, Failure> {
    let json = serde_json::to_string_pretty(&receipt).map_err(our_fault("a receipt could not be written"))?;
    let erased = receipt.leads.iter().take(LISTED).map(|lead| {
        fields! {
            uuid => lead.lead_uuid,
            at => lead.erased_at.millis(),
            destroyed => destroyed(&lead.destroyed),
            remaining => remaining(&lead.remaining),
        }
    });
    Ok(fields! {
        uuid => receipt.receipt_uuid,
        erased_at => receipt.erased_at.millis(),
        count => receipt.leads.len(),
        leads => erased.collect::<Vec<_>>(),
        by => receipt.by,
        reason => receipt.reason.as_deref().unwrap_or_default(),
        daemon => receipt.daemon,
        companies => receipt.companies,
        listed => receipt.left_alone.map(Listed::told),
        left_alone,
        json,
    })
}

fn destroyed(records: &Destroyed) -> Vec<(&'static str, u64)> {
    let Destroyed {
        leads,
        answers,
        transcripts,
        lead_actions,
        partner_reports,
        client_tags,
        offer_displays,
        hashes,
    } = *records;
    some([
        ("lead", leads),
        ("partners' answers", answers),
        ("transcripts", transcripts),
        ("actions", lead_actions),
        ("partners' reports", partner_reports),
        ("client tags", client_tags),
        ("offers seen", offer_displays),
        ("hashes", hashes),
    ])
}

fn remaining(records: &Remaining) -> Vec<(&'static str, u64)> {
    let Remaining { rate_tables, lead_events, lead_payouts } = *records;
    some([("rate tables", rate_tables), ("events", lead_events), ("payouts", lead_payouts)])
}

/// Those of which there are some.
fn some<const N: usize>(records: [(&'static str, u64); N]) -> Vec<(&'static str, u64)> {
    records.into_iter().filter(|(_, count)| *count > 0).collect()
}
