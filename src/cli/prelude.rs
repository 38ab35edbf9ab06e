//! Imports that nearly every command needs: its arguments, the settings, the admin client, and output.

pub(super) use std::path::{Path, PathBuf};
pub(super) use std::process::ExitCode;
pub(super) use std::time::Duration;

pub(super) use chrono::Utc;
pub(super) use clap::{Args, Subcommand, ValueEnum};
pub(super) use hyper::{Method, StatusCode};
pub(super) use serde::Serialize;
pub(super) use serde::de::DeserializeOwned;
pub(super) use serde_json::{Value, json};
pub(super) use uuid::Uuid;

pub(super) use super::admin_client::AdminClient;
pub(super) use super::command_error::CommandError;
pub(super) use super::operator::operator;
pub(super) use super::progress::StepProgressBar;
pub(super) use super::{files, page, progress, values};
pub(super) use crate::daemon;
pub(super) use offerd_admin::backup::log_action;
pub(super) use offerd_base::config::{Settings, StoreSettings};
pub(super) use offerd_base::declaration::Fault;
pub(super) use offerd_base::regular_file;
pub(super) use offerd_base::run_file::RunFile;
pub(super) use offerd_insight::sheet;
pub(super) use offerd_insight::sheet::{Color, ColumnKind, Sheet, SheetValue};
pub(super) use offerd_partners::Book;
pub(super) use offerd_store::{MasterKey, Store, StoreOptions};
