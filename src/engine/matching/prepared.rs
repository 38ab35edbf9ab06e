//! Requests to partners, rendered while the disk is busy with the lead; the rest are rendered when sent.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::partner_clients::Rendered;
use super::question::LeadQuestion;
use offerd_partners::Seat;

/// Most requests prepared for one table, about half a millisecond of this thread; the rest are rendered when
/// sent.
const MOST: usize = 32;

/// The question of a lead, and its rendered requests.
pub struct PreparedRequests {
    /// The question.
    pub question: Arc<LeadQuestion>,
    /// The requests of the first seats, where they are rendered and not taken yet.
    pub requests: Vec<Option<Rendered>>,
}

impl PreparedRequests {
    /// Awaits `under_way`, and meanwhile renders the requests of `seats`. A panic in a mapping fails one ask.
    pub async fn meanwhile<T>(
        under_way: impl Future<Output = T>,
        question: Arc<LeadQuestion>,
        seats: impl Iterator<Item = Option<&Seat>>,
    ) -> (T, Self) {
        let mut under_way = pin!(under_way);
        let mut requests = Vec::new();
        let mut left = MOST;
        for seat in seats {
            let Some(seat) = seat else {
                requests.push(None);
                continue;
            };
            if left == 0 {
                break;
            }
            left -= 1;
            let look = |cx: &mut Context<'_>| Poll::Ready(under_way.as_mut().poll(cx));
            if let Poll::Ready(done) = poll_fn(look).await {
                return (done, Self { question, requests });
            }
            requests.push(catch_unwind(AssertUnwindSafe(|| Rendered::of(seat, &question))).ok().flatten());
        }
        (under_way.await, Self { question, requests })
    }

    /// Takes the request of a seat, if it was rendered.
    pub fn take(&mut self, seat: usize) -> Option<Rendered> {
        self.requests.get_mut(seat).and_then(Option::take)
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::path::PathBuf;

    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;
    use crate::partner_files::far_lender;
    use offerd_model::{CreditBands, Lead};
    use offerd_partners::Book;
    use offerd_partners::http::AskContext;

    fn lenders() -> Book {
        let text = |key| far_lender(key, "https://lender.example/", "").text();
        let files = ["amber", "birch", "cedar"].map(|key| (PathBuf::from(format!("{key}.toml")), text(key)));
        Book::from_texts(files).expect("the partners of a test are good")
    }

    fn question() -> Arc<LeadQuestion> {
        let now = chrono::Utc::now();
        let asked = AskContext { lead: Uuid::nil(), rate_table: Uuid::nil(), test: false, now };
        Arc::new(LeadQuestion::new(Arc::new(Lead::default()), CreditBands::Current, asked))
    }

    /// Completes after this many polls.
    async fn looks(count: usize) -> &'static str {
        for _ in 1..count {
            tokio::task::yield_now().await;
        }
        "written"
    }

    fn made(prepared: &mut PreparedRequests) -> [bool; 3] {
        [0, 1, 2].map(|seat| prepared.take(seat).is_some())
    }

    #[tokio::test]
    async fn requests_are_made_while_the_disk_is_busy_and_given_once() {
        let book = lenders();
        let seats = book.seats().iter().map(|seat| Some(&**seat));
        let (done, mut prepared) = PreparedRequests::meanwhile(looks(10), question(), seats).await;
        assert_eq!((done, made(&mut prepared)), ("written", [true; 3]));
        assert_eq!(made(&mut prepared), [false; 3]);
    }

    #[tokio::test]
    async fn nothing_is_waited_for_that_is_not_made_yet() {
        let book = lenders();
        let seats = book.seats().iter().map(|seat| Some(&**seat));
        let (_, mut prepared) = PreparedRequests::meanwhile(looks(3), question(), seats.clone()).await;
        assert_eq!(made(&mut prepared), [true, true, false]);
        let (_, mut prepared) =
            PreparedRequests::meanwhile(ready(()), question(), seats).now_or_never().expect("it is done");
        assert_eq!(made(&mut prepared), [false; 3]);
    }

    #[tokio::test]
    async fn nothing_is_made_for_a_seat_that_is_held() {
        let book = lenders();
        let seats = book.seats().iter().enumerate().map(|(nth, seat)| (nth != 1).then_some(&**seat));
        let (_, mut prepared) = PreparedRequests::meanwhile(looks(10), question(), seats).await;
        assert_eq!(made(&mut prepared), [true, false, true]);
    }
}
