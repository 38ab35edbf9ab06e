//! Parses the query of a report from URL parameters or a command, and reports all faults at once.

use std::collections::BTreeMap;
use std::fmt::Display;

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};
use chrono_tz::Tz;

use super::dimension::{CellDimensions, Dimension, DimensionSlot};
use super::figures::Figure;
use super::names;
use offerd_base::config::ReportSettings;
use offerd_model::{ProductSubType, ProductType};

const BY_MOST: usize = 2;

const USUAL_DAYS: u64 = 30;

const WEEK_DAYS: i64 = 7;

/// The longest range, in days: a hundred years.
const DAYS_MOST: i64 = 36_525;

/// A range of days, both ends inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayRange {
    /// The first day.
    pub first: NaiveDate,
    /// The last day.
    pub last: NaiveDate,
}

/// The sort order of a report's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortOrder {
    /// The sort column.
    pub by: OrderBy,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// The sort column of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderBy {
    /// A dimension of the report, by its index.
    Dimension(usize),
    /// A figure.
    Figure(Figure),
    /// A figure's change from the previous range.
    Change(Figure),
}

/// An offer that leads can be shown now: its value of each dimension that offers are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfferInForce(pub BTreeMap<DimensionSlot, String>);

impl OfferInForce {
    /// An offer by its keys and types.
    pub fn of(partner: &str, key: &str, product: ProductType, sub_type: Option<ProductSubType>) -> Self {
        let sub_type = sub_type.map_or_else(|| names::named(names::NONE), |sub_type| sub_type.to_string());
        Self(BTreeMap::from([
            (DimensionSlot::PARTNER, partner.to_owned()),
            (DimensionSlot::PRODUCT, product.to_string()),
            (DimensionSlot::SUB_TYPE, sub_type),
            (DimensionSlot::OFFER, names::offer(partner, key)),
        ]))
    }
}

/// The query of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportQuery {
    /// The days.
    pub range: DayRange,
    /// The dimensions that it is grouped by, at most two.
    pub by: Vec<Dimension>,
    /// The filters: a dimension and its value.
    pub filters: Vec<(Dimension, String)>,
    /// The time zone of the days.
    pub zone: Tz,
    /// Counts test leads instead of live ones.
    pub test: bool,
    /// Whether to compare with the previous range.
    pub compare: bool,
    /// The sort order.
    pub order: SortOrder,
    /// The most rows.
    pub limit: usize,
    /// Offers that have a row by offer, also where they were never shown.
    pub in_force: Vec<OfferInForce>,
}

/// The faults of a query: the parameter, and the rule that it breaks.
pub type QueryFaults = Vec<(String, String)>;

/// The names of all parameters.
pub const PARAMETERS: [&str; 9] = ["from", "to", "by", "where", "zone", "leads", "compare", "sort", "limit"];

impl DayRange {
    /// The current ISO week up to `today`, and the whole week before it.
    pub fn weeks(today: NaiveDate) -> Option<[Self; 2]> {
        let this = Self { first: Dimension::Week.period(today), last: today };
        let last = this.first.pred_opt()?;
        Some([this, Self { first: Dimension::Week.period(last), last }])
    }

    /// The number of days.
    pub fn days(self) -> i64 {
        (self.last - self.first).num_days() + 1
    }

    /// The number of months, if it consists of whole ones.
    pub fn whole_months(self) -> Option<u32> {
        let behind = self.last.succ_opt()?;
        if self.first.day() != 1 || behind.day() != 1 {
            return None;
        }
        let months = |day: NaiveDate| day.year() * 12 + day.month0().cast_signed();
        u32::try_from(months(behind) - months(self.first)).ok()
    }

    /// The previous range to compare with: as many months, the same days of the week before, or as many days.
    pub fn before(self) -> Option<Self> {
        if self.first.weekday() == Weekday::Mon && self.days() < WEEK_DAYS {
            let earlier = |day: NaiveDate| day.checked_sub_days(Days::new(WEEK_DAYS.unsigned_abs()));
            return Some(Self { first: earlier(self.first)?, last: earlier(self.last)? });
        }
        let last = self.first.pred_opt()?;
        let first = match self.whole_months() {
            Some(months) => self.first.checked_sub_months(Months::new(months)),
            None => self.first.checked_sub_days(Days::new(self.days().unsigned_abs())),
        };
        Some(Self { first: first?, last })
    }
}

