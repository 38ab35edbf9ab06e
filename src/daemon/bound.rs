//! The first step: the addresses are bound, so that a second daemon ends before it has done anything.

use tracing::info;

use super::{Descriptors, Fatal, Sockets};
use crate::config::Settings;
use crate::http::{self, identities::Identities};
use crate::web::Listener;

/// Listeners that nobody is served on yet.
pub(super) struct Bound {
    pub(super) api: Listener,
    pub(super) integrations: Listener,
    pub(super) admin: Listener,
    /// What they show.
    pub(super) shown: Identities,
}

impl Bound {
    /// Binds all of them, to the service manager's sockets where it gave some.
    pub(super) fn to(settings: &Settings, mut sockets: Sockets) -> Result<Self, Fatal> {
        let shown = Identities::read(settings).map_err(|faults| {
            let faults = faults.iter().map(|(key, fault)| format!("`{key}`: {fault}"));
            faults.collect::<Vec<_>>().join("; ")
        })?;
        for (listener, address, setting) in sockets.against(settings) {
            info!(listener, %address, %setting, "the service manager's socket goes before the address in the settings");
        }
        let shares = Descriptors::take().shared(settings.limits.reserved_descriptors);
        let public = http::connections(&settings.limits, shares.public);
        let operators = http::connections(&settings.limits, shares.admin);
        let mut bind = |listener, address, connections| {
            let given = sockets.take(listener);
            http::bind(listener, address, given, shown.of(listener), settings, connections)
        };
        Ok(Self {
            api: bind("api", settings.api.listen, &public)?,
            integrations: bind("integrations", settings.integrations.listen, &public)?,
            admin: bind("admin", settings.admin.listen, &operators)?,
            shown,
        })
    }
}
