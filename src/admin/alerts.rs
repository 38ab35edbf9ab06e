//! `GET /alerts`, `POST /alerts/test` for `offerd alerts`, and the actions that the console shares.

use super::prelude::*;
use offerd_outbound::alerts::{AlertsStatus, ReceiverTest, check_receiver, doubt, try_out};
use offerd_store::StoreHealth;

/// The request of a test alert.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AlertTest {
    /// Name of one receiver; default: all.
    #[serde(default)]
    pub receiver: Option<String>,
}

operations! {
    /// Lists firing alerts and the receivers.
    list(context) => status(&context.app);

    /// Sends a test alert, and reports the result of each receiver.
    test(context, test: AlertTest) => notify(&context.app, &by(&context), test.receiver.as_deref()).await?;
}

/// The current alerts. On a follower whose store does not answer, they may be out of date.
pub(super) fn status(app: &AdminState) -> AlertsStatus {
    let mut status = app.alerts.status(&app.settings().alerts);
    if let (false, StoreHealth::Stalled(why) | StoreHealth::Failed(why)) =
        (app.store.is_leader(), app.store.health())
    {
        status.doubt.get_or_insert_with(|| doubt(why));
    }
    status
}

pub(super) async fn notify(app: &AdminState, by: &AuditActor, to: Option<&str>) -> Result<Vec<ReceiverTest>> {
    let settings = app.settings();
    check_receiver(&settings.alerts, to).map_err(|fault| Failure::bad_attribute("receiver", fault))?;
    let note = note!("alerts.test", "test of alerts sent").about(to.unwrap_or("every receiver"));
    app.note_if_can(by, note).await;
    let tried = try_out(&settings.alerts, to, app.store.now_ms()).await;
    app.alerts.tried(&tried, app.store.now_ms());
    Ok(tried)
}
