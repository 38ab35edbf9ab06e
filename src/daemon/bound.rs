//! The first steps: bind the addresses, which a second daemon cannot; then open the store.

use super::guard::GuardHandle;
use super::prelude::*;
use super::{Descriptors, Sockets};
use offerd_base::run_file::RunFile;
use offerd_engine::records::Records;
use offerd_insight::nodes::{self, NodeStatus};
use offerd_store::{DISK_FULL, START_BYTES, StoreOptions};
use offerd_web::Listener;

/// How long a start waits for a command that works on the stopped store.
const LOCK_WAIT: Duration = Duration::from_secs(5);

pub(super) struct BoundListeners {
    pub(super) api: Listener,
    pub(super) integrations: Listener,
    pub(super) admin: Listener,
    pub(super) tls: TlsIdentities,
}

impl BoundListeners {
    pub(super) fn to(settings: &Settings, mut sockets: Sockets) -> Result<Self, Fatal> {
        let tls = TlsIdentities::read(settings).map_err(|faults| {
            let faults = faults.iter().map(|(key, fault)| format!("`{key}`: {fault}"));
            faults.collect::<Vec<_>>().join("; ")
        })?;
        for (listener, address, setting) in sockets.against(settings) {
            info!(listener, %address, %setting, "the service manager's socket overrides the address in the settings");
        }
        let shares = Descriptors::take().shared(settings.limits.reserved_descriptors);
        let public = offerd_http::connections(&settings.limits, shares.public);
        let operators = offerd_http::connections(&settings.limits, shares.admin);
        let mut bind = |listener, address, connections| {
            let given = sockets.take(listener);
            let bound = offerd_http::bind(listener, address, given, tls.of(listener), settings, connections);
            bound.map_err(|fault| match RunFile::read(&settings.store.path) {
                Ok(Some(running)) => format!("{fault}; the daemon of this store runs at {}", running.api),
                _ => fault,
            })
        };
        Ok(Self {
            api: bind("api", settings.api.listen, &public)?,
            integrations: bind("integrations", settings.integrations.listen, &public)?,
            admin: bind("admin", settings.admin.listen, &operators)?,
            tls,
        })
    }
}

/// Opens the store, and stores the book's templates in it. The guard watches it from here on.
pub(super) async fn open(settings: &Settings, book: &Book, guard: &GuardHandle) -> Result<Records, Fatal> {
    let (place, found) = (settings.store.location(), Store::exists(&settings.store.path));
    let options = StoreOptions { lock_wait: LOCK_WAIT, ..StoreOptions::from(&settings.store) };
    let store = Store::open(options).map_err(|error| {
        unstarted(settings, &format!("cannot open {place}: {error}"), "run `offerd doctor` to find the cause")
    })?;
    if !found && settings.store.database().is_none() {
        info!("made a new store at {place}");
    }
    guard.heed(store.lost());
    store.become_candidate(NodeStatus::of(settings).text());
    nodes::remark(settings).iter().for_each(|remark| warn!("{remark}"));
    let records = Records::of(store);
    records.templates.store(book).await.map_err(|error| {
        unstarted(settings, &format!("could not store the partner templates: {error}"), "see the log")
    })?;
    info!(partners = book.partners().len(), offers = book.offers(), "partners loaded");
    if let Some(remark) = book.without_seats() {
        warn!(path = %settings.partners.path.display(), "{remark}");
    }
    Ok(records)
}

/// Why there is no start, with the space that one needs if the disk is full, or with other advice.
fn unstarted(settings: &Settings, cause: &str, advice: &str) -> Fatal {
    if !cause.contains(DISK_FULL) {
        return format!("{cause}; {advice}");
    }
    let [start, reserve] = [START_BYTES, settings.store.reserve_bytes].map(|bytes| bytes.div_ceil(1 << 20));
    format!(
        "{cause}; free {start} MiB to start, and {reserve} MiB more to accept leads (`store.reserve_bytes`); \
            nothing in the store was lost"
    )
}