impl ReportQuery {
    /// Parses a query. `today` gives the present day of a time zone; `tags` are the counted tags.
    ///
    /// # Errors
    /// Every fault of the query.
    pub fn read(
        pairs: &[(String, String)],
        rules: &ReportSettings,
        tags: &[String],
        today: impl Fn(Tz) -> NaiveDate,
    ) -> Result<Self, QueryFaults> {
        let mut reading = QueryParser { pairs, faults: Vec::new() };
        reading.refuse_unknown();
        let zone = reading.zone(rules);
        let range = reading.range(today(zone));
        let by = reading.by(tags);
        let filters = reading.filters(tags);
        reading.refuse_many(&by, &filters);
        let query = Self {
            range,
            compare: reading.flag("compare", ["false", "true"]),
            order: reading.order(&by),
            limit: reading.limit(rules.rows),
            test: reading.flag("leads", ["live", "test"]),
            by,
            filters,
            zone,
            in_force: Vec::new(),
        };
        if reading.faults.is_empty() { Ok(query) } else { Err(reading.faults) }
    }

    /// The kind of cells that its rows are summed from; with no dimension `by`, its totals.
    pub fn kind(&self, by: &[Dimension]) -> CellDimensions {
        CellDimensions::of(&slots(by, &self.filters)).unwrap_or(CellDimensions::WHOLE)
    }

    /// The value of the filter on a dimension.
    pub fn only(&self, is_wanted: impl Fn(&Dimension) -> bool) -> Option<&str> {
        self.filters.iter().find(|(dimension, _)| is_wanted(dimension)).map(|(_, value)| value.as_str())
    }

    /// Whether it is grouped by offer.
    pub fn is_by_offer(&self) -> bool {
        self.place(|by| by.slot() == Some(DimensionSlot::OFFER)).is_some()
    }

    /// The values of an offer in force in the dimensions that it is grouped by, if its filters accept it.
    pub fn row_of<'o>(&self, OfferInForce(values): &'o OfferInForce) -> Option<Vec<&'o str>> {
        let value = |by: &Dimension| values.get(&by.slot()?).map(String::as_str);
        let is_wanted = |(by, only): &(Dimension, String)| value(by).is_none_or(|value| value == only);
        let row = || self.by.iter().map(value).collect();
        self.filters.iter().all(is_wanted).then(row)?
    }

    /// The index of a dimension among those it is grouped by.
    pub fn place(&self, is_wanted: impl Fn(&Dimension) -> bool) -> Option<usize> {
        self.by.iter().position(is_wanted)
    }
}

fn slots(by: &[Dimension], filters: &[(Dimension, String)]) -> Vec<DimensionSlot> {
    let named = by.iter().chain(filters.iter().map(|(dimension, _)| dimension));
    let mut slots: Vec<DimensionSlot> = named.filter_map(Dimension::slot).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

struct QueryParser<'a> {
    pairs: &'a [(String, String)],
    faults: QueryFaults,
}

