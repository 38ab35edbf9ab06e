//! What each part of a rate table promises, by tables of cases.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::machine::{Effect, Machine, MachineStart, TableEvent};
use super::outcome::{AskFailure, Decision, NoOfferReason, Outcome};
use super::progress::{SeatEvent, TableProgress};
use super::reason::Denied;
use super::record::{
    AnswerRecord, Ask, EventAfterAskKind, LaterDecisions, MAX_OFFERS, NUMBER_BITS, SeatOutcome, TableHead,
};
use super::seating::{Verdict, denied_by_file};
use super::table::Table;
use super::transcript::{CallEnd, CallInitiator, HttpMessage, TranscribedCall, Transcript};
use super::treatment::{Treatment, TreatmentChange, leaving_out, ranking, time_limit};
use crate::partner_files::partner;
use offerd_model::{EventType, MortgageAdjustmentType, MortgageLoanType, ProductType, RejectReason};
use offerd_partners::quote::{CardTerms, LoanTerms, MortgageTerms, SavingsTerms, SpecialTerms};
use offerd_partners::ranking::{ConversionFrom, ObservedClicks, Parts, Ranking, ScoreBreakdown, Weights};
use offerd_partners::{Book, Fingerprint, Quote, QuoteTerms, RecordedSeat, Template};

/// A kind of seat, as the machine tells them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Catalog,
    Remote,
    SecondLook,
}

/// When the table of these tests was made, Unix milliseconds.
const MADE_AT: i64 = 1_000;

fn seats(kinds: &[Kind]) -> Vec<Arc<RecordedSeat>> {
    let files = kinds.iter().enumerate().map(|(nth, kind)| {
        let lender = partner(&format!("lender{nth}"));
        let lender = if *kind == Kind::SecondLook { lender.second_look(1.0, "") } else { lender.loan("") };
        (format!("lender{nth}.toml").into(), lender.text())
    });
    let book = Book::from_texts(files).expect("the partners of a test are good");
    let known = |nth: usize| {
        let key = format!("lender{nth}");
        let seat = book.seats().iter().find(|seat| seat.identity.key == key);
        Arc::clone(&seat.expect("each file has a seat").recorded)
    };
    (0..kinds.len()).map(known).collect()
}

fn head(seats: usize) -> TableHead {
    TableHead {
        uuid: Uuid::from_u128(1),
        lead: Uuid::from_u128(2),
        company: Uuid::from_u128(3),
        test: false,
        loan_amount: None,
        wants_loans: true,
        created_at: MADE_AT,
        deadline: MADE_AT + 15_000,
        seats: vec![Fingerprint([0; 16]); seats],
        book: Fingerprint([0; 16]),
        treatments: Vec::new(),
        not_seated: Vec::new(),
    }
}

/// A table without answers.
pub(super) fn empty(kinds: &[Kind]) -> Table {
    Table::new(Arc::new(head(kinds.len())), seats(kinds))
}

fn quote(score: f64, terms: QuoteTerms) -> Quote {
    let text = Fingerprint([7; 16]);
    Quote { text, score, terms, landing_url: None, expires_at: None, own: None, doubt: None, ranked: None }
}

fn savings(score: f64) -> Quote {
    quote(score, QuoteTerms::Savings(SavingsTerms { rate: 4.0, annual_percent_yield: 4.1 }))
}

fn card(pre_qualified: bool, pre_approved: bool) -> Quote {
    quote(1.0, QuoteTerms::Card(CardTerms { pre_qualified, pre_approved, pre_selected: false }))
}

fn special(score: f64, competes_as: Option<u16>) -> Quote {
    quote(score, QuoteTerms::Special(SpecialTerms { payout: 1.0, competes_as }))
}

fn mortgage() -> Quote {
    let terms = MortgageTerms {
        interest_rate: 6.0,
        loan_type: MortgageLoanType::ThirtyYearFixed,
        price_adjustment: 0.0,
        monthly_payment: 1_000.0,
        net_closing_costs: 0.0,
        apr: 6.1,
        loan_term: 360,
        adjustment_type: MortgageAdjustmentType::Credits,
    };
    quote(1.0, QuoteTerms::Mortgage(terms))
}

