//! offerd, a matching engine for financial offers: a lead goes in, a rate table comes out.
//!
//! # How a lead becomes a rate table
//!
//! 1. [`web`] accepts the connection, gives it to the [engine's thread](web::threads) that serves fewest, finds the route, and asks for
//!    the caller's token; [`http`] reads the body under a cap into a [`model::Lead`], in one pass, or answers with every fault and its
//!    attribute path. All that follows, but for the disk, happens on that thread.
//! 2. The [`load_shedder`] gives new work its permit, or it is answered 503. [`matching::matchmaker`] asks for a place among the live
//!    tables ([`matching::admission`]), and [`partners::book`] which seats fit: a seat is a
//!    partner's place at the tables of one product type. Its rules are compiled to bitsets, so this takes microseconds.
//!    [`matching::limiter`] leaves out the seats that are paused, closed, at a cap or over their budget.
//! 3. A [`matching::rate_table_actor`] feeds the pure [`rate_table::machine`] and carries out what it says. Catalogs answer here and
//!    now. The lead, its table, their answers and what the feeds tell of it are one commit, guarded against duplicates
//!    (else 409); while the disk is busy with it the requests of partners that live elsewhere are made ([`matching::prepared`]).
//!    [`store`] acknowledges when its journal is on the disk. From here on the table will be complete by its deadline, whatever
//!    happens to the client or to the process.
//! 4. Only then is anybody asked who lives elsewhere: a [`matching::partner_actor`] per seat, within its budget, over the [`wire`]
//!    ([`matching::partner_clients`]), by one call or by several ([`matching::calls`]). Some calls are made but once, and before such a one goes out
//!    that it does is on the disk. Who bids for the lead is compared first (`matching/bidding.rs`); who answers later calls us
//!    ([`matching::callbacks`]). What is owed to the table is a [`matching::replies`]`::Reply`, so an ask ends in exactly one
//!    [`rate_table::outcome`]: offers, no offers, failed (a panic drops the reply), timed out.
//! 5. The machine takes each outcome in, has it written, and then shown:
//!    to the submit that waits for the partners that answer at once, to the blocking one that waits for all, to polls. A table that is
//!    complete with its first commit is shown at once, and its actor leaves.
//! 6. With the last outcome the table is complete and never changes again. It is kept as it is shown ([`matching::kept_tables`]); polls
//!    that come when it has made room for others, or that reach another node, fold it from its records. What a crash leaves pending goes on
//!    at the next start, or on another node, through the same machine, under the original deadline.
//!
//! An offer is mostly text that does not depend on the lead, its template. It is prepared when the partner files are loaded, stored
//! once under its fingerprint, and joined to the few figures that a rate table keeps ([`partners::template`]). Where a partner answers
//! in words of its own, these make a template that is kept with its answer, and goes with it ([`rate_table::record`]).
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | ask | a seat's being asked for one rate table, which ends in exactly one outcome; it may take several calls |
//! | audit | who did what, when and why, each record with the hash of the one before it |
//! | base | the volume of what must be found without knowing when it was written |
//! | bid | what a partner offers for a lead before it is sent the person: the answer to a ping, which the post follows if it is chosen |
//! | book | the seats of all partner files, compiled, and exchanged as a whole by a reload |
//! | breaker | what keeps calls back from a far side that mostly fails |
//! | callback | a partner's answer to an ask by a call of its own |
//! | cell | what was counted at a company on a day, of one value of a dimension or of one pair of two |
//! | commit | guards and writes that the store takes all or not at all |
//! | data key | what the records of one lead are sealed with, destroyed to erase it |
//! | control | the leads of an experiment that get none of its variants |
//! | dimension | by what a report is divided: day, company, product, sub-type, partner, client tag, rating, state, experiment |
//! | experiment | a rule that gives a share of leads another deadline, ranking or set of partners; each of its leads draws one variant |
//! | feed | what happened to the leads of a company, in order of arrival |
//! | group | the commits that one sync makes durable |
//! | guard | what must hold of the store for a commit to be taken |
//! | head | the first record of a rate table: whom it asks, whom not and why |
//! | index | what finds records in the files of a volume, and can always be made anew from them |
//! | journal | where a group is durable first, until the files of the volumes are synced |
//! | lead | a person and what they look for, as a client submits it |
//! | leader | of the nodes on a store the one that does what one alone may do; a node alone on its store leads |
//! | offer page | what shows a person the offers of one rate table, by an address that is the whole right to see them |
//! | node | a process that has the store open, alone or with others on one database |
//! | outbox | what is outstanding of a subscription to events, and which of it is due |
//! | outcome | what became of a seat at a table: offers, no offers, a failure, or no answer in time; also of one that was not asked after all |
//! | permit | the right of new work to be in flight |
//! | postback | an event of a lead that is pushed to its company, by a file that is a subscription |
//! | quote | the part of an offer that depends on the lead |
//! | ranking | how much interest, conversion, payout and consumer rating count in the score of an offer |
//! | rate table | the offers for one lead, complete when no ask is pending |
//! | reason | why a seat has, or has not, offers at a rate table |
//! | role | what a user of the console may see and do; each may all that those before it may |
//! | seal | the encryption of a record that may tell of a person |
//! | seat | a partner's place at the rate tables of one product type |
//! | second look | the seats that are asked only when no other had a loan offer |
//! | segment | a file of the journal, of fixed length and used again |
//! | suppression list | digests of people about whom the partners that name it are not asked |
//! | template | the part of an offer that does not depend on the lead, stored once |
//! | treatment | what the variants of its lead change of a rate table |
//! | topic | a kind of change that the nodes on a store tell each other |
//! | transcript | what a partner was sent about a lead and what came back, where its file wants that kept |
//! | tree | one kind of record, with its key, its seal and its place |
//! | turn | the right to change a record by what it holds, which who wants to waits for in line |
//! | volume | the record files of one span of time with their index, dropped as a whole |
//!
//! # Modules
//!
//! ```text
//! main → cli → daemon ─┬→ http ──┬→ conversions, hindsight ┬→ matching ─┬→ records ─┬→ rate_table → partners ─┬→ declaration
//!                      │         ├→ analytics, reference │            └→ wire     └→ store ─────────────────┴→ model
//!                      └→ admin ─┼→ persons, transfer ───┘
//!                                └→ web → model
//!      who names a room may name those below it: http and admin also matching, records and store; analytics names store, reference partners
//!      http names analytics and reference, admin and daemon persons, cli persons, transfer and hindsight; persons and transfer also name conversions
//!      admin also names partners and rate_table, cli partners: how partners behave, and what they offer; and declaration: the nearest name
//!      admin and daemon also name run_file → private_file, and reload → config, declaration, partners: how commands find a daemon, and what a reload says
//!      reports: for admin, daemon and cli, names config, records and what is below it
//!      ranking: for matching, admin, daemon and cli, names the same
//!      nodes: for daemon, admin and cli, names config, store and telemetry
//!      experiments → config, rate_table, store: for matching, hindsight, admin, daemon and cli
//!      daemon and cli also name reload, and declaration: its faults; reference that too, and ids; daemon reference: the list of cars
//!      store also names wire: whom TLS to a database trusts; and private_file: the id of the directory that it runs in
//!      cli also names wire: TLS with our own listeners; and web: the body of an answer, whoever gives it
//!      sheet: a leaf, for http, admin, alerts, reports, reference and cli
//!      config, telemetry: leaves, for all but model (config reads itself with declaration)
//!      handbook: for cli and admin, names config and telemetry
//!      admin also names private_file: the digest of the console's secret; and ids: the numbers of receipts
//!      postbacks: for daemon, admin and cli, names analytics, records, wire, store and what these name; partners for what a name may be, and how Retry-After is read
//!      alerts: for daemon, admin and cli, names config, declaration, outbox, partner_health, store and wire
//!      outbox: for postbacks, alerts and daemon, names config and wire
//!      prefills: for http and persons, names shares, store and model; partner_health: a leaf, for matching, admin and cli
//!      sandbox: for cli only, names partners, for the shape of a case, and declaration; regular_file: a leaf, for whoever reads what settings name; shares, load_shedder: leaves, for web, http and matching; ids: a leaf, for whoever makes one
//!      bootstrap: for daemon, names store and run_file: the first start
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | the nouns of the specification, in its order and words, and their schemas; no I/O, no clock |
//! | [`declaration`] | how files written by an operator are read and checked: every fault at once, with file, line and key |
//! | [`config`] | the settings, layered and checked |
//! | [`partners`] | partner files, eligibility, the index, catalog offers and their prices |
//! | [`store`] | the record: one writer thread, a journal, record files by time and what finds records in them, or the same in a database; [`store::sealing`] the keys of personal data, [`store::backup`] backups |
//! | [`experiments`] | rules from files: which leads draw which variant, and what that changes |
//! | [`rate_table`] | what becomes of a lead's asks, as one machine: standing, answers, ranking, second look; no actor, clock or store |
//! | [`matching`] | what is live: seating, actors, budgets, recovery |
//! | [`records`] | what is written of leads and rate tables, and how it is read again |
//! | [`conversions`] | clicks, and what partners report |
//! | [`persons`] | what is done for a person: by which contacts their leads are found, a dossier of what is held, erasure |
//! | [`transfer`] | a whole store as lines of JSON, out and in |
//! | [`prefills`] | data of leads that are given in one place and taken up in another, for some minutes |
//! | [`hindsight`] | what the records say afterwards, and what the files say of a lead that is not submitted: explanation, replay, dry run, timing |
//! | [`reports`] | what became of leads by day, company, product, partner, tag, rating, state and experiment: counted as records arrive, summed up when it is asked for |
//! | [`ranking`] | what a company's own clicks teach of conversions, learnt as they arrive, and by what its offers are ranked |
//! | [`mod@reference`] | look-ups for pages: universities, cars, featured institutions; what stands in the place of sample partners |
//! | [`analytics`] | the feeds: what reached the service, in order of arrival, page by page |
//! | [`postbacks`] | pushing events of leads to their companies, in order and until they are acknowledged |
//! | [`outbox`] | how messages are pushed: a thread of their own, signed webhooks, secrets, when what failed is tried again; for postbacks and alerts |
//! | [`alerts`] | what of the metrics is worth an alert, and telling people once, with an end |
//! | [`web`] | serving HTTP at all: accept loop, TLS, limits, router, caller, bodies, failures |
//! | [`http`] | the public paths, what answers them, the document that describes them; [`http::v1`] only what the older edition says differently |
//! | [`admin`] | health, metrics and what commands ask for, on a thread of its own, or over a stopped daemon's store in the process of the command; [`admin::console`] what an operator looks at in a browser |
//! | [`wire`] | calling far systems: connections, deadlines, breakers, limits; knows no partner and no lead |
//! | [`ids`] | uuids that nobody guesses, each from random bits of its own; and those that are derived from a name |
//! | [`load_shedder`] | how much new work is let in, who waits in line for it, who is refused |
//! | [`sheet`] | what an answer shows in columns and rows, made once; written as CSV, as Parquet and, by commands, as a table; how figures are written for people; the rows of files that people bring |
//! | `worded` | the macro for enumerations whose variants stand beside their words |
//! | [`shares`] | what each company holds of what there is only so much of; for web and matching |
//! | [`partner_health`] | how well a partner is: one judgement of how its asks end, against its own past |
//! | [`sandbox`] | a partner simulator that answers from case files |
//! | [`telemetry`] | logs, metrics and traces; [`telemetry::traces`] sends a lead's spans to a collector |
//! | [`handbook`] | chapters for people, as man pages and as pages of the console |
//! | [`regular_file`] | reading files that settings name: whole, within a bound, and never what would be waited for |
//! | [`run_file`], [`private_file`] | how commands find a daemon and prove whose they are; files that only their user may read |
//! | [`nodes`] | the daemons that share a store: what each tells of itself, and what of it is not as it should be |
//! | [`reload`] | how a reload is asked for, and its report; [`daemon`] carries it out |
//! | [`cli`], [`daemon`] | the commands, and the order of life |
//!
//! Rooms that a reader may take for each other:
//!
//! - What happened to leads stands in the feeds, which [`records::writing`] writes and [`records::projection`] follows. [`analytics`] tells
//!   them to clients as they are. [`reports`] counts them, and whatever shows how many there were asks it, the console's funnel too.
//!   [`ranking`] keeps of clicks what scores need. [`hindsight`] keeps nothing: it reads the records of leads when it is asked.
//! - [`persons`] holds what is done for a person, `admin/persons` and `admin/erasing` who may order it, and what the audit says of it.
//! - What is stored of leads, events and payouts has its shape in [`store::entities`], and what that means in [`records`]; so the index of
//!   contacts and that of identities lie in [`store`], and [`records`] says what goes into them.
//! - That nodes live, and which leads, is for [`store`]; [`nodes`] holds what each tells of itself, and admin and cli show it.
//!
//! `web` stands apart from `http` because the admin listener is served the same way. `config` is plain data that other
//! modules may take their limits from.
//!
//! # Where new things go
//!
//! - A way in which an ask can end: a variant of `Failure` or `NoOfferReason` in [`rate_table::outcome`], behind the others, since they
//!   are stored by position; its row in [`rate_table::reason`] (word, class, sentence) and there whether it was asked; who makes it,
//!   mostly [`matching::partner_clients`], of what [`partners::http`] makes of an answer; its line in `handbook/errors.md`. It may have
//!   words of its own in `admin/console/rate_tables/timeline.rs`.
//! - A setting: its row in `config/sections.rs`, its line in `config/default.toml`, its sentence in the chapter of the handbook that it is of.
//! - Something that keeps a seat from being asked, such as a limit of a partner: its row in `rate_table/denied.rs` (what was wanted, what
//!   was found) and in `rate_table/reason.rs` (word, class, sentence), both behind the others; a limit's key in `partners/limits/declared.rs`.
//!   It is used where it is judged and listed: in `matching/limiter`, and for what a file alone decides in
//!   [`rate_table::seating`].
//! - A column of a report: what is counted in `reports/measure.rs`, its row in `reports/figures.rs`, its name in the help of
//!   `offerd report` (`cli/help.txt`). It is used where it is counted, in `reports/fold.rs`.
//! - An alert: its row in `alerts/rule.rs`, of which a test makes `config/prometheus/alerts.yml`, and its part of `handbook/metrics.md`.
//! - A limit of the daemon: its setting in [`config`] (one row of `sections.rs`), its metric in
//!   `telemetry/metrics.rs` and its panel in `config/grafana`, its answer where it is reached (`web/failure.rs`, `handbook/errors.md`), and its
//!   lines in `config/default.toml` and `handbook/metrics.md`.
//! - A reason that clients are shown: a row in [`rate_table::reason`]; a new class also in `PartnerResult` ([`model`]). Why a submit is
//!   refused: [`matching::refused`].
//! - A part of a score: in [`partners::ranking`] its figure with its bounds and in what [`partners::catalog`] knows of an offer, its weight in
//!   [`config`], its row in `handbook/tuning.md`. What is stored of it with an offer ([`rate_table::record`]) is read by position.
//! - An endpoint: its handler in `http/current`, its row in `http/routes.rs` with what the OpenAPI document tells of it (of what no
//!   client calls in a section behind the clients'), its call and its row in `handbook/client.md`, of which `tests/openapi/postman.py` makes the collection
//!   anew; who may call it, in `tests/it/access.rs`; what the older edition says differently in [`http::v1`], what newer versions have otherwise in `handbook/moving.md`. Of the
//!   operator's: its handler and row in [`admin`], in the console with the least role that may, in `tests/it/people.rs` too.
//! - Something that is made of the feeds and kept up with them: a [`Projection`](records::projection::Projection), which
//!   `daemon/started.rs` starts.
//! - A kind of record: its row in `store/trees.rs`; what writes and reads it in the room that it is of. If it is about a person, it must
//!   be named in [`persons`] (dossier, erasure), in [`transfer`] (`line.rs`, `import.rs`), in `store/salvage/rescue.rs` and in `handbook/privacy.md`; if it
//!   grows and is not of a volume, in `store/retention.rs`.
//!
//! # Invariants
//!
//! - Imports go along the arrows only, and within a room, sub-folders included, few files import each other in a circle; `tests/it/architecture.rs`
//!   holds both.
//! - Only `store/index.rs` names sled, only `store/postgres` the client of a database, only `web` names warp, only `wire` and `web` name rustls, only `matching` (and `daemon`, which starts the
//!   threads) names actix.
//! - Only `telemetry` names OpenTelemetry: others begin and end spans by its own nouns, and a lead never waits for one.
//! - Only `model` and `http` name utoipa: a schema stands beside what reads and writes its noun, an operation beside its
//!   route. A route without an operation fails a test.
//! - A pending rate table is seen to by one node, whose id stands with it. A node that has ended, or was ended, writes nothing more, so that
//!   another can go on with what it has left ([`matching::recovery`]).
//! - What was acknowledged is on the disk, in files that are only appended to; what is shown is acknowledged. Whatever sled wrote can
//!   be thrown away.
//! - What grows with every lead lies in volumes by time, so that what is old can go as a whole and a start opens the last one.
//! - `pendingResponses` only shrinks, and an ask has exactly one outcome ([`rate_table::progress`]).
//! - What a cap counts is derived from what is stored, so a restart counts the same ([`matching::limiter`]). Where several processes share
//!   a store, none asks more than it has reserved ([`matching::cap_sharing`]), and what one changes the others respect within a second
//!   (`daemon/following.rs`).
//! - Arrivals never go back and never wait for a clock that was wrong; nothing is old because the machine's clock says a year to come
//!   (`store/arrival_clock.rs`).
//! - A rate table is computed under one [`matching::configuration`], book, clients and rules, whatever is reloaded.
//! - A reload swaps everything or nothing; what can fail fails before the swap (`daemon/reload.rs`).
//! - A command has one path: it asks the admin routes, over the listener of a running daemon or in its own process over the store
//!   that it has opened; only `cli/admin_client.rs` knows which.
//! - Only [`http::v1`] words anything as the older edition does; the current one is answered as if there were no other.
//! - An id tells of no other: uuids are made in [`ids`] only, and an offer's, which is public, and a page's, which is a person's, lead to
//!   their table only for who has the store's key ([`records::public_ids`]).
//! - A test token sees records of tests only, a publishable one no personal data ([`model::Viewer`]).
//! - A lead has one thread: its connection, actors, timers and calls to partners; what reaches beyond is published whole (a
//!   configuration) or atomic (limits, breakers). What blocks, or takes more than a few milliseconds, is done aside.
//! - A panic is an outcome, never the end of the process: `panic = "unwind"` in every profile.
//! - No log, metric or error holds personal data: messages say what was wanted and the kind of thing that was found.
//! - No byte on the disk tells of a person without the master key: the store seals what [`store::TREES`] says, and nobody
//!   can write it otherwise.
//! - Deliberately absent: global state (metrics and the permits to hash passwords aside), a second clock (tests pause tokio's; arrival times, feeds and limits share the store's), an expression engine on the hot path.

#[macro_use]
mod worded;

pub mod admin;
pub mod alerts;
pub mod analytics;
mod bootstrap;
#[cfg(test)]
#[path = "../tests/it/kit/cases.rs"]
mod cases;
pub mod cli;
pub mod config;
pub mod conversions;
pub mod daemon;
pub mod declaration;
pub mod experiments;
pub mod handbook;
pub mod hindsight;
pub mod http;
pub mod ids;
#[cfg(test)]
#[path = "../tests/it/kit/line.rs"]
mod line;
pub mod load_shedder;
pub mod matching;
pub mod model;
pub mod nodes;
pub mod outbox;
#[cfg(test)]
#[path = "../tests/it/kit/partners.rs"]
#[allow(dead_code)] // the black-box tests use the rest
mod partner_files;
pub mod partner_health;
pub mod partners;
pub mod persons;
pub mod postbacks;
pub mod prefills;
pub mod private_file;
pub mod ranking;
pub mod rate_table;
pub mod records;
pub mod reference;
pub mod regular_file;
pub mod reload;
pub mod reports;
pub mod run_file;
pub mod sandbox;
pub mod shares;
pub mod sheet;
pub mod store;
pub mod telemetry;
pub mod transfer;
pub mod web;
pub mod wire;
