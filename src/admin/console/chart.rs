//! Charts, rendered on the server as SVG, with a title and a description for screen readers and a table. The
//! fixed colours of the plotting crate ([`ink`]) stand for those of the theme.

use std::borrow::Cow;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::prelude::*;
use super::templates::render;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

type Axes<'a, 'b, X> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, RangedCoordf64>>;
pub(super) type ChartError = Box<dyn std::error::Error + Send + Sync>;
type Drawn = Result<(), ChartError>;

/// Placeholders of the theme's colours: `console.css` recognises them by their last digits.
pub(super) mod ink {
    use plotters::style::RGBColor;

    pub(in crate::console) const SERIES: [RGBColor; 4] =
        [RGBColor(1, 0, 0), RGBColor(2, 0, 0), RGBColor(3, 0, 0), RGBColor(4, 0, 0)];
    pub(in crate::console) const GRID: RGBColor = RGBColor(0, 0, 1);
    pub(in crate::console) const TEXT: RGBColor = RGBColor(0, 0, 2);
    pub(in crate::console) const AXIS: RGBColor = RGBColor(0, 0, 3);
    /// Reference lines, such as a limit.
    pub(in crate::console) const MARK: RGBColor = RGBColor(0, 0, 4);
}

pub(super) const HALF: (u32, u32) = (640, 230);

pub(super) const WIDE: (u32, u32) = (860, 250);

/// Smallest maximum of a count axis; below it the labels would be fractions.
pub(super) const LEAST_TOP: f64 = 4.0;

const BREADTH: u32 = 2;

const DOT: u32 = 3;

/// Dash length of the n-th series: the first is solid, and dashed ones drawn over it leave it visible.
fn dashes(nth: usize) -> Option<i32> {
    [None, Some(12), Some(6), Some(2)].get(nth % 4).copied().flatten()
}

const GAP: i32 = 5;

#[derive(Debug, Default, Serialize)]
pub(super) struct Chart {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) source: String,
    /// Unit of the figures, next to the axis.
    pub(super) unit: &'static str,
    /// Names of the series, in the order of their colours; empty for a single unnamed one.
    pub(super) series: Vec<String>,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Chart {
    pub(super) fn drawn(self, size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> Result<Value> {
        let fields = fields! { drawing => drawing(size, draw)?, width => size.0, height => size.1, ..self };
        render("chart.html", &fields).map(Value::from_safe_string)
    }

    fn with_table(
        mut self,
        axis: &str,
        lines: &[ChartLine],
        places: impl Iterator<Item = usize>,
        label: impl Fn(usize) -> String,
        write: fn(f64) -> String,
    ) -> Self {
        let names = || lines.iter().map(|line| line.name.to_string());
        if lines.len() > 1 {
            self.series = names().collect();
        }
        self.columns = std::iter::once(axis.to_owned()).chain(names()).collect();
        let row = |nth| {
            let value = |line: &ChartLine| known(line.points.get(nth).and_then(|(_, value)| *value), write);
            std::iter::once(label(nth)).chain(lines.iter().map(value)).collect()
        };
        self.rows = places.map(row).collect();
        self
    }
}

fn drawing(size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> Result<Value> {
    let mut svg = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area).and_then(|()| area.present().map_err(ChartError::from))
    };
    drawn.map_err(our_fault("a chart could not be drawn"))?;
    // The template supplies the outer element, with its label.
    let inside = svg.split_once('>').map_or("", |(_, inside)| inside);
    let inside = inside.rsplit_once("</svg>").map_or(inside, |(inside, _)| inside);
    Ok(Value::from_safe_string(inside.to_owned()))
}

