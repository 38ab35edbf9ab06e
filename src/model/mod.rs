//! The nouns of the specification, in its order and words.
mod api_error;
pub use api_error::{ApiError, ErrorType};
