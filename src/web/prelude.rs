//! Imports that nearly every part of the service needs: headers, bodies, times, the failure and the peer.

pub(super) use std::pin::Pin;
pub(super) use std::sync::Arc;
pub(super) use std::time::Duration;

pub(super) use bytes::Bytes;
pub(super) use hyper::header::{HeaderName, HeaderValue};
pub(super) use hyper::{HeaderMap, Method, StatusCode};
pub(super) use uuid::Uuid;

pub(super) use super::client_address::Peer;
pub(super) use super::failure::Failure;
