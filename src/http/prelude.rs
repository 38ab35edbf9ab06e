//! Imports that nearly every API operation needs: the application, the request, and the answer.

pub(super) use std::sync::Arc;

pub(super) use bytes::Bytes;
pub(super) use chrono::Utc;
pub(super) use hyper::header::{HeaderName, HeaderValue};
pub(super) use hyper::{HeaderMap, Method, StatusCode};
pub(super) use uuid::Uuid;

pub(super) use super::ApiState;
pub(super) use super::current::{unreadable, unwritable};
pub(super) use offerd_engine::records::reading;
pub(super) use offerd_model::{ApiError, ErrorType, Viewer};
pub(super) use offerd_web::{Answer, Context, Failure, Reply, Request, blocking};
