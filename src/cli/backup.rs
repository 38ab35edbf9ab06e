//! `offerd backup FILE`
//!
//! A running daemon gives the backup over its admin listener; without one the command takes it of the store itself. What
//! arrives is checked on its way into the file.

use std::fmt::Display;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use hyper::Method;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::client::Client;
use super::files::{Making, cannot_make};
use super::operator::operator;
use super::page;
use crate::admin::backup::told;
use crate::config::Settings;
use crate::store::Tree;
use crate::store::backup::{Scanner, Summary};

/// `offerd backup`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  offerd backup nightly.backup
  offerd backup nightly.backup --json && offerd restore --check nightly.backup

The backup is of one instant, though leads are taken in meanwhile. It is sealed by the master key, which is not in it: keep
that elsewhere. A lead that is erased later is still in the backup, until the backup is destroyed.")]
pub struct Arguments {
    /// File to make, readable by its owner only
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Time after which progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs `offerd backup`.
pub fn run(config: Option<&Path>, arguments: &Arguments) -> ExitCode {
    let settings = match super::settings(config) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    match super::block_on(execute(&settings, arguments)) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(damage)) => super::fail(format_args!(
            "{} is a backup of all that can be read, and that is not all: {damage}",
            arguments.file.display()
        )),
        Err(message) => super::fail(message),
    }
}

/// Takes the backup; tells what was damaged in the store, where anything was.
async fn execute(settings: &Settings, arguments: &Arguments) -> Result<Option<String>, String> {
    let mut copy = Copy::begin(&arguments.file)?;
    match Client::of_daemon(settings).await? {
        Some((client, admin)) => {
            let mut pieces = client.pieces(&format!("{admin}/backup")).await?;
            loop {
                match pieces.next().await {
                    Ok(Some(piece)) => copy.add(&piece)?,
                    Ok(None) => break,
                    Err(broke) => return Err(broken_off(&client, &admin, &broke).await),
                }
            }
        }
        None => of_store(settings, &mut copy)?,
    }
    let summary = copy.end()?;
    if arguments.json {
        let told = serde_json::to_string_pretty(&json_of(&summary)).map_err(|error| error.to_string())?;
        page::print(told);
    } else {
        page::print(format_args!("{} is whole: {}", arguments.file.display(), told_of(&summary)));
    }
    Ok(damage_of(&summary.broken, summary.damages))
}

/// Why a backup broke off, with what the daemon says of itself.
async fn broken_off(client: &Client, admin: &str, broke: &impl Display) -> String {
    match client.call(Method::GET, &format!("{admin}/readyz"), None).await {
        Ok(answer) if !answer.status.is_success() => {
            format!("the backup broke off, and there is none: {}", answer.text())
        }
        _ => broke.to_string(),
    }
}

fn of_store(settings: &Settings, copy: &mut Copy) -> Result<(), String> {
    super::log_as_the_daemon_does(settings);
    let store = super::open_store(settings)?;
    let mut backup = store.backup().map_err(|error| error.to_string())?;
    while let Some(piece) = backup.step().map_err(|error| error.to_string())? {
        copy.add(&piece)?;
    }
    told("backup.take", &operator());
    store.close().map_err(|error| error.to_string())
}

/// The file in the making. Dropped before its end it leaves none.
struct Copy {
    file: PathBuf,
    making: Making,
    written: File,
    scanner: Scanner,
    bar: Bar,
}

impl Copy {
    fn begin(file: &Path) -> Result<Self, String> {
        if file.exists() {
            return Err(format!(
                "{} is there already, and a backup is never written over; give another name, or move it away",
                file.display()
            ));
        }
        let (making, written) = Making::begin(file).map_err(|error| cannot_make(file, &error))?;
        Ok(Self { file: file.to_owned(), making, written, scanner: Scanner::new(None), bar: Bar::start() })
    }

    fn add(&mut self, piece: &[u8]) -> Result<(), String> {
        self.scanner.push(piece).map_err(|fault| format!("the backup arrived damaged: {fault}"))?;
        self.written
            .write_all(piece)
            .map_err(|error| format!("{} cannot be written: {error}", self.making.part().display()))?;
        self.bar.show(self.scanner.summary());
        Ok(())
    }

    /// Gives the file its name, once it is whole and on the disk.
    fn end(self) -> Result<Summary, String> {
        let Self { file, making, written, scanner, bar } = self;
        bar.end();
        let summary =
            scanner.finish().map_err(|fault| format!("the backup did not arrive whole: {fault}"))?;
        making.finish(&written).map_err(|error| cannot_make(&file, &error))?;
        Ok(summary)
    }
}

/// What was not as it was written in a store, and was taken along or left out; nothing where all was.
pub fn damage_of(broken: &[(Tree, u64)], damages: u64) -> Option<String> {
    let records: u64 = broken.iter().map(|(_, count)| count).sum();
    let by_tree: Vec<String> =
        broken.iter().map(|(tree, count)| format!("{} {count}", tree.name())).collect();
    let records = match records {
        0 => None,
        1 => Some(format!("1 record cannot be read ({})", by_tree.join(", "))),
        many => Some(format!("{many} records cannot be read ({})", by_tree.join(", "))),
    };
    let places = match damages {
        0 => None,
        1 => Some("the files of the store are damaged in 1 place".to_owned()),
        many => Some(format!("the files of the store are damaged in {many} places")),
    };
    let told: Vec<String> = records.into_iter().chain(places).collect();
    (!told.is_empty()).then(|| {
        let told = told.join(", and ");
        format!(
            "{told}; `offerd store check` names them, `offerd store salvage` makes a good store of the rest"
        )
    })
}

/// What is in a backup, in a line.
pub fn told_of(summary: &Summary) -> String {
    let records: u64 = summary.records.iter().map(|(_, count)| count).sum();
    let mebibytes = summary.bytes as f64 / f64::from(1 << 20);
    format!(
        "{records} records and {} changes made meanwhile, {mebibytes:.1} MiB, sealed with master key {}",
        summary.changes, summary.sealed_with
    )
}

/// The same, as JSON.
pub fn json_of(summary: &Summary) -> Value {
    let records = summary.records.iter().filter(|(_, count)| *count > 0);
    let records: serde_json::Map<String, Value> =
        records.map(|(tree, count)| (tree.name().to_owned(), json!(count))).collect();
    let broken: serde_json::Map<String, Value> =
        summary.broken.iter().map(|(tree, count)| (tree.name().to_owned(), json!(count))).collect();
    json!({
        "sealedWith": summary.sealed_with,
        "storeFormat": summary.format,
        "begunAt": summary.begun_at,
        "bytes": summary.bytes,
        "blocks": summary.blocks,
        "records": records,
        "changes": summary.changes,
        "broken": broken,
        "damages": summary.damages,
        "sealsChecked": summary.unsealed,
    })
}

/// How far a backup was read or written; on a terminal only, and only when it takes its time.
pub struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Bar {
    /// A bar that is not shown yet.
    pub fn start() -> Self {
        let style = ProgressStyle::with_template(
            "{bar:30} {binary_bytes} of at most {binary_total_bytes}  {binary_bytes_per_sec}",
        );
        let bar = ProgressBar::hidden().with_style(style.expect("the template is well-formed"));
        Self { bar, begun: Instant::now() }
    }

    /// Shows how far it is.
    pub fn show(&self, summary: &Summary) {
        if self.bar.is_hidden() && self.begun.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(summary.store_bytes.max(summary.bytes));
        self.bar.set_position(summary.bytes);
    }

    /// Takes it away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
