//! Histogram of a seat's response times, against its timeout.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{self, Chart, ChartError, ink};
use super::prelude::*;
use offerd_engine::matching::ask_statistics::EndedAsk;
use offerd_engine::matching::ask_statistics::survival::EndingKind;
use offerd_engine::matching::late_asks::LateAsk;

const BARS: usize = 44;

/// Resolution, seconds.
const SHORTEST: f64 = 1e-5;

/// Parts of each bar, from below.
const PARTS: [&str; 3] = ["with offers", "without offers", "too late"];

struct LatencyBar {
    from: f64,
    to: f64,
    counts: [usize; PARTS.len()],
}

/// The chart of a seat; `id` names it within its page, and `timeout` is the seat's, in seconds.
pub fn chart(id: String, title: String, asks: &[EndedAsk], late: &[LateAsk], timeout: f64) -> Result<Value> {
    let bars = bars(asks, late, timeout);
    let most = bars.iter().map(|bar| bar.counts.iter().sum::<usize>()).max().unwrap_or(0).max(1);
    let written = figures::seconds(timeout);
    let chart = Chart {
        unit: "asks",
        id,
        title,
        description: format!(
            "Time from ask to answer, on a logarithmic scale; the line is the timeout of {written}."
        ),
        source: "the last asks, kept in memory; all of them are in offerd_partner_answer_seconds and offerd_wire_late_seconds"
            .to_owned(),
        series: PARTS.map(str::to_owned).to_vec(),
        columns: ["From", "To"].into_iter().chain(PARTS).map(str::to_owned).collect(),
        rows: bars.iter().filter(|bar| bar.counts.iter().any(|count| *count > 0)).map(row).collect(),
    };
    let top = (most as f64 * 1.12).max(chart::LEAST_TOP);
    chart.drawn(chart::WIDE, |area| draw(area, &bars, top, timeout))
}

fn draw(area: &chart::Area, bars: &[LatencyBar], top: f64, timeout: f64) -> Result<(), ChartError> {
    let (first, last) = (bars[0].from, bars[bars.len() - 1].to);
    let (names, x) = (["Time to answer", "asks"], (first..last).log_scale());
    let mut axes = chart::axes(area, names, x, 0.0..top, 8, figures::seconds, figures::count)?;
    for bar in bars {
        let mut below = 0.0;
        for (count, color) in bar.counts.iter().zip(ink::SERIES) {
            let above = below + *count as f64;
            // A small gap between two bars.
            let gap = (bar.to / bar.from).powf(0.06);
            let corners = [(bar.from * gap, below), (bar.to / gap, above)];
            if *count > 0 {
                axes.draw_series([Rectangle::new(corners, color.filled())]).map_err(chart::owned)?;
            }
            below = above;
        }
    }
    axes.draw_series([PathElement::new([(timeout, 0.0), (timeout, top)], ink::MARK.stroke_width(2))])
        .map_err(chart::owned)?;
    let style = ("sans-serif", 13).into_font().color(&ink::TEXT).pos(Pos::new(HPos::Right, VPos::Top));
    let label = EmptyElement::at((timeout, top))
        + Text::new(format!("timeout {}", figures::seconds(timeout)), (-6, 2), style);
    axes.draw_series([label]).map_err(chart::owned)?;
    Ok(())
}

fn bars(asks: &[EndedAsk], late: &[LateAsk], timeout: f64) -> Vec<LatencyBar> {
    let in_time = asks.iter().filter_map(|ask| {
        let part = match ask.end {
            Some(EndingKind::Offered) => 0,
            Some(EndingKind::Declined) => 1,
            None => 2,
            Some(EndingKind::Failed | EndingKind::TimedOut) => return None,
        };
        Some((f64::from(ask.elapsed_us) / 1e6, part))
    });
    let came = late.iter().filter(|ask| matches!(ask.end, EndingKind::Offered | EndingKind::Declined));
    let late = came.map(|ask| (f64::from(ask.elapsed_us) / 1e6, 2));
    let asks: Vec<(f64, _)> = in_time.chain(late).map(|(time, part)| (time.max(SHORTEST), part)).collect();
    let shortest = asks.iter().fold(timeout / 100.0, |least: f64, (time, _)| least.min(*time));
    let longest = asks.iter().fold(timeout, |most: f64, (time, _)| most.max(*time));
    // Starts at a power of ten, so that the scale begins with a round figure.
    let first = 10_f64.powf(shortest.log10().floor());
    let last = longest * 1.6;
    let step = (last / first).powf(1.0 / BARS as f64);
    let edge = |nth: usize| first * step.powi(nth as i32);
    let mut bars: Vec<LatencyBar> = (0..BARS)
        .map(|nth| LatencyBar { from: edge(nth), to: edge(nth + 1), counts: [0; PARTS.len()] })
        .collect();
    for (time, part) in asks {
        let nth = ((time / first).ln() / step.ln()) as usize;
        bars[nth.min(BARS - 1)].counts[part] += 1;
    }
    bars
}

fn row(bar: &LatencyBar) -> Vec<String> {
    let times = [bar.from, bar.to].map(figures::seconds);
    times.into_iter().chain(bar.counts.map(|count| count.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(elapsed_us: u32, end: EndingKind) -> EndedAsk {
        EndedAsk { elapsed_us, end: Some(end), test: false }
    }

    #[test]
    fn every_answer_stands_in_one_bar() {
        let times = [0, 9, 10, 999, 1_000, 250_000, 3_999_999, 4_000_000, 9_000_000];
        let mut asks = times.map(|elapsed_us| ask(elapsed_us, EndingKind::Offered)).to_vec();
        asks.push(ask(7, EndingKind::Failed));
        let late = |end| LateAsk { at: 0, test: false, budget_us: 4_000_000, elapsed_us: 20_000_000, end };
        let bars = bars(&asks, &[late(EndingKind::Declined), late(EndingKind::TimedOut)], 4.0);
        assert_eq!(bars.iter().map(|bar| bar.counts[0]).sum::<usize>(), times.len());
        assert_eq!(bars.iter().map(|bar| bar.counts[2]).sum::<usize>(), 1);
        assert!(bars[0].from <= SHORTEST && bars[BARS - 1].to > 20.0);
    }

    #[test]
    fn one_ask_is_counted_in_whole_ticks_each_once() {
        let asks = [ask(250_000, EndingKind::Offered)];
        let drawn = chart("id".to_owned(), "Answers".to_owned(), &asks, &[], 5.0).unwrap().to_string();
        let texts = drawn.split("<text ").skip(1).filter_map(|text| text.split(['>', '<']).nth(1));
        let ticks: Vec<&str> = texts.map(str::trim).filter(|text| text.parse::<f64>().is_ok()).collect();
        assert_eq!(ticks, ["0", "2", "4"], "{drawn}");
    }

    #[test]
    fn a_seat_that_was_never_asked_can_be_drawn() {
        assert!(chart("id".to_owned(), "Answers".to_owned(), &[], &[], 5.0).is_ok());
    }
}
