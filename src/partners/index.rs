//! All rules at once: which rows of the book fit a lead, in microseconds.
//!
//! Per subject there is a column of cells, one per value (or per stretch of numbers between two bounds that some
//! rule names), and per cell a bitset with a bit per row that accepts the cell's values. A search takes the lead's cell
//! of each column and ANDs them. The cells are filled by asking [`Condition::accepts`], so the index has no opinion of
//! its own on what a rule means.
//!
//! A subject with more than [`MAX_CELLS`] stretches gets coarser ones, whose bits mean "may accept"; survivors are then
//! checked against their conditions. So memory stays at `rows × MAX_CELLS / 8` bytes a column whatever the rules say.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::eligibility::{Condition, Test};
use super::facts::{Facts, Subject};
use crate::model::{AttributeKind, AttributeValue};

/// Most stretches of numbers a column distinguishes.
pub const MAX_CELLS: usize = 256;

/// Words that are ANDed over all columns before the next ones are looked at; 512 rows.
const BLOCK: usize = 8;

type Bits = Vec<u64>;

/// The compiled conjunctions.
#[derive(Debug)]
pub struct Index {
    words: usize,
    columns: Vec<Column>,
    /// Every row, as bits; the last word may be partly used.
    all: Bits,
    /// Per row, the conditions that its cells do not settle.
    doubts: Vec<Vec<Condition>>,
    has_doubts: bool,
}

/// One subject and the rows that accept each of its cells.
#[derive(Debug)]
struct Column {
    subject: Subject,
    missing: Bits,
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    /// By ordinal of the category, or by flag.
    Categories(Vec<Bits>),
    /// By stretch: cell `k` holds the numbers from `bounds[k - 1]` up to, not including, `bounds[k]`.
    Stretches { bounds: Vec<f64>, cells: Vec<Bits> },
    /// By text in lower case; `other` for texts that no rule names.
    Text { named: HashMap<String, Bits>, other: Bits },
    /// By member of an array: rows that want one of it, rows that want none of it, and rows that want no member at all.
    Members { wanting: Vec<Bits>, refusing: Vec<Bits>, indifferent: Bits },
    /// The same of texts in lower case, by those that a rule names.
    Texts { wanting: HashMap<String, Bits>, refusing: HashMap<String, Bits>, indifferent: Bits },
    /// By uuid; `other` for uuids that no rule names.
    Uuids { named: HashMap<Uuid, Bits>, other: Bits },
}

/// The bits of one column that hold for one lead.
enum Choice<'a> {
    Cell(&'a [u64]),
    Made(Bits),
}

impl Index {
    /// Compiles one conjunction a row.
    pub fn build(rows: &[Vec<Condition>]) -> Self {
        let words = rows.len().div_ceil(64);
        let mut by_subject: BTreeMap<&Subject, Vec<(usize, Vec<&Condition>)>> = BTreeMap::new();
        for (row, conditions) in rows.iter().enumerate() {
            for condition in conditions {
                let about = by_subject.entry(&condition.subject).or_default();
                match about.last_mut() {
                    Some((last, list)) if *last == row => list.push(condition),
                    _ => about.push((row, vec![condition])),
                }
            }
        }

        let all = every_row(rows.len());
        let mut doubts = vec![Vec::new(); rows.len()];
        let mut columns: Vec<Column> = by_subject
            .into_iter()
            .map(|(subject, about)| Column::build(subject.clone(), &about, &all, &mut doubts))
            .collect();
        columns.sort_by_key(Column::density);
        let has_doubts = doubts.iter().any(|conditions| !conditions.is_empty());
        Self { words, columns, all, doubts, has_doubts }
    }

