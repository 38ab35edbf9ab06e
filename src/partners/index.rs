//! Evaluates all rules at once: finds the rows of the book that fit a lead, in microseconds.
//!
//! Each subject has a column of cells, one per value (or per interval between two bounds that some rule
//! names). Each cell is a bitset with a bit per row that accepts the cell's values. A search ANDs the lead's
//! cell of each column. Cells are filled by calling [`EligibilityCondition::accepts`].
//!
//! A subject with more than [`MAX_CELLS`] intervals gets coarser ones, whose bits mean "may accept"; the
//! surviving rows are then checked against their conditions. Memory is therefore bounded by `rows × MAX_CELLS
//! / 8` bytes per column, rows rounded up to 512.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::eligibility::{ConditionTest, EligibilityCondition};
use super::facts::{Facts, Subject};
use offerd_model::{AttributeKind, AttributeValue};

/// Maximum number of numeric intervals per column.
pub const MAX_CELLS: usize = 256;

/// Bits of 512 rows, ANDed over all columns before the next block.
type BitBlock = [u64; 8];

const BLOCK: usize = 512;

/// One bit per row, in blocks; the last one may be partly used.
type Bits = Vec<BitBlock>;

/// Conditions that must all hold.
type Conjunction = Vec<EligibilityCondition>;

/// The rows with conditions on a subject, and these conditions.
type About<'c> = [(usize, Vec<&'c EligibilityCondition>)];

/// The compiled conjunctions.
#[derive(Debug)]
pub struct EligibilityIndex {
    columns: Vec<IndexColumn>,
    all: Bits,
    /// Per row, the conditions that its cells do not decide.
    doubts: Vec<Conjunction>,
    has_doubts: bool,
}

/// One subject, and the rows that accept each of its cells.
#[derive(Debug)]
struct IndexColumn {
    subject: Subject,
    missing: Bits,
    cells: ColumnCells,
}

#[derive(Debug)]
enum ColumnCells {
    /// By ordinal of the category, or by flag.
    Listed(Vec<Bits>),
    /// By interval: cell `k` holds the numbers from `bounds[k - 1]` up to, not including, `bounds[k]`.
    Stretches { bounds: Vec<f64>, cells: Vec<Bits> },
    /// By value; `other` for values that no rule names.
    Named { named: HashMap<NamedValue, Bits>, other: Bits },
    /// By array member that a rule names: rows that require one, that refuse one, and that require none.
    Members { wanting: HashMap<NamedValue, Bits>, refusing: HashMap<NamedValue, Bits>, indifferent: Bits },
}

/// A value that a rule can name, or a member of one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum NamedValue {
    /// In lower case.
    Text(String),
    Uuid(Uuid),
    /// By its bit in a set.
    Member(u32),
}

impl EligibilityIndex {
    /// Compiles one conjunction per row.
    pub fn build(rows: &[Conjunction]) -> Self {
        let mut by_subject: BTreeMap<&Subject, Vec<(usize, Vec<&EligibilityCondition>)>> = BTreeMap::new();
        for (row, conditions) in rows.iter().enumerate() {
            for condition in conditions {
                let about = by_subject.entry(&condition.subject).or_default();
                match about.last_mut() {
                    Some((last, list)) if *last == row => list.push(condition),
                    _ => about.push((row, vec![condition])),
                }
            }
        }

        let mut all = vec![BitBlock::default(); rows.len().div_ceil(BLOCK)];
        (0..rows.len()).for_each(|row| set(&mut all, row));
        let mut doubts = vec![Vec::new(); rows.len()];
        let columns = by_subject.into_iter();
        let columns = columns.map(|(of, about)| IndexColumn::build(of.clone(), &about, &all, &mut doubts));
        let mut columns: Vec<IndexColumn> = columns.collect();
        columns.sort_by_key(IndexColumn::density);
        let has_doubts = doubts.iter().any(|conditions| !conditions.is_empty());
        Self { columns, all, doubts, has_doubts }
    }

    /// Calls `found` with each matching row, in ascending order.
    pub fn search(&self, facts: &Facts, mut found: impl FnMut(usize)) {
        let choices: Vec<Cow<[BitBlock]>> =
            self.columns.iter().map(|column| column.choose(facts.get(&column.subject))).collect();
        // As slices, so the loop does not branch on borrowed or owned.
        let choices: Vec<&[BitBlock]> = choices.iter().map(AsRef::as_ref).collect();

        for (nth, all) in self.all.iter().enumerate() {
            let mut block = *all;
            for bits in &choices {
                block.iter_mut().zip(&bits[nth]).for_each(|(word, other)| *word &= other);
                // `==` would compile to a call of `memcmp`.
                if block.iter().fold(0, |left, word| left | word) == 0 {
                    break;
                }
            }
            for (offset, mut word) in block.into_iter().enumerate() {
                while word != 0 {
                    let row = nth * BLOCK + offset * 64 + word.trailing_zeros() as usize;
                    word &= word - 1;
                    if !self.has_doubts || self.doubts[row].iter().all(|condition| condition.met_by(facts)) {
                        found(row);
                    }
                }
            }
        }
    }
}

