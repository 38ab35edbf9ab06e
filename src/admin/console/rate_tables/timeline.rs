//! The timeline of a rate table, to scale. Each seat has a lane: its time budget, a bar for the time taken,
//! and a label for the outcome. The template draws the computed positions.

use std::cmp::Ordering;

use crate::console::prelude::*;
use offerd_engine::rate_table::reason::Reason;
use offerd_insight::hindsight::explanation::{SeatExplanation, TableExplanation};
use offerd_model::Timestamp;

/// Size and margins of the drawing, in its own units.
const WIDTH: f64 = 1100.0;
const LEFT: f64 = 232.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const LANE: f64 = 32.0;
const BOTTOM: f64 = 30.0;
/// Minimum length of a bar, so that it is visible.
const LEAST_BAR: f64 = 4.0;
/// Approximate width of a character.
const LETTER: f64 = 6.5;
const GAP: f64 = 9.0;
const MOST_TICKS: f64 = 8.0;
const NAME_LETTERS: usize = 30;

/// Minimum length of the axis, milliseconds.
const SHORTEST_MS: f64 = 5.0;

#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
struct LaneSegment {
    x: f64,
    width: f64,
}

/// Maps time to position, in milliseconds since the table's creation.
#[derive(Debug, Clone, Copy)]
struct Scale {
    last_ms: f64,
}

/// Draws a table, as of `now_ms` in Unix milliseconds; `None` if it has no seats.
pub(super) fn timeline(table: &TableExplanation, now_ms: i64) -> Option<Value> {
    let made_at = table.created_at.millis();
    let after = |at: Timestamp| (at.millis() - made_at).max(0) as f64;
    let deadline = after(table.deadline);
    let so_far = ((now_ms - made_at).max(0) as f64).min(deadline);
    let seated = table.seats.iter().filter(|seat| seat.seated);
    let mut seats: Vec<Seated> = seated.map(|seat| (seat, AskInterval::of(seat, &after, so_far))).collect();
    let order = |(seat, span): &Seated| {
        (seat.second_look, span.map_or([f64::MAX; 2], |span| [span.asked, span.ended]))
    };
    seats.sort_by(|one, other| order(one).partial_cmp(&order(other)).unwrap_or(Ordering::Equal));

    let last = seats.iter().filter_map(|(_, span)| *span).map(|span| span.ended).fold(0.0, f64::max);
    // A distant deadline is not drawn; the description states it.
    let near = last * 2.0 >= deadline;
    let end = if near { last.max(deadline) * 1.03 } else { last * 1.08 };
    let scale = Scale { last_ms: end.max(SHORTEST_MS) };
    let second_look = table.second_look_at.map(after);
    let lanes: Vec<Value> =
        seats.iter().zip(0_u16..).map(|((seat, span), nth)| lane(seat, nth, *span, scale)).collect();
    let height = TOP + LANE * lanes.len() as f64 + BOTTOM;
    let drawing = || {
        fields! {
            width => WIDTH, height, left => LEFT, right => WIDTH - RIGHT, top => TOP,
            bottom => height - BOTTOM, ticks => scale.ticks(),
            deadline => near.then(|| scale.mark(deadline, format!("deadline {}", time(deadline)))),
            second_look => second_look.map(|at| scale.mark(at, format!("second look {}", time(at)))),
            description => summary(table, &seats, last, deadline, second_look),
            lanes,
        }
    };
    (!lanes.is_empty()).then(drawing)
}

#[derive(Debug, Clone, Copy)]
struct AskInterval {
    asked: f64,
    budget: Option<f64>,
    ended: f64,
}

type Seated<'t> = (&'t SeatExplanation, Option<AskInterval>);

impl AskInterval {
    fn of(seat: &SeatExplanation, after: &dyn Fn(Timestamp) -> f64, so_far: f64) -> Option<Self> {
        let asked = after(seat.asked_at?);
        let ended = seat.ended_after_ms.map_or(so_far.max(asked), |took| asked + took as f64);
        Some(Self { asked, budget: seat.budget_ms.map(f64::from), ended })
    }
}

fn lane(seat: &SeatExplanation, nth: u16, span: Option<AskInterval>, scale: Scale) -> Value {
    let words = words(seat, span);
    let bar = span.map(|span| scale.stretch(span.asked, span.ended));
    let (words_x, anchor) = place(bar, words.chars().count() as f64 * LETTER);
    fields! {
        y => TOP + LANE * f64::from(nth), name => shortened(&seat.name),
        product => seat.product_type.as_str(), tone => tone(seat.why),
        track => span.and_then(|span| Some(scale.stretch(span.asked, span.asked + span.budget?))),
        bar, words_x, anchor,
        told => format!("{}, {}: {words}", seat.name, seat.product_type),
        words,
    }
}

