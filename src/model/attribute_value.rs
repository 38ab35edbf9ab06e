//! Attribute values and their kinds.

use chrono::NaiveDate;
use uuid::Uuid;

/// The kind of an attribute's values, which decides the rules that apply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeKind {
    /// One of these wire texts.
    Category(&'static [&'static str]),
    /// True or false.
    Flag,
    /// An integer or a float; for an array of sections, its length.
    Number,
    /// A calendar date.
    Date,
    /// Text, free or of a checked format.
    Text,
    /// Any number of these wire texts.
    Set(&'static [&'static str]),
    /// Any number of free texts.
    Texts,
    /// A uuid.
    Uuid,
}

/// The value of an attribute in one lead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttributeValue<'a> {
    /// The ordinal of the value within the kind's wire texts.
    Category(u16),
    /// True or false.
    Flag(bool),
    /// The number.
    Number(f64),
    /// The date.
    Date(NaiveDate),
    /// The text, in its normal form.
    Text(&'a str),
    /// One bit for each ordinal within the kind's wire texts.
    Set(u64),
    /// The texts, at least one.
    Texts(&'a [String]),
    /// The uuid.
    Uuid(Uuid),
}
