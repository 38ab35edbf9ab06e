//! `offerd store check`, `offerd store salvage`; `copy` has its own file.

mod copy;

use std::collections::BTreeMap;
use std::io::Read;

use super::backup::by_tree;
use super::prelude::*;
use offerd_admin::store::{Broken, StoreReport, TreeCount};
use offerd_base::telemetry::logging;
use offerd_store::salvage::{SalvageError, Salvaged, salvage};
use offerd_store::{BrokenReason, Tree};

/// Actions on the store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read every record of the store, of a running daemon or a stopped one, and name the broken ones; exit
    /// code 1 if there are any. No record is changed
    Check {
        /// Name every broken record and place, not only the first of each file, and of each tree and fault
        #[arg(long)]
        all: bool,
        /// Print JSON, which is always complete
        #[arg(long)]
        json: bool,
    },
    /// Create a sound store from what is left of a damaged one, whose daemon is stopped, and from a backup;
    /// exit code 1 if anything is, or may be, lost. The damaged store is not changed
    Salvage {
        /// Directory of the new store; must be empty or not exist
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
        /// A backup of the store, sealed with the same master key
        #[arg(long, value_name = "FILE")]
        backup: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Copy the whole store from files into a database, or back, while no daemon runs on either; then read
    /// and compare both sides, exit code 1 if they differ. The source is not changed
    Copy(copy::StoreCopyArguments),
}

/// Lines for each file, and for each tree and fault, that are printed without `--all`.
const NAMED: usize = 5;

/// Lost leads that are printed; more go to a file.
const SHOWN: usize = 20;

/// Runs `offerd store`.
pub async fn run(config: Option<&Path>, command: &StoreCommand) -> Result<(), CommandError> {
    let settings = super::settings(config)?;
    match command {
        StoreCommand::Copy(arguments) => copy::run(&settings, arguments),
        StoreCommand::Check { all, json } => check(&settings, *all, *json).await,
        StoreCommand::Salvage { into, backup, json } => {
            let instead = "the database has its own tools for damage and backups";
            super::in_files(&settings, "`offerd store salvage`", instead)?;
            let salvaged = salvaged(&settings, into, backup.as_deref()).await?;
            print_salvaged(&salvaged, into, *json)?;
            if salvaged.is_all() {
                return Ok(());
            }
            Err(format!(
                "the store in {} is good, but may lack records of the damaged one: those counted as lost, and any newer than the backup",
                into.display()
            ).into())
        }
    }
}

async fn check(settings: &Settings, all: bool, json: bool) -> Result<(), CommandError> {
    // The report names the broken records and the damage, and how much it leaves out.
    let filter = format!("{},offerd_store::broken=off,offerd_store::damages=off", settings.log.filter);
    logging::init(&filter, settings.log.access, settings.log.format);
    let waiting = progress::waiting("reading every record");
    let mut report = read(settings).await?;
    if !report.unfound.is_empty() && AdminClient::of_daemon(settings).await?.is_none() {
        // Checks again, with a rebuilt index.
        report = StoreReport { sound: false, unfound: report.unfound, ..read(settings).await? };
    }
    drop(waiting);
    page::show(&report, json, || print(&report, all))?;
    if report.sound {
        return Ok(());
    }
    Err(CommandError::Other(
        "the store is damaged: the records named above cannot be read, all others can; \
        `offerd store salvage` rebuilds the store from them and the last backup"
            .to_owned(),
    ))
}

async fn read(settings: &Settings) -> Result<StoreReport, CommandError> {
    let admin = AdminClient::find(settings).await?;
    let report: StoreReport = admin.ask(Method::POST, "/store/check").await?;
    let closed = admin.close();
    // A store that no longer serves requests cannot be closed cleanly.
    if report.unfound.is_empty() {
        closed?;
    }
    Ok(report)
}

fn verdict(report: &StoreReport) -> String {
    let records: u64 = report.trees.iter().map(|count| count.records).sum();
    match report.broken.len() {
        0 if report.sound => format!("{records} records, everything is as it was written"),
        0 => format!("{records} records as they were written, and what is named above beside them"),
        broken => format!("{records} records as they were written, {broken} broken"),
    }
}

