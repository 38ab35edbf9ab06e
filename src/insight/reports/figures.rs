//! The figures of a row: counts, amounts and ratios derived from its measures.

use serde::{Deserialize, Serialize};

use super::measure::{Measure, Measures};
use crate::sheet::figures;

/// How a figure is made of the measures; payouts are in dollars.
#[derive(Debug, Clone, Copy)]
enum FigureFormula {
    /// A measure.
    Of(Measure),
    /// A measure divided by a count.
    Per(Measure, Measure),
}

use FigureFormula::{Of, Per};

/// Declares [`Figure`] and [`Figures`] from one list: field and type, name, heading and derivation.
macro_rules! figures {
    (@type count) => { i64 };
    (@type reported) => { Option<i64> };
    (@type amount) => { Option<f64> };
    (@made count $value:expr) => { $value.unwrap_or_default() as i64 };
    (@made reported $value:expr) => { $value.map(|count| count as i64) };
    (@made amount $value:expr) => { $value };
    (@value count $field:expr) => { Some($field as f64) };
    (@value reported $field:expr) => { $field.map(|count| count as f64) };
    (@value amount $field:expr) => { $field };
    ($($(#[$doc:meta])+ $figure:ident $field:ident: $told:ident, $name:literal, $heading:literal, $of:expr;)+) => {
        /// A column of a report, which rows can also be sorted by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Figure {
            $($(#[$doc])+ $figure,)+
        }

        impl Figure {
            /// Every figure, in the order of a report.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$figure),+];

            /// Its name in queries and answers.
            pub fn name(self) -> &'static str {
                match self { $(Self::$figure => $name,)+ }
            }

            /// Its heading for people.
            pub fn heading(self) -> &'static str {
                match self { $(Self::$figure => $heading,)+ }
            }

            fn of(self) -> FigureFormula {
                match self { $(Self::$figure => $of,)+ }
            }
        }

        /// The figures of a row. One that was never reported, or would divide by zero, is missing.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct Figures {
            $($(#[$doc])+ pub $field: figures!(@type $told),)+
            /// Rate tables created; like the next two, only for the funnel.
            #[serde(skip)]
            pub rate_tables: i64,
            /// Complete rate tables with an offer.
            #[serde(skip)]
            pub with_offers: i64,
            /// Seats left out of rate tables by suppression lists.
            #[serde(skip)]
            pub suppressed: i64,
        }

        impl Figures {
            /// Derives the figures; `is_reported` states whether a partner ever reported a measure.
            pub fn of(counted: &Measures, is_reported: impl Fn(Measure) -> bool) -> Self {
                Self {
                    $($field: figures!(@made $told Figure::$figure.value(counted, &is_reported)),)+
                    rate_tables: counted.get(Measure::RateTables),
                    with_offers: counted.get(Measure::WithOffers),
                    suppressed: counted.get(Measure::Suppressed),
                }
            }

            /// One figure; `None` if it is missing.
            pub fn get(&self, figure: Figure) -> Option<f64> {
                match figure { $(Figure::$figure => figures!(@value $told self.$field),)+ }
            }
        }
    };
}

figures! {
    /// Leads accepted.
    Leads leads: count, "leads", "Leads", Of(Measure::Leads);
    /// Leads whose first rate table has no offer.
    WithoutOffers without_offers: count, "withoutOffers", "Without offers", Of(Measure::WithoutOffers);
    /// Asks of partners.
    Asks asks: count, "asks", "Asks", Of(Measure::Asks);
    /// Offers that partners answered with.
    Offers offers: count, "offers", "Offers", Of(Measure::Offers);
    /// Offers shown.
    Shown shown: count, "shown", "Shown", Of(Measure::Shown);
    /// Clicks on offers.
    Clicks clicks: count, "clicks", "Clicks", Of(Measure::Clicks);
    /// Applications.
    Applied applied: reported, "applied", "Applied", Of(Measure::Applied);
    /// Fundings.
    Funded funded: reported, "funded", "Funded", Of(Measure::Funded);
    /// Fundings that were reversed; not included in `Funded`.
    TakenBack taken_back: reported, "takenBack", "Reversed fundings", Of(Measure::TakenBack);
    /// Payouts net of reversals, in dollars.
    Payouts payouts: amount, "payouts", "Payouts", Of(Measure::Payouts);
    /// Reversed payouts, in dollars.
    PayoutsTakenBack payouts_taken_back: amount, "payoutsTakenBack", "Reversed payouts", Of(Measure::PayoutsTakenBack);
    /// Payouts per click, in dollars.
    EarningsPerClick earnings_per_click: amount, "earningsPerClick", "Earnings per click", Per(Measure::Payouts, Measure::Clicks);
    /// Payouts per lead, in dollars.
    EarningsPerLead earnings_per_lead: amount, "earningsPerLead", "Earnings per lead", Per(Measure::Payouts, Measure::Leads);
    /// Average position of the offers shown.
    Position position: amount, "position", "Position", Per(Measure::Positions, Measure::Shown);
}

impl Figure {
    /// The name of the column with its change from the previous range.
    pub fn change(self) -> String {
        format!("{}Change", self.name())
    }

    /// Whether it is an amount in dollars rather than a count.
    pub fn is_dollars(self) -> bool {
        self.measure().is_dollars()
    }

    /// Whether offers are counted in it.
    pub fn is_of_offers(self) -> bool {
        !matches!(self, Self::Leads | Self::WithoutOffers | Self::Asks | Self::EarningsPerLead)
    }

    /// Whether it is whole in every row.
    pub fn is_count(self) -> bool {
        !self.is_dollars() && self != Self::Position
    }

    /// How people read its values.
    pub fn writing(self) -> fn(f64) -> String {
        match self {
            Self::Position => figures::rate,
            dollars if dollars.is_dollars() => figures::dollars,
            _ => figures::count,
        }
    }

    /// Whether the figures of rows add up to that of all, so that one is a share of it.
    pub fn adds_up(self) -> bool {
        matches!(self.of(), Of(_))
    }

    /// Its value for sorting; a ratio without a denominator sorts lowest.
    pub fn weight(self, counted: &Measures) -> f64 {
        match self.of() {
            Of(measure) => counted.amount(measure),
            // Positions are not counted in every dimension.
            Per(Measure::Positions, _) if counted.get(Measure::Positions) == 0 => f64::MIN,
            Per(measure, by) if counted.get(by) > 0 => counted.amount(measure) / counted.get(by) as f64,
            Per(..) => f64::MIN,
        }
    }

    /// The measure it derives from; for a ratio the one that is divided.
    fn measure(self) -> Measure {
        let (Of(measure) | Per(measure, _)) = self.of();
        measure
    }

    fn value(self, counted: &Measures, is_reported: &impl Fn(Measure) -> bool) -> Option<f64> {
        let measure = self.measure();
        let is_told = measure.reported_as().is_none() || counted.get(measure) != 0 || is_reported(measure);
        Some(self.weight(counted)).filter(|weight| is_told && *weight != f64::MIN)
    }
}

impl Figures {
    /// The change of a figure from the previous range, absolute and, if there was any before, relative.
    pub fn change(&self, before: &Self, figure: Figure) -> Option<(f64, Option<f64>)> {
        let (now, before) = match (self.get(figure), before.get(figure)) {
            (None, None) => return None,
            (now, before) => (now.unwrap_or(0.0), before.unwrap_or(0.0)),
        };
        Some((now - before, (before != 0.0).then(|| (now - before) / before.abs())))
    }

    /// Whether a figure is missing because it was never reported.
    pub fn is_unreported(&self, figure: Figure) -> bool {
        match figure.measure().reported_as() {
            None => false,
            Some(Measure::Applied) => self.applied.is_none(),
            Some(Measure::Funded) => self.funded.is_none(),
            Some(_) => self.payouts.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_reported_is_missing_and_nothing_is_divided_by_nothing() {
        let mut counted = Measures::of(Measure::Leads, 4);
        counted.add(&Measures::of_payout(250.5));
        let figures = Figures::of(&counted, |_| false);
        assert_eq!((figures.applied, figures.payouts), (None, Some(2.505)));
        assert_eq!((figures.earnings_per_lead, figures.earnings_per_click), (Some(0.62625), None));
        let before = Figures { leads: 5, payouts: None, ..figures };
        assert_eq!(figures.change(&before, Figure::Leads), Some((-1.0, Some(-0.2))));
        assert_eq!(figures.change(&before, Figure::Payouts), Some((2.505, None)));
        assert_eq!(figures.change(&before, Figure::Applied), None);
        let figures = Figures::of(&Measures::default(), |measure| measure == Measure::Funded);
        assert_eq!((figures.applied, figures.funded), (None, Some(0)));
        assert!(figures.is_unreported(Figure::EarningsPerLead) && !figures.is_unreported(Figure::Clicks));
    }
}