pub(super) struct ChartLine {
    pub(super) name: Cow<'static, str>,
    /// Position and value, ordered by position.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

impl ChartLine {
    pub(super) fn of_days(name: impl Into<Cow<'static, str>>, values: impl IntoIterator<Item = f64>) -> Self {
        let points = (0_u32..).map(f64::from).zip(values.into_iter().map(Some));
        Self { name: name.into(), points: points.collect() }
    }
}

const ROWS: usize = 12;

const LABELS: usize = 8;

pub(super) fn lines(chart: Chart, lines: &[ChartLine], write: fn(f64) -> String) -> Result<Value> {
    let values = lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, value)| *value));
    let most = values.fold(0.0, f64::max);
    let top = if most > 0.0 { most * 1.15 } else { 1.0 };
    let places = lines.iter().flat_map(|line| line.points.iter().map(|(place, _)| *place));
    let first = places.fold(-5.0, f64::min);
    let points = lines.first().map_or(&[][..], |line| &line.points);
    let step = points.len().div_ceil(ROWS).max(1);
    let minutes = points.first().map_or(0.0, |(place, _)| place.abs());
    let decimals = if minutes < ROWS as f64 { 1 } else { 0 };
    let label = |nth: usize| format!("{:.decimals$}", points[nth].0.abs());
    let chart = chart.with_table("Minutes ago", lines, (0..points.len()).rev().step_by(step), label, write);
    let names = ["Minutes ago", chart.unit];
    chart.drawn(HALF, |area| {
        let mut axes = axes(area, names, first..0.0, 0.0..top, 6, minutes_ago, write)?;
        strokes(&mut axes, lines, false)
    })
}

/// Draws lines over `days` or months, and tabulates their values, latest first. `chart` has their texts.
pub(super) fn days(
    chart: Chart,
    size: (u32, u32),
    days: &[String],
    lines: &[ChartLine],
    write: fn(f64) -> String,
) -> Result<Value> {
    let values = || lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, value)| *value));
    // Payouts may be negative: reversals can exceed payments.
    let (least, most) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let range = least * 1.15..(most * 1.15).max(LEAST_TOP);
    let last = days.len().saturating_sub(1).max(1) as f64;
    let label = |place: f64| days.get(place.round() as usize).cloned().unwrap_or_default();
    let chart = chart.with_table("Time", lines, (0..days.len()).rev(), |nth| days[nth].clone(), write);
    let names = ["Time", chart.unit];
    chart.drawn(size, |area| {
        let mut axes = axes(area, names, 0.0..last, range, days.len().min(LABELS), label, write)?;
        strokes(&mut axes, lines, true)
    })
}

/// Draws lines. `dotted` marks each point; otherwise only a line of a single point, which would be invisible,
/// becomes a dot. The area below a single line is filled.
fn strokes(axes: &mut Axes<RangedCoordf64>, lines: &[ChartLine], dotted: bool) -> Drawn {
    for ((nth, line), color) in lines.iter().enumerate().zip(ink::SERIES.iter().cycle()) {
        let style = color.stroke_width(BREADTH);
        for piece in line.points.split(|(_, value)| value.is_none()) {
            let piece: Vec<(f64, f64)> = piece.iter().filter_map(|(x, y)| Some((*x, (*y)?))).collect();
            if lines.len() == 1 {
                axes.draw_series(AreaSeries::new(piece.iter().copied(), 0.0, color.mix(0.12)))?;
            }
            let has_dots = dotted || piece.len() == 1;
            let dots = piece.iter().filter(|_| has_dots).map(|at| Circle::new(*at, DOT, color.filled()));
            let dots: Vec<_> = dots.collect();
            match dashes(nth) {
                _ if has_dots && !dotted => {}
                None => drop(axes.draw_series(LineSeries::new(piece, style))?),
                Some(dash) => drop(axes.draw_series(DashedLineSeries::new(piece, dash, GAP, style))?),
            }
            axes.draw_series(dots)?;
        }
    }
    Ok(())
}

fn minutes_ago(place: f64) -> String {
    if place > -0.5 { "now".to_owned() } else { format!("{:.0} min", place.round()).replace('-', "−") }
}

/// Axes with a few grid lines, to draw on.
pub(super) fn axes<'a, 'b, X>(
    area: &'a Area<'b>,
    [x_name, y_name]: [&str; 2],
    x: X,
    y: std::ops::Range<f64>,
    labels: usize,
    write_x: impl Fn(f64) -> String,
    write_y: fn(f64) -> String,
) -> Result<Axes<'a, 'b, X::CoordDescType>, ChartError>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let mut axes = ChartBuilder::on(area)
        .margin_top(10)
        .margin_right(14)
        .x_label_area_size(46)
        .y_label_area_size(76)
        .build_cartesian_2d(x, y)
        .map_err(owned)?;
    axes.configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(ink::GRID)
        .axis_style(ink::AXIS)
        .label_style(("sans-serif", 13).into_font().color(&ink::TEXT))
        .axis_desc_style(("sans-serif", 13).into_font().color(&ink::TEXT))
        .x_desc(x_name)
        .y_desc(y_name)
        .x_labels(labels)
        .y_labels(4)
        .x_label_formatter(&|x| write_x(*x))
        .y_label_formatter(&|y| write_y(*y))
        .draw()
        .map_err(owned)?;
    Ok(axes)
}

