//! The import edges of the crate, as `src/lib.rs` draws them, and those within its rooms.

mod rooms;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which modules of ours each module may name.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("worded", &[]),
    ("regular_file", &[]),
    ("declaration", &["regular_file"]),
    ("config", &["declaration", "telemetry"]),
    ("reports", &["config", "model", "partners", "rate_table", "records", "sheet", "store", "telemetry"]),
    ("ranking", &["config", "model", "partners", "rate_table", "records", "store", "telemetry"]),
    ("telemetry", &[]),
    ("sheet", &[]),
    ("handbook", &["config", "telemetry"]),
    ("private_file", &[]),
    ("run_file", &["private_file"]),
    ("partner_health", &[]),
    ("sandbox", &["declaration", "partners"]),
    ("shares", &[]),
    ("load_shedder", &["telemetry"]),
    ("ids", &[]),
    ("reload", &["config", "declaration", "partners"]),
    ("experiments", &["config", "declaration", "model", "partners", "rate_table", "store"]),
    ("store", &["regular_file", "private_file", "model", "config", "telemetry", "ids", "wire"]),
    ("partners", &["regular_file", "model", "declaration", "telemetry", "ids"]),
    ("reference", &["declaration", "ids", "model", "partners", "regular_file", "sheet"]),
    ("rate_table", &["model", "partners"]),
    (
        "matching",
        &[
            "declaration",
            "experiments",
            "model",
            "partners",
            "ranking",
            "rate_table",
            "records",
            "store",
            "wire",
            "config",
            "shares",
            "load_shedder",
            "partner_health",
            "telemetry",
            "ids",
        ],
    ),
    ("records", &["model", "partners", "rate_table", "store", "ids"]),
    ("conversions", &["ids", "matching", "model", "partners", "rate_table", "records", "store", "telemetry"]),
    (
        "postbacks",
        &[
            "analytics",
            "config",
            "declaration",
            "ids",
            "model",
            "outbox",
            "partners",
            "records",
            "store",
            "telemetry",
            "wire",
        ],
    ),
    ("outbox", &["config", "regular_file", "wire"]),
    ("prefills", &["ids", "model", "shares", "store", "telemetry"]),
    ("persons", &["ids", "matching", "model", "prefills", "rate_table", "records", "conversions", "store"]),
    (
        "hindsight",
        &["experiments", "matching", "model", "partners", "rate_table", "records", "store", "telemetry"],
    ),
    ("transfer", &["model", "rate_table", "records", "conversions", "store"]),
    ("analytics", &["model", "store", "telemetry"]),
    (
        "alerts",
        &[
            "config",
            "declaration",
            "outbox",
            "partner_health",
            "regular_file",
            "sheet",
            "store",
            "telemetry",
            "wire",
        ],
    ),
    ("web", &["regular_file", "model", "shares", "load_shedder", "telemetry", "ids"]),
    ("wire", &["telemetry"]),
    (
        "http",
        &[
            "model",
            "analytics",
            "matching",
            "reference",
            "store",
            "web",
            "load_shedder",
            "config",
            "telemetry",
            "ids",
            "records",
            "conversions",
            "hindsight",
            "prefills",
            "sheet",
        ],
    ),
    (
        "admin",
        &[
            "alerts",
            "config",
            "declaration",
            "experiments",
            "handbook",
            "ids",
            "matching",
            "model",
            "nodes",
            "partner_health",
            "partners",
            "postbacks",
            "private_file",
            "ranking",
            "rate_table",
            "regular_file",
            "reload",
            "reports",
            "sheet",
            "store",
            "web",
            "run_file",
            "telemetry",
            "records",
            "conversions",
            "hindsight",
            "persons",
        ],
    ),
    ("nodes", &["config", "store", "telemetry"]),
    ("bootstrap", &["model", "store", "run_file"]),
    (
        "daemon",
        &[
            "alerts",
            "admin",
            "bootstrap",
            "config",
            "declaration",
            "experiments",
            "http",
            "matching",
            "model",
            "nodes",
            "outbox",
            "partners",
            "postbacks",
            "ranking",
            "reference",
            "reload",
            "reports",
            "run_file",
            "store",
            "telemetry",
            "web",
            "records",
            "hindsight",
            "persons",
        ],
    ),
    (
        "cli",
        &[
            "alerts",
            "ids",
            "admin",
            "config",
            "daemon",
            "declaration",
            "experiments",
            "handbook",
            "matching",
            "model",
            "nodes",
            "partner_health",
            "partners",
            "postbacks",
            "ranking",
            "regular_file",
            "reload",
            "reports",
            "run_file",
            "sandbox",
            "sheet",
            "store",
            "telemetry",
            "web",
            "wire",
            "hindsight",
            "persons",
            "transfer",
        ],
    ),
];

