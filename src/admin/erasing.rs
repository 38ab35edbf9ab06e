//! `POST /persons/erase` for `offerd person erase` and the console. Streams progress, then the receipt.
//!
//! An erasure runs to its end, even when the caller leaves, in rounds of `limits.leads_erased_at_once`:
//! before the first the audit records all leads and the receipt (`person.erase`), and after each that its
//! leads are erased (`person.erased`). The receipt, and what a crash has interrupted
//! ([`unfinished`]), can be recovered from these.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use metrics::{counter, gauge};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinError, JoinHandle};

use super::audit::{LEADS_PER_RECORD, with_leads};
use super::persons::{PersonOrder, PersonRequest, about, begun, carried_out, opt_out_by_all_keys};
use super::prelude::*;
use offerd_base::ids;
use offerd_base::telemetry::metrics::{ERASURE_LEADS_LEFT, LEADS_ERASED};
use offerd_insight::persons::erasure::{self, Erasure};
use offerd_insight::persons::request::{self, Receipt};
use offerd_model::Timestamp;
use offerd_store::ReadError;
use offerd_store::audit::{AuditFilter, AuditLog};

/// A line of the answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErasureLine {
    /// Progress so far.
    Progress(ErasureProgress),
    /// Results for some of the leads.
    Erased(Vec<Erasure>),
    /// The receipt, without its leads, which earlier lines contain; the last line.
    Receipt(Receipt),
    /// Why it failed; the last line.
    Failed(String),
}

/// Progress of an erasure.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ErasureProgress {
    /// Leads erased so far.
    pub done: usize,
    /// Leads in total.
    pub of: usize,
}

pub(super) async fn erase(mut context: Context) -> Result<Reply> {
    let request: PersonOrder = read_body(&mut context, BODY_BYTES).await?;
    let suppress = request.suppress;
    let (mut progress, ended) = begin(&context.app, PersonRequest::ordered(&context, request)?, suppress)?;
    // A failure before the start is the answer itself; a later one can only be a line of it.
    let Some(first) = progress.recv().await else {
        return Ok(json_lines(stream::iter(result_lines(Ok(join(ended.await)?)))));
    };
    let more = stream::unfold(progress, |mut progress| async { Some((progress.recv().await?, progress)) });
    let lines = stream::iter([first]).chain(more).map(ErasureLine::Progress);
    let ended = stream::once(ended).flat_map(|ended| stream::iter(result_lines(join(ended))));
    Ok(json_lines(lines.chain(ended)))
}

fn result_lines(ended: Result<Receipt>) -> Vec<ErasureLine> {
    match ended {
        Ok(mut receipt) => {
            let leads = std::mem::take(&mut receipt.leads);
            let some = leads.chunks(LEADS_PER_RECORD).map(|some| ErasureLine::Erased(some.to_vec()));
            some.chain([ErasureLine::Receipt(receipt)]).collect()
        }
        Err(failure) => vec![ErasureLine::Failed(failure.words())],
    }
}

/// Erases all leads of a person, and opts them out if `suppress` is set. Fails when not all of them are
/// erased; erases none when that could not be audited before.
pub(super) async fn erase_all(app: &Arc<AdminState>, wish: PersonRequest, suppress: bool) -> Result<Receipt> {
    join(begin(app, wish, suppress)?.1.await)
}

/// A running erasure: its progress, and its end.
type RunningErasure = (UnboundedReceiver<ErasureProgress>, JoinHandle<Result<Receipt>>);

fn begin(app: &Arc<AdminState>, wish: PersonRequest, suppress: bool) -> Result<RunningErasure> {
    wish.who()?;
    let (told, progress) = unbounded_channel();
    let begun = Arc::clone(app);
    let work = async move { erase_in_rounds(&begun, &wish, suppress, &told).await };
    Ok((progress, app.detached.begin(work)))
}

fn join(ended: Result<Result<Receipt>, JoinError>) -> Result<Receipt> {
    ended.map_err(our_fault("an erasure stopped early"))?
}

struct LeadsToErase(usize);

impl LeadsToErase {
    fn of(leads: usize) -> Self {
        gauge!(ERASURE_LEADS_LEFT).increment(leads as f64);
        Self(leads)
    }

