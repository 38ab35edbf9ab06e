//! `GET /backup`: what `offerd backup` calls on a running daemon. Answers with the file, piece by piece.
//!
//! One at a time, on a thread that may block. No piece is made before the client has taken the last, and between two it
//! rests for as long as the last one took, so that it has half a core at most. When the client hangs up it ends.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use tracing::error;

use super::App;
use super::audit::{audit_by, operator};
use crate::store::backup::{Backup, BackupError};
use crate::web::{Context, Failure, Reply};

/// Seconds after which it may be tried again when another backup is being taken.
const RETRY_AFTER_S: u32 = 10;

/// A backup that goes on with each piece.
struct UnderWay {
    backup: Backup,
    /// How long the last step took.
    took: Duration,
    who: Arc<str>,
    app: Arc<App>,
}

pub(super) async fn backup(context: Context<App>) -> Result<Reply, Failure> {
    let who: Arc<str> = operator(&context.request.headers).into();
    let backup = context.app.engine.store.backup().map_err(|refused| match refused {
        BackupError::UnderWay => Failure::overloaded(RETRY_AFTER_S),
        error => {
            error!(%error, "a backup could not be begun");
            Failure::internal()
        }
    })?;
    told("backup.begin", &who);
    let under_way = UnderWay { backup, took: Duration::ZERO, who, app: context.app };
    let pieces = stream::unfold(Some(under_way), |under_way| async { go_on(under_way?).await });
    Ok(Reply::stream("application/octet-stream", pieces))
}

/// Rests, then takes the next step.
async fn go_on(under_way: UnderWay) -> Option<(io::Result<Bytes>, Option<UnderWay>)> {
    let UnderWay { mut backup, took, who, app } = under_way;
    tokio::time::sleep(took).await;
    let stepping = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let piece = backup.step();
        (backup, piece, begun.elapsed())
    });
    match stepping.await {
        Ok((backup, Ok(Some(piece)), took)) => {
            Some((Ok(Bytes::from(piece)), Some(UnderWay { backup, took, who, app })))
        }
        Ok((backup, Ok(None), _)) => {
            told("backup.take", &who);
            app.chronicle.backed_up(&who, backup.missed());
            None
        }
        Ok((_, Err(error), _)) => {
            error!(%error, "a backup could not go on");
            Some((Err(io::Error::other(error)), None))
        }
        Err(error) => {
            error!(%error, "a backup could not go on");
            Some((Err(io::Error::other(error)), None))
        }
    }
}

/// Notes in the log who took what out of the store.
pub fn told(action: &'static str, who: &str) {
    audit_by!(who, action, "the store as a whole");
}
