use proptest::prelude::*;

use super::*;

/// Nodes that share a cap, each with its batch in memory, and their shared record.
struct Several {
    cap: u32,
    record: CapGrants,
    nodes: Vec<Node>,
    /// Asks of all nodes, as counted from the records.
    asked: u32,
}

#[derive(Clone, Copy)]
struct Node {
    id: Uuid,
    granted: u32,
    asked: u32,
    wants: bool,
}

/// An event, at the live node with this index.
#[derive(Debug, Clone, Copy)]
enum Step {
    Asks(usize, u32),
    Settles(usize, bool),
    Crashes(usize),
    Leaves(usize),
    Joins,
    Caps(u32),
}

impl Several {
    fn of(cap: u32, nodes: u32) -> Self {
        let mut several = Self { cap, record: CapGrants::default(), nodes: Vec::new(), asked: 0 };
        (0..nodes).for_each(|_| several.join());
        several
    }

    fn join(&mut self) {
        self.nodes.push(Node { id: offerd_base::ids::random(), granted: 0, asked: 0, wants: true });
    }

    /// Returns how many of these asks are admitted.
    fn ask(&mut self, place: usize, asks: u32) -> u32 {
        let node = &mut self.nodes[place];
        let let_through = asks.min(node.granted.saturating_sub(node.asked));
        node.asked += let_through;
        node.wants = true;
        self.asked += let_through;
        let_through
    }

    fn settle(&mut self, place: usize, is_idle: bool) {
        let alive: BTreeSet<Uuid> = self.nodes.iter().map(|node| node.id).collect();
        if self.record.is_held_by_others_than(&alive) {
            self.record.note(self.nodes[place].id, self.nodes[place].asked);
            self.record.end(&alive, self.asked);
        }
        let (cap, nodes) = (self.cap, self.nodes.len() as u32);
        let node = &mut self.nodes[place];
        self.record.hold(node.id, node.asked, GrantRequest { cap, nodes, wants: node.wants, is_idle });
        node.granted = self.record.granted(node.id);
        node.wants = false;
    }

    fn take(&mut self, step: Step) {
        let count = self.nodes.len();
        match step {
            Step::Asks(place, asks) if count > 0 => drop(self.ask(place % count, asks)),
            Step::Settles(place, is_idle) if count > 0 => self.settle(place % count, is_idle),
            Step::Crashes(place) if count > 0 => drop(self.nodes.remove(place % count)),
            Step::Leaves(place) if count > 0 => {
                let Node { id, asked, .. } = self.nodes.remove(place % count);
                self.record.give_back(id, asked);
            }
            Step::Joins if count < 5 => self.join(),
            Step::Caps(cap) => self.cap = cap,
            _ => {}
        }
    }

    /// Asks left in all batches.
    fn held(&self) -> u32 {
        self.nodes.iter().map(|node| node.granted.saturating_sub(node.asked)).sum()
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..5_usize, 1..40_u32).prop_map(|(place, asks)| Step::Asks(place, asks)),
        8 => (0..5_usize, any::<bool>()).prop_map(|(place, is_idle)| Step::Settles(place, is_idle)),
        1 => (0..5_usize).prop_map(Step::Crashes),
        1 => (0..5_usize).prop_map(Step::Leaves),
        2 => Just(Step::Joins),
    ]
}

