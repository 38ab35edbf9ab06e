//! A cache of complete rate tables as shown. Only an erasure ([`forget`](CompleteTables::forget)) or
//! retention ([`forget_all`](CompleteTables::forget_all)) makes an entry wrong; a table read before one is
//! not cached after it ([`Generation`]). A table may have further [renditions](RenditionKey): another
//! edition, or compressed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use uuid::Uuid;

use super::messages::TableSnapshot;
use offerd_base::telemetry::metrics::{COMPLETE_TABLES_SHOWN, KEPT_TABLE_BYTES};
use offerd_model::Viewer;

/// Typical size of a table, used to size the cache.
const USUAL_BYTES: u64 = 16 * 1024;

const ENTRY_BYTES: u64 = 256;

/// The edition and the content coding of a rendition; both empty for the first.
pub type RenditionKey = (&'static str, &'static str);

/// The cached tables. Their contents are not `Debug`.
pub struct CompleteTables {
    /// `None` disables the cache.
    tables: Option<Cache<Uuid, Arc<CachedTable>, Weight>>,
    forgotten: AtomicU64,
    changing: Mutex<()>,
    bytes: Gauge,
    from_memory: Counter,
    from_records: Counter,
}

/// The time between two removals. What was read after it may be cached until the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation(u64);

struct CachedTable {
    shown: TableSnapshot,
    renditions: Vec<(RenditionKey, Bytes)>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Uuid, Arc<CachedTable>> for Weight {
    fn weight(&self, _: &Uuid, table: &Arc<CachedTable>) -> u64 {
        let renditions: usize = table.renditions.iter().map(|(_, bytes)| bytes.len()).sum();
        ENTRY_BYTES + (table.shown.json.len() + renditions) as u64
    }
}

impl CompleteTables {
    /// Caches at most this many bytes; 0 disables the cache.
    pub fn with_capacity(bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX).max(1);
        let shown = |from| counter!(COMPLETE_TABLES_SHOWN, "from" => from);
        Self {
            tables: (bytes > 0).then(|| Cache::with_weighter(items, bytes, Weight)),
            forgotten: AtomicU64::new(0),
            changing: Mutex::new(()),
            bytes: gauge!(KEPT_TABLE_BYTES),
            from_memory: shown("memory"),
            from_records: shown("records"),
        }
    }

    /// The current generation. Take it before reading the store.
    pub fn generation(&self) -> Generation {
        Generation(self.forgotten.load(Ordering::Acquire))
    }

    /// A cached table that the viewer may see.
    pub fn get(&self, viewer: Viewer, table: Uuid) -> Option<TableSnapshot> {
        let kept = self.tables.as_ref()?.get(&table);
        let kept = kept.filter(|kept| viewer.sees(kept.shown.company, kept.shown.test))?;
        self.from_memory.increment(1);
        Some(kept.shown.clone())
    }

    /// A cached rendition of a table. The caller checks that the viewer may see it.
    pub fn rendition(&self, table: Uuid, rendition: RenditionKey) -> Option<Bytes> {
        self.tables.as_ref()?.peek(&table)?.find(rendition)
    }

    /// Caches a table if it is complete and nothing was removed since `since`.
    pub fn insert(&self, since: Generation, shown: &TableSnapshot) {
        if shown.pending {
            return;
        }
        self.from_records.increment(1);
        let Some(tables) = self.tables.as_ref().filter(|all| !all.contains_key(&shown.table)) else { return };
        // A copy has no spare capacity, which the weight would miss.
        let shown = TableSnapshot { json: Bytes::copy_from_slice(&shown.json), ..*shown };
        let Some(_changing) = self.changing_since(since) else { return };
        tables.insert(shown.table, Arc::new(CachedTable { shown, renditions: Vec::new() }));
        self.bytes.set(tables.weight() as f64);
    }

    /// Adds a rendition to a cached table, unless something was removed since `since`.
    pub fn add(&self, since: Generation, table: Uuid, rendition: RenditionKey, bytes: &Bytes) {
        let Some(tables) = &self.tables else { return };
        let Some(_changing) = self.changing_since(since) else { return };
        let Some(kept) = tables.peek(&table).filter(|kept| kept.find(rendition).is_none()) else { return };
        let mut renditions = kept.renditions.clone();
        renditions.push((rendition, Bytes::copy_from_slice(bytes)));
        tables.insert(table, Arc::new(CachedTable { shown: kept.shown.clone(), renditions }));
        self.bytes.set(tables.weight() as f64);
    }

    /// Removes tables, after their removal from the store.
    pub fn forget(&self, forgotten: &[Uuid]) {
        self.forget_by(|tables| forgotten.iter().for_each(|table| drop(tables.remove(table))));
    }