/// Position of the label, whichever fits first: after the bar (`start`), before (`end`), or on it (`inside`).
fn place(bar: Option<LaneSegment>, length: f64) -> (f64, &'static str) {
    let Some(LaneSegment { x, width }) = bar else { return (LEFT + GAP, "start") };
    if x + width + GAP + length <= WIDTH - RIGHT {
        (rounded(x + width + GAP), "start")
    } else if x - GAP - length >= LEFT {
        (rounded(x - GAP), "end")
    } else {
        (rounded(x + GAP), "inside")
    }
}

impl Scale {
    fn x(self, ms: f64) -> f64 {
        rounded(LEFT + (ms / self.last_ms).clamp(0.0, 1.0) * (WIDTH - RIGHT - LEFT))
    }

    fn mark(self, ms: f64, words: String) -> Value {
        fields! { x => self.x(ms), words }
    }

    fn stretch(self, from_ms: f64, to_ms: f64) -> LaneSegment {
        let x = self.x(from_ms).min(WIDTH - RIGHT - LEAST_BAR);
        LaneSegment { x, width: rounded((self.x(to_ms) - x).max(LEAST_BAR)) }
    }

    /// Round times, as many as fit.
    fn ticks(self) -> Vec<Value> {
        let least = self.last_ms / MOST_TICKS;
        let magnitude = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude).into_iter();
        let step = step.fold(f64::MAX, |best, step| if step >= least { best.min(step) } else { best });
        let count = (self.last_ms / step).floor() as u32;
        (0..=count).map(|nth| self.mark(f64::from(nth) * step, time(f64::from(nth) * step))).collect()
    }
}

fn words(seat: &SeatExplanation, span: Option<AskInterval>) -> String {
    let offers = seat.offers.iter().filter(|offer| offer.uuid.is_some()).count();
    let ended = match seat.why {
        Reason::Offers if offers == 1 => "1 offer".to_owned(),
        Reason::Offers => format!("{offers} offers"),
        Reason::Pending => "no answer yet".to_owned(),
        Reason::Declined => "nothing for this lead".to_owned(),
        Reason::Rejected => match seat.reject_reason {
            Some(reason) => format!("rejected: {reason}"),
            None => "rejected".to_owned(),
        },
        Reason::TimedOut => "timed out".to_owned(),
        Reason::Refused => "error answer".to_owned(),
        Reason::BadAnswer => "unusable answer".to_owned(),
        Reason::Unreachable => "not reached".to_owned(),
        Reason::NotCalled => "not called: breaker open, or at a limit of calls or look-ups".to_owned(),
        why => why.sentence().to_owned(),
    };
    match span {
        Some(span) if seat.why != Reason::Pending => format!("{ended} · {}", time(span.ended - span.asked)),
        _ => ended,
    }
}

fn tone(why: Reason) -> &'static str {
    match why {
        Reason::Offers => "good",
        Reason::Declined | Reason::Rejected => "warn",
        Reason::Pending | Reason::Held | Reason::NotNeeded | Reason::NoSandbox => "idle",
        _ => "bad",
    }
}

fn summary(
    table: &TableExplanation,
    seats: &[Seated],
    last: f64,
    deadline: f64,
    second: Option<f64>,
) -> String {
    let asked = seats.iter().filter(|(seat, _)| seat.why.was_asked()).count();
    let offered = seats.iter().filter(|(seat, _)| seat.why == Reason::Offers).count();
    let ended = if table.pending { "still open after" } else { "complete after" };
    let second = second.map(|at| format!(" Second look began after {}.", time(at))).unwrap_or_default();
    format!(
        "{asked} of {} were asked, {offered} answered with offers; {ended} {}, with a deadline of \
            {}.{second}",
        seats.len(),
        time(last),
        time(deadline)
    )
}

