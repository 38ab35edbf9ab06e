//! `GET /console/nodes`: the nodes that share the store.

use super::prelude::*;
use crate::nodes;
use offerd_insight::nodes::{NodeList, NodeView};

const PAGE: ConsolePage = ConsolePage::new(Section::Nodes, "nodes.html").fresh(Duration::from_secs(2));

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let NodeList { shared, nodes, warnings } = nodes::nodes(&request.app).await?;
    let (ended, alive): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.ended.is_some());
    let row = |node: &&NodeView| fields! { name => node.name(), ..node };
    let rows = |nodes: Vec<&NodeView>| nodes.iter().map(row).collect::<Vec<_>>();
    request.view(PAGE, fields! { shared, warnings, alive => rows(alive), ended => rows(ended) })
}
