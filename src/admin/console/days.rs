//! Lines over days or months.

use std::borrow::Cow;

use minijinja::value::Value;
use plotters::prelude::*;

use super::chart::{BREADTH, Chart, DOT, GAP, LEAST_TOP, axes, dashes, ink, owned};
use crate::sheet::figures::known;
use crate::web::Failure;

/// Labels on the axis of time at most.
const LABELS: usize = 8;

/// A line: its name, and a value for each day or month.
pub(super) struct Plot {
    /// Its name.
    pub(super) name: Cow<'static, str>,
    /// Its values.
    pub(super) values: Vec<f64>,
}

/// Draws lines over `days`, which are written as they are. `chart` has their title; its table is made of their values.
///
/// # Errors
/// Our fault.
pub(super) fn days(
    mut chart: Chart,
    size: (u32, u32),
    days: &[String],
    plots: &[Plot],
    write: fn(f64) -> String,
) -> Result<Value, Failure> {
    if plots.len() > 1 {
        chart.series = plots.iter().map(|plot| plot.name.to_string()).collect();
    }
    chart.columns =
        std::iter::once("Time").chain(plots.iter().map(|plot| &*plot.name)).map(str::to_owned).collect();
    chart.rows = rows(days, plots, write);
    let values = || plots.iter().flat_map(|plot| plot.values.iter().copied());
    // Payouts that were taken back may be more than what was paid.
    let (least, most) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let top = (most * 1.15).max(LEAST_TOP);
    let last = days.len().saturating_sub(1).max(1) as f64;
    let label = |place: &f64| days.get(place.round() as usize).cloned().unwrap_or_default();
    let names = ["Time", chart.unit];
    chart.drawn(size, |area| {
        let range = least * 1.15..top;
        let labels = days.len().min(LABELS);
        let mut axes = axes(area, names, 0.0..last, range, labels, &label, &|value| write(*value))?;
        for ((nth, plot), color) in plots.iter().enumerate().zip(ink::SERIES) {
            let (style, dash) = (color.stroke_width(BREADTH), dashes(nth));
            let points: Vec<(f64, f64)> = (0_u32..).map(f64::from).zip(plot.values.iter().copied()).collect();
            if plots.len() == 1 {
                axes.draw_series(AreaSeries::new(points.iter().copied(), 0.0, color.mix(0.12)))
                    .map_err(owned)?;
            }
            match dash {
                None => {
                    axes.draw_series(LineSeries::new(points.iter().copied(), style)).map_err(owned)?;
                }
                Some(dash) => {
                    let line = DashedLineSeries::new(points.to_vec(), dash, GAP, style);
                    axes.draw_series(line).map_err(owned)?;
                }
            }
            let dots = points.iter().map(|point| Circle::new(*point, DOT, color.filled()));
            axes.draw_series(dots).map_err(owned)?;
        }
        Ok(())
    })
}

/// Latest first.
fn rows(days: &[String], plots: &[Plot], write: fn(f64) -> String) -> Vec<Vec<String>> {
    let row = |(nth, day): (usize, &String)| {
        let value = |plot: &Plot| known(plot.values.get(nth).copied(), write);
        std::iter::once(day.clone()).chain(plots.iter().map(value)).collect()
    };
    days.iter().enumerate().rev().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::console::chart::HALF;
    use crate::sheet::figures;

    #[test]
    fn each_day_is_a_row_of_the_figures_and_no_day_or_one_can_be_drawn() {
        for count in [0, 1, 31] {
            let labels: Vec<String> = (0..count).map(|nth| format!("day {nth}")).collect();
            let plot = Plot { name: "Leads".into(), values: (0..count).map(f64::from).collect() };
            let chart = Chart { id: "leads".into(), ..Chart::default() };
            let drawn = days(chart, HALF, &labels, &[plot], figures::count).unwrap().to_string();
            assert_eq!(drawn.matches("<td>day ").count(), usize::try_from(count).unwrap(), "{drawn}");
        }
    }
}
