//! offerd, a matching engine for financial offers: a lead goes in, a rate table comes out.
//!
//! # The path of a lead
//!
//! 1. [`web`] accepts the connection, hands it to the engine thread with the fewest connections, and finds
//!    the route and the caller. [`http`] parses the body into a [`model::Lead`] in one pass, or answers with
//!    every fault and its attribute path.
//! 2. The [`load_shedder`] admits new work or answers 503. [`matching::matchmaker`] takes a slot among the
//!    pending tables and asks [`partners::book`] which seats fit. [`matching::limiter`] leaves out those that
//!    are paused, closed, at a cap or over budget.
//! 3. A [`matching::rate_table_actor`] drives the pure [`rate_table::machine`]. Catalog partners answer at
//!    once. The lead, its table, their answers and the feed records are one commit, guarded against
//!    duplicates (409). [`store`] acknowledges it once its journal is on the disk. From then on the table
//!    completes by its deadline, whatever happens.
//! 4. Only then are remote partners asked: one [`matching::partner_actor`] per seat, over the [`wire`]
//!    ([`matching::partner_clients`]), in one call or several (`matching::conversation`), or by callback
//!    ([`matching::callbacks`]). An ask ends in exactly one [`rate_table::outcome`], even on a panic.
//! 5. The machine takes each outcome, commits it, then shows it to the waiting submit, blocking calls, polls.
//! 6. With the last outcome the table is complete and never changes. [`matching::complete_tables`] caches it
//!    as shown; later polls fold it from its records. After a crash, pending tables continue at the next
//!    start or on another node ([`matching::recovery`]), under the original deadline.
//!
//! # Crates
//!
//! Each crate is a folder of `src`; its manifest lists its dependencies, and the compiler enforces them.
//!
//! | crate | holds | builds on, with all that those build on |
//! |---|---|---|
//! | `base` | settings, declaration files, telemetry, ids, the load shedder, partner health | - |
//! | [`model`] | the nouns of the specification and their schemas; no I/O, no clock | base |
//! | [`wire`] | calls to remote systems: pools, deadlines, breakers, TLS; no partners, no leads | base |
//! | [`handbook`] | the chapters, as man pages and HTML | base |
//! | [`store`] | journal, record files, indexes; or a database; encryption; backups | base, model, wire |
//! | [`partners`] | partner files, eligibility and its index, catalog offers, HTTP mappings | base, model |
//! | [`web`] | serving HTTP: accept loop, TLS, limits, router, caller, failures | base, model |
//! | `engine` | leads and tables, in the modules listed below | store, partners, wire |
//! | `insight` | what the records show later, in the modules listed below | engine |
//! | `outbound` | pushed events: [`postbacks`], [`alerts`], and their [`outbox`] | insight, wire |
//! | [`http`] | the public paths, the OpenAPI document; [`http::v1`] has what v1 changes | web, handbook, insight |
//! | [`admin`] | health, metrics, the admin routes of commands, the console | web, handbook, outbound |
//! | `offerd` | [`daemon`] (start, reload, stop), [`cli`], [`sandbox`] (a simulated partner) | all |
//!
//! `engine` has [`rate_table`], [`records`], [`ranking`], [`experiments`], [`conversions`] and [`matching`];
//! `insight` has [`analytics`], [`reports`], [`hindsight`], [`persons`], [`prefills`], [`transfer`],
//! [`nodes`], the look-ups of `reference` and [`mod@sheet`].
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | answer | what a partner sends back; a seat that sends none still has an outcome |
//! | ask | asking one seat for one rate table; ends in exactly one outcome, may take several calls |
//! | bid | a partner's answer to a ping: its price, before it is sent the person |
//! | book | the seats of all partner files, compiled; a reload replaces it as a whole |
//! | company | submits leads and is shown their rate tables; the specification's supply partner |
//! | data key | encrypts the records of one lead; destroyed to erase the lead |
//! | feed | the events of a company's leads, in order of arrival |
//! | head | the first record of a rate table: the seats that are asked, those that are not, and why |
//! | institution | who makes an offer: the partner, or the one behind a marketplace |
//! | not called | seated, not sent the lead: breaker open, or a limit of calls reached (outcome `kept_out`) |
//! | not seated | fits, but a limit, a rule or a full table denied it a place (`kept_out` in stored heads) |
//! | originator | a partner as loan offers show it |
//! | partner | has a partner file: an institution, or a marketplace of offers of other institutions |
//! | postback | an event of a lead, pushed to its company |
//! | quote | the part of an offer that depends on the lead |
//! | reason | why a seat has offers at a table, or has none |
//! | seal | the encryption of a record with personal data |
//! | seat | a partner's place at the rate tables of one product type |
//! | second look | seats that wait, where the lead wants loans, until no other seat had a loan offer |
//! | suppression list | digests of people about whom a partner is not asked |
//! | volume | the record files of one span of time with their index; dropped as a whole |
//!
//! # Invariants
//!
//! - Acknowledged data is on the disk, in append-only files; only data on the disk is shown; indexes can
//!   be rebuilt.
//! - `pendingResponses` only shrinks. A table is computed under one [`matching::configuration`], whatever is
//!   reloaded; a restart resumes it under the one then in force.
//! - A lead has one thread, for its connection, actors, timers, calls and reads of single records, which may
//!   block on a database. Scans and work of milliseconds run elsewhere; look-ups of host names on their own.
//! - One node owns a pending table; a node that was ended can no longer write. Caps count stored records.
//! - Arrival times never go back. A reload replaces everything or nothing (`daemon/reload.rs`).
//! - No log, metric or error holds personal data; none is on the disk unencrypted ([`store::TREES`]).
//! - Public ids ([`ids`]) reveal nothing: only the store maps an offer to its table ([`records::public_ids`]).
//! - A test token sees only test records. A publishable token sees no personal data, except a prefill whose
//!   own token it gives ([`model::Viewer`]).
//! - A command calls the admin routes of a running daemon, or of a stopped store (`cli/admin_client.rs`).
//! - No global state but metrics and limits of concurrent work, no expression engine on the hot path.
//! - Times that `engine` compares come from the store's clock, except in reports and late asks.
//! - `tests/it/architecture.rs` checks what manifests cannot: large import cycles, crates that only one
//!   module may name, and where `engine` reads the machine's clock. `panic = "unwind"` in every profile.
//!
//! # Where new things go
//!
//! - A setting: `base/config/sections.rs`, `config/default.toml`, whose comment the handbook shows.
//! - A limit of the daemon: also its metric (`base/telemetry/metrics.rs`), its panel (`config/grafana`) and
//!   its answer (`web/failure.rs`, `handbook/errors.md`).
//! - A limit of a partner: `partners/limits/declared.rs`, `engine/rate_table/reason.rs`, its name in the
//!   help of metrics (`base/telemetry`); `engine/matching/limiter/{meter,seat_status}.rs` enforce and show it.
//! - A column of a report: `insight/reports/figures.rs`, `cli/help.txt`; of a new measure also `measure.rs`.
//! - A kind of alert: `outbound/alerts/rule.rs`, `handbook/metrics.md`; its test writes `alerts.yml`.
//! - An outcome of an ask: [`rate_table::outcome`], [`rate_table::reason`], `handbook/errors.md`.
//! - A part of a score: [`partners::ranking`], [`partners::catalog`], [`config`], `handbook/tuning.md`.
//! - An endpoint: `http/{current,routes.rs}`, `handbook/client.md`, `tests/it/access.rs`; or [`admin`].
//! - A projection of the feeds: a [`Projection`](records::projection::Projection), `daemon/started.rs`.
//! - A kind of record: `store/trees.rs`; about a person also [`persons`], [`transfer`], `store/salvage`.

mod bootstrap;
pub mod cli;
pub mod daemon;
pub mod sandbox;

pub use offerd_base::{config, declaration, ids, load_shedder, run_file, telemetry};
pub use offerd_engine::{conversions, experiments, matching, ranking, rate_table, records};
pub use offerd_insight::{analytics, hindsight, nodes, persons, prefills, reports, sheet, transfer};
pub use offerd_outbound::{alerts, outbox, postbacks};
pub use {
    offerd_admin as admin, offerd_handbook as handbook, offerd_http as http, offerd_model as model,
    offerd_partners as partners, offerd_store as store, offerd_web as web, offerd_wire as wire,
};
