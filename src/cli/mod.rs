//! The command line. One file a command; each returns the exit code.

/// Prints a line on standard error ([`page::tell`]).
macro_rules! tell {
    ($($line:tt)*) => { $crate::cli::page::tell(format_args!($($line)*)) };
}

mod admin_client;
mod alerts;
mod audit;
mod backup;
mod check;
mod client;
mod consents;
mod console;
mod doctor;
mod events;
mod experiment;
mod explain;
mod files;
mod key;
mod lead;
mod lines;
mod manual;
mod no_answer;
mod nodes;
mod operator;
mod packaged;
mod page;
mod partners;
mod person;
mod postbacks;
mod progress;
mod ranking;
mod reload;
mod replay;
mod report;
mod restore;
mod sandbox;
mod serve;
mod store;
mod suppressions;
#[cfg(test)]
mod tests;
mod token;
mod transcript;
mod transfer;
mod trouble;
mod usage;
mod user;
mod values;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use self::trouble::Trouble;
use crate::config::{Settings, StoreSettings};
use crate::daemon;
use crate::partners::Book;
use crate::store::{SealingError, Store, StoreError, StoreOptions};
use crate::telemetry::logging;

/// A matching engine for financial offers: a lead goes in, a rate table comes out.
#[derive(Debug, Parser)]
#[command(
    name = "offerd",
    version,
    max_term_width = 110,
    after_help = "\
Examples:
  offerd check                                        are settings and partner files good?
  offerd                                              run the daemon
  offerd lead submit lead.json                        send a lead, and watch the partners answer
  offerd explain lead.json                            who fits, who does not, and why

The handbook is in offerd(8), offerd.toml(5) and offerd-partner(5)."
)]
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
    #[command(after_help = "\
Examples:
  offerd serve
  OFFERD__API__LISTEN=0.0.0.0:8080 offerd --config /etc/offerd/offerd.toml serve

SIGHUP takes changed files in, SIGTERM drains and ends, a second SIGTERM ends at once.")]
    Serve,
    /// Check settings and partner files; every fault is shown at once, exit code 64
    Check(check::Arguments),
    /// Look at the machine: limits, disk, clock, key, store, certificates, ports, partners; what is wrong, and what to do
    Doctor(doctor::Arguments),
    /// Show where a running daemon's console is, with a link that signs in; or make a new secret to sign in with
    Console(console::Arguments),
    /// Make, list and revoke access tokens, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd token create --company Acme --kind publishable
  offerd token list")]
    Token(token::Command),
    /// Add, list, change and remove users of the console, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd user add alice --role operator
  offerd user list
  offerd user role alice administrator
  offerd user disable alice")]
    User(user::Command),
    /// Show who did what, when and why; and whether nobody has changed that
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd audit list --since 7d
  offerd audit verify")]
    Audit(audit::Command),
    /// Submit leads to a running daemon; erase or export what is held on a person
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd lead submit lead.json
  offerd lead erase 01a1fcce-e71a-773e-b126-2445db4ef9dc")]
    Lead(lead::Command),
    /// Make and exchange the master key, which seals personal data
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd key create /etc/offerd/master-key
  offerd key rotate --new-key-file /etc/offerd/master-key.new")]
    Key(key::Command),
    /// Take in what partners report in files
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd events import reports.csv")]
    Events(events::Command),
    /// Show, pause and resume partners, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd partners list
  offerd partners timing --since 7d
  offerd partners pause tidelark_savings")]
    Partners(partners::Command),
    /// Do what a person asks for, by their email address or phone number: find, export or erase all of their leads
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd person find --email ada@example.com
  offerd person export --email ada@example.com --out ada.json
  offerd person erase --email ada@example.com")]
    Person(person::Command),
    /// Keep lists of whom partners are not to be asked about, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd suppressions add do_not_contact hashed.txt --kind email
  offerd suppressions list
  offerd suppressions remove do_not_contact")]
    Suppressions(suppressions::Command),
    /// Experiments on leads: which rules there are, and their variants compared
    #[command(
        subcommand,
        after_help = "\
Examples:
  offerd experiment list
  offerd experiment compare shorter_deadline"
    )]
    Experiment(experiment::Command),
    /// Look after what is pushed to companies, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd postbacks list
  offerd postbacks test acme_events
  offerd postbacks retry acme_events --all")]
    Postbacks(postbacks::Command),
    /// Show which alerts fire and who is told of them, of a running daemon or of a stopped one's store
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  offerd alerts list
  offerd alerts test")]
    Alerts(alerts::Command),
    /// Have a running daemon take in its settings and partner files anew, all or nothing
    Reload(reload::Arguments),
    /// Show for a lead, partner by partner and offer by offer, what matches and what does not
    Explain(explain::Arguments),
    /// Show what partners were sent about a lead and what came back, where their files want that kept
    Transcript(transcript::Arguments),
    /// Run stored leads against changed partner files, and show which offers would be won and lost; nobody is called
    Replay(replay::Arguments),
    /// Count what became of leads: by day, company, product, partner, client tag, rating, state and experiment, for any days
    Report(report::Arguments),
    /// Show what a company's own clicks have taught of conversions, and by what its offers are ranked
    Ranking(ranking::Arguments),
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
    #[command(after_help = "\
