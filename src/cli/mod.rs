//! The command line. One file a command; each returns the exit code.

mod backup;
mod check;
mod client;
mod events;
mod explain;
mod key;
mod lead;
mod manual;
mod os_user;
mod packaged;
mod page;
mod partners;
mod reload;
mod replay;
mod restore;
mod sandbox;
mod serve;
mod store;
mod token;
mod transfer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Settings;
use crate::daemon;
use crate::declaration::Fault;
use crate::partners::Book;
use crate::telemetry::logging;

/// Bad configuration (`EX_USAGE`); the unit does not start again on it.
pub const BAD_CONFIGURATION: u8 = 64;

/// A matching engine for financial offers: a lead goes in, a rate table comes out.
#[derive(Debug, Parser)]
#[command(name = "offerd", version, max_term_width = 110)]
pub struct Cli {
    /// Settings file; its keys go over the built-in defaults, and OFFERD__SECTION__KEY over both. Of a packaged offerd
    /// /etc/offerd/offerd.toml, where there is one
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
    /// Submit leads to a running daemon; erase or export what is held on a person
    #[command(subcommand)]
    Lead(lead::Command),
    /// Make and exchange the master key, which seals personal data
    #[command(subcommand)]
    Key(key::Command),
    /// Take in what partners report in files
    #[command(subcommand)]
    Events(events::Command),
    /// Show, pause and resume partners, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    Partners(partners::Command),
    /// Have a running daemon take in its settings and partner files anew, all or nothing
    Reload(reload::Arguments),
    /// Tell for a lead, partner by partner and offer by offer, what matches and what does not
    Explain(explain::Arguments),
    /// Run stored leads against changed partner files, and tell which offers would be won and lost; nobody is called
    Replay(replay::Arguments),
    /// Write the whole store into one sealed file, of a running daemon or of a stopped one's store
    Backup(backup::Arguments),
    /// Make a store of a backup, or check one
    Restore(restore::Arguments),
    /// Write a stopped daemon's store as plain lines of JSON, for moving on
    Export(transfer::ExportArguments),
    /// Make a store of the lines of an export
    Import(transfer::ImportArguments),
    /// Look after the store, of a running daemon or of a stopped one
    #[command(subcommand)]
    Store(store::Command),
    /// Answer as partners would, from their case files: a far side to try the mappings of partners on
    Sandbox(sandbox::Arguments),
    /// Write the man pages and the completions for shells, for who makes a package
    #[command(hide = true)]
    Manual(manual::Arguments),
}

/// Runs the command line.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let config = cli.config.or_else(packaged::settings);
    let config = config.as_deref();
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => serve::run(config),
        Command::Check => check::run(config),
        Command::Token(command) => token::run(config, command),
        Command::Lead(command) => lead::run(config, command),
        Command::Key(command) => key::run(config, command),
        Command::Events(command) => events::run(config, command),
        Command::Partners(command) => partners::run(config, command),
        Command::Reload(arguments) => reload::run(config, &arguments),
        Command::Explain(arguments) => explain::run(config, &arguments),
        Command::Replay(arguments) => replay::run(config, &arguments),
        Command::Backup(arguments) => backup::run(config, &arguments),
        Command::Restore(arguments) => restore::run(config, &arguments),
        Command::Export(arguments) => transfer::export(config, &arguments),
        Command::Import(arguments) => transfer::import(config, &arguments),
        Command::Store(command) => store::run(config, &command),
        Command::Sandbox(arguments) => sandbox::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
    }
}

/// Settings, or their faults told and the exit code for it.
fn settings(config: Option<&Path>) -> Result<Settings, ExitCode> {
    let settings = Settings::load(config).map_err(|faults| tell(&faults))?;
    match daemon::master_key_fault(&settings) {
        None => Ok(settings),
        Some(fault) => Err(tell(&[fault])),
    }
}

/// Starts the log, for a command that does to a stopped daemon's store what would else be in the daemon's log.
fn log_as_the_daemon_does(settings: &Settings) {
    logging::init(&settings.log.filter, settings.log.format);
}

/// Settings and the book, or the faults of both told and the exit code for it.
fn settings_and_book(config: Option<&Path>) -> Result<(Settings, Book), ExitCode> {
    daemon::load(config).map_err(|faults| tell(&faults))
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
