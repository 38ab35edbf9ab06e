//! `GET /console/nodes`: the nodes that share the store.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use crate::admin::nodes;
use crate::nodes::{Node, Nodes};
use crate::web::Failure;

#[derive(Debug, Serialize)]
struct NodesPage {
    shared: bool,
    warnings: Vec<String>,
    /// Those that are alive.
    alive: Vec<Row>,
    /// Those that have ended within a day.
    ended: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    node: Node,
    name: String,
    /// How long the database took for one answer, in seconds.
    round_trip: Option<f64>,
    /// How long the lease lasts yet, in seconds.
    lease: Option<f64>,
}

impl Page for NodesPage {
    const SECTION: Section = Section::Nodes;
    const TEMPLATE: &'static str = "nodes.html";
    const FRESH: Option<Duration> = Some(Duration::from_secs(2));
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let Nodes { shared, nodes, warnings } = nodes::nodes(&visit.app).await?;
    let (ended, alive) = nodes.into_iter().map(row).partition(|row: &Row| row.node.ended.is_some());
    visit.view(&NodesPage { shared, warnings, alive, ended })
}

fn row(node: Node) -> Row {
    Row {
        name: node.name().to_owned(),
        round_trip: node
            .told
            .as_ref()
            .filter(|_| node.since.is_some())
            .map(|told| told.round_trip_us as f64 / 1e6),
        lease: node.lease_left_ms.map(|ms| ms as f64 / 1000.0),
        node,
    }
}