    /// Calls `found` with each row that fits, in ascending order.
    pub fn search(&self, facts: &Facts, mut found: impl FnMut(usize)) {
        let choices: Vec<Choice> =
            self.columns.iter().map(|column| column.choose(facts.get(&column.subject))).collect();
        let choices: Vec<&[u64]> = choices.iter().map(Choice::bits).collect();

        let mut first = 0;
        while first < self.words {
            let end = (first + BLOCK).min(self.words);
            let mut block = [0_u64; BLOCK];
            block[..end - first].copy_from_slice(&self.all[first..end]);
            for bits in &choices {
                let mut left = 0;
                for (word, other) in block[..end - first].iter_mut().zip(&bits[first..end]) {
                    *word &= other;
                    left |= *word;
                }
                if left == 0 {
                    break;
                }
            }
            for (offset, word) in block[..end - first].iter().enumerate() {
                let mut word = *word;
                while word != 0 {
                    let row = (first + offset) * 64 + word.trailing_zeros() as usize;
                    word &= word - 1;
                    if !self.has_doubts || self.doubts[row].iter().all(|condition| condition.met_by(facts)) {
                        found(row);
                    }
                }
            }
            first = end;
        }
    }
}

impl Column {
    fn build(
        subject: Subject,
        about: &[(usize, Vec<&Condition>)],
        all: &[u64],
        doubts: &mut [Vec<Condition>],
    ) -> Self {
        let mut free: Bits = all.to_vec();
        for (row, _) in about {
            clear(&mut free, *row);
        }
        // The rows whose conditions all accept, and those that have none on this subject.
        let accepting = |value: Option<AttributeValue>| {
            let mut bits = free.clone();
            for (row, conditions) in about {
                if conditions.iter().all(|condition| condition.accepts(value)) {
                    set(&mut bits, *row);
                }
            }
            bits
        };

        let tests = || about.iter().flat_map(|(_, conditions)| conditions).map(|condition| &condition.test);
        let cells = match subject.kind() {
            AttributeKind::Category(names) => {
                let ordinals = 0..names.len() as u16;
                Cells::Categories(
                    ordinals.map(|ordinal| accepting(Some(AttributeValue::Category(ordinal)))).collect(),
                )
            }
            AttributeKind::Flag => {
                let flags = [false, true];
                Cells::Categories(flags.map(|flag| accepting(Some(AttributeValue::Flag(flag)))).to_vec())
            }
            AttributeKind::Number | AttributeKind::Date => stretches(about, &free, doubts),
            AttributeKind::Text => {
                let texts = tests().flat_map(|test| match test {
                    Test::Text(texts) | Test::NotText(texts) => texts.as_slice(),
                    _ => &[],
                });
                let named =
                    texts.map(|text| (text.clone(), accepting(Some(AttributeValue::Text(text))))).collect();
                // No rule can name the empty text, since an empty value counts as not given.
                Cells::Text { named, other: accepting(Some(AttributeValue::Text(""))) }
            }
            AttributeKind::Set(names) => members(names.len(), about, &free, doubts),
            AttributeKind::Texts => texts(about, &free, doubts),
            AttributeKind::Uuid => {
                let uuids = tests().flat_map(|test| match test {
                    Test::Uuid(uuids) | Test::NotUuid(uuids) => uuids.as_slice(),
                    _ => &[],
                });
                let named = uuids.map(|uuid| (*uuid, accepting(Some(AttributeValue::Uuid(*uuid))))).collect();
                // Nobody submits as the nil uuid, which files may not name.
                Cells::Uuids { named, other: accepting(Some(AttributeValue::Uuid(Uuid::nil()))) }
            }
        };
        Self { subject, missing: accepting(None), cells }
    }

    /// Rows accepted by the cells on average; columns that let the fewest through go first.
    fn density(&self) -> u64 {
        let mean = |cells: &[Bits]| {
            let total: u64 = cells.iter().map(|bits| count(bits)).sum();
            total / cells.len().max(1) as u64
        };
        match &self.cells {
            Cells::Categories(cells) | Cells::Stretches { cells, .. } => mean(cells),
            Cells::Members { wanting, .. } => mean(wanting),
            Cells::Text { other, .. } | Cells::Uuids { other, .. } => count(other),
            Cells::Texts { indifferent, .. } => count(indifferent),
        }
    }