impl IndexColumn {
    fn build(subject: Subject, about: &About<'_>, all: &[BitBlock], doubts: &mut [Conjunction]) -> Self {
        let mut free: Bits = all.to_vec();
        for (row, _) in about {
            *word_of(&mut free, *row) &= !bit_of(*row);
        }
        // The rows whose conditions all accept, and those without a condition on this subject.
        let accepting = |value: Option<AttributeValue>| {
            let mut bits = free.clone();
            for (row, conditions) in about {
                if conditions.iter().all(|condition| condition.accepts(value)) {
                    set(&mut bits, *row);
                }
            }
            bits
        };

        let named = |other: AttributeValue| {
            let tests = about.iter().flat_map(|(_, conditions)| conditions).map(|condition| &condition.test);
            let cells = tests.flat_map(NamedValue::in_test).map(|name| {
                let bits = accepting(Some(name.value()));
                (name, bits)
            });
            ColumnCells::Named { named: cells.collect(), other: accepting(Some(other)) }
        };

        let cells = match subject.kind() {
            AttributeKind::Category(names) => {
                let ordinals = (0..names.len() as u16).map(AttributeValue::Category);
                ColumnCells::Listed(ordinals.map(|ordinal| accepting(Some(ordinal))).collect())
            }
            AttributeKind::Flag => {
                let flags = [false, true].map(AttributeValue::Flag);
                ColumnCells::Listed(flags.map(|flag| accepting(Some(flag))).to_vec())
            }
            AttributeKind::Number | AttributeKind::Date => stretches(about, &free, doubts),
            // No rule can name the empty text, since an empty value counts as not given.
            AttributeKind::Text => named(AttributeValue::Text("")),
            // No company has the nil uuid, and files may not name it.
            AttributeKind::Uuid => named(AttributeValue::Uuid(Uuid::nil())),
            AttributeKind::Set(_) | AttributeKind::Texts => members(about, &free, doubts),
        };
        Self { subject, missing: accepting(None), cells }
    }

    /// Average number of rows that a cell accepts; the most selective columns go first.
    fn density(&self) -> u64 {
        let count =
            |bits: &Bits| bits.as_flattened().iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let mean = |total: u64, cells: usize| total / cells.max(1) as u64;
        match &self.cells {
            ColumnCells::Listed(cells) | ColumnCells::Stretches { cells, .. } => {
                mean(cells.iter().map(count).sum(), cells.len())
            }
            ColumnCells::Named { other, .. } => count(other),
            ColumnCells::Members { wanting, indifferent, .. } => {
                count(indifferent) + mean(wanting.values().map(count).sum(), wanting.len())
            }
        }
    }

    fn choose(&self, value: Option<AttributeValue>) -> Cow<'_, [BitBlock]> {
        let Some(value) = value else { return Cow::Borrowed(&self.missing) };
        Cow::Borrowed(match (&self.cells, value) {
            (ColumnCells::Listed(cells), AttributeValue::Category(ordinal)) => &cells[usize::from(ordinal)],
            (ColumnCells::Listed(cells), AttributeValue::Flag(flag)) => &cells[usize::from(flag)],
            (ColumnCells::Stretches { bounds, cells }, value) => {
                let number = number_of(value);
                &cells[bounds.partition_point(|bound| *bound <= number)]
            }
            (ColumnCells::Named { named, other }, value) => {
                NamedValue::in_value(value).first().and_then(|name| named.get(name)).unwrap_or(other)
            }
            (ColumnCells::Members { wanting, refusing, indifferent }, value) => {
                let names = NamedValue::in_value(value);
                let mut bits = indifferent.clone();
                for wanting in names.iter().filter_map(|name| wanting.get(name)) {
                    let words = bits.as_flattened_mut().iter_mut().zip(wanting.as_flattened());
                    words.for_each(|(word, other)| *word |= other);
                }
                for refusing in names.iter().filter_map(|name| refusing.get(name)) {
                    let words = bits.as_flattened_mut().iter_mut().zip(refusing.as_flattened());
                    words.for_each(|(word, other)| *word &= !other);
                }
                return Cow::Owned(bits);
            }
            _ => unreachable!("a subject's values are of its kind"),
        })
    }
}

impl NamedValue {
    fn in_test(test: &ConditionTest) -> Vec<Self> {
        match test.named() {
            ConditionTest::Text(texts) => texts.iter().cloned().map(Self::Text).collect(),
            ConditionTest::Uuid(uuids) => uuids.iter().copied().map(Self::Uuid).collect(),
            ConditionTest::AnyOf(set) => Self::members(*set),
            _ => Vec::new(),
        }
    }

