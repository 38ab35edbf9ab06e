//! `POST /replay`: what `offerd replay` calls. Answers line by line: how far it is, then what it found.
//!
//! One at a time, on a thread that may block; when the client hangs up it ends.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use tracing::error;

use super::App;
use super::command::{blocking, order};
use crate::hindsight::replay::{Progress, Replay, ReplayReport, Wish, book_of};
use crate::records::projection::Steps;
use crate::web::{Context, Failure, Reply};

/// Longest body: the partner files.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Seconds after which it may be tried again when another replay is under way.
const RETRY_AFTER_S: u32 = 10;

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayOrder {
    /// The partner files: name and text of each.
    pub partner_files: Vec<(String, String)>,
    /// Which rate tables.
    pub wish: Wish,
}

/// A line of the answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplayLine {
    /// How far it is.
    Progress(Progress),
    /// What it found; the last line.
    Report(ReplayReport),
    /// Why it ended before that; the last line.
    Failed(String),
}

/// A replay that goes on with each line.
struct UnderWay {
    replay: Replay,
    steps: Steps,
    /// Held until it ends.
    permit: OwnedSemaphorePermit,
}

pub(super) async fn replay(mut context: Context<App>) -> Result<Reply, Failure> {
    let order: ReplayOrder = order(&mut context, MAX_BODY_BYTES).await?;
    let permit = Arc::clone(&context.app.replays).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let engine = Arc::clone(&context.app.engine);
    let begin = move || {
        let book = book_of(order.partner_files)?;
        Replay::new(&engine.records, book, &engine.configuration().rules, &order.wish)
    };
    let replay = blocking("a replay could not be begun", begin).await?.map_err(Failure::bad_request)?;
    let under_way = UnderWay { replay, steps: Steps::new(context.app.rests), permit };
    let lines = stream::unfold(Some(under_way), |under_way| async {
        let (line, under_way) = go_on(under_way?).await;
        let mut json = serde_json::to_vec(&line).expect("a line has string keys");
        json.push(b'\n');
        Some((Ok(Bytes::from(json)), under_way))
    });
    Ok(Reply::stream("application/x-ndjson", lines))
}

/// Takes the next step.
async fn go_on(under_way: UnderWay) -> (ReplayLine, Option<UnderWay>) {
    let UnderWay { mut replay, mut steps, permit } = under_way;
    match steps.take(move || (replay.step(), replay)).await {
        Ok((true, replay)) => {
            (ReplayLine::Progress(replay.progress()), Some(UnderWay { replay, steps, permit }))
        }
        Ok((false, replay)) => (ReplayLine::Report(replay.report()), None),
        Err(error) => {
            error!(%error, "a replay could not go on");
            (ReplayLine::Failed("the replay could not go on; the log tells why".to_owned()), None)
        }
    }
}
