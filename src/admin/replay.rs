//! `POST /replay` for `offerd replay`. Streams progress, then the report. One replay runs at a time, on a
//! blocking thread; it ends when the client disconnects.

use tokio::sync::OwnedSemaphorePermit;

use super::prelude::*;
use offerd_engine::records::projection::Steps;
use offerd_insight::hindsight::replay::{
    ReplayProgress, ReplayReport, ReplaySelection, TableReplay, book_of,
};

const MAX_BODY_BYTES: usize = 64 << 20;

const RETRY_AFTER_S: u32 = 10;

/// The request of a replay.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayOrder {
    /// The partner files, each with name and text.
    pub partner_files: Vec<(String, String)>,
    /// The rate tables to replay.
    pub wish: ReplaySelection,
}

/// A line of the answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplayLine {
    /// Progress so far.
    Progress(ReplayProgress),
    /// The report; the last line.
    Report(ReplayReport),
    /// Why it failed; the last line.
    Failed(String),
}

type RunningReplay = (TableReplay, Steps, OwnedSemaphorePermit);

pub(super) async fn replay(mut context: Context) -> Result<Reply> {
    let request: ReplayOrder = read_body(&mut context, MAX_BODY_BYTES).await?;
    let permit = Arc::clone(&context.app.replays).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let begin = move |app: &AdminState| {
        let book = book_of(request.partner_files)?;
        TableReplay::new(&app.engine.records, book, &app.engine.configuration().rules, &request.wish)
    };
    let replay =
        context.app.reading("a replay could not start", begin).await?.map_err(Failure::bad_request)?;
    let under_way = (replay, Steps::new(context.app.yields_to_leads), permit);
    Ok(json_lines(stream::unfold(Some(under_way), |under_way| async { Some(go_on(under_way?).await) })))
}

async fn go_on((mut replay, mut steps, permit): RunningReplay) -> (ReplayLine, Option<RunningReplay>) {
    match steps.take(move || (replay.step(), replay)).await {
        Ok((true, replay)) => (ReplayLine::Progress(replay.progress()), Some((replay, steps, permit))),
        Ok((false, replay)) => (ReplayLine::Report(replay.report()), None),
        Err(error) => {
            error!(%error, "a replay failed");
            (ReplayLine::Failed("the replay failed; see the log".to_owned()), None)
        }
    }
}
