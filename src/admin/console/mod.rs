//! The console: the operator's web pages, under `/console` of the admin listener.
//!
//! # How a page is made
//! 1. A constant `ConsolePage` names its section, its template and its refresh interval. The template
//!    receives `fields!` by name, and after `..` all fields of a struct. They come from memory or single
//!    records, never from a scan of the store; only `timeouts` reads tables, one page at a time.
//! 2. Its template is a file of `templates/`, listed in `templates`, and fills `<main>`; `layout.html`
//!    surrounds it. An element that updates itself has an `id` and the attribute `data-live`.
//! 3. An `async fn(&ConsoleRequest) -> Result<View>` gathers the fields, and ends with
//!    `request.view(PAGE, fields! { .. })`. A row of `ROUTES` maps it to its path with `page!` and the least
//!    role that may open it. An action has a `POST` row, and ends with `View::at`. A file is a `Reply`
//!    converted to a `View`. What only some readers may use is in the template under
//!    `{% if may.operator %}` or the like.
//!
//! # What every page gets
//! `enter` requires a sign-in where that is configured, checks the role of the row, and protects every form
//! against CSRF. `view` sets the headers: a page loads nothing from other origins, cannot be framed and is
//! not cached. With `Accept: text/event-stream` the page comes again every few seconds (`live`).
//!
//! Personal data is masked until a form reveals it, with an audit record (`ConsoleRequest::reveal`,
//! `transcript.rs`). Data that identifies a person travels in bodies, never in an address: `persons`.

mod account;
mod alerts;
mod assets;
mod audit;
mod catalogue;
mod chart;
mod consents;
mod console_request;
mod declared;
mod enter;
mod experiments;
mod funnel;
mod handbook;
mod health;
pub(super) mod history;
mod kept_history;
mod latency;
pub mod links;
mod live;
mod nodes;
mod now;
mod partner;
mod partners;
mod people;
mod persons;
mod postbacks;
mod prelude;
mod proxy;
mod ranking;
mod rate_tables;
mod reports;
mod seat_view;
pub mod secret;
mod session;
mod sign_in;
mod statement;
mod system;
mod templates;
mod timeouts;
mod today;
mod trend;
mod view;

use std::time::Instant;

use hyper::Method;
use tokio::sync::{Semaphore, watch};

use self::enter::{back, page};
use self::prelude::*;
use self::rate_tables::transcript;
pub(super) use self::session::SessionRules;
use self::session::Sessions;
use offerd_web::{Editions, Handler, Route, Scope, handler};