fn answer(seat: u16, quotes: Vec<Quote>) -> SeatOutcome {
    SeatOutcome { seat, at: 5, outcome: Outcome::Offers(quotes), cause: None }
}

fn shown_numbers(table: &Table) -> Vec<u16> {
    table.numbers().collect()
}

#[test]
fn an_outcome_tells_whether_the_seat_was_asked_whether_it_failed_and_what_was_decided() {
    use NoOfferReason::{Declined, HeldBack, NoTime, Rejected};
    let cases = [
        (Outcome::Offers(vec![savings(1.0)]), true, false, Some(Decision::Listed)),
        (Outcome::Offers(vec![savings(1.0), card(true, false)]), true, false, Some(Decision::Approved)),
        (Outcome::Offers(vec![card(false, true)]), true, false, Some(Decision::Approved)),
        (Outcome::Offers(vec![card(false, false)]), true, false, Some(Decision::Listed)),
        (Outcome::NoOffers(Declined), true, false, Some(Decision::Rejected)),
        (Outcome::NoOffers(Rejected(RejectReason::LowFico)), true, false, Some(Decision::Rejected)),
        (Outcome::NoOffers(NoTime), false, false, None),
        (Outcome::NoOffers(HeldBack), false, false, None),
        (Outcome::Failed(AskFailure::Answer), true, true, None),
        (Outcome::Failed(AskFailure::Gone), false, true, None),
        (Outcome::TimedOut, true, true, None),
    ];
    for (outcome, was_asked, is_failure, decision) in cases {
        assert_eq!(outcome.was_asked(), was_asked, "{outcome:?}");
        assert_eq!(outcome.is_failure(), is_failure, "{outcome:?}");
        assert_eq!(outcome.decision(), decision, "{outcome:?}");
    }
    assert_eq!(Outcome::Offers(vec![savings(1.0)]).quotes(), [savings(1.0)]);
    assert_eq!(Outcome::TimedOut.quotes(), []);
    assert_eq!(
        Outcome::NoOffers(Rejected(RejectReason::LowFico)).reject_reason(),
        Some(RejectReason::LowFico)
    );
    assert_eq!(Outcome::NoOffers(Declined).reject_reason(), None);
    let events = [Decision::Approved, Decision::Listed, Decision::Rejected].map(Decision::event);
    assert_eq!(events, [Some(EventType::ApiApproved), None, Some(EventType::ApiRejected)]);
}

#[test]
fn a_seat_is_pending_until_it_has_an_outcome() {
    let mut progress = TableProgress::start([(ProductType::Loan, false), (ProductType::Loan, true)], true);
    assert!(progress.is_pending(0) && progress.is_pending(1) && !progress.is_pending(2));
    progress.apply(SeatEvent::Ended { seat: 0, offers: false }).unwrap();
    assert!(!progress.is_pending(0) && progress.is_pending(1));
}

#[test]
fn each_denial_says_what_was_wanted_and_what_was_found() {
    for denied in Denied::ALL {
        let (wanted, found) = denied.wanted_and_found();
        let others = Denied::ALL.iter().filter(|other| *other != denied);
        assert!(
            others.map(|other| other.wanted_and_found()).all(|other| other != (wanted, found)),
            "{denied:?}"
        );
        assert!(!wanted.is_empty() && !found.is_empty(), "{denied:?}");
    }
}

#[test]
fn a_file_denies_a_seat_by_schedule_by_dates_and_by_share() {
    let sunday: DateTime<Utc> = "2026-11-29T12:00:00Z".parse().unwrap();
    let denials = |limits: &str, lead: Option<u128>| -> Vec<Denied> {
        let file = partner("lender").savings(&format!("limits = {{ {limits} }}"));
        let book = Book::from_texts([("lender.toml".into(), file.text())]).unwrap();
        denied_by_file(&book.seats()[0], lead.map(Uuid::from_u128), sunday).collect()
    };
    let weekdays = r#"schedule = [{ days = ["mon..fri"], from = "08:00", to = "20:00" }]"#;
    assert_eq!(denials("per_day = 5", Some(1)), []);
    assert_eq!(denials(weekdays, Some(1)), [Denied::Schedule]);
    assert_eq!(denials("starts_on = 2026-12-01", Some(1)), [Denied::Dates]);
    let of_leads: Vec<Vec<Denied>> = (0..40).map(|lead| denials("share = 0.5", Some(lead))).collect();
    assert!(of_leads.contains(&vec![Denied::Share]) && of_leads.contains(&Vec::new()));
    assert_eq!(denials("share = 0.001", None), []);
}

