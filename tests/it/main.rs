//! The specification as tests: the real binary over its sockets, one module a subject.
#![allow(clippy::unwrap_used)] // a test that unwraps in vain has found something

mod adapter_cases;
mod analytics;
mod architecture;
mod bad_input;
mod clicks;
mod command_line;
mod conformance;
mod crash;
mod edges;
mod event_import;
mod growing_leads;
mod http_partners;
mod kit;
mod leads;
mod limits;
mod offer_previews;
mod openapi;
mod partner_events;
mod partners_try;
mod rate_tables;
mod readme;
mod repeats;
mod sample_catalogue;
mod sandbox;
mod second_look;
mod settings;
mod timing;
mod triggers;
mod ui_events;
mod ui_look_ups;
mod v1;
mod waiting;
