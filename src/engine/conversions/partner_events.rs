//! Partner reports: each becomes, in one commit, a lead event, a lead action and a payout. The partner's
//! transaction id identifies it: a repeat gets the first answer, other content is refused.

use chrono::{DateTime, Duration, Utc};
use futures_util::future::join_all;
use metrics::counter;
use uuid::Uuid;

use super::attribution::{Attribution, Unpaid, attribute};
use super::writing;
use crate::matching::engine::MatchingEngine;
use crate::records::history::action_at;
use crate::records::postings::Posting;
use crate::records::public_ids::place;
use crate::records::writing::institution;
use crate::records::{RecordUnavailable, reading};
use offerd_base::ids;
use offerd_base::telemetry::metrics::PARTNER_REPORTS;
use offerd_model::{
    ApiError, ErrorType, LeadAction, PartnerEvent, PartnerEventReceipt, PartnerEventType, PartnerReport,
    PayoutCents, Timestamp, record,
};
use offerd_partners::declared::PayoutStep;
use offerd_store::entities::Happening;
use offerd_store::{Commit, CommitError, ReadResult, Store, Tree};

/// The guard of a report's own record, before that of its offer's fundings.
const STORED: usize = 0;

/// Most that a partner's clock may be ahead of ours.
pub const CLOCKS_APART: Duration = Duration::minutes(5);

record! { plain
    /// A stored report. JSON, keyed by partner and transaction id.
    ReportRecord {
        /// The partner's key.
        partner: String,
        /// The company of the lead.
        company: Uuid,
        /// The reported event.
        event: PartnerEvent,
        /// The resulting lead action, if any.
        action: Option<LeadAction>,
        /// The resulting lead event, if any.
        happening?: Happening,
        /// When it happened for reporting, Unix milliseconds, if that differs from its arrival.
        earned_at?: i64,
        /// The answer to the partner.
        receipt: PartnerEventReceipt,
        /// When an operator found right what is flagged.
        confirmed_at?: Timestamp,
    }
}

/// An accepted report.
#[derive(Debug, Clone, PartialEq)]
pub enum AcceptedReport {
    /// Accepted now.
    New(PartnerEventReceipt),
    /// Accepted before.
    Known(PartnerEventReceipt),
}

/// Why a report was refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportRefused {
    /// The report has a fault.
    Fault(ApiError),
    /// The transaction id was used for another report.
    OtherReport,
    /// No report with this transaction id can be revoked.
    NothingToRevoke,
    /// The store cannot be read or written.
    Unavailable,
}

/// The result of a report.
pub type ReportResult = Result<AcceptedReport, ReportRefused>;

/// Accepts a report by `partner`. Once this returns a receipt, the report survives a crash.
///
/// # Errors
/// [`ReportRefused`], with nothing written.
pub async fn report(engine: &MatchingEngine, partner: &str, report: &PartnerReport) -> ReportResult {
    let key = key(&engine.records.store, partner, report.transaction_id());
    let outcome = match report {
        PartnerReport::Event(event) => record(engine, partner, &key, event).await,
        PartnerReport::Revocation(_) => revoke(engine, &key).await,
    };
    let word = match &outcome {
        Ok(AcceptedReport::New(_)) => "new",
        Ok(AcceptedReport::Known(_)) => "known",
        Err(_) => "refused",
    };
    counter!(PARTNER_REPORTS, "partner" => partner.to_owned(), "outcome" => word).increment(1);
    outcome
}

/// Accepts reports, each by its partner, in order; consecutive events are written together.
pub async fn report_all(engine: &MatchingEngine, reports: &[(String, PartnerReport)]) -> Vec<ReportResult> {
    let mut outcomes = Vec::with_capacity(reports.len());
    let is_event = |(_, one): &(String, PartnerReport)| matches!(one, PartnerReport::Event(_));
    for together in reports.chunk_by(|one, next| is_event(one) && is_event(next)) {
        outcomes.extend(join_all(together.iter().map(|(partner, one)| report(engine, partner, one))).await);
    }
    outcomes
}