proptest! {
    /// For every sequence of asks, settlements, crashes, departures and joins.
    #[test]
    fn all_together_never_ask_more_than_the_cap(
        cap in 0..300_u32,
        nodes in 1..4_u32,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut several = Several::of(cap, nodes);
        for step in steps {
            several.take(step);
            prop_assert!(several.asked + several.held() <= cap, "{} asked, {} held", several.asked, several.held());
        }
    }

    /// A reload may lower a cap below what is granted: then the excess is at most those grants.
    #[test]
    fn a_cap_that_is_lowered_is_exceeded_by_one_batch_of_each_at_most(
        caps in (0..300_u32, 0..300_u32),
        steps in prop::collection::vec(step(), 1..60),
        later in prop::collection::vec(step(), 1..120),
    ) {
        let mut several = Several::of(caps.0, 3);
        steps.into_iter().for_each(|step| several.take(step));
        let most = caps.1.max(several.asked + several.held());
        several.take(Step::Caps(caps.1));
        later.into_iter().for_each(|step| several.take(step));
        prop_assert!(several.asked <= most, "{} asked of {} and of {most}", several.asked, caps.1);
    }

    /// A node that needs the last asks gets them, even those granted to idle nodes.
    #[test]
    fn who_goes_on_asking_asks_all_of_the_cap(
        cap in 0..300_u32,
        nodes in 1..5_u32,
        before in prop::collection::vec((0..5_usize, 1..40_u32), 0..60),
    ) {
        let mut several = Several::of(cap, nodes);
        for (place, asks) in before {
            let place = place % several.nodes.len();
            several.settle(place, false);
            several.ask(place, asks);
        }
        let mut rounds = 0;
        while several.asked < cap {
            several.ask(0, 1_000);
            several.settle(0, false);
            (1..several.nodes.len()).for_each(|place| several.settle(place, true));
            rounds += 1;
            prop_assert!(rounds < 2_000, "{} of {cap} are asked", several.asked);
        }
    }
}

#[test]
fn who_is_alone_holds_all_and_gives_most_of_it_back_when_somebody_joins() {
    let mut several = Several::of(100, 1);
    several.settle(0, false);
    assert_eq!(several.ask(0, 60), 60);
    several.join();
    several.settle(1, false);
    assert_eq!(several.ask(1, 1), 0, "there is nothing to be had yet");
    several.settle(0, false);
    several.settle(1, false);
    let held: Vec<u32> = several.nodes.iter().map(|node| node.granted - node.asked).collect();
    assert_eq!(held, [5, 4]);
}

#[test]
fn what_a_process_had_asked_that_crashed_is_counted_from_the_records_and_what_it_held_is_free_again() {
    let mut several = Several::of(100, 2);
    several.settle(0, false);
    several.settle(1, false);
    assert_eq!(several.ask(1, 7), 7);
    assert_eq!(several.record.asked_by_others(several.nodes[0].id), 0, "it has not said so yet");
    several.take(Step::Crashes(1));
    several.nodes[0].wants = true;
    several.settle(0, false);
    assert_eq!(several.record.asked_by_others(several.nodes[0].id), 7);
    assert_eq!(several.held(), 93);
}

#[test]
fn a_record_is_read_again_when_more_is_needed_and_now_and_then_but_not_each_time_in_vain() {
    let (partner, product_type) = ("p".to_owned(), ProductType::Loan);
    let capped = SeatCap { partner, product_type, period: Period::Day, span: 0..1_000_000 };
    let mut batch = CapBatch::empty(&capped, 0);
    assert!(batch.wish(0, 10, 2).is_some_and(|wish| wish.wants) && batch.is_short());
    let read = CapRead { at: 0, cap: 10, nodes: 2, asked: 0, left: 4 };
    (batch.granted, batch.is_wanted, batch.read) = (4, false, Some(read));
    batch.count(5, 1);
    assert_eq!(batch.wish(5, 10, 2), None);
    assert!(batch.wish(5, 11, 2).is_some() && batch.wish(5, 10, 3).is_some());
    assert!(batch.wish(SOON, 10, 2).is_some(), "others are to know what was asked");
    batch.count(6, 1);
    assert!(batch.is_short() && batch.wish(6, 10, 2).is_some_and(|wish| wish.wants));
    batch.read = Some(CapRead { left: 0, at: 6, asked: 2, ..read });
    assert!(!batch.is_short() && batch.wish(7, 10, 2).is_none());
    assert!(batch.wish(6 + IN_VAIN, 10, 2).is_some());
}
