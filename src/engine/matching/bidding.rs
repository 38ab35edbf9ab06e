//! A bidding round: a bidder waits until all have bid or withdrawn, or until its own limit, which ends the
//! round for all, so that two cannot both be the best. A paused partner counts as withdrawn.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::rate_table::bids::{BidRank, Bids};

/// A bidding round. Cheap to clone.
#[derive(Clone, Default)]
pub struct Bidding {
    round: Arc<Mutex<BiddingRound>>,
    over: Arc<watch::Sender<bool>>,
}

/// Whether a seat is currently paused by an operator.
pub type IsPaused = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Default)]
struct BiddingRound {
    outstanding: usize,
    bids: Bids,
    may_be_paused: Vec<(usize, IsPaused)>,
}

/// A seat's part in a round. Dropping it without a bid withdraws.
pub struct Bidder {
    bidding: Bidding,
    seat: usize,
    has_bid: bool,
}

impl Bidding {
    /// Adds a bidder. All must join before the first bids.
    pub fn join(&self, seat: usize) -> Bidder {
        self.round.lock().outstanding += 1;
        Bidder { bidding: self.clone(), seat, has_bid: false }
    }

    /// Records that a seat was sent the lead before a restart: no bid ranks above it.
    pub fn was_chosen(&self, seat: usize) {
        self.round.lock().bids.add(seat, f64::INFINITY);
    }

    fn leave(&self, bid: Option<(usize, f64)>) {
        let mut round = self.round.lock();
        round.outstanding -= 1;
        if let Some((seat, dollars)) = bid.filter(|_| !*self.over.borrow()) {
            round.bids.add(seat, dollars);
        }
        if round.outstanding == 0 {
            self.end(&mut round);
        }
    }

    fn end(&self, round: &mut BiddingRound) {
        if self.over.send_replace(true) {
            return;
        }
        let paused = round.may_be_paused.iter().filter(|(_, is_paused)| is_paused()).map(|(seat, _)| *seat);
        for seat in paused.collect::<Vec<_>>() {
            round.bids.withdraw(seat);
        }
    }
}

impl Bidder {
    /// Bids, and waits for the end of the round. Returns the bid's place; `None` if late or paused by then.
    pub async fn bid(mut self, dollars: f64, is_paused: Option<IsPaused>, until: Instant) -> Option<BidRank> {
        self.has_bid = true;
        let seat = self.seat;
        self.bidding.round.lock().may_be_paused.extend(is_paused.map(|is_paused| (seat, is_paused)));
        self.bidding.leave(Some((self.seat, dollars)));
        let mut over = self.bidding.over.subscribe();
        // The sender lives as long as `self`.
        let _ = timeout_at(until, over.wait_for(|over| *over)).await;
        let mut round = self.bidding.round.lock();
        self.bidding.end(&mut round);
        round.bids.rank(self.seat)
    }

    /// Bids without waiting.
    pub fn bid_alone(mut self, dollars: f64) {
        self.has_bid = true;
        self.bidding.leave(Some((self.seat, dollars)));
    }
}

impl Drop for Bidder {
    fn drop(&mut self) {
        if !self.has_bid {
            self.bidding.leave(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    fn behind(higher: usize) -> BidRank {
        BidRank { higher, equal: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn who_bids_waits_for_all_and_is_told_where_it_stands() {
        let bidding = Bidding::default();
        let [silent, low, high] = [0, 1, 2].map(|seat| bidding.join(seat));
        let until = Instant::now() + Duration::from_secs(60);
        let withdrawing = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            drop(silent);
        };
        let begun = Instant::now();
        let (low, high, ()) =
            tokio::join!(low.bid(4.0, None, until), high.bid(9.5, None, until), withdrawing);
        assert_eq!((low, high, begun.elapsed().as_secs()), (Some(behind(1)), Some(behind(0)), 3));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_paused_while_it_waits_leaves_its_place_to_the_next() {
        let bidding = Bidding::default();
        let [silent, low, high] = [0, 1, 2].map(|seat| bidding.join(seat));
        let until = Instant::now() + Duration::from_secs(60);
        let paused = Arc::new(AtomicBool::new(false));
        let is_paused: IsPaused = {
            let paused = Arc::clone(&paused);
            Arc::new(move || paused.load(Ordering::Relaxed))
        };
        let pausing = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            paused.store(true, Ordering::Relaxed);
            drop(silent);
        };
        let (low, high, ()) =
            tokio::join!(low.bid(4.0, None, until), high.bid(9.5, Some(is_paused), until), pausing);
        assert_eq!((low, high), (Some(behind(0)), None));
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_sent_the_lead_before_a_restart_keeps_its_place() {
        let bidding = Bidding::default();
        bidding.was_chosen(1);
        let later = bidding.join(0);
        let place = later.bid(1e6, None, Instant::now() + Duration::from_secs(1)).await;
        assert_eq!(place, Some(behind(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn when_one_is_told_it_is_over_for_all_and_two_are_never_the_best() {
        let bidding = Bidding::default();
        let bidders: Vec<Bidder> = (0..3).map(|seat| bidding.join(seat)).collect();
        let bids = bidders.into_iter().enumerate().map(|(nth, bidder)| async move {
            tokio::time::sleep(Duration::from_secs(2 * nth as u64)).await;
            bidder.bid(nth as f64, None, Instant::now() + Duration::from_secs(3)).await
        });
        assert_eq!(join_all(bids).await, [Some(behind(1)), Some(behind(0)), None]);
    }
}
