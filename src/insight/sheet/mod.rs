//! A sheet: what an answer shows in columns and rows. It is made once, beside the answer, and written as CSV, as Parquet or, by commands, as
//! a table. [`figures`] holds how values are written for people, in commands and on pages alike; [`rows`] and [`lines`] read the files that
//! people bring.

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
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// A figure that is already in words; people read it at the right.
    Figure,
    /// A whole number.
    Count,
    /// An amount, in the unit that the column's name says.
    Amount,
    /// A moment in Unix milliseconds.
    Time,
}

/// A value, with a colour for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What it holds.
    pub content: Content,
    /// Its colour.
    pub color: Color,
}

/// What a value holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing: an empty cell, or null.
    Nothing,
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
}

/// A colour that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// Well.
    Green,
    /// Worth a look.
    Yellow,
    /// Not well.
    Red,
    /// That of all other text.
    Plain,
}

impl Sheet {
    /// A sheet of columns, by name and kind, and rows.
    pub fn new<N: Into<String>>(
        columns: impl IntoIterator<Item = (N, Kind)>,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Self {
        let columns = columns.into_iter().map(|(name, kind)| Column { name: name.into(), kind });
        Self { columns: columns.collect(), rows: rows.into_iter().collect() }
    }
}

impl Kind {
    /// Whether people read it at the right.
    pub fn is_figure(self) -> bool {
        matches!(self, Self::Figure | Self::Count | Self::Amount)
    }
}

impl Value {
    /// The value in words, as a column of this kind holds it.
    pub fn words(&self, kind: Kind) -> String {
        match &self.content {
            Content::Nothing => String::new(),
            Content::Text(text) => text.clone(),
            Content::Number(ms) if kind == Kind::Time => figures::minute(*ms as i64),
            Content::Number(number) => number.to_string(),
        }
    }

    /// The same value in a colour.
    pub fn in_color(self, color: Color) -> Self {
        Self { color, ..self }
    }
}

impl From<Content> for Value {
    fn from(content: Content) -> Self {
        Self { content, color: Color::Plain }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Content::Nothing.into(), Into::into)
    }
}

/// Makes values of texts and of numbers.
macro_rules! values {
    ($($kind:ident: $($of:ty => $made:expr),+;)+) => {
        $($(impl From<$of> for Value {
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

/// Makes a [`Sheet`] with a row for each item: of each column its name, its kind where it is not text, and its value. What several
/// columns need may be bound before them.
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
                vec![$($crate::sheet::Value::from($value)),+]
            }),
        )
    };
    (kind) => { $crate::sheet::Kind::Text };
    (kind $kind:ident) => { $crate::sheet::Kind::$kind };
}
