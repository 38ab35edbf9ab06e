//! `offerd restore FILE`

use super::backup::{BAR, json_of, missed, show, told_of};
use super::prelude::*;
use offerd_model::Timestamp;
use offerd_store::backup::{BackupFault, BackupSummary, Restore, RestoreError, Scanner, for_each_piece};
use offerd_store::sealing::GIVE;
use offerd_store::staging::StagingError;
use offerd_store::suppression_key_file;

/// `offerd restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The backup
    file: PathBuf,
    /// Directory of the store; must be empty or not exist; default: the configured one
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    into: Option<PathBuf>,
    /// Only verify the backup, and write nothing
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Damaged places of the original store that are printed.
const SHOWN: usize = 20;

/// Runs `offerd restore`.
pub fn run(config: Option<&Path>, arguments: &RestoreArguments) -> Result<(), CommandError> {
    let settings = super::settings(config)?;
    if arguments.into.is_none() && !arguments.check {
        super::in_files(&settings, "`offerd restore`", "`--into DIR` names a directory for the store")?;
    }
    let into = arguments.into.as_ref().unwrap_or(&settings.store.path);
    let master = master_key(&settings, into)?;
    let ended = match arguments.check {
        true => check(master, arguments),
        false => restore(&settings, master, into, arguments),
    };
    match ended? {
        None => Ok(()),
        Some(missed) => Err(format!(
            "{} is incomplete: the store was damaged when it was backed up, and {missed}; an older backup, \
                or `offerd store salvage` on the damaged store, may have the rest",
            arguments.file.display()
        )
        .into()),
    }
}

/// The master key at the target directory, or else that of the configured store.
fn master_key(settings: &Settings, into: &Path) -> Result<Option<MasterKey>, String> {
    let file = settings.store.master_key_file.as_deref();
    let found = MasterKey::find(file, into).and_then(|found| match found {
        Some(found) => Ok(Some(found)),
        None => MasterKey::find(file, &settings.store.path),
    });
    found.map_err(|error| match error.is_forbidden() {
        true => format!("{error}; {}", super::PERMIT),
        false => error.to_string(),
    })
}

/// Verifies a backup; returns what it lacks of the original store, if anything.
fn check(master: Option<MasterKey>, arguments: &RestoreArguments) -> Result<Option<String>, String> {
    let mut scanner = Scanner::new(master);
    read(&arguments.file, |piece, bar| {
        scanner.push(piece).map_err(|fault| of_file(&arguments.file, with_next(&fault)))?;
        show(bar, scanner.summary());
        Ok(())
    })?;
    let summary = scanner.finish().map_err(|fault| of_file(&arguments.file, with_next(&fault)))?;
    let seals =
        if summary.seals_checked { "" } else { "; its seals were not checked, there is no master key" };
    tell(arguments, &summary, &format!("{} is sound{seals}", arguments.file.display()))
}

fn restore(
    settings: &Settings,
    master: Option<MasterKey>,
    into: &Path,
    arguments: &RestoreArguments,
) -> Result<Option<String>, String> {
    super::log_as_the_daemon_does(settings);
    let master = master.ok_or_else(|| format!("a backup is sealed, and no master key is given: {GIVE}"))?;
    let why = |error: RestoreError| why(&arguments.file, &error);
    let mut restore = Restore::begin(into, master).map_err(why)?;
    read(&arguments.file, |piece, bar| {
        restore.push(piece).map_err(why)?;
        show(bar, restore.summary());
        Ok(())
    })?;
    let placed = settings.store.suppression_key_file.as_deref();
    let has_key = [into, &settings.store.path].iter().any(|at| suppression_key_file(placed, at).exists());
    let (summary, report, doubt) = restore.finish_to_use(has_key).map_err(why)?;
    log_action("backup.restore", &operator(), "store restored from a backup");
    for record in &report.broken {
        tell!("offerd: {record}, as it was when the backup was taken");
    }
    tell!(
        "offerd: erasures, opt-outs, revoked tokens and removed users since {} are undone: repeat them with \
            `offerd lead erase`, `offerd person erase`, `offerd person suppress`, `offerd token revoke` and \
            `offerd user remove`; `offerd audit list` on the old store names them",
        Timestamp::at(summary.begun_at)
    );
    if let Some(doubt) = doubt {
        tell!("offerd: {doubt}");
    }
    tell(arguments, &summary, &format!("the store is in {}", into.display()))
}

fn with_next(fault: &BackupFault) -> String {
    let next = match fault {
        BackupFault::Foreign => "give a file made by `offerd backup`",
        BackupFault::Version { .. } | BackupFault::Format { .. } => "take the offerd that it was made with",
        BackupFault::Damaged { .. } => "take another backup",
        BackupFault::WrongMasterKey { .. } => {
            "give that key as `store.master_key_file`, as OFFERD_MASTER_KEY or as the systemd credential"
        }
    };
    format!("{fault}; {next}")
}

fn why(file: &Path, error: &RestoreError) -> String {
    match error {
        RestoreError::Backup(fault) => of_file(file, with_next(fault)),
        RestoreError::Place(StagingError::NotEmpty { .. }) => format!("{error}; `--into DIR` names another"),
        RestoreError::Place(_) | RestoreError::Store(_) => error.to_string(),
    }
}

fn read(
    file: &Path,
    mut take: impl FnMut(&[u8], &StepProgressBar) -> Result<(), String>,
) -> Result<(), String> {
    let cannot = |error: std::io::Error| {
        format!(
            "{} cannot be read: {error}; give a file made by `offerd backup`, and as a user who may read it",
            file.display()
        )
    };
    let mut opened = regular_file::open(file).map_err(cannot)?;
    let bar = StepProgressBar::begin(BAR);
    for_each_piece(&mut opened, cannot, |piece| take(piece, &bar))
}

fn of_file(file: &Path, message: String) -> String {
    format!("{}: {message}", file.display())
}

/// Prints the content of a backup, and returns what it lacks.
fn tell(arguments: &RestoreArguments, summary: &BackupSummary, what: &str) -> Result<Option<String>, String> {
    page::show(&json_of(summary), arguments.json, || {
        page::print(format_args!("{what}: {}", told_of(summary)));
        for damage in summary.damaged.iter().take(SHOWN) {
            page::print(format_args!("was missing: {damage}"));
        }
    })?;
    Ok(missed(&summary.broken, summary.damages))
}
