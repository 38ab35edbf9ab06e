//! Writes a sheet as Parquet, for tools that read tables by column.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::{ColumnKind, Content, Sheet, SheetColumn};

impl Sheet {
    /// The sheet as a Parquet file with one row group; a missing number is null.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn parquet(&self, name: &str) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
        let mut group = writer.next_row_group()?;
        for (nth, SheetColumn { kind, .. }) in self.columns.iter().enumerate() {
            let values = self.rows.iter().map(|row| &row[nth].content);
            let lost = || ParquetError::General("the schema has fewer columns".to_owned());
            let mut column = group.next_column()?.ok_or_else(lost)?;
            let numbers = values.clone().map(|value| match value {
                Content::Number(number) => Some(*number),
                _ => None,
            });
            let levels: Vec<i16> = numbers.clone().map(|number| i16::from(number.is_some())).collect();
            let there = numbers.flatten();
            match kind {
                ColumnKind::Text | ColumnKind::Figure => {
                    let text = |value: &Content| match value {
                        Content::Text(text) => ByteArray::from(text.as_str()),
                        _ => ByteArray::from(""),
                    };
                    let texts: Vec<ByteArray> = values.map(text).collect();
                    column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                }
                ColumnKind::Count | ColumnKind::Time => {
                    let whole: Vec<i64> = there.map(|number| number as i64).collect();
                    column.typed::<Int64Type>().write_batch(&whole, Some(&levels), None)?;
                }
                ColumnKind::Amount => {
                    let amounts: Vec<f64> = there.collect();
                    column.typed::<DoubleType>().write_batch(&amounts, Some(&levels), None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        writer.into_inner()
    }
}

fn field(SheetColumn { name, kind }: &SheetColumn) -> Result<TypePtr, ParquetError> {
    let (physical, repetition, logical) = match kind {
        ColumnKind::Text | ColumnKind::Figure => {
            (Physical::BYTE_ARRAY, Repetition::REQUIRED, Some(LogicalType::String))
        }
        ColumnKind::Count | ColumnKind::Time => (Physical::INT64, Repetition::OPTIONAL, None),
        ColumnKind::Amount => (Physical::DOUBLE, Repetition::OPTIONAL, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    field.with_logical_type(logical).build().map(Arc::new)
}
