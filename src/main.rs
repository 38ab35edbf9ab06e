//! The `offerd` binary.

use std::process::ExitCode;

/// mimalloc: leads and tables are many small allocations, and take a quarter less time than with the system's
/// allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    offerd::cli::run()
}
