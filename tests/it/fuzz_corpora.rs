//! The corpora of the fuzz targets, in `tests/fuzz/corpus`: what holds for any bytes holds for these.
//!
//! They include what fuzzing found. `tests/fuzz/README.md` describes how to search for more.

use std::fs;
use std::path::Path;

#[path = "../fuzz/properties/mod.rs"]
mod properties;

/// Least files of a corpus; fewer, and it went missing.
const LEAST: usize = 8;

fn replay(target: &str, holds: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let files = fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    let mut count = 0;
    for file in files {
        let path = file.unwrap().path();
        // Told by the test runner only when it fails.
        println!("{}", path.display());
        holds(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count >= LEAST, "{} has {count} files", corpus.display());
}

#[test]
fn leads_are_read_or_refused_without_a_word_of_them() {
    replay("lead", properties::lead::holds);
}

#[test]
fn answers_of_partners_become_sound_quotes_or_none() {
    replay("answer", properties::answer::holds);
}

#[test]
fn mappings_end_and_what_they_make_is_bounded() {
    replay("mapping", properties::mapping::holds);
}

#[test]
fn partner_files_give_a_book_or_faults_with_their_lines() {
    replay("partner_file", properties::partner_file::holds);
}

#[test]
fn settings_are_what_they_describe_or_have_faults() {
    replay("settings", properties::settings::holds);
}

#[test]
fn experiments_draw_what_they_declare_or_have_faults() {
    replay("experiment", properties::experiment::holds);
}

#[test]
fn a_cursor_that_is_read_is_the_one_given_out() {
    replay("cursor", properties::cursor::holds);
}

#[test]
fn stored_records_decode_or_are_named_broken() {
    replay("stored_record", properties::stored_record::holds);
}

#[test]
fn requests_off_the_wire_are_answered_without_blame() {
    replay("request", properties::request::holds);
}

/// Each target has its corpus and its property, and the other way round.
#[test]
fn targets_and_corpora_belong_together() {
    let names = |directory: &str, ending: &str| {
        let entries =
            fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect();
        names.retain(|name| name != "mod");
        names.sort();
        names
    };
    assert_eq!(names("targets", ".rs"), names("corpus", ""));
    assert_eq!(names("targets", ".rs"), names("properties", ".rs"));
}
