//! Tests of the help of every command.

use clap::CommandFactory;

use super::Cli;

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
            // Drops what precedes the command: a variable, a pipe or another command.
            let command = example.find("offerd").map_or("", |at| &example[at..]);
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
