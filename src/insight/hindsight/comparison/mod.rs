//! Comparison: the outcomes of an experiment's leads, each variant against the control.
//!
//! It reads records rather than report cells, whose sums do not hold the variance between leads. A lead
//! counts under the variant that it drew, with all outcomes up to now. The caller can pause between steps.

mod interval;
mod outcome;
mod reading;

pub use self::outcome::Outcome;
use self::outcome::VariantStatistics;
pub use self::reading::RunningComparison;
use crate::sheet::figures;
use offerd_engine::experiments::CONTROL;
use offerd_model::record;

/// The fewest leads that both variants need for a difference to be declared.
pub const LEAST_LEADS: u64 = 100;

record! {
    plain

    /// The comparison of a rule's variants.
    Comparison {
        /// The rule.
        rule: String,
        /// Whether it compares test leads.
        test: bool,
        /// The control, then the others, under the present defaults; then likewise under earlier ones.
        variants: Vec<VariantFigures>,
        /// Whether later leads were left out because there are more than `experiments.compared_leads`.
        cut: bool,
    }

    /// The outcomes of a variant's leads.
    VariantFigures {
        /// The variant.
        variant: String,
        /// When its last lead came, Unix milliseconds, if the default ranking or settings changed since.
        until?: i64,
        /// Its leads.
        leads: u64,
        /// Its figures, in the order of [`Outcome::ALL`].
        figures: Vec<Figure>,
    }

    /// One figure of a variant.
    Figure {
        /// The outcome.
        of: Outcome,
        /// The total of leads, clicks or dollars.
        total: f64,
        /// The share of leads with this outcome, or the average per lead; none without leads.
        value: Option<f64>,
        /// The difference from the control; none where no interval can be computed.
        difference?: Difference,
    }

    /// A variant's figure minus the control's.
    #[derive(Copy)]
    Difference {
        /// The difference.
        value: f64,
        /// The lower end of its 95 % confidence interval.
        low: f64,
        /// The upper end.
        high: f64,
        /// Whether the interval excludes 0 and both variants have enough leads.
        differs: bool,
        /// The estimated number of further leads that each variant needs; none where it differs already or no
        /// number would do.
        leads_missing?: u64,
    }
}

impl VariantFigures {
    /// The variant for people.
    pub fn written(&self) -> String {
        match self.until {
            Some(until) => format!("{}, until {}", self.variant, figures::minute(until)),
            None => self.variant.clone(),
        }
    }
}

impl Difference {
    /// The difference and its interval, for people.
    pub fn written(&self, of: Outcome) -> String {
        let sign = if self.value > 0.0 { "+" } else { "" };
        let written = |value: f64| match of.is_share() {
            true => format!("{:.2}", value * 100.0),
            false => of.written(value),
        };
        let [value, low, high] = [self.value, self.low, self.high].map(written);
        // In percentage points, not percent of the control's share.
        let unit = if of.is_share() { " points" } else { "" };
        format!("{sign}{value}{unit} ({low} to {high})")
    }

    /// The verdict for people.
    pub fn verdict(&self) -> String {
        match self.leads_missing {
            _ if self.differs => "differs".to_owned(),
            Some(leads) => format!("inconclusive: about {leads} more leads per variant"),
            None => "no difference seen".to_owned(),
        }
    }
}

/// The variants under the same defaults, each with its statistics.
type SameDefaults = Vec<(String, VariantStatistics)>;

/// Compares each variant with the control under the same defaults: the present ones, then `earlier` ones with
/// the time of their last lead.
fn compared(
    rule: &str,
    (test, cut): (bool, bool),
    present: &[(String, VariantStatistics)],
    earlier: &[(i64, SameDefaults)],
) -> Comparison {
    let earlier = earlier.iter().flat_map(|(until, variants)| figures_of(variants, Some(*until)));
    let variants = figures_of(present, None).into_iter().chain(earlier).collect();
    Comparison { rule: rule.to_owned(), test, variants, cut }
}

fn figures_of(variants: &[(String, VariantStatistics)], until: Option<i64>) -> Vec<VariantFigures> {
    let nothing = VariantStatistics::default();
    let control = variants.iter().find(|(name, _)| name == CONTROL).map_or(&nothing, |(_, tally)| tally);
    let figures = |name: &str, tally: &VariantStatistics| -> Vec<Figure> {
        let figure = |of: Outcome| Figure {
            of,
            total: tally.total(of),
            value: tally.value(of),
            difference: (name != CONTROL).then(|| difference(of, tally, control)).flatten(),
        };
        Outcome::ALL.into_iter().map(figure).collect()
    };
    let variants = variants.iter().map(|(name, tally)| {
        let (variant, figures) = (name.clone(), figures(name, tally));
        VariantFigures { variant, until, leads: tally.leads, figures }
    });
    variants.collect()
}

