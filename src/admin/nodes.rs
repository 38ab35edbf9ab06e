//! `GET /nodes` for `offerd nodes`, and this node's reports to the others.

use tokio::time::{MissedTickBehavior, interval};

use super::prelude::*;
use offerd_insight::nodes::{NodeList, NodeStatus};

const EVERY: Duration = Duration::from_secs(1);

pub(super) async fn list(context: Context) -> Result<Reply> {
    Reply::json(&nodes(&context.app).await?)
}

pub(super) async fn nodes(app: &Arc<AdminState>) -> Result<NodeList> {
    let read = |app: &AdminState| NodeList::of(&app.store, &app.settings(), || own_status(app));
    app.reading("nodes could not be listed", read).await?.map_err(|failure| {
        error!(%failure, "nodes could not be listed");
        unavailable(format!("The nodes could not be listed: {failure}"))
    })
}

pub(super) async fn tell(app: Arc<AdminState>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        app.store.publish_status(own_status(&app).text());
    }
}

pub(super) fn own_status(app: &AdminState) -> NodeStatus {
    let told = NodeStatus {
        api: app.run_file.api.clone(),
        leads_per_second: app.console.leads_per_second().unwrap_or(0.0),
        book: NodeStatus::fingerprint_of(&app.engine.book()),
        asks_nobody: app.engine.suppressions.locked(),
        ..NodeStatus::of(&app.settings()).measured(&app.store)
    };
    told.declaring("experiments", &app.engine.configuration().experiments.text())
        .declaring("postbacks", &app.subscriptions().text())
}
