//! declaration
