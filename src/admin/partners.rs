//! `GET /partners`, `GET /partners/timing`, `POST /partners/pause`, `POST /partners/resume`:
//! what `offerd partners` calls.

use std::cmp::Reverse;
use std::sync::Arc;

use super::audit::Actor;
use super::command::{ORDER_BYTES, blocking, order, unread};
use super::{App, pausing};
use crate::hindsight::timing::timings;
use crate::matching::limiter::State;
use crate::matching::pausing::Pausable;
use crate::web::{Context, Failure, Reply, query};

/// The worst first, and those who are as well as each other as the files have them. Who is not asked for want of its suppression list
/// is among the worst: nobody meant that.
pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let mut standings = context.app.engine.standings();
    standings.sort_by_key(|standing| {
        Reverse((standing.health.health.badness(), standing.state == State::ListMissing))
    });
    Reply::json(&standings)
}

/// Reads on a thread that may block: there may be many tables.
pub(super) async fn timing(context: Context<App>) -> Result<Reply, Failure> {
    let since = query::read(&context.request, |query| query.required("since", query::integer(0..=i64::MAX)))?;
    let engine = Arc::clone(&context.app.engine);
    let read = move || timings(&engine.records, &engine.configuration(), &engine.statistics, since);
    Reply::json(&blocking("timings could not be read", read).await?.map_err(unread)?)
}

pub(super) async fn pause(mut context: Context<App>) -> Result<Reply, Failure> {
    let what: Pausable = order(&mut context, ORDER_BYTES).await?;
    let actor = Actor::of_command(&context);
    Reply::json(&pausing::pause(&context.app, &what, &actor).await?)
}

pub(super) async fn resume(mut context: Context<App>) -> Result<Reply, Failure> {
    let what: Pausable = order(&mut context, ORDER_BYTES).await?;
    let actor = Actor::of_command(&context);
    Reply::json(&pausing::resume(&context.app, &what, &actor).await?)
}
