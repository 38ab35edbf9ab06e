//! `offerd store copy`

use crate::cli::prelude::*;
use offerd_base::config::PostgresSettings;
use offerd_store::copy::{Copied, Direction, StoreComparison, TreeCounts, TreeDigest, copy};

/// `store copy`.
#[derive(Debug, Args)]
pub struct StoreCopyArguments {
    /// Source
    #[arg(long, value_name = "ENGINE")]
    from: StoreEngineArgument,
    /// Target; must be empty, or hold an unfinished copy of the same store
    #[arg(long, value_name = "ENGINE")]
    to: StoreEngineArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StoreEngineArgument {
    /// The files of `store.path`
    Embedded,
    /// The database of `store.postgres.url`
    Postgres,
}

/// Copies, compares, and shows the content of both sides.
pub(super) fn run(settings: &Settings, arguments: &StoreCopyArguments) -> Result<(), CommandError> {
    let direction = match (arguments.from, arguments.to) {
        (StoreEngineArgument::Embedded, StoreEngineArgument::Postgres) => Direction::IntoDatabase,
        (StoreEngineArgument::Postgres, StoreEngineArgument::Embedded) => Direction::IntoFiles,
        _ => {
            return Err("`--from` and `--to` name the same: one is `embedded`, the other `postgres`".into());
        }
    };
    let database = database(settings, "`offerd store copy`")?;
    crate::cli::log_as_the_daemon_does(settings);
    let options = StoreOptions { reserve_bytes: 0, ..StoreOptions::from(&settings.store) };
    let mut bar = StepProgressBar::begin("");
    let made = copy(&options, &database, direction, &mut |step| bar.step(step));
    drop(bar);
    let copied = made.map_err(|error| error.to_string())?;
    log_action("store.copy", &operator(), "store copied to another kind of store");
    page::show(&json_of(&copied), arguments.json, || print(&copied))?;
    match fault(&copied.compared) {
        None => Ok(()),
        Some(_) if arguments.json => Err(CommandError::Told(ExitCode::FAILURE)),
        Some(fault) => Err(CommandError::Other(fault)),
    }
}

/// The database of the settings, whichever engine is configured.
pub(super) fn database(settings: &Settings, command: &str) -> Result<PostgresSettings, String> {
    let none = || format!("{command} needs a database, and `store.postgres.url` names none");
    let database = settings.store.postgres.clone().ok_or_else(none)?;
    match Store::database_fault(&database) {
        Some((key, fault)) => Err(format!("`{key}` {fault}")),
        None => Ok(database),
    }
}

/// The difference of the copy, with advice.
fn fault(compared: &StoreComparison) -> Option<String> {
    if compared.is_equal() {
        return None;
    }
    let first = match &compared.difference {
        Some(difference) => {
            format!("the first is `{}` of `{}`: {}", difference.key, difference.tree.name(), difference.how)
        }
        None => "the sealed keys differ".to_owned(),
    };
    Some(format!("the two sides differ; {first}. No daemon opens this copy: empty that side, and copy again"))
}

fn print(copied: &Copied) {
    page::print_sheet(&sheet!(&copied.compared.trees, TreeCounts { tree, source, target } => {
        "tree" => tree.name(),
        "records": Count => source.records,
        "in the copy": Count => target.records,
        "digest" => digits(source.digest),
        "in the copy" => digits(target.digest),
        "" => if source == target { "the same" } else { "differs" },
    }));
    let records: u64 = copied.compared.trees.iter().map(|counts| counts.source.records).sum();
    let began = if copied.is_resumed { " (an interrupted copy went on)" } else { "" };
    if copied.compared.is_equal() {
        page::print(format_args!("{records} records and the sealed keys are the same on both sides{began}"));
    }
}

/// The leading half of a digest, enough for people to compare.
fn digits(digest: u128) -> String {
    format!("{:016x}", digest >> 64)
}

fn json_of(copied: &Copied) -> serde_json::Value {
    let StoreComparison { trees, are_keys_equal, difference } = &copied.compared;
    let tree = |counts: &TreeCounts| {
        let side = |counted: &TreeDigest| json!({ "records": counted.records, "digest": format!("{:032x}", counted.digest) });
        json!({ "tree": counts.tree.name(), "source": side(&counts.source), "copy": side(&counts.target) })
    };
    json!({
        "equal": copied.compared.is_equal(),
        "resumed": copied.is_resumed,
        "written": copied.written,
        "keysEqual": are_keys_equal,
        "trees": trees.iter().map(tree).collect::<Vec<_>>(),
        "difference": difference.as_ref().map(|difference| json!({
            "tree": difference.tree.name(), "key": difference.key, "how": difference.how,
        })),
    })
}
