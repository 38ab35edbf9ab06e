//! `GET /console/nodes`: the nodes that share the store.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Value;

use super::section::Section;
use super::view::{Page, View, fields};
use super::visit::Visit;
use crate::admin::nodes;
use crate::nodes::{Node, Nodes};
use crate::web::Failure;

const PAGE: Page = Page::new(Section::Nodes, "nodes.html").fresh(Duration::from_secs(2));

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let Nodes { shared, nodes, warnings } = nodes::nodes(&visit.app).await?;
    let (ended, alive): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.ended.is_some());
    let rows = |nodes: Vec<&Node>| nodes.into_iter().map(row).collect::<Vec<_>>();
    visit.view(PAGE, fields! { shared, warnings, alive => rows(alive), ended => rows(ended) })
}

/// A node with how long the database took for one answer, and how long its lease lasts yet, in seconds.
fn row(node: &Node) -> Value {
    let told = node.told.as_ref().filter(|_| node.since.is_some());
    fields! {
        name => node.name(),
        round_trip => told.map(|told| told.round_trip_us as f64 / 1e6),
        lease => node.lease_left_ms.map(|ms| ms as f64 / 1000.0),
        ..node
    }
}
