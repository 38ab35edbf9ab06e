//! The command line. One file a command; each returns the exit code.

mod check;
mod client;
mod events;
mod explain;
mod lead;
mod page;
mod partners;
mod sandbox;
mod serve;
mod token;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Settings;
use crate::daemon;
use crate::declaration::Fault;
use crate::matching::lines::Lines;
use crate::partners::Book;

/// Bad configuration (`EX_USAGE`); the unit does not start again on it.
pub const BAD_CONFIGURATION: u8 = 64;

/// A matching engine for financial offers: a lead goes in, a rate table comes out.
#[derive(Debug, Parser)]
#[command(name = "offerd", version, max_term_width = 110)]
pub struct Cli {
    /// Settings file; its keys go over the built-in defaults, and OFFERD__SECTION__KEY over both
    #[arg(long, global = true, env = "OFFERD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon (also without any command)
    Serve,
    /// Check settings and partner files; every fault is told at once, exit code 64
    Check,
    /// Make, list and revoke access tokens, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    Token(token::Command),
    /// Submit leads to a running daemon
    #[command(subcommand)]
    Lead(lead::Command),
    /// Take in what partners report in files
    #[command(subcommand)]
    Events(events::Command),
    /// Show, pause and resume partners, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    Partners(partners::Command),
    /// Tell for a lead, partner by partner and offer by offer, what matches and what does not
    Explain(explain::Arguments),
    /// Answer as partners would, from their case files: a far side to try the mappings of partners on
    Sandbox(sandbox::Arguments),
}

/// Runs the command line.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let config = cli.config.as_deref();
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => serve::run(config),
        Command::Check => check::run(config),
        Command::Token(command) => token::run(config, command),
        Command::Lead(command) => lead::run(config, command),
        Command::Events(command) => events::run(config, command),
        Command::Partners(command) => partners::run(config, command),
        Command::Explain(arguments) => explain::run(config, &arguments),
        Command::Sandbox(arguments) => sandbox::run(&arguments),
    }
}

/// Settings, or their faults told and the exit code for it.
fn settings(config: Option<&Path>) -> Result<Settings, ExitCode> {
    Settings::load(config).map_err(|faults| tell(&faults))
}

/// Settings and the book, or the faults of both told and the exit code for it.
fn settings_and_book(config: Option<&Path>) -> Result<(Settings, Book), ExitCode> {
    let (settings, mut faults) = Settings::inspect(config);
    let Some(settings) = settings else { return Err(tell(&faults)) };
    match Book::load(&settings.partners.path) {
        Ok(book) => {
            let closed = Lines::new(settings.wire).open(&book).err().into_iter().flatten();
            faults.extend(closed.map(|message| Fault {
                file: Some(settings.partners.path.clone()),
                line: None,
                key: "wire".to_owned(),
                message,
            }));
            faults.extend(http_faults(&settings));
            if faults.is_empty() { Ok((settings, book)) } else { Err(tell(&faults)) }
        }
        Err(of_partners) => {
            faults.extend(of_partners);
            faults.extend(http_faults(&settings));
            Err(tell(&faults))
        }
    }
}

/// What is wrong with the certificates of the listeners.
fn http_faults(settings: &Settings) -> Vec<Fault> {
    let faults = daemon::Identities::read(settings).err().unwrap_or_default();
    faults.into_iter().map(|(key, message)| Fault { file: None, line: None, key, message }).collect()
}

/// Tells faults, one a line.
fn tell(faults: &[Fault]) -> ExitCode {
    for fault in faults {
        eprintln!("{fault}");
    }
    let count = faults.len();
    eprintln!(
        "offerd: {count} {} found; nothing was started or changed",
        if count == 1 { "fault" } else { "faults" }
    );
    ExitCode::from(BAD_CONFIGURATION)
}

/// Tells why a command failed.
fn fail(message: impl std::fmt::Display) -> ExitCode {
    eprintln!("offerd: {message}");
    ExitCode::FAILURE
}

/// Runs a command's requests to their end.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime without worker threads needs nothing that could be missing").block_on(future)
}
