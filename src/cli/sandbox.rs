//! `offerd sandbox`

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::prelude::*;
use crate::sandbox::{Behaviours, Chance, Latency, Rates, SandboxCases, serve};

/// `offerd sandbox`.
#[derive(Debug, Args)]
pub struct SandboxArguments {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Directory of case files, `KEY/CASE.json`
    #[arg(long, value_name = "DIR", default_value = "tests/partners")]
    cases: PathBuf,
    /// Shortest and longest response time; nine of ten are within the first quarter of the span
    #[arg(long, value_name = "SPAN", default_value = "200ms..1500ms")]
    latency: Latency,
    #[command(flatten)]
    rates: Rates,
    /// Seed of the random draws; the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Runs `offerd sandbox` until it is stopped.
pub async fn run(arguments: &SandboxArguments) -> Result<(), CommandError> {
    if !arguments.rates.are_possible() {
        return Err("the shares must be from 0 to 1, and at most 1 together".into());
    }
    let cases = SandboxCases::load(&arguments.cases)
        .map_err(|fault| format!("{fault}; `--cases` says where the cases are, files `KEY/CASE.json` as offerd-partner(5) describes"))?;
    let listener = TcpListener::bind(arguments.listen).await;
    let listener = listener.map_err(|error| cannot_listen(arguments.listen, &error))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    page::print(format_args!(
        "answering for {} at http://{address}/KEY/...",
        page::counted(cases.partners(), "partner")
    ));
    for skipped in &cases.skipped {
        tell!("offerd: {skipped}, so it answers nothing");
    }
    let chance = Chance::new(arguments.seed, arguments.latency, arguments.rates);
    let behaviours = Behaviours::of(&arguments.cases, arguments.seed, chance);
    serve(listener, cases, behaviours, |line| page::print(line)).await;
    Ok(())
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> String {
    let wrong = match error.kind() {
        io::ErrorKind::AddrInUse => "is taken (`ss -ltnp` shows by whom)".to_owned(),
        _ => format!("cannot be listened on: {error}"),
    };
    format!("{address} {wrong}; give another address by `--listen`, such as 127.0.0.1:0 for any free port")
}
