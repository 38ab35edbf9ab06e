//! The book: the seats of all partner files, compiled. A rate table keeps the one that it was started or
//! resumed with.

use std::collections::BTreeMap;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::check;
use super::declared_values::DeclaredValues;
use super::facts::Facts;
use super::fingerprint::Fingerprint;
use super::identity::PartnerIdentity;
use super::index::EligibilityIndex;
use super::seat::Seat;
use super::template::Template;
use offerd_base::declaration::{Fault, Source, files_in, text_of};
use offerd_model::ProductType;

/// Every seat of every partner, and the index over their rules.
#[derive(Debug)]
pub struct Book {
    seats: Vec<Arc<Seat>>,
    index: EligibilityIndex,
    /// The seat or offer behind each row of the index.
    rows: Vec<IndexRow>,
    /// Equal for books with the same content.
    pub fingerprint: Fingerprint,
    /// The declared values of each partner, by its key.
    pub(super) declared: BTreeMap<String, DeclaredValues>,
    /// Warnings: legal declarations that may be unintended.
    pub remarks: Vec<Fault>,
}

/// A row of the index: one alternative of the rule of a seat, or of one of its offers; both by position.
type IndexRow = (usize, Option<usize>);

/// A seat that fits a lead, with those of its offers that fit.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Position of the seat in the book.
    pub position: usize,
    /// The seat.
    pub seat: Arc<Seat>,
    /// Positions of the fitting offers, in file order.
    pub offers: Vec<usize>,
}

