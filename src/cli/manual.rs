//! `offerd manual DIR`: man pages and shell completions.

use std::fs;
use std::io;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;
use super::prelude::*;
use offerd_handbook::{MANUALS, man};

const SECTION: &str = "8";

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Runs `offerd manual`.
pub fn run(directory: &Path) -> Result<(), CommandError> {
    let files = write(directory);
    let directory = directory.display();
    let files = files.map_err(|error| {
        format!(
            "{directory} cannot be written: {error}; give a directory that this user may make and write to"
        )
    })?;
    page::print(format_args!("{files} files are in {directory}"));
    Ok(())
}

fn write(directory: &Path) -> io::Result<usize> {
    let (man, completions) = (directory.join("man"), directory.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;

    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut files = 1 + commands(&root, &man)?;
    fs::write(man.join(MANUALS[0].file()), daemon(&root)?)?;
    for manual in &MANUALS[1..] {
        fs::write(man.join(manual.file()), man::page(manual, env!("CARGO_PKG_VERSION")))?;
        files += 1;
    }
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut Cli::command(), "offerd", &completions)?;
        files += 1;
    }
    Ok(files)
}

/// Writes a page for each subcommand, recursively.
fn commands(command: &clap::Command, man: &Path) -> io::Result<usize> {
    let mut files = 0;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        let page = Man::new(inner.clone()).section(SECTION).manual("offerd");
        let mut text = Vec::new();
        page.render(&mut text)?;
        // The extra help begins with examples.
        let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
        fs::write(man.join(page.get_filename()), text)?;
        files += 1 + commands(inner, man)?;
    }
    Ok(files)
}

/// The page of the daemon: its options and commands, then the chapters.
fn daemon(root: &clap::Command) -> io::Result<Vec<u8>> {
    let man = Man::new(root.clone()).section(SECTION).manual("offerd");
    let mut page = man::PREAMBLE.as_bytes().to_vec();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    page.extend(man::chapters(&MANUALS[0]).into_bytes());
    man.render_version_section(&mut page)?;
    Ok(page)
}
