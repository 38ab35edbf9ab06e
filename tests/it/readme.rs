//! The README says what is so.

use std::path::Path;

use offerd::http::routes::{API, INTEGRATIONS};

use crate::kit::Daemon;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

#[test]
fn it_lists_every_path_and_no_other() {
    let readme = readme();
    let listed: Vec<&str> =
        readme.lines().filter(|line| line.starts_with("| `") && line.contains(" /")).collect();
    let routes: Vec<String> = API
        .iter()
        .chain(INTEGRATIONS)
        .map(|route| format!("| `{} {}` | {} |", route.method, route.path, route.about))
        .collect();
    assert_eq!(listed, routes);
}

#[test]
fn its_partner_files_are_good() {
    let readme = readme();
    let files = readme.split("```toml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let files: Vec<&str> = files.collect();
    let (identity, _) = files[0].split_once("[products").expect("the first one is whole");
    let over_http =
        files.iter().find(|file| file.contains("[products.loan.http]")).expect("one is asked over HTTP");
    for file in [files[0].to_owned(), format!("{identity}{over_http}")] {
        let plan = Daemon::with_partners(Vec::new());
        std::fs::write(plan.partners().join("alderbrook.toml"), file).unwrap();
        let output = plan.command(&["check"]).env("LENDER_API_KEY", "secret").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_bench_figures_come_from_benches_that_exist() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let readme = readme();
    let named: Vec<&str> =
        readme.split("cargo bench --bench ").skip(1).filter_map(|rest| rest.split('`').next()).collect();
    assert!(!named.is_empty());
    for bench in named {
        assert!(manifest.contains(&format!("name = \"{bench}\"")), "{bench}");
    }
}
