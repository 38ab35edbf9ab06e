//! Cars by model year, make, model and trim, for forms that ask which car a loan is for.
//!
//! The list is the operator's file (`reference.vehicles`), or else `vehicles.csv` beside this file: a
//! hand-made sample of common cars, neither complete nor exact to the year.
//!
//! A file is CSV. Its first line names the columns: `years` (a model year, or several as `2018-2024`),
//! `make`, `model`, `trim`, and optionally `uuid` and `ucgVehicleId`; a row with an id covers one year.
//! Otherwise both ids derive from year, make, model and trim.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use uuid::Uuid;

use crate::sheet::lines::{TextLines, decoded};
use crate::sheet::rows::{CsvFault as RowFault, CsvRow, CsvRows};
use offerd_base::declaration::{Fault, did_you_mean, nearest};
use offerd_base::ids;
use offerd_base::regular_file;
use offerd_model::VehicleDetails;

const SAMPLE: &str = include_str!("vehicles.csv");

/// The columns of a file: first the required ones, then the optional ones.
const COLUMNS: [&str; 6] = ["years", "make", "model", "trim", "uuid", "ucgVehicleId"];
const REQUIRED: usize = 4;

/// The valid model years.
pub const YEARS: std::ops::RangeInclusive<i32> = 1886..=2100;

/// Bits of the number derived from a vehicle's uuid: what a JavaScript number holds exactly.
const NUMBER_BITS: u32 = 53;

/// The largest file that is read; all cars of all years take a tenth of it.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// The most cars of a list. One row can stand for hundreds.
const MOST_CARS: usize = 1_000_000;

/// The most faults reported of a file; a file of another kind has one in every row.
const FAULTS_TOLD: usize = 20;

/// The list, sorted by year, make, model and trim.
#[derive(Debug, Default)]
pub struct Vehicles {
    entries: Vec<VehicleDetails>,
    years: Vec<i32>,
    index: HashMap<VehicleLookup, Vec<u32>>,
}

/// `None` matches any; names are in lower case.
#[derive(Debug, PartialEq, Eq, Hash)]
enum VehicleLookup {
    Makes(Option<i32>),
    Models(Option<i32>, Option<String>),
    Cars(Option<i32>, Option<String>, Option<String>),
}

/// A filter for cars; `None` matches any. Names are compared regardless of case.
#[derive(Debug, Clone, Copy, Default)]
pub struct VehicleFilter<'w> {
    /// The model year.
    pub year: Option<i32>,
    /// The manufacturer.
    pub make: Option<&'w str>,
    /// The model name.
    pub model: Option<&'w str>,
}

impl Vehicles {
    /// Loads the operator's list, or the sample if none is set.
    ///
    /// # Errors
    /// Every fault of the file.
    pub fn load(file: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let Some(file) = file else { return Ok(Self::sample()) };
        let fault = |(line, key, message)| Fault { file: Some(file.to_owned()), line, key, message };
        let bytes = regular_file::bytes_of(file, MOST_BYTES).map_err(|found| {
            let message = format!(
                "cannot be read: {found}; put a list there, or leave `reference.vehicles` empty to use the \
                    sample"
            );
            vec![fault((None, String::new(), message))]
        })?;
        Self::read(&bytes).map_err(|mut faults| {
            let more = faults.len().saturating_sub(FAULTS_TOLD);
            faults.truncate(FAULTS_TOLD);
            let more = (more > 0)
                .then(|| (None, String::new(), format!("has {more} faults more; these are the first")));
            faults.into_iter().chain(more).map(fault).collect()
        })
    }

    /// The shipped sample.
    pub fn sample() -> Self {
        Self::read(SAMPLE).unwrap_or_default()
    }

