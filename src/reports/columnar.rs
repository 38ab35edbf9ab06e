//! A report as a Parquet file, for tools that read tables by column.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::figures::Figure;
use super::report::{Report, Row, columns};

/// The rows as one row group: dimensions as text, counts as 64-bit integers, amounts of dollars as doubles; null where a figure is
/// missing.
///
/// # Errors
/// That it cannot be written.
pub fn written(report: &Report) -> Result<Vec<u8>, ParquetError> {
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(report)?, properties)?;
    let mut group = writer.next_row_group()?;
    for place in 0..report.by.len() {
        let values: Vec<ByteArray> =
            report.rows.iter().map(|row| ByteArray::from(row.by[place].as_str())).collect();
        column(&mut group, |column| {
            column.typed::<ByteArrayType>().write_batch(&values, None, None).map(drop)
        })?;
    }
    let rows: Vec<Vec<Option<f64>>> = report.rows.iter().map(Row::values).collect();
    for place in 0..columns(report).len() - report.by.len() {
        let values = rows.iter().map(|row| row.get(place).copied().flatten()).collect();
        figures(&mut group, is_amount(place), values)?;
    }
    group.close()?;
    writer.into_inner()
}

fn schema(report: &Report) -> Result<TypePtr, ParquetError> {
    let names = columns(report);
    let fields = names.iter().enumerate().map(|(nth, name)| {
        if nth < report.by.len() {
            let text = Type::primitive_type_builder(name, Physical::BYTE_ARRAY);
            let text = text.with_repetition(Repetition::REQUIRED);
            return text.with_logical_type(Some(LogicalType::String)).build().map(Arc::new);
        }
        let kind = if is_amount(nth - report.by.len()) { Physical::DOUBLE } else { Physical::INT64 };
        Type::primitive_type_builder(name, kind).with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("report").with_fields(fields).build().map(Arc::new)
}

/// Whether a column of figures, by its place among them, has dollars or parts, rather than counts.
fn is_amount(place: usize) -> bool {
    place >= 3 * Figure::ALL.len() || Figure::ALL[place % Figure::ALL.len()].is_dollars()
}

fn figures(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    is_amount: bool,
    values: Vec<Option<f64>>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<f64> = values.into_iter().flatten().collect();
    column(group, |column| {
        if is_amount {
            return column.typed::<DoubleType>().write_batch(&there, Some(&levels), None).map(drop);
        }
        // Counts are whole.
        let counts: Vec<i64> = there.iter().map(|count| *count as i64).collect();
        column.typed::<Int64Type>().write_batch(&counts, Some(&levels), None).map(drop)
    })
}

/// Writes the next column.
fn column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    write: impl FnOnce(&mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_owned()))?;
    write(&mut column)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use chrono::NaiveDate;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;
    use crate::reports::figures::Figures;

    #[test]
    fn a_file_is_read_by_column_with_nulls_where_figures_are_missing() {
        let day = NaiveDate::default();
        let figures = Figures { leads: 3, payouts: Some(1.5), ..Figures::default() };
        let row = |name: &str| Row { by: vec![name.to_owned()], figures, before: Some(Figures::default()) };
        let report = Report {
            from: day,
            to: day,
            before: Some((day, day)),
            zone: "UTC".to_owned(),
            test: false,
            by: vec!["campaign".to_owned()],
            filters: Vec::new(),
            rows: vec![row("a"), row("b")],
            total: figures,
            total_before: None,
            rows_left_out: 0,
            uncounted_from: None,
        };
        let reader = SerializedFileReader::new(Bytes::from(written(&report).unwrap())).unwrap();
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        assert_eq!(names, columns(&report));
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!((rows.len(), rows[1].get_string(0).unwrap().as_str()), (2, "b"));
        assert_eq!((rows[0].get_long(1).unwrap(), rows[0].get_double(10).unwrap()), (3, 1.5));
        assert_eq!(rows[0].get_long(1 + 2 * Figure::ALL.len()).unwrap(), 3, "there are three more");
        assert!(rows[0].get_long(7).is_err(), "what was not reported is null");
    }
}
