//! The shedder with a simulated process in simulated time: a thread with one lead at a time, and a disk.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use uuid::Uuid;

use super::ShedderRules;
use crate::load_shedder::admission_state::AdmissionState;
use crate::load_shedder::queue::Waiter;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// The default processing time of a lead: 5,000 per second.
const WORK: Duration = Duration::from_micros(200);

const RULES: ShedderRules =
    ShedderRules { queueing_target: Duration::from_millis(5), most: 20_000, queue: 512, queue_wait: SECOND };

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client of a company sends a lead, and the next one after the answer.
    Client(u128),
    /// A company sends leads at a fixed rate until a time, whatever the answers.
    Lead {
        company: u128,
        until: Duration,
        every: Duration,
    },
    Acknowledged(usize),
    /// A lead's wait for admission has timed out.
    Waited(usize),
}

struct Lead {
    company: u128,
    closed_loop: bool,
    came: Duration,
    waiter: Option<Waiter>,
    entered: Option<(u64, Duration)>,
    ended: Option<(bool, Duration)>,
}

struct World {
    shedder: AdmissionState<usize>,
    now: Duration,
    /// The processing time of a lead on the thread, and the additional wait of its commit for the disk.
    work: Duration,
    disk: Duration,
    thread_free_at: Duration,
    events: BinaryHeap<Reverse<(Duration, usize, Event)>>,
    leads: Vec<Lead>,
}

impl World {
    fn new(work: Duration, disk: Duration) -> Self {
        Self {
            shedder: AdmissionState::new(RULES),
            now: Duration::ZERO,
            work,
            disk,
            thread_free_at: Duration::ZERO,
            events: BinaryHeap::new(),
            leads: Vec::new(),
        }
    }

    /// Adds clients of a company that each wait for their answer.
    fn closed_loop(&mut self, company: u128, clients: usize) {
        (0..clients).for_each(|_| self.at(self.now, Event::Client(company)));
    }

    /// Adds a stream of leads of a company, at a multiple of the thread's capacity.
    fn open_loop(&mut self, company: u128, times_the_peak: f64, lasting: Duration) {
        let until = self.now + lasting;
        self.at(self.now, Event::Lead { company, until, every: self.work.div_f64(times_the_peak) });
    }

    fn at(&mut self, time: Duration, event: Event) {
        self.events.push(Reverse((time, self.events.len(), event)));
    }

    fn run(&mut self, lasting: Duration) {
        let end = self.now + lasting;
        while let Some(Reverse((time, nth, event))) = self.events.pop() {
            if time > end {
                self.events.push(Reverse((time, nth, event)));
                break;
            }
            self.now = time;
            self.happen(event);
        }
        self.now = end;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Client(company) => self.come(company, true),
            Event::Lead { company, until, every } => {
                self.come(company, false);
                if self.now + every < until {
                    self.at(self.now + every, Event::Lead { company, until, every });
                }
            }
            Event::Acknowledged(lead) => {
                let (entry, since) = self.leads[lead].entered.expect("it was let in");
                self.shedder.acknowledged(entry, (self.now - since).saturating_sub(self.disk));
                self.end(lead, true);
            }
            Event::Waited(lead) => {
                let waiter = self.leads[lead].waiter.expect("it waited");
                if self.shedder.leave(waiter) {
                    self.end(lead, false);
                }
            }
        }
        while let Some((lead, entry)) = self.shedder.next(self.now) {
            self.enter(lead, entry);
        }
    }

    fn come(&mut self, company: u128, closed_loop: bool) {
        let lead = self.leads.len();
        self.leads.push(Lead {
            company,
            closed_loop,
            came: self.now,
            waiter: None,
            entered: None,
            ended: None,
        });
        if let Some(entry) = self.shedder.enter() {
            return self.enter(lead, entry);
        }
        self.leads[lead].waiter = self.shedder.wait(Uuid::from_u128(company), self.now, lead);
        match self.leads[lead].waiter {
            Some(_) => self.at(self.now + RULES.queue_wait, Event::Waited(lead)),
            None => self.end(lead, false),
        }
    }

    fn enter(&mut self, lead: usize, entry: u64) {
        self.leads[lead].entered = Some((entry, self.now));
        self.thread_free_at = self.thread_free_at.max(self.now) + self.work;
        self.at(self.thread_free_at + self.disk, Event::Acknowledged(lead));
    }

    fn end(&mut self, lead: usize, taken: bool) {
        let Lead { closed_loop, company, ended, .. } = &mut self.leads[lead];
        *ended = Some((taken, self.now));
        // A refused client retries after the advised time.
        if *closed_loop {
            let (again, company) = (self.now + if taken { Duration::ZERO } else { SECOND }, *company);
            self.at(again, Event::Client(company));
        }
    }

    /// Accepted leads per second since a time.
    fn goodput(&self, since: Duration) -> f64 {
        let taken = |lead: &&Lead| lead.ended.is_some_and(|(taken, at)| taken && at >= since);
        self.leads.iter().filter(taken).count() as f64 / (self.now - since).as_secs_f64()
    }

    /// The latencies of accepted or refused leads that came after a time, in ascending order.
    fn ended(&self, company: u128, since: Duration, taken: bool) -> Vec<Duration> {
        let leads = self.leads.iter().filter(|lead| lead.company == company && lead.came >= since);
        let ended =
            leads.filter_map(|lead| lead.ended.filter(|end| end.0 == taken).map(|end| end.1 - lead.came));
        let mut ended: Vec<_> = ended.collect();
        ended.sort();
        ended
    }
}

