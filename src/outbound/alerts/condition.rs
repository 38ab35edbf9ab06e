//! Conditions on metrics, and the readings that they are evaluated on.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use offerd_base::config::Settings;
use offerd_base::telemetry::figures::MetricsSnapshot;

pub(super) type Labels = Vec<(String, String)>;

/// A label with its required value, or with `!` and a forbidden value. An empty label matches everything.
type Matcher = (&'static str, &'static str);

/// The most readings kept per series; further ones are thinned out.
const READINGS: usize = 512;

const TREND_OF: usize = 8;

#[derive(Debug)]
pub(super) enum AlertCondition {
    /// The metric's level is beyond a bound.
    Level(&'static str, AlertBound),
    /// The metric grows by more than this rate per second over a span.
    Growth(&'static str, Matcher, Duration, f64),
    /// Over a span, more than one in a hundred observations exceeded a value.
    Slow(&'static str, Duration, f64),
    /// By its trend over a span, the metric falls below `store.reserve_bytes` within another span. The value
    /// is the seconds until then.
    Fills(&'static str, Duration, Duration),
    /// Either of two conditions.
    Either(&'static AlertCondition, &'static AlertCondition),
}

/// What a level is compared with. `config/prometheus/alerts.yml` has it with the defaults of the settings.
#[derive(Debug)]
pub(super) enum AlertBound {
    /// More than this.
    Above(f64),
    /// Further from 0 than this.
    FarFromZero(f64),
    /// This state.
    Is(f64),
    /// At least this, of the series that fit.
    AtLeast(f64, Matcher),
    /// More than a setting.
    AboveSetting(fn(&Settings) -> f64),
    /// A time longer ago than a setting; zero for never.
    Past(fn(&Settings) -> Duration),
    /// A time that is nearer than a setting, or past; zero for never.
    Ahead(fn(&Settings) -> Duration),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct EvaluationInput<'s> {
    pub figures: &'s MetricsSnapshot,
    /// The current time, in Unix milliseconds.
    pub now_ms: i64,
    /// When the daemon started, in Unix milliseconds; counters were 0 then.
    pub begun_ms: i64,
    pub settings: &'s Settings,
}

/// For each set of labels, whether the condition holds (`None` while unknown), and the value.
pub(super) type ConditionResults = BTreeMap<Labels, (Option<bool>, f64)>;

#[derive(Debug, Default)]
pub(super) struct Readings(BTreeMap<Labels, VecDeque<(i64, f64)>>);

impl EvaluationInput<'_> {
    pub(super) fn now_s(&self) -> f64 {
        self.now_ms as f64 / 1000.0
    }
}

impl AlertCondition {
    pub(super) fn look(&self, by: &[&str], seen: &mut Readings, at: &EvaluationInput) -> ConditionResults {
        match self {
            Self::Level(metric, bound) => {
                let mut found = ConditionResults::new();
                for (series, value) in at.figures.each(metric) {
                    let holds = bound.holds(value, series, at);
                    let worst = found.entry(chosen(series, by)).or_insert((Some(holds), value));
                    if holds && (worst.0 != Some(true) || value > worst.1) {
                        *worst = (Some(true), value);
                    }
                }
                found
            }
            Self::Growth(metric, matcher, span, most) => {
                seen.count(metric, *matcher, by, *span, at);
                seen.grown(*span, at, |grown| grown / span.as_secs_f64() > *most)
            }
            Self::Slow(metric, span, most) => seen.slow(metric, *span, *most, at),
            Self::Fills(metric, back, ahead) => seen.fills(metric, *back, *ahead, at),
            Self::Either(one, other) => {
                let mut found = one.look(by, seen, at);
                for (labels, (holds, value)) in other.look(by, &mut Readings::default(), at) {
                    let known = found.entry(labels).or_insert((Some(false), value));
                    if holds == Some(true) {
                        *known = (holds, value);
                    }
                }
                found
            }
        }
    }
}

impl AlertBound {
    fn holds(&self, value: f64, labels: &[(String, String)], at: &EvaluationInput) -> bool {
        match self {
            Self::Above(most) => value > *most,
            Self::FarFromZero(most) => value.abs() > *most,
            Self::Is(state) => (value - state).abs() < 0.5,
            Self::AtLeast(least, matcher) => fits(labels, *matcher) && value >= *least,
            Self::AboveSetting(most) => value > most(at.settings),
            Self::Past(most) => {
                let most = most(at.settings).as_secs_f64();
                most > 0.0 && at.now_s() - value > most
            }
            Self::Ahead(least) => {
                let least = least(at.settings).as_secs_f64();
                least > 0.0 && value - at.now_s() < least
            }
        }
    }
}

fn chosen(labels: &[(String, String)], by: &[&str]) -> Labels {
    let of = |wanted: &&str| labels.iter().find(|(label, _)| label == wanted).cloned();
    // The pool of a partner is called by its key, others have a `/` in their name.
    let of_pool = || of(&"pool").filter(|(_, name)| !name.contains('/')).map(|(_, name)| name);
    let partner = |wanted: &&str| Some(("partner".to_owned(), of_pool().filter(|_| *wanted == "partner")?));
    by.iter().filter_map(|wanted| of(wanted).or_else(|| partner(wanted))).collect()
}

fn fits(labels: &[(String, String)], (label, wanted): Matcher) -> bool {
    let value = labels.iter().find(|(known, _)| known == label).map(|(_, value)| value.as_str());
    match wanted.strip_prefix('!') {
        _ if label.is_empty() => true,
        Some(other) => value != Some(other),
        None => value == Some(wanted),
    }
}

impl Readings {
    fn count(&mut self, metric: &str, matcher: Matcher, by: &[&str], span: Duration, at: &EvaluationInput) {
        let mut sums: BTreeMap<Labels, f64> = BTreeMap::new();
        for (labels, value) in at.figures.each(metric).filter(|(labels, _)| fits(labels, matcher)) {
            *sums.entry(chosen(labels, by)).or_default() += value;
        }
        for (labels, sum) in sums {
            self.add(labels, sum, Some(0.0), span, at);
        }
    }

    fn add(&mut self, labels: Labels, value: f64, first: Option<f64>, span: Duration, at: &EvaluationInput) {
        let readings = self.0.entry(labels).or_default();
        if let (true, Some(first)) = (readings.is_empty(), first) {
            readings.push_back((at.begun_ms, first));
        }
        let gap = span.as_millis() as i64 / READINGS as i64;
        match readings.len() {
            // The newest reading replaces one that followed too closely on its predecessor.
            len if len > 1 && readings[len - 1].0 - readings[len - 2].0 < gap => {
                readings[len - 1] = (at.now_ms, value)
            }
            _ => readings.push_back((at.now_ms, value)),
        }
        let oldest = at.now_ms - span.as_millis() as i64;
        // Keeps one reading from before the span as its start.
        while readings.len() > 2 && readings[1].0 <= oldest {
            readings.pop_front();
        }
    }

    /// The growth of each counter over a span. Too little growth is known only after the whole span.
    fn grown(&self, span: Duration, at: &EvaluationInput, holds: impl Fn(f64) -> bool) -> ConditionResults {
        let told = |(labels, readings): (&Labels, &VecDeque<(i64, f64)>)| {
            let (first, last) = (readings.front()?, readings.back()?);
            let grown = (last.1 - first.1).max(0.0);
            let unless_whole = is_whole(readings, span, at).then_some(false);
            let holds = if holds(grown) { Some(true) } else { unless_whole };
            Some((labels.clone(), (holds, grown)))
        };
        self.0.iter().filter_map(told).collect()
    }

    fn slow(&mut self, metric: &str, span: Duration, most: f64, at: &EvaluationInput) -> ConditionResults {
        let took = at.figures.distribution(metric, &[]);
        let (all, slow) = (took.count(), took.count() - took.within(most));
        let name = |name: &str| vec![("part".to_owned(), name.to_owned())];
        self.add(name("all"), all, Some(0.0), span, at);
        self.add(name("slow"), slow, Some(0.0), span, at);
        let grown = self.grown(span, at, |_| false);
        let of = |part: &str| grown.get(&name(part)).copied().unwrap_or_default();
        let ((unless_whole, all), (_, slow)) = (of("all"), of("slow"));
        let share = if all > 0.0 { slow / all } else { 0.0 };
        let holds = if share > 0.01 { Some(true) } else { unless_whole };
        ConditionResults::from([(Labels::new(), (holds, share))])
    }

    fn fills(&mut self, of: &str, back: Duration, ahead: Duration, at: &EvaluationInput) -> ConditionResults {
        let Some(level) = at.figures.gauge(of) else { return ConditionResults::new() };
        self.add(Labels::new(), level, None, back, at);
        let readings = &self.0[&Labels::new()];
        let Some(slope) = slope(readings) else {
            return ConditionResults::from([(Labels::new(), (None, 0.0))]);
        };
        let left = (level - at.settings.store.reserve_bytes as f64) / -slope;
        let falls = slope < 0.0 && left < ahead.as_secs_f64();
        ConditionResults::from([(Labels::new(), (Some(falls), left))])
    }
}

fn is_whole(readings: &VecDeque<(i64, f64)>, span: Duration, at: &EvaluationInput) -> bool {
    readings.front().is_some_and(|(first, _)| at.now_ms - first >= span.as_millis() as i64)
}

/// The change of a level per second, by least squares; `None` for too few readings.
fn slope(readings: &VecDeque<(i64, f64)>) -> Option<f64> {
    if readings.len() < TREND_OF {
        return None;
    }
    let count = readings.len() as f64;
    let begun = readings.front()?.0;
    let seconds = |at: i64| (at - begun) as f64 / 1000.0;
    let mean_x = readings.iter().map(|(at, _)| seconds(*at)).sum::<f64>() / count;
    let mean_y = readings.iter().map(|(_, value)| value).sum::<f64>() / count;
    let (mut above, mut below) = (0.0, 0.0);
    for (at, value) in readings {
        above += (seconds(*at) - mean_x) * (value - mean_y);
        below += (seconds(*at) - mean_x).powi(2);
    }
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    const SPAN: Duration = Duration::from_secs(300);
    const GROWN: AlertCondition = AlertCondition::Growth("reloads", ("result", "!ok"), SPAN, 0.0);

    fn look(of: &AlertCondition, seen: &mut Readings, at_s: i64, text: &str) -> Vec<(Option<bool>, f64)> {
        static SETTINGS: LazyLock<Settings> = LazyLock::new(|| Settings::from_layers(None, []).unwrap());
        let figures = MetricsSnapshot::parse(text);
        let sight =
            EvaluationInput { figures: &figures, now_ms: at_s * 1000, begun_ms: 0, settings: &SETTINGS };
        of.look(&[], seen, &sight).into_values().collect()
    }

    #[test]
    fn a_level_is_compared_with_its_bound() {
        use AlertBound::{Above, AboveSetting, Ahead, AtLeast, FarFromZero, Is, Past};

        const NEVER: fn(&Settings) -> Duration = |_| Duration::ZERO;
        const MINUTE: fn(&Settings) -> Duration = |_| Duration::from_secs(60);
        // Each with a level that is not beyond it, and one that is, 1000 seconds after the start of the clock.
        for (bound, within, beyond) in [
            (Above(2.0), Some("2"), Some("2.1")),
            (FarFromZero(2.0), Some("-2"), Some("-2.1")),
            (Is(2.0), Some("1"), Some("2")),
            (AtLeast(1.0, ("of", "!minute")), Some("0.9"), Some("1")),
            (AtLeast(1.0, ("of", "!day")), Some("1"), None),
            (AboveSetting(|settings| settings.alerts.leads_missing as f64), Some("20"), Some("21")),
            (Past(MINUTE), Some("940"), Some("939")),
            (Past(NEVER), Some("1"), None),
            (Ahead(MINUTE), Some("1060"), Some("1059")),
            (Ahead(NEVER), Some("1"), None),
        ] {
            let of = AlertCondition::Level("level", bound);
            for (level, wanted) in [(within, false), (beyond, true)] {
                let Some(level) = level else { continue };
                let found =
                    look(&of, &mut Readings::default(), 1000, &format!("level{{of=\"day\"}} {level}\n"));
                assert_eq!(found[0].0, Some(wanted), "{of:?} {level}");
            }
        }
    }

    #[test]
    fn a_breaker_of_a_partner_names_it_and_one_of_another_system_does_not() {
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let by = ["partner", "pool"];
        let of = |pool: &str| chosen(&[label("endpoint", "loan"), label("pool", pool)], &by);
        assert_eq!(of("birch"), [label("partner", "birch"), label("pool", "birch")]);
        assert_eq!(of("postbacks/acme"), [label("pool", "postbacks/acme")]);
    }

    #[test]
    fn what_grew_is_told_at_once_and_that_it_did_not_after_the_whole_span() {
        let mut seen = Readings::default();
        let mut told = |at, refused| {
            look(
                &GROWN,
                &mut seen,
                at,
                &format!("reloads{{result=\"ok\"}} 9\nreloads{{result=\"refused\"}} {refused}\n"),
            )
        };
        assert_eq!(told(10, 0), [(None, 0.0)]);
        assert_eq!(told(20, 1), [(Some(true), 1.0)]);
        assert_eq!(told(310, 1), [(Some(true), 1.0)]);
        assert_eq!(told(330, 1), [(Some(false), 0.0)]);
    }

    #[test]
    fn a_disk_that_fills_is_told_before_it_is_full() {
        let fills = AlertCondition::Fills("free", Duration::from_secs(3600), Duration::from_secs(86_400));
        let mut seen = Readings::default();
        let mut last = Vec::new();
        for minute in 0..20_i64 {
            let free = 20_000_000_000_i64 - minute * 60 * 1_000_000;
            last = look(&fills, &mut seen, minute * 60, &format!("free {free}\n"));
            assert!(minute > 6 || last[0].0.is_none(), "of few readings nothing is told");
        }
        let left = 20_000.0 - 19.0 * 60.0 - f64::from(256 << 20) / 1e6;
        assert_eq!(last[0].0, Some(true), "a megabyte a second is 86 GB a day");
        assert!((last[0].1 - left).abs() < 2.0, "{last:?}");
        let mut seen = Readings::default();
        for minute in 0..20_i64 {
            last = look(&fills, &mut seen, minute * 60, "free 20000000000\n");
        }
        assert_eq!(last[0].0, Some(false));
    }

    #[test]
    fn readings_are_bounded() {
        let grown = AlertCondition::Growth("reloads", ("", ""), Duration::from_secs(6 * 3600), 0.0);
        let mut seen = Readings::default();
        for nth in 0..3000 {
            look(&grown, &mut seen, nth * 10, "reloads{result=\"refused\"} 1\n");
        }
        assert!(seen.0.values().all(|readings| readings.len() <= READINGS + 2));
    }
}
