//! The stored records of a subscription, and their changes. Blocks while it reads the store.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::message::{BookedEvent, PostbackMessage, told};
use super::record::{
    AttemptResult, EventPosition, FeedCursor, LastAttempts, PostbackDelivery, RecordKind, SubscriptionKeys,
};
use super::subscription::Subscription;
use offerd_engine::records::projection::STEP;
use offerd_model::{ClientTags, name_as_it_looks};
use offerd_store::entities::{CompanyRecord, LeadRecord};
use offerd_store::tokens::{Tokens, company_uuid};
use offerd_store::{Commit, CommitError, FeedKey, Store, Tree, codec, unless_broken};

#[derive(Debug, Clone)]
pub(super) struct PostbackLedger {
    pub(super) store: Store,
    pub(super) subscription: Arc<Subscription>,
    pub(super) company: CompanyRecord,
    pub(super) keys: SubscriptionKeys,
}

pub(super) type PlacedDelivery = (EventPosition, PostbackDelivery);

/// An event, with its lead's client tags if the URL needs them.
type FoundEvent = (PostbackMessage, Option<ClientTags>);

/// Deliveries taken from the feed; valid once the commit is acknowledged.
pub(super) struct TakenDeliveries {
    pub commit: Commit,
    pub deliveries: Vec<PlacedDelivery>,
    pub more: bool,
}

/// The company of this name. One without tokens gets the uuid that its first token will give it.
fn company_of(store: &Store, name: &str) -> CompanyRecord {
    let name = name_as_it_looks(name);
    let mut known = Tokens::of(store.clone()).companies().into_iter();
    known.find(|company| name_as_it_looks(&company.name) == name).unwrap_or_else(|| CompanyRecord {
        uuid: company_uuid(&name),
        name,
        duplicate_look_back_minutes: None,
    })
}

impl PostbackLedger {
    pub(super) fn of(store: &Store, subscription: &Subscription) -> Self {
        let company = company_of(store, &subscription.company);
        let keys = SubscriptionKeys::of(&subscription.name, company.uuid);
        Self { store: store.clone(), subscription: Arc::new(subscription.clone()), company, keys }
    }

    pub(super) fn cursor(&self) -> Result<Option<FeedCursor>, CommitError> {
        self.store.read(Tree::Postbacks, self.keys.all(RecordKind::Cursor)).map_err(unreadable)
    }

    pub(super) fn tried(&self) -> Option<LastAttempts> {
        self.store.read(Tree::Postbacks, self.keys.all(RecordKind::Tried)).ok().flatten()
    }

    /// The deliveries of a kind, oldest first. Damaged ones are skipped; the store reports them.
    pub(super) fn deliveries(&self, what: RecordKind) -> Result<Vec<PlacedDelivery>, CommitError> {
        let mut deliveries = Vec::new();
        for record in self.store.scan(Tree::Postbacks, self.keys.all(what)) {
            let (key, bytes) = record.map_err(unreadable)?;
            let delivery = self.store.decode(Tree::Postbacks, &key, &bytes);
            if let (Some(place), Ok(delivery)) = (EventPosition::at_end_of(&key), delivery) {
                deliveries.push((place, delivery));
            }
        }
        Ok(deliveries)
    }

    pub(super) fn outstanding(&self) -> Result<Vec<PlacedDelivery>, CommitError> {
        Ok([self.deliveries(RecordKind::Outstanding)?, self.deliveries(RecordKind::PutBack)?].concat())
    }

    /// The arrival time up to which events can be taken in; `None` if there are none. All events up to it are
    /// readable once a commit begun after this call is acknowledged.
    pub(super) fn news(&self) -> Result<Option<u64>, CommitError> {
        let Some(cursor) = self.cursor()? else { return Ok(None) };
        let start = FeedKey::first_at(self.company.uuid, cursor.next_us).to_bytes();
        let in_feed = self.store.scan_from(Tree::LeadEvents, start, self.company.uuid).next().is_some();
        let again = || self.store.scan(Tree::Postbacks, self.keys.all(RecordKind::PutBack)).next().is_some();
        if in_feed || again() { self.store.closed_us().map(Some).map_err(unreadable) } else { Ok(None) }
    }

    /// Takes matching events up to `until_us`, and requeued deliveries: at most `room`, but whole instants.
    pub(super) fn take(&self, until_us: u64, room: usize) -> Result<Option<TakenDeliveries>, CommitError> {
        let Some(before) = self.cursor()? else { return Ok(None) };
        let now_ms = self.store.now_ms();
        let mut deliveries = self.deliveries(RecordKind::PutBack)?;
        deliveries.truncate(room);
        let cursor = self.keys.all(RecordKind::Cursor);
        let guarded = Commit::new().unchanged(Tree::Postbacks, &cursor, codec::encode(&before));
        let mut commit = deliveries.iter().fold(guarded, |commit, (place, _)| {
            commit.remove(Tree::Postbacks, self.keys.one(RecordKind::PutBack, *place))
        });
        let (mut after, mut more) = (before, deliveries.len() == room);
        let start = FeedKey::first_at(self.company.uuid, before.next_us).to_bytes();
        for (nth, record) in self.store.scan_from(Tree::LeadEvents, start, self.company.uuid).enumerate() {
            let Ok((key, payload)) = record else { break };
            let Some(key) = FeedKey::parse(&key).filter(|key| key.arrival_us <= until_us) else { break };
            if nth == STEP || deliveries.len() >= room {
                more = true;
                break;
            }
            deliveries.extend(self.wanted(key, &payload, now_ms)?);
            // Each record has its own arrival time.
            after.next_us = key.arrival_us + 1;
        }
        if after == before && deliveries.is_empty() {
            return Ok(None);
        }
        commit = commit.put(Tree::Postbacks, cursor, codec::encode(&after));
        for (place, delivery) in &deliveries {
            let key = self.keys.one(RecordKind::Outstanding, *place);
            commit = commit.put(Tree::Postbacks, key, codec::encode(delivery));
        }
        Ok(Some(TakenDeliveries { commit, deliveries, more }))
    }