/// Crates that only these modules, or files, may name.
const OWNED: &[(&str, &[&str])] = &[
    ("sled", &["store/index.rs"]),
    ("tokio_postgres", &["store/postgres"]),
    ("tokio_postgres_rustls", &["store/postgres"]),
    ("deadpool_postgres", &["store/postgres"]),
    ("ring", &["store", "partners"]),
    ("zeroize", &["store"]),
    ("crossbeam_channel", &["store"]),
    ("unicode_normalization", &["reference", "model"]),
    ("warp", &["web"]),
    ("hyper_rustls", &["wire", "cli", "telemetry"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry_http", &["telemetry"]),
    ("opentelemetry_otlp", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("quick_cache", &["matching"]),
    ("rustls", &["wire", "web"]),
    ("tokio_rustls", &["web"]),
    ("x509_cert", &["web", "wire"]),
    ("getrandom", &["ids"]),
    ("siphasher", &["records"]),
    ("arc_swap", &["matching", "web"]),
    ("webpki_roots", &["wire"]),
    ("flate2", &["wire", "web"]),
    ("ipnet", &["wire", "config", "web", "http"]),
    ("thread_local", &["wire"]),
    ("tower_service", &["wire"]),
    ("actix", &["matching"]),
    ("actix_rt", &["matching", "daemon"]),
    ("chrono_tz", &["config", "partners", "matching", "reports"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("pulldown_cmark", &["handbook"]),
    ("roff", &["handbook"]),
    ("comfy_table", &["cli"]),
    ("csv", &["sheet"]),
    ("encoding_rs", &["partners", "sheet"]),
    ("fastrand", &["hindsight", "outbox", "sandbox", "store/turns.rs"]),
    ("indicatif", &["cli"]),
    ("lettre", &["alerts"]),
    ("listenfd", &["daemon"]),
    ("parquet", &["sheet"]),
    ("plotters", &["admin"]),
    ("sd_notify", &["daemon"]),
    ("statrs", &["hindsight", "partner_health", "ranking"]),
    ("tracing_subscriber", &["telemetry"]),
    ("metrics_util", &["telemetry"]),
    ("utoipa", &["model", "http"]),
    ("utoipa_swagger_ui", &["http"]),
];

#[test]
fn imports_go_along_the_arrows() {
    let mut wrong = Vec::new();
    for (module, file) in code_files() {
        let allowed = MAY_NAME.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("module `{module}` has no row in MAY_NAME"));
        for named in names(&file, "crate::") {
            if named != module && is_module(&named) && !allowed.contains(&named.as_str()) {
                wrong.push(format!("{}: `{module}` may not name `{named}`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_crate_is_named_by_its_owner_only() {
    let mut wrong = Vec::new();
    for (module, file) in code_files() {
        for (owned, owners) in OWNED {
            let text = fs::read_to_string(&file).unwrap();
            let named = code(&text).any(|line| mentions(line, &format!("{owned}::")));
            let is_owner = |owner: &&str| {
                let place = format!("src/{owner}");
                *owner == module
                    || file.ends_with(&place)
                    || file.parent().is_some_and(|room| room.ends_with(&place))
            };
            if named && !owners.iter().any(is_owner) {
                wrong.push(format!("{}: only {} may name `{owned}`", file.display(), owners.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rules above would hold of nothing if no file were found.
#[test]
fn every_module_is_looked_at() {
    let found: BTreeSet<String> = files().into_iter().map(|(module, _)| module).collect();
    let known: BTreeSet<String> = MAY_NAME.iter().map(|(module, _)| (*module).to_owned()).collect();
    assert_eq!(found, known);
}

fn is_module(name: &str) -> bool {
    MAY_NAME.iter().any(|(module, _)| *module == name)
}

/// Every source file but for tests, which may name anything.
fn code_files() -> impl Iterator<Item = (String, PathBuf)> {
    files().into_iter().filter(|(_, file)| {
        !file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
    })
}

/// Every source file with the top-level module that it belongs to.
fn files() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(&root).unwrap();
                let module = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
                let module = module.trim_end_matches(".rs").to_owned();
                if module != "lib" && module != "main" {
                    found.push((module, path));
                }
            }
        }
    }
    found
}

/// The names that follow a prefix in a file's code.
fn names(file: &Path, prefix: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap();
    let mut found = BTreeSet::new();
    for line in code(&text) {
        for (at, _) in line.match_indices(prefix) {
            let rest = &line[at + prefix.len()..];
            found.insert(
                rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect(),
            );
        }
    }
    found
}

/// Lines that are not comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.starts_with("//"))
}

/// Whether a line has `what` not as the tail of a longer name.
fn mentions(line: &str, what: &str) -> bool {
    line.match_indices(what).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':')
    })
}