    fn read(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Result<Self, Vec<FaultAt>> {
        let lines = TextLines::new(decoded(bytes.as_ref(), None), "save the file as UTF-8");
        let mut rows = CsvRows::new(lines, None);
        let (line, names) = rows.names().map_err(|message| vec![(None, String::new(), message)])?;
        let columns = Columns::of(line as usize, &names)?;
        let mut reading = VehicleParser::default();
        for CsvRow { line, cells } in rows {
            if reading.entries.len() > MOST_CARS {
                let message = format!("has more than {MOST_CARS} cars, the maximum");
                reading.fault(None, "", message);
                break;
            }
            match cells {
                Ok(cells) => reading.take(line as usize, &cells, &columns),
                Err(RowFault { column: Some(nth), message }) => {
                    reading.fault(Some(line as usize), names.get(nth).map_or("", String::as_str), message);
                }
                Err(RowFault { column: None, message }) => {
                    reading.fault(Some(line as usize), "", format!("cannot be read as CSV: it {message}"));
                }
            }
        }
        reading.end()
    }

    /// The model years of the list, earliest first.
    pub fn years(&self) -> &[i32] {
        &self.years
    }

    /// The makes of a year, or of all years, in alphabetical order.
    pub fn makes(&self, year: Option<i32>) -> impl ExactSizeIterator<Item = &str> {
        self.found(VehicleLookup::Makes(year)).map(|car| car.make.as_str())
    }

    /// The models of a year and make, or of all, in alphabetical order.
    pub fn models(&self, year: Option<i32>, make: Option<&str>) -> impl ExactSizeIterator<Item = &str> {
        self.found(VehicleLookup::Models(year, make.map(str::to_ascii_lowercase))).map(|car| &*car.model)
    }

    /// The matching cars, by year, make, model and trim.
    pub fn trims(&self, wanted: VehicleFilter<'_>) -> impl ExactSizeIterator<Item = &VehicleDetails> {
        let [make, model] = [wanted.make, wanted.model].map(|name| name.map(str::to_ascii_lowercase));
        self.found(VehicleLookup::Cars(wanted.year, make, model))
    }

    fn found(&self, question: VehicleLookup) -> impl ExactSizeIterator<Item = &VehicleDetails> {
        let places = self.index.get(&question).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.entries[*place as usize])
    }

    fn of(entries: Vec<VehicleDetails>) -> Self {
        let mut years: Vec<i32> = entries.iter().map(|car| car.year).collect();
        years.dedup();
        let mut index: HashMap<VehicleLookup, Vec<u32>> = HashMap::new();
        let mut note = |question, place| index.entry(question).or_default().push(place);
        for (place, car) in (0_u32..).zip(&entries) {
            let [make, model] = [&car.make, &car.model].map(|name| [None, Some(name.to_ascii_lowercase())]);
            for year in [None, Some(car.year)] {
                note(VehicleLookup::Makes(year), place);
                for make in make.clone() {
                    note(VehicleLookup::Models(year, make.clone()), place);
                    for model in model.clone() {
                        note(VehicleLookup::Cars(year, make.clone(), model), place);
                    }
                }
            }
        }
        for (question, places) in &mut index {
            match question {
                VehicleLookup::Makes(_) => name_once(places, |place| &entries[place as usize].make),
                VehicleLookup::Models(..) => name_once(places, |place| &entries[place as usize].model),
                VehicleLookup::Cars(..) => {}
            }
        }
        Self { entries, years, index }
    }
}

fn name_once<'v>(places: &mut Vec<u32>, name: impl Fn(u32) -> &'v String) {
    places.sort_by_key(|place| name(*place));
    places.dedup_by_key(|place| name(*place));
    places.shrink_to_fit();
}

/// A fault before its file is known: line, column, message.
type FaultAt = (Option<usize>, String, String);

/// The position of each column in a row, in the order of [`COLUMNS`].
struct Columns([Option<usize>; COLUMNS.len()]);

