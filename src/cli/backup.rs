//! `offerd backup FILE`. The checksums of the stream are verified on its way into the file; its seals are
//! not.

use std::fs::File;
use std::io::Write;

use super::files::{AtomicFile, cannot_make};
use super::key;
use super::prelude::*;
use offerd_store::backup::{BackupSummary, Scanner};
use offerd_store::salvage::{SalvageError, copy_elsewhere};
use offerd_store::staging::StagingDirectory;
use offerd_store::{DISK_FULL, Tree, unusable};

/// `offerd backup`.
#[derive(Debug, Args)]
pub struct BackupArguments {
    /// File to create, readable by its owner only
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Progress of reading or writing a backup.
pub const BAR: &str = "{bar:30} {binary_bytes} of at most {binary_total_bytes}  {binary_bytes_per_sec}";

/// Runs `offerd backup`.
pub async fn run(config: Option<&Path>, arguments: &BackupArguments) -> Result<(), CommandError> {
    let settings = super::settings(config)?;
    let (file, mut scanner, bar) = (&arguments.file, Scanner::new(None), StepProgressBar::begin(BAR));
    let (unfinished, mut part) = begin(file, &settings.store.path)?;
    let (_copy, admin) = open_or_copy_store(&settings, file).await?;
    let mut pieces = admin.pieces("/backup").await?;
    loop {
        let piece = match pieces.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(broke) => return Err(broken_off(&admin, broke).await),
        };
        scanner.push(&piece).map_err(|fault| format!("the backup arrived damaged: {fault}"))?;
        part.write_all(&piece).map_err(|error| unusable(&unfinished.part, &error))?;
        show(&bar, scanner.summary());
    }
    drop((pieces, bar));
    admin.close()?;
    let summary = scanner.finish().map_err(|fault| format!("the backup is incomplete: {fault}"))?;
    unfinished.finish(&part).map_err(|error| cannot_make(file, &error))?;
    let file = arguments.file.display();
    page::show(&json_of(&summary), arguments.json, || {
        let is = match missed(&summary.broken, summary.damages) {
            None => "is whole: ".to_owned(),
            Some(missed) => format!("holds what can be read ({missed}): "),
        };
        page::print(format_args!("{file} {is}{}", told_of(&summary)));
    })?;
    match damage_of(&summary.broken, summary.damages) {
        None => Ok(()),
        Some(damage) => Err(format!(
            "{file} is incomplete, without what cannot be read: {damage}; keep the last complete backup"
        )
        .into()),
    }
}

/// Opens the store to back up: through the daemon, or in this process. If the disk of a stopped daemon is too
/// full to open it, a temporary copy beside the backup is opened instead.
async fn open_or_copy_store(
    settings: &Settings,
    file: &Path,
) -> Result<(Option<StagingDirectory>, AdminClient), CommandError> {
    match AdminClient::find(settings).await {
        Err(CommandError::Other(told)) if told.contains(DISK_FULL) && settings.store.database().is_none() => {
            let cannot = |error: &dyn std::fmt::Display| {
                CommandError::Other(format!(
                    "{told}; its files cannot be copied beside {} either: {error}",
                    file.display()
                ))
            };
            tell!("offerd: {told}; its files are copied beside {} for the backup", file.display());
            let (store, copy) = copied(settings, file).map_err(|error| cannot(&error))?;
            Ok((Some(copy), AdminClient::of_store(store, Book::of(Vec::new()), settings)))
        }
        found => Ok((None, found?)),
    }
}

/// Copies a stopped store beside a file and opens the copy.
fn copied(settings: &Settings, file: &Path) -> Result<(Store, StagingDirectory), String> {
    let mut name = file.as_os_str().to_owned();
    name.push(".store");
    let copy = StagingDirectory::begin(Path::new(&name)).map_err(|error| error.to_string())?;
    let mut options = StoreOptions::from(&settings.store);
    let master = MasterKey::find(options.master_key_file.as_deref(), &options.path)
        .map_err(|error| error.to_string())?;
    let master = master.ok_or_else(|| SalvageError::NoMasterKey.to_string())?;
    copy_elsewhere(&options, &master, &copy).map_err(|error| error.to_string())?;
    options.path = copy.path().to_owned();
    options.master_key_file = key::file_of(&master);
    Ok((Store::open(options).map_err(|error| error.to_string())?, copy))
}