    /// Removes every table.
    pub fn forget_all(&self) {
        self.forget_by(Cache::clear);
    }

    fn forget_by(&self, forget: impl FnOnce(&Cache<Uuid, Arc<CachedTable>, Weight>)) {
        let Some(tables) = &self.tables else { return };
        let _changing = self.changing.lock();
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        forget(tables);
        self.bytes.set(tables.weight() as f64);
    }

    fn changing_since(&self, since: Generation) -> Option<MutexGuard<'_, ()>> {
        let changing = self.changing.lock();
        (self.generation() == since).then_some(changing)
    }
}

impl CachedTable {
    fn find(&self, wanted: RenditionKey) -> Option<Bytes> {
        self.renditions.iter().find(|(rendition, _)| *rendition == wanted).map(|(_, bytes)| bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Viewer = Viewer { company: Uuid::from_u128(1), test: false };
    const GZIP: RenditionKey = ("", "gzip");

    fn shown(table: u128, bytes: usize) -> TableSnapshot {
        TableSnapshot {
            table: Uuid::from_u128(table),
            company: OWNER.company,
            test: false,
            json: vec![b' '; bytes].into(),
            version: 3,
            pending: false,
            deadline: 5,
        }
    }

    fn has(kept: &CompleteTables, table: u128) -> bool {
        kept.get(OWNER, Uuid::from_u128(table)).is_some()
    }

    #[test]
    fn a_complete_table_is_kept_for_who_may_see_it() {
        let kept = CompleteTables::with_capacity(1 << 20);
        kept.insert(kept.generation(), &shown(1, 100));
        kept.insert(kept.generation(), &TableSnapshot { pending: true, ..shown(2, 100) });
        let found = kept.get(OWNER, Uuid::from_u128(1)).unwrap();
        assert_eq!((found.json.len(), found.version, found.pending, found.deadline), (100, 3, false, 5));
        assert!(!has(&kept, 2), "a pending table changes");
        let table = Uuid::from_u128(1);
        assert!(kept.get(Viewer { test: true, ..OWNER }, table).is_none());
        assert!(kept.get(Viewer::of_all(Uuid::from_u128(9)), table).is_none());
    }

    #[test]
    fn who_has_read_before_something_was_forgotten_keeps_nothing_after_it() {
        let kept = CompleteTables::with_capacity(1 << 20);
        let table = Uuid::from_u128(1);
        let before = kept.generation();
        kept.insert(before, &shown(1, 100));
        kept.forget(&[table]);
        assert!(!has(&kept, 1));
        kept.insert(before, &shown(1, 100));
        assert!(!has(&kept, 1));

        let after = kept.generation();
        kept.insert(after, &shown(1, 100));
        kept.insert(after, &shown(2, 100));
        kept.forget_all();
        kept.add(after, table, GZIP, &Bytes::from_static(b"x"));
        assert!(!has(&kept, 1) && !has(&kept, 2));
        assert_eq!(kept.rendition(table, GZIP), None);
    }

    #[test]
    fn a_rendition_goes_with_its_table() {
        let kept = CompleteTables::with_capacity(1 << 20);
        let table = Uuid::from_u128(1);
        kept.add(kept.generation(), table, GZIP, &Bytes::from_static(b"x"));
        assert_eq!(kept.rendition(table, GZIP), None, "there is nothing to put it beside");
        kept.insert(kept.generation(), &shown(1, 100));
        kept.add(kept.generation(), table, GZIP, &Bytes::from_static(b"x"));
        assert_eq!(kept.rendition(table, GZIP).as_deref(), Some(&b"x"[..]));
        assert_eq!(kept.rendition(table, ("-v1", "gzip")), None);
        kept.forget(&[table]);
        assert_eq!(kept.rendition(table, GZIP), None);
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let room = 100_000;
        let kept = CompleteTables::with_capacity(room);
        let tables = kept.tables.as_ref().unwrap();
        for table in 0..1000 {
            kept.insert(kept.generation(), &shown(table, 3000));
            kept.add(kept.generation(), Uuid::from_u128(table), GZIP, &Bytes::from_static(&[0; 500]));
            assert!(tables.weight() <= room, "{}", tables.weight());
        }
        assert!(tables.weight() > room / 2, "there is use in it: {}", tables.weight());
        kept.insert(kept.generation(), &shown(5000, 200_000));
        assert!(!has(&kept, 5000) && tables.weight() <= room);

        let none = CompleteTables::with_capacity(0);
        none.insert(none.generation(), &shown(1, 10));
        assert!(!has(&none, 1));
    }
}
