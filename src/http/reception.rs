//! Whom the public listeners welcome, by the settings of the day.

use std::sync::Arc;

use tokio::sync::watch;

use crate::config::ApiSettings;
use crate::web::{Cors, Welcome};

/// Tells both public listeners whom they welcome.
#[derive(Debug)]
pub struct Reception(watch::Sender<Arc<Welcome>>);

impl Reception {
    /// As these settings say.
    pub fn new(settings: &ApiSettings) -> Self {
        Self(watch::Sender::new(Arc::new(welcome(settings))))
    }

    /// As these settings say from now on, for the requests to come.
    pub fn change(&self, settings: &ApiSettings) {
        self.0.send_replace(Arc::new(welcome(settings)));
    }

    pub(super) fn watch(&self) -> watch::Receiver<Arc<Welcome>> {
        self.0.subscribe()
    }
}

fn welcome(settings: &ApiSettings) -> Welcome {
    Welcome { cors: Cors::new(&settings.cors_origins), vendors: settings.vendor.clone() }
}