async fn broken_off(admin: &AdminClient, broke: impl Into<CommandError>) -> CommandError {
    match admin.call(Method::GET, "/readyz").await {
        Ok(answer) if !answer.status.is_success() => {
            CommandError::Other(format!("the backup was interrupted; no file was written: {}", answer.text()))
        }
        _ => broke.into(),
    }
}

/// Creates the file. Dropping it before `finish` leaves none.
fn begin(file: &Path, store: &Path) -> Result<(AtomicFile, File), String> {
    if file == Path::new("-") {
        return Err("a backup needs a file, not standard output: give a file name".to_owned());
    }
    let shown = file.display();
    if file.exists() {
        return Err(format!(
            "{shown} exists already, and a backup is never overwritten; give another name, or move it away"
        ));
    }
    if std::path::absolute(file).is_ok_and(|file| file.starts_with(super::whole(store))) {
        return Err(format!(
            "{shown} is in the directory of the store and would be lost with it; give another place"
        ));
    }
    AtomicFile::begin(file).map_err(|error| cannot_make(file, &error))
}

/// Warning and advice about damage that a backup met; `None` for an undamaged store.
pub fn damage_of(broken: &[(Tree, u64)], damages: u64) -> Option<String> {
    let missed = missed(broken, damages)?;
    Some(format!(
        "{missed}; `offerd store check` names them, `offerd store salvage` rebuilds a store from the rest"
    ))
}

/// What could not be read of a store; `None` if everything could.
pub fn missed(broken: &[(Tree, u64)], damages: u64) -> Option<String> {
    let records: u64 = broken.iter().map(|(_, count)| count).sum();
    let trees: Vec<String> = broken.iter().map(|(tree, count)| format!("{} {count}", tree.name())).collect();
    let counted = |count: u64, what| (count > 0).then(|| page::counted(count as usize, what));
    let records = counted(records, "record");
    let records = records.map(|records| format!("{records} could not be read ({})", trees.join(", ")));
    let places = counted(damages, "place");
    let places = places.map(|places| format!("{places} of the store's files could not be read"));
    let told: Vec<String> = records.into_iter().chain(places).collect();
    (!told.is_empty()).then(|| told.join(", and "))
}

/// A one-line summary of a backup.
pub fn told_of(summary: &BackupSummary) -> String {
    let records: u64 = summary.records.iter().map(|(_, count)| count).sum();
    let mebibytes = summary.bytes as f64 / f64::from(1 << 20);
    format!(
        "{records} records and {} during the backup, {mebibytes:.1} MiB, sealed with master key {}",
        page::counted(summary.changes as usize, "change"),
        summary.sealed_with
    )
}

/// Counts as JSON by tree name, without zeros.
pub fn by_tree(counts: impl IntoIterator<Item = (Tree, u64)>) -> Value {
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(tree, count)| (tree.name().to_owned(), Value::from(count))).collect()
}

/// A summary of a backup as JSON.
pub fn json_of(summary: &BackupSummary) -> Value {
    json!({
        "sealedWith": summary.sealed_with,
        "storeFormat": summary.format,
        "begunAt": summary.begun_at,
        "bytes": summary.bytes,
        "blocks": summary.blocks,
        "records": by_tree(summary.records.iter().copied()),
        "changes": summary.changes,
        "broken": by_tree(summary.broken.iter().copied()),
        "damages": summary.damages,
        "damaged": summary.damaged,
        "sealsChecked": summary.seals_checked,
    })
}

/// Updates the progress bar of a backup.
pub fn show(bar: &StepProgressBar, summary: &BackupSummary) {
    bar.show(summary.bytes, summary.store_bytes.max(summary.bytes));
}
