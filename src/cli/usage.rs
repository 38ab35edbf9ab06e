//! Errors of the command line: one sentence, and what to do next.

use std::io::{self, Write};

use clap::error::ErrorKind;
use clap::{Command, Error};

use offerd_base::config::shown_address;

/// Prints the error of a command line, or the requested help, and ends the process with the same exit code as
/// `clap`: 2, or 0 for help.
pub fn end(error: &Error, command: &Command, words: impl Iterator<Item = String>) -> ! {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion) {
        let failure = printed(error).err().filter(|_| !error.use_stderr());
        let Some(failure) = failure else { std::process::exit(error.exit_code()) };
        tell!("offerd: standard output cannot be written: {failure}");
        std::process::exit(1);
    }
    tell!("offerd: {}", sentence(error, command, words));
    std::process::exit(error.exit_code());
}

/// Prints the requested help. A closed pipe (`| head`) is not a failure.
fn printed(error: &Error) -> io::Result<()> {
    match error.print().and_then(|()| io::stdout().flush()) {
        Err(failure) if failure.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// The error, and which help to read.
fn sentence(error: &Error, command: &Command, words: impl Iterator<Item = String>) -> String {
    let told = error.render().to_string();
    // Without the passwords of URLs.
    let shown = |word: &str| if word.contains("://") { shown_address(word) } else { word.to_owned() };
    let told = told.split(' ').map(shown).collect::<Vec<_>>().join(" ");
    let paragraphs = told.split("\n\n").map(one_line);
    let wrong: Vec<String> = paragraphs
        .filter(|paragraph| {
            !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
        })
        .map(|paragraph| paragraph.trim_start_matches("error: ").trim_start_matches("tip: ").to_owned())
        .collect();
    format!("{}; `{} --help` has examples", wrong.join("; "), path(command, words))
}

/// Joins the lines of a paragraph; the lines after a colon become a list.
fn one_line(paragraph: &str) -> String {
    let mut lines = paragraph.lines().map(str::trim);
    let first = lines.next().unwrap_or_default().to_owned();
    let listed: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    if listed.is_empty() { first } else { format!("{first} {}", listed.join(", ")) }
}

/// The deepest command that the words name.
fn path(command: &Command, words: impl Iterator<Item = String>) -> String {
    let mut path = vec![command.get_name().to_owned()];
    let mut command = command;
    for word in words {
        if let Some(next) = command.find_subcommand(&word) {
            path.push(word);
            command = next;
        }
    }
    path.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::sentence;
    use crate::cli::Cli;

    fn told(line: &str) -> String {
        let words = || line.split(' ').map(str::to_owned);
        let error = Cli::try_parse_from(words()).expect_err("no such command line");
        sentence(&error, &Cli::command(), words().skip(1))
    }

    #[test]
    fn a_command_line_that_is_not_understood_is_answered_with_one_sentence_and_the_next_step() {
        let lines = [
            "offerd lead submt",
            "offerd partners try",
            "offerd --foo",
            "offerd lead erase somebody",
            "offerd token create --company A --kind secret",
            "offerd console --at http://me:secret@offers.example",
        ];
        assert_eq!(
            lines.map(told),
            [
                "unrecognized subcommand 'submt'; a similar subcommand exists: 'submit'; `offerd lead --help` has examples",
                "the following required arguments were not provided: <KEY>, <LEAD>; `offerd partners try --help` has examples",
                "unexpected argument '--foo' found; `offerd --help` has examples",
                "invalid value 'somebody' for '<UUID>': must be a uuid such as 01a1fcce-e71a-773e-b126-2445db4ef9dc; `offerd lead erase --help` has examples",
                "invalid value 'secret' for '--kind <KIND>' [possible values: publishable, confidential]; \
                 `offerd token create --help` has examples",
                "invalid value 'http://***@offers.example' for '--at <URL>': must be an http or https URL \
                 without a user or a password, such as http://127.0.0.1:8080 or https://offers.example; \
                 `offerd console --help` has examples",
            ]
        );
    }
}
