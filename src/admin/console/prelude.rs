//! Imports that nearly every page needs: the visit, template fields, form options, and number formats.

pub(super) use std::sync::Arc;
pub(super) use std::time::Duration;

pub(super) use chrono::Utc;
pub(super) use minijinja::value::Value;
pub(super) use serde::Serialize;
pub(super) use uuid::Uuid;

pub(super) use super::templates::{choices, product_named, products};
pub(super) use super::view::{ConsolePage, ConsoleRequest, Section, View, fields, outcome, sealed, see};
pub(super) use crate::AdminState;
pub(super) use crate::audit::note;
pub(super) use crate::command::{Context, Result};
pub(super) use offerd_insight::sheet::figures::{self, known};
pub(super) use offerd_model::ProductType;
pub(super) use offerd_store::tokens::Tokens;
pub(super) use offerd_store::users::Role;
pub(super) use offerd_web::{Failure, Reply};
