//! `offerd nodes`

use std::path::Path;

use clap::Args;
use hyper::Method;

use super::admin_client::AdminClient;
use super::page::{self, Color};
use super::trouble::Trouble;
use crate::nodes::{Node, Nodes};
use crate::sheet::{Sheet, Value, sheet};

/// `nodes`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd nodes
  offerd nodes --json | jq -r '.warnings[]'

Nodes that have ended stay in the list for a day. A store in files has one node, which leads.")]
pub struct Arguments {
    /// As JSON: `shared`, `nodes` and `warnings`
    #[arg(long)]
    json: bool,
}

/// Runs `offerd nodes`.
pub async fn run(config: Option<&Path>, arguments: &Arguments) -> Result<(), Trouble> {
    let settings = super::settings(config)?;
    let admin = AdminClient::find(&settings).await?;
    let nodes: Nodes = admin.ask(Method::GET, "/nodes").await?;
    admin.close()?;
    if arguments.json {
        return Ok(page::print_json(&nodes)?);
    }
    page::print_sheet(&sheet(&nodes.nodes));
    nodes.warnings.iter().for_each(|warning| tell!("offerd: {warning}"));
    Ok(())
}

fn sheet(nodes: &[Node]) -> Sheet {
    sheet!(nodes, node => {
        let told = node.told.clone().unwrap_or_default();
        let known = node.told.as_ref().filter(|_| node.since.is_some());
        let color = if node.ended.is_some() { Color::Red } else { Color::Green };
        "node" => node.id.to_string(),
        "name" => Value::from(node.name()).in_color(color),
        "address" => told.api,
        "version" => told.version,
        "since": Time => node.since,
        "lease left" => node.lease_left_ms.map(|ms| format!("{:.1} s", ms as f64 / 1000.0)),
        "leader" => if node.leads { "yes" } else { "no" },
        "leads/s" => format!("{:.1}", told.leads_per_second),
        "clock ahead" => known.map(|told| format!("{} ms", told.clock_ahead_ms)),
        "database" => known.map(|told| format!("{:.1} ms", told.round_trip_us as f64 / 1000.0)),
        "book" => told.book,
        "ended": Time => node.ended,
    })
}
