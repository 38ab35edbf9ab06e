//! `POST /replay`: what `offerd replay` calls. Answers line by line: how far it is, then what it found.
//!
//! One at a time, on a thread that may block; when the client hangs up it ends.

use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

use super::prelude::*;
use offerd_engine::records::projection::Steps;
use offerd_insight::hindsight::replay::{Progress, Replay, ReplayReport, Wish, book_of};

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

/// A replay that goes on with each line; no other begins until it ends.
type UnderWay = (Replay, Steps, OwnedSemaphorePermit);

pub(super) async fn replay(mut context: Context<App>) -> Result<Reply, Failure> {
    let order: ReplayOrder = order(&mut context, MAX_BODY_BYTES).await?;
    let permit = Arc::clone(&context.app.replays).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let begin = move |app: &App| {
        let book = book_of(order.partner_files)?;
        Replay::new(&app.engine.records, book, &app.engine.configuration().rules, &order.wish)
    };
    let replay = context.app.reading("a replay could not be begun", begin).await?;
    let replay = replay.map_err(Failure::bad_request)?;
    let under_way = (replay, Steps::new(context.app.rests), permit);
    Ok(json_lines(stream::unfold(Some(under_way), |under_way| async { Some(go_on(under_way?).await) })))
}

/// Takes the next step.
async fn go_on((mut replay, mut steps, permit): UnderWay) -> (ReplayLine, Option<UnderWay>) {
    match steps.take(move || (replay.step(), replay)).await {
        Ok((true, replay)) => (ReplayLine::Progress(replay.progress()), Some((replay, steps, permit))),
        Ok((false, replay)) => (ReplayLine::Report(replay.report()), None),
        Err(error) => {
            error!(%error, "a replay could not go on");
            (ReplayLine::Failed("the replay could not go on; the log tells why".to_owned()), None)
        }
    }
}