fn print(report: &StoreReport, all: bool) {
    let broken = |count: &TreeCount| {
        let found = report.broken.iter().filter(|record| record.tree == count.tree).count() as u64;
        // For leads the number of missing records is known too.
        if count.tree == Tree::Leads.name() { report.leads_broken.max(found) } else { found }
    };
    let counts: Vec<(&TreeCount, u64)> = report.trees.iter().map(|count| (count, broken(count))).collect();
    let held = counts.iter().filter(|(count, broken)| count.records + broken > 0);
    page::print_sheet(&sheet!(held, (count, broken) => {
        "tree" => &count.tree,
        "sound": Count => count.records,
        "broken": Count => *broken,
    }));
    // The line of a file that is cut off counts its records.
    let cut_off = BrokenReason::CutOff.to_string();
    let named = |it: &&Broken| all || it.reason != cut_off;
    let lines =
        report.broken.iter().filter(named).map(|it| {
            (format!("{} {}", it.tree, it.reason), format!("{} {}: {}", it.tree, it.key, it.reason))
        });
    let told = report.damaged.iter().chain(&report.unfound).chain(&report.known);
    let named = told.map(|line| (file_of(line), line.clone())).chain(lines);
    let shown = first_of_each(named, if all { usize::MAX } else { NAMED });
    shown.iter().for_each(page::print);
    let of = [&report.damaged, &report.unfound, &report.known].map(Vec::len).iter().sum::<usize>();
    let more = of + report.broken.len() - shown.len();
    if more > 0 {
        page::print(format_args!("and {more} more lines; `--all` prints them, `--json` too"));
    }
    if report.unknown_keys > 0 {
        page::print(format_args!("{} keys of no tree", report.unknown_keys));
    }
    page::print(verdict(report));
}

/// The file that a line about damage begins with, or the line.
fn file_of(line: &str) -> String {
    line.strip_prefix('`').and_then(|rest| rest.split('`').next()).unwrap_or(line).to_owned()
}

/// At most so many lines of each group.
fn first_of_each(lines: impl Iterator<Item = (String, String)>, most: usize) -> Vec<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let is_shown = |(group, line)| {
        let nth = seen.entry(group).or_default();
        *nth += 1;
        (*nth <= most).then_some(line)
    };
    lines.filter_map(is_shown).collect()
}

async fn salvaged(settings: &Settings, into: &Path, backup: Option<&Path>) -> Result<Salvaged, String> {
    if AdminClient::of_daemon(settings).await?.is_some() {
        let path = settings.store.path.display();
        return Err(format!("a daemon runs on `{path}`: stop it, then salvage its store"));
    }
    super::log_as_the_daemon_does(settings);
    let open = |file: &Path| {
        let cannot =
            |error| format!("{} cannot be read: {error}; `offerd backup` makes such a file", file.display());
        regular_file::open(file).map_err(cannot)
    };
    let mut opened = backup.map(open).transpose()?;
    let file = opened.as_mut().map(|file| file as &mut dyn Read);
    let mut bar = StepProgressBar::begin("");
    let options = StoreOptions::from(&settings.store);
    let made = salvage(&options, into, file, &operator(), &mut |step| bar.step(step));
    drop(bar);
    let salvaged = made.map_err(|error| why(&error, into, backup))?;
    log_action("store.salvage", &operator(), "store salvaged from the readable rest");
    Ok(salvaged)
}

/// Why nothing was salvaged, and how to go on.
fn why(error: &SalvageError, into: &Path, backup: Option<&Path>) -> String {
    let file = backup.map(|file| format!("{}: ", file.display())).unwrap_or_default();
    match error {
        SalvageError::NoStore { .. } => format!("{error}; name the daemon's settings by `--config FILE`"),
        SalvageError::NotEmpty { .. } => format!("{error}; `--into DIR` names another"),
        SalvageError::KeysLost { .. } => format!("{error}: `--backup FILE`"),
        SalvageError::OtherStore | SalvageError::Unreadable(_) | SalvageError::Backup(_) => {
            format!("{file}{error}; nothing was made in {}", into.display())
        }
        SalvageError::LeftOver { .. } | SalvageError::NoMasterKey | SalvageError::Store(_) => {
            error.to_string()
        }
    }
}

