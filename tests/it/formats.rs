//! Stores and backups of another format: refused in one sentence, and unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Plan};

/// Formats that this build does not read, older and newer ones.
const OTHERS: [u32; 3] = [0, 2, 99];

/// What would open the store of a stopped daemon, and the code with which it is refused.
const OPENING: [(&[&str], i32); 6] = [
    (&["serve"], 1),
    (&["check"], 64),
    (&["store", "check"], 1),
    (&["token", "list"], 1),
    (&["backup", "made"], 1),
    (&["store", "salvage", "--into", "salvaged"], 1),
];

async fn stopped() -> Plan {
    Daemon::with_partners(prompt_partners(1)).in_files().start().await.terminate().1.plan
}

fn run(plan: &Plan, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = plan.command(arguments).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Has a store say that it is of another format.
fn relabel(store: &Path, format: u32) {
    for name in ["manifest", "manifest.copy"] {
        let text = fs::read_to_string(store.join(name)).unwrap();
        let text = format!("offerd store {format}\n{}\n", text.lines().nth(1).unwrap());
        fs::write(store.join(name), format!("{text}{:08x}\n", crc32fast::hash(text.as_bytes()))).unwrap();
    }
}

/// Every file below a directory, and what is in it.
fn content(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false => found.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_store_of_another_format_is_refused_by_all_that_would_open_it() {
    let plan = stopped().await;
    let store = plan.store();
    for format in OTHERS {
        relabel(&store, format);
        let before = content(&store);
        let wanted =
            format!("the store in `{}` has format `{format}`, this offerd reads `1`", store.display());
        for (arguments, code) in OPENING {
            let (ended, said) = run(&plan, arguments);
            assert_eq!(ended, Some(code), "{arguments:?}: {said}");
            let said: Vec<&str> = said.lines().filter(|line| line.contains(&wanted)).collect();
            assert!(matches!(said[..], [one] if one.contains("start the offerd that wrote it")), "{said:?}");
        }
        let doctor = plan.command(&["doctor", "--json"]).output().unwrap();
        let findings: Value = serde_json::from_slice(&doctor.stdout).unwrap();
        let finding =
            findings.as_array().unwrap().iter().find(|finding| finding["check"] == "store").unwrap();
        assert_eq!(finding["state"], "wrong");
        assert!(finding["found"].as_str().unwrap().contains(&wanted), "{finding}");
        assert!(content(&store) == before, "format {format}: the store is as it was");
    }
}

#[tokio::test]
async fn a_backup_of_another_format_is_refused() {
    let plan = stopped().await;
    let file = plan.directory().join("backup");
    let name = file.to_str().unwrap();
    assert_eq!(run(&plan, &["backup", name]).0, Some(0));
    let whole = fs::read(&file).unwrap();
    let heading = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let refused = |bytes: &[u8], wanted: &str| {
        fs::write(&file, bytes).unwrap();
        for arguments in [&["restore", "--check", name][..], &["restore", "--into", "restored", name]] {
            let (ended, said) = run(&plan, arguments);
            assert_eq!(ended, Some(1), "{arguments:?}: {said}");
            assert!(said.lines().count() == 1 && said.contains(name) && said.contains(wanted), "{said}");
            assert!(said.contains("the offerd that it was made with"), "{said}");
        }
        assert!(!plan.directory().join("restored").exists());
    };
    for format in OTHERS {
        let first_line = format!("offerd backup {format}\n");
        let wanted = format!("it is a backup of version `{format}`, this offerd reads `1`");
        refused(&[first_line.as_bytes(), &whole[heading..]].concat(), &wanted);

        // The heading: what is before its body, whose checksum comes last; then the id of the master key, and the format.
        let mut bytes = whole.clone();
        let (head, body) = bytes[heading..].split_at_mut(13);
        let body = &mut body[..u32::from_be_bytes(head[5..9].try_into().unwrap()) as usize];
        body[8..12].copy_from_slice(&format.to_be_bytes());
        let crc = crc32fast::hash(&[&head[..9], body].concat());
        head[9..].copy_from_slice(&crc.to_be_bytes());
        refused(&bytes, &format!("the store in it has format `{format}`, this offerd reads `1`"));
    }
}

#[tokio::test]
async fn a_directory_with_another_database_is_refused_and_stays_as_it_is() {
    let plan = stopped().await;
    let store = plan.store();
    fs::remove_dir_all(&store).unwrap();
    fs::create_dir_all(store.join("db")).unwrap();
    fs::write(store.join("db/pages"), "somebody else's").unwrap();
    let wanted = format!("`{}` holds a database or a manifest that is not of offerd", store.display());
    fs::create_dir(store.join("made")).unwrap();
    fs::rename(store.join("db"), store.join("made/db")).unwrap();
    fs::write(store.join("manifest"), "{\"of\": \"somebody else\"}").unwrap();
    for (arguments, code) in &OPENING[..4] {
        let (ended, said) = run(&plan, arguments);
        assert!(ended == Some(*code) && said.contains(&wanted), "{arguments:?}: {said}");
        assert!(!store.join("keys").exists(), "{arguments:?}");
    }
    fs::remove_file(store.join("manifest")).unwrap();
    fs::rename(store.join("made/db"), store.join("db")).unwrap();
    for (arguments, code) in &OPENING[..4] {
        let (ended, said) = run(&plan, arguments);
        assert_eq!(ended, Some(*code), "{arguments:?}: {said}");
        assert!(said.contains(&wanted), "{arguments:?}: {said}");
        assert_eq!(fs::read_to_string(store.join("db/pages")).unwrap(), "somebody else's");
        assert!(!store.join("manifest").exists(), "{arguments:?}");
    }
}