    fn less(&mut self, leads: usize) {
        self.0 -= leads;
        gauge!(ERASURE_LEADS_LEFT).decrement(leads as f64);
        counter!(LEADS_ERASED).increment(leads as u64);
    }
}

impl Drop for LeadsToErase {
    fn drop(&mut self) {
        gauge!(ERASURE_LEADS_LEFT).decrement(self.0 as f64);
    }
}

async fn erase_in_rounds(
    app: &Arc<AdminState>,
    wish: &PersonRequest,
    suppress: bool,
    told: &UnboundedSender<ErasureProgress>,
) -> Result<Receipt> {
    let about = about(app, wish).await?;
    let opted_out = if suppress { Some(opt_out_by_all_keys(app, wish, &about.named).await?) } else { None };
    let companies = request::companies(&app.engine, &about.found).into_values().collect();
    super::reports::settle(app).await;
    let found = about.found.into_iter().map(|found| found.lead_uuid);
    // Damaged leads are erased too: their keys are destroyed.
    let found: Vec<Uuid> = found.chain(about.damaged).collect();
    let receipt_uuid = ids::random();
    let mut left = LeadsToErase::of(found.len());
    let mut receipt = Receipt {
        receipt_uuid,
        erased_at: Timestamp::default(),
        rounds: 0,
        by: wish.by.who.clone(),
        reason: wish.reason.clone(),
        daemon: app.named(),
        companies,
        opted_out,
        unread: about.unread,
        leads: Vec::new(),
    };
    let (named, reason) = (format!("receipt {receipt_uuid}"), wish.reason.as_deref());
    app.note_leads(&wish.by, "person.erase", (&named, &found), reason).await?;
    // The receiver may be gone.
    let _ = told.send(ErasureProgress { done: 0, of: found.len() });
    for round in found.chunks(app.settings().limits.leads_erased_at_once) {
        let progress = ErasureProgress { done: receipt.leads.len(), of: found.len() };
        if *app.console.stop.borrow() {
            return Err(cut_short(unavailable("the daemon is stopping"), receipt_uuid, progress));
        }
        let erased = erase_round(app, wish, (receipt_uuid, round), (progress, told)).await;
        let erased = erased.map_err(|failure| cut_short(failure, receipt_uuid, progress))?;
        left.less(round.len());
        receipt.rounds += 1;
        receipt.leads.extend(erased);
    }
    if found.is_empty() {
        app.note_leads(&wish.by, "person.erased", (&named, &[]), reason).await?;
    }
    let (leads, reason) = (receipt.leads.len(), &wish.reason);
    let (who, action) = (&wish.by.who, "person.erase");
    audit_by!(who, action, receipt = %receipt_uuid, leads, reason, "personal data of all leads of a person");
    receipt.erased_at = Utc::now().into();
    Ok(receipt)
}

async fn erase_round(
    app: &Arc<AdminState>,
    wish: &PersonRequest,
    (receipt, round): (Uuid, &[Uuid]),
    (mut progress, told): (ErasureProgress, &UnboundedSender<ErasureProgress>),
) -> Result<Vec<Erasure>> {
    let (leads, told, tags) = (round.to_vec(), told.clone(), app.settings().reports.tags.clone());
    let erased = carried_out(app, move |engine, runtime| {
        let mut tell = |more: usize| {
            progress.done += more;
            let _ = told.send(progress);
        };
        runtime.block_on(erasure::erase_all(engine, &leads, &tags, &mut tell))
    });
    let erased = erased.await?;
    let gone: Vec<Uuid> = erased.iter().map(|lead| lead.lead_uuid).collect();
    for leads in gone.chunks(LEADS_PER_RECORD) {
        let note = note!("person.erased").because(wish.reason.as_deref());
        app.note_if_can(&wish.by, note.about(with_leads(&format!("receipt {receipt}"), leads))).await;
    }
    Ok(erased)
}

