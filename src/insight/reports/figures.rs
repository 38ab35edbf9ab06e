//! The figures of a row: what was counted, and what follows from it.

use serde::{Deserialize, Serialize};

use super::measure::{Measure, Measures};

/// How a figure follows from what was counted.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// It is a count.
    Count(Measure),
    /// It is an amount of dollars.
    Dollars(Measure),
    /// It is payouts by a count, in dollars.
    PayoutsBy(Measure),
}

/// Makes [`Figure`] and [`Figures`] of one list: a figure, its field and what that holds (a count, a count that may be missing, an amount
/// that may be missing), its name in questions and answers, its heading for people, and how it follows from what was counted.
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
        /// What a row can be ordered by, and shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Figure {
            $($(#[$doc])+ $figure,)+
        }

        impl Figure {
            /// Every figure, in the order of a report.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$figure),+];

            /// Its name in questions and answers.
            pub fn name(self) -> &'static str {
                match self { $(Self::$figure => $name,)+ }
            }

            /// Its heading for people.
            pub fn heading(self) -> &'static str {
                match self { $(Self::$figure => $heading,)+ }
            }

            fn of(self) -> Of {
                match self { $(Self::$figure => $of,)+ }
            }
        }

        /// The figures of a row. What is missing was never reported by the partner, or by any; or would be divided by nothing.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct Figures {
            $($(#[$doc])+ pub $field: figures!(@type $told),)+
            /// Rate tables that were made; as the two below, for the funnel alone.
            #[serde(skip)]
            pub rate_tables: i64,
            /// Complete rate tables that show an offer.
            #[serde(skip)]
            pub with_offers: i64,
            /// Seats that suppression lists kept from a rate table.
            #[serde(skip)]
            pub suppressed: i64,
        }

        impl Figures {
            /// What follows from what was counted. `is_reported` says of a measure that partners report whether any of it ever was.
            pub fn of(counted: &Measures, is_reported: impl Fn(Measure) -> bool) -> Self {
                Self {
                    $($field: figures!(@made $told Figure::$figure.value(counted, &is_reported)),)+
                    rate_tables: counted.get(Measure::RateTables),
                    with_offers: counted.get(Measure::WithOffers),
                    suppressed: counted.get(Measure::Suppressed),
                }
            }

            /// One of them; `None` where it is missing.
            pub fn get(&self, figure: Figure) -> Option<f64> {
                match figure { $(Figure::$figure => figures!(@value $told self.$field),)+ }
            }
        }
    };
}

figures! {
    /// Leads that were taken in.
    Leads leads: count, "leads", "Leads", Of::Count(Measure::Leads);
    /// Leads whose first rate table shows no offer.
    WithoutOffers without_offers: count, "withoutOffers", "Without offers", Of::Count(Measure::WithoutOffers);
    /// Asks of partners.
    Asks asks: count, "asks", "Asks", Of::Count(Measure::Asks);
    /// Offers that they answered with.
    Offers offers: count, "offers", "Offers", Of::Count(Measure::Offers);
    /// Offers that were shown.
    Shown shown: count, "shown", "Shown", Of::Count(Measure::Shown);
    /// Clicks on offers.
    Clicks clicks: count, "clicks", "Clicks", Of::Count(Measure::Clicks);
    /// Applications.
    Applied applied: reported, "applied", "Applied", Of::Count(Measure::Applied);
    /// Fundings.
    Funded funded: reported, "funded", "Funded", Of::Count(Measure::Funded);
    /// Fundings that were taken back, which are not among these.
    TakenBack taken_back: reported, "takenBack", "Taken back", Of::Count(Measure::TakenBack);
    /// Payouts less those taken back, in dollars.
    Payouts payouts: amount, "payouts", "Payouts", Of::Dollars(Measure::Payouts);
    /// What was taken back of payouts, in dollars.
    PayoutsTakenBack payouts_taken_back: amount, "payoutsTakenBack", "Payouts taken back", Of::Dollars(Measure::PayoutsTakenBack);
    /// Payouts by clicks, in dollars.
    EarningsPerClick earnings_per_click: amount, "earningsPerClick", "Payout per click", Of::PayoutsBy(Measure::Clicks);
    /// Payouts by leads, in dollars.
    EarningsPerLead earnings_per_lead: amount, "earningsPerLead", "Payout per lead", Of::PayoutsBy(Measure::Leads);
}

impl Figure {
    /// The name of how much more of it there is than before.
    pub fn change(self) -> String {
        format!("{}Change", self.name())
    }

    /// Whether it is an amount of dollars, rather than a count.
    pub fn is_dollars(self) -> bool {
        !matches!(self.of(), Of::Count(_))
    }

    /// Its value in what was counted, for comparing; nothing by nothing is least.
    pub fn weight(self, counted: &Measures) -> f64 {
        match self.of() {
            Of::Count(measure) => counted.get(measure) as f64,
            Of::Dollars(measure) => counted.dollars(measure),
            Of::PayoutsBy(by) if counted.get(by) > 0 => {
                counted.dollars(Measure::Payouts) / counted.get(by) as f64
            }
            Of::PayoutsBy(_) => f64::MIN,
        }
    }

    /// What it goes by: of a quotient payouts.
    fn measure(self) -> Measure {
        match self.of() {
            Of::Count(measure) | Of::Dollars(measure) => measure,
            Of::PayoutsBy(_) => Measure::Payouts,
        }
    }

    fn value(self, counted: &Measures, is_reported: &impl Fn(Measure) -> bool) -> Option<f64> {
        let measure = self.measure();
        let is_told = measure.reported_as().is_none() || counted.get(measure) != 0 || is_reported(measure);
        Some(self.weight(counted)).filter(|weight| is_told && *weight != f64::MIN)
    }
}

impl Figures {
    /// How much more there is of one than before, and by which part of what there was, if there was any.
    pub fn change(&self, before: &Self, figure: Figure) -> Option<(f64, Option<f64>)> {
        let (now, before) = match (self.get(figure), before.get(figure)) {
            (None, None) => return None,
            (now, before) => (now.unwrap_or(0.0), before.unwrap_or(0.0)),
        };
        Some((now - before, (before != 0.0).then(|| (now - before) / before.abs())))
    }

    /// Whether a figure is missing because nobody ever reported it.
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
