//! Imports that nearly every admin operation needs: the application, the caller, the audit, and the answer.

pub(super) use std::sync::Arc;
pub(super) use std::time::Duration;

pub(super) use serde::{Deserialize, Serialize};
pub(super) use tracing::error;
pub(super) use uuid::Uuid;

pub(super) use super::AdminState;
pub(super) use super::audit::{AuditActor, note};
pub(super) use super::command::{
    Context, ORDER_BYTES, Result, TargetExists, json_lines, operations, order, our_fault, unavailable,
    unread, unwritten,
};
pub(super) use offerd_web::{Failure, Reply};
