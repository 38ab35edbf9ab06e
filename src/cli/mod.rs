//! The command line. One file per command; each returns its exit code.

/// Prints a line on standard error ([`page::tell`]).
macro_rules! tell {
    ($($line:tt)*) => { $crate::cli::page::tell(format_args!($($line)*)) };
}

mod admin_client;
mod alerts;
mod answer;
mod audit;
mod backup;
mod check;
mod command_error;
mod consents;
mod console;
mod doctor;
mod events;
mod experiment;
mod explain;
mod files;
mod init;
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
mod prelude;
mod progress;
mod ranking;
mod reload;
mod replay;
mod report;
mod restore;
mod sandbox;
mod store;
mod suppressions;
#[cfg(test)]
mod tests;
mod token;
mod transcript;
mod transfer;
mod usage;
mod user;
mod values;

use std::io;

use clap::{CommandFactory, Parser};

use self::prelude::*;
use crate::daemon;
use offerd_base::config::StoreSettings;
use offerd_base::telemetry::logging;
use offerd_store::{DISK_FULL, SealingError, Store, StoreError, StoreOptions};

/// How long a command waits at its end until a store that it has used is closed.
const CLOSING: Duration = Duration::from_secs(10);

/// A matching engine for financial offers: a lead goes in, a rate table comes out.
#[derive(Debug, Parser)]
#[command(
    name = "offerd",
    version,
    max_term_width = 110,
    after_help = help("offerd"),
    mut_subcommands = |command| with_help(command, "offerd")
)]
pub struct Cli {
    /// Settings file; its keys override the built-in defaults, and OFFERD__SECTION__KEY overrides both. A
    /// packaged offerd uses /etc/offerd/offerd.toml if it exists
    #[arg(
        long,
        global = true,
        env = "OFFERD_CONFIG",
        value_name = "FILE",
        value_parser = values::settings_file(),
        value_hint = clap::ValueHint::FilePath
    )]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon (also without any command)
    Serve,
    /// Check settings and partner files; shows every fault at once, exit code 64
    Check {
        /// Print JSON: `faults`, each with `file`, `line`, `key` and `message`; `remarks` on likely mistakes;
        /// and the numbers of partners, seats (a partner's products) and offers
        #[arg(long)]
        json: bool,
    },
    /// Write settings, the sample partners and a test lead into a directory, for a first start without a clone
    Init {
        /// Directory to write into; no file in it is overwritten
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Diagnose the machine: limits, disk, clock, key, store, certificates, ports, partners; says what is
    /// wrong and how to fix it
    Doctor {
        /// Print JSON: an array of `check`, `state` (good, look, wrong, unknown), `found` and `next`
        #[arg(long)]
        json: bool,
    },
    /// Show where a running daemon's console is, with a sign-in link; or create a new sign-in secret
    Console(console::ConsoleArguments),
    /// Create, list and revoke access tokens, on a running daemon or in the store of a stopped one
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Add, list, change and remove console users, on a running daemon or in the store of a stopped one
    #[command(subcommand)]
    User(user::UserCommand),
    /// Show the audit log, and verify that nobody has altered it
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Submit leads to a running daemon; erase or export the data of one lead
    #[command(subcommand)]
    Lead(lead::LeadCommand),
    /// Create keys, and rotate the master key, which seals personal data
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Import files of events that partners report
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Show, pause and resume partners, on a running daemon or in the store of a stopped one
    #[command(subcommand)]
    Partners(partners::PartnersCommand),
    /// Answer data-subject requests by email address or phone number: find, export or erase all leads of a
    /// person
    #[command(subcommand)]
    Person(person::PersonCommand),
    /// Manage the lists of people that partners are not asked about, on a running daemon or in the store of a
    /// stopped one
    #[command(subcommand)]
    Suppressions(suppressions::SuppressionsCommand),
    /// List experiments on leads and compare their variants
    #[command(subcommand)]
    Experiment(experiment::ExperimentCommand),
    /// Manage postbacks to companies, on a running daemon or in the store of a stopped one
    #[command(subcommand)]
    Postbacks(postbacks::PostbacksCommand),
    /// Show which alerts fire and where they are sent, on a running daemon or in the store of a stopped one
    #[command(subcommand)]
    Alerts(alerts::AlertsCommand),
    /// Make a running daemon reload its settings and partner files, all or nothing
    Reload {
        /// Print JSON: the changes, or the faults
        #[arg(long)]
        json: bool,
    },
    /// Explain a lead, partner by partner and offer by offer: what matches and what does not
    Explain(explain::ExplainArguments),
    /// Show what partners were sent about a lead and what they answered, if their files keep transcripts
    Transcript(transcript::TranscriptArguments),
    /// Run stored leads against changed partner files, and show which offers would be won and lost; no
    /// partner is called
    Replay(replay::ReplayArguments),
    /// Report on leads for any range of days: by day, company, product, partner, client tag, rating, state
    /// and experiment
    Report(report::ReportArguments),
    /// Show the conversion rates learned from a company's own clicks, and how its offers are ranked
    Ranking(ranking::RankingArguments),
    /// Back up the whole store into one sealed file, from a running daemon or the store of a stopped one
    Backup(backup::BackupArguments),
    /// Restore a store from a backup, or verify a backup
    Restore(restore::RestoreArguments),
    /// Export the store of a stopped daemon as NDJSON, for migration
    Export(transfer::ExportArguments),
    /// Create a store from an export
    Import {
        /// Output of `offerd export --personal-data`; `-` reads standard input
        file: PathBuf,
    },
    /// Inspect and maintain the store, of a running daemon or a stopped one
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// List the daemons that share the store, and their problems
    Nodes {
        /// Print JSON: `shared`, `nodes` and `warnings`
        #[arg(long)]
        json: bool,
    },
    /// Simulate partners from their case files: a remote end to test partner mappings against
    Sandbox(sandbox::SandboxArguments),
    /// Write the handbook as man pages, and the shell completions
    Manual {
        /// Directory to write `man/` and `completions/` into; overwrites existing files
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Examples and notes that end the `--help` and the man page of each command, keyed by the command's path.
const HELP: &str = include_str!("help.txt");

/// Adds a command's section of [`HELP`], and those of its subcommands; `above` is the path of its parent.
fn with_help(command: clap::Command, above: &str) -> clap::Command {
    let path = format!("{above} {}", command.get_name());
    command.after_help(help(&path)).mut_subcommands(|inner| with_help(inner, &path))
}

fn help(path: &str) -> &'static str {
    let section = HELP.split("\n# ").find_map(|section| section.strip_prefix(path)?.strip_prefix('\n'));
    section.unwrap_or_default().trim_end()
}

/// Runs the command line.
pub fn run() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        usage::end(&error, &Cli::command(), words)
    });
    let config = cli.config.or_else(packaged::settings);
    let ended = match cli.command {
        None | Some(Command::Serve) => serve(config.as_deref()),
        Some(command) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime =
                runtime.expect("a runtime without worker threads needs nothing that could be missing");
            let ended = runtime.block_on(execute(config.as_deref(), command));
            drop(runtime);
            offerd_store::wait_closed(CLOSING);
            ended.map(|()| ExitCode::SUCCESS)
        }
    };
    match ended {
        Err(trouble) => trouble.end(),
        Ok(_) if page::has_failed() => ExitCode::FAILURE,
        Ok(code) => code,
    }
}