Examples:
  offerd store check
  offerd store salvage --into salvaged --backup nightly.backup
  offerd store copy --from embedded --to postgres")]
    Store(store::Command),
    /// List the daemons that share the store, and what of them is not as it should be
    Nodes(nodes::Arguments),
    /// Answer as partners would, from their case files: a far side to try the mappings of partners on
    Sandbox(sandbox::Arguments),
    /// Write the handbook as man pages, and the completions for shells
    Manual(manual::Arguments),
}

/// Runs the command line.
pub fn run() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        usage::end(&error, &Cli::command(), words)
    });
    let config = cli.config.or_else(packaged::settings);
    let config = config.as_deref();
    let ended = match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => return serve::run(config),
        Command::Check(arguments) => block_on(check::run(config, &arguments)),
        Command::Doctor(arguments) => block_on(doctor::run(config, &arguments)),
        Command::Console(arguments) => block_on(console::run(config, &arguments)),
        Command::Token(command) => block_on(token::run(config, command)),
        Command::User(command) => block_on(user::run(config, command)),
        Command::Audit(command) => block_on(audit::run(config, command)),
        Command::Lead(command) => block_on(lead::run(config, command)),
        Command::Key(command) => block_on(key::run(config, command)),
        Command::Events(command) => block_on(events::run(config, command)),
        Command::Partners(command) => block_on(partners::run(config, command)),
        Command::Person(command) => block_on(person::run(config, command)),
        Command::Suppressions(command) => block_on(suppressions::run(config, command)),
        Command::Experiment(command) => block_on(experiment::run(config, command)),
        Command::Postbacks(command) => block_on(postbacks::run(config, command)),
        Command::Alerts(command) => block_on(alerts::run(config, command)),
        Command::Reload(arguments) => block_on(reload::run(config, &arguments)),
        Command::Explain(arguments) => block_on(explain::run(config, &arguments)),
        Command::Transcript(arguments) => block_on(transcript::run(config, &arguments)),
        Command::Replay(arguments) => block_on(replay::run(config, &arguments)),
        Command::Report(arguments) => block_on(report::run(config, &arguments)),
        Command::Ranking(arguments) => block_on(ranking::run(config, &arguments)),
        Command::Backup(arguments) => block_on(backup::run(config, &arguments)),
        Command::Restore(arguments) => restore::run(config, &arguments),
        Command::Export(arguments) => block_on(transfer::export(config, &arguments)),
        Command::Import(arguments) => block_on(transfer::import(config, &arguments)),
        Command::Store(command) => block_on(store::run(config, &command)),
        Command::Nodes(arguments) => block_on(nodes::run(config, &arguments)),
        Command::Sandbox(arguments) => block_on(sandbox::run(&arguments)),
        Command::Manual(arguments) => manual::run(&arguments),
    };
    match ended {
        Err(trouble) => trouble.end(),
        Ok(()) if page::is_whole() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
    }
}

