//! What runs of mappings may cost. Fuel counts instructions, but one of them may visit a whole answer:
//! filters and comparisons pay for the values that they visit, out of what one answer may take in all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use minijinja::value::{Object, Value, ValueKind};
use minijinja::{Environment, Error, State};

use super::mapping_error::own_words;

/// Maximum size of a text made by a mapping, bytes.
pub(super) const TEXT_BYTES: usize = 1024 * 1024;

/// Values that the mappings of one answer may visit.
const STEPS: u64 = 2_000_000;

/// Values that the mappings of one request may visit: a few milliseconds, since they run on the thread that
/// asks.
const STEPS_OF_REQUEST: u64 = 50_000;

/// Bytes of a text that count as one value.
const BYTES_A_STEP: usize = 16;

/// How deep values may nest; an answer nests 127 deep at most.
const DEPTH: usize = 200;

/// The variable that has what is left, which no mapping may name.
const METER: &str = "steps_left";

const TOO_MUCH: &str = "takes too many steps: the mappings of one answer may visit 2000000 values, each as \
    often as it is visited";

pub(super) const TOO_MUCH_OF_REQUEST: &str = "takes too many steps: the mappings of one request may visit 50000 \
    values, each as often as it is visited";

const TOO_LATE: &str = "was stopped at the deadline of the ask";

const TOO_DEEP: &str = "makes a value that nests deeper than 200 lists and tables";

/// The filters that stand before others and pay for them: for the values of a list, and for all within it.
const COUNTED: &str = "counted";
const WEIGHED: &str = "weighed";

/// The filter of what a statement gives a name to: it has a bounded size, however often it is named.
pub(super) const SETTLED: &str = "settled";

/// Filters that cost nothing, or pay by themselves.
#[rustfmt::skip]
const FREE: [&str; 13] = [
    "abs", "as_list", "attr", "bool", "count", "date", "default", "first", "float", "int", "length",
    "read_date", "round",
];

/// Filters that visit the values of a list, and nothing within them.
#[rustfmt::skip]
const OF_LISTS: [&str; 13] = [
    "chain", "items", "last", "list", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr",
    "sum", "zip",
];

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter(COUNTED, |state: &mut State, value: &Value| {
        charge(state, size(value)).map(|()| value.clone())
    });
    for name in [WEIGHED, SETTLED] {
        environment
            .add_filter(name, |state: &mut State, value: &Value| weigh(state, value).map(|_| value.clone()));
    }
}

/// The filter that pays for a filter, if it is not free; `argument` is the first word behind its bracket.
pub(super) fn payer(filter: &str, argument: &str) -> Option<&'static str> {
    match filter {
        _ if FREE.contains(&filter) => None,
        "map" if argument == "attribute" => Some(COUNTED),
        _ => Some(if OF_LISTS.contains(&filter) { COUNTED } else { WEIGHED }),
    }
}

/// What is left for the mappings of one answer or one request.
#[derive(Debug)]
pub(super) struct Meter {
    steps: AtomicU64,
    until: Option<Instant>,
    too_much: &'static str,
}

impl Object for Meter {}

impl Meter {
    pub(super) fn new(until: Option<Instant>) -> Self {
        Self { steps: AtomicU64::new(STEPS), until, too_much: TOO_MUCH }
    }

    fn of_request() -> Self {
        Self { steps: AtomicU64::new(STEPS_OF_REQUEST), until: None, too_much: TOO_MUCH_OF_REQUEST }
    }

    fn charge(&self, steps: u64) -> Result<(), Error> {
        let left = self.steps.load(Ordering::Relaxed).saturating_sub(steps);
        self.steps.store(left, Ordering::Relaxed);
        match self.until {
            _ if left == 0 => Err(own_words(self.too_much)),
            Some(until) if Instant::now() >= until => Err(own_words(TOO_LATE)),
            _ => Ok(()),
        }
    }

    /// Pays for all values within a value, of which it visits no more than it can pay.
    fn weigh(&self, value: &Value) -> Result<usize, Error> {
        let (mut values, mut left) = (self.steps.load(Ordering::Relaxed), TEXT_BYTES);
        let before = values;
        let visited = visit(value, DEPTH, &mut values, &mut left);
        let bytes = TEXT_BYTES - left;
        self.charge(before - values + (bytes / BYTES_A_STEP) as u64)?;
        visited.map(|()| bytes)
    }
}

/// A context with the meter of one request.
pub(super) fn of_request(context: Value) -> Value {
    minijinja::context! { steps_left => Value::from_object(Meter::of_request()), ..context }
}

/// Pays for a run in this context.
pub(super) fn charge_run(context: &Value) -> Result<(), Error> {
    let meter = context.get_attr(METER).ok();
    meter.as_ref().and_then(Value::downcast_object_ref::<Meter>).map_or(Ok(()), |meter| meter.charge(1))
}

/// Pays for all values within a figure of an offer, which may be the whole answer.
pub(super) fn charge_figure(context: &Value, figure: &Value) -> Result<(), Error> {
    let meter = context.get_attr(METER).ok().filter(|_| size(figure) > 0);
    let meter = meter.as_ref().and_then(Value::downcast_object_ref::<Meter>);
    meter.map_or(Ok(()), |meter| meter.weigh(figure).map(drop))
}

/// Pays for so many values.
pub(super) fn charge(state: &mut State, values: usize) -> Result<(), Error> {
    metered(state, |meter| meter.charge(values as u64 + 1))
}

fn metered<T>(state: &mut State, pay: impl FnOnce(&Meter) -> T) -> T {
    match state.lookup(METER).as_ref().and_then(Value::downcast_object_ref::<Meter>) {
        Some(meter) => pay(meter),
        None => pay(state.get_or_insert_extension_with(|| Meter::new(None))),
    }
}

/// The number of values in a list, or what counts as many.
pub(super) fn size(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.len().unwrap_or_default(), |text| text.len() / BYTES_A_STEP)
}

/// Pays for all values within a value. Its bytes and values together are bounded.
pub(super) fn weigh(state: &mut State, value: &Value) -> Result<usize, Error> {
    metered(state, |meter| meter.weigh(value))
}

/// Visits at most so many `values`, and `left` bytes.
fn visit(value: &Value, depth: usize, values: &mut u64, left: &mut usize) -> Result<(), Error> {
    let bytes = value.as_str().map_or(1, |text| text.len().max(1));
    *left = left.checked_sub(bytes).ok_or_else(too_long)?;
    *values = values.checked_sub(1).ok_or_else(too_long)?;
    let inner = match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => value.try_iter(),
        _ => return Ok(()),
    };
    let depth = depth.checked_sub(1).ok_or_else(|| own_words(TOO_DEEP))?;
    for one in inner.into_iter().flatten() {
        visit(&one, depth, values, left)?;
        if value.kind() == ValueKind::Map {
            visit(&value.get_item(&one).unwrap_or_default(), depth, values, left)?;
        }
    }
    Ok(())
}
pub(super) fn too_long() -> Error {
    own_words(format!("makes more than {TEXT_BYTES} bytes"))
}