async fn record(engine: &MatchingEngine, partner: &str, key: &[u8], event: &PartnerEvent) -> ReportResult {
    if let Some((_, known)) = stored(engine, key)? {
        return known.answer_to(event);
    }
    let now = engine.now();
    let occurred_at = occurred_at(event, now).map_err(ReportRefused::Fault)?;
    let about = attribute(&engine.records, partner, &event.reference)?;
    let funding = Funding::of(engine, event.event_type, about.offer)?;
    let was_funded = funding.as_ref().is_some_and(|funding| funding.before > Some(0));
    let doubt = doubt(event, &about, was_funded, engine.configuration().rules.report_factor);
    let new = ReportRecord::new(partner, event, &about, (occurred_at, now.into()), doubt);
    let posting = new.posting(&about);
    let place = ReportPlace::new(key, about.is_erased.then_some(about.summary.created_at));
    let commit = writing::report(&place, &new, &about);
    let commit = posting.iter().fold(commit, |commit, posting| posting.write(commit, new.receipt.uuid));
    let commit = funding.iter().fold(commit, |commit, funding| funding.counted(commit, 1));
    match engine.commit(commit).await {
        Ok(()) => {
            posting.iter().for_each(|posting| engine.limiter.add_payout(posting));
            Ok(AcceptedReport::New(new.receipt))
        }
        // Its lead has just been erased, or its offer funded: it is looked at again.
        Err(CommitError::Erased) => Box::pin(record(engine, partner, key, event)).await,
        Err(CommitError::Guard { index, .. }) if index != STORED => {
            Box::pin(record(engine, partner, key, event)).await
        }
        // The same report arrived concurrently on another connection.
        Err(CommitError::Guard { found, .. }) => read(engine, &place, &found)?.answer_to(event),
        Err(_) => Err(ReportRefused::Unavailable),
    }
}

async fn revoke(engine: &MatchingEngine, key: &[u8]) -> ReportResult {
    let (place, earlier) = stored(engine, key)?.ok_or(ReportRefused::NothingToRevoke)?;
    if earlier.receipt.revoked_at.is_some() {
        return Ok(AcceptedReport::Known(earlier.receipt));
    }
    let revoked = earlier.clone().revoked(engine.now().into());
    let posting = Posting::read(&engine.records.store, earlier.receipt.uuid);
    let product_type = earlier.receipt.product_type.or(posting.as_ref().map(|posting| posting.product_type));
    let (institution, test) = earlier.place(engine);
    let commit = writing::revoked_report(&place, &earlier, &revoked, (product_type, institution, test));
    let funding = Funding::of(engine, earlier.receipt.event_type, earlier.receipt.offer_uuid)?;
    let commit = funding.iter().fold(commit, |commit, funding| funding.counted(commit, -1));
    match engine.commit(Posting::remove(commit, earlier.receipt.uuid)).await {
        Ok(()) => {
            posting.iter().for_each(|posting| engine.limiter.reverse_payout(posting));
            Ok(AcceptedReport::New(revoked.receipt))
        }
        Err(CommitError::Guard { index, .. }) if index != STORED => Box::pin(revoke(engine, key)).await,
        Err(CommitError::Guard { found, .. }) => {
            Ok(AcceptedReport::Known(read(engine, &place, &found)?.receipt))
        }
        Err(_) => Err(ReportRefused::Unavailable),
    }
}

/// Marks a flagged report as right, so that it is flagged no longer.
///
/// # Errors
/// [`ReportRefused`], with nothing written.
pub async fn confirm(engine: &MatchingEngine, partner: &str, transaction_id: &str) -> ReportResult {
    let key = key(&engine.records.store, partner, transaction_id);
    let (place, earlier) = stored(engine, &key)?.ok_or(ReportRefused::NothingToRevoke)?;
    if !earlier.is_flagged() {
        return Ok(AcceptedReport::Known(earlier.receipt));
    }
    let confirmed = ReportRecord { confirmed_at: Some(engine.now().into()), ..earlier.clone() };
    match engine.commit(writing::changed_report(&place, &earlier, &confirmed)).await {
        Ok(()) => Ok(AcceptedReport::New(confirmed.receipt)),
        Err(_) => Err(ReportRefused::Unavailable),
    }
}

