//! A block: the stored cells of one kind and one day or month.
//!
//! Cells are ordered by their ids, in chunks of [`CHUNK`]. A chunk is columnar: the two ids as deltas, then
//! each measure up to the last in use. A column is packed, as its least value and each excess over it, or
//! sparse, as the non-zero values with their positions, whichever is shorter. A cell takes about two bytes.
//!
//! ```text
//! block   format u8  cells varint  measures u8  chunk…
//! chunk   column × (2 + measures)
//! column  packed: width u8, least value zigzag varint, bits
//!         sparse: 255, how many u8, (place u8, value zigzag varint)…
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cells::Ids;
use super::measure::{Measure, Measures};
use offerd_store::codec::CodecError;

const CHUNK: usize = 128;

const FORMAT: u8 = 1;

/// The width that marks a sparse column.
const SPARSE: u8 = 255;

const COLUMNS: usize = 2 + Measure::COUNT;

type ChunkColumn = [i64; CHUNK];

/// Encodes cells, which must be ordered by their ids.
pub fn write(cells: &[(Ids, Measures)]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    number(cells.len() as u64, &mut bytes);
    let counted = |(_, measures): &(Ids, Measures)| measures.0.iter().rposition(|value| *value != 0);
    let measures = cells.iter().filter_map(counted).max().map_or(0, |last| last + 1);
    bytes.push(measures as u8);
    let mut before = (0, 0);
    for chunk in cells.chunks(CHUNK) {
        let mut columns = [[0; CHUNK]; COLUMNS];
        for (nth, ((one, other), measures)) in chunk.iter().enumerate() {
            let (one, other) = (i64::from(*one), i64::from(*other));
            (columns[0][nth], columns[1][nth]) = (one - before.0, other - before.1);
            before = (one, other);
            for (measure, value) in measures.0.iter().enumerate() {
                columns[2 + measure][nth] = *value;
            }
        }
        columns[..2 + measures].iter().for_each(|column| write_column(&column[..chunk.len()], &mut bytes));
    }
    bytes
}

/// Passes each cell of a block to `tell`, in the order of their ids. Fails on damaged bytes.
pub fn read(bytes: &[u8], mut tell: impl FnMut(Ids, &Measures)) -> Result<(), CodecError> {
    let mut input = BlockInput(bytes);
    if input.number::<u8>()? != FORMAT {
        return Err(BlockInput::fault());
    }
    let mut left = usize::try_from(input.number::<u64>()?).map_err(|_| BlockInput::fault())?;
    let written = Some(2 + usize::from(input.number::<u8>()?)).filter(|columns| *columns <= COLUMNS);
    let written = written.ok_or_else(BlockInput::fault)?;
    let mut before = (0_i64, 0_i64);
    let mut columns = [[0; CHUNK]; COLUMNS];
    while left > 0 {
        let here = left.min(CHUNK);
        for column in &mut columns[..written] {
            input.column(column, here)?;
        }
        let [one, other, values @ ..] = &columns;
        for (nth, (one, other)) in one.iter().zip(other).take(here).enumerate() {
            before = (before.0.wrapping_add(*one), before.1.wrapping_add(*other));
            let measures = Measures(values.each_ref().map(|column| column[nth]));
            tell((before.0 as u32, before.1 as u32), &measures);
        }
        left -= here;
    }
    if input.0.is_empty() { Ok(()) } else { Err(BlockInput::fault()) }
}

fn write_column(values: &[i64], bytes: &mut Vec<u8>) {
    let least = values.iter().copied().min().unwrap_or(0);
    let most = values.iter().copied().max().unwrap_or(0);
    let width = 64 - (most.wrapping_sub(least).cast_unsigned()).leading_zeros();
    let packed = (values.len() * width as usize).div_ceil(8);
    let mut sparse = Vec::new();
    for (place, value) in values.iter().enumerate().filter(|(_, value)| **value != 0) {
        sparse.push(place as u8);
        number(*value, &mut sparse);
        if sparse.len() > packed {
            break;
        }
    }
    if sparse.len() < packed {
        bytes.extend([SPARSE, values.iter().filter(|value| **value != 0).count() as u8]);
        bytes.append(&mut sparse);
    } else {
        bytes.push(width as u8);
        number(least, bytes);
        pack(values, least, width, bytes);
    }
}

fn pack(values: &[i64], least: i64, width: u32, bytes: &mut Vec<u8>) {
    let (mut bits, mut held) = (0_u128, 0);
    for value in values {
        bits |= u128::from(value.wrapping_sub(least).cast_unsigned()) << held;
        held += width;
        while held >= 8 {
            bytes.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        bytes.push(bits as u8);
    }
}

/// Writes a number as postcard does: seven bits a byte, signed numbers as zigzag.
fn number<T: Serialize>(value: T, bytes: &mut Vec<u8>) {
    *bytes = postcard::to_extend(&value, std::mem::take(bytes)).expect("a number is written");
}

struct BlockInput<'a>(&'a [u8]);