#[test]
fn the_time_limit_of_a_table_is_from_its_making_to_its_deadline() {
    assert_eq!(head(0).time_limit(), Duration::from_secs(15));
    assert_eq!(TableHead { deadline: MADE_AT - 1, ..head(0) }.time_limit(), Duration::ZERO);
}

/// Expiries, own templates and rankings are stored beside the offers, each equal one once.
#[test]
fn an_answer_is_read_with_all_that_its_offers_had() {
    let ranked = |learnt_at| {
        let weights = Weights { interest: 1.0, conversion: 1.0, payout: 1.0, consumer_rating: 0.0 };
        let by = Arc::new(Ranking { name: "by_value".to_owned(), weights, unrated: 50.0, learnt_at });
        let parts = Parts { interest: 0.5, conversion: 0.1, payout: 30.0, consumer_rating: 0.5 };
        let seen = ObservedClicks { clicks: 20.0, conversions: 2.0 };
        Some(Box::new(ScoreBreakdown { by, parts, from: ConversionFrom::Offer, seen }))
    };
    let own = |words: &str| Some(Arc::new(Template::whole(&[words])));
    let offer = |expires_at, own, ranked| Quote { expires_at, own, ranked, ..savings(1.0) };
    let answers = vec![
        SeatOutcome { seat: 0, at: 5, outcome: Outcome::TimedOut, cause: None },
        answer(
            1,
            vec![savings(1.0), offer(Some(9), own("one"), ranked(7)), offer(Some(-9), own("two"), ranked(8))],
        ),
        answer(2, vec![offer(None, own("one"), ranked(7)), offer(None, own("one"), ranked(7))]),
    ];
    let record =
        AnswerRecord::new(answers.clone(), vec![None, Some(Ask { after_ms: 1, budget_ms: 2 }), None]);
    let stored = postcard::to_stdvec(&record).unwrap();
    let read = postcard::from_bytes::<AnswerRecord>(&stored).unwrap().with_complete_offers();
    let texts: Vec<_> = read.texts.iter().map(|text| (text.answer, text.offers.clone())).collect();
    assert_eq!(texts, [(1, vec![1]), (1, vec![2]), (2, vec![0, 1])]);
    let rankings: Vec<_> = read.rankings.iter().map(|one| (one.by.learnt_at, one.offers.len())).collect();
    assert_eq!(rankings, [(7, 3), (8, 1)]);
    let asked = [None, Some(Ask { after_ms: 1, budget_ms: 2 }), None];
    assert_eq!(read.each().collect::<Vec<_>>(), answers.into_iter().zip(asked).collect::<Vec<_>>());
}

#[test]
fn later_decisions_are_of_the_seats_that_they_name() {
    let made =
        LaterDecisions { second_look_at: Some(7), released: vec![1], skipped: vec![2], held_back: vec![] };
    assert_eq!([0, 1, 2].map(|seat| made.released_at(seat)), [None, Some(7), None]);
    assert_eq!([0, 1, 2].map(|seat| made.is_released(seat)), [false, true, false]);
    assert_eq!([0, 1, 2].map(|seat| made.is_skipped(seat)), [false, false, true]);
    assert_eq!(LaterDecisions { second_look_at: None, ..made }.released_at(1), None);
}

#[test]
fn what_came_after_an_ask_is_a_sentence() {
    assert_eq!(EventAfterAskKind::Offers(3).sentence(), "its answer came too late, with 3 offers");
}