    fn choose(&self, value: Option<AttributeValue>) -> Choice<'_> {
        match (&self.cells, value) {
            (_, None) => Choice::Cell(&self.missing),
            (Cells::Categories(cells), Some(AttributeValue::Category(ordinal))) => {
                Choice::Cell(&cells[usize::from(ordinal)])
            }
            (Cells::Categories(cells), Some(AttributeValue::Flag(flag))) => {
                Choice::Cell(&cells[usize::from(flag)])
            }
            (Cells::Stretches { bounds, cells }, Some(value)) => {
                let number = number_of(value);
                Choice::Cell(&cells[bounds.partition_point(|bound| *bound <= number)])
            }
            (Cells::Text { named, other }, Some(AttributeValue::Text(text))) => {
                Choice::Cell(named.get(&text.to_lowercase()).unwrap_or(other))
            }
            (Cells::Members { wanting, refusing, indifferent }, Some(AttributeValue::Set(set))) => {
                let is_member = |member: &usize| set >> member & 1 == 1;
                let wanted = (0..wanting.len()).filter(is_member).map(|member| &wanting[member]);
                let refused = (0..refusing.len()).filter(is_member).map(|member| &refusing[member]);
                Choice::Made(union(wanted, refused, indifferent))
            }
            (Cells::Texts { wanting, refusing, indifferent }, Some(AttributeValue::Texts(texts))) => {
                let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
                let wanted = texts.iter().filter_map(|text| wanting.get(text));
                Choice::Made(union(wanted, texts.iter().filter_map(|text| refusing.get(text)), indifferent))
            }
            (Cells::Uuids { named, other }, Some(AttributeValue::Uuid(uuid))) => {
                Choice::Cell(named.get(&uuid).unwrap_or(other))
            }
            _ => unreachable!("a subject's values are of its kind"),
        }
    }
}

impl Choice<'_> {
    fn bits(&self) -> &[u64] {
        match self {
            Self::Cell(bits) => bits,
            Self::Made(bits) => bits,
        }
    }
}

/// Cells of a column of numbers, coarse where the rules name too many bounds.
fn stretches(about: &[(usize, Vec<&Condition>)], free: &[u64], doubts: &mut [Vec<Condition>]) -> Cells {
    let mut bounds: Vec<f64> = Vec::new();
    for condition in about.iter().flat_map(|(_, conditions)| conditions) {
        match &condition.test {
            Test::Range { min, max } => {
                bounds.extend([*min, max.next_up()].into_iter().filter(|bound| bound.is_finite()));
            }
            Test::Zipcode(prefixes) | Test::NotZipcode(prefixes) => bounds.extend(prefixes.bounds()),
            _ => {}
        }
    }
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();

    let exact = bounds.len() < MAX_CELLS;
    if !exact {
        let distinct = bounds.len();
        bounds = (1..MAX_CELLS).map(|nth| bounds[nth * distinct / MAX_CELLS]).collect();
        bounds.dedup();
        for (row, conditions) in about {
            let ranges = conditions.iter().filter(|condition| !matches!(condition.test, Test::Present));
            doubts[*row].extend(ranges.map(|condition| (*condition).clone()));
        }
    }

    let lower = |cell: usize| if cell == 0 { f64::NEG_INFINITY } else { bounds[cell - 1] };
    let upper = |cell: usize| bounds.get(cell).map_or(f64::INFINITY, |bound| bound.next_down());
    let may_accept = |condition: &Condition, cell: usize| match &condition.test {
        Test::Range { min, max } => *min <= upper(cell) && lower(cell) <= *max,
        Test::Zipcode(prefixes) => prefixes.meets(lower(cell), upper(cell)),
        Test::NotZipcode(prefixes) => !prefixes.covers(lower(cell), upper(cell)),
        _ => matches!(condition.test, Test::Present),
    };
    let mut cells = vec![free.to_vec(); bounds.len() + 1];
    for (cell, bits) in cells.iter_mut().enumerate() {
        for (row, conditions) in about {
            if conditions.iter().all(|condition| may_accept(condition, cell)) {
                set(bits, *row);
            }
        }
    }
    Cells::Stretches { bounds, cells }
}