impl Columns {
    fn of(line: usize, names: &[String]) -> Result<Self, Vec<FaultAt>> {
        let wanted = || format!("the first row names the columns: {}", COLUMNS.join(", "));
        let mut faults: Vec<FaultAt> = Vec::new();
        for (nth, name) in names.iter().enumerate() {
            let fault = match (COLUMNS.contains(&name.as_str()), names[..nth].contains(name)) {
                (false, _) => format!("is not a known column{}", did_you_mean(nearest(name, COLUMNS))),
                (true, true) => "repeats a column".to_owned(),
                (true, false) => continue,
            };
            faults.push((Some(line), name.clone(), fault));
        }
        let place = |column: &str| names.iter().position(|name| name == column);
        let lacking = COLUMNS[..REQUIRED].iter().filter(|column| place(column).is_none());
        faults.extend(
            lacking.map(|column| (Some(line), (*column).to_owned(), format!("is missing; {}", wanted()))),
        );
        if faults.is_empty() { Ok(Self(COLUMNS.map(place))) } else { Err(faults) }
    }

    fn value<'r>(&self, row: &'r [String], column: usize) -> Option<&'r str> {
        self.0[column].and_then(|place| row.get(place)).map(String::as_str).filter(|text| !text.is_empty())
    }
}

type Car = (i32, String, String, String);

#[derive(Default)]
struct VehicleParser {
    /// With the line of each entry.
    entries: BTreeMap<Car, (usize, Uuid, i64)>,
    faults: Vec<FaultAt>,
}

impl VehicleParser {
    fn fault(&mut self, line: Option<usize>, column: &str, message: impl Into<String>) {
        self.faults.push((line, column.to_owned(), message.into()));
    }

    fn take(&mut self, line: usize, row: &[String], columns: &Columns) {
        let before = self.faults.len();
        let [years, make, model, trim, uuid, number] = std::array::from_fn(|nth| columns.value(row, nth));
        let missing = COLUMNS.iter().zip([years, make, model, trim]).filter(|(_, found)| found.is_none());
        let missing: Vec<FaultAt> =
            missing.map(|(column, _)| (Some(line), (*column).to_owned(), "is missing".to_owned())).collect();
        self.faults.extend(missing);
        let years = years.and_then(|text| self.accept(line, "years", text, span));
        let uuid = uuid.and_then(|text| {
            self.accept(line, "uuid", text, |text| text.parse::<Uuid>().map_err(|_| "a UUID".to_owned()))
        });
        let number = number.and_then(|text| {
            self.accept(line, "ucgVehicleId", text, |text| {
                let number = text.parse::<i64>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| "an integer, 1 or more".to_owned())
            })
        });
        let (Some(years), Some(make), Some(model), Some(trim)) = (years, make, model, trim) else { return };
        if years.0 < years.1 && (uuid.is_some() || number.is_some()) {
            self.fault(Some(line), "years", "must be one year where `uuid` or `ucgVehicleId` is given");
        }
        if self.faults.len() > before {
            return;
        }
        for year in years.0..=years.1 {
            let uuid =
                uuid.unwrap_or_else(|| ids::derived("vehicle", &[&year.to_string(), make, model, trim]));
            let number = number.unwrap_or_else(|| number_of(uuid));
            let key = (year, make.to_owned(), model.to_owned(), trim.to_owned());
            if let Some((earlier, ..)) = self.entries.insert(key, (line, uuid, number)) {
                self.fault(Some(line), "trim", format!("is already that of line {earlier}, of {year}"));
            }
        }
    }

    fn accept<T>(
        &mut self,
        line: usize,
        column: &str,
        text: &str,
        kind: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        kind(text)
            .map_err(|wanted| self.fault(Some(line), column, format!("must be {wanted}, got `{text}`")))
            .ok()
    }

    fn end(mut self) -> Result<Vehicles, Vec<FaultAt>> {
        if self.entries.is_empty() && self.faults.is_empty() {
            self.fault(None, "", "has no row; leave `reference.vehicles` empty to use the sample");
        }
        let mut uuids: BTreeMap<Uuid, usize> = BTreeMap::new();
        let mut numbers: BTreeMap<i64, usize> = BTreeMap::new();
        for (line, uuid, number) in self.entries.values().copied() {
            let taken = [("uuid", uuids.insert(uuid, line)), ("ucgVehicleId", numbers.insert(number, line))];
            for (column, other) in taken.into_iter().filter_map(|(column, other)| Some((column, other?))) {
                let message = format!("is also that of line {other}; give each line its own id");
                self.faults.push((Some(line), column.to_owned(), message));
            }
        }
        if !self.faults.is_empty() {
            self.faults.sort_by_key(|(line, ..)| *line);
            return Err(self.faults);
        }
        let entry = |((year, make, model, trim), (_, uuid, ucg_vehicle_id)): (Car, (usize, Uuid, i64))| {
            VehicleDetails { year, make, model, trim, uuid, ucg_vehicle_id }
        };
        Ok(Vehicles::of(self.entries.into_iter().map(entry).collect()))
    }
}