#[test]
fn offers_are_in_the_array_of_their_kind() {
    let mut table = empty(&[Kind::Remote]);
    let loan = quote(1.0, QuoteTerms::Loan(LoanTerms::default()));
    let offers = vec![special(1.0, None), savings(1.0), mortgage(), loan, card(false, false)];
    table.apply(&answer(0, offers.clone())).unwrap();
    let arrays: Vec<_> =
        table.arrays().map(|(name, offers)| (name, offers[0].number, offers.len())).collect();
    let names = ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers"];
    assert_eq!(arrays, (0..5).map(|nth| (names[nth], 5 - nth as u16, 1)).collect::<Vec<_>>());
    assert_eq!((table.answers(), table.offers(), table.seats().len()), (1, 5, 1));
    assert_eq!(shown_numbers(&table), [5, 4, 3, 2, 1]);
    assert_eq!(
        table.shown().map(|(_, quote)| quote).collect::<Vec<_>>(),
        offers.iter().rev().collect::<Vec<_>>()
    );
    let (seat, quote) = table.offer(2).expect("the table has five offers");
    assert_eq!((&*seat.key, quote), ("lender0", &offers[1]));
    assert_eq!(table.offer(6), None);
}

#[test]
fn an_array_is_in_the_order_of_scores_and_equal_ones_in_that_of_arrival() {
    let mut table = empty(&[Kind::Remote, Kind::Remote]);
    table.apply(&answer(1, vec![savings(2.0), savings(1.0), savings(3.0)])).unwrap();
    table.apply(&answer(0, vec![savings(2.0), savings(3.0), savings(4.0)])).unwrap();
    assert_eq!(shown_numbers(&table), [6, 3, 5, 1, 4, 2]);
    assert_eq!(table.answers(), 2);
}

#[test]
fn of_second_look_the_best_special_offer_of_a_sub_type_is_shown_once_all_its_seats_have_ended() {
    let mut table = empty(&[Kind::Remote, Kind::SecondLook, Kind::SecondLook]);
    table.apply(&answer(0, vec![savings(1.0)])).unwrap();
    let first = vec![special(1.0, Some(1)), special(5.0, Some(2)), special(0.5, None)];
    table.apply(&answer(1, first)).unwrap();
    assert_eq!(shown_numbers(&table), [1], "one seat of second look is pending");
    let second = vec![special(3.0, Some(1)), special(5.0, Some(2)), special(0.25, None)];
    table.apply(&answer(2, second)).unwrap();
    assert_eq!(shown_numbers(&table), [1, 3, 5, 4, 7]);
}

/// Numbers are given on arrival, and an offer of second look is placed later.
#[test]
fn an_offer_of_second_look_is_before_an_equal_one_that_came_after_it() {
    let mut table = empty(&[Kind::SecondLook, Kind::SecondLook, Kind::Remote]);
    table.apply(&answer(0, vec![special(5.0, None)])).unwrap();
    table.apply(&answer(2, vec![special(5.0, None)])).unwrap();
    table.apply(&answer(1, Vec::new())).unwrap();
    assert_eq!(shown_numbers(&table), [1, 2]);
}

#[test]
fn offers_beyond_the_numbers_of_a_table_are_cut() {
    let mut table = empty(&[Kind::Remote, Kind::Remote, Kind::Remote]);
    assert_eq!(MAX_OFFERS.ilog2() + 1, NUMBER_BITS, "the last number fits");
    let room = usize::from(MAX_OFFERS);
    let mut fit = vec![answer(0, vec![savings(1.0); room - 95])];
    assert_eq!(table.cut_to_fit(&mut fit), 0);
    table.apply(&fit[0]).unwrap();
    let mut more = vec![answer(1, vec![savings(1.0); 50]), answer(2, vec![savings(1.0); 50])];
    assert_eq!(table.cut_to_fit(&mut more), 5);
    assert_eq!(more.iter().map(|answer| answer.outcome.quotes().len()).collect::<Vec<_>>(), [50, 45]);
    let mut third = vec![answer(1, vec![savings(1.0); 96]), answer(2, vec![savings(1.0); 2])];
    assert_eq!(table.cut_to_fit(&mut third), 3);
}