/// Readable milliseconds: `35 ms`, `1.24 s`, `15 s`.
pub(super) fn time(ms: f64) -> String {
    match ms {
        short if short < 1_000.0 => format!("{short:.0} ms"),
        long => {
            let seconds = format!("{:.2}", long / 1_000.0);
            format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_LETTERS {
        return name.to_owned();
    }
    let kept: String = name.chars().take(NAME_LETTERS - 1).collect();
    format!("{}…", kept.trim_end())
}

fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(table: &TableExplanation, now_ms: i64) -> serde_json::Value {
        serde_json::to_value(timeline(table, now_ms).unwrap()).unwrap()
    }

    fn number(of: &serde_json::Value) -> f64 {
        of.as_f64().unwrap()
    }

    fn seat(name: &str, why: Reason, asked: i64, took: Option<u64>, second_look: bool) -> SeatExplanation {
        SeatExplanation {
            partner: name.to_owned(),
            partner_uuid: Uuid::nil(),
            name: name.to_owned(),
            product_type: ProductType::Loan,
            seated: why.was_seated(),
            second_look,
            why,
            about: why.sentence().to_owned(),
            cause: None,
            reject_reason: None,
            asked_at: why.was_asked().then(|| Timestamp::from_millis(1_000 + asked).unwrap()),
            budget_ms: Some(8_000),
            ended_after_ms: took,
            refusals: Vec::new(),
            offers: Vec::new(),
        }
    }

    fn table(seats: Vec<SeatExplanation>, second_look: Option<i64>) -> TableExplanation {
        let at = |millis| Timestamp::from_millis(1_000 + millis).unwrap();
        TableExplanation {
            uuid: Uuid::nil(),
            created_at: at(0),
            deadline: at(15_000),
            second_look_at: second_look.map(at),
            pending: false,
            same_files: true,
            same_lead: true,
            experiments: Vec::new(),
            seats,
        }
    }

    #[test]
    fn bars_stand_in_the_order_in_which_they_were_asked_and_ended_second_look_last() {
        let seats = vec![
            seat("second", Reason::Offers, 900, Some(50), true),
            seat("slow", Reason::Declined, 2, Some(800), false),
            seat("fast", Reason::Offers, 1, Some(20), false),
            seat("not seated", Reason::Paused, 0, None, false),
        ];
        let drawn = drawn(&table(seats, Some(900)), 20_000);
        let lanes = drawn["lanes"].as_array().unwrap();
        let names: Vec<&serde_json::Value> = lanes.iter().map(|lane| &lane["name"]).collect();
        assert_eq!(names, ["fast", "slow", "second"], "who had no place at the table has no lane");
        let [fast, slow, second] = [0, 1, 2].map(|nth| &lanes[nth]["bar"]);
        let end = |bar: &serde_json::Value| number(&bar["x"]) + number(&bar["width"]);
        assert!(end(fast) < end(slow));
        assert_eq!(drawn["second_look"], json!({ "x": second["x"], "words": "second look 900 ms" }));
        assert_eq!(
            drawn.get("deadline"),
            Some(&json!(null)),
            "it is far away, and would press the bars together"
        );
        let description = drawn["description"].as_str().unwrap();
        let wanted =
            "3 of 3 were asked, 2 answered with offers; complete after 950 ms, with a deadline of 15 s";
        assert!(description.contains(wanted), "{description}");
    }

    #[test]
    fn a_deadline_that_is_near_is_drawn_and_nothing_leaves_the_drawing() {
        let seats = vec![
            seat("silent", Reason::TimedOut, 0, Some(14_900), false),
            seat("fast", Reason::Offers, 0, Some(0), false),
        ];
        let drawn = drawn(&table(seats, None), 20_000);
        let (deadline, left, right) =
            (number(&drawn["deadline"]["x"]), number(&drawn["left"]), number(&drawn["right"]));
        assert!(deadline > left && deadline < right);
        let lanes = drawn["lanes"].as_array().unwrap();
        assert_eq!(lanes.len(), 2);
        for stretch in lanes.iter().flat_map(|lane| [&lane["track"], &lane["bar"]]) {
            let (x, width) = (number(&stretch["x"]), number(&stretch["width"]));
            assert!(x >= left && x + width <= right && width >= LEAST_BAR);
        }
        assert_eq!(lanes[1]["anchor"], "inside", "neither behind nor before the bar is room");
        let ticks = drawn["ticks"].as_array().unwrap();
        assert!(ticks.len() <= 9 && ticks[0]["words"] == "0 ms");
    }

    #[test]
    fn an_open_table_is_drawn_up_to_now() {
        let pending = TableExplanation {
            pending: true,
            ..table(vec![seat("late", Reason::Pending, 0, None, false)], None)
        };
        let early = drawn(&pending, 1_000 + 300);
        assert_eq!(early["lanes"][0]["words"], "no answer yet");
        assert!(early["description"].as_str().unwrap().contains("still open after 300 ms"));
    }

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(
            [0.0, 35.4, 999.4, 1_240.0, 15_000.0].map(time),
            ["0 ms", "35 ms", "999 ms", "1.24 s", "15 s"]
        );
    }
}