/// Cells of a column of arrays.
fn members(
    count: usize,
    about: &[(usize, Vec<&Condition>)],
    free: &[u64],
    doubts: &mut [Vec<Condition>],
) -> Cells {
    let blank = vec![0; free.len()];
    let mut wanting = vec![blank.clone(); count];
    let mut refusing = vec![blank; count];
    let mut indifferent = free.to_vec();
    for (row, conditions) in about {
        // A bit per row can hold one set of wanted members; a row that names several is checked when it survives.
        let mut wanted = None;
        let mut refused = 0;
        for condition in conditions {
            match condition.test {
                Test::AnyOf(mask) if wanted.is_none() => wanted = Some(mask),
                Test::AnyOf(_) => doubts[*row].push((*condition).clone()),
                Test::NoneOf(mask) => refused |= mask,
                _ => {}
            }
        }
        if wanted.is_none() {
            set(&mut indifferent, *row);
        }
        for member in 0..count {
            if wanted.unwrap_or(0) >> member & 1 == 1 {
                set(&mut wanting[member], *row);
            }
            if refused >> member & 1 == 1 {
                set(&mut refusing[member], *row);
            }
        }
    }
    Cells::Members { wanting, refusing, indifferent }
}

/// Cells of a column of texts of the client's own.
fn texts(about: &[(usize, Vec<&Condition>)], free: &[u64], doubts: &mut [Vec<Condition>]) -> Cells {
    let (mut wanting, mut refusing) = (HashMap::new(), HashMap::new());
    let mut indifferent = free.to_vec();
    for (row, conditions) in about {
        let note = |cells: &mut HashMap<String, Bits>, texts: &[String]| {
            for text in texts {
                set(cells.entry(text.clone()).or_insert_with(|| vec![0; free.len()]), *row);
            }
        };
        let mut wants = false;
        for condition in conditions {
            match &condition.test {
                Test::SomeText(wanted) if !wants => {
                    wants = true;
                    note(&mut wanting, wanted);
                }
                Test::SomeText(_) => doubts[*row].push((*condition).clone()),
                Test::NoText(refused) => note(&mut refusing, refused),
                _ => {}
            }
        }
        if !wants {
            set(&mut indifferent, *row);
        }
    }
    Cells::Texts { wanting, refusing, indifferent }
}

/// Rows that accept an array, of those that want one of its members, and those that want none of it.
fn union<'b>(
    wanting: impl Iterator<Item = &'b Bits>,
    refusing: impl Iterator<Item = &'b Bits>,
    indifferent: &[u64],
) -> Bits {
    let mut bits = indifferent.to_vec();
    for wanting in wanting {
        bits.iter_mut().zip(wanting).for_each(|(word, other)| *word |= other);
    }
    for refusing in refusing {
        bits.iter_mut().zip(refusing).for_each(|(word, other)| *word &= !other);
    }
    bits
}

fn number_of(value: AttributeValue) -> f64 {
    match value {
        AttributeValue::Number(number) => number,
        AttributeValue::Date(date) => super::eligibility::days(date),
        _ => f64::NAN,
    }
}

fn every_row(rows: usize) -> Bits {
    let mut bits = vec![u64::MAX; rows.div_ceil(64)];
    if let (Some(last), 1..) = (bits.last_mut(), rows % 64) {
        *last = (1 << (rows % 64)) - 1;
    }
    bits
}

fn set(bits: &mut [u64], row: usize) {
    bits[row / 64] |= 1 << (row % 64);
}

fn clear(bits: &mut [u64], row: usize) {
    bits[row / 64] &= !(1 << (row % 64));
}

fn count(bits: &[u64]) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests;