#[test]
fn a_transcript_is_cut_where_a_message_or_a_call_is_left_out() {
    let cut = HttpMessage { cut: true, ..HttpMessage::default() };
    let call = |sent: HttpMessage, end: CallEnd| TranscribedCall {
        at: 0,
        took_ms: 1,
        by: CallInitiator::Offerd,
        step: None,
        method: "POST".to_owned(),
        url: "https://bank.example/".to_owned(),
        sent,
        end,
    };
    let answered = |came: HttpMessage| CallEnd::Answered { status: 200, came };
    let is_cut = |left_out, calls| Transcript { keep_ms: 0, calls, left_out }.is_cut();
    assert!(!is_cut(0, vec![call(HttpMessage::default(), answered(HttpMessage::default()))]));
    assert!(!is_cut(0, vec![call(HttpMessage::default(), CallEnd::Taken)]));
    assert!(is_cut(1, Vec::new()));
    assert!(is_cut(0, vec![call(cut.clone(), CallEnd::Taken)]));
    assert!(is_cut(0, vec![call(HttpMessage::default(), answered(cut))]));
}

#[test]
fn a_treatment_leaves_out_the_seats_that_it_names() {
    let seats = seats(&[Kind::Remote, Kind::SecondLook]);
    let partners = || vec!["lender0".to_owned()];
    let leaves_out = |change: &TreatmentChange, wants_loans| {
        let treatment =
            [Treatment { rule: "test".to_owned(), variant: "b".to_owned(), changes: vec![change.clone()] }];
        [0, 1].map(|nth| leaving_out(&treatment, &seats[nth], wants_loans).is_some())
    };
    let cases = [
        (TreatmentChange::Deadline { ms: 2_000 }, "the deadline", [false, false], [false, false]),
        (TreatmentChange::OnlyPartners(partners()), "the partners", [false, true], [false, true]),
        (TreatmentChange::WithoutPartners(partners()), "the partners", [true, false], [true, false]),
        (TreatmentChange::SecondLook(true), "second look", [false, false], [false, false]),
        (TreatmentChange::SecondLook(false), "second look", [false, true], [false, false]),
        (TreatmentChange::Ranking("by_value".to_owned()), "the ranking", [false, false], [false, false]),
    ];
    for (change, subject, with_loans, without) in cases {
        assert_eq!(change.subject(), subject);
        assert_eq!(
            (leaves_out(&change, true), leaves_out(&change, false)),
            (with_loans, without),
            "{change}"
        );
    }
}

#[test]
fn treatments_are_named_and_the_first_deadline_and_ranking_hold() {
    let treatment =
        |variant: &str, changes| Treatment { rule: "speed".to_owned(), variant: variant.to_owned(), changes };
    let control = treatment("control", Vec::new());
    let fast = treatment(
        "fast",
        vec![TreatmentChange::Deadline { ms: 2_000 }, TreatmentChange::Ranking("by_value".to_owned())],
    );
    assert_eq!(
        (control.label(), control.about()),
        ("speed/control".to_owned(), "nothing is different".to_owned())
    );
    assert_eq!(fast.about(), "a deadline of 2s; ranked by by_value");
    let slow = treatment("slow", vec![TreatmentChange::Deadline { ms: 9_000 }]);
    let all = [control, fast, slow];
    assert_eq!((time_limit(&all), ranking(&all)), (Some(Duration::from_secs(2)), Some("by_value")));
    assert_eq!((time_limit(&all[..1]), ranking(&all[..1])), (None, None));
}

/// A machine, and the effects that it asks for.
struct Driven(Machine);

impl Driven {
    /// `at_once`: the seats that answer at once. `resumed`: the position of the next record.
    fn new(kinds: &[Kind], at_once: &[usize], decisions: LaterDecisions, resumed: Option<u16>) -> Self {
        let at_once = (0..kinds.len()).map(|seat| at_once.contains(&seat)).collect();
        Self(Machine::new(MachineStart { table: empty(kinds), at_once, decisions, sequence: resumed }))
    }

    fn poll(&mut self) -> Option<Effect> {
        self.0.poll(7)
    }

