//! The rights of a person: a [`dossier`] is everything stored about them, [`erasure`] deletes it. The
//! [`index`] finds their leads by contact, and a [`request`] covers all of them. [`consents`] lists consents,
//! [`consent_lines`] renders and sums them up.

pub mod consent_lines;
pub mod consents;
pub mod dossier;
pub mod erasure;
pub mod index;
pub mod request;
