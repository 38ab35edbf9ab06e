//! The first steps: bind the addresses, which a second daemon cannot; then open the store.

use tracing::{info, warn};

use super::guard::WatchdogHandle;
use super::{Descriptors, Fatal, Sockets};
use offerd_base::config::Settings;
use offerd_engine::records::Records;
use offerd_http::identities::Identities;
use offerd_insight::nodes::{self, NodeStatus};
use offerd_partners::Book;
use offerd_store::{Store, StoreOptions};
use offerd_web::Listener;

pub(super) struct BoundListeners {
    pub(super) api: Listener,
    pub(super) integrations: Listener,
    pub(super) admin: Listener,
    pub(super) shown: Identities,
}

impl BoundListeners {
    pub(super) fn to(settings: &Settings, mut sockets: Sockets) -> Result<Self, Fatal> {
        let shown = Identities::read(settings).map_err(|faults| {
            let faults = faults.iter().map(|(key, fault)| format!("`{key}`: {fault}"));
            faults.collect::<Vec<_>>().join("; ")
        })?;
        for (listener, address, setting) in sockets.against(settings) {
            info!(listener, %address, %setting, "the service manager's socket goes before the address in the settings");
        }
        let shares = Descriptors::take().shared(settings.limits.reserved_descriptors);
        let public = offerd_http::connections(&settings.limits, shares.public);
        let operators = offerd_http::connections(&settings.limits, shares.admin);
        let mut bind = |listener, address, connections| {
            let given = sockets.take(listener);
            offerd_http::bind(listener, address, given, shown.of(listener), settings, connections)
        };
        Ok(Self {
            api: bind("api", settings.api.listen, &public)?,
            integrations: bind("integrations", settings.integrations.listen, &public)?,
            admin: bind("admin", settings.admin.listen, &operators)?,
            shown,
        })
    }
}

/// Opens the store, and stores the book's templates in it. The guard watches it from here on.
pub(super) async fn open(settings: &Settings, book: &Book, guard: &WatchdogHandle) -> Result<Records, Fatal> {
    let (place, found) = (settings.store.place(), Store::exists(&settings.store.path));
    let store = Store::open(StoreOptions::from(&settings.store))
        .map_err(|error| format!("cannot open {place}: {error}; run `offerd doctor` to find the cause"))?;
    if !found && settings.store.database().is_none() {
        info!("made a new store at {place}");
    }
    guard.heed(store.lost());
    store.stand(NodeStatus::of(settings).text());
    nodes::remark(settings).iter().for_each(|remark| warn!("{remark}"));
    let records = Records::of(store);
    let kept = records.templates.keep(book).await;
    kept.map_err(|error| format!("could not store the partner templates: {error}"))?;
    info!(partners = book.partners().len(), offers = book.offers(), "partners loaded");
    if let Some(remark) = book.without_seats() {
        warn!(path = %settings.partners.path.display(), "{remark}");
    }
    Ok(records)
}