    fn decline(&mut self, seat: usize) {
        let result = Outcome::NoOffers(NoOfferReason::Declined).into();
        self.0.handle(TableEvent::Ended { seat, result, at: 7 });
    }

    /// Carries out the write that is due, and returns what was written.
    fn write(&mut self) -> super::machine::TableWrite {
        assert_eq!(self.poll(), Some(Effect::Write));
        let write = self.0.in_flight.clone().expect("a write is in flight");
        self.0.handle(TableEvent::Written);
        write
    }
}

#[test]
fn a_seat_that_answered_has_its_outcome_before_it_is_written() {
    let mut driven = Driven::new(&[Kind::Remote], &[], LaterDecisions::default(), None);
    assert_eq!(driven.write().sequence, 0);
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0])));
    assert!(!driven.0.has_outcome(0));
    driven.decline(0);
    assert!(driven.0.has_outcome(0) && !driven.0.is_complete());
}

#[test]
fn only_a_write_of_answers_takes_a_position_of_a_record() {
    let mut driven = Driven::new(&[Kind::Remote, Kind::SecondLook], &[], LaterDecisions::default(), Some(3));
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0])));
    driven.decline(0);
    assert_eq!(driven.poll(), Some(Effect::JudgeHeld(vec![1])));
    driven.0.handle(TableEvent::HeldJudged { at: 7, verdicts: vec![(1, Verdict::Seated)] });
    assert!(!driven.0.has_prompt_answers(), "the seats of second look are not known");
    let write = driven.write();
    assert_eq!((write.sequence, write.decisions.is_some()), (3, true));
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![1])), "a seat is released once that is written");
    assert!(driven.0.has_prompt_answers());
    assert_eq!((driven.0.released_at(0), driven.0.released_at(1)), (None, Some(7)));
    assert_eq!(driven.poll(), Some(Effect::Show));
    driven.0.handle(TableEvent::NoTime { seat: 1, at: 8 });
    let write = driven.write();
    assert_eq!((write.sequence, write.decisions.map(|made| made.skipped)), (4, Some(vec![1])));
    assert_eq!(driven.poll(), Some(Effect::GiveBack(vec![1])));
    assert_eq!(
        [driven.poll(), driven.poll(), driven.poll()],
        [Some(Effect::Show), Some(Effect::Settle), None]
    );
}

#[test]
fn decisions_alone_take_no_position() {
    let mut driven = Driven::new(&[Kind::SecondLook, Kind::SecondLook], &[], LaterDecisions::default(), None);
    assert_eq!(driven.poll(), Some(Effect::JudgeHeld(vec![0, 1])));
    let verdicts = vec![(0, Verdict::Seated), (1, Verdict::Seated)];
    driven.0.handle(TableEvent::HeldJudged { at: 7, verdicts });
    let write = driven.write();
    assert!(write.record.answers.is_empty() && write.decisions.is_some());
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0, 1])));
    driven.decline(0);
    driven.decline(1);
    let write = driven.write();
    assert_eq!((write.sequence, write.decisions), (0, None), "unchanged decisions are not written again");
}

#[test]
fn decisions_made_during_a_write_or_put_off_with_it_are_written_next() {
    let mut driven = Driven::new(&[Kind::Remote; 2], &[], LaterDecisions::default(), Some(1));
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0, 1])));
    // Seats asked before a restart are no decision.
    driven.decline(0);
    assert_eq!(driven.write().decisions, None);

    let mut driven = Driven::new(&[Kind::Remote; 4], &[], LaterDecisions::default(), None);
    driven.write();
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0, 1, 2, 3])));
    driven.0.handle(TableEvent::NoTime { seat: 0, at: 7 });
    assert!(driven.0.has_prompt_answers(), "no seat that answers at once is pending");
    assert_eq!(driven.poll(), Some(Effect::Write));
    driven.0.handle(TableEvent::PutOff);
    driven.0.handle(TableEvent::Retry);
    assert_eq!(driven.poll(), Some(Effect::Write));
    let decisions = driven.0.in_flight.as_ref().and_then(|write| write.decisions.clone());
    assert_eq!(decisions.map(|made| made.skipped), Some(vec![0]));
    driven.0.handle(TableEvent::NoTime { seat: 1, at: 7 });
    driven.0.handle(TableEvent::Written);
    assert_eq!(driven.write().decisions.map(|made| made.skipped), Some(vec![0, 1]));
    driven.decline(2);
    assert_eq!(driven.poll(), Some(Effect::Write));
    driven.0.handle(TableEvent::NoTime { seat: 3, at: 7 });
    driven.0.handle(TableEvent::PutOff);
    driven.0.handle(TableEvent::Retry);
    assert_eq!(driven.write().decisions.map(|made| made.skipped), Some(vec![0, 1, 3]));
    assert!(driven.0.is_complete());
}