/// The settings, which must be good.
fn settings(config: Option<&Path>) -> Result<Settings, Trouble> {
    let settings = Settings::load(config).map_err(Trouble::Faults)?;
    let faults: Vec<_> = [daemon::wrong_master_key(&settings), daemon::database_fault(&settings)]
        .into_iter()
        .flatten()
        .collect();
    if faults.is_empty() { Ok(settings) } else { Err(Trouble::Faults(faults)) }
}

/// The settings, for a command that has only to find the daemon: what is wrong in them is for the daemon to report.
fn settings_to_find_the_daemon(config: Option<&Path>) -> Result<Settings, Trouble> {
    let (settings, faults) = Settings::inspect(config);
    settings.ok_or(Trouble::Faults(faults))
}

/// Starts the log, for a command that does to a stopped daemon's store what would else be in the daemon's log.
fn log_as_the_daemon_does(settings: &Settings) {
    logging::init(&settings.log.filter, settings.log.format);
}

/// The store of a stopped daemon. None is made where there is none: that would be a mistake in the settings or in the
/// directory that a command is given in, and look like success.
///
/// # Errors
/// That there is none, or why it cannot be opened, and where to look.
fn open_store(settings: &Settings) -> Result<Store, String> {
    if !is_there(&settings.store)? {
        return Err(format!(
            "there is no store at `store.path` ({}); name the daemon's settings by `--config FILE`, or go to its \
             directory; a first `offerd serve` makes a store",
            whole(&settings.store.path).display()
        ));
    }
    open_or_make_store(settings)
}

/// What to do about a store that cannot be looked into.
fn permit(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotADirectory => "it has to name a directory",
        _ => PERMIT,
    }
}

/// Whether there is a store. In a database there always is: whoever opens it first makes its tables.
///
/// # Errors
/// That nobody lets us see whether there is.
fn is_there(store: &StoreSettings) -> Result<bool, String> {
    let cannot =
        |error: io::Error| format!("{} cannot be looked into: {error}; {}", store.place(), permit(&error));
    match store.database() {
        Some(_) => Ok(true),
        None => store.path.join("lock").try_exists().map(|_| Store::exists(&store.path)).map_err(cannot),
    }
}

/// Refuses what is done with the files of a store, where a database has the records.
fn in_files(settings: &Settings, what: &str, instead: &str) -> Result<(), String> {
    match settings.store.database() {
        Some(_) => {
            Err(format!("{what} is for a store in files, and `store.engine` is `postgres`: {instead}"))
        }
        None => Ok(()),
    }
}

/// What to do where this user may not.
const PERMIT: &str = "go on as the user that the daemon runs as, or give it to that user with `chown -R`";

/// A path from the root on, which means the same in whatever directory it is read.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The store of a stopped daemon, which is made where there is none.
///
/// # Errors
/// Why it cannot be opened, and where to look.
fn open_or_make_store(settings: &Settings) -> Result<Store, String> {
    log_as_the_daemon_does(settings);
    Store::open(StoreOptions::from(&settings.store)).map_err(|error| unopened(settings, &error))
}

/// Why a store cannot be opened, and where to look.
fn unopened(settings: &Settings, error: &StoreError) -> String {
    let told = format!("{} cannot be opened: {error}", settings.store.place());
    match error {
        // It says itself what to do.
        StoreError::Owner { .. } | StoreError::Format { .. } | StoreError::Foreign { .. } => told,
        StoreError::Sealing(SealingError::MasterKey(key)) if key.is_forbidden() => {
            format!("{told}; {PERMIT}")
        }
        StoreError::Locked { .. } => {
            format!("{told}; commands find it by `daemon.json` in that directory, which a restart makes anew")
        }
        _ => format!("{told}; `offerd doctor` looks at what is wrong"),
    }
}

/// The settings and the book, which must be good.
fn settings_and_book(config: Option<&Path>) -> Result<(Settings, Book), Trouble> {
    daemon::load(config).map(|loaded| (loaded.settings, loaded.book)).map_err(Trouble::Faults)
}

/// Runs a command's requests to their end.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime without worker threads needs nothing that could be missing").block_on(future)
}
