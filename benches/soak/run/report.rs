//! The report of a soak, and its bars.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use offerd::model::{EventType, LeadEvent};
use serde_json::Value;

use super::ledger::{Acknowledged, Ledger};
use super::lenders::Reloads;
use super::samples::Samples;

/// The shortest soak whose trends are judged.
const LONG_ENOUGH: Duration = Duration::from_secs(60);

/// The allowed growth of resident memory from the second third to the last, besides the store's index.
const RESIDENT_MORE: f64 = 0.10;

/// The index memory of a lead with its table, offers and events, in bytes.
const RESIDENT_PER_LEAD: u64 = 1024;

/// The allowed growth of descriptors from the second third to the last.
const DESCRIPTORS_MORE: u64 = 32;

/// The allowed growth of disk space per lead from the second third to the last.
const ON_DISK_MORE: f64 = 0.5;

/// The report.
pub struct Report {
    lasting: Duration,
    lines: Vec<String>,
    missed: Vec<String>,
}

impl Report {
    pub fn new(lasting: Duration, load_averages: [String; 2]) -> Self {
        let [before, after] = load_averages;
        let lines =
            vec![format!("{} s, load average {before} before and {after} at the end", lasting.as_secs())];
        Self { lasting, lines, missed: Vec::new() }
    }

    /// Whether every bar is met.
    pub fn is_met(&self) -> bool {
        self.missed.is_empty()
    }

    /// Reports the load.
    pub fn load(&mut self, peak: f64, rate: f64, waited: u64, ledger: &Ledger) {
        self.lines
            .push(format!("peak {peak:.0} deeds a second, load {rate:.0}, {waited} had to wait for others"));
        self.lines
            .push(format!("{:<12}{:>8}{:>10}{:>10}{:>10}", "", "status", "answers", "p50 ms", "p99 ms"));
        for ((deed, status), count) in ledger.answers() {
            let [p50, p99] = [0.5, 0.99].map(|share| ledger.within_ms(deed, share));
            self.lines
                .push(format!("{:<12}{status:>8}{count:>10}{p50:>10.1}{p99:>10.1}", format!("{deed:?}")));
        }
    }

    /// Judges the answers: all expected, with the same refusals in the daemon's counters.
    pub fn answers(&mut self, ledger: &Ledger, metrics: &str) {
        let (count, told) = ledger.all_unexpected();
        self.bar("answers that nobody expected", count == 0, &format!("{count}"), &told);
        let refused = |status: u16| status >= 400;
        let answered: u64 =
            ledger.answers().iter().filter(|((_, status), _)| refused(*status)).map(|(_, count)| count).sum();
        let counted: u64 = metrics.lines().filter_map(refusals).sum();
        let told = format!("{counted} counted by the daemon, {answered} by clients");
        self.bar("refusals", counted == answered, &told, &[]);
    }

    /// Judges whether every acknowledged lead exists.
    pub fn leads(&mut self, acknowledged: usize, lost: Vec<String>) {
        let told = format!("{acknowledged} acknowledged, {} of them lost", lost.len());
        self.bar("leads, each with its complete table", lost.is_empty() && acknowledged > 0, &told, &lost);
    }

    /// Judges memory, descriptors and the growth of the store.
    pub fn samples(&mut self, samples: &Samples) {
        let thirds = samples.thirds();
        self.lines.push(format!(
            "{:<12}{:>10}{:>16}{:>14}{:>14}",
            "median of", "leads", "resident MiB", "descriptors", "store MiB"
        ));
        for (name, third) in ["1st third", "2nd third", "3rd third"].iter().zip(&thirds) {
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            self.lines.push(format!(
                "{name:<12}{:>10}{:>16.1}{:>14}{:>14.1}",
                third.leads,
                mib(third.resident),
                third.descriptors,
                mib(third.on_disk)
            ));
        }
        let [first, second, last] = thirds;
        let grown = last.resident.saturating_sub(second.resident);
        let leads = last.leads - second.leads;
        let per_lead = grown.checked_div(leads).unwrap_or_default();
        let most = second.resident as f64 * RESIDENT_MORE + (leads * RESIDENT_PER_LEAD) as f64;
        let told =
            format!("{} KiB more in the last third, {per_lead} B for each of its {leads} leads", grown >> 10);
        self.long_bar("resident memory", grown as f64 <= most, &told);

        let (before, after) = (second.descriptors, last.descriptors);
        self.long_bar("descriptors", after <= before + DESCRIPTORS_MORE, &format!("{before}, then {after}"));

        let each = |from: u64, to: u64, leads: u64| to.saturating_sub(from) as f64 / leads.max(1) as f64;
        let early = each(first.on_disk, second.on_disk, second.leads - first.leads);
        let late = each(second.on_disk, last.on_disk, leads);
        let told = format!("{early:.0} B a lead, then {late:.0}");
        self.long_bar("growth of the store", late <= early * (1.0 + ON_DISK_MORE), &told);
    }