fn print_salvaged(salvaged: &Salvaged, into: &Path, json: bool) -> Result<(), String> {
    if json {
        return page::print_json(&json_of(salvaged));
    }
    let counted = |counts: &BTreeMap<Tree, u64>, tree| counts.get(tree).copied().unwrap_or(0);
    page::print_sheet(&sheet!(&salvaged.report.counts, (tree, records) => {
        "tree" => tree.name(),
        "records": Count => *records,
        "of them from the backup": Count => counted(&salvaged.from_backup, tree),
        "lost": Count => counted(&salvaged.lost, tree),
    }));
    let damages = salvaged.damages.iter().map(|damage| (damage.file.clone(), damage.to_string()));
    let shown = first_of_each(damages, NAMED);
    shown.iter().for_each(page::print);
    let more = salvaged.damages.len() - shown.len();
    if more > 0 {
        page::print(format_args!("and {more} more damaged places; `--json` prints them"));
    }
    for file in &salvaged.journal {
        page::print(format_args!(
            "`journal/{file}` is damaged; what is whole of it was taken in, what lay at its damaged places may be lost, and is not counted below"
        ));
    }
    if salvaged.keys_of_backup {
        page::print("`keys` was lost, and taken from the backup");
    }
    print_base(salvaged);
    let lost = salvaged.leads_lost.len();
    page::print(format_args!(
        "{} leads are there, {} of them from the backup; {lost} are lost",
        salvaged.report.leads_sound, salvaged.leads_from_backup
    ));
    if !salvaged.held_back.is_empty() {
        page::print(format_args!(
            "{} leads of the backup did not come back, since they may have been erased after it was taken",
            salvaged.held_back.len()
        ));
    }
    list_leads(salvaged, into)
}

/// Prints what became of the records that belong to no lead.
fn print_base(salvaged: &Salvaged) {
    let named = |tree: &Tree| {
        let names = salvaged.lost_names.get(tree).map(|names| names.join(", "));
        names.map_or_else(|| tree.name().to_owned(), |names| format!("{} ({names})", tree.name()))
    };
    let untaken: Vec<String> = salvaged.untaken.iter().map(named).collect();
    if !untaken.is_empty() {
        page::print(format_args!(
            "the backup has records that are not there, and were not taken from it, since they may have been removed or changed after it \
             was taken: {}; make anew what is needed",
            untaken.join(", ")
        ));
    }
    if salvaged.may_lack_unknown {
        page::print(
            "the base of the store is damaged and no backup lists its content: lost tokens, users, pauses \
                and other records without a lead are counted only if its index names them",
        );
    }
    salvaged.audit_gaps.iter().for_each(|gap| {
        page::print(format_args!("the chain of the audit has a gap, which is recorded in it: {gap}"));
    });
    if let Some(doubt) = &salvaged.doubt {
        page::print(doubt);
    }
}

/// Lists the lost leads, in a file if there are many.
fn list_leads(salvaged: &Salvaged, into: &Path) -> Result<(), String> {
    let lost = salvaged.leads_lost.iter().map(|lead| format!("{lead} lost"));
    let held_back = salvaged.held_back.iter().map(|lead| format!("{lead} held back"));
    let lines: Vec<String> = lost.chain(held_back).collect();
    if lines.len() <= SHOWN {
        lines.iter().for_each(page::print);
        return Ok(());
    }
    let mut file = into.as_os_str().to_owned();
    file.push(".lost-leads");
    let file = PathBuf::from(file);
    std::fs::write(&file, lines.join("\n") + "\n").map_err(|error| files::cannot_make(&file, &error))?;
    page::print(format_args!("they are listed in {}", file.display()));
    Ok(())
}

fn json_of(salvaged: &Salvaged) -> serde_json::Value {
    let Salvaged { report, damages, journal, keys_of_backup, from_backup, lost, .. } = salvaged;
    let by_name: BTreeMap<&str, _> =
        salvaged.lost_names.iter().map(|(tree, names)| (tree.name(), names)).collect();
    json!({
        "nothingLost": salvaged.is_all(),
        "leads": report.leads_sound,
        "records": by_tree(report.counts.iter().copied()),
        "fromBackup": by_tree(from_backup.clone()),
        "leadsFromBackup": salvaged.leads_from_backup,
        "lost": by_tree(lost.clone()),
        "leadsLost": salvaged.leads_lost,
        "leadsHeldBack": salvaged.held_back,
        "damaged": damages.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "journalDamaged": journal,
        "keysOfBackup": keys_of_backup,
        "lostNames": by_name,
        "auditGaps": salvaged.audit_gaps,
        "suppressionsConfirmed": salvaged.doubt.is_none(),
        "suppressions": salvaged.doubt.as_ref().map(ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_places_of_one_file_leave_the_others_their_lines() {
        let lines = ["`a`: 1 bytes", "`a`: 2 bytes", "`a` is missing", "`b`: 3 bytes", "no file"];
        let lines = lines.map(|line| (file_of(line), line.to_owned()));
        let shown = first_of_each(lines.into_iter(), 2);
        assert_eq!(shown, ["`a`: 1 bytes", "`a`: 2 bytes", "`b`: 3 bytes", "no file"]);
    }
}
