//! The `offerd` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    offerd::cli::run()
}