/// The report of a partner with this transaction id, if any.
///
/// # Errors
/// The store cannot be read.
pub fn find(
    engine: &MatchingEngine,
    partner: &str,
    transaction_id: &str,
) -> Result<Option<ReportRecord>, ReportRefused> {
    let key = key(&engine.records.store, partner, transaction_id);
    Ok(stored(engine, &key)?.map(|(_, record)| record))
}

/// How often an offer was funded.
struct Funding {
    place: Uuid,
    before: Option<u64>,
}

impl Funding {
    /// Of the offer of a funding.
    fn of(
        engine: &MatchingEngine,
        event_type: PartnerEventType,
        offer: Option<Uuid>,
    ) -> Result<Option<Self>, ReportRefused> {
        let Some(offer) = offer.filter(|_| event_type == PartnerEventType::Funded) else { return Ok(None) };
        let Some((table, number)) = reading::offer(&engine.records, offer)? else { return Ok(None) };
        let place = place(table, number);
        let before = reading::count(&engine.records.store, Tree::Fundings, place)?;
        Ok(Some(Self { place, before }))
    }

    /// Counts one more or one less, guarded against concurrent reports.
    fn counted(&self, commit: Commit, more: i64) -> Commit {
        let after = self.before.unwrap_or(0).saturating_add_signed(more).to_be_bytes();
        let commit = commit.as_found(Tree::Fundings, self.place, self.before.map(u64::to_be_bytes));
        commit.put(Tree::Fundings, self.place, after.to_vec())
    }
}

impl ReportRecord {
    /// Whether someone should look at it: it books nothing where a payout was to be expected, or looks wrong.
    pub fn is_flagged(&self) -> bool {
        self.receipt.warning.is_some() && self.receipt.revoked_at.is_none() && self.confirmed_at.is_none()
    }

    fn new(
        partner: &str,
        event: &PartnerEvent,
        about: &Attribution,
        (at, now): (Timestamp, Timestamp),
        doubt: Option<String>,
    ) -> Self {
        let uuid = ids::timed();
        let amount = event.amount_in_cents.map(|cents| f64::from(cents) / 100.0);
        let action =
            event.event_type.action_type(about.special).filter(|_| !about.is_erased).map(|action_type| {
                LeadAction {
                    amount: amount.map(|dollars| dollars.round() as i32),
                    reject_reason: event.reject_reason,
                    created_at: now,
                    ..action_at(&about.seat, uuid, action_type, at)
                }
            });
        let payout = payout_cents(event, about, amount);
        let receipt = PartnerEventReceipt {
            uuid,
            transaction_id: event.transaction_id.clone(),
            event_type: event.event_type,
            lead_uuid: about.lead,
            occurred_at: at,
            created_at: now,
            offer_uuid: about.offer,
            product_type: about.product_type,
            amount_in_cents: event.amount_in_cents,
            payout_in_cents: (payout > 0.0).then_some(PayoutCents(payout)),
            warning: (payout == 0.0).then(|| warning(event, about)).flatten().map(str::to_owned).or(doubt),
            reject_reason: event.reject_reason,
            revoked_at: None,
        };
        Self {
            partner: partner.to_owned(),
            company: about.summary.company,
            event: event.clone(),
            action,
            happening: writing::happening(&receipt, about),
            // Nothing happens to a lead before its creation, whatever the partner says.
            earned_at: Some(at.millis().max(about.summary.created_at)).filter(|at| *at != now.millis()),
            receipt,
            confirmed_at: None,
        }
    }

    /// The institution of the booking, and whether its lead is a test. A report without an event that names
    /// them is still about the same seat.
    fn place(&self, engine: &MatchingEngine) -> (Option<(Uuid, String)>, bool) {
        if let Some(Happening { institution: Some(institution), test, .. }) = &self.happening {
            return (Some(institution.clone()), *test);
        }
        let about = attribute(&engine.records, &self.partner, &self.event.reference).ok();
        (about.as_ref().map(|it| institution(&it.seat)), about.is_some_and(|it| it.summary.test))
    }