/// The erasures that were cut off, one sentence each. The audit lists leads of them that still have a key.
pub fn unfinished(store: &Store) -> Result<Vec<String>, ReadError> {
    let (audit, mut last, mut left) = (AuditLog::of(store.clone()), Some(0), BTreeMap::new());
    let filter = AuditFilter { action: Some("person.erase".to_owned()), ..AuditFilter::default() };
    while let Some(number) = last {
        let (records, next) = audit.after(number, &filter, LEADS_PER_RECORD, LEADS_PER_RECORD)?;
        for object in records.into_iter().filter_map(|record| record.object) {
            let Some((receipt, leads)) = object.split_once(": ") else { continue };
            for lead in leads.split(' ').filter_map(|lead| lead.parse().ok()) {
                if store.has_key(lead)? {
                    *left.entry(receipt.to_owned()).or_insert(0) += 1;
                }
            }
        }
        last = next;
    }
    let sentence = |(receipt, leads): (String, u64)| {
        format!(
            "the erasure with {receipt} was begun, and {leads} of its leads are not erased: if it is not running \
                on any node, repeat `offerd person erase` for the same address"
        )
    };
    Ok(left.into_iter().map(sentence).collect())
}

/// The failure of a round, with what was erased before it.
fn cut_short(failure: Failure, receipt: Uuid, ErasureProgress { done, of }: ErasureProgress) -> Failure {
    if done == 0 {
        return begun(failure);
    }
    unavailable(format!(
        "{}; {done} of {of} leads are erased under receipt {receipt}, and the audit lists them: repeat the \
            erasure for the others",
        failure.words()
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::FutureExt;
    use http_body_util::BodyExt;
    use hyper::{Method, Request};
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::StoppedAdmin;
    use crate::store::StoreReport;
    use offerd_base::config::Settings;
    use offerd_engine::records::writing;
    use offerd_model::{CreditBands, Lead};
    use offerd_partners::Book;
    use offerd_store::audit::{AuditEntry, AuditRecord};
    use offerd_store::entities::LeadRecord;
    use offerd_store::{Commit, StoreOptions};

    const COMPANY: Uuid = Uuid::from_u128(7);

    /// Timeout of the tests.
    const PATIENCE: Duration = Duration::from_secs(60);

    struct World {
        admin: StoppedAdmin,
        store: Store,
        _directory: tempfile::TempDir,
    }

    impl World {
        /// A store with `leads` leads of one person, erased `at_once` per round.
        async fn of(leads: usize, at_once: usize) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(StoreOptions::new(directory.path().join("store"))).unwrap();
            for (nth, email) in
                std::iter::repeat_n("ada@example.com", leads).chain(["eve@example.com"]).enumerate()
            {
                let text = format!(r#"{{"personalInformation": {{"email": "{email}"}}}}"#);
                let created_at = store.now_ms() + nth as i64;
                let record = LeadRecord {
                    uuid: ids::timed(),
                    company: COMPANY,
                    test: false,
                    created_at,
                    updated_at: created_at,
                    bands: CreditBands::Current,
                    newer_values: false,
                    first_table: None,
                    consents_stated_at: None,
                    earlier_consents: Vec::new(),
                    earlier_digests: Vec::new(),
                    experiments: Default::default(),
                    defaults: None,
                    lead: Lead::read(text.as_bytes()).unwrap(),
                };
                store.commit(writing::lead(&record, None)).await.unwrap();
            }
            let file = format!(
                "[limits]\nleads_erased_at_once = {at_once}\n[store]\npath = '{}'\n",
                directory.path().join("store").display()
            );
            let settings = Settings::from_layers(Some((Path::new("offerd.toml"), &file)), []).unwrap();
            let admin = StoppedAdmin::new(store.clone(), Book::of(Vec::new()), &settings);
            Self { admin, store, _directory: directory }
        }

        fn request(&self, email: &str) -> Request<Bytes> {
            let digest = const_hex::encode(Sha256::digest(email));
            let body = format!(
                r#"{{"kind": "email", "digest": "{digest}", "reason": "letter 4711", "suppress": true}}"#
            );
            let key = format!("Bearer {}", self.admin.key);
            let request = Request::builder().method(Method::POST).uri("/persons/erase");
            request.header("authorization", key).body(Bytes::from(body)).unwrap()
        }

        fn audited(&self) -> Vec<AuditRecord> {
            AuditLog::of(self.store.clone()).after(0, &AuditFilter::default(), 1000, 1000).unwrap().0
        }

        fn actions(&self) -> Vec<String> {
            self.audited().into_iter().map(|record| record.action).collect()
        }
    }

    #[tokio::test]
    async fn an_erasure_is_seen_to_its_end_and_recorded_when_who_asked_for_it_has_gone_away() {
        let world = World::of(5, 100).await;
        // Runs up to its first await; then the caller hangs up.
        assert!(world.admin.call(world.request("ada@example.com")).now_or_never().is_none());
        let ended = async {
            while !world.actions().contains(&"person.erased".to_owned()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("it goes on by itself");
        assert_eq!(world.actions(), ["person.suppress", "person.erase", "person.erased"]);
        let erased = world.audited().pop().unwrap();
        let object = erased.object.unwrap();
        let (receipt, leads) = object.strip_prefix("receipt ").unwrap().split_once(": ").unwrap();
        assert!(receipt.parse::<Uuid>().is_ok() && erased.reason.as_deref() == Some("letter 4711"));
        let leads: Vec<Uuid> = leads.split(' ').map(|lead| lead.parse().unwrap()).collect();
        assert!(leads.len() == 5 && leads.iter().all(|lead| world.store.is_erased(*lead).unwrap()));
    }

    #[tokio::test]
    async fn an_erasure_that_was_cut_off_is_found_in_the_audit() {
        let world = World::of(2, 100).await;
        let leads: Vec<Uuid> = world
            .store
            .keys(offerd_store::Tree::Leads, [])
            .unwrap()
            .iter()
            .filter_map(|key| Uuid::from_slice(key).ok())
            .collect();
        let note = AuditEntry::of_machine("ada".to_owned(), "command", "person.erase");
        let note = AuditEntry {
            object: Some(with_leads(&format!("receipt {}", Uuid::from_u128(4)), &leads)),
            ..note
        };
        AuditLog::of(world.store.clone()).commit(Commit::new(), note).await.unwrap();
        world.store.commit(Commit::new().erase_all([leads[0]], 7)).await.unwrap();
        let found = unfinished(&world.store).unwrap();
        let wanted = format!("the erasure with receipt {} was begun, and 2 of its leads", Uuid::from_u128(4));
        assert!(found.len() == 1 && found[0].starts_with(&wanted), "{found:?}");
        assert!(StoreReport::of(&world.store).unwrap().known.contains(&found[0]));
    }

    #[tokio::test]
    async fn many_leads_go_in_rounds_under_one_receipt_that_the_audit_has_too() {
        let world = World::of(7, 3).await;
        let answer = world.admin.call(world.request("ada@example.com")).await;
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let lines: Vec<ErasureLine> = body
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let [.., ErasureLine::Erased(leads), ErasureLine::Receipt(receipt)] = &lines[..] else {
            panic!("{lines:?}")
        };
        assert_eq!((leads.len(), receipt.rounds), (7, 3));
        assert!(leads.iter().all(|lead| lead.destroyed.leads == 1 && lead.destroyed.hashes == 1));
        let told: Vec<usize> = lines
            .iter()
            .filter_map(|line| match line {
                ErasureLine::Progress(ErasureProgress { done, of: 7 }) => Some(*done),
                _ => None,
            })
            .collect();
        assert!(told.is_sorted() && told.first() == Some(&0) && told.last() == Some(&7), "{told:?}");
        assert_eq!(
            world.actions(),
            [&["person.suppress", "person.erase"][..], &["person.erased"; 3]].concat()
        );
        assert_eq!(unfinished(&world.store).unwrap(), [""; 0]);
        let erased: Vec<String> = world
            .audited()
            .into_iter()
            .filter(|record| record.action == "person.erased")
            .filter_map(|record| {
                record.object?.strip_prefix(&format!("receipt {}: ", receipt.receipt_uuid)).map(str::to_owned)
            })
            .collect();
        let named: Vec<&str> = erased.iter().flat_map(|leads| leads.split(' ')).collect();
        assert!(
            leads.iter().all(|lead| named.contains(&lead.lead_uuid.to_string().as_str())) && named.len() == 7
        );
        let left = world.store.scan(offerd_store::Tree::Leads, []).count();
        assert_eq!(left, 1, "another person's lead stays");
    }
}
