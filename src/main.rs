//! The `offerd` binary.

use std::process::ExitCode;

/// mimalloc: leads and tables are many small allocations, and take a quarter less time than with the system's
/// allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // mimalloc asks for huge pages, which keep 2 MiB for the first byte: at rest the daemon would hold twice its memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    offerd::cli::run()
}