#[rustfmt::skip]
pub(super) const ROUTES: &[ConsoleRoute] = &[
    get("/console", "Shows the overview.", page!(Viewer, now::show)),
    get("/console/", "Redirects to the overview.", back!(Viewer, "/console")),
    get("/console/{page}", "There is no such page.", page!(Viewer, nowhere)),
    get("/console/{page}/{part}", "There is no such page.", page!(Viewer, nowhere)),
    get("/console/{page}/{part}/{more}", "There is no such page.", page!(Viewer, nowhere)),
    get("/console/alerts", "Lists alerts.", page!(Viewer, alerts::show)),
    get("/console/alerts/test", "Redirects to alerts.", back!(Viewer, "/console/alerts")),
    post("/console/alerts/test", "Sends a test alert.", page!(Operator, alerts::test)),
    get("/console/rateTables", "Finds rate tables.", page!(Operator, rate_tables::list)),
    get("/console/rateTables/{uuid}", "Shows a rate table.", page!(Operator, rate_tables::show)),
    get("/console/rateTables/{uuid}/reveal", "Redirects to the rate table.", page!(Operator, rate_tables::masked)),
    post("/console/rateTables/{uuid}/reveal", "Reveals attributes of a lead.", page!(Operator, rate_tables::reveal)),
    get("/console/rateTables/{uuid}/transcript", "Shows a masked transcript.", page!(Operator, transcript::show)),
    post("/console/rateTables/{uuid}/transcript", "Shows an unmasked transcript.", page!(Operator, transcript::reveal)),
    get("/console/partners", "Lists partners.", page!(Viewer, partners::show)),
    get("/console/partners/{partner}", "Shows a partner.", page!(Viewer, partner::show)),
    get("/console/partners/{partner}/timeouts", "Compares timeouts of a partner.", page!(Analyst, timeouts::show)),
    get("/console/partners/{partner}/pause", "Redirects to the partner.", page!(Viewer, partner::back)),
    post("/console/partners/{partner}/pause", "Pauses a partner.", page!(Operator, partner::pause)),
    get("/console/partners/{partner}/resume", "Redirects to the partner.", page!(Viewer, partner::back)),
    post("/console/partners/{partner}/resume", "Ends a pause.", page!(Operator, partner::resume)),
    get("/console/partners/{partner}/probe", "Redirects to the partner.", page!(Viewer, partner::back)),
    post("/console/partners/{partner}/probe", "Probes a breaker.", page!(Operator, partner::probe)),
    get("/console/funnel", "Shows the conversion funnel.", page!(Analyst, funnel::show)),
    get("/console/ranking", "Shows the ranking.", page!(Analyst, ranking::show)),
    get("/console/reports", "Shows a report.", page!(Analyst, reports::show)),
    get("/console/reports/download", "Downloads it as a file.", page!(Analyst, reports::download)),
    get("/console/reports/statement", "Asks for a partner's statement.", page!(Analyst, statement::show)),
    post("/console/reports/statement", "Holds it against what is booked.", page!(Analyst, statement::reconcile)),
    get("/console/experiments", "Lists and compares experiments.", page!(Analyst, experiments::show)),
    get("/console/experiments/download", "Downloads it as a file.", page!(Analyst, experiments::download)),
    get("/console/postbacks", "Lists postback subscriptions.", page!(Operator, postbacks::show)),
    get("/console/postbacks/{name}/test", "Redirects to postbacks.", back!(Operator, "/console/postbacks")),
    post("/console/postbacks/{name}/test", "Sends a test event.", page!(Operator, postbacks::test)),
    get("/console/postbacks/{name}/retry", "Redirects to postbacks.", back!(Operator, "/console/postbacks")),
    post("/console/postbacks/{name}/retry", "Sends dead letters again.", page!(Operator, postbacks::retry)),
    get("/console/persons", "Shows data requests.", page!(Operator, persons::show)),
    post("/console/persons", "Finds the leads of a person.", page!(Operator, persons::find)),
    get("/console/persons/export", "Redirects to the persons.", back!(Operator, "/console/persons")),
    post("/console/persons/export", "Exports a person's data.", page!(Operator, persons::export)),
    get("/console/persons/erase", "Redirects to the persons.", back!(Operator, "/console/persons")),
    post("/console/persons/erase", "Erases all leads of a person.", page!(Operator, persons::erase)),
    get("/console/persons/suppress", "Redirects to the persons.", back!(Operator, "/console/persons")),
    post("/console/persons/suppress", "Opts a person out.", page!(Operator, persons::suppress)),
    get("/console/persons/unsuppress", "Redirects to the persons.", back!(Operator, "/console/persons")),
    post("/console/persons/unsuppress", "Ends an opt-out.", page!(Operator, persons::unsuppress)),
    get("/console/consents", "Asks for a period of consents.", page!(Operator, consents::show)),
    post("/console/consents", "Lists consents.", page!(Operator, consents::summary)),
    get("/console/consents/download", "Redirects to the consents.", back!(Operator, "/console/consents")),
    post("/console/consents/download", "Downloads it as a file.", page!(Operator, consents::download)),
    get("/console/catalogue", "Lists offers.", page!(Viewer, catalogue::show)),
    get("/console/catalogue/try", "Asks for a test lead.", page!(Viewer, catalogue::trial::ask)),
    post("/console/catalogue/try", "Shows which offers match a lead.", page!(Viewer, catalogue::trial::show)),
    get("/console/nodes", "Lists the nodes on the store.", page!(Operator, nodes::show)),
    get("/console/system", "Shows the daemon, its store and settings.", page!(Operator, system::show)),
    get("/console/system/reload", "Redirects to the daemon.", back!(Operator, "/console/system")),
    post("/console/system/reload", "Reloads settings and partner files.", page!(Operator, system::reload)),
    get("/console/system/check", "Redirects to the daemon.", back!(Operator, "/console/system")),
    post("/console/system/check", "Reads every record of the store.", page!(Operator, system::check)),
    get("/console/settings/{kind}", "Shows the file that declares something.", page!(Administrator, declared::show)),
    post("/console/settings/{kind}", "Checks or saves it.", page!(Administrator, declared::act)),
    get("/console/handbook", "Shows the handbook.", page!(Viewer, handbook::begin)),
    get("/console/handbook/{chapter}", "Shows a chapter of the handbook.", page!(Viewer, handbook::show)),
    get("/console/account", "Shows the account.", page!(Viewer, account::show)),
    post("/console/account", "Sets a password, or creates the first user.", page!(Viewer, account::set)),
    get("/console/people", "Lists users.", page!(Administrator, people::show)),
    post("/console/people", "Adds a user.", page!(Administrator, people::add)),
    get("/console/people/{name}", "Redirects to the people.", back!(Administrator, "/console/people")),
    post("/console/people/{name}", "Changes or removes a user.", page!(Administrator, people::change)),
    get("/console/audit", "Lists the audit.", page!(Administrator, audit::show)),
    get("/console/audit/download", "Downloads it as a file.", page!(Administrator, audit::download)),
    get("/console/signIn", "Shows the sign-in form.", page!(all, sign_in::show)),
    post("/console/signIn", "Signs in.", page!(all, sign_in::sign_in)),
    get("/console/signOut", "Redirects to the overview.", back!(Viewer, "/console")),
    post("/console/signOut", "Signs out.", page!(Viewer, sign_in::sign_out)),
    by_command("/console/links", "Makes a link to sign in with.", handler!(sign_in::link)),
    by_command("/console/secret", "Makes a new secret to sign in with.", handler!(secret::renew)),
    get("/console/assets/{file}", "Serves style sheet, script and icon.", (None, handler!(assets::show))),
];

