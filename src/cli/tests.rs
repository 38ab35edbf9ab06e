//! Tests of the help of every command, and of commands that chapters show.

use clap::CommandFactory;

use super::{Cli, HELP};
use crate::handbook::CHAPTERS;

/// Every visible command, from the root.
fn commands(command: &clap::Command, path: &str, found: &mut Vec<(String, String)>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    found.push((path.to_owned(), help));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        commands(inner, &format!("{path} {}", inner.get_name()), found);
    }
}

/// Splits an example into words like a shell, up to a pipe, redirection or comment.
fn words(example: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in example.chars().chain([' ']) {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (' ', None) if !word.is_empty() => words.push(std::mem::take(&mut word)),
            (' ', None) => {}
            (letter, _) => word.push(letter),
        }
    }
    let ends = words.iter().position(|word| ["&&", "|", ">", "<", "#"].contains(&word.as_str()));
    words.truncate(ends.unwrap_or(words.len()));
    words
}

#[test]
fn every_command_has_examples_of_itself_that_can_be_typed() {
    let mut found = Vec::new();
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    commands(&root, "offerd", &mut found);
    assert!(found.len() > 30);
    for (path, help) in found {
        let (_, rest) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{path} has no examples"));
        let examples: Vec<&str> = rest.lines().take_while(|line| line.starts_with("  ")).collect();
        let mut of_itself = 0;
        for example in examples {
            // Drops what precedes the command: another user, a variable, a pipe or another command.
            let own = example.rsplit(" -- ").next().unwrap_or_default();
            let command = own.find("offerd").map_or("", |at| &own[at..]);
            let command = command.split("  ").next().unwrap_or_default().trim_end_matches(['"', ')']);
            let mut typed = words(command);
            // OFFERD_TOKEN may supply it.
            if typed.iter().any(|word| word == "submit") && !typed.iter().any(|word| word == "--token") {
                typed.extend(["--token", "a"].map(str::to_owned));
            }
            let parsed = Cli::command().try_get_matches_from(&typed);
            assert!(parsed.is_ok(), "{path}: {example}\n{}", parsed.unwrap_err());
            let named: Vec<&str> = typed
                .iter()
                .map(String::as_str)
                .filter(|word| path.split(' ').any(|part| part == *word))
                .collect();
            of_itself += usize::from(named.join(" ") == path);
        }
        assert!(of_itself > 0, "{path} has no example of itself");
    }
}

/// The command of offerd in a line of a shell, whichever program starts it.
fn own_command<'l>(line: &'l str, names: &[&str]) -> Option<&'l str> {
    let is_own = |from: &&str| {
        let next = from.split_whitespace().nth(1);
        next.is_some_and(|word| word == "--config" || names.contains(&word))
    };
    line.rmatch_indices("offerd ").map(|(at, _)| &line[at..]).find(is_own)
}

/// Blocks of other kinds are typed by `tests/it/handbook`.
#[test]
fn commands_in_chapters_that_no_test_types_can_be_typed() {
    let root = Cli::command();
    let names: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
    let mut typed = 0;
    for chapter in CHAPTERS {
        let markdown = chapter.markdown().replace("\\\n", " ");
        let blocks = markdown.split("\n```text\n").skip(1).filter_map(|rest| rest.split("\n```").next());
        for command in blocks.flat_map(str::lines).filter_map(|line| own_command(line, &names)) {
            let parsed = Cli::command().try_get_matches_from(words(command));
            assert!(parsed.is_ok(), "{}: {command}\n{}", chapter.name, parsed.unwrap_err());
            typed += 1;
        }
    }
    assert!(typed > 10, "{typed}");
}

#[test]
fn a_key_that_the_daemon_reads_is_made_by_its_user() {
    let files = HELP.lines().filter_map(|line| line.split_once("--new-key-file ").map(|(_, file)| file));
    let files: Vec<&str> = files.collect();
    assert!(!files.is_empty());
    for file in files {
        let by_its_user = format!("runuser -u offerd -- offerd key create {file}");
        assert!(HELP.contains(&by_its_user), "{file}");
    }
}