    /// Judges the log: every error was provoked. A refused reload logs one.
    pub fn log(&mut self, log: &str, reloads: &Reloads) {
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let errors: Vec<Value> = lines.filter(|line| line["level"] == "ERROR").collect();
        let (refused, others): (Vec<&Value>, Vec<&Value>) = errors
            .iter()
            .partition(|line| line["message"].as_str().is_some_and(|text| text.contains("reload")));
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        self.bar(
            "errors in the log",
            others.is_empty(),
            &format!("{} that nothing explains", others.len()),
            &others,
        );
        let Reloads { taken_in, refused: wanted, miscounted } = reloads;
        let is_told = refused.len() as u64 == *wanted && miscounted.is_empty();
        let told = format!("{taken_in} taken in, {wanted} refused and {} told", refused.len());
        self.bar("reloads", is_told && *taken_in > 0, &told, miscounted);
    }

    /// Judges the feed: every lead and click once, with the followed feed as a prefix.
    pub fn feed(&mut self, events: &[LeadEvent], leads: &[Acknowledged], clicks: u64, followed: &[String]) {
        let ids: BTreeSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
        let of = |kind: EventType| events.iter().filter(move |event| event.event_type == kind);
        let created: BTreeSet<String> =
            of(EventType::LeadCreated).map(|event| event.lead_uuid.to_string()).collect();
        let wanted: BTreeSet<String> = leads.iter().map(|known| known.lead.clone()).collect();
        let clicked = of(EventType::OfferClicked).count() as u64;
        let is_whole = ids.len() == events.len()
            && of(EventType::LeadCreated).count() == leads.len()
            && created == wanted
            && clicked == clicks;
        let told = format!("{} events, of them {} leads and {clicked} clicks", events.len(), created.len());
        self.bar("the feed at the end", is_whole, &told, &[]);
        let begins = events.iter().map(|event| &event.id).take(followed.len()).eq(followed);
        self.bar("the feed that was followed", begins, &format!("{} events", followed.len()), &[]);
    }

    fn long_bar(&mut self, name: &str, met: bool, told: &str) {
        if self.lasting >= LONG_ENOUGH {
            self.bar(name, met, told, &[]);
        } else {
            self.lines.push(format!("{name}: {told} (not judged, too short)"));
        }
    }

    fn bar(&mut self, name: &str, met: bool, told: &str, details: &[String]) {
        let judged = if met { "met" } else { "missed" };
        self.lines.push(format!("{name}: {told}: {judged}"));
        if !met {
            self.missed.push(name.to_owned());
            self.lines.extend(details.iter().take(20).map(|detail| format!("    {detail}")));
        }
    }
}

/// The refused requests in a line of the metrics page, if it is of a public listener.
fn refusals(line: &str) -> Option<u64> {
    let (labels, value) = line.strip_prefix("offerd_http_requests_total{")?.split_once("} ")?;
    let status = labels.split("status=\"").nth(1)?.get(..3)?.parse::<u16>().ok()?;
    let is_public = !labels.contains("listener=\"admin\"");
    if is_public && status >= 400 { value.parse().ok() } else { None }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "\n{}", self.lines.join("\n"))?;
        match &self.missed[..] {
            [] => write!(out, "every bar is met"),
            missed => write!(out, "missed: {}", missed.join(", ")),
        }
    }
}