    fn wanted(&self, key: FeedKey, payload: &[u8], now_ms: i64) -> Result<Vec<PlacedDelivery>, CommitError> {
        let events = told(&self.store, &self.company, key, payload);
        let mut deliveries = Vec::new();
        for (BookedEvent { event, .. }, nth) in events.into_iter().zip(0..) {
            if self.subscription.wants(&event) && self.fits(event.lead_uuid)? {
                let place = EventPosition { arrival_us: key.arrival_us, sequence: key.sequence, nth };
                deliveries.push((place, PostbackDelivery::of(&event, now_ms)));
            }
        }
        Ok(deliveries)
    }

    /// Whether a lead's client tags match the subscription; false for an erased lead.
    fn fits(&self, lead: Uuid) -> Result<bool, CommitError> {
        let subscription = &self.subscription;
        let reads_tags = !subscription.tags.is_empty() || subscription.names_tags();
        Ok(!reads_tags || self.tags(lead)?.is_some_and(|tags| subscription.fits(&tags)))
    }

    fn tags(&self, lead: Uuid) -> Result<Option<ClientTags>, CommitError> {
        let Some(bytes) = self.readable(Tree::Leads, lead.as_bytes())? else { return Ok(None) };
        let record = self.store.decode_json::<LeadRecord>(Tree::Leads, lead.as_bytes(), &bytes).ok();
        Ok(record.map(|record| record.lead.client_tags.clone().unwrap_or_default()))
    }

    /// The event of a delivery, with client tags if the URL needs them. `None` if the event was dropped for
    /// age, is damaged, or needs client tags of an erased lead.
    pub(super) fn find(&self, place: EventPosition) -> Result<Option<FoundEvent>, CommitError> {
        let subscription = &self.subscription;
        let EventPosition { arrival_us, sequence, nth } = place;
        let key = FeedKey { company: self.company.uuid, arrival_us, sequence };
        let Some(payload) = self.readable(Tree::LeadEvents, &key.to_bytes())? else { return Ok(None) };
        let events = told(&self.store, &self.company, key, &payload);
        let Some(event) = events.into_iter().nth(nth.into()) else { return Ok(None) };
        let tags = if subscription.names_tags() { self.tags(event.event.lead_uuid)? } else { None };
        if subscription.names_tags() && tags.is_none() {
            return Ok(None);
        }
        Ok(Some((PostbackMessage::of(subscription, self.company.uuid, place, event), tags)))
    }

    /// A record; `None` if it is missing or permanently damaged.
    fn readable(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, CommitError> {
        unless_broken(self.store.get(tree, key)).map_err(unreadable)
    }

    /// The commit after an attempt, with its result and what becomes of the delivery.
    pub(super) fn record_attempt(
        &self,
        place: EventPosition,
        kept: Option<(RecordKind, &PostbackDelivery)>,
        tried: Option<&LastAttempts>,
    ) -> Commit {
        let mut commit = Commit::new();
        if !matches!(kept, Some((RecordKind::Outstanding, _))) {
            commit = commit.remove(Tree::Postbacks, self.keys.one(RecordKind::Outstanding, place));
        }
        if let Some((what, delivery)) = kept {
            commit = commit.put(Tree::Postbacks, self.keys.one(what, place), codec::encode(delivery));
        }
        if let Some(tried) = tried {
            commit = commit.put(Tree::Postbacks, self.keys.all(RecordKind::Tried), codec::encode(tried));
        }
        commit
    }

    /// Removes dead letters that are too old, or beyond `most`. Returns the numbers removed and left.
    pub(super) async fn sweep(&self, most: usize, kept: Duration) -> Result<(usize, usize), CommitError> {
        let kept_ms = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
        let since_ms = self.store.now_ms().saturating_sub(kept_ms);
        let all = self.deliveries(RecordKind::Dead)?;
        let surplus = all.len().saturating_sub(most);
        let is_old = |nth: usize, at_ms: i64| nth < surplus || at_ms < since_ms;
        let old = all.iter().enumerate().filter(|(nth, (_, letter))| is_old(*nth, letter.next_ms));
        let old: Vec<_> = old.map(|(_, (at, _))| self.keys.one(RecordKind::Dead, *at)).collect();
        self.store.remove_all(Tree::Postbacks, &old).await?;
        Ok((old.len(), all.len() - old.len()))
    }
}

pub(super) fn tried_after(before: Option<&LastAttempts>, last: AttemptResult) -> LastAttempts {
    let before = before.and_then(|before| before.failing_since_ms);
    let failing_since_ms = (!last.is_good()).then_some(before.unwrap_or(last.at_ms));
    LastAttempts { last, failing_since_ms }
}

pub(super) fn unreadable(reason: impl std::fmt::Display) -> CommitError {
    CommitError::Unread(format!("a record of a postback cannot be read: {reason}"))
}