impl Book {
    /// Loads every `*.toml` file of a directory.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(directory: &Path) -> Result<Self, Vec<Fault>> {
        whole(Self::inspect(directory))
    }

    /// Like [`load`](Self::load), but returns all faults together with a book of the seats that passed.
    pub fn inspect(directory: &Path) -> (Self, Vec<Fault>) {
        match files_in(directory) {
            Ok(files) => Self::of_files(files.into_iter().map(|file| (text_of(&file), file))),
            Err(error) => {
                let file = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
                let advice = "make the directory, or set `partners.path` to that of the partner files";
                let message = format!("cannot be read: {error}; {advice}");
                (Self::of(Vec::new()), vec![Fault::new(Some(file), "partners.path", message)])
            }
        }
    }

    /// Path and text of each partner file of a directory.
    pub fn texts_in(directory: &Path) -> std::io::Result<Vec<(PathBuf, String)>> {
        files_in(directory)?.into_iter().map(|file| text_of(&file).map(|text| (file, text))).collect()
    }

    /// Parses partner files given as (file name, text).
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn from_texts(texts: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, Vec<Fault>> {
        whole(Self::of_files(texts.into_iter().map(|(file, text)| (Ok(text), file))))
    }

    fn of_files(files: impl IntoIterator<Item = (std::io::Result<String>, PathBuf)>) -> (Self, Vec<Fault>) {
        let mut seats = Vec::new();
        let (mut unread, mut faults, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
        let mut declared = BTreeMap::new();
        let mut by_uuid: BTreeMap<uuid::Uuid, PathBuf> = BTreeMap::new();
        for (text, file) in files {
            let Ok(text) = text.map_err(|error| {
                unread.push(Fault::new(Some(file.clone()), "", format!("cannot be read: {error}")));
            }) else {
                continue;
            };
            let key = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(source) = Source::parse(&file, &text).map_err(|one| faults.push(one)) else { continue };
            let checked = check::seats(&key, &source);
            faults.extend(checked.faults);
            remarks.extend(checked.remarks);
            let uuid = checked.seats.first().map(|seat| seat.identity.partner.uuid);
            if let Some(other) = uuid.and_then(|uuid| by_uuid.insert(uuid, file.clone())) {
                let message = format!("is also the uuid of `{}`", other.display());
                faults.push(source.fault("partner.uuid", message));
            }
            seats.extend(checked.seats);
            declared.insert(key, DeclaredValues::by(source.table()));
        }
        faults.sort_by(|one, two| (&one.file, one.line).cmp(&(&two.file, two.line)));
        unread.extend(faults);
        (Self { fingerprint: fingerprint(&declared), declared, remarks, ..Self::of(seats) }, unread)
    }

    /// Compiles seats into a book.
    pub fn of(seats: Vec<Seat>) -> Self {
        let mut rows = Vec::new();
        let mut conjunctions = Vec::new();
        for (position, seat) in seats.iter().enumerate().filter(|(_, seat)| !seat.paused) {
            let offers = seat.offers.iter().enumerate().map(|(nth, offer)| (Some(nth), &offer.rule));
            for (offer, rule) in once((None, &seat.rule)).chain(offers) {
                for conditions in &rule.alternatives {
                    rows.push((position, offer));
                    conjunctions.push(conditions.clone());
                }
            }
        }
        let index = EligibilityIndex::build(&conjunctions);
        let fingerprint = fingerprint(&BTreeMap::new());
        let seats = seats.into_iter().map(Arc::new).collect();
        Self { seats, index, rows, fingerprint, declared: BTreeMap::new(), remarks: Vec::new() }
    }

    /// The seats that fit a lead, with their fitting offers. Omits remote partners without a fitting offer.
    pub fn fitting(&self, facts: &Facts) -> Vec<Fit> {
        let mut fits: Vec<Fit> = Vec::new();
        let mut last = None;
        self.index.search(facts, |row| {
            let (position, offer) = self.rows[row];
            // The alternatives of one rule are adjacent rows; only the first that holds counts.
            if last.replace((position, offer)) == Some((position, offer)) {
                return;
            }
            match (offer, fits.last_mut()) {
                (Some(offer), Some(fit)) if fit.position == position => fit.offers.push(offer),
                (None, _) => {
                    fits.push(Fit { position, seat: Arc::clone(&self.seats[position]), offers: Vec::new() });
                }
                (Some(_), _) => debug_assert!(false, "an offer's rule includes its seat's"),
            }
        });
        fits.retain(|fit| fit.seat.http.is_none() || !fit.offers.is_empty());
        fits
    }

    /// The first-look seats of a product type, with the offers that the lead could fit with more attributes.
    pub fn could_fit(&self, facts: &Facts, product_type: ProductType) -> Vec<Fit> {
        let is_asked = |seat: &Seat| seat.product_type == product_type && !seat.paused && !seat.second_look;
        let seats = self.seats.iter().enumerate().filter(|(_, seat)| is_asked(seat));
        let fits = seats.map(|(position, seat)| {
            let could = |offer: &usize| seat.offers[*offer].rule.could_hold(facts);
            Fit { position, seat: Arc::clone(seat), offers: (0..seat.offers.len()).filter(could).collect() }
        });
        fits.collect()
    }

    /// Every seat.
    pub fn seats(&self) -> &[Arc<Seat>] {
        &self.seats
    }

    /// The seat of the partner with this key for a product type.
    pub fn seat_of(&self, partner: &str, product_type: ProductType) -> Option<&Arc<Seat>> {
        self.seats.iter().find(|seat| seat.is_of(partner, product_type))
    }

    /// Every partner, without duplicates.
    pub fn partners(&self) -> Vec<&PartnerIdentity> {
        let mut partners: Vec<&PartnerIdentity> = self.seats.iter().map(|seat| &seat.identity).collect();
        partners.dedup_by_key(|identity| identity.partner.uuid);
        partners
    }

    /// Number of offers over all seats; each term counts.
    pub fn offers(&self) -> usize {
        self.seats.iter().map(|seat| seat.offers.len()).sum()
    }

    /// A warning for a book without partners.
    pub fn without_seats(&self) -> Option<&'static str> {
        self.seats().is_empty().then_some("no partner files found, so no lead gets an offer")
    }

    /// The templates of all seats and offers.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.seats
            .iter()
            .flat_map(|seat| once(&seat.recorded_text).chain(seat.offers.iter().map(|offer| &offer.text)))
    }
}

fn whole((book, faults): (Book, Vec<Fault>)) -> Result<Book, Vec<Fault>> {
    if faults.is_empty() { Ok(book) } else { Err(faults) }
}

fn fingerprint(declared: &BTreeMap<String, DeclaredValues>) -> Fingerprint {
    let mut hasher = Sha256::new();
    for (partner, declared) in declared {
        hasher.update(format!("{partner}\0"));
        declared.digest(&mut hasher);
    }
    Fingerprint::from(hasher)
}
