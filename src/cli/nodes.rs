//! `offerd nodes`

use super::prelude::*;
use offerd_insight::nodes::{NodeList, NodeView};

/// Runs `offerd nodes`.
pub async fn run(admin: &AdminClient, json: bool) -> Result<(), CommandError> {
    let nodes: NodeList = admin.ask(Method::GET, "/nodes").await?;
    Ok(page::show(&nodes, json, || {
        page::print_sheet(&sheet(&nodes.nodes));
        nodes.warnings.iter().for_each(|warning| tell!("offerd: {warning}"));
    })?)
}

fn sheet(nodes: &[NodeView]) -> Sheet {
    sheet!(nodes, node => {
        let told = node.told.clone().unwrap_or_default();
        let known = node.told.as_ref().filter(|_| node.since.is_some());
        let color = if node.ended.is_some() { Color::Red } else { Color::Green };
        "node" => node.id.to_string(),
        "name" => SheetValue::from(node.name()).in_color(color),
        "address" => told.api,
        "version" => told.version,
        "since": Time => node.since,
        "lease left" => node.lease_left_ms.map(|ms| format!("{:.1} s", ms as f64 / 1000.0)),
        "leader" => if node.leader { "yes" } else { "no" },
        "leads/s" => format!("{:.1}", told.leads_per_second),
        "clock ahead" => known.map(|told| format!("{} ms", told.clock_ahead_ms)),
        "database" => known.map(|told| format!("{:.1} ms", told.round_trip_us as f64 / 1000.0)),
        "partner files" => told.book,
        "ended": Time => node.ended,
    })
}
