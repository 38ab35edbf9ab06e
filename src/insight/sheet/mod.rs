//! A sheet: the columns and rows of an answer, written as CSV, as Parquet or as a table. [`figures`] formats
//! values for people; [`rows`] and [`lines`] read the files of operators.

mod csv;
pub mod figures;
pub mod lines;
mod parquet;
pub mod rows;

pub use self::csv::{MARK, harmless, mark_of, records};

/// Columns, and rows with a value for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// The columns.
    pub columns: Vec<SheetColumn>,
    /// The rows.
    pub rows: Vec<Vec<SheetValue>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnKind,
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// A figure already formatted as text; aligned to the right for people.
    Figure,
    /// A whole number.
    Count,
    /// An amount, in the unit that the column's name states.
    Amount,
    /// A time in Unix milliseconds.
    Time,
}

/// A value, with a colour for people.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetValue {
    /// Its content.
    pub content: Content,
    /// Its colour.
    pub color: Color,
}

/// The content of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// An empty cell, or null.
    Nothing,
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
}

/// A colour with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// Good.
    Green,
    /// Worth a look.
    Yellow,
    /// Bad.
    Red,
    /// The colour of ordinary text.
    Plain,
}

impl Sheet {
    /// Creates a sheet from columns, by name and kind, and rows.
    pub fn new<N: Into<String>>(
        columns: impl IntoIterator<Item = (N, ColumnKind)>,
        rows: impl IntoIterator<Item = Vec<SheetValue>>,
    ) -> Self {
        let columns = columns.into_iter().map(|(name, kind)| SheetColumn { name: name.into(), kind });
        Self { columns: columns.collect(), rows: rows.into_iter().collect() }
    }
}

impl ColumnKind {
    /// Whether people read it aligned to the right.
    pub fn is_figure(self) -> bool {
        matches!(self, Self::Figure | Self::Count | Self::Amount)
    }
}

impl SheetValue {
    /// The value as text, for a column of this kind.
    pub fn words(&self, kind: ColumnKind) -> String {
        match &self.content {
            Content::Nothing => String::new(),
            Content::Text(text) => text.clone(),
            Content::Number(ms) if kind == ColumnKind::Time => figures::minute(*ms as i64),
            Content::Number(number) => number.to_string(),
        }
    }

    /// Sets the colour.
    pub fn in_color(self, color: Color) -> Self {
        Self { color, ..self }
    }
}

impl From<Content> for SheetValue {
    fn from(content: Content) -> Self {
        Self { content, color: Color::Plain }
    }
}

impl<T: Into<SheetValue>> From<Option<T>> for SheetValue {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Content::Nothing.into(), Into::into)
    }
}

macro_rules! values {
    ($($kind:ident: $($of:ty => $made:expr),+;)+) => {
        $($(impl From<$of> for SheetValue {
            fn from(value: $of) -> Self {
                Content::$kind($made(value)).into()
            }
        })+)+
    };
}

values! {
    Text: String => String::from, &String => String::from, &str => String::from;
    Number: f64 => f64::from, u32 => f64::from, u64 => |it| it as f64, i64 => |it| it as f64, usize => |it| it as f64;
}

/// Makes a [`Sheet`] with a row for each item. Each column has a name, any kind, and a value.
#[macro_export]
macro_rules! sheet {
    ($items:expr, $item:pat => {
        $(let $bound:tt $(: $type:ty)? = $of:expr;)*
        $($name:literal $(: $kind:ident)? => $value:expr),+ $(,)?
    }) => {
        $crate::sheet::Sheet::new(
            [$(($name, $crate::sheet!(kind $($kind)?))),+],
            IntoIterator::into_iter($items).map(|$item| {
                $(let $bound $(: $type)? = $of;)*
                vec![$($crate::sheet::SheetValue::from($value)),+]
            }),
        )
    };
    (kind) => { $crate::sheet::ColumnKind::Text };
    (kind $kind:ident) => { $crate::sheet::ColumnKind::$kind };
}