/// Runs the daemon until it ends. Settings and partner files are validated before anything is bound or
/// opened.
fn serve(config: Option<&Path>) -> Result<ExitCode, CommandError> {
    let loaded = daemon::load(config)?;
    match daemon::master_key_fault(&loaded.settings) {
        None => Ok(daemon::run(config.map(Path::to_owned), loaded)),
        Some(fault) => Err(CommandError::Faults(vec![fault])),
    }
}

async fn execute(config: Option<&Path>, command: Command) -> Result<(), CommandError> {
    let good = || settings(config);
    match command {
        Command::Serve => unreachable!("the daemon has a runtime of its own"),
        Command::Check { json } => check::run(config, json).await,
        Command::Init { directory } => init::run(&directory),
        Command::Doctor { json } => doctor::run(config, json).await,
        Command::Console(arguments) => console::run(config, &arguments).await,
        Command::Token(command) => token::run(&good()?, command).await,
        Command::User(command) => user::run(&good()?, command).await,
        Command::Audit(command) => audit::run(&AdminClient::find(&good()?).await?, command).await,
        Command::Lead(command) => lead::run(&good()?, command).await,
        Command::Key(command) => key::run(config, command).await,
        Command::Events(command) => events::run(&good()?, &command).await,
        Command::Partners(command) => partners::run(config, command).await,
        Command::Person(command) => person::run(&good()?, command).await,
        Command::Suppressions(command) => suppressions::run(&good()?, command).await,
        Command::Experiment(command) => experiment::run(&good()?, command).await,
        Command::Postbacks(command) => postbacks::run(&good()?, command).await,
        Command::Alerts(command) => alerts::run(&AdminClient::find(&good()?).await?, command).await,
        Command::Reload { json } => reload::run(config, json).await,
        Command::Explain(arguments) => explain::run(config, &arguments).await,
        Command::Transcript(arguments) => transcript::run(&good()?, &arguments).await,
        Command::Replay(arguments) => replay::run(&good()?, &arguments).await,
        Command::Report(arguments) => report::run(&good()?, &arguments).await,
        Command::Ranking(arguments) => ranking::run(&AdminClient::find(&good()?).await?, &arguments).await,
        Command::Backup(arguments) => backup::run(config, &arguments).await,
        Command::Restore(arguments) => restore::run(config, &arguments),
        Command::Export(arguments) => transfer::export(config, &arguments).await,
        Command::Import { file } => transfer::import(config, &file).await,
        Command::Store(command) => store::run(config, &command).await,
        Command::Nodes { json } => nodes::run(&AdminClient::find(&good()?).await?, json).await,
        Command::Sandbox(arguments) => sandbox::run(&arguments).await,
        Command::Manual { directory } => manual::run(&directory),
    }
}

