//! The `offerd` binary.
fn main() {}
