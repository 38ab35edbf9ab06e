//! Imports that nearly every part of the daemon needs: times, the log, the settings, the engine and the store.

pub(super) use std::path::PathBuf;
pub(super) use std::process::ExitCode;
pub(super) use std::sync::Arc;
pub(super) use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) use metrics::{counter, gauge};
pub(super) use tokio::sync::watch;
pub(super) use tokio::task::{JoinHandle, spawn_blocking};
pub(super) use tracing::{error, info, warn};

pub(super) use super::Fatal;
pub(super) use offerd_base::config::Settings;
pub(super) use offerd_base::declaration::Fault;
pub(super) use offerd_engine::experiments::ExperimentRules as Experiments;
pub(super) use offerd_engine::matching::MatchingEngine;
pub(super) use offerd_engine::matching::partner_clients::PartnerClients;
pub(super) use offerd_http::tls_identities::TlsIdentities;
pub(super) use offerd_insight::reference::Vehicles;
pub(super) use offerd_outbound::postbacks::Subscriptions;
pub(super) use offerd_partners::Book;
pub(super) use offerd_store::{Commit, Store};
