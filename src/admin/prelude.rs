//! Imports that nearly every admin operation needs: the application, the caller, the audit, and the answer.

pub(super) use std::sync::Arc;
pub(super) use std::time::Duration;

pub(super) use chrono::Utc;
pub(super) use futures_util::stream;
pub(super) use hyper::StatusCode;
pub(super) use serde::{Deserialize, Serialize};
pub(super) use tracing::error;
pub(super) use uuid::Uuid;

pub(super) use super::AdminState;
pub(super) use super::audit::{AuditActor, audit_by, by, note};
pub(super) use super::command::{
    BODY_BYTES, Context, Result, TargetExists, csv_file, json_lines, operations, our_fault, read_body,
    seen_through, store_unread, unavailable, unread, unwritten,
};
pub(super) use offerd_engine::matching::MatchingEngine;
pub(super) use offerd_store::Store;
pub(super) use offerd_web::{Failure, Reply};
