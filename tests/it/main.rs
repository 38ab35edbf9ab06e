//! The specification as tests: the real binary over its sockets, one module a subject.
#![allow(clippy::unwrap_used)] // a test that unwraps in vain has found something

mod analytics;
mod architecture;
mod command_line;
mod crash;
mod kit;
mod leads;
mod rate_tables;
mod sample_catalogue;
mod second_look;
mod settings;
