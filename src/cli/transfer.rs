//! `offerd export FILE`, `offerd import FILE`: a store as NDJSON, for migration.
//!
//! Both need a stopped daemon, so that an export is a consistent snapshot. To export from a running one,
//! restore a backup elsewhere and export that.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use super::backup::damage_of;
use super::files::{AtomicFile, InputFile, cannot_make};
use super::key;
use super::prelude::*;
use offerd_insight::transfer::{self, Exported, RecordImport};
use offerd_store::audit::{AuditEntry, AuditLog};
use offerd_store::staging::{StagingDirectory, StagingError};
use offerd_store::{Commit, DISK_FULL, Tree, unusable};

/// `offerd export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// File to create, readable by its owner only; `-` writes to standard output
    file: PathBuf,
    /// Include personal data, in plain text; without this, everything that is sealed in the store is left out
    #[arg(long)]
    personal_data: bool,
}

/// Longest line: the longest possible value in hexadecimal, with its envelope.
const LINE_BYTES: u64 = 64 << 20;

const BAR: &str = "{spinner} {pos} records, {per_sec}";

/// Records between two updates of the progress.
const TOLD_EVERY: u64 = 256;

/// Runs `offerd export`.
pub async fn export(config: Option<&Path>, arguments: &ExportArguments) -> Result<(), CommandError> {
    run(config, "stop it, or restore a backup elsewhere and export that", async |settings| {
        let store = super::open_store(settings)?;
        if arguments.personal_data {
            let entry = AuditEntry::of_machine(operator(), "command", "store.export.personal_data");
            AuditLog::of(store.clone()).commit(Commit::new(), entry).await.map_err(|failure| {
                format!("nothing was exported, because the export could not be recorded: {failure}")
            })?;
        }
        let Exported { records, unread } = write(&store, arguments)?;
        let broken: Vec<(Tree, u64)> = store.broken().into_iter().collect();
        let damages = store.damages().iter().filter(|damage| damage.costs_records()).count() as u64;
        let damages = damages.max(unread.min(1));
        store.close().map_err(|error| error.to_string())?;
        let left_out = "; sealed data was left out: use --personal-data to include it";
        let left_out = if arguments.personal_data { "" } else { left_out };
        let action = if arguments.personal_data { "store.export.personal_data" } else { "store.export" };
        log_action(action, &operator(), "store exported");
        let message = format!("{records} records exported{left_out}");
        match damage_of(&broken, damages) {
            None => Ok(message),
            Some(damage) => Err(format!("{message}, but the export is incomplete: {damage}")),
        }
    })
    .await
}

/// Runs `offerd import`.
pub async fn import(config: Option<&Path>, file: &Path) -> Result<(), CommandError> {
    let next =
        "an import needs a new store: set another `store.path`, or stop the daemon and move its store away";
    run(config, next, async |settings| {
        super::in_files(settings, "`offerd import`", "import into files, then copy those into the database")?;
        // Opened first, so that no store is created for an unreadable file.
        let input = InputFile::open(file);
        let input = input.map_err(|fault| format!("{fault}; `offerd export` makes such a file"))?.read;
        let path = &settings.store.path;
        let place = StagingDirectory::begin(path).map_err(|error| match error {
            StagingError::NotEmpty { .. } => format!("{error}; set another `store.path`"),
            StagingError::LeftOver { .. } | StagingError::Store(_) => error.to_string(),
        })?;
        let given = MasterKey::find(settings.store.master_key_file.as_deref(), path);
        let (key, made) = match given.map_err(|error| error.to_string())? {
            Some(key) => (key, None),
            None => {
                let beside = MasterKey::place_for_new(path).map_err(|error| error.to_string())?;
                (MasterKey::create(&beside).map_err(|error| error.to_string())?, Some(beside))
            }
        };
        let mut filled = settings.clone();
        filled.store.path = place.path().to_owned();
        filled.store.master_key_file = key::file_of(&key);
        let imported = fill(&filled, file, input).await.map_err(|told| {
            match told.contains(DISK_FULL) && !told.contains("make room") {
                true => unusable(path, &told),
                false => told,
            }
        });
        let moved = imported.and_then(|records| {
            place.finish().map_err(|error| error.to_string())?;
            Ok(records)
        });
        match (&moved, made) {
            (Ok(_), Some(made)) => key.tell_made(&made),
            (Err(_), Some(made)) => drop(fs::remove_file(made)),
            (_, None) => {}
        }
        let records = moved?;
        log_action("store.import", &operator(), "export imported into a new store");
        Ok(format!("{records} records imported"))
    })
    .await
}

/// Creates a store from the lines.
async fn fill(settings: &Settings, file: &Path, input: Box<dyn Read>) -> Result<u64, String> {
    let store = super::open_or_make_store(settings)?;
    let imported = read(&store, file, input).await;
    let closed = store.close().map_err(|error| error.to_string());
    imported.and_then(|records| closed.map(|()| records))
}

/// Runs `work` on the store of a stopped daemon and prints its result; `next` is the advice when a daemon
/// runs.
async fn run(
    config: Option<&Path>,
    next: &str,
    work: impl AsyncFnOnce(&Settings) -> Result<String, String>,
) -> Result<(), CommandError> {
    let settings = super::settings(config)?;
    if AdminClient::of_daemon(&settings).await?.is_some() {
        let path = settings.store.path.display();
        return Err(format!("a daemon runs on `{path}`: {next}").into());
    }
    // Standard output may carry the export.
    tell!("offerd: {}", work(&settings).await?);
    Ok(())
}

/// Writes the lines. A file gets its name when it is complete.
fn write(store: &Store, arguments: &ExportArguments) -> Result<Exported, String> {
    let file = &arguments.file;
    if file == Path::new("-") {
        return write_lines(store, arguments, io::stdout().lock());
    }
    let (making, made) = AtomicFile::begin(file).map_err(|error| cannot_make(file, &error))?;
    let written = write_lines(store, arguments, &made)?;
    making.finish(&made).map_err(|error| cannot_make(file, &error))?;
    Ok(written)
}

fn write_lines(store: &Store, arguments: &ExportArguments, out: impl Write) -> Result<Exported, String> {
    let cannot = |error: io::Error| format!("{} cannot be written: {error}", arguments.file.display());
    let mut out = BufWriter::new(out);
    let bar = StepProgressBar::begin(BAR);
    let exported = transfer::export(store, arguments.personal_data, |line, records| {
        tell(&bar, records);
        writeln!(out, "{line}").map_err(cannot)
    })?;
    out.flush().map_err(cannot)?;
    Ok(exported)
}

async fn read(store: &Store, file: &Path, input: Box<dyn Read>) -> Result<u64, String> {
    let name = file.display();
    let cannot = |error: io::Error| format!("{name} cannot be read: {error}");
    let mut input = BufReader::new(input);
    let bar = StepProgressBar::begin(BAR);
    let mut import = RecordImport::into(store.clone());
    let mut line = Vec::new();
    let mut number = 0;
    while input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).map_err(cannot)? > 0 {
        number += 1;
        import.add(&line).await.map_err(|error| format!("{name}: line {number} {error}"))?;
        line.clear();
        tell(&bar, number);
    }
    drop(bar);
    if number == 0 {
        return Err(format!("{name} is empty; give a file that `offerd export --personal-data` has made"));
    }
    import.finish().await.map_err(|error| format!("{name}: line {number} {error}"))
}

fn tell(bar: &StepProgressBar, records: u64) {
    if records.is_multiple_of(TOLD_EVERY) {
        bar.show(records, records);
    }
}