pub(super) fn owned(fault: impl std::fmt::Display) -> ChartError {
    fault.to_string().into()
}

/// A sparkline of recent values, as wide as a word and hidden from screen readers.
pub(super) fn sparkline(values: &[Option<f64>]) -> Result<Value> {
    const SIZE: (u32, u32) = (240, 40);
    let most = values.iter().flatten().fold(0.0, |most: f64, value| most.max(*value));
    let top = if most > 0.0 { most * 1.1 } else { 1.0 };
    let last = values.len().saturating_sub(1).max(1) as f64;
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().filter_map(|(nth, value)| Some((nth as f64, (*value)?))).collect();
    let drawing = drawing(SIZE, |area| {
        let mut axes =
            ChartBuilder::on(area).margin_top(3).build_cartesian_2d(0.0..last, 0.0..top).map_err(owned)?;
        let color = ink::SERIES[0];
        axes.draw_series(AreaSeries::new(points.iter().copied(), 0.0, color.mix(0.14))).map_err(owned)?;
        axes.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2))).map_err(owned)?;
        Ok(())
    })?;
    let (width, height) = SIZE;
    render("sparkline.html", &context! { drawing, width, height }).map(Value::from_safe_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_insight::sheet::figures;

    fn chart() -> Chart {
        Chart { id: "leads".to_owned(), title: "Leads <a second>".to_owned(), ..Chart::default() }
    }

    #[test]
    fn a_chart_is_told_in_words_and_figures_too() {
        let points = (0..30).map(|nth| (f64::from(nth) - 29.0, Some(f64::from(nth)))).collect();
        let drawn =
            lines(chart(), &[ChartLine { name: "leads".into(), points }], figures::rate).unwrap().to_string();
        assert!(drawn.contains("role=\"img\"") && drawn.contains("Leads &lt;a second&gt;"), "{drawn}");
        assert!(drawn.contains("<table") && drawn.contains("<td>29.0</td>"), "{drawn}");
        assert!(!drawn.contains("style="), "the policy would refuse that: {drawn}");
    }

    #[test]
    fn a_series_does_not_hide_another_of_the_same_values_and_all_are_as_broad() {
        let line = |name: &'static str| ChartLine {
            name: name.into(),
            points: vec![(-1.0, Some(2.0)), (0.0, Some(2.0))],
        };
        let drawn = lines(chart(), &[line("one"), line("other")], figures::rate).unwrap().to_string();
        let of = |color: &str| drawn.matches(&format!("stroke=\"#{color}\" stroke-width=\"2\"")).count();
        assert_eq!(of("010000"), 1, "drawn through: {drawn}");
        assert!(of("020000") > 3, "dashed: {drawn}");
    }

    #[test]
    fn each_day_is_a_row_of_the_figures_and_no_day_or_one_can_be_drawn() {
        for count in [0, 1, 31] {
            let labels: Vec<String> = (0..count).map(|nth| format!("day {nth}")).collect();
            let line = ChartLine::of_days("Leads", (0..count).map(f64::from));
            let drawn = days(chart(), HALF, &labels, &[line], figures::count).unwrap().to_string();
            assert_eq!(drawn.matches("<td>day ").count(), usize::try_from(count).unwrap(), "{drawn}");
        }
    }

    #[test]
    fn axes_are_named() {
        let chart = Chart { unit: "leads a second", ..chart() };
        let line = ChartLine { name: "one".into(), points: vec![(0.0, Some(1.0))] };
        let drawn = lines(chart, &[line], figures::rate).unwrap().to_string();
        assert!(drawn.contains("Minutes ago") && drawn.contains("leads a second"), "{drawn}");
    }

    #[test]
    fn nothing_can_be_drawn_too() {
        for points in [vec![], vec![(0.0, None)], vec![(-1.0, Some(0.0)), (0.0, None)]] {
            assert!(lines(chart(), &[ChartLine { name: "leads".into(), points }], figures::rate).is_ok());
        }
        assert!(sparkline(&[]).is_ok() && sparkline(&[None, Some(1.0)]).is_ok());
    }
}
