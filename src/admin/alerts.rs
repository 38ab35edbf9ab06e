//! `GET /alerts`, `POST /alerts/test`: what `offerd alerts` calls.

use serde::{Deserialize, Serialize};

use super::App;
use super::audit::{Actor, Note, audit};
use super::command::{ORDER_BYTES, order};
use crate::alerts::{check_receiver, try_out};
use crate::config::Settings;
use crate::web::{Context, Failure, Reply};

/// Who is to be told a test.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Test {
    /// The name of one receiver; else all.
    #[serde(default)]
    pub receiver: Option<String>,
}

/// Which fire, and who is told.
pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    Reply::json(&context.app.alerts.standing(&context.app.settings().alerts))
}

/// Tells a test, and how each receiver took it.
pub(super) async fn test(mut context: Context<App>) -> Result<Reply, Failure> {
    let test: Test = order(&mut context, ORDER_BYTES).await?;
    let settings = context.app.settings();
    refuse_stranger(&settings, test.receiver.as_deref())?;
    let note = Note::of("alerts.test").about(test.receiver.as_deref().unwrap_or("every receiver"));
    context.app.note_if_can(&Actor::of_command(&context), note).await;
    audit!(context, "alerts.test", "test of alerts sent");
    let app = &context.app;
    let tried = try_out(&app.alerts, &settings.alerts, test.receiver.as_deref(), app.store.now_ms()).await;
    Reply::json(&tried)
}

/// Refuses a test for a receiver that there is not.
pub(super) fn refuse_stranger(settings: &Settings, receiver: Option<&str>) -> Result<(), Failure> {
    check_receiver(&settings.alerts, receiver).map_err(|told| Failure::bad_attribute("receiver", told))
}
