//! `offerd nodes`

use std::path::Path;

use clap::Args;
use comfy_table::Table;
use hyper::Method;

use super::admin_client::AdminClient;
use super::page::{self, Color};
use super::trouble::Trouble;
use crate::nodes::{Node, Nodes};

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
    page::print_table(table(&nodes.nodes));
    nodes.warnings.iter().for_each(|warning| tell!("offerd: {warning}"));
    Ok(())
}

fn table(nodes: &[Node]) -> Table {
    let mut table = page::table([
        "node",
        "name",
        "address",
        "version",
        "since",
        "lease left",
        "leader",
        "leads/s",
        "clock ahead",
        "database",
        "book",
        "ended",
    ]);
    for node in nodes {
        let told = node.told.clone().unwrap_or_default();
        let tone = if node.ended.is_some() { Color::Red } else { Color::Green };
        let seconds = |ms: i64| format!("{:.1} s", ms as f64 / 1000.0);
        let is_known = node.told.is_some() && node.since.is_some();
        table.add_row([
            node.id.to_string().into(),
            page::toned(node.name(), tone),
            told.api.as_str().into(),
            told.version.as_str().into(),
            node.since.map_or_else(String::new, page::moment_of).into(),
            node.lease_left_ms.map_or_else(String::new, seconds).into(),
            if node.leads { "yes" } else { "no" }.into(),
            format!("{:.1}", told.leads_per_second).into(),
            if is_known { format!("{} ms", told.clock_ahead_ms) } else { String::new() }.into(),
            if is_known { format!("{:.1} ms", told.round_trip_us as f64 / 1000.0) } else { String::new() }
                .into(),
            told.book.as_str().into(),
            node.ended.map_or_else(String::new, page::moment_of).into(),
        ]);
    }
    table
}