impl BlockInput<'_> {
    fn fault() -> CodecError {
        CodecError::of("a block of cells is cut off, too long, or of another format")
    }

    fn number<T: DeserializeOwned>(&mut self) -> Result<T, CodecError> {
        let (value, rest) = postcard::take_from_bytes(self.0).map_err(|_| Self::fault())?;
        self.0 = rest;
        Ok(value)
    }

    fn column(&mut self, column: &mut ChunkColumn, here: usize) -> Result<(), CodecError> {
        let width = self.number::<u8>()?;
        if width == SPARSE {
            column[..here].fill(0);
            for _ in 0..self.number::<u8>()? {
                let place = usize::from(self.number::<u8>()?);
                *column.get_mut(place).ok_or_else(Self::fault)? = self.number()?;
            }
            return Ok(());
        }
        if width > 64 {
            return Err(Self::fault());
        }
        let least = self.number()?;
        if width == 0 {
            column[..here].fill(least);
            return Ok(());
        }
        let bytes = (here * usize::from(width)).div_ceil(8);
        let (packed, rest) = self.0.split_at_checked(bytes).ok_or_else(Self::fault)?;
        self.0 = rest;
        unpack(packed, u32::from(width), least, &mut column[..here]);
        Ok(())
    }
}

fn unpack(packed: &[u8], width: u32, least: i64, column: &mut [i64]) {
    // Padding, so that a whole word can be read at each position.
    let mut room = [0; CHUNK * 8 + 16];
    room[..packed.len()].copy_from_slice(packed);
    let mask = u64::MAX >> (64 - width);
    for (nth, value) in column.iter_mut().enumerate() {
        let bit = nth * width as usize;
        let (byte, shift) = (bit / 8, (bit % 8) as u32);
        let low = u64::from_le_bytes(room[byte..byte + 8].try_into().expect("eight bytes")) >> shift;
        // The bits beyond the word, if the value straddles it.
        let high = if shift + width > 64 { u64::from(room[byte + 8]) << (64 - shift) } else { 0 };
        *value = least.wrapping_add(((low | high) & mask).cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(bytes: &[u8]) -> Result<Vec<(Ids, Measures)>, CodecError> {
        let mut cells = Vec::new();
        read(bytes, |ids, measures| cells.push((ids, *measures)))?;
        Ok(cells)
    }

    fn any_measures() -> impl Strategy<Value = Measures> {
        let value = prop_oneof![8 => Just(0), 4 => 0..9_i64, 1 => any::<i64>()];
        prop::collection::vec(value, Measure::COUNT).prop_map(|values| Measures(values.try_into().unwrap()))
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            cells in prop::collection::btree_map((0..50_u32, any::<u32>()), any_measures(), 0..400)
        ) {
            let cells: Vec<(Ids, Measures)> = cells.into_iter().collect();
            prop_assert_eq!(read_all(&write(&cells)).unwrap(), cells);
        }

        #[test]
        fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_all(&bytes);
            let _ = read_all(&[&[FORMAT, 200, 1][..], &bytes].concat());
        }
    }

    #[test]
    fn a_block_of_another_format_or_length_is_refused() {
        let mut measures = Measures::of(Measure::Leads, 4);
        measures.add(&Measures::of(Measure::Payouts, 7));
        let bytes = write(&[((1, 0), measures)]);
        assert!(read_all(&bytes).is_ok());
        assert!(read_all(&[&[FORMAT + 1], &bytes[1..]].concat()).is_err());
        assert!(read_all(&[&bytes[..], &[0]].concat()).is_err());
        assert!(read_all(&bytes[..bytes.len() - 1]).is_err());
        assert!(read_all(&[FORMAT, 1, Measure::COUNT as u8 + 1]).is_err());
    }

    #[test]
    fn a_usual_cell_takes_some_two_bytes() {
        let measures = |nth: u32| {
            let counts = [i64::from(nth % 5), 3, 2, 2, i64::from(nth.is_multiple_of(9))];
            Measures(std::array::from_fn(|at| counts.get(at).copied().unwrap_or_default()))
        };
        let cells: Vec<(Ids, Measures)> =
            (0..20).flat_map(|one| (0..500).map(move |two| ((one, two), measures(two)))).collect();
        let bytes = write(&cells).len() as f64 / cells.len() as f64;
        assert!(bytes < 2.0, "{bytes}");
    }
}