#[test]
fn a_seat_asked_before_a_restart_times_out_where_no_time_is_left() {
    let decisions =
        LaterDecisions { second_look_at: Some(9), released: vec![1], ..LaterDecisions::default() };
    let mut driven = Driven::new(&[Kind::Remote, Kind::SecondLook], &[], decisions, Some(1));
    assert_eq!((driven.0.asked_before(0), driven.0.asked_before(1)), (Some(MADE_AT), Some(9)));
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0])));
    driven.0.handle(TableEvent::NoTime { seat: 0, at: 7 });
    let write = driven.write();
    assert_eq!((&write.record.answers[0].outcome, write.decisions), (&Outcome::TimedOut, None));

    let mut driven = Driven::new(&[Kind::Remote], &[], LaterDecisions::default(), None);
    driven.write();
    assert_eq!((driven.0.asked_before(0), driven.poll()), (None, Some(Effect::Ask(vec![0]))));
    driven.0.handle(TableEvent::NoTime { seat: 0, at: 7 });
    assert_eq!(driven.write().record.answers[0].outcome, Outcome::NoOffers(NoOfferReason::NoTime));
}

#[test]
fn limits_have_counted_the_asked_seats_and_the_released_ones() {
    let kinds = [Kind::Catalog, Kind::SecondLook, Kind::Remote, Kind::SecondLook];
    let decisions = LaterDecisions { released: vec![3], ..LaterDecisions::default() };
    let driven = Driven::new(&kinds, &[0], decisions, None);
    assert_eq!(driven.0.counted().collect::<Vec<_>>(), [0, 2, 3]);
}

#[test]
fn an_offer_of_a_loan_ends_second_look_before_it_begins() {
    let mut driven = Driven::new(&[Kind::Remote, Kind::SecondLook], &[], LaterDecisions::default(), Some(1));
    assert!(driven.0.second_look_to_come());
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0])));
    let loan = quote(1.0, QuoteTerms::Loan(LoanTerms::default()));
    driven.0.handle(TableEvent::Ended { seat: 0, result: Outcome::Offers(vec![loan]).into(), at: 7 });
    let write = driven.write();
    let not_needed = Outcome::NoOffers(NoOfferReason::NotNeeded);
    assert_eq!(write.record.answers[1].outcome, not_needed);
    assert!(write.completes && driven.0.is_complete() && !driven.0.second_look_to_come());
}

#[test]
fn prompt_answers_are_those_of_the_seats_that_answer_at_once() {
    let kinds = [Kind::Catalog, Kind::Remote, Kind::SecondLook];
    let mut driven = Driven::new(&kinds, &[0, 2], LaterDecisions::default(), None);
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![0])));
    driven.decline(0);
    assert!(!driven.0.has_prompt_answers(), "they are not written");
    driven.write();
    assert!(driven.0.has_prompt_answers());
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![1])));
    driven.decline(1);
    assert_eq!(driven.poll(), Some(Effect::JudgeHeld(vec![2])));
    driven.0.handle(TableEvent::HeldJudged { at: 7, verdicts: vec![(2, Verdict::Seated)] });
    driven.write();
    assert_eq!(driven.poll(), Some(Effect::Ask(vec![2])));
    assert!(!driven.0.has_prompt_answers(), "the seat of second look answers at once, too");
    driven.decline(2);
    driven.write();
    assert!(driven.0.has_prompt_answers() && driven.0.is_complete());
}