    fn posting(&self, about: &Attribution) -> Option<Posting> {
        let cents = self.receipt.payout_in_cents.filter(|_| !about.summary.test)?.0;
        let product_type = self.receipt.product_type.unwrap_or(about.seat.product_type);
        let at = self.receipt.created_at.millis();
        Some(Posting { partner: self.partner.clone(), product_type, at, cents })
    }

    fn answer_to(self, event: &PartnerEvent) -> ReportResult {
        let is_same = self.event == *event;
        is_same.then_some(AcceptedReport::Known(self.receipt)).ok_or(ReportRefused::OtherReport)
    }

    fn revoked(mut self, now: Timestamp) -> Self {
        self.receipt.revoked_at = Some(now);
        if let Some(action) = &mut self.action {
            action.deleted_at = Some(now);
        }
        self
    }
}

/// The company's earnings in cents: as reported, or else by the partner file's payout for the step.
fn payout_cents(event: &PartnerEvent, about: &Attribution, amount: Option<f64>) -> f64 {
    if !about.earns {
        return 0.0;
    }
    let step = PayoutStep::reported(event.event_type);
    let rule = about.payout.filter(|payout| Some(payout.on) == step);
    let amount = amount.or(about.loan_amount.map(f64::from));
    event.payout_in_cents.or(rule.map(|payout| payout.dollars(amount) * 100.0)).unwrap_or_default()
}

/// Why a report books nothing where a payout was to be expected.
fn warning(event: &PartnerEvent, about: &Attribution) -> Option<&'static str> {
    if about.summary.test {
        return None;
    }
    let step = PayoutStep::reported(event.event_type)?;
    match (&about.payout, &about.unpaid) {
        (Some(payout), _) if payout.on == step && event.payout_in_cents.is_some() => {
            Some("books nothing: `payoutInCents` is 0, and the partner file pays for this step")
        }
        _ if event.payout_in_cents.is_some() => None,
        (Some(payout), _) if payout.on == step => Some(
            "books nothing: the offer pays a percentage, and no amount is known; give `amountInCents` or `payoutInCents`",
        ),
        (_, Some(Unpaid::Several(steps))) if steps.contains(&step) => Some(
            "books nothing: your offers to the lead pay differently, and not exactly one was clicked; name one by `clickId` \
             or `offerUuid`, or give `payoutInCents`",
        ),
        (_, Some(Unpaid::NoOffer)) if step == PayoutStep::Funded => Some(
            "books nothing: the lead was shown no offer of yours; give `payoutInCents` if you pay for it",
        ),
        _ => None,
    }
}

/// Why a report looks wrong, although it is booked.
fn doubt(event: &PartnerEvent, about: &Attribution, was_funded: bool, factor: u32) -> Option<String> {
    if about.summary.test {
        return None;
    }
    if was_funded {
        return Some("looks wrong: the offer was funded before, as another report says".to_owned());
    }
    let step = PayoutStep::reported(event.event_type);
    let asked = about.loan_amount.map(f64::from);
    let reported = event.amount_in_cents.map(|cents| f64::from(cents) / 100.0);
    let rule = about.payout.filter(|payout| Some(payout.on) == step);
    let usual = rule.map(|payout| payout.dollars(reported.or(asked)));
    let paid = event.payout_in_cents.map(|cents| cents / 100.0);
    let far = |what, given: Option<f64>, usual: Option<f64>, of: &str| {
        let (given, usual) = given.zip(usual).filter(|(given, usual)| *given > 0.0 && *usual > 0.0)?;
        let factor = f64::from(factor);
        let is_far = factor > 0.0 && (given > usual * factor || given * factor < usual);
        is_far.then(|| format!("looks wrong: the {what} ${given:.2} is far from the ${usual:.2} of the {of}"))
    };
    far("payout", paid, usual, "partner file").or_else(|| far("amount", reported, asked, "lead's request"))
}

