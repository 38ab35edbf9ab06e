//! Lingering close of a connection on which a body may still be arriving: we shut down our side first, then
//! read until the client has finished. Closing at once would send a reset, which discards the answer.

use std::future::Future;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

use super::prelude::*;

/// How many bytes are read and discarded: twice the largest body cap that the settings accept.
const LISTENED_TO_BYTES: usize = 2 * 1024 * 1024;

const LISTENED_TO: Duration = Duration::from_secs(1);

const PIECE_BYTES: usize = 8 * 1024;

pub(super) struct LingeringClose {
    over: Pin<Box<Sleep>>,
    left_bytes: usize,
}

impl LingeringClose {
    pub(super) fn begin() -> Self {
        Self { over: Box::pin(tokio::time::sleep(LISTENED_TO)), left_bytes: LISTENED_TO_BYTES }
    }

    /// Ready once the client has closed its side, or the limit of time or bytes is reached.
    pub(super) fn poll(&mut self, stream: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<()> {
        while self.left_bytes > 0 {
            let mut piece = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut piece);
            match Pin::new(&mut *stream).poll_read(cx, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => {
                    self.left_bytes = self.left_bytes.saturating_sub(piece.filled().len());
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.over.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::Instant;

    /// Lingers to the end; returns how long it took.
    async fn listen(mut stream: DuplexStream) -> Duration {
        let (begun, mut lingering) = (Instant::now(), LingeringClose::begin());
        poll_fn(|cx| lingering.poll(&mut stream, cx)).await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn who_ends_what_they_say_is_heard_out_and_not_waited_for() {
        let (mut client, ours) = duplex(16);
        let listening = tokio::spawn(listen(ours));
        client.write_all(&[7; 100_000]).await.expect("all of it is taken");
        drop(client);
        assert_eq!(listening.await.unwrap(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_silent_is_waited_for_so_long_and_who_never_ends_is_cut() {
        let (_client, ours) = duplex(16);
        assert!(listen(ours).await >= LISTENED_TO);
        let (mut client, ours) = duplex(PIECE_BYTES);
        let listening = tokio::spawn(listen(ours));
        let mut sent_bytes = 0;
        while client.write_all(&[7; PIECE_BYTES]).await.is_ok() {
            sent_bytes += PIECE_BYTES;
        }
        assert_eq!(listening.await.unwrap(), Duration::ZERO);
        assert!((LISTENED_TO_BYTES..=LISTENED_TO_BYTES + 2 * PIECE_BYTES).contains(&sent_bytes));
    }
}
