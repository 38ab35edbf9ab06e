//! Among whom a seat takes a lead alone.

/// Among whom a seat takes a lead alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusive {
    /// Among all seats of its product type.
    Product,
    /// Among the seats of its product type that name this group too.
    Group(String),
}
