//! What manifests cannot check: circles of imports within a crate, outside crates that only one module may name, and
//! where `engine` reads the machine's clock.

mod rooms;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Outside crates that only one module of the crate with the dependency may name.
const OWNED: &[(&str, &str)] = &[
    ("actix", "engine/matching"),
    ("config", "base/config"),
    ("csv", "insight/sheet"),
    ("deadpool_postgres", "store/postgres"),
    ("lettre", "outbound/alerts"),
    ("opentelemetry", "base/telemetry"),
    ("opentelemetry_http", "base/telemetry"),
    ("opentelemetry_otlp", "base/telemetry"),
    ("opentelemetry_sdk", "base/telemetry"),
    ("parquet", "insight/sheet"),
    ("quick_cache", "engine/matching"),
    ("sled", "store/index.rs"),
    ("tokio_postgres", "store/postgres"),
    ("tokio_postgres_rustls", "store/postgres"),
];

#[test]
fn an_outside_crate_is_named_by_its_module_only() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| !is_of_tests(file)) {
        let text = fs::read_to_string(file).unwrap();
        for (owned, module) in OWNED {
            let is_named = code(&text).any(|line| mentions(line, &format!("{owned}::")));
            if is_named && !file.starts_with(src().join(module)) {
                wrong.push(format!("{}: only src/{module} may name `{owned}`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files of `engine` that may read the machine's clock; what the others store or compare is the store's time.
const MACHINE_CLOCK: [&str; 4] = [
    "conversions/partner_events.rs",
    "matching/ask_statistics/mod.rs",
    "matching/late_asks.rs",
    "matching/undeclared_reasons.rs",
];

#[test]
fn engine_takes_its_time_from_the_store() {
    let engine = src().join("engine");
    let read: BTreeSet<PathBuf> = files()
        .into_iter()
        .filter(|file| file.starts_with(&engine) && !is_of_tests(file))
        .filter(|file| {
            let text = fs::read_to_string(file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            code(text).any(|line| line.contains("Utc::now()") || line.contains("SystemTime::now()"))
        })
        .map(|file| file.strip_prefix(&engine).unwrap().to_owned())
        .collect();
    assert_eq!(read, MACHINE_CLOCK.map(PathBuf::from).into());
}

/// The rules above would hold of nothing if no file were found.
#[test]
fn every_crate_is_looked_at() {
    let crates: BTreeSet<PathBuf> = files().iter().map(|file| crate_of(file).to_owned()).collect();
    let manifest = fs::read_to_string(src().join("../Cargo.toml")).unwrap();
    let members = manifest.lines().find(|line| line.starts_with("members = ")).unwrap();
    assert_eq!(crates.len(), members.matches("\"src/").count() + 1, "{crates:?}");
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The directory of the crate that a file belongs to.
fn crate_of(file: &Path) -> &Path {
    let is_crate = |directory: &&Path| directory.join("Cargo.toml").exists() || directory.ends_with("src");
    file.ancestors().skip(1).find(is_crate).expect("every file stands under `src`")
}

/// Tests may name anything.
fn is_of_tests(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

/// Every source file.
fn files() -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![src()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
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