impl QueryParser<'_> {
    fn fault(&mut self, name: &str, wanted: impl Display) {
        self.faults.push((name.to_owned(), wanted.to_string()));
    }

    fn all(&self, name: &str) -> Vec<String> {
        let of_name = self.pairs.iter().filter(|(known, value)| known == name && !value.is_empty());
        of_name.map(|(_, value)| value.clone()).collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        self.all(name).pop()
    }

    fn refuse_unknown(&mut self) {
        for (name, _) in self.pairs.iter().filter(|(name, _)| !PARAMETERS.contains(&name.as_str())) {
            self.faults.push((name.clone(), format!("must be one of {}", PARAMETERS.join(", "))));
        }
    }

    fn zone(&mut self, rules: &ReportSettings) -> Tz {
        let usual = rules.usual_zone();
        let Some(wanted) = self.value("zone") else { return usual };
        if let Some(zone) = rules.zone(&wanted) {
            return zone;
        }
        let names: Vec<&str> = rules.zones.iter().map(|zone| zone.name()).collect();
        let wanted = format!("must be one of {} (`reports.zones`), got `{wanted}`", names.join(", "));
        self.fault("zone", wanted);
        usual
    }

    fn range(&mut self, today: NaiveDate) -> DayRange {
        let last = self.day("to").unwrap_or(today);
        let usual = last.checked_sub_days(Days::new(USUAL_DAYS - 1)).unwrap_or(last);
        let first = self.day("from").unwrap_or(usual);
        let range = DayRange { first, last };
        if first > last {
            self.fault("from", format!("must be at or before `to` ({last}), got {first}"));
        } else if range.days() > DAYS_MOST {
            self.fault("from", format!("must be at most {DAYS_MOST} days before `to` ({last}), got {first}"));
        }
        range
    }

    fn day(&mut self, name: &str) -> Option<NaiveDate> {
        let text = self.value(name)?;
        let day = text.parse::<NaiveDate>().ok().filter(|day| (1..=9999).contains(&day.year()));
        if day.is_none() {
            self.fault(name, format!("must be a day such as 2026-03-31, got `{text}`"));
        }
        day
    }

    fn dimension(&mut self, parameter: &str, name: &str, tags: &[String]) -> Option<Dimension> {
        let found = Dimension::named(name, tags);
        if found.is_none() {
            let names = Dimension::names(tags).join(", ");
            self.fault(parameter, format!("must be of {names}, got `{name}`"));
        }
        found
    }

    fn by(&mut self, tags: &[String]) -> Vec<Dimension> {
        let listed = self.all("by").join(",");
        let listed: Vec<&str> = listed.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let mut by: Vec<Dimension> = Vec::new();
        for name in &listed {
            match self.dimension("by", name, tags) {
                Some(dimension) if by.contains(&dimension) => {
                    self.fault("by", format!("must name a dimension once, got `{name}` twice"));
                }
                Some(dimension) => by.push(dimension),
                None => {}
            }
        }
        if listed.len() > BY_MOST {
            self.fault("by", format!("must name {BY_MOST} dimensions at most, got {}", listed.len()));
        }
        if by.iter().filter(|dimension| dimension.is_time()).count() > 1 {
            self.fault("by", "must name one of day, week and month");
        }
        by
    }

    fn filters(&mut self, tags: &[String]) -> Vec<(Dimension, String)> {
        let mut filters: Vec<(Dimension, String)> = Vec::new();
        for text in &self.all("where") {
            let Some((name, value)) = text.split_once('=') else {
                let wanted = format!("must be a dimension and its value, such as state=CA, got `{text}`");
                self.fault("where", wanted);
                continue;
            };
            let Some(dimension) = self.dimension("where", name.trim(), tags) else { continue };
            if dimension.is_time() {
                self.fault("where", format!("must not be `{dimension}`; `from` and `to` say the days"));
            } else if filters.iter().any(|(known, _)| *known == dimension) {
                self.fault("where", format!("must name one value of `{dimension}`, got several"));
            } else {
                filters.push((dimension, value.trim().to_owned()));
            }
        }
        filters
    }

    /// Cells have at most two dimensions, besides company and time.
    fn refuse_many(&mut self, by: &[Dimension], filters: &[(Dimension, String)]) {
        let slots = slots(by, filters);
        if CellDimensions::of(&slots).is_some_and(|kind| !kind.is_counted()) {
            let others = Dimension::names(&[]).into_iter().filter(|name| {
                Dimension::named(name, &[]).and_then(|by| by.slot()).is_none_or(DimensionSlot::is_of_offers)
            });
            let others: Vec<String> = others.filter(|name| name != "offer").collect();
            self.fault("by", format!("can pair `offer` only with {}", others.join(", ")));
        }
        if slots.len() > 2 {
            let most =
                "must together with `by` name two dimensions at most beside company, day, week and month";
            self.fault("where", format!("{most}, got {}", slots.len()));
        }
    }

    fn order(&mut self, by: &[Dimension]) -> SortOrder {
        let by_time = by.iter().position(Dimension::is_time);
        let is_by_offer = by.iter().any(|by| by.slot() == Some(DimensionSlot::OFFER));
        let usual = match by_time {
            Some(place) => SortOrder { by: OrderBy::Dimension(place), descending: false },
            None if is_by_offer => SortOrder { by: OrderBy::Figure(Figure::Shown), descending: true },
            None => SortOrder { by: OrderBy::Figure(Figure::Leads), descending: true },
        };
        let Some(given) = self.value("sort") else { return usual };
        let (name, descending) = given.strip_prefix('-').map_or((&given[..], false), |name| (name, true));
        let dimension = by.iter().position(|dimension| dimension.to_string() == name).map(OrderBy::Dimension);
        let figure = || Figure::ALL.into_iter().find(|figure| figure.name() == name).map(OrderBy::Figure);
        let change = || Figure::ALL.into_iter().find(|figure| figure.change() == name).map(OrderBy::Change);
        match dimension.or_else(figure).or_else(change) {
            Some(OrderBy::Change(_)) if self.value("compare").as_deref() != Some("true") => {
                self.fault("sort", format!("needs compare=true, which provides `{name}`"));
                usual
            }
            Some(by) => SortOrder { by, descending },
            None => {
                let mut names: Vec<String> = by.iter().map(ToString::to_string).collect();
                names.extend(Figure::ALL.map(|figure| figure.name().to_owned()));
                let orders = format!("{}, with `-` before it for the greatest first", names.join(", "));
                let changes = "with compare=true, `Change` behind a figure";
                self.fault("sort", format!("must be one of {orders} and, {changes}, got `{given}`"));
                usual
            }
        }
    }

    fn limit(&mut self, most: usize) -> usize {
        let Some(given) = self.value("limit") else { return most };
        match given.parse() {
            Ok(limit) if (1..=most).contains(&limit) => limit,
            _ => {
                self.fault("limit", format!("must be 1 to {most} (`reports.rows`), got `{given}`"));
                most
            }
        }
    }

    /// Whether the parameter is the second of these words; the first is the default.
    fn flag(&mut self, name: &str, [off, on]: [&str; 2]) -> bool {
        match self.value(name) {
            Some(given) if given != off && given != on => {
                self.fault(name, format!("must be {off} or {on}, got `{given}`"));
                false
            }
            given => given.as_deref() == Some(on),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::config::Settings;

    fn read(text: &str) -> Result<ReportQuery, QueryFaults> {
        let rules = Settings::from_layers(None, []).unwrap().reports;
        let pairs: Vec<(String, String)> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        let today = |_| NaiveDate::from_ymd_opt(2026, 3, 31).unwrap();
        ReportQuery::read(&pairs, &rules, &rules.tags, today)
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let query = read("from=2026-01-01&to=2026-03-31&by=partner,campaign&where=company%3Dacme&compare=true&sort=-clicks").unwrap();
        assert_eq!(query.range.whole_months(), Some(3));
        let before = query.range.before().unwrap();
        assert_eq!(
            (before.first.to_string(), before.last.to_string()),
            ("2025-10-01".into(), "2025-12-31".into())
        );
        assert_eq!(
            query.kind(&query.by),
            CellDimensions::of(&[DimensionSlot::PARTNER, DimensionSlot::TAG]).unwrap()
        );
        assert_eq!((query.kind(&[]), query.filters.len()), (CellDimensions::WHOLE, 1));
        assert_eq!(query.order, SortOrder { by: OrderBy::Figure(Figure::Clicks), descending: true });
        let usual = read("").unwrap();
        assert_eq!((usual.range.days(), usual.zone, usual.test), (30, Tz::UTC, false));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faults = read("from=tomorrow&by=partner,color,state,day&where=rating&zone=Mars&sort=luck&limit=0&leads=all&colour=1")
            .unwrap_err();
        let names: Vec<&str> = faults.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["colour", "zone", "from", "by", "by", "where", "sort", "limit", "leads"]);
        let told = faults.iter().find(|(name, _)| name == "zone").unwrap();
        assert_eq!(told.1, "must be one of UTC (`reports.zones`), got `Mars`");
    }

    #[test]
    fn two_dimensions_are_the_most_that_filters_and_rows_have_together() {
        assert!(read("by=day,partner&where=state%3DCA&where=company%3Dacme").is_ok());
        let faults = read("by=partner,campaign&where=state%3DCA").unwrap_err();
        assert_eq!((faults.len(), faults[0].0.as_str()), (1, "where"));
        assert!(read("by=offer,partner&where=company%3Dacme").is_ok());
        let faults = read("by=offer,campaign").unwrap_err();
        let told = "can pair `offer` only with day, week, month, company, product, subType, partner";
        assert_eq!(faults, [("by".to_owned(), told.to_owned())]);
        let faults = read("by=day,week").unwrap_err();
        assert_eq!(faults[0].1, "must name one of day, week and month");
    }

    #[test]
    fn a_week_so_far_is_compared_with_the_same_days_of_the_week_before() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let [this, last] = DayRange::weeks(day("2026-11-18")).unwrap();
        assert_eq!((this.first, this.last), (day("2026-11-16"), day("2026-11-18")));
        assert_eq!((last.first, last.last), (day("2026-11-09"), day("2026-11-15")));
        let before = [this, last].map(|range| range.before().unwrap());
        assert_eq!((before[0].first, before[0].last), (day("2026-11-09"), day("2026-11-11")));
        assert_eq!((before[1].first, before[1].last), (day("2026-11-02"), day("2026-11-08")));
    }

    #[test]
    fn rows_are_ordered_by_a_change_only_where_ranges_are_compared() {
        let query = read("by=partner&compare=true&sort=payoutsChange").unwrap();
        assert_eq!(query.order, SortOrder { by: OrderBy::Change(Figure::Payouts), descending: false });
        let faults = read("by=partner&sort=payoutsChange").unwrap_err();
        assert!(faults[0].1.contains("compare=true"), "{faults:?}");
    }
}
