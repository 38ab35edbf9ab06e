//! Imports that nearly every page needs: the request, template fields, form options, and number formats.

pub(super) use std::collections::BTreeMap;
pub(super) use std::sync::Arc;
pub(super) use std::time::Duration;

pub(super) use chrono::Utc;
pub(super) use hyper::StatusCode;
pub(super) use hyper::header::HeaderValue;
pub(super) use minijinja::context;
pub(super) use minijinja::value::Value;
pub(super) use serde::Serialize;
pub(super) use uuid::Uuid;

pub(super) use super::templates::{choices, product_named, products};
pub(super) use super::view::{ConsolePage, ConsoleRequest, Section, View, fields, outcome, sealed, see};
pub(super) use crate::AdminState;
pub(super) use crate::audit::{AuditActor, by, note};
pub(super) use crate::command::{Context, Result, csv_file, store_unread, unavailable, unread, unwritten};
pub(super) use offerd_engine::matching::MatchingEngine;
pub(super) use offerd_engine::records::{RecordUnavailable, reading};
pub(super) use offerd_insight::sheet::figures::{self, known};
pub(super) use offerd_model::ProductType;
pub(super) use offerd_store::tokens::Tokens;
pub(super) use offerd_store::users::{Role, UserRecord, Users};
pub(super) use offerd_store::{ReadError, Store};
pub(super) use offerd_web::{Failure, Reply, our_fault};