fn difference(of: Outcome, variant: &VariantStatistics, control: &VariantStatistics) -> Option<Difference> {
    let value = variant.value(of)? - control.value(of)?;
    let (low, high) = if of.is_share() {
        interval::of_shares(variant.share(of), control.share(of))?
    } else {
        interval::of_means(variant.moments(of), control.moments(of))?
    };
    let least = variant.leads.min(control.leads);
    let differs = least >= LEAST_LEADS && (low > 0.0 || high < 0.0);
    let leads_missing = (!differs).then(|| missing(value, (low, high), least)).flatten();
    Some(Difference { value, low, high, differs, leads_missing })
}

/// The further leads that each variant needs: intervals shrink with the square root of the number of leads.
fn missing(value: f64, (low, high): (f64, f64), least: u64) -> Option<u64> {
    let towards_none = if value > 0.0 { value - low } else { high - value };
    let wanted = least as f64 * (towards_none / value).powi(2);
    // A greater number would be of no use.
    match wanted.is_finite() && wanted < 1e12 {
        true => Some((wanted.ceil() as u64).max(LEAST_LEADS).max(least + 1) - least),
        false => (least < LEAST_LEADS).then(|| LEAST_LEADS - least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hindsight::comparison::outcome::LeadOutcomes;

    fn tally(leads: u64, funded: u64, dollars: f64) -> VariantStatistics {
        let lead = |nth| LeadOutcomes {
            has_offers: true,
            clicks: 1,
            funded: i64::from(nth < funded),
            cents: if nth < funded { dollars * 100.0 } else { 0.0 },
            ..LeadOutcomes::default()
        };
        (0..leads).map(lead).fold(VariantStatistics::default(), |tally, lead| tally.with(&lead))
    }

    fn funded(comparison: &Comparison) -> Difference {
        let figure = comparison.variants[1].figures.iter().find(|figure| figure.of == Outcome::Funded);
        figure.unwrap().difference.unwrap()
    }

    fn of(control: VariantStatistics, other: VariantStatistics) -> Comparison {
        let variants = vec![(CONTROL.to_owned(), control), ("other".to_owned(), other)];
        compared("rule", (false, false), &variants, &[])
    }

    #[test]
    fn what_differs_is_said_to_only_where_the_interval_leaves_nothing_out() {
        assert!(funded(&of(tally(1000, 100, 50.0), tally(1000, 150, 50.0))).differs);
        let close = funded(&of(tally(1000, 100, 50.0), tally(1000, 110, 50.0)));
        assert!(!close.differs && close.low < 0.0 && close.high > 0.0);
        // With that many more, it does.
        let more = 1000 + close.leads_missing.unwrap();
        let again = of(tally(more, more / 10, 50.0), tally(more, more * 11 / 100, 50.0));
        assert!(funded(&again).differs, "{again:?}");
        let half = 1000 + close.leads_missing.unwrap() / 2;
        assert!(!funded(&of(tally(half, half / 10, 50.0), tally(half, half * 11 / 100, 50.0))).differs);
    }

    #[test]
    fn a_variant_is_held_against_the_control_under_the_same_defaults_only() {
        let half = |control, other| vec![(CONTROL.to_owned(), control), ("other".to_owned(), other)];
        let present = half(tally(1000, 100, 50.0), tally(1000, 100, 50.0));
        let earlier = [(0, half(tally(1000, 300, 50.0), tally(1000, 100, 50.0)))];
        let compared = compared("rule", (false, false), &present, &earlier);
        let funded = |place: usize| {
            let figures = &compared.variants[place].figures;
            let funded = figures.iter().find(|figure| figure.of == Outcome::Funded);
            funded.unwrap().difference.map(|it| it.differs)
        };
        assert_eq!([0, 1, 2, 3].map(funded), [None, Some(false), None, Some(true)]);
        assert_eq!(compared.variants[3].written(), "other, until 1970-01-01 00:00 UTC");
    }

    #[test]
    fn few_leads_say_nothing_and_how_many_are_missing_is_told() {
        let few = funded(&of(tally(40, 0, 50.0), tally(40, 40, 50.0)));
        assert!(few.low > 0.0 && !few.differs);
        assert_eq!(few.leads_missing, Some(LEAST_LEADS - 40));
        let equal = funded(&of(tally(500, 50, 50.0), tally(500, 50, 50.0)));
        assert_eq!((equal.differs, equal.leads_missing), (false, None));
    }

    #[test]
    fn without_leads_or_without_any_variation_there_is_no_interval() {
        let comparison = of(tally(0, 0, 0.0), tally(10, 0, 0.0));
        assert!(comparison.variants[1].figures.iter().all(|figure| figure.difference.is_none()));
        let clicks = of(tally(10, 0, 0.0), tally(10, 0, 0.0)).variants[1].figures[1].difference;
        assert_eq!(clicks, None);
    }
}