    fn in_value(value: AttributeValue) -> Vec<Self> {
        match value {
            AttributeValue::Text(text) => vec![Self::Text(text.to_lowercase())],
            AttributeValue::Texts(all) => all.iter().map(|text| Self::Text(text.to_lowercase())).collect(),
            AttributeValue::Uuid(uuid) => vec![Self::Uuid(uuid)],
            AttributeValue::Set(set) => Self::members(set),
            _ => Vec::new(),
        }
    }

    fn members(set: u64) -> Vec<Self> {
        let rest = std::iter::successors(Some(set), |rest| Some(rest & rest.wrapping_sub(1)));
        rest.take_while(|rest| *rest != 0).map(|rest| Self::Member(rest.trailing_zeros())).collect()
    }

    /// The value that consists of this alone.
    fn value(&self) -> AttributeValue<'_> {
        match self {
            Self::Text(text) => AttributeValue::Text(text),
            Self::Uuid(uuid) => AttributeValue::Uuid(*uuid),
            Self::Member(_) => unreachable!("a column of members has no cell for one value"),
        }
    }
}

/// Cells of a numeric column, coarse where the rules name too many bounds.
fn stretches(about: &About<'_>, free: &[BitBlock], doubts: &mut [Conjunction]) -> ColumnCells {
    let mut bounds: Vec<f64> = Vec::new();
    for condition in about.iter().flat_map(|(_, conditions)| conditions) {
        match condition.test.named() {
            ConditionTest::Range { min, max } => {
                bounds.extend([*min, max.next_up()].into_iter().filter(|bound| bound.is_finite()));
            }
            ConditionTest::Zipcode(prefixes) => bounds.extend(prefixes.bounds()),
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
            let ranges = conditions.iter().filter(|condition| condition.test != ConditionTest::Present);
            doubts[*row].extend(ranges.map(|condition| (*condition).clone()));
        }
    }

    let lower = |cell: usize| if cell == 0 { f64::NEG_INFINITY } else { bounds[cell - 1] };
    let upper = |cell: usize| bounds.get(cell).map_or(f64::INFINITY, |bound| bound.next_down());
    let may_accept =
        |condition: &EligibilityCondition, cell: usize| match (condition.test.named(), &condition.test) {
            (ConditionTest::Range { min, max }, _) => *min <= upper(cell) && lower(cell) <= *max,
            (ConditionTest::Zipcode(refused), ConditionTest::Not(_)) => {
                !refused.covers(lower(cell), upper(cell))
            }
            (ConditionTest::Zipcode(wanted), _) => wanted.meets(lower(cell), upper(cell)),
            (test, _) => *test == ConditionTest::Present,
        };
    let mut cells = vec![free.to_vec(); bounds.len() + 1];
    for (cell, bits) in cells.iter_mut().enumerate() {
        for (row, conditions) in about {
            if conditions.iter().all(|condition| may_accept(condition, cell)) {
                set(bits, *row);
            }
        }
    }
    ColumnCells::Stretches { bounds, cells }
}

fn members(about: &About<'_>, free: &[BitBlock], doubts: &mut [Conjunction]) -> ColumnCells {
    let (mut wanting, mut refusing) = (HashMap::new(), HashMap::new());
    let mut indifferent = free.to_vec();
    for (row, conditions) in about {
        let mut wants = false;
        for condition in conditions {
            let cells = match condition.test {
                ConditionTest::Present => continue,
                ConditionTest::Not(_) => &mut refusing,
                // A bit holds one set of required members; further ones are checked when the row survives.
                _ if wants => {
                    doubts[*row].push((*condition).clone());
                    continue;
                }
                _ => &mut wanting,
            };
            wants |= !matches!(condition.test, ConditionTest::Not(_));
            for name in NamedValue::in_test(&condition.test) {
                set(cells.entry(name).or_insert_with(|| vec![BitBlock::default(); free.len()]), *row);
            }
        }
        if !wants {
            set(&mut indifferent, *row);
        }
    }
    ColumnCells::Members { wanting, refusing, indifferent }
}

fn number_of(value: AttributeValue) -> f64 {
    match value {
        AttributeValue::Number(number) => number,
        AttributeValue::Date(date) => super::eligibility::days(date),
        _ => f64::NAN,
    }
}

fn set(bits: &mut [BitBlock], row: usize) {
    *word_of(bits, row) |= bit_of(row);
}

fn word_of(bits: &mut [BitBlock], row: usize) -> &mut u64 {
    &mut bits[row / BLOCK][row % BLOCK / 64]
}

fn bit_of(row: usize) -> u64 {
    1 << (row % 64)
}

#[cfg(test)]
mod tests;