pub(super) struct ConsoleRoute {
    pub(super) route: Route<Handler<AdminState>>,
    /// The least role; `None` for a path that needs no sign-in.
    pub(super) role: Option<Role>,
}

/// A handler with the least role that may use it; created by `page!`.
type GuardedHandler = (Option<Role>, Handler<AdminState>);

const fn get(path: &'static str, about: &'static str, guarded: GuardedHandler) -> ConsoleRoute {
    row(Method::GET, Scope::None, path, about, guarded)
}

const fn post(path: &'static str, about: &'static str, guarded: GuardedHandler) -> ConsoleRoute {
    row(Method::POST, Scope::None, path, about, guarded)
}

/// A route for the command line, authorised by the key of the run file.
const fn by_command(path: &'static str, about: &'static str, handler: Handler<AdminState>) -> ConsoleRoute {
    row(Method::POST, Scope::Confidential, path, about, (None, handler))
}

const fn row(
    method: Method,
    scope: Scope,
    path: &'static str,
    about: &'static str,
    (role, handler): GuardedHandler,
) -> ConsoleRoute {
    ConsoleRoute { route: Route { method, path, scope, editions: Editions::All, about, handler }, role }
}

/// Every path of the console with its method and least role; `None` for a path that needs no sign-in.
pub fn roles() -> impl Iterator<Item = (Method, &'static str, Option<Role>)> {
    ROUTES.iter().map(|row| (row.route.method.clone(), row.route.path, row.role))
}

async fn nowhere(_: &ConsoleRequest) -> Result<View> {
    Err(Failure::unknown("There is no such page in the console"))
}

pub(super) struct Console {
    /// CSRF token of the forms of visitors without a session: a page of another site cannot read it.
    csrf: String,
    sessions: Sessions,
    begun: Instant,
    process: u64,
    history: history::History,
    days: today::DailyTotals,
    week: partners::StoredWeek,
    streams: Arc<Semaphore>,
    /// One permit for the page that reads stored tables.
    scans: Arc<Semaphore>,
    /// One permit to write the files of the settings.
    edits: Semaphore,
    pub(super) stop: watch::Sender<bool>,
}

impl Console {
    pub(super) fn new(rules: SessionRules) -> Self {
        Self {
            sessions: Sessions::new(rules),
            begun: Instant::now(),
            csrf: Uuid::new_v4().to_string(),
            process: u64::from_be_bytes(Uuid::new_v4().as_bytes()[..8].try_into().unwrap_or_default()),
            history: history::History::default(),
            days: today::DailyTotals::default(),
            week: partners::StoredWeek::default(),
            streams: Arc::new(Semaphore::new(live::STREAMS)),
            scans: Arc::new(Semaphore::new(1)),
            edits: Semaphore::new(1),
            stop: watch::channel(false).0,
        }
    }

    fn least_role(&self, path: &str) -> Option<Role> {
        let shown = |row: &&ConsoleRoute| row.route.path == path && row.route.method == Method::GET;
        ROUTES.iter().find(shown).and_then(|row| row.role)
    }

    pub(super) fn end_sessions_of(&self, user: &str) {
        self.sessions.end_of(user);
    }

    /// Signs out users that other processes on the store have changed. Blocks on the store.
    pub(super) fn take_in_users(&self, users: &Users) -> Result<(), ReadError> {
        let read = self.sessions.users().into_iter().map(|name| Ok((name.clone(), users.find(&name)?)));
        self.sessions.end_outdated(&read.collect::<Result<_, ReadError>>()?);
        Ok(())
    }

    /// Leads accepted per second over the last minute; `None` before the second reading.
    pub(super) fn leads_per_second(&self) -> Option<f64> {
        let minute = self.history.lately(now::MINUTE);
        let (first, last) = minute.first().zip(minute.last())?;
        last.per_second(first, |reading| reading.leads)
    }
}