fn occurred_at(event: &PartnerEvent, now: DateTime<Utc>) -> Result<Timestamp, ApiError> {
    // The store's clock trails a machine's clock that was just put right.
    let latest = now.max(Utc::now()) + CLOCKS_APART;
    match event.occurred_at {
        Some(at) if at.to_utc() > latest => {
            let minutes = CLOCKS_APART.num_minutes();
            let message = format!("must be at most {minutes} minutes ahead of this service's clock");
            Err(ApiError::at("occurredAt", ErrorType::Malformed, message))
        }
        given => Ok(given.unwrap_or(now.into())),
    }
}

/// The key of a report. A partner's key is a file name, so it holds no zero byte.
pub fn key(store: &Store, partner: &str, transaction_id: &str) -> [u8; 32] {
    store.blind("report", format!("{partner}\0{transaction_id}").as_bytes())
}

/// Where a report is stored: sealed with its lead's key, or apart once the lead is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPlace(Tree, Vec<u8>);

impl ReportPlace {
    /// The place of a report by its [`key`]; `erased` has when an erased lead was created, Unix milliseconds.
    pub fn new(key: &[u8], erased: Option<i64>) -> Self {
        match erased {
            None => Self(Tree::PartnerEvents, key.to_vec()),
            Some(created_at) => Self(Tree::ErasedReports, [key, &created_at.to_be_bytes()].concat()),
        }
    }

    /// Its tree.
    pub fn tree(&self) -> Tree {
        self.0
    }

    /// Its key in the tree.
    pub fn key(&self) -> &[u8] {
        &self.1
    }

    /// Whether its lead is erased.
    pub fn is_of_erased(&self) -> bool {
        self.0 == Tree::ErasedReports
    }
}

fn stored(engine: &MatchingEngine, key: &[u8]) -> Result<Option<(ReportPlace, ReportRecord)>, ReportRefused> {
    let store = &engine.records.store;
    let of_live = || store.read_json(Tree::PartnerEvents, key);
    if let Some(record) = of_live().map_err(|_| ReportRefused::Unavailable)? {
        return Ok(Some((ReportPlace::new(key, None), record)));
    }
    let found = store.scan(Tree::ErasedReports, key).next().transpose();
    let Some((key, bytes)) = found.map_err(|_| ReportRefused::Unavailable)? else { return Ok(None) };
    let place = ReportPlace(Tree::ErasedReports, key);
    read(engine, &place, &bytes).map(|record| Some((place, record)))
}

fn read(engine: &MatchingEngine, place: &ReportPlace, bytes: &[u8]) -> Result<ReportRecord, ReportRefused> {
    let ReportPlace(tree, key) = place;
    engine.records.store.decode_json(*tree, key, bytes).map_err(|_| ReportRefused::Unavailable)
}

/// The [flagged](ReportRecord::is_flagged) reports, oldest first.
///
/// # Errors
/// A report cannot be read.
pub fn flagged(store: &Store) -> ReadResult<Vec<ReportRecord>> {
    let mut flagged = Vec::new();
    for tree in [Tree::PartnerEvents, Tree::ErasedReports] {
        for found in store.scan(tree, []) {
            let (key, bytes) = found?;
            let record: ReportRecord = store.decode_json(tree, &key, &bytes)?;
            if record.is_flagged() {
                flagged.push(record);
            }
        }
    }
    flagged.sort_by_key(|record| record.receipt.created_at.millis());
    Ok(flagged)
}

impl ReportRefused {
    /// The error for the reporting partner.
    pub fn error(self) -> ApiError {
        match self {
            Self::Fault(fault) => fault,
            Self::OtherReport => {
                ApiError::at("transactionId", ErrorType::Duplicate, "came with another report before")
            }
            Self::NothingToRevoke => {
                let message = "names no report that can be reversed";
                ApiError::at("transactionId", ErrorType::InvalidUuidReference, message)
            }
            Self::Unavailable => {
                ApiError::new(ErrorType::Unavailable, "The record cannot be read or written; try again later")
            }
        }
    }
}

impl From<RecordUnavailable> for ReportRefused {
    fn from(_: RecordUnavailable) -> Self {
        Self::Unavailable
    }
}