fn span(text: &str) -> Result<(i32, i32), String> {
    let year = |text: &str| text.trim().parse::<i32>().ok().filter(|year| YEARS.contains(year));
    let span = match text.split_once('-') {
        Some((first, last)) => year(first).zip(year(last)).filter(|(first, last)| first <= last),
        None => year(text).map(|year| (year, year)),
    };
    span.ok_or_else(|| format!("a year from {} to {}, or two such as 2018-2024", YEARS.start(), YEARS.end()))
}

/// The number of a car for which the list has none: the last bits of its uuid.
fn number_of(uuid: Uuid) -> i64 {
    let bits = uuid.as_u128() & ((1 << NUMBER_BITS) - 1);
    i64::try_from(bits).expect("53 bits are positive").max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn models(vehicles: &Vehicles, year: Option<i32>, make: Option<&str>) -> Vec<String> {
        vehicles.models(year, make).map(str::to_owned).collect()
    }

    fn of(year: i32, make: &'static str) -> VehicleFilter<'static> {
        VehicleFilter { year: Some(year), make: Some(make), model: None }
    }

    fn faults(text: &str) -> Vec<String> {
        let faults = Vehicles::read(text).expect_err("it has faults");
        let told = |(line, key, message): FaultAt| format!("{} {key}: {message}", line.unwrap_or_default());
        faults.into_iter().map(told).collect()
    }

    #[test]
    fn the_sample_has_cars_of_several_years() {
        let vehicles = Vehicles::read(SAMPLE).unwrap();
        assert!(vehicles.years().len() >= 8 && vehicles.years().is_sorted());
        assert!(vehicles.makes(None).len() >= 12);
        assert_eq!(models(&vehicles, Some(2021), Some("tesla")), ["Model 3", "Model Y"]);
        let camry = VehicleFilter { model: Some("Camry"), ..of(2021, "Toyota") };
        let trims: Vec<&str> = vehicles.trims(camry).map(|entry| entry.trim.as_str()).collect();
        assert_eq!(trims, ["LE", "SE", "XLE", "XSE"]);
        let ids: BTreeSet<(Uuid, i64)> =
            vehicles.entries.iter().map(|entry| (entry.uuid, entry.ucg_vehicle_id)).collect();
        assert_eq!(ids.len(), vehicles.entries.len());
        assert!(ids.iter().all(|(_, number)| (1..1 << NUMBER_BITS).contains(number)));
    }

    /// Every look-up gives the same answer as a scan of all rows.
    #[test]
    fn the_index_answers_as_a_look_at_every_row_does() {
        let vehicles = Vehicles::sample();
        let every = |of: fn(&VehicleDetails) -> &String| {
            let names: BTreeSet<&str> = vehicles.entries.iter().map(|car| of(car).as_str()).collect();
            [None, Some("Nobody")].into_iter().chain(names.into_iter().map(Some)).collect::<Vec<_>>()
        };
        let is =
            |name: &str, wanted: Option<&str>| wanted.is_none_or(|wanted| name.eq_ignore_ascii_case(wanted));
        for year in [None, Some(1900), Some(2021)] {
            for make in every(|car| &car.make) {
                let of_make = || {
                    let cars = vehicles.entries.iter();
                    cars.filter(move |car| year.is_none_or(|year| car.year == year) && is(&car.make, make))
                };
                let named: BTreeSet<&str> = of_make().map(|car| car.model.as_str()).collect();
                let shouted = make.map(str::to_uppercase);
                assert_eq!(
                    models(&vehicles, year, shouted.as_deref()),
                    named.into_iter().collect::<Vec<_>>()
                );
                for model in every(|car| &car.model) {
                    let found: Vec<_> = vehicles.trims(VehicleFilter { year, make, model }).collect();
                    assert_eq!(found, of_make().filter(|car| is(&car.model, model)).collect::<Vec<_>>());
                }
            }
            let of_year = vehicles.entries.iter().filter(|car| year.is_none_or(|year| car.year == year));
            let makes: BTreeSet<&str> = of_year.map(|car| car.make.as_str()).collect();
            assert!(vehicles.makes(year).eq(makes), "{year:?}");
        }
    }

    /// Clients store the ids, so every build must derive the same ones.
    #[test]
    fn ids_are_made_of_what_a_car_is_and_stay() {
        let wanted = VehicleFilter { model: Some("Camry"), ..of(2021, "Toyota") };
        let (sample, own) = (Vehicles::sample(), "years,make,model,trim\n2021,Toyota,Camry,LE\n");
        let own = Vehicles::read(own).unwrap();
        let (first, alone) = (sample.trims(wanted).next().unwrap(), own.trims(wanted).next().unwrap());
        assert_eq!(first, alone);
        assert_eq!(first.uuid.get_version_num(), 8);
    }

    #[test]
    fn a_list_may_have_ids_of_its_own() {
        let uuid = Uuid::from_u128(7);
        let text = format!("make,model,trim,ucgVehicleId,uuid,years\nAldine,Vireo,S,4711,{uuid},2020\n");
        let vehicles = Vehicles::read(&format!("\u{feff}{text}")).unwrap();
        let found: Vec<_> = vehicles.trims(VehicleFilter::default()).collect();
        assert_eq!((found[0].uuid, found[0].ucg_vehicle_id, found[0].year), (uuid, 4711, 2020));
    }

    #[test]
    fn every_fault_is_told_with_its_line_and_column() {
        let text = "years,make,model,trim,uuid\n\
            2020-2019,Aldine,Vireo,S,\n20x0,Aldine,,S,no\n2020-2021,Aldine,Vireo,S,\n2021,Aldine,Vireo,S,\n\
            2018-2019,Aldine,Vireo,L,00000000-0000-0000-0000-000000000007\n";
        assert_eq!(
            faults(text),
            [
                "2 years: must be a year from 1886 to 2100, or two such as 2018-2024, got `2020-2019`",
                "3 model: is missing",
                "3 years: must be a year from 1886 to 2100, or two such as 2018-2024, got `20x0`",
                "3 uuid: must be a UUID, got `no`",
                "5 trim: is already that of line 4, of 2021",
                "6 years: must be one year where `uuid` or `ucgVehicleId` is given",
            ]
        );
    }

    #[test]
    fn columns_are_known_and_ids_are_one_cars() {
        assert_eq!(
            faults("years,make,modl,trim,make\n"),
            [
                "1 modl: is not a known column; did you mean `model`?",
                "1 make: repeats a column",
                "1 model: is missing; the first row names the columns: years, make, model, trim, uuid, ucgVehicleId",
            ]
        );
        let below = "\n\nsep=;\n\nyears;make;modl;trim;model\n";
        assert_eq!(faults(below), ["5 modl: is not a known column; did you mean `model`?"]);
        assert_eq!(faults("\nyears,make\n").len(), 2);
        assert!(faults("\nyears,make\n").iter().all(|fault| fault.starts_with("2 ")));
        assert_eq!(faults("years,make,model,trim\n").len(), 1);
        let twice = "years,make,model,trim,ucgVehicleId\n2020,A,B,C,7\n2021,A,B,C,7\n";
        assert_eq!(faults(twice), ["3 ucgVehicleId: is also that of line 2; give each line its own id"]);
    }
}