#[test]
fn clients_that_wait_for_their_answers_are_not_refused_and_get_all_that_there_is() {
    for clients in [1, 32, 64, 256, 512] {
        for (work, disk) in [(WORK, MS), (WORK, 100 * MS), (WORK, Duration::ZERO), (MS, 5 * MS)] {
            let mut world = World::new(work, disk);
            world.closed_loop(1, clients);
            world.run(10 * SECOND);
            assert_eq!(
                world.ended(1, Duration::ZERO, false).len(),
                0,
                "{clients} clients, {work:?}, {disk:?}"
            );
            let since = world.now - 5 * SECOND;
            let taken = world.goodput(since);
            let possible = work.as_secs_f64().recip().min(clients as f64 / (work + disk).as_secs_f64());
            assert!(
                taken >= 0.9 * possible,
                "{taken} of {possible} with {clients} clients, {work:?}, {disk:?}"
            );
        }
    }
}

#[test]
fn twice_the_peak_is_half_refused_at_once_and_costs_no_goodput() {
    let mut world = World::new(WORK, MS);
    world.open_loop(1, 2.0, 10 * SECOND);
    world.run(10 * SECOND);
    let (taken, refused) = (world.ended(1, SECOND, true), world.ended(1, SECOND, false));
    let refused_share = refused.len() as f64 / (taken.len() + refused.len()) as f64;
    assert!((0.48..0.52).contains(&refused_share), "{refused_share}");
    assert!(taken.len() as f64 >= 0.97 * 9.0 / WORK.as_secs_f64(), "{} taken in", taken.len());
    assert_eq!(refused.last(), Some(&Duration::ZERO), "none has waited for it");
    let in_line = WORK * (RULES.queue as u32 + 2 * world.shedder.limit() as u32);
    assert!(taken.last().is_some_and(|longest| *longest <= in_line + MS), "{:?}", taken.last());
}

#[test]
fn what_is_in_flight_queues_for_about_the_target_whatever_a_lead_costs() {
    for work in [WORK, WORK / 2, WORK * 4] {
        let mut world = World::new(work, MS);
        world.open_loop(1, 3.0, 10 * SECOND);
        world.run(5 * SECOND);
        for _ in 0..50 {
            world.run(100 * MS);
            let queued = work * world.shedder.in_flight as u32;
            let most = RULES.queueing_target * 3 / 2 + work * crate::load_shedder::limit::LEAST as u32;
            assert!(queued >= RULES.queueing_target / 2 && queued <= most, "{queued:?} at {work:?} each");
        }
    }
}

#[test]
fn it_recovers_within_seconds_from_overload_and_from_a_process_that_was_slow() {
    let mut world = World::new(WORK, MS);
    world.open_loop(1, 3.0, 10 * SECOND);
    world.run(5 * SECOND);
    world.work = WORK * 10;
    world.run(5 * SECOND);
    world.work = WORK;
    world.run(2 * SECOND);
    assert_eq!((world.shedder.waiting(), world.shedder.in_flight), (0, 0));
    let since = world.now;
    world.open_loop(1, 0.9, 5 * SECOND);
    world.run(6 * SECOND);
    assert_eq!(world.ended(1, since, false).len(), 0);
    assert!(world.ended(1, since, true).last().is_some_and(|longest| *longest < 20 * MS));
}

#[test]
fn a_company_that_floods_takes_nothing_from_one_that_does_not() {
    let mut world = World::new(WORK, MS);
    world.open_loop(1, 4.0, 10 * SECOND);
    world.open_loop(2, 0.2, 10 * SECOND);
    world.run(11 * SECOND);
    assert_eq!(world.ended(2, Duration::ZERO, false).len(), 0);
    let waited = world.ended(2, SECOND, true);
    assert!(waited.last().is_some_and(|longest| *longest < 20 * MS), "{:?}", waited.last());
    let all: BTreeMap<u128, usize> =
        [1, 2].map(|company| (company, world.ended(company, Duration::ZERO, true).len())).into();
    assert!(all[&1] >= 30_000, "the other one has the rest: {all:?}");
}

#[test]
fn whoever_is_refused_by_a_slow_process_is_refused_before_it_has_waited_long() {
    // At twenty leads per second, the time bound of the queue is reached before its length bound.
    let mut world = World::new(50 * MS, MS);
    world.open_loop(1, 4.0, 60 * SECOND);
    world.run(61 * SECOND);
    let refused = world.ended(1, 20 * SECOND, false);
    assert_eq!(refused[refused.len() / 2], Duration::ZERO, "most at once");
    assert!(refused.last().is_some_and(|longest| *longest <= RULES.queue_wait));
}