fn settings(config: Option<&Path>) -> Result<Settings, CommandError> {
    let settings = Settings::load(config)?;
    let faults = [daemon::wrong_master_key(&settings), daemon::database_fault(&settings)];
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    if faults.is_empty() { Ok(settings) } else { Err(CommandError::Faults(faults)) }
}

/// Loads the settings of a command that only has to find the daemon. The daemon reports their faults itself.
fn settings_to_find_the_daemon(config: Option<&Path>) -> Result<Settings, CommandError> {
    let (settings, faults) = Settings::inspect(config, None);
    settings.ok_or(CommandError::Faults(faults))
}

/// Starts the log, for a command whose changes to a stopped daemon's store would otherwise be in the daemon's
/// log.
fn log_as_the_daemon_does(settings: &Settings) {
    logging::init(&settings.log.filter, settings.log.access, settings.log.format);
}

/// Opens the store of a stopped daemon. Never creates one: a missing store means a mistake in the settings or
/// a wrong working directory, and a new one would look like success.
fn open_store(settings: &Settings) -> Result<Store, String> {
    expect_store(settings)?;
    open_or_make_store(settings)
}

fn expect_store(settings: &Settings) -> Result<(), String> {
    if is_there(&settings.store)? {
        return Ok(());
    }
    Err(format!(
        "there is no store at {}; name the daemon's settings by `--config FILE`, or go to its directory; a first `offerd serve` makes a store",
        settings.store.location()
    ))
}

fn permit(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotADirectory => "it has to name a directory",
        io::ErrorKind::ReadOnlyFilesystem => REMOUNT,
        _ => PERMIT,
    }
}

/// Whether the store exists. A database that does not answer counts as existing; opening it then reports the
/// fault. Fails when the store's directory is not accessible.
fn is_there(store: &StoreSettings) -> Result<bool, String> {
    let cannot =
        |error: io::Error| format!("{} cannot be read: {error}; {}", store.location(), permit(&error));
    match store.database() {
        Some(_) => Ok(!matches!(Store::database_figures(&StoreOptions::from(store)), Ok(None))),
        None => store.path.join("lock").try_exists().map(|_| Store::exists(&store.path)).map_err(cannot),
    }
}

/// Refuses an operation on store files when the records are in a database.
fn in_files(settings: &Settings, what: &str, instead: &str) -> Result<(), String> {
    let refused = || format!("{what} is for a store in files, and `store.engine` is `postgres`: {instead}");
    settings.store.database().map_or(Ok(()), |_| Err(refused()))
}

/// What to do about a file system that is mounted read-only.
const REMOUNT: &str =
    "find out why with `dmesg`: a file system with errors is remounted so; then `mount -o remount,rw`";

/// What to do about files that this user may not use.
const PERMIT: &str = "run this as the user that the daemon runs as, or give it to that user with `chown -R`";

/// The absolute path, which means the same in every working directory.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Opens the store of a stopped daemon, and creates it if it does not exist.
fn open_or_make_store(settings: &Settings) -> Result<Store, String> {
    log_as_the_daemon_does(settings);
    Store::open(StoreOptions::from(&settings.store)).map_err(|error| unopened(settings, &error))
}

fn unopened(settings: &Settings, error: &StoreError) -> String {
    let told = format!("{} cannot be opened: {error}", settings.store.location());
    match error {
        // These errors already say how to fix them.
        StoreError::Owner { .. } | StoreError::Format { .. } | StoreError::Foreign { .. } => told,
        _ if told.contains(DISK_FULL) => told,
        StoreError::Sealing(SealingError::MasterKey(key)) if key.is_forbidden() => {
            format!("{told}; {PERMIT}")
        }
        StoreError::Locked { .. } => {
            format!(
                "{told}; if it is starting, try again; commands find it by `daemon.json` in that directory, which a restart of \
                 the daemon writes again"
            )
        }
        _ => format!("{told}; `offerd doctor` looks for the cause"),
    }
}
